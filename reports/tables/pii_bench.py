"""The benchmark of filters in words and tables: scores by subset, what masking costs, what is missed.

Owns how a figure is looked up, the order of the systems, the sentences that come first, and the paper's numbers beside
ours (PII-Bench, Tables 2 to 10), which always say that they are from the paper. The terminal prints some of it. A score
is a number from 0 to 1, a share of identifiers a percentage.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from operator import attrgetter
from typing import Any, Final

from clinaudit.reports.schema import pii_bench as schema
from clinaudit.reports.schema.pii_bench import BenchDomain, BenchGrouping, BenchStatistics, BenchSubset, PiiBench
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.tables.estimates import Table
from clinaudit.reports.wording.figures import figure_text
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import number_text, percent_text

_NONE: Final = "–"
SUBSETS: Final[Mapping[BenchSubset, str]] = {
    "all": "all",
    "single": "single: one person",
    "multi": "multi: two persons",
    "hard": "hard",
    "distract": "distract: many persons",
}
_FROM_PAPER: Final = "from the paper"
#: Identifiers named in the sentence of what the best filter misses most.
_WEAKEST: Final = 3


@cache
def paper() -> dict[str, Any]:
    """Return the paper's own figures, by table."""
    return tomllib.loads(files(__package__).joinpath("pii_bench_paper.toml").read_text("utf-8"))


def find(
    bench: PiiBench,
    system: str,
    task: schema.BenchTask,
    domain: BenchDomain,
    metric: str,
    group: str = "all",
    *,
    grouping: BenchGrouping = "subset",
) -> schema.BenchFigure | None:
    """Return a figure of a benchmark, or None where it was not measured."""
    wanted = (system, task, domain, metric, grouping, group)
    place = attrgetter("system", "task", "domain", "metric", "grouping", "group")
    return next((figure for figure in bench.figures if place(figure) == wanted), None)


def missed(bench: PiiBench, system: str, domain: BenchDomain, grouping: BenchGrouping) -> dict[str, Estimate]:
    """Return the share that a system does not find of each kind of identifier, with its interval; `n` counts them."""
    return {
        found.group: Estimate(
            value=None if found.value is None else 1 - found.value,
            low=None if found.high is None else 1 - found.high,
            high=None if found.low is None else 1 - found.low,
            reason=found.reason,
            n=found.entities,
        )
        for found in bench.figures
        if (found.system, found.domain, found.metric, found.grouping) == (system, domain, "found", grouping)
    }


def share_text(estimate: Estimate | None) -> str:
    """Return a share of identifiers with its interval: "4% (3 to 5)"."""
    return figure_text(estimate, share=True, interval=True)


def measured_domains(bench: PiiBench) -> list[BenchDomain]:
    """Return the domains that were measured, clinical first."""
    return sorted({each.domain for each in bench.figures})


def deployable(bench: PiiBench) -> list[schema.BenchSystem]:
    """Return the systems that are told nothing of the answer, those that leave least first."""

    def left(system: schema.BenchSystem) -> tuple[float, str]:
        leaks = (find(bench, system.id, "masking", domain, "leak") for domain in measured_domains(bench))
        return next((leak.value for leak in leaks if leak and leak.value is not None), 2.0), system.id

    return sorted((system for system in bench.systems if system.kind != "oracle"), key=left)


def in_order(bench: PiiBench) -> list[schema.BenchSystem]:
    """Return the systems as tables list them: the oracles last."""
    return [*deployable(bench), *(system for system in bench.systems if system.kind == "oracle")]


def headline(bench: PiiBench) -> str:
    """Return the sentence that stands first: which filter misses how much."""
    for domain in measured_domains(bench)[:1]:
        leaks = ((system, find(bench, system.id, "masking", domain, "leak")) for system in deployable(bench))
        ranked = [(system.name, share_text(leak).replace("(", "(95% interval ")) for system, leak in leaks if leak]
        if not ranked:
            break
        (best, least), (worst, most) = ranked[0], ranked[-1]
        what = f"of the identifiers in {domain} texts that no question needs, it leaves {least}."
        if len(ranked) == 1:
            return f"“{best}” was measured: {what}"
        return f"“{best}” misses least: {what} “{worst}” leaves {most}."
    return "No filter was run to the end: nothing is known of what it would miss."


