"""The tables of the report: results in, headings and rows of text out.

Owns what stands in which column. Works on suppressed results; a figure without a value is given in words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.results import (
    Arm,
    Decision,
    DisclosurePair,
    LengthSummary,
    Memorization,
    Results,
    RuleOutcome,
)
from clinaudit.reports.wording import (
    FACTS,
    NOT_MEASURED,
    STATUSES,
    SUPPRESSED,
    count,
    figure,
    join_words,
    label,
    number,
    percent,
    tier_number,
    tier_title,
)


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of plain text; the first column heads its row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: How to read it, or what is left out; stands below the caption, and alone where there are no rows.
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rung:
    """One tier of the ladder, in plain words."""

    number: str
    title: str
    holder: str
    facts: str


def ladder() -> list[Rung]:
    """Return the six tiers: who holds what."""
    return [
        Rung(str(place), tier_title(tier.id), tier.holder, join_words([FACTS[fact] for fact in tier.facts]))
        for place, tier in enumerate(TIERS, 1)
    ]


def tiers_of(results: Results) -> list[str]:
    """Return the tiers that have figures, in order of access; ids outside the six come last."""
    present = {*results.memorization, *(t for tiers in results.disclosure.by_diagnosis.values() for t in tiers)}
    known = [tier.id for tier in TIERS if tier.id in present]
    return [*known, *sorted(present - set(known))]


def disclosure_pairs(results: Results) -> Iterator[tuple[str, str, DisclosurePair]]:
    """Yield diagnosis, tier and figures of every pair that was measured, in the order of the report."""
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        yield from ((diagnosis, tier, tiers[tier]) for tier in tiers_of(results) if tier in tiers)


def measured_memorization(results: Results) -> Iterator[tuple[str, Arm, Memorization]]:
    """Yield tier, arm and figures of everything that was measured, in order of access."""
    for tier in tiers_of(results):
        for arm, figures in results.memorization.get(tier, {}).items():
            yield tier, arm, figures


def numbered(tier: str) -> str:
    """Return a tier's number and title."""
    place = tier_number(tier)
    return tier if place == tier else f"{place} {tier_title(tier)}"


def join_hidden(rows: Sequence[tuple[str, ...]], *, names: int = 0) -> tuple[tuple[str, ...], ...]:
    """Join rows of which nothing is shown, where all before the column `names` is the same.

    The joined row stands where the first one stood, and names all of them in that column; the rest are cells.
    """
    joined: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if _shows_nothing(row[names + 1 :]):
            joined.setdefault(row[:names], []).append(row[names])
    told: list[tuple[str, ...]] = []
    for row in rows:
        if not _shows_nothing(row[names + 1 :]):
            told.append(row)
        elif (all_names := joined.pop(row[:names], None)) is not None:
            told.append((*row[:names], ", ".join(all_names), *row[names + 1 :]))
    return tuple(told)


def _shows_nothing(cells: Sequence[str]) -> bool:
    return all(cell == SUPPRESSED for cell in cells)


_RULE_HEADS = ("Rule", "Tier", "Status", "Question", "Observed", "Limit", "Why")


def rules_table(decision: Decision) -> Table:
    """Return the policy rule by rule."""
    rows = []
    for rule in decision.rules:
        word, sign = STATUSES[rule.status]
        share = "fraction" in rule.metric or "rate" in rule.metric or "share" in rule.metric
        limits = [
            f"{name} {percent(value) if share else number(value)}"
            for name, value in (("at most", rule.limit.max), ("at least", rule.limit.min))
            if value is not None
        ]
        rows.append(
            (
                rule.id,
                numbered(rule.tier) if rule.tier else "all",
                f"{sign} {word}",
                rule.question,
                figure(rule.observed, share=share) + _decided_on(rule),
                " and ".join(limits) or "no limit",
                rule.reason,
            )
        )
    return Table("The policy, rule by rule", _RULE_HEADS, tuple(rows))


def _decided_on(rule: RuleOutcome) -> str:
    """Say why a rule passes though what is published of its figure reaches beyond the limit."""
    low, high, limit = rule.observed.low, rule.observed.high, rule.limit
    is_beyond = (high is not None and limit.max is not None and high > limit.max) or (
        low is not None and limit.min is not None and low < limit.min
    )
    if rule.status != "pass" or not is_beyond:
        return ""
    return ". The rule was decided on the exact figure, which keeps the limit; only this published range is wider"


def completeness_table(results: Results) -> Table:
    """Return the ledger of planned, done, failed and excluded units."""
    rows = []
    is_hidden = False
    for stage, units in results.completeness.items():
        excluded = "; ".join(f"{_with_title(reason)}: {count(n)}" for reason, n in units.excluded.items()) or "none"
        sizes = (count(units.planned), count(units.done), f"{units.failed:,}")
        if units.planned is None or units.done is None:
            is_hidden = True
            missing = units.missing
        else:
            missing = units.planned - units.done - units.failed
        rows.append((label(stage), *sizes, NOT_MEASURED if missing is None else f"{missing:,}", excluded))
    note = "“Missing” is what was planned and is neither done nor failed; what is excluded was not planned."
    if is_hidden:
        note += (
            f" How many were planned and done is {SUPPRESSED} where, with other tables, it would give back a number of"
            " patients that is hidden: 0 failed and 0 missing say that all was done."
        )
    heads = ("Stage", "Planned", "Done", "Failed", "Missing", "Excluded")
    return Table("Units of work by stage", heads, tuple(rows), note if rows else "")


