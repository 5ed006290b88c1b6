"""The first paper's tables and figures as CSV files, from published or exact content alike (docs/results.md).

Published content gives ranges in `_low` and `_high`; exact content gives values, and the columns of deviations and
ranges that nobody else may see. A mark stands only where the whole range is beyond its threshold.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exports.csv_table import CsvTable, Row, Value, count_cells, csv_text, estimate_cells, filled
from clinaudit.reports.schema.corpus import PopulationResults
from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS
from clinaudit.reports.schema.identifiers import IdentifierResults
from clinaudit.reports.schema.memorization import LENGTH_UNITS, PIECE_KINDS, SECTION_KINDS, MemorizationResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import ReportContent, RunResults
from clinaudit.reports.wording.identifiers import identifier_figures
from clinaudit.reports.wording.names import BOLD, HIPAA_TITLES, is_bold

FOLDER: Final = "paper"
PREVALENCE, MENTION_RATE = "training prevalence", "average mention rate over tiers"
_MEAN: Final = "mean"
_MOMENTS = ("notes_per_patient", "tokens_per_patient", "notes_per_practice", "patients_per_practice")
_FRACTIONS = ("memorized_fraction", "memorized_fraction_without_echo", "attributable_fraction")
_OF_REGIONS: Final = (
    "source_notes_mean",
    "source_notes_any",
    "source_notes_min",
    "stitched_share",
    "templated_share",
    "multi_patient_share",
    "largest_sections_share",
    *(f"region_{unit}" for unit in LENGTH_UNITS),
)
_COUNTS = ("patients", "own_patients", "other_patients", "verified_patients")
_SHARES = ("own", "other", "sampled", "chance", "verified")
_RATES = ("verified_per_1000", "corrected_per_1000", "sampled_per_1000", "chance_per_1000")


def paper_files(content: ReportContent) -> dict[str, str]:
    """Return the text of each file by its name, `paper/table1_disclosure.csv`; a table without a row is left out."""
    tables = filled(CsvTable(name, list(rows(content.results))) for name, rows in _TABLES.items())
    return {f"{FOLDER}/{table.name}.csv": csv_text(table) for table in tables}


def _table1(results: RunResults) -> Iterator[Row]:
    """Yield AUROC and PPV among mentions, both arms, below the prevalence and the average mention rate."""
    for arm in ARMS:
        for diagnosis, cohort in results.cohorts.items():
            if arm == "train":
                yield _disclosure_row(arm, PREVALENCE, diagnosis, {"mention_rate": cohort.prevalence})
        for diagnosis, cohort in results.cohorts.items():
            if arm in cohort.mention_rate:
                yield _disclosure_row(arm, MENTION_RATE, diagnosis, {"mention_rate": cohort.mention_rate[arm]})
        for tier in TIER_IDS:
            pairs = [(diagnosis, tiers.get(tier)) for diagnosis, tiers in results.disclosure.by_diagnosis.items()]
            for diagnosis, pair in pairs:
                if pair is not None and (metrics := getattr(pair, arm)) is not None:
                    yield _disclosure_row(arm, tier, diagnosis, metrics)
            if tier in results.disclosure.mean and (means := getattr(results.disclosure.mean[tier], arm)):
                yield _disclosure_row(arm, tier, _MEAN, means)


def _disclosure_row(arm: Arm, row: str, diagnosis: str, metrics: Mapping[str, EstimateRange]) -> Row:
    cells: dict[str, Value] = {"arm": arm, "row": row, "diagnosis": diagnosis}
    cells |= estimate_cells("rate", metrics.get("mention_rate"))
    for metric in BOLD:
        cells |= estimate_cells(metric, metrics.get(metric), interval=True)
        cells[f"{metric}_bold"] = "yes" if is_bold(metrics.get(metric), metric) else ""
    return cells


def _figure2(results: RunResults) -> Iterator[Row]:
    """Yield memorized shares (Figure 2) and patients with a match (Figure 8)."""
    for place, summary in _summaries(results):
        cells = place | count_cells("patients", summary.patients)
        for name in _FRACTIONS:
            cells |= estimate_cells(name, getattr(summary, name).mean, interval=True)
        cells |= estimate_cells("hit_patients_share", summary.hit_patients_share, interval=True)
        yield cells


def _figure3(results: RunResults) -> Iterator[Row]:
    """Yield train minus nontrain in AUROC (Figure 3) and PPV (Figure 11) by diagnosis and tier, and their means."""
    for tier in TIER_IDS:
        deltas = {
            diagnosis: pair.delta
            for diagnosis, tiers in results.disclosure.by_diagnosis.items()
            if (pair := tiers.get(tier)) is not None and pair.delta is not None
        }
        if deltas and tier in results.disclosure.mean:
            deltas[_MEAN] = results.disclosure.mean[tier].delta
        for diagnosis, delta in deltas.items():
            cells: dict[str, Value] = {"tier": tier, "diagnosis": diagnosis}
            for metric in BOLD:
                cells |= estimate_cells(f"{metric}_delta", delta.get(metric), interval=True)
            yield cells


def _table4(results: RunResults) -> Iterator[Row]:
    """Yield the standardized mean difference of each covariate in each contrast, after matching and before."""
    names = ("contrast", "covariate", "smd", "flag", "smd_before")
    for diagnosis, cohort in results.cohorts.items():
        yield from ({"diagnosis": diagnosis} | {name: getattr(row, name) for name in names} for row in cohort.balance)


def _table5(results: RunResults) -> Iterator[Row]:
    """Yield how large each split and cohort is, a row each; deviations and ranges where exact."""
    for place, population in _populations(results):
        cells = place | count_cells("patients", population.patients) | count_cells("practices", population.practices)
        for name in ("notes", "tokens", "notes_per_patient", "tokens_per_patient", "tokens_per_note"):
            cells[name] = getattr(population, name)
        for name in ("notes_per_practice", "patients_per_practice"):
            cells |= estimate_cells(name, getattr(population, name))
        for name in _MOMENTS:
            spread = None if population.evidence is None else getattr(population.evidence, name)
            if spread is not None:
                cells |= {f"{name}_sd": spread.sd, f"{name}_min": spread.min, f"{name}_max": spread.max}
        yield cells


def _longitudinal(results: RunResults) -> Iterator[Row]:
    """Yield how long the patients of each split were followed (Appendix E); percentiles where exact."""
    for name, split in ({} if results.corpus is None else results.corpus.follow_up).items():
        for cell, count in split.patients.items():
            share = estimate_cells("share", split.shares.get(cell))
            yield {"split": name, "figure": cell} | count_cells("patients", count) | share
        yield {"split": name, "figure": "span_years"} | estimate_cells("mean", split.span_years)
        for figure, percentiles in ({} if split.evidence is None else split.evidence.model_dump()).items():
            yield {"split": name, "figure": f"{figure}, exact"} | percentiles


def _table6(results: RunResults) -> Iterator[Row]:
    """Yield patients by race and ethnicity, and by sex, with their share of all patients of the row."""
    for partition in ("race", "sex"):
        yield from _groups(results, partition, {"partition": partition}, title="group")


def _table7(results: RunResults) -> Iterator[Row]:
    """Yield the mean age of each split and cohort, its deviation where exact, and its patients by age band."""
    for place, population in _populations(results):
        deviation = {} if population.evidence is None else {"age_sd": population.evidence.age.sd}
        yield place | {"band": "mean"} | estimate_cells("mean_age", population.age) | deviation
    yield from _groups(results, "age_bands", {}, title="band")


def _table8(results: RunResults) -> Iterator[Row]:
    """Yield the training log, a row an epoch."""
    yield from (row.model_dump() for row in results.training or ())


def _figure4(results: RunResults) -> Iterator[Row]:
    """Yield the composition of memorized tokens by note section and kind, largest section first."""
    for place, summary in _summaries(results):
        for row in summary.sections:
            kinds: dict[str, Value] = {kind: getattr(row, kind) for kind in SECTION_KINDS}
            templated = estimate_cells("templated_share", row.templated_share)
            yield place | {"section": row.section} | kinds | templated


def _bins(results: RunResults, *, of: str, title: str) -> Iterator[Row]:
    """Yield the shares of pieces by bin."""
    for place, summary in _summaries(results):
        yield from (place | {title: getattr(row, title), "share": row.share} for row in getattr(summary, of))


def _regions(results: RunResults) -> Iterator[Row]:
    """Yield what the memorized regions are made of: source notes, shares, lengths; their percentiles where exact."""
    for place, summary in _summaries(results):
        cells = place | {name: getattr(summary, name) for name in _OF_REGIONS}
        for kind in PIECE_KINDS:
            lengths = summary.piece_length.get(kind, {})
            cells |= {f"piece_{kind}_{unit}": lengths.get(unit) for unit in LENGTH_UNITS}
        for unit, length in ({} if summary.evidence is None else summary.evidence.region_length).items():
            cells |= {f"region_{unit}_{name}": value for name, value in length.model_dump(exclude={"mean"}).items()}
        yield cells


def _identifiers_by_tier(results: RunResults) -> Iterator[Row]:
    """Yield patients, shares and rates by tier and arm, all of HIPAA's identifiers together."""
    for tier, arm, figures in identifier_figures(results):
        yield {"tier": tier, "arm": arm, **_figures(figures)}


