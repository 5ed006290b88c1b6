"""Tables of the benchmark of filters: scores of every system on every task, by subset and strategy, and differences.

Then the samples (how many, how long, which types), what masking protects and costs, and who is found less often. Owns
which number stands where, and the paper's beside it (PII-Bench, Tables 2 to 10, 21, 25 and 26).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import attrgetter
from typing import Final, TypeVar

from clinaudit.reports.schema.pii_bench import (
    BENCH_SUBSETS,
    BENCH_TASKS,
    PAPER_STATISTICS,
    PAPER_TYPES,
    BenchDomain,
    BenchEstimate,
    BenchMetric,
    BenchResult,
    BenchStatistics,
    BenchSubset,
    BenchSystem,
    BenchTask,
    GroupRecall,
    MaskingStrategy,
    PaperScore,
    PaperStatistics,
    PiiBench,
)
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import number_text, p_text, percent_text
from clinaudit.reports.wording.pii_bench import (
    DOMAINS,
    FROM_PAPER,
    MASKINGS,
    METRICS,
    ORACLE,
    STRATEGIES,
    SUBSETS,
    TASKS,
    deployable,
    find_result,
    measured_domains,
    paper_name,
    score_text,
    share_text,
)

Item = TypeVar("Item")
_NONE: Final = "–"
_INTERVALS: Final = "From 0 to 1, with the 95% interval over samples; 1 is all right in everything."


def overall_table(bench: PiiBench) -> Table:
    """Return every system on every task and domain, strict F1; then the paper's models on their own texts."""
    domains = measured_domains(bench)
    columns = [(task, domain) for task in BENCH_TASKS for domain in domains]
    rows = [
        (_name(system), *(_f1(find_result(bench, system.id, task, domain)) for task, domain in columns))
        for system in _in_order(bench)
    ]
    rows += [
        (f"{model} ({FROM_PAPER})", *(_paper_best(bench, model, task, domain) for task, domain in columns))
        for model in _unique(score.model for score in bench.paper if score.subset in ("single", "all"))
    ]
    heads = (f"{TASKS[task]}, {DOMAINS[domain]}" for task, domain in columns)
    note = (
        f"{_INTERVALS} Strict F1: of finding, the words, the kind and whose they are; of the others, the words."
        " The paper's rows are of its own texts with one person (masking: one or two), of several strategies the best:"
        " nothing here was measured on the same."
    )
    return Table("Every system on every task", ("System", *heads), tuple(rows), note)


def detection_table(bench: PiiBench, domain: BenchDomain, metric: BenchMetric) -> Table:
    """Return the first task by subset in one metric (Table 6), with the paper's rows."""
    subsets = _subsets(bench, domain)
    rows: list[tuple[str, ...]] = []
    for system in _in_order(bench):
        results = [find_result(bench, system.id, "detection", domain, subset) for subset in subsets]
        if any(results):
            rows.append((_name(system), *(_f1(result, metric) for result in results)))
    scores = [score for score in bench.paper if (score.task, score.metric) == ("detection", metric)]
    rows += _paper_rows(scores, lambda score: paper_name(score.model, score.table), attrgetter("subset"), subsets)
    heads = (SUBSETS[subset] for subset in subsets)
    title = f"Finding identifiers in {DOMAINS[domain]} texts: {METRICS[metric]}"
    return Table(title, ("System", *heads), tuple(rows))


def strategies_table(bench: PiiBench, task: BenchTask) -> Table:
    """Return the six ways to ask a served model, a row a model, the paper's below (Tables 4, 7 and 21), F1."""
    systems = {(system.settings.get("model", system.name), system.strategy): system for system in bench.systems}
    models = _unique(model for model, strategy in systems if strategy is not None)
    rows: list[tuple[str, ...]] = []
    for domain in measured_domains(bench):
        for model in models:
            asked = [systems.get((model, strategy)) for strategy in STRATEGIES]
            cells = (_NONE if system is None else _f1(find_result(bench, system.id, task, domain)) for system in asked)
            rows.append((f"{model}, {DOMAINS[domain]}", *cells))
    scores = [score for score in bench.paper if score.task == task and score.metric == "strict_f1" and score.strategy]
    rows += _paper_rows(
        scores,
        lambda score: paper_name(f"{score.model}, {SUBSETS[score.subset]}", score.table),
        attrgetter("strategy"),
        list(STRATEGIES),
    )
    note = (
        "The last strategy is told which identifiers there are to choose from, which nobody is who uses a filter."
        " In the paper models below three billion parameters are close to 0.2 or less; they are no filter."
    )
    title = f"{TASKS[task]}: ways to ask a model, F1"
    return Table(title, ("Model and texts", *STRATEGIES.values()), tuple(rows), note)


