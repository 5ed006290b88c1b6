"""No rule passes where more than 1% of the targets may have ids in both splits."""

from typing import Any, cast

import pytest
from support.results.decided_results import POLICY, Compared, Matched, Text
from support.results.published_people import judge_quality

from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.rules import AskedRule
from clinaudit.audit.results.gate.sufficiency import why_comparison_cannot_pass, why_memorization_is_open
from clinaudit.reports.schema.corpus import CorpusResults
from clinaudit.reports.schema.disclosure import DisclosureResults
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.classes import SUB_STEP, class_of

ASKED = AskedRule("", "", "", cast("Any", None), tier="public", diagnosis="hiv")


def published(in_both: int | None, patients: int) -> RunResults:
    return RunResults(
        memorization={"public": {arm: Text(patients=patients).published() for arm in ("train", "nontrain")}},
        disclosure=DisclosureResults(by_diagnosis={"hiv": {"public": Compared().published()}}),
        cohorts={"hiv": Matched().published()},
        judge_quality=judge_quality(("hiv",)),
        corpus=CorpusResults(
            counterfactual=True,
            labels="table",
            splits={},
            cohorts={},
            warnings=[],
            targets_in_both_splits=None if in_both is None else class_of(in_both, step=SUB_STEP),
        ),
    )


@pytest.mark.parametrize(
    ("in_both", "patients", "passes"),
    [
        (None, 130, True),
        (0, 130, True),
        # Class 1-5 of two arms of at least 121 each: up to 2.1%.
        (1, 130, False),
        (5, 130, False),
        # Of at least 241 each: 1.04%.
        (1, 250, False),
        # Of at least 251 each: less than 1%.
        (1, 260, True),
        (5, 260, True),
        (6, 260, False),
    ],
)
def test_above_one_percent_no_rule_passes(in_both: int | None, patients: int, passes: bool) -> None:
    shown = published(in_both, patients)
    reason = None if passes else reasons.IN_BOTH_SPLITS
    assert why_memorization_is_open(POLICY, shown, ASKED) == reason
    assert why_comparison_cannot_pass(POLICY, shown, ASKED) == reason
