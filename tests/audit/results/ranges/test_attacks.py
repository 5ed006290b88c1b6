"""Which attacks count as run: not those that were asked of nobody trained on, or had too few for a figure."""

import pytest
from support.results.planted_ordinary import plant_ordinary
from support.results.planted_queries import publish_queries, tally_of_queries

from clinaudit.audit.results.ranges.attacks import derive_ordinary, list_attacks
from clinaudit.reports.schema.attacks import AttackName, MembershipResults
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults

QUERIES = publish_queries(tally_of_queries((0, 0, 0, 0, 0, 200, 0)))


def status(results: RunResults, name: AttackName) -> str:
    (found,) = [attack.status for attack in list_attacks(results, release=None) if attack.name == name]
    return found


@pytest.mark.parametrize(("tasks", "said"), [(429, "run"), (0, "not run")])
def test_tasks_none_of_which_fits_are_no_attack(tasks: int, said: str) -> None:
    assert status(RunResults(ordinary=derive_ordinary(plant_ordinary(tasks=tasks))), "ordinary_use") == said


@pytest.mark.parametrize(
    ("arms", "said"), [(("train", "nontrain"), "run"), (("nontrain",), "not run"), ((), "not run")]
)
def test_queries_are_of_patients_trained_on(arms: tuple[Arm, ...], said: str) -> None:
    queries = {"encounter": dict.fromkeys(arms, QUERIES)} if arms else {}
    assert status(RunResults(queries=queries), "queries_needed") == said


@pytest.mark.parametrize(("interpretable", "said"), [(True, "run"), (False, "run"), (None, "not run")])
def test_membership_of_too_few_was_not_run(interpretable: bool | None, said: str) -> None:
    membership = MembershipResults.model_construct(is_interpretable=interpretable)
    assert status(RunResults.model_construct(**dict(RunResults()) | {"membership": membership}), "membership") == said