def hard_table(bench: PiiBench, domain: BenchDomain) -> Table:
    """Return masking on the two hardest subsets (Table 5), with the paper's row."""
    subsets: tuple[BenchSubset, ...] = ("all", "hard", "distract")
    metrics: tuple[BenchMetric, ...] = ("strict_f1", "rouge_l_f")
    rows: list[tuple[str, ...]] = []
    for system in _in_order(bench):
        results = {subset: find_result(bench, system.id, "masking", domain, subset) for subset in subsets}
        if results["hard"] or results["distract"]:
            rows.append((_name(system), *(_f1(results[subset], metric) for subset in subsets for metric in metrics)))
    scores = [score for score in bench.paper if score.table == "Table 5"]
    rows += _paper_rows(
        scores,
        lambda score: paper_name(
            f"{score.model}, {STRATEGIES.get(score.strategy or '', score.strategy or '')}", score.table
        ),
        attrgetter("subset", "metric"),
        list(product(subsets, metrics)),
    )
    heads = (f"{SUBSETS[subset]}, {METRICS[metric]}" for subset in subsets for metric in metrics)
    return Table(f"Masking the hardest {DOMAINS[domain]} texts", ("System", *heads), tuple(rows), _INTERVALS)


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
            "Systems": lambda each: f"{names.get(each.a, each.a)} minus {names.get(each.b, each.b)}",
            "Task": lambda each: TASKS[each.task],
            "Texts": lambda each: DOMAINS[each.domain],
            "Samples": lambda each: f"{each.samples:,}",
            "Difference of F1": lambda each: score_text(each.difference),
            "Right alone: first, second": lambda each: f"{each.a_only:,} and {each.b_only:,}",
            "p": lambda each: p_text(each.p_value),
        },
        note,
    )


def systems_table(bench: PiiBench) -> Table:
    """Return what each system is, how it was run, and how long it took."""
    return Table.of(
        "The systems",
        bench.systems,
        {
            "System": lambda system: _name(system),
            "How it works": lambda system: system.how,
            "Run with": lambda system: "; ".join(f"{key}: {value}" for key, value in system.settings.items()) or _NONE,
            "Training": lambda system: _seconds(system.train_seconds),
            "Answering": lambda system: _seconds(system.seconds),
        },
    )


def _in_order(bench: PiiBench) -> list[BenchSystem]:
    return [*deployable(bench), *(system for system in bench.systems if system.kind == "oracle")]


def _name(system: BenchSystem) -> str:
    return f"{system.name} (oracle)" if system.kind == "oracle" and "oracle" not in system.name else system.name


def _subsets(bench: PiiBench, domain: BenchDomain) -> list[BenchSubset]:
    present = {each.subset for each in bench.results if each.domain == domain}
    return [subset for subset in SUBSETS if subset in present]


def _f1(result: BenchResult | None, metric: BenchMetric = "strict_f1") -> str:
    score = None if result is None else result.metrics.get(metric)
    if result is None or score is None:
        return _NONE
    unread = f"; {result.unparsed:,} of {result.samples:,} unreadable" if result.unparsed else ""
    return score_text(score.f1) + unread


def _paper_rows(
    scores: Iterable[PaperScore],
    name_of: Callable[[PaperScore], str],
    place_of: Callable[[PaperScore], object],
    columns: Sequence[object],
) -> Iterator[tuple[str, ...]]:
    """Yield a row a name of the paper's figures, each in the column of its place."""
    found: dict[str, dict[object, PaperScore]] = {}
    for score in scores:
        found.setdefault(name_of(score), {})[place_of(score)] = score
    for name, own in found.items():
        yield name, *(_paper_value(own.get(column)) for column in columns)


