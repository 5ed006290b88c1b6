"""Tables of a comparison of two runs, for its page and for the terminal alike; published and exact ones."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.comparison import Change, Comparison
from clinaudit.reports.schema.forgetting import NOT_PUBLISHED, Forgetting, ForgettingVerdict
from clinaudit.reports.tables.table import Table, numbered_tier_title
from clinaudit.reports.wording.certificate import GROUP_WORDS
from clinaudit.reports.wording.figures import figure_text, is_share, row_text
from clinaudit.reports.wording.names import SIDE_WORDS, display_title, join_words
from clinaudit.reports.wording.numbers import NOT_MEASURED, counted
from clinaudit.reports.wording.rule_rows import FORM_WORDS

VERDICTS: Final[dict[ForgettingVerdict, tuple[str, str]]] = {
    "never trained on": ("Never trained on, by record, and nothing stands out", "✓"),
    "forgotten": ("Forgotten", "✓"),
    "still leaks": ("Still leaks", "✗"),
    "broken": ("Broken", "✗"),
    "not shown": ("Not shown", "?"),
}
_ARM_WORDS: Final = {
    **SIDE_WORDS,
    "train-nontrain": "trained on minus never seen",
    "train-control": "trained on minus the control model",
    "": "everybody",
}
_DASH: Final = "–"
_WRITES: Final = "Does B still write as A did? A model that writes nothing of use has not forgotten"


def change_tables(comparison: Comparison, *, direction: tuple[int | None, ...]) -> list[Table]:
    """Return a table for each metric: of the changes that are shown (1, -1), are not (0), or are not known (None)."""
    chosen = [change for change in comparison.changes if change.direction in direction]
    return [
        Table(
            METRICS[metric].title,
            ("Someone who knows", "Patients", "A", "B", "B − A"),
            tuple(
                (place_text(change), _ARM_WORDS.get(change.arm, change.arm), *change_cells(change)) for change in found
            ),
            METRICS[metric].sentence,
        )
        for metric, found in ((metric, list(of)) for metric, of in groupby(chosen, lambda change: change.metric))
    ]


def place_text(change: Change) -> str:
    """Return who asks, in which form, about which diagnosis, in how many queries."""
    words = [numbered_tier_title(change.tier) if change.tier else "anyone"]
    if change.form in FORM_WORDS:
        words.append(FORM_WORDS[change.form])
    if change.diagnosis:
        words.append(display_title(change.diagnosis))
    if change.by == "queries" and change.part.isdecimal():
        words.append(counted(int(change.part), "query", "queries"))
    return ", ".join(words)


def change_cells(change: Change) -> tuple[str, str, str]:
    """Return A, B, and the difference with its sign; of pairs that moved also how many came and went."""
    a, b = row_text(change.row("a")), row_text(change.row("b"))
    text = figure_text(change.difference, share=is_share(change.metric), signed=True, interval=True)
    if change.a_only is not None and change.b_only is not None:
        text += f"; {change.a_only:,} in A alone, {change.b_only:,} in B alone"
    return a, b, text


def settings_table(comparison: Comparison) -> Table:
    """Return what differs between the runs' records."""
    rows = tuple(
        (one.name.capitalize() if one.name.isupper() else one.name, one.a, one.b) for one in comparison.differences
    )
    return Table("What differs between the two runs", ("Setting", "A", "B"), rows)


def health_table(health: Sequence[AnswerCheck], title: str = _WRITES) -> Table:
    """Return the collapse check of texts, or of answers, question by question."""
    rows = tuple(
        (
            GROUP_WORDS.get(check.group, check.group),
            check.question,
            _health_text(check.a, check.reason),
            _health_text(check.b, check.reason),
            check.allowed if check.limit is None else f"{check.allowed}: {check.limit:.4g}",
            {True: "✓ yes", False: "✗ no", None: f"? {check.reason or 'nothing to measure'}"}[check.passed],
        )
        for check in health
    )
    return Table(title, ("Whose text", "What is measured", "A", "B", "B may be", "Passed"), rows)


def _health_text(value: float | None, reason: str | None) -> str:
    if value is not None:
        return f"{value:.4g}"
    # Most rows of a published table: the page says once what the dash stands for.
    return _DASH if reason == NOT_PUBLISHED else reason or NOT_MEASURED


def forgetting_table(forgetting: Forgetting) -> Table:
    """Return the certificate without names."""
    rows = [("Named patients", forgetting.named)]
    if forgetting.before is not None:
        rows.append(("Stood out among the never seen in A", forgetting.before))
    if forgetting.after is not None:
        rows.append(("Stand out among the never seen in B", forgetting.after))
    if forgetting.beside:
        rows.append(("Weighed beside the two audits", join_words(forgetting.beside)))
    return Table("Named patients", ("Which", "Patients"), tuple(rows))
