"""A whole audit of a model that is never asked: an engine writes what the test wants, and all else is the program."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from support.models.tiny_models import save_llama

from clinaudit.audit.assembly.pipeline import run_audit
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.engines.repetition_guard import first_repeated_ngram
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.store import GenerationOutput
from clinaudit.audit.runtime.settings import AuditSettings

#: From a prompt to what goes on after it.
Answer = Callable[[str], str]


class WritingEngine:
    """Goes on after each prompt as it is told."""

    name = "writing"
    context_length = 100_000

    def __init__(self, tokenizer: ModelTokenizer, answer: Answer) -> None:
        self.tokenizer, self.answer = tokenizer, answer

    def identity(self) -> dict[str, str]:
        return {"engine": self.name}

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        for request in requests:
            ids = self.tokenizer.encode(self.answer(request.prompt))[: request.max_new_tokens]
            start = first_repeated_ngram(ids)
            yield GenerationOutput(request.key, ids[:start], "length" if start is None else "repetition")

    def close(self) -> None:
        pass


def save_model(folder: Path) -> Path:
    """Save the model that is not asked, with a context of the engine's length."""
    save_llama(folder)
    place = folder / "config.json"
    config = json.loads(place.read_text(encoding="utf-8")) | {"max_position_embeddings": WritingEngine.context_length}
    place.write_text(json.dumps(config), encoding="utf-8")
    return folder


def audit_answers(model: Path, answer: Answer, **settings: Any) -> None:
    """Audit what `answer` gives."""
    engine = WritingEngine(ModelTokenizer(model), answer)
    # A fixture of a module stands outside what puts the environment back after each test.
    with mock.patch.object(AuditedModel, "load", return_value=engine), mock.patch.dict(os.environ):
        run_audit(
            AuditSettings(
                model=str(model),
                engine="transformers",
                quiet=True,
                everyday=False,
                score=False,
                skip_self_test=True,
                **settings,
            )
        )