def _paper_best(bench: PiiBench, model: str, task: BenchTask, domain: BenchDomain) -> str:
    """Return the paper's best figure of a model that was told nothing; it has no clinical texts."""
    if domain != "general":
        return _NONE
    scores = [
        score
        for score in bench.paper
        if (score.model, score.task) == (model, task)
        and score.metric != "rouge_l_f"
        and score.strategy != ORACLE
        and score.subset in ("single", "all")
    ]
    strict = [score for score in scores if score.metric == "strict_f1"]
    if not scores:
        return _NONE
    best = _paper_value(max(strict or scores, key=lambda score: score.value))
    return best if strict else f"{best} ({METRICS['ent_f1']})"


def _paper_value(score: PaperScore | None) -> str:
    if score is None:
        return _NONE
    value = number_text(score.value)
    return value if score.deviation is None else f"{value} ± {score.deviation:.3f}"


def _seconds(seconds: float | None) -> str:
    return _NONE if seconds is None else f"{seconds:,.1f} s" if seconds < 100 else f"{seconds:,.0f} s"


def _unique(items: Iterable[Item]) -> list[Item]:
    return list(dict.fromkeys(items))


def statistics_table(bench: PiiBench) -> Table:
    """Return the samples of each subset, with the paper's row below each of the general texts."""
    rows: list[tuple[str, ...]] = []
    for each in _subsets_in_order(bench):
        rows.append((f"{SUBSETS[each.subset]}, {DOMAINS[each.domain]}", *_numbers(each)))
        if each.domain == "general":
            rows.append((f"{SUBSETS[each.subset]} ({FROM_PAPER})", *_numbers(PAPER_STATISTICS[each.subset])))
    columns = ("Samples", "Number", "Persons", "Characters", "Identifiers", "Characters of the question", "Needed")
    return Table("The samples: means by subset (Table 3)", columns, tuple(rows))


def types_table(bench: PiiBench) -> Table:
    """Return the identifiers by type, with the paper's row below each of the general texts."""
    types = list(PAPER_TYPES["single"])
    rows: list[tuple[str, ...]] = []
    for each in _subsets_in_order(bench):
        rows.append((f"{SUBSETS[each.subset]}, {DOMAINS[each.domain]}", *_shares(each.types, types)))
        if each.domain == "general" and (paper := PAPER_TYPES.get(each.subset)):
            rows.append((f"{SUBSETS[each.subset]} ({FROM_PAPER})", *_shares(paper, types)))
    note = (
        "Percentages of the paper are computed from its counts: of two persons, three of those printed there stand in"
        " the wrong rows."
    )
    return Table("Identifiers by type (Table 10)", ("Samples", *types, "Total"), tuple(rows), note)


def _subsets_in_order(bench: PiiBench) -> list[BenchStatistics]:
    places = [(domain, subset) for domain in DOMAINS for subset in BENCH_SUBSETS]
    return sorted(bench.statistics, key=lambda each: places.index((each.domain, each.subset)))


def _numbers(each: BenchStatistics | PaperStatistics) -> tuple[str, ...]:
    means = (each.subjects, each.description_chars, each.entities, each.query_chars, each.needed_entities)
    return (f"{each.samples:,}", *map(number_text, means))


def _shares(counts: Mapping[str, int], types: list[str]) -> tuple[str, ...]:
    total = sum(counts.values())
    present = [counts.get(name, 0) for name in types]
    cells = (f"{count:,} ({percent_text(count / total)})" if total else "0" for count in present)
    return (*cells, f"{total:,}")


#: PII-Bench, Table 8: privacy, utility, and their balance at alpha 0.5, of GPT-4o's answers.
PAPER_TABLE_8: Final[tuple[tuple[MaskingStrategy, float, float, float], ...]] = (
    ("none", 0.00, 1.00, 0.50),
    ("all", 1.00, 0.52, 0.76),
    ("query_unrelated", 0.83, 0.89, 0.86),
)
GOLD: Final = "a filter that misses nothing"
_FACTORS: Final = {
    "subjects": "persons",
    "entities": "identifiers",
    "description_chars": "characters",
    "needed_entities": "needed identifiers",
}
_HEADS: Final = ("Group", "Identifiers")
_GROUPINGS: Final = {
    "name_origin": ("Names found, by origin", "A filter blind to some names protects some people less.", _HEADS),
    "vocabulary": (
        "Found, by whether training held the same words", "What was seen in training is found more often.", _HEADS
    ),
    "category": ("Found, by category", "", _HEADS),
    "hipaa": (
        "HIPAA’s identifiers that are missed",
        "The share that a system does not find in the text, whatever the question. In brackets: 95% intervals.",
        ("Identifier", "In the texts"),
    ),
}  # fmt: skip


