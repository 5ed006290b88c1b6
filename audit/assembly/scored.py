"""Asking the models: whose notes are scored, by which models, what the control model is asked, and the self-test.

Every target's notes are scored (docs/methods.md, sections 13 and 14), and those of the patients whom the site named
besides, who are in no figure.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from typing import Final

import polars as pl

from clinaudit.audit.assembly.begun_run import BegunRun
from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.extraction import count_queries, find_openings
from clinaudit.audit.measures.generation.stage import generate
from clinaudit.audit.measures.membership import measure_blind_baseline, score_membership
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.scoring import ScoredModel, longest, plan_texts, score_notes
from clinaudit.audit.runtime.console import warn
from clinaudit.audit.runtime.model.audited_model import CONTROL_IDENTITY, ENGINE_IDENTITY, AuditedModel, EngineInUse
from clinaudit.audit.runtime.model.self_test import ASKED, TEXTS, SelfTest, longest_tested
from clinaudit.audit.runtime.run.directory import write_atomically
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.facts import PatientFacts
from clinaudit.reports.schema.run_results import TrainingLoss

NOT_ASKED_FOR: Final = "notes were not scored (--no-score)"


def plan_scores(asked: pl.DataFrame, inputs: AuditInputs) -> pl.DataFrame:
    """Return the texts to score, of `plan_texts`, of those `asked` (patient_id, role); none if none are wanted."""
    if not inputs.settings.score:
        asked = asked.clear()
    return plan_texts(asked, inputs.corpus, inputs.tokenizer, context_length=inputs.model.context_length)


#: What the engine of a run is asked before anything else.
_Test = Callable[[EngineInUse], None] | None


def ask_models(
    prompts: pl.DataFrame, texts: pl.DataFrame, inputs: AuditInputs, run: BegunRun, *, self_test: _Test
) -> tuple[pl.DataFrame, str | None]:
    """Have the audited model and the control, where there is one, answer their prompts and score the texts.

    Return the scores of both, and why the audited model gives none. One model at a time is loaded, once, for prompts,
    everyday tasks and notes; the same, be it tested or not. `self_test` is asked of the audited one first.
    """
    found = []
    models: list[tuple[ScoredModel, AuditedModel, str, _Test]] = [("audited", inputs.model, ENGINE_IDENTITY, self_test)]
    if inputs.control is not None:
        models.append(("control", inputs.control, CONTROL_IDENTITY, None))
    for name, model, identity_field, test in models:
        engine = EngineInUse(model, run.runner, run.store, identity_field=identity_field, self_test=test)
        with closing(engine):
            tested = longest_tested(model, has_log=inputs.settings.training_log is not None)
            engine.require(max(longest(texts), tested))
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
    """Return what scores show, as evidence tables; queries needed are of the patients in `prompts` alone."""
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


#: The settings of a run that hold what its self-test named, and what it doubts; a resumed run is not tested again.
_PASSED: Final = "self-test"
_DOUBTED: Final = "self-test doubts"
#: Notes of patients trained on by whose counts of tokens the model is judged, at most.
_COUNTED: Final = 2000
#: What the self-test states, with figures of the notes.
_FILE: Final = "self_test.json"


def begin_self_test(inputs: AuditInputs, run: BegunRun) -> _Test:
    """Test the tokenizer and the weights; return the rest of the test, for the engine when it is first asked.

    None where the run was tested, or is not to be. Raises `BadInputError` where a test fails.
    """
    if inputs.settings.skip_self_test or _PASSED in run.store.settings():
        return None
    settings, corpus = inputs.settings, inputs.corpus
    # A note each of some patients, by chance: of those trained on, where there are any.
    patients = sorted(corpus.patient_ids("train") or corpus.patients)
    random.Random(settings.seed).shuffle(patients)
    with_notes = filter(None, map(corpus.notes_of, patients))
    chosen = list(islice(with_notes, TEXTS))
    others = (note.text for notes in chain(chosen[ASKED:], with_notes) for note in notes)
    test = SelfTest(
        inputs.model,
        inputs.tokenizer,
        [notes[0].text for notes in chosen],
        scores=settings.score,
        chat=inputs.probed.form == "chat",
        others=list(islice(others, _COUNTED)),
        logged=logged_loss(inputs.training or ()),
    )
    with run.progress.stage("testing tokenizer and weights", total=1, unit="models") as advance:
        test.run_before_loading()
        advance(1)

    def ask(engine: EngineInUse) -> None:
        test(engine)
        named, doubts = list(dict.fromkeys(test.named)), test.doubts
        for sentence in (*doubts, *named):
            warn(f"warning: self-test: {sentence}")
        stated = {"doubts": doubts, "named": named, "stated": test.stated}
        write_atomically(run.directory.evidence / _FILE, json.dumps(stated, indent=1) + "\n")
        run.store.bind_settings({_PASSED: named, _DOUBTED: doubts})

    return ask


def logged_loss(log: Sequence[TrainingLoss]) -> float | None:
    """Return the most that a model lost on its training notes when it was saved, at its best epoch or later."""
    rows = sorted(log, key=lambda row: row.epoch)
    validated = [place for place, row in enumerate(rows) if row.validation_loss is not None]
    best = min(validated, key=lambda place: rows[place].validation_loss or 0.0, default=len(rows) - 1)
    return max((row.train_loss for row in rows[max(best, 0) :] if row.train_loss is not None), default=None)


def self_test_doubts(store: RunStore) -> list[str]:
    """Return why the self-test doubts that the model is as it was trained: such a run does not pass."""
    doubts: list[str] = store.settings().get(_DOUBTED, [])
    return doubts


def self_test_caveats(inputs: AuditInputs, store: RunStore) -> list[str]:
    """Return what the report says of the self-test; nothing where all was alike."""
    option = " (--skip-self-test)" if inputs.settings.skip_self_test else ""
    left_out = (
        f"The self-test of the model was left out{option}: nothing shows that the engine decodes the model that was "
        "given, with its own tokenizer. A model that is read wrongly looks as if it knew nothing."
    )
    named: list[str] = store.settings().get(_PASSED, [left_out])
    return named
