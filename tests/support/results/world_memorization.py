"""The patients of a world with a generation at a tier, one by one, as the measuring code takes them.

Patients are ranked: those with most of their own text first. Fractions, pieces and groups of a patient belong together
as far as the program's own code looks; nobody is the same patient at two tiers. Knows nothing of what is published.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from support.results.random_worlds import (
    CONTENTS,
    COPY_BINS,
    FRACTION_BINS,
    GROUPS,
    K_BINS,
    KINDS,
    OTHERS_TEXT,
    SECTIONS_OF,
    TOKENS,
    UNGUARDED,
    World,
)

from clinaudit.audit.memorization.near_verbatim_summary import NearVerbatimCounts, summarize_near_verbatim
from clinaudit.audit.memorization.summary import GenerationMetrics, MeasuredGeneration, summarize_memorization
from clinaudit.audit.memorization.text_lengths import TextLength
from clinaudit.audit.memorization.verbatim import TokenFlags
from clinaudit.reports.exact.memorization import Memorization
from clinaudit.reports.schema.record import Arm

#: Tokens of a match, and of a generation that is shorter and not empty.
MATCH_TOKENS, _SHORT = 30, 10
Unit = TypeVar("Unit")
_K_OF_BIN = {"1": 1, "2-10": 5, "11-100": 50}
#: Tokens of a region; each has five characters a token.
_REGION_TOKENS = (31, 38, 44, 52, 56)


def fill(total: int, lows: Sequence[int], highs: Sequence[int]) -> list[int]:
    """Return numbers between the ends that sum up to the total, the first as large as can be."""
    numbers, left = list(lows), total - sum(lows)
    for i, high in enumerate(highs):
        added = min(left, high - numbers[i])
        numbers[i] += added
        left -= added
    if left:
        raise ValueError("the ends do not allow this total")
    return numbers


#: How long a piece is, with K = 1 and above.
_PIECE, _SHARED_PIECE = TextLength(41, 170, 30), TextLength(33, 140, 24)


def spread_evenly(total: int, among: int) -> list[int]:
    """Return numbers that sum up to the total and differ by one at most."""
    return [total // among + (i < total % among) for i in range(among)] if among else []


def measure_memorization(world: World, tier: str, arm: Arm) -> Memorization:
    """Return the summary of one tier and arm, near-verbatim text among it, without what the guard cut."""
    generations = list_generations(world, tier, arm)
    near = _list_near_verbatim(world, tier, arm)
    return summarize_memorization(generations, match_tokens=MATCH_TOKENS, seed=0).model_copy(
        update={"near_verbatim": summarize_near_verbatim(near, match_tokens=MATCH_TOKENS, seed=0)}
    )


def list_metrics(world: World, tier: str, arm: Arm) -> list[GenerationMetrics]:
    """Return the metrics of each generation of one tier and arm."""
    patients = world.value(world.patients(tier, arm))
    hit = world.value(world.above(tier, arm, "memorized"))
    fractions = tokens_of_fractions(world, tier, arm)
    place = f"mem/{tier}/{arm}/{{}}".format
    counts = world.counts
    stitched = _laid_out(counts, place("stitched"), patients)
    # The last of those with memorized text, so that everyone has a region.
    unstitched = _laid_out(counts, place("unstitched"), patients, first=hit - counts[place("unstitched/patients")])
    lengths = _list_lengths(world, tier, arm, patients)
    sources = spread_evenly(counts[place("source_notes")], hit)
    return [
        GenerationMetrics(
            generation_id=name,
            patient_id=name,
            arm=arm,
            tier=tier,
            rendering="text",
            tokens=lengths[rank],
            memorized_tokens=fractions["memorized"][rank],
            echo_tokens=fractions["memorized"][rank] - fractions["unechoed"][rank],
            attributable_tokens=fractions["attributable"][rank],
            regions=stitched[rank] + unstitched[rank],
            stitched_regions=stitched[rank],
            source_notes=sources[rank] if rank < hit else 0,
            attributable_tokens_unmasked=fractions["unmasked"][rank],
            near_verbatim_attributable_tokens=fractions["near_attributable"][rank],
            # Each patient's pieces stand in as many notes as they come from.
            source_notes_any=sources[rank] if rank < hit else 0,
            source_notes_min=sources[rank] if rank < hit else 0,
        )
        for rank, name in enumerate(name_patients(tier, arm, patients))
    ]


def _laid_out(counts: Mapping[str, int], place: str, patients: int, *, first: int = 0) -> list[int]:
    """Return the units of each patient, by rank: those behind them are the ones from the first on."""
    own = spread_evenly(counts[f"{place}/units"], counts[f"{place}/patients"])
    return [*[0] * first, *own, *[0] * (patients - first - len(own))]


def name_patients(tier: str, arm: Arm, patients: int) -> list[str]:
    """Return the ids of the patients with a generation, by rank."""
    return [f"{tier}/{arm}/{rank:04d}" for rank in range(patients)]


def list_generations(world: World, tier: str, arm: Arm) -> list[MeasuredGeneration]:
    """Return the counts of each generation of one tier and arm."""
    metrics = list_metrics(world, tier, arm)
    flags = _list_flags(world, tier, arm, len(metrics))
    pieces = _list_pieces(world, tier, arm, len(metrics))
    lengths = itertools.cycle(_REGION_TOKENS)
    return [
        MeasuredGeneration(
            metrics=row,
            cohorts=world.diagnoses[:1],
            flags=tuple(flags[rank]),
            pieces=tuple(pieces[rank]),
            region_lengths=tuple(
                TextLength(tokens, 5 * tokens, tokens // 2) for tokens in itertools.islice(lengths, row.regions)
            ),
            dropped_tokens=3 * min(1, row.regions),
            piece_lengths=tuple(_PIECE if k == 1 else _SHARED_PIECE for k, _, _ in pieces[rank]),
        )
        for rank, row in enumerate(metrics)
    ]


def list_groups(world: World, tier: str, arm: Arm) -> Mapping[str, dict[str, str]]:
    """Return the group of each patient with a generation, by partition; those with attributable text come first."""
    found = {}
    for partition, groups in GROUPS.items():
        affected = [world.counts[f"{partition}/{arm}/attributable/{tier}/{group}"] for group in groups]
        others = [
            world.value(world.at_tier(tier, arm, partition, group)) - count
            for group, count in zip(groups, affected, strict=True)
        ]
        names = [name for counts in (affected, others) for name in repeat_groups(groups, counts)]
        found[partition] = dict(zip(name_patients(tier, arm, len(names)), names, strict=True))
    return found


def repeat_groups(groups: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Return each group's name as often as its count says."""
    return [group for group, count in zip(groups, counts, strict=True) for _ in range(count)]