def weakest_sentence(bench: PiiBench) -> str:
    """Return which of HIPAA's identifiers the filter that misses least misses most; empty where that is not known."""
    for system, domain in zip(deployable(bench)[:1], measured_domains(bench), strict=False):
        shares = missed(bench, system.id, domain, "hipaa").items()
        known = sorted((-each.value, letter) for letter, each in shares if each.value is not None)
        worst = "; ".join(f"{identifier_name(letter)}, {percent_text(-share)}" for share, letter in known[:_WEAKEST])
        return f"Of HIPAA’s identifiers “{system.name}” most often misses: {worst}." if worst else ""
    return ""


def identifier_name(letter: str) -> str:
    """Return an identifier by its letter and its words in 45 CFR 164.514(b)(2)(i)."""
    return f"({letter}) {HIPAA_TITLES[letter]}" if letter in HIPAA_TITLES else letter


_SCORES: Final = (
    "From 0 to 1 (F1), with the 95% interval over samples; 1 is all right in everything. Finding: the words, the kind "
    "and whose they are; in the next column the words alone. The paper’s rows are of its own texts with one person, "
    "which are not public, and of several ways of asking the best."
)
_COLUMNS: Final[Mapping[str, tuple[schema.BenchTask, str]]] = {
    "Finds identifiers": ("detection", "strict_f1.f1"),
    "Finds the words": ("detection", "ent_f1.f1"),
    "Knows which are needed": ("query_related", "strict_f1.f1"),
    "Masks the others": ("masking", "strict_f1.f1"),
    "Takes, though needed": ("masking", "over_masking"),
    "Leaves, though not needed": ("masking", "leak"),
}


def scores_table(bench: PiiBench, domain: BenchDomain, subset: BenchSubset = "all") -> Table:
    """Return every system on every task, on one subset; without rows where it was not measured.

    The paper's rows, which are of general texts, stand below; beside all subsets those of one person.
    """
    rows = []
    for system in in_order(bench):
        cells = [find(bench, system.id, task, domain, metric, subset) for task, metric in _COLUMNS.values()]
        if any(cells):
            texts = [figure_text(each, interval=True) for each in cells[:4]] + [share_text(each) for each in cells[4:]]
            rows.append((system_name(system) + _unanswered(bench, system, domain, subset), *texts))
    if rows and domain == "general":
        rows += _paper_rows("single" if subset == "all" else subset)
    sizes = {each.subset: each.samples for each in bench.statistics if each.domain == domain}
    # Of one subset alone there are no statistics of all.
    caption = f"{domain.capitalize()} texts, {SUBSETS[subset]} ({sizes.get(subset, sum(sizes.values())):,})"
    return Table(caption, ("System", *_COLUMNS), tuple(rows), _SCORES if subset == "all" else "")


def _unanswered(bench: PiiBench, system: schema.BenchSystem, domain: BenchDomain, subset: BenchSubset) -> str:
    for task, _ in _COLUMNS.values():
        states = [find(bench, system.id, task, domain, metric, subset) for metric in ("unparsed", "missing")]
        if states[0]:
            share = sum(each.value for each in states if each and each.value)
            return f" ({percent_text(share)} unanswered)" if share else ""
    return ""


def _paper_rows(subset: BenchSubset) -> Iterable[tuple[str, ...]]:
    for model, tasks in paper()["scores"].items():
        cells = []
        for task, metric in _COLUMNS.values():
            by_subset = tasks.get(task, {}).get(metric.removesuffix(".f1"), {})
            # Masking is of one and of two persons together (Table 4).
            value = by_subset.get(subset, by_subset.get("all") if subset in ("single", "multi") else None)
            best = max(value) if isinstance(value, list) else value
            cells.append(_NONE if best is None else number_text(best))
        if set(cells) != {_NONE}:
            yield f"{model} ({_FROM_PAPER})", *cells


def system_name(system: schema.BenchSystem) -> str:
    """Return a system's name; of an oracle it says so."""
    return f"{system.name} (told the answer)" if system.kind == "oracle" else system.name


