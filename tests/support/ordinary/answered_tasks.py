"""Everyday tasks put to an engine that answers as it is told, and a corpus whose text it may give away."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from clinaudit.audit.measures.generation.stage import Decoding
from clinaudit.audit.measures.ordinary.asking import answer_questions, load_answers, plan_questions
from clinaudit.audit.measures.ordinary.record import Answer, Question
from clinaudit.audit.measures.ordinary.tasks import Task
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import GenerationOutput, open_store

QUIET = Progress(quiet=True)


def tasks_of(*texts: str) -> list[Task]:
    """Return a task for each text: t0, t1, ..."""
    return [Task(f"t{number}", "letter", text) for number, text in enumerate(texts)]


def decoding_of(
    tokenizer: ModelTokenizer,
    *,
    context_length: int = 4000,
    max_new_tokens: int = 1000,
    chat: bool = False,
    batch: int | None = None,
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
        options=EngineOptions(batch),
    )
    return Decoding(model, tokenizer, max_new_tokens, find_chat_template(tokenizer) if chat else None)


class ToldEngine:
    """Answers by the words of the task, another text where it is drawn; keeps its requests, and may be killed."""

    def __init__(
        self,
        tokenizer: ModelTokenizer,
        answers: Mapping[str, str],
        *,
        drawn: Mapping[str, str] | None = None,
        killed_after: int | None = None,
        name: str = "told",
        is_served: bool = False,
    ) -> None:
        self.tokenizer, self.answers, self.drawn = tokenizer, answers, drawn or answers
        self.killed_after, self.name, self.is_served = killed_after, name, is_served
        self.requests: list[GenerationRequest] = []

    def identity(self) -> dict[str, str]:
        return {"engine": self.name}

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        for request in requests:
            if len(self.requests) == self.killed_after:
                raise KeyboardInterrupt
            self.requests.append(request)
            told = self.drawn if request.temperature else self.answers
            text = next((text for words, text in told.items() if words in request.prompt), "rest and fluids.")
            ids = self.tokenizer.encode(text)[: request.max_new_tokens]
            given = ((), "stop", text) if self.is_served else (ids, "stop", None)
            yield GenerationOutput(request.key, *given)


def ask(questions: Sequence[Question], engine: ToldEngine, folder: Path, *, batch: int | None = None) -> list[Answer]:
    """Have the questions answered in the run in a folder, and return all answers that it holds."""
    decoding = decoding_of(engine.tokenizer, batch=batch)
    with open_store(RunDirectory(folder)) as store, patch.object(AuditedModel, "load", return_value=engine):
        answer_questions(questions, EngineInUse(decoding.model, None, store), decoding, store, QUIET)
        return list(load_answers(questions, engine.tokenizer, store))


def answers_of(tokenizer: ModelTokenizer, folder: Path, *texts: str) -> list[Answer]:
    """Return the greedy answers, with these texts, to as many tasks."""
    tasks = tasks_of(*(f"task {number}." for number in range(len(texts))))
    greedy = [own for own in plan_questions(tasks, decoding_of(tokenizer), seed=0) if own.draw == "greedy"]
    return ask(greedy, ToldEngine(tokenizer, {f"task {number}.": text for number, text in enumerate(texts)}), folder)
