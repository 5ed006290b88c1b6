"""The model under audit: a directory of files, or a served model with the directory of its tokenizer.

Owns what the rest of the audit may know of the model. Loads no weights.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.choices import EngineChoice, EngineName
from clinaudit.audit.model.adapter import is_adapter
from clinaudit.audit.model.engines.memory import DEFAULT_OPTIONS, EngineOptions, require_loadable
from clinaudit.audit.model.engines.protocol import Engine
from clinaudit.audit.model.engines.selection import make_engine, resolve_engine
from clinaudit.audit.model.files import ModelFiles, digest_tokenizer, inspect_adapted, inspect_model
from clinaudit.audit.served.access import Access, ServedModel, parse_served_model, require_approved
from clinaudit.errors import UsageError


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

    def load(self, *, context_length: int) -> Engine:
        """Make the engine for prompts and generations of up to `context_length` tokens together."""
        if self.files is not None:
            return make_engine(self.engine, self.files, context_length=context_length, options=self.options)
        if self.served is None:
            raise ValueError("a model is either files or served")
        from clinaudit.audit.model.engines.openai_engine import DEADLINE_S, OpenAIEngine

        access = Access(self.approved_hosts, deadline_s=DEADLINE_S)
        return OpenAIEngine(self.served, access, context_length=context_length)


def _inspect(path: Path, base_model: Path | None) -> ModelFiles:
    if base_model is None:
        return inspect_model(path)
    if path.is_dir() and not is_adapter(path):
        raise UsageError(
            "--base-model goes with an adapter's directory (adapter_config.json) as MODEL, and this one holds none; "
            "leave it out, or name the adapter"
        )
    return inspect_adapted(path, base=base_model)


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
    """Check MODEL and the options that go with it; sends nothing and loads nothing.

    Raises `UsageError` for options that do not go together, `BadInputError` and `UnsafeError` as the parts do.
    """
    served = parse_served_model(name)
    if served is None:
        if tokenizer is not None or context_length is not None:
            raise UsageError("--tokenizer and --context-length go with a served MODEL (openai:…) only")
        files = _inspect(Path(name), base_model)
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
    address = json.dumps([served.base_url, served.name])
    return AuditedModel(
        engine=resolve_engine(engine, served=True),
        digest=hashlib.sha256(address.encode("utf-8")).hexdigest(),
        tokenizer_directory=tokenizer,
        tokenizer_digest=digest_tokenizer(tokenizer),
        context_length=context_length,
        files=None,
        served=served,
        approved_hosts=tuple(approved_hosts),
    )
