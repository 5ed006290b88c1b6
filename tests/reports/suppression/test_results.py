"""Whole results: nothing published gives a count of 1 to 10 patients back."""

import json
from collections.abc import Iterator

import pytest
from support.results.filled_results import DIAGNOSES, all_null, empty, filled
from support.results.planted_memorization import mean_of
from support.results.planted_people import population

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.decision import Limit, RuleOutcome
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.results import Results, StageCompleteness, from_json, to_json
from clinaudit.reports.suppression.results import suppress

#: Keys of the document under which a whole number counts patients, or generations that stand for them.
PATIENT_COUNTS = {"patients", "generations", "mentioned", "unjudged", "empty", "shorter_than_ngram"}
PATIENT_BREAKDOWNS = {"age_bands", "sex", "race", "cells", "excluded", "dropped_sets"}


def counts_in(node: object, key: str = "", parent: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(node, dict):
        for name, item in node.items():
            yield from counts_in(item, name, key)
    elif isinstance(node, list):
        for item in node:
            yield from counts_in(item, key, parent)
    elif isinstance(node, int) and (key in PATIENT_COUNTS or parent in PATIENT_BREAKDOWNS):
        yield f"{parent}.{key}", node


@pytest.mark.parametrize("cell", [30, 45, 100])
@pytest.mark.parametrize("nontrain", [True, False])
def test_no_published_count_is_from_1_to_10(cell: int, nontrain: bool) -> None:
    document = json.loads(to_json(suppress(filled(cell=cell, nontrain=nontrain))))
    counts = list(counts_in(document))
    assert len(counts) > 100
    assert [(where, count) for where, count in counts if 1 <= count <= 10] == []


@pytest.mark.parametrize("cell", [30, 45, 100])
def test_no_rate_beside_its_n_gives_a_small_count(cell: int) -> None:
    published = suppress(filled(cell=cell))
    for tiers in published.disclosure.by_diagnosis.values():
        for pair in tiers.values():
            for arm in (pair.train, pair.nontrain):
                assert arm is not None
                for metric in ("mention_rate", "ppv", "sensitivity", "false_positive_rate"):
                    rate: Estimate = getattr(arm, metric)
                    if rate.value is not None and rate.n is not None and metric != "ppv":
                        count = round(rate.value * rate.n)
                        assert not 1 <= count <= 10
                        assert not 1 <= rate.n - count <= 10


@pytest.mark.parametrize("results", [filled(), filled(nontrain=False), all_null(), empty()])
def test_the_published_copy_is_valid_and_survives_its_json(results: Results) -> None:
    text = to_json(suppress(results))
    assert to_json(from_json(text)) == text


def test_the_original_is_not_changed() -> None:
    results = filled()
    before = to_json(results)
    suppress(results)
    assert to_json(results) == before


def test_a_mean_does_not_give_one_hidden_diagnosis_back() -> None:
    published = suppress(filled())
    for tier in TIER_IDS:
        pairs = [published.disclosure.by_diagnosis[diagnosis][tier] for diagnosis in DIAGNOSES]
        if any(pair.train.auroc_all.value is None for pair in pairs):
            mean = published.disclosure.mean[tier].train["auroc_all"]
            assert mean.value is None
            assert mean.low is not None


def test_rules_observe_what_is_published() -> None:
    published = suppress(filled())
    assert published.decision is not None
    for rule in published.decision.rules[1:]:
        delta = published.disclosure.by_diagnosis[str(rule.diagnosis)][str(rule.tier)].delta
        assert delta is not None
        if delta.auroc_all.value is None:
            assert (rule.observed.value, rule.observed.low) == (None, delta.auroc_all.low)
            assert not any(sign.isdigit() for sign in rule.reason)


def test_a_rule_on_an_unknown_metric_is_withheld() -> None:
    results = filled()
    assert results.decision is not None
    odd = RuleOutcome(
        id="odd", question="?", metric="nonsense", limit=Limit(max=1), status="pass", observed=mean_of(0.5), reason="ok"
    )
    decision = results.decision.model_copy(update={"rules": [odd]})
    published = suppress(results.model_copy(update={"decision": decision}))
    assert published.decision is not None
    assert published.decision.rules[0].observed == Estimate(value=None, reason=REASON)


def test_extremes_are_always_withheld() -> None:
    published = suppress(filled())
    assert published.corpus is not None
    split = published.corpus.splits["train"]
    for moments in (split.age, split.notes_per_patient, split.tokens_per_patient):
        assert (moments.min, moments.max) == (None, None)
        assert moments.mean is not None
    lengths = published.memorization["encounter"]["train"].region_length["tokens"]
    assert (lengths.max, lengths.p90) == (None, 120.0)


def test_a_small_cohort_hides_its_population() -> None:
    cohort = (
        filled()
        .cohorts["hiv"]
        .model_copy(update={"cells": dict.fromkeys(("train_positive", "train_negative", "nontrain_positive"), 8)})
    )
    results = filled()
    assert results.corpus is not None
    corpus = results.corpus.model_copy(update={"cohorts": {"hiv": population(48)}})
    published = suppress(results.model_copy(update={"cohorts": {"hiv": cohort}, "corpus": corpus}))
    hiv: CohortSummary = published.cohorts["hiv"]
    assert set(hiv.cells.values()) == {None}
    assert all(row.smd is None for row in hiv.balance)
    assert published.corpus is not None
    assert published.corpus.cohorts["hiv"].patients is None


def test_excluded_units_are_hidden_with_a_second_reason() -> None:
    published = suppress(filled()).completeness["priors"]
    assert published.excluded == {"no history of present illness": None, "other": None}
    assert (published.planned, published.done, published.missing) == (None, None, 48)
    lone = StageCompleteness(planned=100, done=90, failed=0, excluded={"a": 40, "b": 3})
    results = filled().model_copy(update={"completeness": {"priors": lone}})
    assert suppress(results).completeness["priors"].excluded == {"a": 40, "b": None}
