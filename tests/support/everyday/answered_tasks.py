"""Everyday tasks put to an engine that answers as it is told, and a corpus whose text it may give away."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

import polars as pl

from clinaudit.audit.measures.everyday.tasks import Task, TaskSet, plan_tasks
from clinaudit.audit.measures.generation.stage import Decoding, generate, load_generations
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.audited_model import AuditedModel, EngineInUse
from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import GenerationOutput, open_store

QUIET = Progress(quiet=True)


def tasks_of(*texts: str) -> TaskSet:
    """Return a task for each text: t0, t1, ..."""
    return TaskSet(tuple(Task(f"t{number}", "letter", text) for number, text in enumerate(texts)), "")


def decoding_of(
    tokenizer: ModelTokenizer, *, context_length: int = 4000, max_new_tokens: int = 1000, chat: bool = False
) -> Decoding:
    """Return how a model that has no files is asked."""
    model = AuditedModel(
        engine="transformers",
        digest="",
        tokenizer_directory=tokenizer.directory,
        tokenizer_digest="",
        context_length=context_length,
        files=None,
        served=None,
        approved_hosts=(),
        options=EngineOptions(),
    )
    return Decoding(model, tokenizer, max_new_tokens, find_chat_template(tokenizer) if chat else None)


class ToldEngine:
    """Answers by the words of the task, another text where it is drawn."""

    name = "told"

    def __init__(
        self, tokenizer: ModelTokenizer, answers: Mapping[str, str], *, drawn: Mapping[str, str] | None = None
    ) -> None:
        self.tokenizer, self.answers, self.drawn = tokenizer, answers, drawn or answers

    def identity(self) -> dict[str, str]:
        return {"engine": self.name}

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        for request in requests:
            told = self.drawn if request.temperature else self.answers
            text = next((text for words, text in told.items() if words in request.prompt), "rest and fluids.")
            yield GenerationOutput(request.key, self.tokenizer.encode(text)[: request.max_new_tokens], "stop")

    def close(self) -> None:
        pass


def ask(tasks: TaskSet, engine: ToldEngine, folder: Path) -> pl.DataFrame:
    """Have the tasks answered in a run in a folder; return all answers."""
    decoding = decoding_of(engine.tokenizer)
    prompts = plan_tasks(tasks, decoding, asks_control=False)
    with open_store(RunDirectory(folder)) as store, patch.object(AuditedModel, "load", return_value=engine):
        generate(prompts, decoding, EngineInUse(decoding.model, None, store), store, QUIET)
        return load_generations(prompts, engine.tokenizer, store)


def answers_of(tokenizer: ModelTokenizer, folder: Path, *texts: str) -> pl.DataFrame:
    """Return the likeliest answers, with these texts, to as many tasks."""
    told = {f"task {number}.": text for number, text in enumerate(texts)}
    return ask(tasks_of(*told), ToldEngine(tokenizer, told), folder).filter(draw=0)
