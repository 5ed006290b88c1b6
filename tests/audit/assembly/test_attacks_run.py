"""Which attacks a run says that it holds."""

import pytest

from clinaudit.audit.assembly.results import list_attacks
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.reports.estimates.frame import Estimates, as_estimates, at
from clinaudit.reports.estimates.publication import publish

AT = {"form": "text", "tier": "public", "arm": "train"}


@pytest.mark.parametrize(
    ("row", "is_run"),
    [
        (at("membership_auroc")._replace(value=0.7, low=0.6, high=0.8), True),
        (at("membership_auroc")._replace(reason="too few patients"), False),
        # Measured, and not printed.
        (at("auroc_all", **AT, diagnosis="hiv")._replace(value=0.7, low=0.6, high=0.8), True),
        (at("auroc_all", **AT, diagnosis="hiv")._replace(reason="one of the groups is empty"), False),
        (share_row("own_identifiers", 3, 130, **AT), True),
        (share_row("own_identifiers", 0, 0, **AT), False),
    ],
)
def test_an_attack_with_a_reason_alone_was_not_run(row, is_run):
    verdicts = [
        share_row("verdicts", count, 15, **AT, diagnosis="hiv", by=side, part=part)
        for side in ("present", "absent")
        for part, count in (("positive", 4), ("not_mentioned", 11))
    ]
    attacks = list_attacks(Estimates(publish(as_estimates([row, *verdicts]))), release=None)
    assert any(attack.status == "run" for attack in attacks) == is_run