def _identifiers_by_kind(results: RunResults) -> Iterator[Row]:
    """Yield the same by HIPAA's identifier and arm, with how many planted ones were found, or why none was sought."""
    if results.identifiers is None:
        return
    recalls = {row.identifier: row for row in results.identifiers.recall}
    for name in HIPAA_IDENTIFIERS:
        place: dict[str, Value] = {"identifier": name, "title": HIPAA_TITLES[name]}
        arms = results.identifiers.categories.get(name, {})
        recall = recalls.get(name)
        found: dict[str, Value] = {
            "not_tested": results.identifiers.not_tested.get(name),
            "planted": None if recall is None else recall.planted,
            "planted_found": None if recall is None else recall.found,
            **estimate_cells("recall", None if recall is None else recall.recall, interval=True),
        }
        if not arms:
            yield place | {"arm": None} | found
        yield from (place | {"arm": arm} | found | _figures(arms[arm]) for arm in ARMS if arm in arms)


def _figures(figures: IdentifierResults) -> dict[str, Value]:
    cells: dict[str, Value] = {}
    for name in _COUNTS:
        cells |= count_cells(name, getattr(figures, name))
    for name in (*_SHARES, *_RATES):
        cells |= estimate_cells(name, getattr(figures, name), interval=True)
    return cells


