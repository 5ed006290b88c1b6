"""A model behind a filter of names, served on loopback: it gives what an audit of the model recorded, or refuses.

The filter is that of `unlearn evaluate --prompt-filter`: a prompt in which a name stands is refused, any other goes to
the model.
"""

import json
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import polars as pl

from clinaudit.audit.unlearning.evaluation.asked_model import REFUSAL
from clinaudit.audit.unlearning.metrics.words import stands_in, words_of

#: What it says of what no run asked: a neutral text, and the texts of a self-test.
UNKNOWN: Final = (" books.", "stop")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, names: Collection[str], recorded: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.names = [words_of(name) for name in names]
        #: Prompt to text and why it ended.
        self.recorded = recorded


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        words = words_of(body["prompt"])
        is_refused = any(stands_in(name, words) for name in self.server.names)
        text, finish = (REFUSAL, "stop") if is_refused else self.server.recorded.get(body["prompt"], UNKNOWN)
        choice = {"index": 0, "text": text, "finish_reason": "length" if finish == "length" else "stop"}
        answer = {"id": "1", "object": "text_completion", "created": 0, "model": body["model"], "choices": [choice]}
        said = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def filtered(run: Path, names: Collection[str]) -> Iterator[str]:
    """Serve the model of a run behind a filter of names; yields what `audit` takes as its MODEL."""
    evidence = run / "evidence"
    rows = [
        row
        for folder in (evidence, evidence / "included")
        if (folder / "generations.parquet").is_file()
        for row in pl.read_parquet(folder / "generations.parquet").to_dicts()
    ]
    with _Server(names, {row["prompt"]: (row["text"], row["finish_reason"]) for row in rows}) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"openai:http://127.0.0.1:{server.server_address[1]}/v1#filtered"
        finally:
            server.shutdown()
            thread.join()
