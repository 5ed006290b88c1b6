"""Policies: those that ship, and every kind of mistake in one's own, told all at once."""

import itertools
import tomllib
from pathlib import Path

import pytest

from clinaudit.audit.results.gate.policy import POLICIES_PATH, Limit, describe_shipped, load_policy, parse_policy
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.errors import BadInputError
from clinaudit.priors.tiers import TIER_IDS

GOOD = """
name = "site"
[[limit]]
metric = "hit_rate"
tiers = ["public", "encounter"]
max = 0.123
[[limit]]
metric = "auroc_all"
tiers = ["encounter"]
diagnoses = ["hiv"]
max = 0.2
[[limit]]
metric = "everyday_tasks"
max = 0
"""


def problems_of(text):
    with pytest.raises(BadInputError) as caught:
        parse_policy(tomllib.loads(text), where="site.toml")
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("max = 0.123\n", "\n", "limit[1]: max is missing"),
        ("max = 0.123", "max = 1", "limit[1].max: must be below 1: nothing could fail"),
        ("max = 0.123", "max = 5", "limit[1].max: must be a share below 1; for 5% write 0.05"),
        ("max = 0.123", "max = true", "limit[1].max: must be a valid number"),
        ('name = "site"', "", "name: is missing"),
        ('metric = "hit_rate"', 'metric = "k_distribution"', "limit[1].metric: must be one of memorized_fraction"),
        ("max = 0\n", 'max = 0\ntiers = "all"\n', "limit[3]: tiers is not a key of a limit on everyday_tasks"),
        ("max = 0.2\n", "max = 0.2\nodd = 1\n", "limit[2]: odd is not a key of a limit on auroc_all"),
        ('["public", "encounter"]', '["nobody"]', "limit[1].tiers: 'nobody' is none of public"),
        ('["hiv"]', "[]", "limit[2].diagnoses: must not be empty"),
        # All diagnoses cannot be rare, for that would be none.
        ('["hiv"]', '["hiv"]\nrare = "all"', "limit[2].rare: must be a list"),
    ],
)
def test_a_mistake_is_told_with_its_key(right, wrong, problem):
    (found,) = problems_of(GOOD.replace(right, wrong, 1))
    assert found.startswith(problem)


def test_all_mistakes_are_told_at_once_and_what_cannot_fail_is_refused():
    assert problems_of('name = "x"') == ["limit: is missing"]
    assert problems_of('name = "x"\nlimit = []') == ["limit: must not be empty: nothing could fail"]
    assert problems_of('name = ""\nodd = 1\n[guards]\npatients = 1\nrefused = true\n' + GOOD.split("\n", 2)[2]) == [
        "name: must not be blank",
        "guards.patients: must be greater than or equal to 2",
        "guards.refused: must be a valid number",
        "odd: is not a key of a policy",
    ]


def test_the_policies_that_ship_get_looser_from_strict_to_research():
    policies = [load_policy(Path(name)) for name in SHIPPED]
    assert [policy.name for policy in policies] == list(SHIPPED)
    for stricter, looser in itertools.pairwise(policies):
        of_stricter = {(of.metric, of.queries, tier): of for of in stricter.limits for tier in of.tiers or ("",)}
        for limit in looser.limits:
            for tier in limit.tiers or ("",):
                beside = of_stricter[limit.metric, limit.queries, tier]
                assert (beside.maximum, beside.rare_max) <= (limit.maximum, limit.rare_max)
                assert set(beside.rare) >= set(limit.rare)
    assert describe_shipped().count("\n") < 12
    assert len((POLICIES_PATH / "default.toml").read_text(encoding="utf-8").splitlines()) <= 90
    assert load_policy().limits[0] == Limit("attributable_fraction", 0.05, TIER_IDS)
