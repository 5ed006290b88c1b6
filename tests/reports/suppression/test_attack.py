"""Every count of patients from 1 to 10 keeps at least three values, whatever is published, and the verdict known.

Of many more worlds see benchmarks/suppression_attacker.py.
"""

import numpy as np
import pytest
from support.results.drawn_worlds import draw_world
from support.suppression_attack import attack
from support.suppression_attack.attack import Attacker

from clinaudit.reports.suppression import rules
from clinaudit.reports.suppression.classes import class_of


def test_every_small_count_keeps_three_values_beside_the_verdict() -> None:
    attacker = Attacker(draw_world(np.random.default_rng(3), diagnoses=2))
    assert attacker.count > 200
    assert attacker.find_leaks() == []
    assert attacker.fewest >= attack.ENOUGH


#: Of worlds 11, 20, 4338 and 4408 drafts of the rules gave counts away: by the steps of a second judge's verdicts, by
#: totals of notes beside their means over patients, by the mean length of a region with zeros for those who have none,
#: and by a mean of 0% where nearly all have a token or more.
@pytest.mark.parametrize(("seed", "diagnoses"), [(11, 1), (15, 1), (20, 1), (4338, 1), (6, 2), (7, 2), (4408, 2)])
def test_all_that_is_linear_leaves_every_small_count_three_values(seed: int, diagnoses: int) -> None:
    attacker = Attacker(draw_world(np.random.default_rng(seed), diagnoses=diagnoses), measures=False)
    assert attacker.count > 200
    assert attacker.find_leaks() == []


def test_steps_of_five_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "class_of", lambda count, *, step=10: class_of(count, step=step // 2))
    attacker = Attacker(draw_world(np.random.default_rng(3), diagnoses=2), measures=False)
    assert any(leak.proven for leak in attacker.find_leaks())
