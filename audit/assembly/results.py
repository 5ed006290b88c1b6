"""From an audit's inputs and outcomes to `results.json` and `run.json`: what is said of a run beside its figures.

Which attacks a run holds, the caveats (limitations that follow from inputs and settings), and provenance, with the
fingerprint that a resumed run must share (docs/results.md).
"""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import polars as pl

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.judge.labels import NO_ANSWER, label_source
from clinaudit.audit.measures.population import NO_PROMPT
from clinaudit.audit.pii.detectors.site_rules import SiteRules
from clinaudit.audit.preview.fit import MINIMUM_SHARE, Kind, find_misfits, find_table_misfits
from clinaudit.audit.results.gate.asked import FEWEST_WITH_DIAGNOSIS
from clinaudit.audit.results.publication.published_files import kept_identity
from clinaudit.audit.runtime.model.audited_model import ENGINE_IDENTITY, OF_SCORES
from clinaudit.audit.runtime.model.engines.memory import count_gpus
from clinaudit.audit.runtime.run.directory import RunDirectory, library_versions
from clinaudit.priors.corpus.corpus import Corpus, all_texts, draw_secret, keyed_digest
from clinaudit.priors.diagnoses import panel_digest
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.tiers import Fact
from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.estimates.publication import HIDDEN
from clinaudit.reports.schema.attacks import ATTACKS, Attack, AttackName, Release
from clinaudit.reports.schema.identity import IDENTITY
from clinaudit.reports.schema.run_results import CohortFacts, CorpusFacts, IdentifierFacts, RunResults, Settings
from clinaudit.templates.profile import NoteProfile

#: Attack -> the metric of which a run that holds it has a figure, and what the place of these rows must hold.
_SHOWN_BY: Final[dict[AttackName, tuple[str, dict[str, str]]]] = {
    "continuation": ("memorized_fraction", {}),
    "other_patients_text": ("other_patient_fraction", {}),
    "identifiers": ("own_identifiers", {}),
    "queries_needed": ("queries_needed", {"arm": "train"}),
    "sampling": ("memorized_fraction", {"form": "drawn"}),
    "chat": ("memorized_fraction", {"form": "chat"}),
    "control": ("memorized_fraction", {"arm": "control"}),
    "membership": ("membership_auroc", {}),
    "everyday_use": ("everyday_tasks", {}),
    "attribute_inference": ("auroc_all", {}),
}


def describe_results(
    inputs: AuditInputs,
    published: Estimates,
    tables: Mapping[str, pl.DataFrame],
    *,
    identifiers: IdentifierFacts,
    is_judged: bool,
    not_scored: str | None,
    caveats: Sequence[str],
) -> RunResults:
    """Return what is said of a run, without the verdict; `published` is the table that may be read outside.

    Of the `tables` labels, annotations (of the cohorts' members), cohorts, and the outcomes of matching are read.
    `is_judged`: whether there was anything to judge; `not_scored`: why no note was scored, None where notes were;
    `caveats` come before those that follow from the inputs.
    """
    settings, probed = inputs.settings, inputs.probed
    having = dict(tables["labels"].filter("present")["diagnosis"].value_counts().iter_rows())
    cohorts = {}
    for diagnosis, status, reason in tables["outcomes"].iter_rows():
        if having.get(diagnosis, 0) < FEWEST_WITH_DIAGNOSIS:
            status, reason = "not_asked", "fewer than 11 patients of the corpus have it"
        elif status not in ("poorly_matched", "unavailable"):
            # How alike the groups are is said by the rows of `smd`.
            status = "matched"
        cohorts[diagnosis] = CohortFacts(status=status, reason=reason)
    return RunResults(
        settings=Settings(
            match_tokens=settings.ngram,
            max_new_tokens=settings.max_new_tokens,
            tiers=[tier for tier in probed.ids if tier in published.values_of("tier", "patients")],
            forms=list(probed.forms),
            control=probed.asks_control,
            training_length=inputs.training_length,
            sampled=tables["cohorts"].is_empty(),
            seed=settings.seed,
        ),
        corpus=CorpusFacts(
            counterfactual=inputs.corpus.has_counterfactual,
            labels=label_source(inputs.corpus, settings.judge),
            warnings=list(inputs.corpus.warnings),
        ),
        cohorts=cohorts,
        identifiers=identifiers,
        not_scored=not_scored,
        judge=inputs.judge.name if is_judged else None,
        judge_labels=inputs.labelled.source if is_judged else None,
        warnings=[*caveats, *find_caveats(inputs, published, tables)],
        narrowed=inputs.narrowed,
        training=None if inputs.training is None else list(inputs.training),
        attacks=list_attacks(published, release=settings.release),
        release=settings.release,
    )


