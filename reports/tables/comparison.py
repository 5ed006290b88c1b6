"""Tables of a comparison of two runs, for its page and for the terminal alike.

Owns what stands in which column. Works on suppressed comparisons. An estimate without a value is a word or its band.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.reports.schema.comparison import (
    ComparedMemorization,
    ComparedMetric,
    Comparison,
    Forgetting,
    HealthCheck,
)
from clinaudit.reports.schema.estimate import ARMS, Arm
from clinaudit.reports.tables.table import Table, numbered_tier_title
from clinaudit.reports.wording.names import MEMORIZATION_METRICS, METRIC_TITLES, display_title, is_share, tier_title
from clinaudit.reports.wording.numbers import RANGE_NOTE, count_text, short_estimate_text

DELTAS: Final = ("auroc_all", "sensitivity", "false_positive_rate", "mention_rate")
BASES: Final = {
    "paired": "Patient by patient: B minus A over the patients who have a generation in both runs.",
    "published": "By published figures: the evidence of a run was purged, so that patients cannot be paired.",
}
VERDICTS: Final = {
    "forgotten": ("Forgotten", "✓"),
    "still leaks": ("Still leaks", "✗"),
    "not shown": ("Not shown", "?"),
}
GROUPS: Final = {"named": "named patients", "retained": "other train patients", "controls": "held-out patients"}
BRACKETS: Final = f"{RANGE_NOTE} In round brackets: 95% intervals."


def memorization_tables(comparison: Comparison) -> list[Table]:
    """Return a table for each metric of memorization: A, B and the difference, by tier and arm."""
    return [
        Table(
            f"{title[:1].upper()}{title[1:]}{_FULL[name]}",
            ("Tier", "Arm", "A", "B", "B − A"),
            tuple(_metric_rows(comparison, name)),
        )
        for title, name in MEMORIZATION_METRICS
    ]


_FULL: Final = {
    "memorized_fraction": ": share of generated tokens that stand word for word in the patient's own notes",
    "attributable_fraction": ": share that is clinically revealing, in no other patient's notes and not in the prompt",
    "hit_rate": ": patients with at least one verbatim match (mean over their generations)",
}


def _metric_rows(comparison: Comparison, name: str) -> Iterator[tuple[str, ...]]:
    for tier, arm, compared in list_arms(comparison):
        yield numbered_tier_title(tier), arm, *_cells(getattr(compared, name), share=True)


def list_arms(comparison: Comparison) -> Iterator[tuple[str, Arm, ComparedMemorization]]:
    """Yield tier, arm and the compared memorization of each arm of each tier."""
    for tier, arms in comparison.memorization.items():
        for arm in ARMS:
            if arm in arms:
                yield tier, arm, arms[arm]


def _cells(metric: ComparedMetric, *, share: bool, signed: bool = False) -> tuple[str, str, str]:
    return (
        short_estimate_text(metric.a, share=share, signed=signed, interval=True),
        short_estimate_text(metric.b, share=share, signed=signed, interval=True),
        short_estimate_text(metric.difference, share=share, signed=True, interval=True),
    )


def changes_table(comparison: Comparison) -> Table:
    """Return how many patients had a verbatim match in both runs, in one, or in neither (McNemar 1947)."""
    rows = []
    for tier, arm, compared in list_arms(comparison):
        hits = compared.hits
        cells = (None,) * 4 if hits is None else (hits.both, hits.a_only, hits.b_only, hits.neither)
        counts = ["not paired" if hits is None else count_text(cell) for cell in cells]
        p_value = (
            "not paired" if hits is None or hits.p_value is None else _p_value(hits.p_value, exact=cells[0] is not None)
        )
        pairs = "not paired" if hits is None else count_text(compared.pairs)
        rows.append((numbered_tier_title(tier), arm, pairs, *counts, p_value))
    columns = ("Tier", "Arm", "Pairs", "Hit in both", "In A only", "In B only", "In neither", "McNemar's p")
    return Table("Patients of whose notes anything was found, by run", columns, tuple(rows))


def _p_value(value: float, *, exact: bool) -> str:
    if not exact:
        return f"at most {value:g}"
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def disclosure_tables(comparison: Comparison) -> list[Table]:
    """Return a table for each metric of disclosure: the delta in A, in B, and the difference of the two."""
    tables = []
    for metric in DELTAS:
        rows = [
            (
                display_title(diagnosis),
                numbered_tier_title(tier),
                *_cells(compared.delta[metric], share=is_share(metric), signed=True),
            )
            for diagnosis, tiers in comparison.disclosure.items()
            for tier, compared in tiers.items()
            if metric in compared.delta
        ]
        columns = ("Diagnosis", "Tier", "A", "B", "B − A")
        tables.append(Table(f"{METRIC_TITLES[metric]}: train minus nontrain", columns, tuple(rows)))
    return tables


def settings_table(comparison: Comparison) -> Table:
    """Return what differs between the runs' records."""
    rows = tuple((difference.name, difference.a, difference.b) for difference in comparison.differences)
    return Table("What differs between the two runs", ("Setting", "A", "B"), rows)


def health_table(health: Sequence[HealthCheck]) -> Table:
    """Return the collapse check, question by question."""
    rows = tuple(
        (
            GROUPS.get(check.group, check.group),
            check.question,
            _health(check.a),
            _health(check.b),
            _health(check.limit),
            {True: "✓ yes", False: "✗ no", None: f"? {check.reason or 'nothing to measure'}"}[check.passed],
        )
        for check in health
    )
    return Table(
        "Does B still write as A did? A model that writes nothing of use has not forgotten",
        ("Whose generations", "Figure of B", "A", "B", "Limit", "Passed"),
        rows,
    )


def _health(value: float | None) -> str:
    return "withheld" if value is None else f"{value:.2f}"


def forgetting_table(forgetting: Forgetting) -> Table:
    """Return the certificate without names."""
    rows = [
        ("Named patients", count_text(forgetting.named)),
        *((VERDICTS[verdict][0], count_text(number)) for verdict, number in forgetting.patients.items()),
        ("Above the level of the held-out before", count_text(forgetting.leaked_before)),
        (
            "Held-out patients who would not pass either",
            short_estimate_text(forgetting.controls_above_level, share=True),
        ),
        *(
            (f"Held-out patients at {tier_title(tier)}", count_text(number))
            for tier, number in forgetting.controls.items()
        ),
    ]
    return Table("Named patients, by verdict", ("Which", "Patients"), tuple(rows))
