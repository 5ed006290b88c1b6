"""Tables of a comparison of two runs, for its page and for the terminal alike.

Works on published comparisons and on exact ones.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.reports.schema.comparison import ComparedEstimate, ComparedMemorization, Comparison
from clinaudit.reports.schema.forgetting import (
    COLLATERAL_CHANGES,
    NOT_PUBLISHED,
    Forgetting,
    ForgettingVerdict,
    HealthCheck,
)
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tables.table import Table, asked_about, numbered_tier_title
from clinaudit.reports.wording.comparison import shown_direction
from clinaudit.reports.wording.figures import figure_text
from clinaudit.reports.wording.names import LEAK_TITLES, MEMORIZATION_METRICS, METRIC_TITLES, display_title, join_words
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text, is_measured, p_text

#: What rules are about. A change of a difference of shares may be beyond 100%, which nobody can read.
DELTA: Final = "auroc_all"
VERDICTS: Final[dict[ForgettingVerdict, tuple[str, str]]] = {
    "forgotten": ("Forgotten", "✓"),
    "still leaks": ("Still leaks", "✗"),
    "collapsed": ("Collapsed", "✗"),
    "not shown": ("Not shown", "?"),
}
COLLATERAL_GROUPS: Final = {"same": "with a disease of a named patient", "others": "others retained"}
_GROUPS: Final = {"retained": "others trained on", "controls": "never seen"}
_DASH: Final = "–"
_FULL: Final = {
    "memorized_fraction": ": share of the generated text that stands word for word in the patient's own notes",
    "attributable_fraction": ": share that is clinically revealing, in no other patient's notes and not in the prompt",
    "near_verbatim_attributable_fraction": ": the attributable share, and what repeats such text but for a few words",
    "hit_patients_share": ": patients with at least one verbatim match",
    "other_patient_fraction": ": share that is clinically revealing and from the notes of one other patient trained on",
    "within_1000_queries": ": patients whose own text comes with an even chance within 1,000 queries",
    "own_identifiers": ": patients given any of HIPAA's identifiers of their own",
}


def memorization_tables(comparison: Comparison, *, changed: bool | None) -> list[Table]:
    """Return a table for each metric of memorization: what has changed, has not as far as is shown, or is unknown."""
    tables = [
        Table(
            f"{title[:1].upper()}{title[1:]}{_FULL[name]}",
            ("Someone who knows", "Patients", "A", "B", "B − A"),
            tuple(_metric_rows(comparison, name, changed=changed)),
        )
        for title, name in MEMORIZATION_METRICS
    ]
    everyday = tuple(
        (LEAK_TITLES[name], *_cells(metric, share=True))
        for name, metric in comparison.ordinary.items()
        if has_changed(metric) is changed
    )
    tables.append(Table("Everyday tasks about nobody: share answered with it", ("What", "A", "B", "B − A"), everyday))
    return [table for table in tables if table.rows]


def _metric_rows(comparison: Comparison, name: str, *, changed: bool | None) -> Iterator[tuple[str, ...]]:
    for tier, arm, compared in list_arms(comparison):
        metric: ComparedEstimate | None = getattr(compared, name)
        if metric is not None and has_changed(metric) is changed:
            yield *asked_about(tier, arm), *_cells(metric, share=True)


def has_changed(metric: ComparedEstimate) -> bool | None:
    """Whether a change is shown: its interval excludes 0; None where it was not measured in both runs."""
    if not is_measured(metric.difference):
        return None
    return shown_direction(metric.difference.confidence_low, metric.difference.confidence_high) != 0


def list_arms(comparison: Comparison) -> Iterator[tuple[str, Arm, ComparedMemorization]]:
    """Yield tier, arm and the compared memorization of each arm of each tier."""
    for tier, arms in comparison.memorization.items():
        for arm in ARMS:
            if arm in arms:
                yield tier, arm, arms[arm]


def _cells(metric: ComparedEstimate, *, share: bool, signed: bool = False) -> tuple[str, str, str]:
    return (
        estimate_text(metric.a, share=share, signed=signed, interval=True),
        estimate_text(metric.b, share=share, signed=signed, interval=True),
        estimate_text(metric.difference, share=share, signed=True, interval=True),
    )


def changes_table(comparison: Comparison) -> Table:
    """Return how many patients had a verbatim match in both runs, in one, or in neither (McNemar 1947)."""
    is_exact = comparison.figures == "exact"
    rows = []
    for tier, arm, compared in list_arms(comparison):
        patients = compared.patients
        if patients is None:
            continue
        cells = (patients.both, patients.a_only, patients.b_only, patients.neither)
        row = [*map(count_text, cells), f"{count_text(patients.unpaired_a)}, {count_text(patients.unpaired_b)}"]
        if is_exact:
            row.append(NOT_MEASURED if patients.p_value is None else p_text(patients.p_value))
        rows.append((*asked_about(tier, arm), *row))
    columns = ["Someone who knows", "Patients", "In both runs", "In A only", "In B only", "In neither"]
    columns.append("Asked about in A only, in B only")
    if is_exact:
        columns.append("McNemar's p")
    return Table("Patients of whose notes anything was repeated, by run", tuple(columns), tuple(rows))


def disclosure_tables(comparison: Comparison, *, changed: bool | None) -> list[Table]:
    """Return trained on minus never seen in A, in B, and the difference, of the same three kinds."""
    rows = [
        (display_title(diagnosis), numbered_tier_title(tier), *_cells(metrics[DELTA], share=False, signed=True))
        for diagnosis, tiers in comparison.disclosure.items()
        for tier, metrics in tiers.items()
        if DELTA in metrics and has_changed(metrics[DELTA]) is changed
    ]
    columns = ("Diagnosis", "Someone who knows", "A", "B", "B − A")
    return [Table(f"{METRIC_TITLES[DELTA]}: trained on minus never seen", columns, tuple(rows))] if rows else []


def settings_table(comparison: Comparison) -> Table:
    """Return what differs between the runs' records."""
    rows = tuple(
        (one.name.capitalize() if one.name.isupper() else one.name, one.a, one.b) for one in comparison.differences
    )
    return Table("What differs between the two runs", ("Setting", "A", "B"), rows)


