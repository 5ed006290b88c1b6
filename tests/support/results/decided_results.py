"""Results of one tier and diagnosis that keep every rule, but for what a test changes; a policy that decides them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.policy import DisclosureRule, MemorizationRule, Policy
from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.decision import Decision
from clinaudit.reports.schema.disclosure import Disclosure, DisclosureDelta, DisclosurePair, DisclosureResults
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results

POLICY = Policy(
    name="test",
    minimum_patients_per_class=20,
    maximum_short_share=0.1,
    maximum_unjudged_share=0.1,
    memorization=(MemorizationRule("attributable_fraction", ("public",), maximum=0.05),),
    disclosure=(DisclosureRule(("public",), None, maximum=0.25),),
)
ONLY_MEMORIZATION = replace(POLICY, disclosure=())
ONLY_DISCLOSURE = replace(POLICY, memorization=())
NONE = Estimate(value=None, reason="not in this test")


def memorization(**changes: Any) -> Memorization:
    bounds = Estimate(value=0.01, low=0.0, high=0.04, n=200)
    fields: dict[str, Any] = {
        "generations": 200,
        "patients": 200,
        "empty": 0,
        "shorter_than_ngram": 0,
        "attributable_fraction_bounds": bounds,
        "memorized_fraction_bounds": bounds,
        "hit_rate": Estimate(value=0.0, low=0.0, high=0.0, n=400),
        "region_length": {},
        "k_distribution": [],
        "sections": [],
        "copy_forward": [],
        "dropped_tokens": 0,
    }
    for name, field in Memorization.model_fields.items():
        if field.annotation is Estimate:
            fields.setdefault(name, NONE)
    return Memorization(**(fields | changes))


def delta(**changes: Any) -> Delta:
    fields = {"value": 0.02, "low": -0.1, "high": 0.14, "n": 400, "p_value": 0.4, "p_holm": 1.0}
    return Delta(**(fields | changes))


def disclosure(**changes: Any) -> Disclosure:
    rate = Estimate(value=0.1, low=0.05, high=0.2, n=100)
    fields: dict[str, Any] = {
        "generations": 200,
        "mentioned": 20,
        "mention_rate": rate,
        "unjudged": 0,
        "base_rate": 0.5,
        "auroc": rate,
        "ppv": rate,
        "auroc_all": rate,
        "sensitivity": rate,
        "false_positive_rate": rate,
        "ppv_at_prevalence": rate,
        "roc": None,
    }
    return Disclosure(**(fields | changes))


def pair(auroc_all: Delta, **changes: Any) -> DisclosurePair:
    deltas = dict.fromkeys(DisclosureDelta.model_fields, Delta(value=None, reason="not in this test"))
    fields: dict[str, Any] = {
        "train": disclosure(),
        "nontrain": disclosure(),
        "delta": DisclosureDelta(**(deltas | {"auroc_all": auroc_all})),
        "dropped_sets": {},
    }
    return DisclosurePair(**(fields | changes))


def cohort(**changes: Any) -> CohortSummary:
    fields: dict[str, Any] = {
        "status": "balanced",
        "reason": None,
        "matcher": "psm",
        "prevalence": NONE,
        "cells": {},
        "balance": [],
        "excluded": {},
    }
    return CohortSummary(**(fields | changes))


def results(
    *,
    train: Memorization | None = None,
    nontrain: Memorization | None = None,
    pairs: Mapping[str, DisclosurePair] | None = None,
    cohorts: Mapping[str, CohortSummary] | None = None,
) -> Results:
    pairs = {"hiv": pair(delta())} if pairs is None else pairs
    return Results(
        memorization={"public": {"train": train or memorization(), "nontrain": nontrain or memorization()}},
        disclosure=DisclosureResults(by_diagnosis={d: {"public": p} for d, p in pairs.items()}),
        cohorts=dict.fromkeys(pairs, cohort()) if cohorts is None else dict(cohorts),
    )


def bounds(low: float, high: float) -> Memorization:
    return memorization(attributable_fraction_bounds=Estimate(value=(low + high) / 2, low=low, high=high, n=200))


def decide(policy: Policy, found: Results, *, planned_missing: bool = False) -> Decision:
    return evaluate(policy, found, planned_missing=planned_missing)


LEAK = delta(value=0.4, low=0.3, high=0.5, p_value=1e-9, p_holm=1e-8)