def tokens_of_fractions(world: World, tier: str, arm: Arm) -> dict[str, list[int]]:
    """Return each fraction's tokens by rank, each at least the next where the sums allow it."""
    patients = world.value(world.patients(tier, arm))
    found: dict[str, list[int]] = {}
    below = [0] * patients
    nesting = ("attributable", "unmasked", "unechoed", "memorized", "near", "extra", "near_attributable")
    for fraction in (*nesting, *UNGUARDED, *OTHERS_TEXT):
        if f"mem/{tier}/{arm}/{fraction}/sum" not in world.counts:
            # Drawn last, from the others.
            continue
        if fraction in (UNGUARDED[0], *OTHERS_TEXT):
            below = [0] * patients
        if fraction == "near_attributable":
            below = found["attributable"]
        ends = [
            FRACTION_BINS[k]
            for k in reversed(range(len(FRACTION_BINS)))
            for _ in range(world.counts[f"mem/{tier}/{arm}/{fraction}/bin/{k}"])
        ]
        total = world.counts[f"mem/{tier}/{arm}/{fraction}/sum"]
        highs = [high for _, high in ends]
        lows = [low + 1 for low, _ in ends]
        nested = [min(high, max(low, least)) for low, high, least in zip(lows, highs, below, strict=False)]
        tokens = fill(total, nested if fraction != "extra" and sum(nested) <= total else lows, highs)
        rest = [0] * (patients - len(tokens))
        if fraction == "extra":
            # The last of those with any near-verbatim text, so that nobody else has extra text.
            near = world.value(world.above(tier, arm, "near"))
            rest, beyond = rest[: near - len(tokens)], [0] * (patients - near)
            found[fraction] = [*rest, *tokens, *beyond]
        else:
            found[fraction] = below = [*tokens, *rest]
    return found


