"""What the client keeps to itself (keys, notes, the address), takes from nowhere, and which endpoints it speaks to."""

import json
import logging
import re

import pytest
from support.servers.fault_server import MODEL, status
from support.servers.served_judging import POSITIVE, SECRET, judge_at, judgements

from clinaudit.audit.measures.judge.served_judge import OpenAIJudge
from clinaudit.audit.runtime.served import access
from clinaudit.errors import BadInputError, ClinauditError, IncompleteError, UnsafeError, UsageError


def test_nothing_is_taken_from_the_environment(server, cache, monkeypatch):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL", "CUSTOM_HEADERS"):
        monkeypatch.setenv(f"OPENAI_{name}", "x-leak: env-leak")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert judgements(server, cache, ["depression"], retries=0)[0] == POSITIVE
    assert "env-leak" not in json.dumps(server.seen[0][0])


def test_no_log_message_or_identity_holds_a_note_or_the_key(server, cache, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    server.faults[SECRET] = [status(500), status(500), status(500)]
    with pytest.raises(IncompleteError) as caught:
        judgements(server, cache, [SECRET], api_key="hunter2")
    captured = capfd.readouterr()
    everything = caplog.text + captured.out + captured.err + caught.value.render()
    identity = json.dumps(judge_at(server, api_key="hunter2").identity())
    for secret in (SECRET, "hunter2"):
        assert secret not in everything + identity
    assert server.url not in identity
    assert MODEL in identity


def test_a_host_that_is_not_approved_is_refused_before_anything_is_sent():
    with pytest.raises(UnsafeError, match="--phi-approved"):
        OpenAIJudge(access.ServedModel("https://models.example.org/v1", "m"), access.Access(), note_tokens=10)


@pytest.mark.parametrize(
    ("content", "mode", "error"),
    [
        (b"sk-secret", 0o604, UnsafeError),
        (b"sk-secret", 0o640, UnsafeError),
        (b"sk-secret", 0o620, UnsafeError),
        (b"sk-secret", 0o602, UnsafeError),
        (b"", 0o600, BadInputError),
        (b" \n", 0o600, BadInputError),
        (b"sk-secret\nsk-other", 0o600, BadInputError),
        (b"sk-secret two", 0o600, BadInputError),
        ("sk-secrét".encode(), 0o600, BadInputError),
        (b"sk-secret" * 2000, 0o600, BadInputError),
    ],
)
def test_a_key_file_that_cannot_be_trusted_or_read_is_refused_without_showing_it(tmp_path, content, mode, error):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(mode)
    with pytest.raises(error) as caught:
        access.read_key_file(path)
    assert "secr" not in caught.value.render()
    with pytest.raises(BadInputError):
        access.read_key_file(tmp_path / "missing")
    assert isinstance(caught.value, ClinauditError)


APPROVED = ("models.example.org", "10.0.0.7", "2001:db8::1", "a.localhost")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://127.0.0.1",
        "http://127.255.255.254/v1",
        "https://localhost:8000/v1",
        "HTTP://LocalHost:8000/v1",
        "http://[::1]:8000/v1",
        "http://[0:0:0:0:0:0:0:1]/v1",
    ],
)
def test_loopback_needs_no_approval(url):
    assert access.require_approved(url, approved_hosts=()) is None
    # The same URL to the address next to the loopback ones needs it.
    neighbour = re.sub(r"(?i)localhost|127[.\d]+|\[[0:1]+\]", "128.0.0.1", url)
    with pytest.raises(UnsafeError, match=r"--phi-approved 128\.0\.0\.1"):
        access.require_approved(neighbour, approved_hosts=())


@pytest.mark.parametrize(
    "url",
    [
        "https://models.example.org/v1",
        "https://MODELS.Example.ORG:443/v1",
        "http://10.0.0.7:8000",
        "http://[2001:db8::1]:8000/v1",
        "http://[2001:0db8:0::0001]/v1",
        "http://a.localhost/v1",
    ],
)
def test_named_hosts_pass_and_only_if_named(url):
    access.require_approved(url, approved_hosts=APPROVED)
    with pytest.raises(UnsafeError, match="--phi-approved"):
        access.require_approved(url, approved_hosts=())


#: Neither on loopback nor approved, or written so that readers of it may differ.
ELSEWHERE = """
http://localhost.evil.com/v1 http://127.0.0.1.evil.com/v1 http://evil.com/127.0.0.1 http://evil.com/?localhost
http://evil.com#@localhost http://localhost@evil.com/v1 http://evil.com@localhost/v1
http://user:secret@127.0.0.1/v1 http://@127.0.0.1/v1 http://127.1/v1 http://127.0.1/v1 http://2130706433/v1
http://0x7f000001/v1 http://0x7f.0.0.1/v1 http://0177.0.0.1/v1 http://127.0.0.01/v1 http://127.0.0.1./v1
http://localhost./v1 http://models.example.org./v1 http://0.0.0.0:8000/v1 http://[::]/v1
http://[::ffff:127.0.0.1]/v1 http://[::ffff:7f00:1]/v1 http://[::1%25lo]/v1 http://[::1%lo]/v1
http://[v1.localhost]/v1 http://[::1/v1 http://::1/v1 http://[127.0.0.1]/v1 http://ⓛocalhost/v1
http://localhost。evil.com/v1 http://%6cocalhost/v1 http://localhost%00.evil.com/v1 http://localhost:99999/v1
http://localhost:abc/v1 http://localhost:0/v1 http://localhost:/v1 http:///v1 http:// http:localhost/v1
//localhost/v1 localhost:8000 ftp://localhost/v1 file:///etc/hosts unix:///tmp/socket
http://sub.models.example.org/v1 http://models.example.org.evil.com/v1 http://xmodels.example.org/v1
http://models-example.org/v1 http://10.0.0.70/v1 http://b.localhost/v1 http://-models.example.org/v1
http://models..example.org/v1
"""


@pytest.mark.parametrize(
    "url",
    [
        *ELSEWHERE.split(),
        "http://evil.com\\@localhost/v1",
        "http://localhost\\.evil.com/v1",
        "http://local\thost/v1",
        "http://localhost /v1",
        " http://localhost/v1",
        "http://localhost\n/v1",
        "",
    ],
)
def test_everything_else_is_refused(url):
    with pytest.raises(UnsafeError):
        access.require_approved(url, approved_hosts=APPROVED)


def test_served_models():
    assert access.parse_served_model("models/openai") is None
    assert access.parse_served_model("openai:http://[::1]:8000/v1#org/model:7b#a") == access.ServedModel(
        "http://[::1]:8000/v1", "org/model:7b#a"
    )


@pytest.mark.parametrize("model", ["openai:", "openai:http://127.0.0.1/v1", "openai:#m", "openai:http://h/v1# "])
def test_half_a_served_model_is_a_usage_error(model):
    with pytest.raises(UsageError, match="BASE_URL#MODEL_NAME"):
        access.parse_served_model(model)
