"""Two worlds with one coarse table and as many other counts as can be publish the same bytes in every file.

Generic: it needs no list of figures, and fails for any new one that bypasses the coarse table.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.results.drawn_worlds import draw_world
from support.results.random_worlds import World
from support.results.world_laws import laws
from support.results.world_tally import count_world, decide
from support.simulations import first_of
from support.suppression_attack.integer_program import IntegerProgram
from support.suppression_attack.published_bytes import write_published
from support.suppression_attack.sex_balance import keep_shares
from support.suppression_attack.twins import Twins, find_twins

from clinaudit.audit.results.publication import published_files
from clinaudit.audit.results.ranges.results import derive
from clinaudit.reports.schema.disclosure import SIDES, Side
from clinaudit.reports.schema.memorization import RefusalsEvidence
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally import leaves
from clinaudit.reports.tally.leaves import Count, Inside, Partition
from clinaudit.reports.tally.tally import (
    DisclosureTally,
    PromptTally,
    RefusalsTally,
    RenderingTally,
    Tally,
    publishable,
)

#: Worlds by their seed, the third of one diagnosis; of many more see benchmarks/suppression_attacker.py.
SEEDS = (2, 6, 4)


def world_of(seed: int, sides: tuple[Side, ...] = ARMS) -> World:
    return draw_world(np.random.default_rng(seed), sides=sides)


@cache
def twins_of(seed: int, sides: tuple[Side, ...] = ARMS) -> Twins:
    twins = find_twins(world_of(seed, sides), seed=seed)
    assert twins is not None
    return twins


def differing_files(twins: Twins, place: Path) -> list[str]:
    first, second = (write_published(place / name, getattr(twins, name)) for name in ("first", "second"))
    assert {"results.json", "report.html", "gate.json", "junit.xml", "gate.sarif", "manifest.json"} <= first.keys()
    assert first.keys() == second.keys()
    return [name for name, content in first.items() if second[name] != content]


@pytest.mark.parametrize("sides", [ARMS, SIDES])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_known_of_a_world_is_true(seed: int, sides: tuple[Side, ...]) -> None:
    world = world_of(seed, sides)
    assert min(world.counts.values()) >= 0
    tally, counted = count_world(world)
    known = [*laws(world), *counted.clues(tally, publishable(tally)), *keep_shares(world)]
    assert len(known) > 1500
    broken = IntegerProgram(world, known).broken_laws()
    assert [known[place] for place in broken] == []


def test_a_leaf_that_the_attacks_do_not_read_is_found_out() -> None:
    tally, counted = count_world(world_of(2))
    changed = replace(tally, completeness={"priors": replace(tally.completeness["priors"], failed=Count.of(0))})
    with pytest.raises(AssertionError, match=r"do not read .completeness.priors.failed"):
        counted.clues(changed, publishable(changed))


@pytest.mark.parametrize("place", first_of(len(SEEDS), always=1))
def test_twins_publish_the_same_bytes_in_every_file(place: int, tmp_path: Path) -> None:
    twins = twins_of(SEEDS[place])
    assert twins.changed > 250
    assert differing_files(twins, tmp_path) == []


def test_twins_with_a_control_model_publish_the_same_bytes(tmp_path: Path) -> None:
    twins = twins_of(SEEDS[0], SIDES)
    assert twins.changed > 250
    cells = [
        [
            row["positive"].range.low
            for of in tally.disclosure.by_diagnosis.values()
            for p in of.values()
            for row in p.verdicts["control"].values()
        ]
        for tally in (twins.first, twins.second)
    ]
    assert cells[0] != cells[1]
    assert differing_files(twins, tmp_path) == []


def ask_in_another_form(tally: Tally, *, unbroken: int, broken: int) -> Tally:
    """Return the tally with one tier's figures as those of a rendering beside it, and prompts of both kinds.

    As many as are `broken` were refused.
    """
    tier, asked = "encounter_cc_hpi", unbroken + broken
    refusals = RefusalsTally(
        asked=Count.of(asked),
        refused=Count.of(broken),
        evidence=Inside(RefusalsEvidence(generations=asked, refused=broken)),
    )
    rendered = RenderingTally(
        memorization={tier: {arm: replace(own, refusals=refusals) for arm, own in tally.memorization[tier].items()}},
        disclosure=DisclosureTally(
            by_diagnosis={name: {tier: own[tier]} for name, own in tally.disclosure.by_diagnosis.items()},
            mean={tier: tally.disclosure.mean[tier]},
        ),
    )
    prompts = PromptTally(
        fit=Partition.of({"unbroken": unbroken, "broken": broken}),
        own=Partition.halves("own", unbroken, asked),
        earlier=Partition.halves("earlier", broken, asked),
        shown={"age": Partition.halves("some", broken, asked)},
    )
    return replace(tally, renderings={"chat": rendered}, prompts={tier: {"train": prompts}})


def test_twins_asked_in_another_form_publish_the_same_bytes(tmp_path: Path) -> None:
    twins = twins_of(2)
    first = decide(ask_in_another_form(twins.first, unbroken=91, broken=2))
    second = replace(ask_in_another_form(twins.second, unbroken=92, broken=7), decision=first.decision)
    assert differing_files(Twins(first, second, twins.changed, twins.refused), tmp_path) == []
    assert any(rule.rendering == "chat" for rule in first.decision.value.rules)  # type: ignore[union-attr]
    published = (tmp_path / "first" / "results.json").read_text(encoding="utf-8")
    assert '"refused_patients": {' in published


def test_a_remark_that_bypasses_the_leaves_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def publishable_and_tell(tally: Tally) -> Tally:
        read = tally.memorization["public"]["train"].hits["any"].low
        return replace(publishable(tally), warnings=(f"{read} patients have a match.",))

    monkeypatch.setattr(published_files, "publishable", publishable_and_tell)
    assert {"results.json", "report.html"} <= set(differing_files(twins_of(2), tmp_path))


def test_a_figure_that_bypasses_the_leaves_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = {}

    def derive_one_unrounded(tally: Tally) -> RunResults:
        published = derive(tally)
        summary = published.memorization["public"]["train"]
        if tally.is_exact:
            # A run's exact results are written first.
            exact["share"] = summary.hit_patients_share
            return published
        told = summary.model_copy(update={"hit_patients_share": exact["share"]})
        by_tier = {**published.memorization, "public": {**published.memorization["public"], "train": told}}
        return published.model_copy(update={"memorization": by_tier})

    monkeypatch.setattr(published_files, "derive", derive_one_unrounded)
    assert "results.json" in differing_files(twins_of(2), tmp_path)


def test_a_leaf_that_is_not_coarsened_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twins = twins_of(2)
    monkeypatch.setattr(leaves.Partition, "_coarse", lambda leaf: leaf)
    assert {"results.json", "report.html"} <= set(differing_files(twins, tmp_path))
