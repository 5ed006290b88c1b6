"""A comparison of two runs in plain text, for `clinaudit compare`. At most 100 columns.

Owns what is shown of it on a terminal: the verdicts and the conclusion first, then what is shown to have changed.
"""

from typing import Final

from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.schema.comparison import Change, Comparison
from clinaudit.reports.schema.forgetting import Forgetting
from clinaudit.reports.tables.comparison import VERDICTS, change_cells, place_text
from clinaudit.reports.terminal.layout import align_columns, wrap
from clinaudit.reports.wording.comparison import FIGURES_READ, verdicts_sentence
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import counted

#: Rows of changes that are printed; the page has the others.
_MOST_ROWS: Final = 20
#: Patients never seen have no text that a mitigation could take away: they stand on the page.
_SHOWN_ARMS: Final = ("", "train", "train-nontrain", "train-control")
_INTERVALS: Final = "In round brackets: 95% intervals."


def comparison_text(comparison: Comparison) -> str:
    """Return the comparison in plain text, at most 100 columns wide; both verdicts and the conclusion come first."""
    read = FIGURES_READ[comparison.figures]
    if comparison.figures == "published":
        read += " --exact reads the evidence."
    opening = [] if comparison.rules is None else [verdicts_sentence(comparison.rules)]
    opening.append(comparison.conclusion)
    parts = ["\n".join(wrap(sentence, indent="  ") for sentence in opening), wrap(read, indent="  ")]
    parts.append(_changes(comparison.changes))
    if comparison.forgetting is not None:
        parts.append(_forgetting_summary(comparison.forgetting))
    parts += [wrap(f"Note: {warning}", indent="  ") for warning in comparison.warnings]
    parts.append(_INTERVALS)
    return "\n\n".join(parts) + "\n"


def _changes(changes: list[Change]) -> str:
    """Return the limited figures that are shown to have changed most, and how many figures are not listed."""
    if not changes:
        return "Nothing was measured in both runs."
    limited = [change for change in changes if METRICS[change.metric].may_be_limited]
    moved = [change for change in limited if change.direction and change.arm in _SHOWN_ARMS]
    least = sorted((abs(change.difference.value or 0.0) for change in moved), reverse=True)[:_MOST_ROWS]
    kept = [change for change in moved if abs(change.difference.value or 0.0) >= least[-1]][:_MOST_ROWS]
    cells = ((METRICS[change.metric].title, place_text(change), change_cells(change)[2]) for change in kept)
    rows = [[title, place, difference.split(";")[0]] for title, place, difference in cells]
    unchanged = len(changes) - len(kept)
    lines = [align_columns([["Shown to have changed", "Someone who knows", "B − A"], *rows])] if rows else []
    if unchanged:
        lines.append(f"{counted(unchanged, 'figure')} {'more' if rows else 'without a shown change'} (--out lists all)")
    return "\n".join(lines)


def _forgetting_summary(forgetting: Forgetting) -> str:
    word, sign = VERDICTS[forgetting.verdict]
    sides = {"before": forgetting.before, "after": forgetting.after}
    stood_out = "".join(f"; stood out {side}: {number}" for side, number in sides.items() if number is not None)
    collapse = {True: "failed: B does not write as A did", False: "passed", None: "could not be made"}
    is_moot = forgetting.collapsed and forgetting.is_trained_again
    decides_nothing = "; it decides nothing, since B was trained again" if is_moot else ""
    lines = [
        f"Named patients: {sign} {word.upper()}",
        wrap(f"  Named: {forgetting.named}{stood_out}.", indent="    "),
        f"  Collapse check: {collapse[forgetting.collapsed]}{decides_nothing}.",
        *(
            [wrap(f"  Weighed beside the two audits: {join_words(forgetting.beside)}.", indent="    ")]
            * bool(forgetting.beside)
        ),
        *(wrap(f"  {reason}", indent="    ") for reason in forgetting.reasons),
    ]
    return "\n".join(lines)