def privacy_table(bench: PiiBench) -> Table:
    """Return privacy, utility and balance by what is masked (Table 8), with the paper's rows."""
    maskings: Mapping[schema.MaskingStrategy, str] = {
        "none": "nothing",
        "all": "everything",
        "query_unrelated": "all but what is needed",
    }
    masked_by = {
        schema.GOLD_MASKS: "a filter that misses nothing",
        **{each.id: each.name for each in deployable(bench)},
    }
    rows: list[tuple[str, ...]] = []
    for domain, (system, name), (masking, words) in product(
        measured_domains(bench), masked_by.items(), maskings.items()
    ):
        metrics = ("privacy", "utility", "balance")
        found = [find(bench, system, "masking", domain, metric, masking, grouping="masking") for metric in metrics]
        if found[0]:
            cells = (figure_text(each, interval=True) if each else _NONE for each in found)
            rows.append((f"{words}, by {name}", domain, *cells))
    rows += [
        (f"{words}, by GPT-4o ({_FROM_PAPER}, Table 8)", "general", *map(number_text, paper()["masking"][masking]))
        for masking, words in maskings.items()
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
    "name_origin": (
        "Names that are missed, by the locale they are drawn from",
        "A filter blind to some names protects some people less.",
    ),
    "category": ("Missed, by category", ""),
}


def missed_table(bench: PiiBench, grouping: BenchGrouping, domain: BenchDomain) -> Table:
    """Return the share missed, a row a kind of identifier and a column a system; without rows where not measured."""
    by_system = {system.name: missed(bench, system.id, domain, grouping) for system in deployable(bench)}
    counts = {group: each.n or 0 for found in by_system.values() for group, each in found.items()}
    rows = tuple(
        (
            identifier_name(group) if grouping == "hipaa" else group,
            f"{counts[group]:,}",
            *(share_text(found[group]) if group in found else _NONE for found in by_system.values()),
        )
        for group in sorted(counts)
    )
    title, note = KINDS[grouping]
    return Table(f"{title}, {domain} texts", ("Kind", "In the texts", *by_system), rows, note)


def statistics_table(statistics: Iterable[BenchStatistics]) -> Table:
    """Return the samples of each subset, with the paper's row below each (Table 3)."""
    columns = ("Samples", "Number", "Subjects", "Characters", "Entities", "Question characters", "Needed")
    fields = attrgetter("samples", "subjects", "description_chars", "entities", "query_chars", "needed_entities")

    def cells(numbers: Sequence[float]) -> tuple[str, ...]:
        return f"{numbers[0]:,}", *(f"{mean:,.2f}" for mean in numbers[1:])

    note = "Means a sample; an entity counts once a subject (PII-Bench, Table 3)."
    return Table("The samples", columns, _beside_paper(statistics, fields, "statistics", cells), note)


def types_table(statistics: Iterable[BenchStatistics]) -> Table:
    """Return the shares of the identifiers' types, with the paper's row below each (Table 10)."""
    types = tuple(paper()["types"]["single"])

    def cells(counts: Mapping[str, int]) -> tuple[str, ...]:
        total = sum(counts.values())
        return tuple(f"{100 * counts.get(name, 0) / total:.1f}%" if total else _NONE for name in types)

    note = (
        "The paper's shares are computed from the counts of its Table 10; its printed percentages of two persons stand "
        "in the wrong rows."
    )
    rows = _beside_paper(statistics, attrgetter("types"), "types", cells)
    return Table("Identifiers by type", ("Samples", *types), rows, note)


def _beside_paper(
    statistics: Iterable[BenchStatistics],
    ours: Callable[[BenchStatistics], Any],
    table: str,
    cells: Callable[[Any], tuple[str, ...]],
) -> tuple[tuple[str, ...], ...]:
    rows = []
    for each in statistics:
        rows.append((f"{SUBSETS[each.subset]}, {each.domain}", *cells(ours(each))))
        if theirs := paper()[table].get(each.subset):
            rows.append((f"  {_FROM_PAPER}", *cells(theirs)))
    return tuple(rows)


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
