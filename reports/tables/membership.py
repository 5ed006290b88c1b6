"""The table of membership: the figures of the whole split, and the blind baseline that they rest on."""

from typing import Final

from clinaudit.reports.schema.membership import MembershipResults
from clinaudit.reports.schema.numbers import EstimateRange, exact_estimate
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.membership import SCORE_TITLES, difference_text
from clinaudit.reports.wording.numbers import NOT_MEASURED, estimate_text, p_text

_CHANCE: Final = 0.5


def membership_table(results: MembershipResults) -> Table:
    """Return the figures, a row each."""
    blind = NOT_MEASURED if results.is_interpretable is None else difference_text(results)
    if results.evidence is not None and results.evidence.blind is not None:
        area = results.evidence.blind.auroc
        # Where a feature is matched, a fold learns the opposite of what the fold left out shows (docs/methods.md).
        alike = "; they are more alike than groups drawn at random" if (area.high or 1.0) < _CHANCE else ""
        blind = f"{estimate_text(exact_estimate(area), interval=True)}: {blind}{alike}"
    rows: tuple[tuple[str, str], ...] = (("Trained on and never seen told apart", estimate_text(results.auroc)),)
    if results.trained:
        rows = (
            ("Trained on and never seen told apart (AUROC)", estimate_text(results.auroc, interval=True)),
            ("Trained on found, at 10% of never seen wrongly found", _share(results.found_at_10)),
            ("Trained on found, at 1% of never seen wrongly found", _share(results.found_at_1)),
            ("Could the difference over the whole split be chance? (p, one-sided)", _p_value(results.p_value)),
        )
    about = (
        f"{'' if results.score is None else f'By {SCORE_TITLES[results.score]}. '}Figures are of all patients together"
        " and say nothing of one. In brackets: 95% intervals."
    )
    return Table("Membership", ("Figure", "Result"), (*rows, ("Blind baseline", blind)), about)


def _share(estimate: EstimateRange) -> str:
    return estimate_text(estimate, share=True, interval=True)


def _p_value(estimate: EstimateRange) -> str:
    text = p_text(1.0 if estimate.high is None else estimate.high)
    return text if estimate.value is not None or text.startswith("below") else f"at most {text}"
