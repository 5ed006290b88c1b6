"""vLLM's own server on loopback, for the tests that speak to a real one."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAME = "tiny"
#: Echoes the messages, so that a model without a chat template can be asked.
_TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}patient note:"
#: The questions of a judge are longer than the notes that a tiny model was trained on.
_CONTEXT = 16384
_START_S = 240


@contextmanager
def served(model: Path, directory: Path) -> Iterator[str]:
    """Serve a model for completions, and for questions answered by a schema; yields the base URL.

    `directory` takes the log.
    """
    pytest.importorskip("vllm", reason="vLLM is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
    }
    options = ["--model", str(model), "--served-model-name", NAME, "--host", "127.0.0.1", "--port", str(port)]
    # Compiling the model takes longer than all that a test asks of it.
    options += ["--dtype", "float32", "--kv-cache-memory-bytes", str(256 << 20), "--enforce-eager"]
    template = directory / "template.jinja"
    template.write_text(_TEMPLATE, encoding="utf-8")
    options += ["--hf-overrides", f'{{"max_position_embeddings": {_CONTEXT}}}', "--max-model-len", str(_CONTEXT)]
    options += ["--chat-template", str(template)]
    options += ["--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}']
    log_file = directory / "server.log"
    with log_file.open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *options],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _START_S
        while server.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        assert server.poll() is None, log_file.read_text(encoding="utf-8")[-3000:]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)
