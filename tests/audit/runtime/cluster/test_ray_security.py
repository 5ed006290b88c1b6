"""Who may be spoken to: each protection that a cluster lacks is named before anything is sent."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.cluster.nodes import ray_files

from clinaudit.audit.runtime.cluster.ray_security import (
    require_own_certificate,
    require_secure_settings,
    require_short,
    require_tls,
    security_problems,
)
from clinaudit.errors import IncompleteError, UnsafeError, UsageError


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"RAY_USE_TLS": "0"}, "TLS is off"),
        ({"RAY_TLS_CA_CERT": ""}, "RAY_TLS_CA_CERT is not set"),
        ({"RAY_TLS_SERVER_CERT": "/nowhere"}, "RAY_TLS_SERVER_CERT names no file"),
        ({"RAY_AUTH_MODE": "disabled"}, "token authentication is off"),
        ({"RAY_AUTH_TOKEN_PATH": ""}, "RAY_AUTH_TOKEN_PATH is not set"),
    ],
)
def test_each_missing_protection_is_named(secrets, change, said) -> None:
    assert security_problems(secrets.settings) == []
    (problem,) = security_problems(secrets.settings | change)
    assert said in problem


def test_a_key_that_others_may_read_is_refused(secrets) -> None:
    key = Path(secrets.settings["RAY_TLS_SERVER_KEY"])
    key.chmod(0o644)
    try:
        (problem,) = security_problems(secrets.settings)
        assert "others may read" in problem
    finally:
        key.chmod(0o600)


def test_a_certificate_must_name_its_node(secure, secrets) -> None:
    require_own_certificate(secrets.ip)
    with pytest.raises(UnsafeError, match=r"name the address 203\.0\.113\.9"):
        require_own_certificate("203.0.113.9")


def test_a_path_too_long_for_sockets_is_refused() -> None:
    require_short(ray_files(Path("/data/run")))
    with pytest.raises(UsageError, match="short symbolic link"):
        require_short(ray_files(Path("/data/projects/audits/2026/run")))


@pytest.mark.parametrize("address", ["auto", "host", "ray://host:10001", "host:0", "host:x", ":6379", "host:99999"])
def test_an_address_is_host_and_port(address, secure) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        require_secure_settings(address)


PLAIN_HEAD = """
import socket, sys
server = socket.socket(fileno=int(sys.argv[1]))
for _ in range(2):
    connection = server.accept()[0]
    connection.sendall(b"HTTP/1.1 400 no\\r\\n\\r\\n")
    connection.close()
"""


def test_a_head_without_tls_is_refused_before_anything_is_sent(secure) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        command = [sys.executable, "-c", PLAIN_HEAD, str(server.fileno())]
        with subprocess.Popen(command, pass_fds=[server.fileno()]) as head:
            try:
                with pytest.raises(UnsafeError, match="does not prove itself"):
                    require_tls(address)
            finally:
                head.kill()


def test_an_absent_head_leaves_the_run_incomplete(secure) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(IncompleteError, match="no Ray cluster answers"):
        require_tls(f"127.0.0.1:{port}")
