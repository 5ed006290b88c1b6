"""Tables of what masking protects and costs, what is guessed from the rest, and who is found less often.

Owns the paper's own numbers of Table 8, which stand beside.
"""

from collections.abc import Callable, Sequence
from typing import Final

from clinaudit.reports.schema.pii_bench import BenchDomain, BenchEstimate, GroupRecall, MaskingStrategy, PiiBench
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import count_text, estimate_text, number_text
from clinaudit.reports.wording.pii_bench import (
    DOMAINS,
    FROM_PAPER,
    MASKINGS,
    deployable,
    measured_domains,
    published,
    score_text,
    share_text,
)

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
_GROUPINGS: Final = {
    "name_origin": ("Names found, by origin", "A filter blind to some names protects some people less."),
    "vocabulary": ("Found, by whether training held the same words", "What was seen in training is found more often."),
    "category": ("Found, by category", ""),
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


def residual_table(bench: PiiBench) -> Table:
    """Return how often a masked identifier is guessed from what is left, by category."""
    rows = tuple(
        (
            each.category or "All together",
            system_name(bench, each.system),
            DOMAINS[each.domain],
            f"{each.masked:,}",
            share_text(each.recovered),
            share_text(each.prior),
            estimate_text(published(each.above_prior), share=True, signed=True, interval=True),
            estimate_text(published(each.above_prior_in_five), share=True, signed=True, interval=True),
            share_text(each.unique),
        )
        for each in sorted(bench.residual, key=lambda each: (each.system or "", each.domain, each.category is not None))
    )
    guessed = ("Guessed from the rest", "Guessed without it", "More", "More, in five guesses")
    columns = ("Category", "Masked by", "Texts", "Masked", *guessed, "Alone with what is left")
    note = (
        "A simple guess: the most common value among those who agree in what is left in the text. A person, or a model,"
        " guesses better. The last column is the share of the masked identifiers of somebody whom nobody else in these"
        " texts resembles in all quasi-identifiers left (k = 1): whoever knows these knows who it is."
    )
    return Table("Masked, and guessed all the same", columns, rows, note)


def groups_table(bench: PiiBench, grouping: str, domain: BenchDomain) -> Table:
    """Return the share found, a row a group and a column a system; the group found least first."""
    title, note = _GROUPINGS[grouping]
    found = [each for each in bench.groups if (each.grouping, each.domain) == (grouping, domain)]
    systems, rows = _by_group(bench, found, lambda each: "–" if each is None else share_text(each.recall))
    ordered = sorted(rows, key=lambda row: (_least(found, row[0]), row[0]))
    return Table(f"{title}, {DOMAINS[domain]} texts", ("Group", "Identifiers", *systems), tuple(ordered), note)


def hipaa_table(bench: PiiBench, domain: BenchDomain) -> Table:
    """Return the share of HIPAA's identifiers that each system misses, a row an identifier, a column a system."""
    found = [each for each in bench.groups if (each.grouping, each.domain) == ("hipaa", domain)]
    systems, rows = _by_group(bench, found, lambda each: share_text(_missed(each)))
    note = "The share that a system does not find in the text, whatever the question. In brackets: 95% intervals."
    title = f"HIPAA’s identifiers that are missed, {DOMAINS[domain]} texts"
    named = tuple((identifier_name(group), *cells) for group, *cells in rows)
    return Table(title, ("Identifier", "In the texts", *systems), named, note)


def _by_group(
    bench: PiiBench, found: Sequence[GroupRecall], write: Callable[[GroupRecall | None], str]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the names of the systems, and a row a group: its name, how many there are, and a cell a system."""
    systems = [system for system in deployable(bench) if any(each.system == system.id for each in found)]
    cells = {(each.group, each.system): each for each in found}
    most = {group: max(each.entities for each in found if each.group == group) for group, _ in cells}
    rows = [
        (group, f"{most[group]:,}", *(write(cells.get((group, system.id))) for system in systems))
        for group in sorted(most)
    ]
    return [system.name for system in systems], rows


def identifier_name(group: str) -> str:
    """Return an identifier by its letter and its words in 45 CFR 164.514(b)(2)(i)."""
    title = next((words for letter, words in HIPAA_TITLES.items() if letter == group), None)
    return group if title is None else f"({group}) {title}"


def _missed(each: GroupRecall | None) -> BenchEstimate | None:
    if each is None or each.recall.value is None:
        return None if each is None else each.recall
    low, high = each.recall.low, each.recall.high
    return BenchEstimate(
        value=1 - each.recall.value,
        low=None if high is None else 1 - high,
        high=None if low is None else 1 - low,
    )


def site_table(bench: PiiBench) -> Table:
    """Return what each system misses on a site's own notes, as it may be published."""
    rows = () if bench.site is None else tuple(
        (
            system_name(bench, row.system),
            "All together" if row.identifier is None else identifier_name(row.identifier),
            count_text(row.patients),
            estimate_text(row.missed, share=True, interval=True),
        )
        for row in bench.site.misses
    )  # fmt: skip
    columns = ("System", "Identifier, by 45 CFR 164.514(b)(2)(i)", "Patients", "Of whom any is missed")
    return Table("On this site's own notes", columns, rows)


def points_table(bench: PiiBench) -> Table:
    """Return the numbers of Figure 4."""
    rows = tuple(
        (
            f"{each.low:,g} to {each.high:,g} {_FACTORS[each.factor]}",
            system_name(bench, each.system),
            each.task.replace("_", "-"),
            DOMAINS[each.domain],
            f"{each.samples:,}",
            score_text(each.f1),
        )
        for each in bench.points
    )
    return Table("F1 by what makes a text hard", ("Texts with", "System", "Task", "Texts", "Samples", "F1"), rows)


def group_domains(bench: PiiBench, grouping: str) -> list[BenchDomain]:
    """Return the domains in which a grouping was measured."""
    return [
        domain
        for domain in measured_domains(bench)
        if any((each.grouping, each.domain) == (grouping, domain) for each in bench.groups)
    ]


def system_name(bench: PiiBench, system: str | None) -> str:
    """Return a system's name; without one it is the right answer that is masked."""
    return GOLD if system is None else next((each.name for each in bench.systems if each.id == system), system)


def _least(found: Sequence[GroupRecall], group: str) -> float:
    values = [each.recall.value for each in found if each.group == group and each.recall.value is not None]
    return min(values, default=2.0)
