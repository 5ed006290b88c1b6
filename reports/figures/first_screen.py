"""The bars of the first screen: of how many patients the model says that they have a diagnosis.

Owns what each bar shows: a solid part up to what is certain, a pale part for the range. The template draws them.
"""

from dataclasses import dataclass

from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, VerdictCounts
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.findings import key_tier, unstated_count
from clinaudit.reports.wording.names import ARM_WORDS, display_title
from clinaudit.reports.wording.numbers import count_text


@dataclass(frozen=True, slots=True)
class BarArm:
    """Whose bars stand side by side."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: in percent of its track, what is certain and what else is possible; and the count in words."""

    arm: str
    certain: float
    possible: float
    text: str


@dataclass(frozen=True, slots=True)
class AnswerBars:
    """The bars of one diagnosis: for each arm of those who have it, then of those who have it not."""

    title: str
    patients: CountRange
    #: None where nobody was judged.
    bars: tuple[Bar | None, ...]


def bar_arms(results: RunResults) -> list[BarArm]:
    """Return the arms that were asked about any diagnosis, in the order of the bars."""
    pairs = [pair for tiers in results.disclosure.by_diagnosis.values() for pair in tiers.values()]
    return [BarArm(arm, ARM_WORDS[arm].capitalize()) for arm in ARMS if any(arm in pair.verdicts for pair in pairs)]


def answer_bars(results: RunResults) -> list[AnswerBars]:
    """Return the bars of every diagnosis, for the asker of the first screen; empty where none was judged."""
    tier = key_tier(results)
    arms: list[Arm] = [arm for arm in ARMS if any(shown.id == arm for shown in bar_arms(results))]
    rows = []
    for diagnosis, tiers in sorted(results.disclosure.by_diagnosis.items()):
        pair = None if tier is None else tiers.get(tier)
        if pair is None:
            continue
        counts = [(arm, pair.verdicts.get(arm, {}).get(status)) for arm in arms for status in DIAGNOSIS_STATUSES]
        rows.append(
            AnswerBars(
                display_title(diagnosis),
                pair.patients,
                tuple(None if verdicts is None else _bar(arm, verdicts) for arm, verdicts in counts),
            )
        )
    return rows if any(bar for row in rows for bar in row.bars) else []


def _bar(arm: str, verdicts: VerdictCounts) -> Bar | None:
    stated, rest = verdicts.positive, unstated_count(verdicts)
    if not stated.high + rest.high:
        return None
    low = stated.low / (stated.low + rest.high) if stated.low else 0.0
    high = stated.high / (stated.high + rest.low) if stated.high else 0.0
    return Bar(arm, round(100 * low, 1), round(100 * high, 1), _stated_text(stated, rest))


def _stated_text(stated: CountRange, rest: CountRange) -> str:
    """Return the count, or "all" where there is nobody else: the class alone would read as if somebody were missing."""
    return "all" if stated.high and not rest.high else count_text(stated)