def _list_lengths(world: World, tier: str, arm: Arm, patients: int) -> list[int]:
    """Return the tokens of each generation, by rank: the last are short, the very last empty."""
    empty, short = (world.counts[f"mem/{tier}/{arm}/{kind}"] for kind in ("empty", "short"))
    return [*[TOKENS] * (patients - short), *[_SHORT] * (short - empty), *[0] * empty]


def _list_near_verbatim(world: World, tier: str, arm: Arm) -> list[NearVerbatimCounts]:
    fractions = tokens_of_fractions(world, tier, arm)
    near = world.value(world.above(tier, arm, "near"))
    longest = spread_evenly(world.counts[f"mem/{tier}/{arm}/longest/sum"], near)
    patients = world.value(world.patients(tier, arm))
    lengths = _list_lengths(world, tier, arm, patients)
    return [
        NearVerbatimCounts(
            patient_id=name,
            tokens=lengths[rank],
            near_tokens=fractions["near"][rank],
            extra_tokens=fractions["extra"][rank],
            longest_region=longest[rank] if rank < near else 0,
        )
        for rank, name in enumerate(name_patients(tier, arm, patients))
    ]


def _list_flags(world: World, tier: str, arm: Arm, patients: int) -> list[list[TokenFlags]]:
    """Return the labels of memorized tokens, by rank."""
    flags: list[list[TokenFlags]] = [[] for _ in range(patients)]
    place = f"mem/{tier}/{arm}/{{}}".format
    hit = world.value(world.above(tier, arm, "memorized"))
    for content in CONTENTS:
        behind = world.counts[place(f"{content}/patients")]
        # Those with templated text come first, those with revealing text last: everyone has one of the two.
        own = flags[:behind] if content == "templated" else flags[hit - behind : hit]
        turn = _Turn(own)
        cells = [(kind, section) for kind in KINDS if kind.startswith(content) for section in SECTIONS_OF[kind]]
        for kind, section in cells:
            single = kind.endswith("single")
            flag = TokenFlags(section, content == "revealing", single, single, echo=False, from_prompt=False)
            turn.deal(world.counts, place(f"{kind}/{section}"), flag)
    return flags


def _list_pieces(world: World, tier: str, arm: Arm, patients: int) -> list[list[tuple[int, int, bool]]]:
    """Return (K, copy-forward count, revealing) of each piece, by rank."""
    pieces: list[list[tuple[int, int, bool]]] = [[] for _ in range(patients)]
    place = f"mem/{tier}/{arm}/{{}}".format
    turn = _Turn(pieces[: world.counts[place("shared/patients")]])
    for k in K_BINS[1:]:
        turn.deal(world.counts, place(f"k/{k}"), (_K_OF_BIN[k], 1, True))
    single = pieces[: world.counts[place("k/1/patients")]]
    own: list[list[tuple[int, int, bool]]] = [[] for _ in single]
    turn = _Turn(own)
    left = world.counts[place("k/1/units")]
    for notes in COPY_BINS:
        left -= turn.deal(world.counts, place(f"copy/{notes}"), (1, int(notes), True))
    _deal_rest(own, left, (1, 1, False))
    for all_of_patient, of_patient in zip(single, own, strict=True):
        all_of_patient += of_patient
    return pieces


class _Turn(Generic[Unit]):
    """Deals units of several kinds to patients, one kind's after the other's, so that as many as can be have any."""

    def __init__(self, patients: Sequence[list[Unit]]) -> None:
        self._patients = patients
        self._next = 0

    def deal(self, counts: Mapping[str, int], place: str, unit: Unit) -> int:
        """Deal the units at a place to the patients behind them; returns how many."""
        for count in spread_evenly(counts[f"{place}/units"], counts[f"{place}/patients"]):
            self._patients[self._next % len(self._patients)].extend([unit] * count)
            self._next += 1
        return counts[f"{place}/units"]


def _deal_rest(patients: Sequence[list[Unit]], count: int, unit: Unit) -> None:
    """Deal units to patients, first to those who have none."""
    waiting = [own for own in patients if not own][:count]
    for own in waiting:
        own.append(unit)
    for own, more in zip(patients, spread_evenly(count - len(waiting), len(patients)), strict=True):
        own.extend([unit] * more)
