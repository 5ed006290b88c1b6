"""The engine of one model for all stages of a run: loaded when it is first needed, here or by each worker.

A model that vLLM decodes is scored by transformers, where transformers runs it: one of the two is loaded at a time.
Owns when a model is loaded and freed, and the way of requests to the workers of a cluster. All workers must load the
same files, and all engines that answer in a run must be alike. Knows nothing of what is asked.
"""

from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.model.audited_model import AuditedModel, choose_threads
from clinaudit.audit.runtime.model.engines.protocol import Engine, GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.run.store import GenerationOutput, RunStore, TokenScores

#: The settings of a run that say which engines answered for the audited model, and for the control model.
ENGINE_IDENTITY: Final = "engine identity"
CONTROL_IDENTITY: Final = "control engine identity"
#: What follows these names where another engine than the one that decodes scores texts.
OF_SCORES: Final = " of scores"
#: What an engine is asked for.
_Method = Literal["generate", "score"]


class EngineInUse:
    """The engine of a model, not yet loaded; a served model is asked from this process, runner or not.

    With the first answer the run is bound to the engine's identity, kept as the setting `identity_field`; where vLLM
    decodes, that of the engine that scores texts has a setting of its own. Whatever is asked raises `UsageError` where
    the engine changed since the run began, or differs among the workers.
    """

    def __init__(
        self,
        model: AuditedModel,
        runner: ShardRunner | None,
        store: RunStore,
        *,
        identity_field: str = ENGINE_IDENTITY,
        self_test: "Callable[[EngineInUse], None] | None" = None,
    ) -> None:
        """`self_test` asks the engine something before anything else is asked."""
        self._model = model
        self._runner = None if runner is None or runner.is_here or model.files is None else runner
        self._store = store
        self._identity_field = identity_field
        self._bound: dict[str, dict[str, str]] = {}
        self._needed = 1
        self._engine: Engine | None = None
        #: Whether the engine that is loaded was made for scores alone.
        self._is_for_scores = False
        self._self_test = self_test

    def require(self, context_length: int) -> None:
        """Say, before anything is asked, that prompts and answers of so many tokens together will be asked for."""
        if self._engine is not None:
            raise ValueError("the engine is loaded already")
        self._needed = max(self._needed, context_length)

    def generate(self, requests: Sequence[GenerationRequest]) -> Generator[GenerationOutput]:
        """Yield each output, in any order."""
        yield from self._ask("generate", [requests] if self._runner is None else self._cut(requests))

    def score(self, requests: Sequence[ScoreRequest], finished: Container[str] = ()) -> Generator[TokenScores]:
        """Yield the scores of each text that is not `finished`, in any order.

        Which texts are read together changes the last digits: so they are read in the same shards here as by workers,
        and where one of a shard is missing, all of it again. Of a served model each text is asked for by itself. Raises
        `NoScoresError` where the model gives no scores.
        """
        shards = self._cut(requests)
        if self._model.files is None:
            shards = [[request for request in requests if request.key not in finished]]
        pending = (shard for shard in shards if any(request.key not in finished for request in shard))
        for scores in self._ask("score", pending):
            if scores.key not in finished:
                yield scores

    def close(self) -> None:
        """Free the model, where it was loaded here: one model at a time is."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _cut(self, requests: Sequence[Any]) -> list[Sequence[Any]]:
        """Return shards of as many requests as the engine takes at once: whoever is asked has the same batches."""
        size = self._model.options.batch_size
        return [requests[begin : begin + size] for begin in range(0, len(requests), size)]

    def _ask(self, method: _Method, shards: Iterable[Sequence[Any]]) -> Generator[Any]:
        files = self._model.files
        if self._self_test is not None:
            test, self._self_test = self._self_test, None
            test(self)
        to_score = method == "score" and self._model.engine == "vllm"
        field = self._identity_field + (OF_SCORES if to_score else "")
        if to_score and self._store.settings().get(field, {}).get("engine") == self._model.engine:
            # transformers did not fit when the run began: memory that is free by now must not change the engine.
            to_score = False
        if self._runner is None or files is None:
            engine = self._load(to_score=to_score)
            identity = engine.identity()
            for shard in shards:
                for answer in getattr(engine, method)(shard):
                    self._bind(field, identity)
                    yield answer
            return
        # With the threads that this machine would take: results depend on them.
        threads = choose_threads(files, self._model.options)
        asked = replace(self._model, options=replace(self._model.options, threads=threads))
        jobs = ((method, tuple(shard)) for shard in shards)
        for identity, answers in self._runner.map(
            _ask_shard, (asked, to_score, self._needed), jobs, cpus=threads, gpu=True
        ):
            self._bind(field, identity)
            yield from answers

    def _load(self, *, to_score: bool) -> Engine:
        # One model at a time is loaded.
        if self._engine is not None and self._is_for_scores != to_score:
            self.close()
        if self._engine is None:
            self._engine = self._model.load(context_length=self._needed, to_score=to_score)
            self._is_for_scores = self._engine.name != self._model.engine
        return self._engine

    def _bind(self, field: str, identity: Mapping[str, str]) -> None:
        to_keep = identity_to_keep(identity)
        if to_keep != self._bound.get(field):
            self._store.bind_settings({field: to_keep})
            self._bound[field] = to_keep


def identity_to_keep(identity: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the engine's identity that a resumed run must have: all of it, as a rule.

    In float32 on a CPU no result depends on the number of threads, as measured.
    """
    is_exact = identity.get("device") == "cpu" and str(identity.get("dtype", "")).endswith("float32")
    return {name: value for name, value in identity.items() if name != "threads" or not is_exact}


#: The engine of this worker, which does one kind of work for one model (`RayRunner.map`).
_loaded: list[Engine] = []


def _ask_shard(
    loading: tuple[AuditedModel, bool, int], shard: tuple[_Method, tuple[Any, ...]]
) -> tuple[dict[str, str], list[Any]]:
    """Ask in a worker; return its engine's identity and the answers. Raises as `AuditedModel.found_here` does."""
    if not _loaded:
        model, to_score, context_length = loading
        _loaded.append(model.found_here().load(context_length=context_length, to_score=to_score))
    (engine,) = _loaded
    method, requests = shard
    return engine.identity(), list(getattr(engine, method)(requests))