def list_attacks(estimates: Estimates, *, release: Release | None) -> list[Attack]:
    """Return every class of attack in order; one that needs the weights is not applicable where these never leave.

    `estimates` is the published table. What has no figure, but for one that is hidden there, was not run.
    """
    found = {
        name
        for name, (metric, place) in _SHOWN_BY.items()
        if any(not row.reason or row.reason in HIDDEN for row in estimates.rows(metric, **place))
    }
    inside = ("fine_tuning", "gradients") if release == "api" else ()
    return [
        Attack(name=name, status="run" if name in found else "not applicable" if name in inside else "not run")
        for name in ATTACKS
    ]


#: What the report warns of; it holds no text of the corpus.
_SAID: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("caveats.toml").read_text(encoding="utf-8"))
#: Up to this share of the patients nothing is said: a caveat about fewer would tell of single patients.
_FEW: Final = 0.1


def _is_more_than_few(row: Row) -> bool:
    """Whether a published share of patients is surely above the share up to which nothing is said."""
    return bool(row.count_low and row.of_high and row.count_low > _FEW * row.of_high)


def find_fit_caveats(facts: Collection[PatientFacts], profile: NoteProfile) -> list[str]:
    """Return what the note template and the tables get wrong for more than a tenth of what it is about, in a caveat."""
    by_id = {known.patient_id: known for known in facts}
    subjects: dict[Kind, list[str]] = {}
    for finding in (*find_table_misfits(facts), *find_misfits(by_id, profile)[1]):
        # Fewer would tell of single patients.
        if finding.found < MINIMUM_SHARE * finding.of:
            subjects.setdefault(finding.kind, []).extend(fact for fact in Fact if fact == finding.subject)
    said = [f"{kind} ({', '.join(dict.fromkeys(of))})" if of else str(kind) for kind, of in subjects.items()]
    return [_SAID["misfits"].format(misfits="; ".join(said))] if said else []


