"""Who may be spoken to: each protection that a cluster lacks is named before anything is sent."""

import socket
import subprocess
import sys

import pytest

from clinaudit.audit.runtime.cluster import require_safe_node, require_secure_settings, require_tls
from clinaudit.errors import IncompleteError, UnsafeError, UsageError


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("RAY_USE_TLS", "0", "RAY_USE_TLS=1"),
        ("RAY_TLS_CA_CERT", "", "RAY_TLS_CA_CERT"),
        ("RAY_AUTH_MODE", "disabled", "RAY_AUTH_MODE=token"),
        ("RAY_USAGE_STATS_ENABLED", "1", "RAY_USAGE_STATS_ENABLED=0"),
    ],
)
def test_each_setting_that_ray_lacks_is_named(secure, monkeypatch, name, value, said):
    require_secure_settings("10.0.0.1:6379")
    monkeypatch.setenv(name, value)
    with pytest.raises(UnsafeError, match=f"Ray lacks {said};"):
        require_secure_settings("10.0.0.1:6379")


def test_files_that_others_may_read_are_refused(secure, secrets):
    session = secrets.folder / "session"
    session.mkdir()
    session.chmod(0o777)
    require_safe_node(session)
    secrets.folder.chmod(0o755)
    try:
        with pytest.raises(UnsafeError, match="others may read its files"):
            require_safe_node(session)
    finally:
        secrets.folder.chmod(0o700)


@pytest.mark.parametrize("name", ["RAY_TLS_CA_CERT", "RAY_TLS_SERVER_KEY"])
def test_a_file_that_is_not_there_is_refused(secure, monkeypatch, name):
    monkeypatch.setenv(name, "/nowhere")
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(UnsafeError, match="FileNotFoundError"):
        require_tls(f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize("address", ["auto", "host", "ray://host:10001", "host:0", "host:x", ":6379", "host:99999"])
def test_an_address_is_host_and_port(address, secure):
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


def test_a_head_without_tls_is_refused_before_anything_is_sent(secure):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        command = [sys.executable, "-c", PLAIN_HEAD, str(server.fileno())]
        with subprocess.Popen(command, pass_fds=[server.fileno()]) as head:
            try:
                with pytest.raises(UnsafeError, match="does not prove itself"):
                    require_tls(address)
            finally:
                head.kill()


def test_an_absent_head_leaves_the_run_incomplete(secure):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(IncompleteError, match="no Ray cluster answers"):
        require_tls(f"127.0.0.1:{port}")
