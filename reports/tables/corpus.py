"""Tables of the corpus: how large it is, who is in it (the paper's Tables 5, 6 and 7), and how identifiable they are.

Identifiable: how many patients a prompt fits, tags, and notes that were too long. A group of nobody anywhere has no
column.
"""

from collections.abc import Mapping

from clinaudit.reports.schema.corpus import NOT_ASKED, UNIQUENESS_BINS, CorpusResults, GroupResults, PopulationResults
from clinaudit.reports.schema.numbers import NOBODY, CountRange, EstimateRange, exact_estimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, asked_about, numbered_tier_title
from clinaudit.reports.wording.captions import PARTITION_TITLES, group_title
from clinaudit.reports.wording.names import ARM_WORDS, display_title, list_tiers, order_tiers
from clinaudit.reports.wording.numbers import count_text, estimate_text, part_text, range_text

_SIZES = ("notes", "tokens", "notes_per_patient", "tokens_per_patient", "tokens_per_note")
_NOT_GIVEN = "–"


def corpus_tables(corpus: CorpusResults) -> list[Table]:
    """Return the paper's Tables 5, 6 and 7, and how identifiable patients are; an empty one is left out."""
    populations = {display_title(split): population for split, population in corpus.splits.items()}
    populations |= {f"Cohort {display_title(name)}": population for name, population in corpus.cohorts.items()}
    tables = [
        _sizes_table(populations),
        _practices_table(populations),
        _people_table("Sex", populations, "sex"),
        _people_table("Race and ethnicity", populations, "race"),
        _people_table("Age", populations, "age_bands", with_mean=True),
        notes_table(corpus),
        uniqueness_table(corpus),
    ]
    return [table for table in tables if table.rows]


def _sizes_table(populations: Mapping[str, PopulationResults]) -> Table:
    rows = [
        (name, count_text(p.patients), *(_size(getattr(p, field)) for field in _SIZES))
        for name, p in populations.items()
    ]
    note = (
        "Notes and tokens per patient are published to two significant digits, but not for cohorts or few patients;"
        " “–”: not given."
    )
    heads = ("Population", "Patients", "Notes", "Tokens", "Notes a patient", "Tokens a patient", "Tokens a note")
    return Table("Size", heads, tuple(rows), note)


def _practices_table(populations: Mapping[str, PopulationResults]) -> Table:
    rows = [
        (name, count_text(p.practices), estimate_text(p.notes_per_practice), estimate_text(p.patients_per_practice))
        for name, p in populations.items()
        if p.practices is not None
    ]
    heads = ("Population", "Practices", "Notes a practice", "Patients a practice")
    return Table("Practices", heads, tuple(rows), "A patient counts in each of their practices.")


def _with_share(count: CountRange, share: EstimateRange | None) -> str:
    if share is None or share.low is None:
        return count_text(count)
    return f"{count_text(count)} ({range_text(share, share=True)})"


def _people_table(
    caption: str, populations: Mapping[str, PopulationResults], field: str, *, with_mean: bool = False
) -> Table:
    counts: dict[str, dict[str, CountRange]] = {name: getattr(p, field) for name, p in populations.items()}
    groups = list(dict.fromkeys(group for of in counts.values() for group, count in of.items() if count.high))
    groups.sort(key=lambda group: (not group.startswith("<"), group == "unknown"))
    if not groups:
        return Table(caption, (), ())
    rows = []
    for name, population in populations.items():
        mean = (estimate_text(population.age),) if with_mean else ()
        shares = population.shares.get(field, {})
        cells = [
            _with_share(counts[name][group], shares.get(group)) if group in counts[name] else "0" for group in groups
        ]
        rows.append((name, *mean, *cells))
    heads = ("Population", *(("Mean age",) if with_mean else ()), *map(group_title, groups))
    return Table(caption, heads, tuple(rows))


def _size(value: float | None) -> str:
    if value is None:
        return _NOT_GIVEN
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:g}"