def privacy_table(bench: PiiBench) -> Table:
    """Return privacy, utility and balance by what is masked (Table 8), with the paper's rows."""
    rows: list[tuple[str, ...]] = [
        (
            MASKINGS[each.masking],
            system_name(bench, each.system),
            DOMAINS[each.domain],
            f"{each.samples:,}",
            score_text(each.privacy),
            score_text(each.utility),
            score_text(each.balance),
        )
        for each in bench.privacy
    ]
    rows += [
        (MASKINGS[masking], f"GPT-4o ({FROM_PAPER}, Table 8)", DOMAINS["general"], "200", *map(number_text, numbers))
        for masking, *numbers in PAPER_TABLE_8
    ]
    columns = ("What is masked", "By", "Texts", "Samples", "Privacy P", "Utility U", "Balance at α = 0.5")
    note = (
        "P: the share of identifiers that no longer stand in the text. U: how close the answer to the masked prompt is"
        " to that to the whole one, half similarity and half a model's rating. P counts words, not what can be guessed."
    )
    return Table("Privacy and utility", columns, tuple(rows), note)


def groups_table(bench: PiiBench, grouping: str, domain: BenchDomain) -> Table:
    """Return the share found, a row a group and a column a system, the group found least first.

    Of HIPAA's identifiers it is the share that is missed, in the order of their letters.
    """
    title, note, heads = _GROUPINGS[grouping]
    is_hipaa = grouping == "hipaa"
    found = [each for each in bench.groups if (each.grouping, each.domain) == (grouping, domain)]
    systems = [system for system in deployable(bench) if any(each.system == system.id for each in found)]
    cells = {(each.group, each.system): each.recall for each in found}
    counts: dict[str, int] = {}
    for each in found:
        counts[each.group] = max(each.entities, counts.get(each.group, 0))
    groups = sorted(counts, key=lambda group: (0.0 if is_hipaa else _least(found, group), group))
    rows = tuple(
        (
            identifier_name(group) if is_hipaa else group,
            f"{counts[group]:,}",
            *(_cell(cells.get((group, system.id)), is_missed=is_hipaa) for system in systems),
        )
        for group in groups
    )
    return Table(f"{title}, {DOMAINS[domain]} texts", (*heads, *(system.name for system in systems)), rows, note)


def identifier_name(group: str) -> str:
    """Return an identifier by its letter and its words in 45 CFR 164.514(b)(2)(i)."""
    title = next((words for letter, words in HIPAA_TITLES.items() if letter == group), None)
    return group if title is None else f"({group}) {title}"


def _cell(recall: BenchEstimate | None, *, is_missed: bool) -> str:
    if recall is None or recall.value is None or not is_missed:
        return "–" if recall is None else share_text(recall)
    low, high = (None if end is None else 1 - end for end in (recall.high, recall.low))
    return share_text(BenchEstimate(value=1 - recall.value, low=low, high=high))


def points_table(bench: PiiBench) -> Table:
    """Return the numbers of Figure 4."""
    return Table.of(
        "F1 by what makes a text hard",
        bench.points,
        {
            "Texts with": lambda each: f"{each.low:,g} to {each.high:,g} {_FACTORS[each.factor]}",
            "System": lambda each: system_name(bench, each.system),
            "Task": lambda each: each.task.replace("_", "-"),
            "Texts": lambda each: DOMAINS[each.domain],
            "Samples": lambda each: f"{each.samples:,}",
            "F1": lambda each: score_text(each.f1),
        },
    )


def group_domains(bench: PiiBench, grouping: str) -> list[BenchDomain]:
    """Return the domains in which a grouping was measured."""
    return [
        domain
        for domain in measured_domains(bench)
        if any((each.grouping, each.domain) == (grouping, domain) for each in bench.groups)
    ]


def system_name(bench: PiiBench, system: str | None) -> str:
    """Return a system's name.

    None: masked is exactly what the gold answer marks, as by a filter that misses nothing.
    """
    return GOLD if system is None else next((each.name for each in bench.systems if each.id == system), system)


def _least(found: list[GroupRecall], group: str) -> float:
    values = [each.recall.value for each in found if each.group == group and each.recall.value is not None]
    # Above every share: a group without a measured recall comes last.
    return min(values, default=2.0)
