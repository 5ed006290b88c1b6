"""Tables of what masking protects and costs, and of who is found less often.

Owns the paper's own numbers of Table 8, which are shown beside the measured ones.
"""

from typing import Final

from clinaudit.reports.schema.pii_bench import BenchDomain, BenchEstimate, GroupRecall, MaskingStrategy, PiiBench
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import number_text
from clinaudit.reports.wording.pii_bench import (
    DOMAINS,
    FROM_PAPER,
    MASKINGS,
    deployable,
    measured_domains,
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
