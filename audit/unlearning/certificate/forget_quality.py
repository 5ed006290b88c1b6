"""Forget quality: is the model after told apart from one trained again without the named (open-unlearning)?

A two-sample Kolmogorov-Smirnov test over the notes of the named patients, of the loss a token that each model has on
each (Maini et al. 2024, TOFU, arXiv 2401.06121, where it is over truth ratios). It decides nothing: a
reference of one seed is one draw, and a p above 0.05 of few notes shows little.
"""

from collections.abc import Collection
from typing import Final

from clinaudit.audit.unlearning.certificate.evidence import RunEvidence
from clinaudit.reports.schema.certificate import ForgetQuality

NOT_SCORED: Final = "the notes of the named were not scored in both runs"


def measure_forget_quality(after: RunEvidence, reference: RunEvidence, named: Collection[str]) -> ForgetQuality:
    """Return the statistic and p over the notes of the named that both runs scored: `p_value=0.8`, not told apart."""
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
