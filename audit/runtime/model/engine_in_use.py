"""The engine of one model for all stages of a run: loaded once, when it is first needed, here or by each worker.

Owns when a model is loaded and freed, and the way of requests to the workers of a cluster. All workers must load the
same files. Knows nothing of what is asked.
"""

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from clinaudit.audit.runtime.choices import EngineName
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.model.audited_model import AuditedModel, choose_threads, make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import (
    Engine,
    GenerationOutput,
    GenerationRequest,
    ScoreRequest,
    TokenScores,
)
from clinaudit.audit.runtime.model.files import inspect_adapted, inspect_model
from clinaudit.errors import BadInputError

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Identity = dict[str, str]


class EngineInUse:
    """The engine of a model; a served model is asked from this process, runner or not."""

    def __init__(self, model: AuditedModel, runner: ShardRunner | None) -> None:
        self._model = model
        self._runner = None if model.files is None else runner
        self._needed = 1
        self._engine: Engine | None = None

    def require(self, context_length: int) -> None:
        """Say, before anything is asked, that prompts and answers of so many tokens together will be asked for."""
        if self._engine is not None:
            raise ValueError("the engine is loaded already")
        self._needed = max(self._needed, context_length)

    def generate(
        self, requests: Sequence[GenerationRequest], alone: Sequence[GenerationRequest] = ()
    ) -> Generator[tuple[Identity, GenerationOutput]]:
        """Yield each output with the identity of the engine that made it; each of `alone` is decoded by itself."""
        together = [requests] if self._runner is None else self._cut(requests)
        yield from self._ask(_generate, (*together, *([request] for request in alone)))

    def score(
        self, requests: Sequence[ScoreRequest], finished: Container[str] = ()
    ) -> Generator[tuple[Identity, TokenScores]]:
        """Yield the scores of each text that is not `finished`, with the identity of the engine that gave them.

        Which texts are read together changes the last digits: so they are read in the same shards here as by workers,
        and where one of a shard is missing, all of it again. Of a served model each text is asked for by itself.
        """
        shards: list[Sequence[ScoreRequest]]
        if self._model.files is None:
            shards = [[request for request in requests if request.key not in finished]]
        else:
            shards = [of for of in self._cut(requests) if any(request.key not in finished for request in of)]
        for identity, scores in self._ask(_score, shards):
            if scores.key not in finished:
                yield identity, scores

    def close(self) -> None:
        """Free the model, where it was loaded here."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _ask(
        self,
        ask: Callable[[Engine, Sequence[Request]], Iterator[Answer]],
        shards: Iterable[Sequence[Request]],
    ) -> Generator[tuple[Identity, Answer]]:
        if self._runner is None:
            if self._engine is None:
                self._engine = self._model.load(context_length=self._needed)
            identity = self._engine.identity()
            for shard in shards:
                for answer in ask(self._engine, shard) if shard else ():
                    yield identity, answer
            return
        loading = _Loading.of(self._model, context_length=self._needed)
        jobs: Iterable[tuple[Callable[[Engine, Sequence[Request]], Iterator[Answer]], tuple[Request, ...]]] = (
            (ask, tuple(shard)) for shard in shards
        )
        for _, (identity, answers) in self._runner.map(_ask_shard, loading, jobs, cpus=loading.threads, gpu=True):
            for answer in answers:
                yield identity, answer

    def _cut(self, requests: Sequence[Request]) -> list[Sequence[Request]]:
        """Return shards of as many requests as the engine takes at once: whoever decodes them has the same batches."""
        size = self._model.options.batch_size
        return [requests[begin : begin + size] for begin in range(0, len(requests), size)]


@contextmanager
def open_engine(model: AuditedModel, runner: ShardRunner | None) -> Iterator[EngineInUse]:
    """Yield the engine of a model, not yet loaded, and free it at the end; one model at a time is loaded here."""
    engine = EngineInUse(model, runner)
    try:
        yield engine
    finally:
        engine.close()


def _generate(engine: Engine, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
    return engine.generate(requests)


def _score(engine: Engine, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
    return engine.score(requests)


@dataclass(frozen=True, slots=True)
class _Loading:
    """What a worker loads; equal records are loaded once."""

    engine: EngineName
    directory: Path
    digest: str
    context_length: int
    #: The threads that this machine would take: results depend on them.
    threads: int
    #: Of an adapter, whose base `directory` is; None without one.
    adapter: Path | None
    options: EngineOptions

    @classmethod
    def of(cls, model: AuditedModel, *, context_length: int) -> "_Loading":
        """Return what loads a model."""
        if model.files is None:
            raise ValueError("a served model has no files that a worker could load")
        return cls(
            model.engine,
            model.files.directory,
            model.digest,
            context_length,
            choose_threads(model.files, model.options),
            None if model.files.adapter is None else model.files.adapter.directory,
            model.options,
        )


def _ask_shard(
    loading: _Loading, shard: tuple[Callable[[Engine, Sequence[Request]], Iterator[Answer]], tuple[Request, ...]]
) -> tuple[Identity, list[Answer]]:
    """Ask in a worker; return its engine's identity and the answers.

    Raises `BadInputError` where its node lacks the model or has another one.
    """
    ask, requests = shard
    engine = _load(loading)
    return engine.identity(), list(ask(engine, requests))


#: What this worker has loaded: one model at a time.
_loaded: dict[_Loading, Engine] = {}


def _load(loading: _Loading) -> Engine:
    if loading in _loaded:
        return _loaded[loading]
    places = [loading.directory, *([] if loading.adapter is None else [loading.adapter])]
    for place in places:
        if not place.is_dir():
            raise BadInputError(f"a node of the cluster has no model at {place}; put it at the same path on every node")
    directory, adapter = loading.directory, loading.adapter
    files = inspect_model(directory) if adapter is None else inspect_adapted(adapter, base=directory)
    if files.digest != loading.digest:
        raise BadInputError(
            f"a node of the cluster has another model at {loading.directory}; put the audited one there"
        )
    while _loaded:
        _loaded.popitem()[1].close()
    _loaded[loading] = make_engine(
        loading.engine, files, context_length=loading.context_length, threads=loading.threads, options=loading.options
    )
    return _loaded[loading]