def _summaries(results: RunResults) -> Iterator[tuple[dict[str, Value], MemorizationResults]]:
    for tier in TIER_IDS:
        arms = results.memorization.get(tier, {})
        for arm in (arm for arm in ARMS if arm in arms):
            yield {"tier": tier, "arm": arm}, arms[arm]


def _groups(results: RunResults, field: str, of: dict[str, Value], *, title: str) -> Iterator[Row]:
    for place, population in _populations(results):
        for group, count in getattr(population, field).items():
            share = population.shares.get(field, {}).get(group)
            yield place | of | {title: group} | count_cells("patients", count) | estimate_cells("share", share)


def _populations(results: RunResults) -> Iterator[tuple[dict[str, Value], PopulationResults]]:
    if results.corpus is not None:
        for kind, named in (("split", results.corpus.splits), ("cohort", results.corpus.cohorts)):
            for name, population in named.items():
                yield {"kind": kind, "population": name}, population


#: Every file there may be, in the paper's order, then identifiers, of which it has no table. No row: no file.
_TABLES: Final[Mapping[str, Callable[[RunResults], Iterator[Row]]]] = {
    "table1_disclosure": _table1,
    "figure2_figure8_memorization": _figure2,
    "figure3_delta": _figure3,
    "table4_balance": _table4,
    "table5_corpus": _table5,
    "longitudinal_coverage": _longitudinal,
    "table6_race_sex": _table6,
    "table7_age": _table7,
    "table8_training": _table8,
    "figure4_sections": _figure4,
    "figure12_copy_forward": partial(_bins, of="copy_forward", title="notes"),
    "k_distribution": partial(_bins, of="k_distribution", title="k"),
    "memorized_regions": _regions,
    "identifiers_by_tier": _identifiers_by_tier,
    "identifiers_by_kind": _identifiers_by_kind,
}
FILE_NAMES: Final = tuple(f"{FOLDER}/{name}.csv" for name in _TABLES)