def find_caveats(inputs: AuditInputs, published: Estimates, tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return the caveats of inputs and settings, and of how identifiable patients are; reads `tables`."""
    holds, words = find_conditions(inputs, published, tables)
    return [sentence.format_map(words) for name, sentence in _SAID["caveats"].items() if holds[name]]


def find_conditions(
    inputs: AuditInputs, published: Estimates, tables: Mapping[str, pl.DataFrame]
) -> tuple[dict[str, object], dict[str, str]]:
    """Return of each caveat, by name, whether it holds, and what a word in braces stands for."""
    settings, probed, corpus, files = inputs.settings, inputs.probed, inputs.corpus, inputs.model.files
    panel = [diagnosis.id for diagnosis in inputs.panel]
    source, judge, is_served = label_source(corpus, settings.judge), inputs.judge.identity(), settings.judge == "openai"
    by_table = source == "table"
    named = {name for _, name in corpus.diagnosis_labels or ()}
    scored = set(inputs.labelled.texts.filter(pl.col("kind") == "labelled")["diagnosis"])
    asked = {form: {row.tier for row in published.rows("patients", form=form)} for form in ("text", "chat")}
    without = published.rows("uniqueness", part=NO_PROMPT)
    no_control = inputs.control is None
    of: dict[str, list[str]] = {
        "unlabelled": [name for name in panel if name not in named] if by_table else [],
        "unscored": [name for name in panel if name not in scored],
        "not_in_chat": [tier for tier in settings.tier if probed.form == "both" and tier not in asked["chat"]],
        "missing": [tier for tier in settings.tier if tier not in asked["text"] | asked["chat"]],
        "tags": sorted({row.part for row in published.rows("tagged_notes") if _is_more_than_few(row)}),
        "nobody": sorted({row.tier for row in without if row.of_low and row.count_low == row.of_low}),
    }
    holds: dict[str, object] = {
        "no_held_out_no_control": not corpus.has_counterfactual and no_control,
        "no_held_out_control": not corpus.has_counterfactual and not no_control,
        "other_tokenizer": files and files.adapter and no_control and settings.control != "none",
        "weights_leave": settings.release == "weights" and not settings.draws,
        "labels_by_judge": source == "openai",
        "labels_unknown": source == "openai" and (tables["labels"]["reason"] == NO_ANSWER).any(),
        "judged_elsewhere": by_table and is_served,
        "unread_members": by_table and is_served and tables["annotations"]["in_note_start"].has_nulls(),
        "provider_decodes": judge.get("decoding") == "provider-default",
        "labels_by_lexicon": source == "lexicon",
        "no_cohort": tables["cohorts"].is_empty(),
        "unknown_diagnosis": named - {diagnosis.id for diagnosis in inputs.sensitive},
        "unlabelled": of["unlabelled"],
        "unscored": of["unscored"],
        "chat_alone": probed.form == "chat",
        "text_alone": probed.form == "text" and inputs.tokenizer.has_chat_template,
        "not_in_chat": of["not_in_chat"],
        "missing": of["missing"],
        "tagged": of["tags"] and not of["nobody"],
        "tagged_nobody": of["tags"] and of["nobody"],
        "long_notes": any(_is_more_than_few(row) for row in published.rows("long_notes", arm="train")),
        "several_ids": any(row.count_high for row in published.rows("several_ids")),
    }
    words = {name: ", ".join(found) for name, found in of.items()} | {"model": str(judge.get("model"))}
    return holds, words | _SAID["shared"]


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


def describe_run(inputs: AuditInputs, *, prompts: pl.DataFrame, bound: Mapping[str, Any]) -> dict[str, object]:
    """Return `run.json`: identity, settings, versions and digests; no paths, no times.

    `bound` are the settings that the run's store keeps, the engines' identities among them. The audit's own identity is
    no part of the fingerprint: a resumed run may be given another name, and keeps its own where none is given.
    """
    files = inputs.model.files
    of_parts: dict[str, object] = {}
    if files is not None and files.adapter is not None and files.base_digest is not None:
        of_parts = {"base model": files.base_digest, "adapter": files.adapter.digest}
    earlier = kept_identity(RunDirectory(inputs.settings.out))
    # Nothing that a run keeps depends on them: with other ones identifiers are looked for again.
    settings = fingerprint(inputs) | {"--identifier-rules": rules_digest(inputs.corpus, inputs.site_rules)}
    libraries, judge = settings.pop("libraries"), settings.pop("--judge")
    return {
        "clinaudit": settings.pop("clinaudit"),
        IDENTITY: earlier.updated(inputs.settings.identity).as_record(),
        "settings": settings,
        "libraries": libraries,
        "ignored files": [] if files is None else list(files.ignored),
        # A served model's address may reveal the site's network; its digest replaces it.
        "engine": {field: value for field, value in bound.get(ENGINE_IDENTITY, {}).items() if field != "base_url"},
        **({"engine of scores": scored_by} if (scored_by := bound.get(ENGINE_IDENTITY + OF_SCORES)) else {}),
        "judge": judge,
        "digests": {
            "model": inputs.model.digest,
            **of_parts,
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
