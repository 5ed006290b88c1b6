"""Whose notes are scored, by which models, and what the control model is asked (docs/methods.md, sections 13 and 14).

Every target's notes are scored, with `--score-all` every train patient's, and those of the patients whom the site named
besides, who are in no figure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

import polars as pl

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.extraction import count_queries, find_openings
from clinaudit.audit.measures.generation.stage import generate, plan_priors
from clinaudit.audit.measures.membership import measure_blind_baseline, score_membership
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.asking import answer_questions, tokens_needed
from clinaudit.audit.measures.ordinary.record import Question
from clinaudit.audit.measures.scoring import longest, plan_texts, score_notes
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import CONTROL_IDENTITY, EngineInUse
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import Prior
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.priors.tiers import FRAGMENT_TIERS

NOT_ASKED_FOR: Final = "notes were not scored (--no-score)"
_ASKED: Final = {
    **dict.fromkeys(("patient_id", "arm", "tier", "rendering", "prompt"), pl.String()),
    "max_new_tokens": pl.Int64(),
    **dict.fromkeys(("excluded", "unbroken"), pl.Boolean()),
}


def plan_scores(inputs: AuditInputs, targets: Collection[str], included: Collection[str]) -> pl.DataFrame:
    """Return the texts to score, of `plan_texts`; none where no scores are wanted."""
    by_role = {"target": {*targets, *_everybody(inputs)}, "included": included}
    wanted = [(role, patient_id) for role, ids in by_role.items() for patient_id in ids if inputs.settings.score]
    patients = pl.DataFrame(wanted, schema={"role": pl.String, "patient_id": pl.String}, orient="row")
    return plan_texts(patients, inputs.corpus, inputs.tokenizer, context_length=inputs.model.context_length)


def _everybody(inputs: AuditInputs) -> Collection[str]:
    return inputs.corpus.patient_ids("train") if inputs.settings.score_all else ()


def ask_control(
    priors: Sequence[Prior],
    everyday: Sequence[Question],
    texts: pl.DataFrame,
    inputs: AuditInputs,
    *,
    store: RunStore,
    runner: ShardRunner,
    progress: Progress,
) -> list[pl.DataFrame]:
    """Ask the control model the prompts, everyday tasks and texts for it; return its scores where there is one."""
    if inputs.control is None:
        return []
    with closing(EngineInUse(inputs.control, runner, store, identity_field=CONTROL_IDENTITY)) as engine:
        engine.require(max(longest(texts), tokens_needed(everyday)))
        decoding = replace(inputs.decoding, model=inputs.control)
        generate(priors, decoding, engine, store, progress)
        answer_questions(everyday, engine, decoding, store, progress)
        return [score_notes(texts, engine, store, progress, model="control")[0]]


def measure_scored(
    scores: pl.DataFrame,
    priors: Mapping[str, Sequence[Prior]],
    inputs: AuditInputs,
    *,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    runner: ShardRunner,
    progress: Progress,
) -> dict[str, pl.DataFrame]:
    """Return what scores show, as evidence tables; those of single notes and openings have a `role`, too.

    `priors` are those of the targets and of the patients whom the site named besides, by role.
    """
    settings = inputs.settings
    asked = {**priors, "target": _with_everybody(priors["target"], inputs, facts)}
    openings = find_openings(
        pl.concat(_as_frame(of, role) for role, of in asked.items()).join(
            scores, on=["role", "patient_id"], how="semi"
        ),
        facts,
        notes,
        match_tokens=settings.ngram,
        progress=progress,
        runner=runner,
    )
    membership = score_membership(scores, inputs.corpus)
    return {
        "scores": scores,
        "queries_needed": count_queries(openings, scores),
        "membership": membership,
        "blind_baseline": measure_blind_baseline(membership, inputs.corpus, seed=settings.seed, progress=progress),
    }


def rows_of_role(tables: Mapping[str, pl.DataFrame], role: str) -> dict[str, Iterable[Row]]:
    """Return the rows of tables about patients of one role; membership is about targets alone."""
    by_role = {name: table for name, table in tables.items() if "role" in table.columns}
    others = {} if role == "included" else {name: table for name, table in tables.items() if name not in by_role}
    own = {name: table.filter(pl.col("role") == role).drop("role") for name, table in by_role.items()}
    return {name: table.iter_rows(named=True) for name, table in {**own, **others}.items()}


def _as_frame(priors: Iterable[Prior], role: str) -> pl.DataFrame:
    rows = ([getattr(prior, name) for name in _ASKED] for prior in priors)
    return pl.DataFrame(rows, schema=_ASKED, orient="row").with_columns(pl.lit(role).alias("role"))


def _with_everybody(priors: Sequence[Prior], inputs: AuditInputs, facts: Mapping[str, PatientFacts]) -> Sequence[Prior]:
    """Return the priors, and with `--score-all` the openings of every other train patient, which are not decoded."""
    asked = {prior.patient_id for prior in priors}
    others = plan_priors(
        {patient_id: () for patient_id in _everybody(inputs) if patient_id not in asked},
        facts=facts,
        profile=inputs.profile,
        panel=inputs.panel,
        probed=ProbedTiers(tuple(tier for tier in inputs.settings.tier if tier in FRAGMENT_TIERS)),
        decoding=inputs.decoding,
    )
    return [*priors, *others]
