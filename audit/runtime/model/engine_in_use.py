"""The engine of one model for all stages of a run: loaded once, when it is first needed, here or by each worker.

Owns when a model is loaded and freed, and the way of requests to the workers of a cluster. All workers must load the
same files, and all engines that answer in a run must be alike. Knows nothing of what is asked.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

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
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.errors import BadInputError

Request = TypeVar("Request")
Answer = TypeVar("Answer")
#: What asks an engine; a module's function, since workers are sent it.
Ask = Callable[[Engine, Sequence[Request]], Iterator[Answer]]
#: The settings of a run that say which engines answered for the audited model, and for the control model.
ENGINE_IDENTITY: Final = "engine identity"
CONTROL_IDENTITY: Final = "control engine identity"


class EngineInUse:
    """The engine of a model; a served model is asked from this process, runner or not.

    Before the first answer the run is bound to the engine's identity, kept as the setting `identity_field`. Whatever is
    asked raises `UsageError` where the engine changed since the run began, or differs among the workers.
    """

    def __init__(
        self,
        model: AuditedModel,
        runner: ShardRunner | None,
        store: RunStore,
        *,
        identity_field: str = ENGINE_IDENTITY,
    ) -> None:
        self._model = model
        self._runner = None if model.files is None else runner
        self._store = store
        self._identity_field = identity_field
        self._identity: dict[str, str] = {}
        self._needed = 1
        self._engine: Engine | None = None

    def require(self, context_length: int) -> None:
        """Say, before anything is asked, that prompts and answers of so many tokens together will be asked for."""
        if self._engine is not None:
            raise ValueError("the engine is loaded already")
        self._needed = max(self._needed, context_length)

    def generate(
        self, requests: Sequence[GenerationRequest], alone: Sequence[GenerationRequest] = ()
    ) -> Generator[GenerationOutput]:
        """Yield each output, in any order; each of `alone` is decoded by itself."""
        yield from self._ask(_generate, requests, alone)

    def score(self, requests: Sequence[ScoreRequest]) -> Generator[TokenScores]:
        """Yield the scores of each text, in any order; raises `NoScoresError` where the model gives none."""
        yield from self._ask(_score, requests)

    def close(self) -> None:
        """Free the model, where it was loaded here."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _ask(
        self, ask: Ask[Request, Answer], requests: Sequence[Request], alone: Sequence[Request] = ()
    ) -> Generator[Answer]:
        alone_each = [[request] for request in alone]
        if self._runner is None:
            if self._engine is None:
                self._engine = self._model.load(context_length=self._needed)
            for batch in [requests, *alone_each]:
                if batch:
                    self._bind(self._engine.identity())
                    yield from ask(self._engine, batch)
            return
        loading = _Loading.of(self._model, context_length=self._needed)
        # A shard is a batch of the engine's: so draws are made in the same batches here and there.
        size = self._model.options.batch_size
        cut = [requests[begin : begin + size] for begin in range(0, len(requests), size)]
        shards = ((ask, tuple(shard)) for shard in [*cut, *alone_each])
        for _, (identity, answers) in self._runner.map(_ask_shard, loading, shards, cpus=loading.threads, gpu=True):
            self._bind(identity)
            yield from answers

    def _bind(self, identity: Mapping[str, str]) -> None:
        to_keep = identity_to_keep(identity)
        if to_keep != self._identity:
            self._store.bind_settings({self._identity_field: to_keep})
            self._identity = to_keep


def identity_to_keep(identity: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the engine's identity that a resumed run must have.

    It is all of it, but in float32 on a CPU not the number of threads. There the drift check has seen no result change
    with it. What a resumed run decodes alone, with its own threads, is compared with what was kept before.
    """
    is_exact = identity.get("device") == "cpu" and str(identity.get("dtype", "")).endswith("float32")
    return {name: value for name, value in identity.items() if name != "threads" or not is_exact}


@contextmanager
def open_engine(
    model: AuditedModel, runner: ShardRunner | None, store: RunStore, *, identity_field: str = ENGINE_IDENTITY
) -> Iterator[EngineInUse]:
    """Yield the engine of a model, not yet loaded, and free it at the end; one model at a time is loaded here."""
    engine = EngineInUse(model, runner, store, identity_field=identity_field)
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
    loading: _Loading, shard: tuple[Ask[Request, Answer], tuple[Request, ...]]
) -> tuple[dict[str, str], list[Answer]]:
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
