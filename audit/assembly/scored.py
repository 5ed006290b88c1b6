"""Whose notes are scored, by which models, and what the control model is asked (docs/methods.md, sections 13 and 14).

Every target's notes are scored, with `--score-all` every train patient's, and those of the patients whom the site named
besides, who are in no figure; with everybody they are in those of membership.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Final

import polars as pl

from clinaudit.audit.assembly.begun_run import BegunRun
from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.extraction import count_queries, find_openings
from clinaudit.audit.measures.generation.stage import generate
from clinaudit.audit.measures.membership import measure_blind_baseline, score_membership
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.scoring import ScoredModel, longest, plan_texts, score_notes
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.engine_in_use import CONTROL_IDENTITY, ENGINE_IDENTITY, EngineInUse
from clinaudit.audit.runtime.model.self_test import longest_tested
from clinaudit.priors.facts import PatientFacts

NOT_ASKED_FOR: Final = "notes were not scored (--no-score)"


def plan_scores(asked: pl.DataFrame, inputs: AuditInputs) -> pl.DataFrame:
    """Return the texts to score, of `plan_texts`; none where no scores are wanted.

    `asked` are the targets and the patients whom the site named besides: patient_id and role.
    """
    if not inputs.settings.score:
        asked = asked.clear()
    trained = inputs.corpus.patient_ids("train") if inputs.settings.score_all else ()
    everybody = pl.DataFrame({"patient_id": trained}, schema={"patient_id": pl.String})
    patients = pl.concat([asked.select("patient_id", "role"), everybody.with_columns(role=pl.lit("target"))])
    # Who is named besides counts as all others where everybody does.
    patients = patients.unique("patient_id", keep="last")
    return plan_texts(patients, inputs.corpus, inputs.tokenizer, context_length=inputs.model.context_length)


def ask_models(
    prompts: pl.DataFrame,
    texts: pl.DataFrame,
    inputs: AuditInputs,
    run: BegunRun,
    *,
    self_test: Callable[[EngineInUse], None] | None,
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
            engine = EngineInUse(model, run.runner, run.store, identity_field=identity_field, self_test=test)
            with closing(engine):
                engine.require(max(longest(texts), longest_tested(model)))
                decoding = replace(inputs.decoding, model=model)
                generate(prompts.filter(model=name), decoding, engine, run.store, run.progress)
                found.append(score_notes(texts, engine, run.store, run.progress, model=name))
    return pl.concat([scores for scores, _ in found]), found[0][1]


def measure_scored(
    scores: pl.DataFrame,
    prompts: pl.DataFrame,
    inputs: AuditInputs,
    run: BegunRun,
    *,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
) -> dict[str, pl.DataFrame]:
    """Return what scores show, as evidence tables; `prompts` are the rows of `priors`.

    Queries needed are of those who are asked, in either split: `--score-all` scores others for membership alone.
    """
    settings, progress = inputs.settings, run.progress
    asked = prompts.join(scores, on="patient_id", how="semi", maintain_order="left")
    openings = find_openings(asked, facts, notes, match_tokens=settings.ngram, progress=progress, runner=run.runner)
    membership = score_membership(scores, inputs.corpus)
    return {
        "scores": scores,
        "queries_needed": count_queries(openings, scores),
        "membership": membership,
        "blind_baseline": measure_blind_baseline(membership, inputs.corpus, seed=settings.seed, progress=progress),
    }
