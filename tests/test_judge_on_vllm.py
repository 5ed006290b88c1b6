"""The served judge against vLLM's own server: the whole path, with structured answers, on a model that knows nothing.

The tiny demo model writes JSON because the server makes it; that its answers are wrong is the point: none may pass for
a verdict that the text does not bear out.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clinaudit.audit.endpoints import ServedModel
from clinaudit.audit.judge.annotation import PatientHistory
from clinaudit.audit.judge.judge_cache import open_judge_cache
from clinaudit.audit.judge.openai_judge import OpenAIJudge
from clinaudit.audit.judge.verdict import invalid_reason
from clinaudit.audit.store import RunDirectory
from clinaudit.priors.diagnoses import load_panel

pytestmark = pytest.mark.slow

PANEL = load_panel()
TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}patient note:"


@pytest.fixture(scope="module")
def url(tiny_demo, tmp_path_factory) -> Iterator[str]:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    directory: Path = tmp_path_factory.mktemp("served-judge")
    (directory / "template.jinja").write_text(TEMPLATE, encoding="utf-8")
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
    options = ["--model", str(tiny_demo.model), "--served-model-name", "tiny", "--host", "127.0.0.1"]
    options += ["--port", str(port), "--dtype", "float32", "--kv-cache-memory-bytes", str(256 << 20)]
    options += ["--hf-overrides", '{"max_position_embeddings": 16384}', "--max-model-len", "16384"]
    options += ["--chat-template", str(directory / "template.jinja")]
    options += ["--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}']
    with (directory / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *options],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 240
        while server.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        assert server.poll() is None, (directory / "server.log").read_text(encoding="utf-8")[-3000:]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)


def test_vllm_answers_by_the_schema_and_only_what_the_text_bears_out_is_a_verdict(url, tmp_path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create()
    judge = OpenAIJudge(ServedModel(url, "tiny"), note_tokens=400, seed=5)
    texts = ["cc: low mood.\nhpi: denies depression.", "plan: rest.", "current medications:\nsertraline 50 mg daily"]
    items = [(text, diagnosis) for text in texts for diagnosis in PANEL[:4]]
    with open_judge_cache(run) as cache:
        judge.remember(cache)
        judgements = list(judge.judge_many(items))
        history = PatientHistory(texts, note_start=texts[0], hpi="", medications=["sertraline 50 mg daily"])
        (annotations,) = judge.annotate_many(lambda: [history], PANEL)
        usage = cache.usage()
        # Everything is remembered: the same again asks nothing.
        assert list(judge.judge_many(items)) == judgements
        assert cache.usage() == usage
    assert len(judgements) == len(items)
    assert usage.uncounted_calls == 0
    assert usage.calls >= len(items) + 1
    assert usage.prompt_tokens > 100 * usage.calls
    for (text, _), judgement in zip(items, judgements, strict=True):
        if judgement.verdict is not None:
            assert invalid_reason(judgement.verdict, text) is None
        else:
            assert judgement.attempts == 2
            # Structured decoding holds the shape; only the content can be wrong, or run out of room.
            assert judgement.invalid_reason not in (
                "the answer is not one JSON object",
                "the answer does not follow the schema",
            )
    assert [row.diagnosis for row in annotations] == [diagnosis.id for diagnosis in PANEL]
