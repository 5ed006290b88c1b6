"""Provenance: the fingerprint that a resumed run must share, and `run.json`."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import polars as pl

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.pii.detectors.site_rules import SiteRules
from clinaudit.audit.results.publication.published_files import kept_identity
from clinaudit.audit.runtime.model.engine_in_use import ENGINE_IDENTITY, OF_SCORES
from clinaudit.audit.runtime.model.engines.memory import count_gpus
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.run.directory import RunDirectory, library_versions
from clinaudit.priors.corpus.corpus import Corpus, all_texts, draw_secret, keyed_digest
from clinaudit.priors.diagnoses import panel_digest
from clinaudit.reports.schema.identity import IDENTITY

_PURPOSE: Final = b"clinaudit: digests of what a run leaves hidden"


def fingerprint(inputs: AuditInputs) -> dict[str, object]:
    """Return everything on which the results depend, by the name of its option; a resumed run must have the same."""
    settings, files = inputs.settings, inputs.model.files
    draws_or_scores = settings.everyday or settings.draws > 0 or settings.score
    return {
        "clinaudit": version("clinaudit"),
        "command": "audit",
        "MODEL": inputs.model.digest,
        "CORPUS": inputs.corpus.digest,
        "--base-model": files.base_digest if files else None,
        "--tokenizer": inputs.model.tokenizer_digest,
        "--context-length": inputs.model.context_length,
        "--engine": inputs.model.engine,
        "--score": settings.score,
        "--score-all": settings.score_all,
        "--everyday": settings.everyday,
        "--draws": settings.draws,
        "--tasks": inputs.tasks and _file_digest(inputs, inputs.tasks.digest, is_own=bool(inputs.tasks.own)),
        "--control-model": inputs.control.digest if inputs.control else None,
        "--control": settings.control if inputs.control else None,
        # In float32 on a CPU no greedy answer depends on them, so that a resumed run may change them; drawn ones may.
        # The last digits of scores do.
        **({} if count_gpus() == 0 else inputs.model.options.by_name),
        **({"--max-batch": inputs.model.options.batch_size} if draws_or_scores else {}),
        "--judge": inputs.judge.identity(),
        "--judge-labels": _file_digest(inputs, inputs.labelled.digest, is_own=inputs.labelled.source == "site"),
        "--policy": inputs.digests["--policy"],
        "--template": inputs.profile.digest,
        "--diagnosis": [diagnosis.id for diagnosis in inputs.panel],
        "diagnoses": panel_digest(inputs.sensitive),
        "--tier": list(settings.tier),
        "--prompt-form": inputs.probed.form,
        "chat template": inputs.chat.digest if inputs.chat else None,
        "--seed": settings.seed,
        "--ngram": settings.ngram,
        "--max-new-tokens": settings.max_new_tokens,
        "--patients-per-cell": settings.patients_per_cell,
        "--no-refine": settings.no_refine,
        "--controls": settings.controls,
        "--training-length": settings.training_length,
        "--training-log": inputs.digests.get("--training-log"),
        "libraries": library_versions(),
    }


def _file_digest(inputs: AuditInputs, digest: str, *, is_own: bool) -> str:
    return hidden_digest(inputs.corpus, digest.encode("ascii")) if is_own else digest


def hidden_digest(corpus: Corpus, content: bytes) -> str:
    """Return a digest of what is not published: keyed, or it would confirm a guess of the content."""
    return keyed_digest(draw_secret(all_texts(corpus), purpose=_PURPOSE), content)


def rules_digest(corpus: Corpus, rules: SiteRules | None) -> str | None:
    """Return the digest of a site's rules, whose patterns may hold a name; None where it has none."""
    return None if rules is None else hidden_digest(corpus, rules.digest.encode("ascii"))


def named_patients(inputs: AuditInputs) -> dict[str, object]:
    """Return the digest of the ids that the site named; a resumed run must have the same, and nothing else tells it."""
    return {"--include-patients": inputs.digests.get("--include-patients")}


def describe_run(inputs: AuditInputs, *, prompts: pl.DataFrame, bound: Mapping[str, Any]) -> dict[str, object]:
    """Return `run.json`: identity, settings, versions and digests; no paths, no times.

    `bound` are the settings that the run's store keeps, the engines' identities among them; that of the engine that
    scored notes where it is not the one that decoded.

    The identity is no part of the fingerprint: a resumed run may be given another name, and keeps the one that it has
    where none is given.
    """
    earlier = kept_identity(RunDirectory(inputs.settings.out))
    # Nothing that a run keeps depends on them: with other ones identifiers are looked for again.
    settings = fingerprint(inputs) | {"--identifier-rules": rules_digest(inputs.corpus, inputs.site_rules)}
    libraries, judge = settings.pop("libraries"), settings.pop("--judge")
    return {
        "clinaudit": settings.pop("clinaudit"),
        IDENTITY: earlier.updated(inputs.settings.identity).as_record(),
        "settings": settings,
        "libraries": libraries,
        "ignored files": list(inputs.model.ignored_files),
        # A served model's address may reveal the site's network; its digest replaces it.
        "engine": {field: value for field, value in bound.get(ENGINE_IDENTITY, {}).items() if field != "base_url"},
        **({"engine of scores": scored_by} if (scored_by := bound.get(ENGINE_IDENTITY + OF_SCORES)) else {}),
        "judge": judge,
        "digests": {
            "model": inputs.model.digest,
            **_adapter_digests(inputs.model.files),
            "tokenizer": inputs.model.tokenizer_digest,
            "corpus": inputs.corpus.digest,
            "prompts": hidden_digest(inputs.corpus, audited_prompts(prompts)),
        },
    }


def audited_prompts(prompts: pl.DataFrame) -> bytes:
    """Return by what runs are known to have asked the same, whatever they asked a control model, others, or again."""
    asked = prompts.filter(role="target", model="audited", draw=0)
    # The messages of a chat stand in its prompt.
    return asked.drop("messages").write_ndjson().encode("utf-8")


def _adapter_digests(files: ModelFiles | None) -> dict[str, str]:
    """Return the digests of the two parts of a model with an adapter."""
    if files is None or files.adapter is None or files.base_digest is None:
        return {}
    return {"base model": files.base_digest, "adapter": files.adapter.digest}
