"""The model under audit: a directory of files, or a served model with the directory of its tokenizer.

Owns what the rest of the audit may know of the model, and which engine decodes it with how many threads. Loads no
weights, and no library before an engine is made.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from clinaudit.audit.runtime.choices import EngineChoice, EngineName
from clinaudit.audit.runtime.console.streams import warn
from clinaudit.audit.runtime.model.adapter import is_adapter
from clinaudit.audit.runtime.model.engines.memory import DEFAULT_OPTIONS, EngineOptions, require_loadable
from clinaudit.audit.runtime.model.engines.protocol import Engine
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_adapted, inspect_model, require_unchanged
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer, digest_tokenizer
from clinaudit.audit.runtime.run.processes import usable_cores
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

    @property
    def ignored_files(self) -> tuple[str, ...]:
        """Names of files beside the model's and the adapter's own weights that are never opened."""
        if self.files is None:
            return ()
        adapter = self.files.adapter
        return tuple(sorted({*self.files.ignored, *(() if adapter is None else adapter.ignored)}))

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

    def found_here(self) -> "AuditedModel":
        """Return the model as it lies here; raises `BadInputError` where this machine lacks it, or has another one."""
        if self.files is None:
            return self
        directory, adapter = self.files.directory, self.files.adapter
        for place in (directory, *(() if adapter is None else (adapter.directory,))):
            if not place.is_dir():
                raise BadInputError(
                    f"a node of the cluster has no model at {place}; put it at the same path on every node"
                )
        here = inspect_model(directory) if adapter is None else inspect_adapted(adapter.directory, base=directory)
        if here.digest != self.digest:
            raise BadInputError(f"a node of the cluster has another model at {directory}; put the audited one there")
        return replace(self, files=replace(here, is_compared=True))


def find_model(
    name: str,
    *,
    engine: EngineChoice,
    tokenizer: Path | None,
    context_length: int | None,
    approved_hosts: Collection[str],
    base_model: Path | None = None,
    options: EngineOptions = DEFAULT_OPTIONS,
) -> AuditedModel:
    """Check MODEL and its options, and load nothing; `UsageError` for what does not go together, else as the parts."""
    served = parse_served_model(name)
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
        return AuditedModel(
            engine=resolve_engine(engine),
            digest=files.digest,
            tokenizer_directory=files.tokenizer_directory,
            tokenizer_digest=digest_tokenizer(files.tokenizer_directory),
            context_length=files.context_length,
            files=files,
            served=None,
            approved_hosts=(),
            options=options,
        )
    if base_model is not None:
        raise UsageError("--base-model goes with an adapter's directory as MODEL, not with a served one; leave it out")
    require_approved(served.base_url, approved_hosts=approved_hosts)
    if tokenizer is None or context_length is None:
        raise UsageError(
            "a served MODEL needs --tokenizer DIR (its tokenizer's files) and --context-length TOKENS, "
            "since neither can be asked of the server"
        )
    return AuditedModel(
        engine=resolve_engine(engine, served=True),
        digest=hashlib.sha256(json.dumps([served.base_url, served.name]).encode("utf-8")).hexdigest(),
        tokenizer_directory=tokenizer,
        tokenizer_digest=digest_tokenizer(tokenizer),
        context_length=context_length,
        files=None,
        served=served,
        approved_hosts=tuple(approved_hosts),
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
    """Return the threads to decode with: what was asked for, by option or by `OMP_NUM_THREADS`.

    Else one for a small model, and for another one for each core that this process may use.
    """
    asked = options.threads or (int(_ASKED) if _ASKED.isdecimal() else 0)
    return asked or (1 if model.weight_bytes < _SMALL_MODEL_BYTES else usable_cores())


def make_engine(
    name: EngineName,
    model: ModelFiles,
    *,
    context_length: int | None = None,
    options: EngineOptions = DEFAULT_OPTIONS,
) -> Engine:
    """Load `model` for up to `context_length` tokens.

    Raises `BadInputError` where it does not fit or load, and `StorageError` where its files changed since they were
    checked.
    """
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