def _with_title(reason: str) -> str:
    """Return a reason that opens with a tier's id with its title instead."""
    tier, colon, why = reason.partition(": ")
    return f"{tier_title(tier)}: {why}" if colon else reason


_FRACTIONS = (
    ("Generations", "generations"),
    ("Patients", "patients"),
    ("Memorized", "memorized_fraction"),
    ("Without prompt echo", "memorized_fraction_without_echo"),
    ("Patient-attributable", "attributable_fraction"),
    ("Hit rate", "hit_rate"),
    ("Empty", "empty"),
    ("Shorter than the n-gram", "shorter_than_ngram"),
)
_COUNTS = ("generations", "patients", "empty", "shorter_than_ngram")
_REGIONS = (
    ("Source notes a generation", "source_notes_mean"),
    ("Stitched regions", "stitched_share"),
    ("Templated tokens", "templated_share"),
    ("Pieces in several patients' notes", "multi_patient_share"),
)


def memorization_table(results: Results) -> Table:
    """Return Figures 2 and 8 as a table, by tier and arm."""
    return _by_tier_and_arm(results, "Verbatim memorization by tier", _FRACTIONS)


def regions_table(results: Results) -> Table:
    """Return what the memorized regions are made of, by tier and arm."""
    return _by_tier_and_arm(results, "Memorized regions by tier", _REGIONS, lengths=True)


def paper_view_table(results: Results) -> Table:
    """Return the paper's counting beside ours: a patient counts once in each cohort."""
    rows = []
    for tier, arm, figures in measured_memorization(results):
        view = figures.paper_view
        if view is not None:
            shares = (figure(view.memorized_fraction, share=True), figure(view.hit_rate, share=True))
            rows.append((numbered(tier), arm, f"{view.rows:,}", *shares))
    heads = ("Tier", "Arm", "Patients, once a cohort", "Memorized", "Hit rate")
    return Table(
        "Memorized text, each patient counted once in each cohort (as the method's paper does)", heads, tuple(rows)
    )


def shared_table(results: Results) -> Table:
    """Return how many patients' notes hold the memorized pieces, by tier and arm."""
    rows = []
    for tier, arm, figures in measured_memorization(results):
        rows += [(numbered(tier), arm, bin_.k, count(bin_.pieces)) for bin_ in figures.k_distribution]
    heads = ("Tier", "Arm", "Patients whose notes hold it", "Pieces")
    return Table("Memorized pieces by number of patients", heads, tuple(rows))


def near_verbatim_table(results: Results) -> Table:
    """Return the near-verbatim figures by tier and arm."""
    rows = []
    for tier, arm, figures in measured_memorization(results):
        near = figures.near_verbatim
        if near is not None:
            shares = (figure(near.fraction, share=True), figure(near.extra_fraction, share=True))
            windows = f"{near.edit_budget} of {near.window}"
            rows.append((numbered(tier), arm, windows, *shares, figure(near.longest_region)))
    heads = ("Tier", "Arm", "Edits allowed a window", "Near-verbatim", "Beyond verbatim", "Longest region, tokens")
    return Table("Near-verbatim text by tier (counted separately)", heads, tuple(rows))


def _by_tier_and_arm(
    results: Results, caption: str, columns: Sequence[tuple[str, str]], *, lengths: bool = False
) -> Table:
    heads = ("Tier", "Arm", *(title for title, _ in columns), *(("Region length, characters",) if lengths else ()))
    rows = []
    for tier, arm, figures in measured_memorization(results):
        cells = [_memorization_cell(figures, name) for _, name in columns]
        if lengths:
            cells.append(_length(figures.region_length.get("characters"), figures))
        rows.append((numbered(tier), arm, *cells))
    return Table(caption, heads, tuple(rows))


def _memorization_cell(figures: Memorization, name: str) -> str:
    value = getattr(figures, name)
    return count(value) if name in _COUNTS else figure(value, share=name != "source_notes_mean")


def _length(lengths: LengthSummary | None, figures: Memorization) -> str:
    if lengths is None or lengths.mean is None:
        return figure(figures.stitched_share) if figures.stitched_share.value is None else NOT_MEASURED
    median = "" if lengths.median is None else f", median {number(lengths.median)}"
    return f"mean {number(lengths.mean)}{median}"


def training_table(results: Results) -> Table:
    """Return the paper's Table 8."""

    def cell(value: float | None) -> str:
        return NOT_MEASURED if value is None else f"{value:.4f}"

    rows = tuple(
        (f"{row.epoch:g}", cell(row.train_loss), cell(row.validation_loss), cell(row.perplexity))
        for row in results.training or ()
    )
    return Table("Training log", ("Epoch", "Train loss", "Validation loss", "Perplexity"), rows)


def provenance_table(provenance: Mapping[str, object], *, has_shipped_labels: bool = False) -> Table:
    """Return settings, versions and digests, nested keys joined by dots.

    `has_shipped_labels`: the judge was scored on the set that ships, whose digest names no file of the site.
    """
    rows = tuple(
        (item, f"shipped set ({value})" if has_shipped_labels and item == "settings.--judge-labels" else value)
        for item, value in _flatten("", provenance)
    )
    return Table("Settings, versions and digests of this run", ("Item", "Value"), rows)


def _flatten(prefix: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        rows = []
        for key in value:
            rows += _flatten(f"{prefix}.{key}" if prefix else str(key), value[key])
        return rows
    if isinstance(value, (list, tuple)):
        return [(prefix, ", ".join(str(item) for item in value) or "none")]
    if value is None or value == {}:
        return [(prefix, "not given")]
    return [(prefix, str(value).lower() if isinstance(value, bool) else str(value))]