def uniqueness_table(corpus: CorpusResults) -> Table:
    """Return how many patients of the corpus a tier's facts fit, by tier and split."""
    rows = [
        (
            *asked_about(tier, arm),
            *(count_text(split.uniqueness[tier][name]) for name in (*UNIQUENESS_BINS, NOT_ASKED)),
            *(estimate_text(share, share=True) for share in split.fewer_than[tier].values()),
        )
        for tier in order_tiers({tier for split in corpus.identifiability.values() for tier in split.uniqueness})
        for arm in ARMS
        if (split := corpus.identifiability.get(arm)) is not None and tier in split.uniqueness
    ]
    if not rows:
        return Table("How many patients a prompt fits", (), ())
    bins = ("Fits the patient alone", "2 to 4", "5 to 10", "More", "Has none")
    shares = ("Fits fewer than 2", "fewer than 5", "fewer than 11")
    note = (
        "For each patient, how many patients in the corpus share the facts in the tier's prompt. A prompt "
        "that fits one patient asks about that patient, no matter who writes it. Shares are of those who have a prompt."
    )
    return Table("How many patients a prompt fits", ("Tier", "Split", *bins, *shares), tuple(rows), note)


def notes_table(corpus: CorpusResults) -> Table:
    """Return in whose notes tags of de-identification stand, and whose are too long to have been trained on."""
    rows = []
    for arm, split in corpus.identifiability.items():
        for style, count in split.tagged.items():
            share = estimate_text(split.tagged_share[style], share=True)
            rows.append((f"Tags such as {style}", display_title(arm), count_text(count), share))
        if split.longer_than_trained.high:
            longer = count_text(split.longer_than_trained)
            rows.append(("A note longer than what the model was trained on", display_title(arm), longer, ""))
        if split.several_ids.high:
            rows.append(("More than one id", display_title(arm), count_text(split.several_ids), ""))
    if corpus.targets_in_both_splits is not None and corpus.targets_in_both_splits.high:
        both = count_text(corpus.targets_in_both_splits)
        rows.append(("Ids in both splits, of the targets", display_title("train"), both, ""))
    heads = ("Patients with", "Split", "Patients", "Share")
    return Table("De-identification, length of the notes, and ids", heads, tuple(rows))


_MEANS = {"Memorized fraction": "memorized_fraction", "Own text": "attributable_fraction"}


def subgroup_tables(results: RunResults) -> list[Table]:
    """Return the affected of each group, a table an arm, a column a tier; a group of nobody has no row."""
    if results.subgroups is None:
        return []
    families = {
        "Patients with any own text": results.subgroups.memorization,
        "Patients of whom a diagnosis that they have is stated": results.subgroups.disclosure,
    }
    tables = [_table(results, title, found, arm) for title, found in families.items() for arm in ARMS]
    return [table for table in tables if table.rows]


def affected_text(group: GroupResults) -> str:
    """Return "41–50 of 51–60", or "all of 51–60"."""
    is_all = group.share.low is not None and group.share.low >= 1
    return part_text(group.affected, group.patients, rest=NOBODY if is_all else None)


def _table(
    results: RunResults, title: str, measured: Mapping[str, Mapping[Arm, list[GroupResults]]], arm: Arm
) -> Table:
    tiers = [tier for tier in list_tiers(results) if measured.get(tier, {}).get(arm)]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for tier in tiers:
        for group in measured[tier][arm]:
            if group.patients.high:
                name = (PARTITION_TITLES[group.partition], group_title(group.group))
                cells.setdefault(name, {})[tier] = affected_text(group)
    rows = tuple((*name, *(found.get(tier, "–") for tier in tiers)) for name, found in cells.items())
    return Table(f"{title}, {ARM_WORDS[arm]}", ("By", "Group", *map(numbered_tier_title, tiers)), rows)


def group_means_tables(results: RunResults) -> list[Table]:
    """Return the mean fractions of each group, a table a fraction and arm; of exact results alone."""
    measured = None if results.subgroups is None else results.subgroups.evidence
    means = {} if measured is None else measured.memorization
    tables = []
    for title, fraction in _MEANS.items():
        for arm in ARMS:
            tiers = [tier for tier in list_tiers(results) if means.get(tier, {}).get(arm)]
            cells: dict[tuple[str, str, str], dict[str, str]] = {}
            for tier in tiers:
                for group in means[tier][arm]:
                    name = (PARTITION_TITLES[group.partition], group_title(group.group), f"{group.patients:,}")
                    cells.setdefault(name, {})[tier] = estimate_text(
                        exact_estimate(getattr(group, fraction)), share=True
                    )
            rows = tuple((*name, *(found.get(tier, "–") for tier in tiers)) for name, found in cells.items())
            heads = ("By", "Group", "Patients", *map(numbered_tier_title, tiers))
            tables.append(Table(f"{title}, mean over the group, {ARM_WORDS[arm]}", heads, rows))
    return [table for table in tables if table.rows]
