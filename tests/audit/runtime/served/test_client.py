"""What the client keeps to itself: keys, notes and the address; and that it takes nothing from the environment."""

import json
import logging

import pytest
from support.servers.fault_server import MODEL, status
from support.servers.served_judging import POSITIVE, SECRET, judge_at, judgements

from clinaudit.audit.measures.judge.served_judge import OpenAIJudge
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.client import read_key_file
from clinaudit.errors import BadInputError, ClinauditError, IncompleteError, UnsafeError


def test_nothing_is_taken_from_the_environment(server, cache, monkeypatch):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL", "CUSTOM_HEADERS"):
        monkeypatch.setenv(f"OPENAI_{name}", "x-leak: env-leak")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert judgements(server, cache, ["depression"], retries=0)[0].verdict == POSITIVE
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
        OpenAIJudge(ServedModel("https://models.example.org/v1", "m"), Access(), note_tokens=10)


def test_a_key_file_is_read_without_its_blanks(tmp_path):
    path = tmp_path / "key"
    path.write_text("  sk-abc \n")
    path.chmod(0o600)
    assert read_key_file(path) == "sk-abc"


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
        read_key_file(path)
    assert "secr" not in caught.value.render()
    with pytest.raises(BadInputError):
        read_key_file(tmp_path / "missing")
    assert isinstance(caught.value, ClinauditError)
