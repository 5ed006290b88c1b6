"""What bears on no verdict: what forgetting cost others (AMNESIA, Figure 4), and forget quality (open-unlearning).

The price is how well notes of others are predicted, and how good answers on them are (docs/forgetting.md). MU
(equation 2) is without exact memorization, which nobody sees who is given answers alone.
"""

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
import polars as pl

from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean
from clinaudit.audit.statistics.paired_differences import NOBODY_PAIRED, paired_difference
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.evidence import EvidencePair, RunEvidence
from clinaudit.audit.unlearning.metrics.means import HARMONIC, measure_groups, pooled
from clinaudit.reports.schema.certificate import ForgetQuality, PriceFigure
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.unlearning import AnswerGroup

_MU: Final = "mu_without_em"
NO_ANSWERS: Final = "no answer has it"
NOT_SCORED: Final = "the notes of the named were not scored in both runs"


def measure_collateral(result: BenchResult, named: Collection[str]) -> list[PriceFigure] | None:
    """Return MU of retained patients, by whether they share a named one's disease; None without a model before.

    The disease is the patient's first category; who has none of the taxonomy shares it with nobody.
    """
    if result.before is None:
        return None
    diseases = {result.categories[patient] for patient in named if patient in result.categories} - {OTHER}
    groups: dict[AnswerGroup, set[str]] = {"same": set(), "others": set()}
    for patient, role in result.roles.items():
        if role == "retain" and patient not in named:
            groups["same" if result.categories[patient] in diseases else "others"].add(patient)
    parts = pl.col("metric").is_in(HARMONIC[_MU][0])
    before, after = (pooled(of.filter(parts), use="all") for of in (result.before, result.after))
    measured = [
        measure_groups(after, groups, split=result.split, before=before, seed=result.seed),
        measure_groups(before, groups, split=result.split, seed=result.seed),
    ]

    def find(rows: pl.DataFrame, group: str, metric: str) -> Estimate:
        found = rows.filter(group=group, metric=metric).select(list(Estimate.model_fields)).to_dicts()
        return Estimate(**found[0]) if found else Estimate(value=None, n=0, reason=NO_ANSWERS)

    return [
        PriceFigure(
            group=group,
            before=find(measured[1], group, _MU),
            after=find(measured[0], group, _MU),
            change=find(measured[0], group, f"{_MU}_change"),
        )
        for group in groups
    ]


def measure_price(evidence: EvidencePair, groups: Mapping[str, Collection[str]]) -> list[PriceFigure]:
    """Return how well both models predict a token of the notes of each group's patients; empty without scores.

    A patient's value is exp(-loss), the loss a mean over the tokens of a note and then over notes.
    """
    losses = [run.losses for run in evidence]
    found = []
    for group, patients in groups.items():
        scored = sorted(losses[0].keys() & losses[1].keys() & set(patients))
        if scored:
            before, after = (np.exp([-own[patient][0] for patient in scored]) for own in losses)
            first, second = (
                clopper_pearson_of_mean(float(of.sum()), of.size, reason=NOBODY_PAIRED) for of in (before, after)
            )
            change = paired_difference(before, after)
            found.append(PriceFigure(group=group, before=first, after=second, change=change))
    return found


def measure_forget_quality(after: RunEvidence, reference: RunEvidence, named: Collection[str]) -> ForgetQuality:
    """Return whether losses on the notes of the named tell the model after from one trained again without them.

    Kolmogorov and Smirnov's test of two samples over the notes that both scored (Maini et al. 2024, TOFU, arXiv
    2401.06121, where it is over truth ratios); a large p: not told apart. A reference of one seed is one draw, and a p
    above 0.05 of few notes shows little.
    """
    from scipy.stats import ks_2samp

    losses = [
        {(patient, note): loss for patient, note, loss, _ in run.note_losses.rows() if patient in named}
        for run in (after, reference)
    ]
    shared = sorted(key for key in losses[0].keys() & losses[1].keys() if None not in (losses[0][key], losses[1][key]))
    if not shared:
        return ForgetQuality(notes=0, statistic=None, p_value=None, reason=NOT_SCORED)
    first, second = ([own[key] for key in shared] for own in losses)
    found = ks_2samp(first, second)
    return ForgetQuality(notes=len(shared), statistic=float(found.statistic), p_value=float(found.pvalue))
