"""What an attacker by integer programming can tell of hidden counts, and that weaker hiding is found out."""

from collections.abc import Collection, Mapping

import numpy as np
import pytest
from support.results.drawn_worlds import draw_world
from support.results.random_worlds import World, laws
from support.results.world_results import measure
from support.suppression_attack.published_counts import list_places
from support.suppression_attack.published_places import clues
from support.suppression_attack.suppression_attacker import Attacker

from clinaudit.reports.schema.results import StageCompleteness
from clinaudit.reports.suppression import corpus as suppressed_corpus
from clinaudit.reports.suppression import groups as suppressed_groups
from clinaudit.reports.suppression import results as suppression
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.suppression.small_cells import is_small


def world_of(seed: int) -> World:
    return draw_world(np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(6))
def test_what_the_attacker_holds_for_true_is_true(seed: int) -> None:
    world = world_of(seed)
    places, shares = list_places(world)
    assert min(world.counts.values()) >= 0
    for law in [*laws(world), *clues(places, shares, suppress(measure(world)))]:
        value = sum(factor * world.counts[name] for name, factor in law.sum.items())
        assert law.low - 1e-5 <= value <= law.high + 1e-5, law


@pytest.mark.parametrize("seed", range(8))
def test_whole_worlds_leave_every_hidden_count_three_values(seed: int) -> None:
    attacker = Attacker(world_of(seed), suppress)
    assert attacker.secret_count > 100
    assert [leak for leak in attacker.find_narrow() if leak.proven] == []


def test_cells_hidden_alone_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def hide_small_alone(
        counts: Mapping[str, int | None], *, hidden_elsewhere: Collection[str] = ()
    ) -> dict[str, int | None]:
        return {key: None if is_small(count) else count for key, count in counts.items()}

    for module in (suppression, suppressed_corpus, suppressed_groups):
        monkeypatch.setattr(module, "suppress_breakdown", hide_small_alone)
    leaks = [leak for seed in range(3) for leak in Attacker(world_of(seed), suppress, only=("corpus",)).find_narrow()]
    assert len(leaks) >= 5


def test_a_ledger_that_shows_all_units_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    suppress_stage = suppression._suppress_stage

    def publish_whole(stage: StageCompleteness, *, hides_units: bool, told: Collection[str]) -> StageCompleteness:
        excluded = suppress_stage(stage, hides_units=hides_units, told=told).excluded
        return stage.model_copy(update={"excluded": excluded})

    only = ("mem/public/train/patients", "mem/public/train/missing", "ledger")
    exact = [leak for seed in range(6) for leak in Attacker(world_of(seed), suppress, only=only).find_narrow()]
    monkeypatch.setattr(suppression, "_suppress_stage", publish_whole)
    leaks = [leak for seed in range(6) for leak in Attacker(world_of(seed), suppress, only=only).find_narrow()]
    assert len(leaks) > len(exact)
