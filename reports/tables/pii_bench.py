"""Tables of the benchmark of filters: scores by subset, differences, what masking costs, what is missed, the samples.

Owns which number stands where, and the paper's beside it (PII-Bench, Tables 2 to 10). The terminal prints some of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from clinaudit.reports.schema.pii_bench import (
    GOLD_MASKS,
    PAPER_STATISTICS,
    PAPER_TYPES,
    BenchDomain,
    BenchGrouping,
    BenchStatistics,
    BenchSubset,
    BenchSystem,
    BenchTask,
    MaskingStrategy,
    PaperStatistics,
    PiiBench,
)
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import number_text, p_text, percent_text
from clinaudit.reports.wording.pii_bench import (
    FROM_PAPER,
    SUBSETS,
    FoundFigures,
    deployable,
    identifier_name,
    in_order,
    measured_domains,
    score_text,
    share_text,
)

_NONE: Final = "–"
_SCORES: Final = (
    "From 0 to 1 (F1), with the 95% interval over samples; 1 is all right in everything. Finding: the words, the kind "
    "and whose they are; in the next column the words alone. The paper’s rows are of its own texts with one person, "
    "which are not public, and of several ways of asking the best."
)
_COLUMNS: Final[Mapping[str, tuple[BenchTask, str]]] = {
    "Finds identifiers": ("detection", "strict_f1.f1"),
    "Finds the words": ("detection", "ent_f1.f1"),
    "Knows which are needed": ("query_related", "strict_f1.f1"),
    "Masks the others": ("masking", "strict_f1.f1"),
    "Takes, though needed": ("masking", "over_masking"),
    "Leaves, though not needed": ("masking", "leak"),
}
_TASKS: Final[Mapping[BenchTask, str]] = {
    "detection": "finds identifiers",
    "query_related": "knows which are needed",
    "masking": "masks the others",
}


def scores_table(bench: PiiBench, domain: BenchDomain, subset: BenchSubset = "all") -> Table:
    """Return every system on every task, on one subset; without rows where it was not measured.

    The paper's rows, which are of general texts, stand below; beside all subsets those of one person.
    """
    figures = FoundFigures(bench)
    rows = []
    for system in in_order(bench):
        cells = [
            figures.find(system.id, *of, subset) for of in ((task, domain, name) for task, name in _COLUMNS.values())
        ]
        unread = figures.find(system.id, "detection", domain, "unparsed", subset)
        if any(cells):
            left_out = f" ({percent_text(unread.value)} of its answers unreadable)" if unread and unread.value else ""
            texts = [score_text(each) for each in cells[:4]] + [share_text(each) for each in cells[4:]]
            rows.append((system_name(system) + left_out, *texts))
    if rows and domain == "general":
        rows += _paper_rows(bench, "single" if subset == "all" else subset)
    samples = sum(each.samples for each in bench.statistics if (each.domain, each.subset) == (domain, subset))
    caption = f"{domain.capitalize()} texts, {SUBSETS[subset]} ({samples:,})"
    return Table(caption, ("System", *_COLUMNS), tuple(rows), _SCORES if subset == "all" else "")


def _paper_rows(bench: PiiBench, subset: BenchSubset) -> Iterable[tuple[str, ...]]:
    # Masking is of one and of two persons together (Table 4).
    found: dict[tuple[str, str, str], float] = {
        (score.model, score.task, score.metric): score.value
        for wanted in ("all", subset)
        for score in bench.paper
        if score.subset == wanted and (wanted == subset or subset in ("single", "multi"))
    }
    models = {model for model, *_ in found}
    for model in (each for each in dict.fromkeys(score.model for score in bench.paper) if each in models):
        values = [found.get((model, task, metric)) for task, metric in _COLUMNS.values()]
        yield f"{model} ({FROM_PAPER})", *(_NONE if value is None else number_text(value) for value in values)


def system_name(system: BenchSystem) -> str:
    """Return a system's name; of an oracle it says so."""
    return f"{system.name} (told the answer)" if system.kind == "oracle" else system.name


def differences_table(bench: PiiBench) -> Table:
    """Return the paired differences between systems, on the same samples."""
    names = {system.id: system.name for system in bench.systems}
    note = (
        "Right alone: samples on which one of the two is right in everything and the other is not; p is McNemar's exact"
        " test of these, adjusted by Holm over all pairs of systems on one task and kind of text."
    )
    return Table.of(
        "Differences between systems on the same samples",
        bench.differences,
        {
            "Systems": lambda each: f"{names.get(each.first, each.first)} minus {names.get(each.second, each.second)}",
            "Task": lambda each: _TASKS[each.task],
            "Texts": lambda each: each.domain,
            "Samples": lambda each: f"{each.n:,}",
            "Difference of F1": score_text,
            "Right alone: first, second": lambda each: f"{each.only_first_exact:,} and {each.only_second_exact:,}",
            "p": lambda each: p_text(each.p_value_adjusted),
        },
        note,
    )


#: PII-Bench, Table 8: privacy, utility, and their balance at alpha 0.5, of GPT-4o's answers.
PAPER_TABLE_8: Final[Mapping[MaskingStrategy, tuple[float, float, float]]] = {
    "none": (0.00, 1.00, 0.50),
    "all": (1.00, 0.52, 0.76),
    "query_unrelated": (0.83, 0.89, 0.86),
}
_MASKINGS: Final[Mapping[MaskingStrategy, str]] = {
    "none": "nothing",
    "all": "everything",
    "query_unrelated": "all but what is needed",
}


