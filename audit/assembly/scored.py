"""Whose notes are scored, by which models, and what the control model is asked (docs/methods.md, sections 13 and 14).

Every target's notes are scored, with `--score-all` every train patient's, and those of the patients whom the site named
besides, who are in no figure unless everybody is.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Final

import polars as pl

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.extraction import count_queries, find_openings
from clinaudit.audit.measures.generation.stage import generate, make_prompt_writer, plan_prompts
from clinaudit.audit.measures.membership import measure_blind_baseline, score_membership
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.scoring import ScoredModel, longest, plan_texts, score_notes
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.engine_in_use import CONTROL_IDENTITY, ENGINE_IDENTITY, EngineInUse
from clinaudit.audit.runtime.model.self_test import longest_tested
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.priors.tiers import FRAGMENT_TIERS

NOT_ASKED_FOR: Final = "notes were not scored (--no-score)"


def plan_scores(inputs: AuditInputs, targets: Collection[str], included: Collection[str]) -> pl.DataFrame:
    """Return the texts to score, of `plan_texts`; none where no scores are wanted."""
    counted = {*targets, *_everybody(inputs)}
    by_role = {"target": counted, "included": {*included} - counted}
    wanted = [(role, patient_id) for role, ids in by_role.items() for patient_id in ids if inputs.settings.score]
    patients = pl.DataFrame(wanted, schema={"role": pl.String, "patient_id": pl.String}, orient="row")
    return plan_texts(patients, inputs.corpus, inputs.tokenizer, context_length=inputs.model.context_length)


def _everybody(inputs: AuditInputs) -> Collection[str]:
    return inputs.corpus.patient_ids("train") if inputs.settings.score_all else ()


def ask_models(
    prompts: pl.DataFrame,
    texts: pl.DataFrame,
    inputs: AuditInputs,
    *,
    self_test: Callable[[EngineInUse], None] | None,
    store: RunStore,
    runner: ShardRunner,
    progress: Progress,
) -> tuple[pl.DataFrame, str | None]:
    """Have the audited model and the control, where there is one, answer their prompts and score the texts.

    Return the scores of both, and why the audited model gives none. One model at a time is loaded, once, for prompts,
    everyday tasks and notes; the same, be it tested or not. `self_test` is asked of the audited one first.
    """
    found = []
    models: tuple[tuple[ScoredModel, AuditedModel | None, str], ...] = (
        ("audited", inputs.model, ENGINE_IDENTITY),
        ("control", inputs.control, CONTROL_IDENTITY),
    )
    for name, model, identity_field in models:
        if model is not None:
            test = self_test if name == "audited" else None
            engine = EngineInUse(model, runner, store, identity_field=identity_field, self_test=test)
            with closing(engine):
                engine.require(max(longest(texts), longest_tested(model)))
                decoding = replace(inputs.decoding, model=model)
                generate(prompts.filter(model=name), decoding, engine, store, progress)
                found.append(score_notes(texts, engine, store, progress, model=name))
    return pl.concat([scores for scores, _ in found]), found[0][1]


def measure_scored(
    scores: pl.DataFrame,
    prompts: pl.DataFrame,
    inputs: AuditInputs,
    *,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    runner: ShardRunner,
    progress: Progress,
) -> dict[str, pl.DataFrame]:
    """Return what scores show, as evidence tables; `prompts` are the rows of `priors`."""
    settings = inputs.settings
    asked = _with_everybody(prompts, inputs, facts).join(scores, on="patient_id", how="semi", maintain_order="left")
    openings = find_openings(asked, facts, notes, match_tokens=settings.ngram, progress=progress, runner=runner)
    membership = score_membership(scores, inputs.corpus)
    return {
        "scores": scores,
        "queries_needed": count_queries(openings, scores),
        "membership": membership,
        "blind_baseline": measure_blind_baseline(membership, inputs.corpus, seed=settings.seed, progress=progress),
    }


def _with_everybody(prompts: pl.DataFrame, inputs: AuditInputs, facts: Mapping[str, PatientFacts]) -> pl.DataFrame:
    """Return the prompts, and with `--score-all` the openings of every other train patient, which are not decoded."""
    asked = set(prompts["patient_id"])
    others = plan_prompts(
        {patient_id: () for patient_id in _everybody(inputs) if patient_id not in asked},
        facts=facts,
        probed=ProbedTiers(tuple(tier for tier in inputs.settings.tier if tier in FRAGMENT_TIERS)),
        writer=make_prompt_writer(inputs.profile, panel=inputs.panel, decoding=inputs.decoding),
    )
    return pl.concat([prompts, others])