def health_table(health: Sequence[HealthCheck]) -> Table:
    """Return the collapse check, question by question."""
    rows = tuple(
        (
            _GROUPS.get(check.group, check.group),
            check.question,
            _health_text(check.a, check.reason),
            _health_text(check.b, check.reason),
            check.allowed if check.limit is None else f"{check.allowed}: {check.limit:.4g}",
            {True: "✓ yes", False: "✗ no", None: f"? {check.reason or 'nothing to measure'}"}[check.passed],
        )
        for check in health
    )
    return Table(
        "Does B still write as A did? A model that writes nothing of use has not forgotten",
        ("Whose text", "What is measured", "A", "B", "B may be", "Passed"),
        rows,
    )


def _health_text(value: float | None, reason: str | None) -> str:
    if value is not None:
        return f"{value:.4g}"
    # Most rows of a published table: the page says once what the dash stands for.
    return _DASH if reason == NOT_PUBLISHED else reason or NOT_MEASURED


def forgetting_table(forgetting: Forgetting) -> Table:
    """Return the certificate without names."""
    rows = [
        ("Named patients", forgetting.named),
        *((VERDICTS[verdict][0], number) for verdict, number in forgetting.patients.items()),
    ]
    if forgetting.before is not None:
        rows.append(("Stood out among the never seen already in A", forgetting.before))
    if forgetting.controls is not None:
        rows.append(("Never seen, and would stand out by chance or by shared text", forgetting.controls))
    share = figure_text(forgetting.controls_above_level, share=True, interval=True)
    rows.append(("Share of the never seen who would not pass either", share))
    if forgetting.beside:
        rows.append(("Weighed beside the two audits", join_words(forgetting.beside)))
    return Table("Named patients, by verdict", ("Which", "Patients"), tuple(rows))


def cost_table(forgetting: Forgetting) -> Table:
    """Return how many retained patients lost by it, by whether they share a named patient's disease."""
    return Table(
        "Retained patients, by how answers on them changed",
        ("Whose", *COLLATERAL_CHANGES),
        tuple(
            (
                COLLATERAL_GROUPS.get(group, group),
                *(counts.get(name, "0") for name in COLLATERAL_CHANGES),
            )
            for group, counts in forgetting.collateral.items()
        ),
    )
