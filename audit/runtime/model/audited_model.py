"""The model under audit, files or a served model with the directory of its tokenizer, and its engine in a run.

Owns which engine decodes it with how many threads, when it is loaded and freed, and the way of requests to the workers
of a cluster. Before an engine is made no weights and no library are loaded.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Collection, Container, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from clinaudit.audit.runtime.choices import EngineChoice, EngineName
from clinaudit.audit.runtime.cluster import ShardRunner
from clinaudit.audit.runtime.console import warn
from clinaudit.audit.runtime.model.adapter import is_adapter
from clinaudit.audit.runtime.model.engines.memory import DEFAULT_OPTIONS, EngineOptions, require_loadable, weight_bytes
from clinaudit.audit.runtime.model.engines.protocol import Engine, GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_adapted, inspect_model, require_unchanged
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer, digest_tokenizer
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.audit.runtime.run.store import GenerationOutput, RunStore, TokenScores
from clinaudit.audit.runtime.served.access import Access, ServedModel, parse_served_model, require_approved
from clinaudit.errors import BadInputError, StorageError, UsageError


@dataclass(frozen=True, slots=True)
class AuditedModel:
    """The model under audit, and the engine that decodes it."""

    engine: EngineName
    #: SHA-256 of the files; of a served model, whose weights are not visible here, of its address and name.
    digest: str
    tokenizer_directory: Path
    tokenizer_digest: str
    #: Tokens that prompt and generation together may hold.
    context_length: int
    files: ModelFiles | None
    served: ServedModel | None
    approved_hosts: tuple[str, ...]
    options: EngineOptions = DEFAULT_OPTIONS

    def require_loadable(self) -> None:
        """Raise `BadInputError` where this machine cannot run the model, however short the prompts are."""
        if self.files is not None:
            require_loadable(self.files, self.engine, context_length=1, options=self.options)

    def with_compared_weights(self, tokenizer: ModelTokenizer) -> "AuditedModel":
        """Return the model compared with its network; raises `BadInputError` where weights or tokens do not fit it."""
        if self.files is None:
            return self
        from clinaudit.audit.runtime.model.pretrained import require_own_weights

        tokenizer.require_embedded(self.files.vocab_size)
        return replace(self, files=require_own_weights(self.files))

    def load(self, *, context_length: int, to_score: bool = False) -> Engine:
        """Make the engine for prompts and generations of up to `context_length` tokens together.

        What vLLM decodes is scored (`to_score`) by transformers, whose logits give mean and deviation of log p, and by
        vLLM, which gives the scored tokens alone, where transformers cannot run the model on this machine.
        """
        if self.served is not None:
            from clinaudit.audit.runtime.model.engines.openai_engine import OpenAIEngine

            # 1,000 tokens of a large model on a busy server take minutes.
            access = Access(self.approved_hosts, deadline_s=600.0)
            return OpenAIEngine(self.served, access, context_length=context_length)
        if self.files is None:
            raise ValueError("a model is either files or served")
        if to_score and self.engine == "vllm":
            alone = replace(self.options, tensor_parallel=None, gpu_memory=None)
            try:
                return make_engine("transformers", self.files, context_length=context_length, options=alone)
            except BadInputError as error:
                warn(f"warning: vLLM scores the notes, without mean and deviation: {error.message}")
        return make_engine(self.engine, self.files, context_length=context_length, options=self.options)


def find_model(
    name: str,
    *,
    engine: EngineChoice = "auto",
    tokenizer: Path | None = None,
    context_length: int | None = None,
    approved_hosts: Collection[str] = (),
    base_model: Path | None = None,
    options: EngineOptions = DEFAULT_OPTIONS,
) -> AuditedModel:
    """Check MODEL and its options, and load nothing; `UsageError` for what does not go together, else as the parts."""
    served, files = parse_served_model(name), None
    if served is None:
        if tokenizer is not None or context_length is not None:
            raise UsageError("--tokenizer and --context-length go with a served MODEL (openai:…) only")
        path = Path(name)
        if base_model is not None and path.is_dir() and not is_adapter(path):
            raise UsageError(
                "--base-model goes with an adapter's directory (adapter_config.json) as MODEL, and this one holds "
                "none; leave it out, or name the adapter"
            )
        files = inspect_model(path) if base_model is None else inspect_adapted(path, base=base_model)
        digest, tokenizer, context_length = files.digest, files.tokenizer_directory, files.context_length
    else:
        if base_model is not None:
            raise UsageError(
                "--base-model goes with an adapter's directory as MODEL, not with a served one; leave it out"
            )
        require_approved(served.base_url, approved_hosts=approved_hosts)
        if tokenizer is None or context_length is None:
            raise UsageError(
                "a served MODEL needs --tokenizer DIR (its tokenizer's files) and --context-length TOKENS, "
                "since neither can be asked of the server"
            )
        digest = hashlib.sha256(json.dumps([served.base_url, served.name]).encode("utf-8")).hexdigest()
    return AuditedModel(
        engine=resolve_engine(engine, served=served is not None),
        digest=digest,
        tokenizer_directory=tokenizer,
        tokenizer_digest=digest_tokenizer(tokenizer),
        context_length=context_length,
        files=files,
        served=served,
        approved_hosts=tuple(approved_hosts),
        options=options,
    )


#: Below this size of weights one thread is nearly as fast, and does not collapse under load: on two idle cores, vLLM
#: with a 3 MB model decoded 7,500 to 8,200 tokens/s with one thread and 9,300 to 11,300 with two; with two on a busy
#: machine collapses to about 1,000 have been seen, and of a model of 540 MB to a 25th.
_SMALL_MODEL_BYTES = 1 << 30
#: What the user asked all programs to take, before an engine sets it for itself; of a list the outermost level's.
_ASKED = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]


def resolve_engine(choice: EngineChoice, *, served: bool = False) -> EngineName:
    """Return the engine of `--engine`; `served`: MODEL is an `openai:` address. `UsageError` for what is not there."""
    if served and choice not in ("auto", "openai"):
        raise UsageError(f"--engine {choice} does not go with a served MODEL; leave --engine out")
    if choice == "openai" and not served:
        raise UsageError("--engine openai needs a MODEL of the form openai:BASE_URL#MODEL_NAME")
    if served or choice == "transformers":
        return "openai" if served else "transformers"
    has_vllm = importlib.util.find_spec("vllm") is not None
    if choice == "vllm" and not has_vllm:
        raise UsageError("--engine vllm: vLLM is not installed; install it, or use --engine transformers")
    return "vllm" if has_vllm else "transformers"


def choose_threads(model: ModelFiles, options: EngineOptions) -> int:
    """Return the threads to decode with: as asked (option, `OMP_NUM_THREADS`), else one, of large models all cores."""
    asked = options.threads or (int(_ASKED) if _ASKED.isdecimal() else 0)
    return asked or (1 if weight_bytes(model, as_float32=False) < _SMALL_MODEL_BYTES else usable_cores())


def make_engine(
    name: EngineName, model: ModelFiles, *, context_length: int | None = None, options: EngineOptions = DEFAULT_OPTIONS
) -> Engine:
    """Load `model`; `BadInputError` where it does not fit or load, `StorageError` where its files changed."""
    require_unchanged(model)
    length = min(context_length or model.context_length, model.context_length)
    threads = choose_threads(model, options)
    require_loadable(model, name, context_length=length, options=options)
    engine: Engine
    if name == "vllm":
        from clinaudit.audit.runtime.model.engines.vllm_engine import VllmEngine

        engine = VllmEngine(model, context_length=length, threads=threads, options=options)
    else:
        from clinaudit.audit.runtime.model.engines.transformers_engine import TransformersEngine

        engine = TransformersEngine(model, context_length=length, threads=threads, options=options)
    try:
        require_unchanged(model)
    except StorageError:
        engine.close()
        raise
    return engine


#: The settings of a run that say which engines answered for the audited model, and for the control model.
ENGINE_IDENTITY: Final = "engine identity"
CONTROL_IDENTITY: Final = "control engine identity"
#: What follows these names where another engine than the one that decodes scores texts.
OF_SCORES: Final = " of scores"
_Method = Literal["generate", "score"]


class EngineInUse:
    """The engine of a model, loaded when it is first needed, here or by each worker; a served model is asked from here.

    A model that vLLM decodes is scored by transformers, where transformers runs it: one of the two is loaded at a time.
    With the first answer the run is bound to the engine's identity, kept as the setting `identity_field` (of an engine
    for scores alone, as one of its own): `UsageError` where it changed since, or differs among the workers.
    `self_test` asks it before all else.
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
        self._model = model
        self._runner = None if runner is None or runner.is_here or model.files is None else runner
        self._store = store
        self._identity_field = identity_field
        self._bound: dict[str, dict[str, str]] = {}
        self._needed = 1
        self._engine: Engine | None = None
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
        """Yield the scores of each text that is not `finished`, in any order; `NoScoresError` where there are none.

        Which texts are read together changes the last digits: so they are read in the same shards here as by workers,
        and where one of a shard is missing, all of it again. Of a served model each text is asked for by itself.
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
        # As many as the engine takes at once: whoever is asked has the same batches.
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
        # One model at a time is loaded; another engine than the one that decodes was made for scores alone.
        if self._engine is not None and (self._engine.name != self._model.engine) != to_score:
            self.close()
        if self._engine is None:
            self._engine = self._model.load(context_length=self._needed, to_score=to_score)
        return self._engine

    def _bind(self, field: str, identity: Mapping[str, str]) -> None:
        # In float32 on a CPU no result depends on the number of threads, as measured: a resumed run may have another.
        is_exact = identity.get("device") == "cpu" and str(identity.get("dtype", "")).endswith("float32")
        to_keep = {name: value for name, value in identity.items() if name != "threads" or not is_exact}
        if to_keep != self._bound.get(field):
            self._store.bind_settings({field: to_keep})
            self._bound[field] = to_keep


#: The engine of this worker, which does one kind of work for one model (`RayRunner.map`).
_loaded: list[Engine] = []


def _ask_shard(
    loading: tuple[AuditedModel, bool, int], shard: tuple[_Method, tuple[Any, ...]]
) -> tuple[dict[str, str], list[Any]]:
    if not _loaded:
        model, to_score, context_length = loading
        if model.files is None:
            raise ValueError("a served model is asked from the process of the audit")
        directory, adapter = model.files.directory, model.files.adapter
        for place in (directory, *(() if adapter is None else (adapter.directory,))):
            if not place.is_dir():
                raise BadInputError(
                    f"a node of the cluster has no model at {place}; put it at the same path on every node"
                )
        here = inspect_model(directory) if adapter is None else inspect_adapted(adapter.directory, base=directory)
        if here.digest != model.digest:
            raise BadInputError(f"a node of the cluster has another model at {directory}; put the audited one there")
        found = replace(model, files=replace(here, is_compared=True))
        _loaded.append(found.load(context_length=context_length, to_score=to_score))
    (engine,) = _loaded
    method, requests = shard
    return engine.identity(), list(getattr(engine, method)(requests))