def privacy_table(bench: PiiBench) -> Table:
    """Return privacy, utility and balance by what is masked (Table 8), with the paper's rows."""
    figures = FoundFigures(bench)
    masked_by = {GOLD_MASKS: "a filter that misses nothing", **{each.id: each.name for each in deployable(bench)}}
    rows: list[tuple[str, ...]] = []
    for domain in measured_domains(bench):
        for system, name in masked_by.items():
            for masking, words in _MASKINGS.items():
                found = [
                    figures.find(system, "masking", domain, metric, masking, grouping="masking")
                    for metric in ("privacy", "utility", "balance")
                ]
                if found[0]:
                    rows.append(
                        (f"{words}, by {name}", domain, *(score_text(each) if each else _NONE for each in found))
                    )
    rows += [
        (f"{_MASKINGS[masking]}, by GPT-4o ({FROM_PAPER}, Table 8)", "general", *map(number_text, numbers))
        for masking, numbers in PAPER_TABLE_8.items()
    ]
    note = (
        "P: the share of identifiers that no longer stand in the text; it counts words, not what can be guessed. U: "
        "how close a served model’s answer to the masked prompt is to that to the whole one, half by likeness and half "
        "by a rating; the model is asked the prompts of a filter that misses nothing."
    )
    columns = ("What is masked", "Texts", "Privacy P", "Utility U", "Balance of both")
    return Table("What masking protects, and what it costs", columns, tuple(rows), note)


#: What each kind of identifier is told by, and what a reader should know of it.
KINDS: Final[Mapping[BenchGrouping, tuple[str, str]]] = {
    "hipaa": ("HIPAA’s identifiers that are missed", ""),
    "name_origin": ("Names that are missed, by origin", "A filter blind to some names protects some people less."),
    "vocabulary": (
        "Missed, by whether training held the same words",
        "What was seen in training is found more often.",
    ),
    "category": ("Missed, by category", ""),
}
#: Where names come from, by the locale that they are drawn from.
ORIGINS: Final[Mapping[str, str]] = {
    "en_US": "United States",
    "en_IN": "India",
    "es_MX": "Mexico",
    "pl_PL": "Poland",
    "pt_BR": "Brazil",
    "tr_TR": "Turkey",
    "vi_VN": "Vietnam",
    "yo_NG": "Nigeria",
    "zh_CN": "China",
    "zu_ZA": "South Africa",
}


def missed_table(bench: PiiBench, grouping: BenchGrouping, domain: BenchDomain) -> Table:
    """Return the share missed, a row a kind of identifier and a column a system; without rows where not measured."""
    figures = FoundFigures(bench)
    by_system = {system.name: figures.missed(system.id, domain, grouping) for system in deployable(bench)}
    counts = {group: each.n or 0 for missed in by_system.values() for group, each in missed.items()}
    rows = tuple(
        (
            identifier_name(group) if grouping == "hipaa" else ORIGINS.get(group, group),
            f"{counts[group]:,}",
            *(share_text(missed[group]) if group in missed else _NONE for missed in by_system.values()),
        )
        for group in sorted(counts)
    )
    title, note = KINDS[grouping]
    return Table(f"{title}, {domain} texts", ("Kind", "In the texts", *by_system), rows, note)


def statistics_table(statistics: Iterable[BenchStatistics]) -> Table:
    """Return the samples of each subset, with the paper's row below each (Table 3)."""
    columns = ("Samples", "Number", "Subjects", "Characters", "Entities", "Question characters", "Needed")
    ours = ((each, _means(each)) for each in statistics)
    rows = _beside_paper(ours, {subset: _means(means) for subset, means in PAPER_STATISTICS.items()})
    note = "Means a sample; an entity counts once a subject (PII-Bench, Table 3)."
    return Table("The samples", columns, tuple(rows), note)


def types_table(statistics: Iterable[BenchStatistics]) -> Table:
    """Return the shares of the identifiers' types, with the paper's row below each (Table 10)."""
    types = list(PAPER_TYPES["single"])
    ours = ((each, _shares(each.types, types)) for each in statistics)
    rows = _beside_paper(ours, {subset: _shares(counts, types) for subset, counts in PAPER_TYPES.items()})
    note = (
        "The paper's shares are computed from the counts of its Table 10; its printed percentages of two persons stand "
        "in the wrong rows."
    )
    return Table("Identifiers by type", ("Samples", *types), tuple(rows), note)


def _beside_paper(
    ours: Iterable[tuple[BenchStatistics, tuple[str, ...]]], paper: Mapping[BenchSubset, tuple[str, ...]]
) -> Iterable[tuple[str, ...]]:
    for each, cells in ours:
        yield f"{SUBSETS[each.subset]}, {each.domain}", *cells
        if each.subset in paper:
            yield f"  {FROM_PAPER}", *paper[each.subset]


def _means(each: BenchStatistics | PaperStatistics) -> tuple[str, ...]:
    means = (each.subjects, each.description_chars, each.entities, each.query_chars, each.needed_entities)
    return f"{each.samples:,}", *(f"{mean:,.2f}" for mean in means)


def _shares(counts: Mapping[str, int], types: Iterable[str]) -> tuple[str, ...]:
    total = sum(counts.values())
    return tuple(f"{100 * counts.get(name, 0) / total:.1f}%" if total else _NONE for name in types)


def systems_table(bench: PiiBench) -> Table:
    """Return what each system is, how it was run, and how long it took."""
    return Table.of(
        "The systems",
        bench.systems,
        {
            "System": system_name,
            "How it works": lambda system: system.how,
            "Run with": lambda system: "; ".join(f"{key}: {value}" for key, value in system.settings.items()) or _NONE,
            "Training": lambda system: _seconds(system.train_seconds),
            "Answering": lambda system: _seconds(system.seconds),
        },
    )


def _seconds(seconds: float | None) -> str:
    return _NONE if seconds is None else f"{seconds:,.1f} s" if seconds < 100 else f"{seconds:,.0f} s"
