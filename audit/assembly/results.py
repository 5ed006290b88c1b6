"""From an audit's inputs and outcomes to `results.json`: what is said of a run beside its figures (docs/results.md).

Owns which words go into which field, and which attacks a run holds. Every figure is a row of the table of estimates.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from clinaudit.audit.assembly.caveats import find_caveats, find_identity_caveats
from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.judge.labels import label_source
from clinaudit.audit.results.gate.asked import FEWEST_WITH_DIAGNOSIS
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.publication import HIDDEN
from clinaudit.reports.schema.attacks import ATTACKS, Attack, AttackName, Release
from clinaudit.reports.schema.run_results import CohortFacts, CorpusFacts, IdentifierFacts, RunResults, Settings

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
        cohorts=_describe_cohorts(tables["outcomes"], tables["labels"]),
        identifiers=identifiers,
        not_scored=not_scored,
        judge=inputs.judge.name if is_judged else None,
        judge_labels=inputs.labelled.source if is_judged else None,
        warnings=[*caveats, *find_caveats(inputs, published, tables), *find_identity_caveats(published)],
        narrowed=inputs.narrowed,
        training=None if inputs.training is None else list(inputs.training),
        attacks=list_attacks(published, release=settings.release),
        release=settings.release,
    )


def _describe_cohorts(outcomes: pl.DataFrame, labels: pl.DataFrame) -> dict[str, CohortFacts]:
    having = dict(labels.filter("present")["diagnosis"].value_counts().iter_rows())
    found = {}
    for diagnosis, status, reason in outcomes.iter_rows():
        if having.get(diagnosis, 0) < FEWEST_WITH_DIAGNOSIS:
            status, reason = "not_asked", "fewer than 11 patients of the corpus have it"
        elif status not in ("poorly_matched", "unavailable"):
            # How alike the groups are is said by the rows of `smd`.
            status = "matched"
        found[diagnosis] = CohortFacts(status=status, reason=reason)
    return found


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
