"""The verdicts of a world's tally: tables by diagnosis and tier, measured as a run measures them, and the judge's own.

Knows nothing of how anything is published.
"""

import itertools
from collections.abc import Mapping
from typing import Any

from support.results import random_worlds as shape
from support.results.counted_leaves import CountedLeaves
from support.results.filled_evidence import NOT_FILLED
from support.results.planted_disclosure import Tables, measure_means, measure_pair
from support.results.random_worlds import World, add
from support.results.world_people import find_prevalence

from clinaudit.audit.measures.disclosure.train_delta import adjust_holm
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, MeasuredPair
from clinaudit.reports.schema.judge import ANSWER_CELLS
from clinaudit.reports.schema.numbers import exact_estimate
from clinaudit.reports.tally.classes import STEP
from clinaudit.reports.tally.leaves import Inside, Setting
from clinaudit.reports.tally.tally import (
    AnswersTally,
    DisclosureTally,
    JudgeTally,
    PairTally,
)


def tally_disclosure(leaves: CountedLeaves, resamples: int) -> DisclosureTally:
    """Return the verdict tables, and what was measured of them with so many resamples."""
    world = leaves.world
    shares = {diagnosis: find_prevalence(world, diagnosis).value for diagnosis in world.diagnoses}
    tables = {pair: _tables(world, *pair) for pair in itertools.product(world.diagnoses, world.tiers)}
    measured = adjust_holm(
        {pair: measure_pair(tables[pair], shares[pair[0]], resamples, world.sides) for pair in tables}
    )
    return DisclosureTally(
        by_diagnosis={
            diagnosis: {tier: _pair(leaves, diagnosis, tier, measured[diagnosis, tier]) for tier in world.tiers}
            for diagnosis in world.diagnoses
        },
        mean={
            tier: Inside(
                measure_means(tuple((tables[of, tier], shares[of]) for of in world.diagnoses), resamples, world.sides)
            )
            for tier in world.tiers
        },
    )


def _pair(leaves: CountedLeaves, diagnosis: str, tier: str, measured: MeasuredPair) -> PairTally:
    world = leaves.world

    def row_of(arm: str, row: str) -> dict[str, Any]:
        cells = {verdict: world.table(diagnosis, tier, arm, row, (verdict,)) for verdict in shape.OUTCOMES}
        cells["undecided"] = add(cells["ambiguous"], cells.pop("not_mentioned"))
        return {verdict: leaves.count(sum_, step=STEP) for verdict, sum_ in cells.items()}

    return PairTally(
        verdicts={
            arm: {status: row_of(arm, row) for row, status in zip(shape.ROWS, DIAGNOSIS_STATUSES, strict=True)}
            for arm in world.sides
        },
        dropped_sets=leaves.partition(
            {reason: add(f"pair/{diagnosis}/{tier}/dropped/{reason}") for reason in (shape.MISSING, shape.REFERS)},
            step=STEP,
            leaves_out=True,
        ),
        evidence=Inside(measured),
    )


def _tables(world: World, diagnosis: str, tier: str) -> Tables:
    def rows_of(arm: str) -> Any:
        return tuple(
            tuple(world.counts[f"table/{diagnosis}/{tier}/{arm}/{row}/{of}"] for of in shape.OUTCOMES)
            for row in shape.ROWS
        )

    return tuple(rows_of(side) for side in world.sides)


def tally_judge(leaves: CountedLeaves) -> JudgeTally:
    """Return how the judge read the labelled texts, and a second judge this run's."""
    world, is_invented = leaves.world, not leaves.world.fixed["judge/site"]
    # A text is read once at each tier, and of those trained on the control's.
    step = STEP * len(shape.ROWS) * len(world.sides) * len(world.tiers)
    rated = add(*(f"judge/{truth}/{verdict}" for truth in shape.VERDICTS for verdict in shape.VERDICTS))
    right, unrated = (
        add(*(f"judge/{of}/{to}" for of, to in pairs))
        for pairs in (zip(shape.VERDICTS, shape.VERDICTS, strict=True), ((of, "unjudged") for of in shape.VERDICTS))
    )
    accuracy = wilson(world.value(right), world.value(rated))

    def answers(cells: Mapping[str, Mapping[str, int]], of_step: int | None) -> AnswersTally:
        return AnswersTally(
            answers_each=Setting(3),
            cells={cell: leaves.count(cells.get(cell, {}), step=of_step) for cell in ANSWER_CELLS},
            alpha=Inside(Setting(exact_estimate(wilson(19, 20))), is_public=of_step is None),
        )

    kinds = {"agreements": "agree", "disagreements": "disagree", "unjudged": "unjudged"}
    return JudgeTally(
        judge="lexicon",
        labels="shipped" if is_invented else "site",
        matrix={
            truth: {
                verdict: leaves.count(add(f"judge/{truth}/{verdict}"), step=None if is_invented else STEP)
                for verdict in (*shape.VERDICTS, "unjudged")
            }
            for truth in shape.VERDICTS
        },
        # Of planted injections: invented texts.
        flip_rate=Setting(exact_estimate(wilson(3, 59))),
        hiding_rate=Setting(exact_estimate(wilson(3, 59))),
        accuracy_by_diagnosis=Inside({"hiv": Setting(exact_estimate(accuracy))}, is_public=is_invented),
        second_judge="openai",
        second=leaves.partition({name: add(f"judges/{kind}") for name, kind in kinds.items()}, step=step),
        answers=Inside(answers({"unanimous": rated, "refused": unrated}, None), is_public=is_invented),
        run_answers=answers({cell: add(f"judges/{cell}") for cell in ANSWER_CELLS}, step),
        evidence=NOT_FILLED,
    )
