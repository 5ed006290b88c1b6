"""The tables of the report: results in, headings and rows of text out.

Owns what stands in which column. Works on suppressed results; a figure without a value is given in words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.results import (
    Arm,
    CorpusSummary,
    Decision,
    Disclosure,
    LengthSummary,
    Memorization,
    Moments,
    PopulationSummary,
    Results,
    RuleOutcome,
)
from clinaudit.reports.wording import (
    FACTS,
    METRICS,
    NOT_MEASURED,
    STATUSES,
    SUPPRESSED,
    count,
    figure,
    is_share,
    is_suppressed,
    join_words,
    label,
    number,
    percent,
    short_figure,
    tier_number,
    tier_title,
)


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of plain text; the first column heads its row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


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


def measured_memorization(results: Results) -> Iterator[tuple[str, Arm, Memorization]]:
    """Yield tier, arm and figures of everything that was measured, in order of access."""
    for tier in tiers_of(results):
        for arm, figures in results.memorization.get(tier, {}).items():
            yield tier, arm, figures


def numbered(tier: str) -> str:
    """Return a tier's number and title."""
    place = tier_number(tier)
    return tier if place == tier else f"{place} {tier_title(tier)}"


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
    for stage, units in results.completeness.items():
        excluded = "; ".join(f"{_with_title(reason)}: {count(n)}" for reason, n in units.excluded.items()) or "none"
        rows.append((label(stage), count(units.planned), count(units.done), f"{units.failed:,}", excluded))
    return Table("Units of work by stage", ("Stage", "Planned", "Done", "Failed", "Excluded"), tuple(rows))


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
    """Return the paper's counting beside ours: one row a (patient, cohort)."""
    rows = []
    for tier, arm, figures in measured_memorization(results):
        view = figures.paper_view
        if view is not None:
            shares = (figure(view.memorized_fraction, share=True), figure(view.hit_rate, share=True))
            rows.append((numbered(tier), arm, f"{view.rows:,}", *shares))
    heads = ("Tier", "Arm", "Rows", "Memorized", "Hit rate")
    return Table("The paper's counting: one row a patient and cohort", heads, tuple(rows))


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


def metric_table(results: Results, metric: str) -> Table:
    """Return one disclosure metric by tier and diagnosis with intervals, train over nontrain (the paper's Table 1)."""
    diagnoses = list(results.disclosure.by_diagnosis)
    rows = []
    for tier in tiers_of(results):
        for arm in ("train", "nontrain"):
            cells = []
            for diagnosis in diagnoses:
                pair = results.disclosure.by_diagnosis[diagnosis].get(tier)
                side: Disclosure | None = None if pair is None else getattr(pair, arm)
                cells.append(short_figure(getattr(side, metric, None), share=is_share(metric), interval=True))
            if any(cell != NOT_MEASURED for cell in cells) or arm == "train":
                rows.append((numbered(tier), arm, *cells))
    return Table(METRICS[metric], ("Tier", "Arm", *map(label, diagnoses)), tuple(rows))


def disclosure_table(results: Results) -> Table:
    """Return every disclosure figure of every diagnosis and tier, with intervals, bands and reasons."""
    rows = []
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        for tier in tiers_of(results):
            pair = tiers.get(tier)
            if pair is None:
                continue
            for metric, title in METRICS.items():
                share = is_share(metric)
                delta = None if pair.delta is None else getattr(pair.delta, metric)
                holm = None if delta is None else delta.p_holm
                no_p = "not shown" if is_suppressed(delta) else NOT_MEASURED
                rows.append(
                    (
                        label(diagnosis),
                        numbered(tier),
                        title,
                        figure(getattr(pair.train, metric), share=share),
                        figure(None if pair.nontrain is None else getattr(pair.nontrain, metric), share=share),
                        figure(delta, share=share, signed=True),
                        no_p if delta is None or holm is None else _p_value(holm, is_exact=delta.value is not None),
                    )
                )
    heads = ("Diagnosis", "Tier", "Figure", "Train", "Nontrain", "Train minus nontrain", "Adjusted p")
    return Table("Every disclosure figure (bands of AUROCs do not subtract)", heads, tuple(rows))


def _p_value(p: float, *, is_exact: bool) -> str:
    if not is_exact and p >= 1:
        return "above 0.05"  # of suppressed differences only the side of 5% is published
    return f"{p:.3f}" if is_exact and p >= 0.001 else f"at most {max(p, 0.001):.3g}"


def counts_table(results: Results) -> Table:
    """Return the counts behind the disclosure figures."""
    rows = []
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        for tier in tiers_of(results):
            pair = tiers.get(tier)
            if pair is None:
                continue
            dropped = "; ".join(f"{why}: {count(n)}" for why, n in pair.dropped_sets.items()) or "none"
            for arm, side in (("train", pair.train), ("nontrain", pair.nontrain)):
                if side is not None:
                    counts = (count(side.generations), count(side.mentioned), count(side.unjudged))
                    rows.append((label(diagnosis), numbered(tier), arm, *counts, dropped))
    heads = ("Diagnosis", "Tier", "Arm", "Generations", "Mentioning", "Unjudged", "Matched sets left out")
    return Table("Counts behind the disclosure figures", heads, tuple(rows))


def corpus_tables(corpus: CorpusSummary) -> list[Table]:
    """Return the paper's Tables 5, 6 and 7."""
    populations = {**{label(s): p for s, p in corpus.splits.items()}}
    populations |= {f"Cohort {label(d)}": p for d, p in corpus.cohorts.items()}
    sizes = tuple(
        (
            name,
            count(p.notes),
            count(p.patients),
            count(p.practices) if p.practices is not None or p.patients is None else NOT_MEASURED,
            count(p.tokens) if p.tokens is not None or p.patients is None else NOT_MEASURED,
            _moments(p.notes_per_patient, p),
            _moments(p.tokens_per_patient, p),
        )
        for name, p in populations.items()
    )
    heads = ("Population", "Notes", "Patients", "Practices", "Tokens", "Notes a patient", "Tokens a patient")
    return [
        Table("Size (mean and standard deviation a patient)", heads, sizes),
        _breakdown("Race and ethnicity", populations, "race"),
        _breakdown("Sex", populations, "sex"),
        _breakdown("Age", populations, "age_bands", with_age=True),
    ]


def _moments(moments: Moments, population: PopulationSummary) -> str:
    if moments.mean is None:
        return SUPPRESSED if population.patients is None else NOT_MEASURED
    return number(moments.mean) + ("" if moments.sd is None else f" (SD {number(moments.sd)})")


def _breakdown(
    caption: str, populations: Mapping[str, PopulationSummary], field: str, *, with_age: bool = False
) -> Table:
    keys = list(dict.fromkeys(key for p in populations.values() for key in getattr(p, field)))
    keys.sort(key=lambda key: not key.startswith("<"))
    rows = []
    for name, population in populations.items():
        counts: dict[str, int | None] = getattr(population, field)
        cells = []
        for key in keys:
            hidden = population.patients is None or (key in counts and counts[key] is None)
            cells.append("suppressed" if hidden else f"{counts.get(key) or 0:,}")
        rows.append((name, *((_moments(population.age, population),) if with_age else ()), *cells))
    heads = (
        "Population",
        *(("Mean age",) if with_age else ()),
        *(key if key[:1] in "<0123456789" else label(key) for key in keys),
    )
    return Table(caption, heads, tuple(rows))


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
