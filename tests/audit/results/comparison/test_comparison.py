"""Two tables joined by hand: figures, differences, how the rules moved, what differs; and where it may be written."""

import json
import math

import pytest
from support.compared_results import compared
from support.invented_estimates import invented_estimates
from support.runs.compared_pair import plant

from clinaudit.audit.results.comparison.comparison import (
    compare_rows,
    compare_runs,
    compare_tables,
    move_rules,
    prepare_directory,
    write_comparison,
)
from clinaudit.audit.results.comparison.run_pair import open_pair
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.errors import UsageError
from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.run_results import Rule, Verdict

PLACE = {"form": "text", "tier": "encounter", "arm": "train"}


def test_a_difference_is_movers_of_two_independent_figures():
    a, b = share_row("own_identifiers", 23, 130, **PLACE), share_row("own_identifiers", 4, 130, **PLACE)
    difference = compare_rows(a, b).difference
    assert None not in (a.low, a.high, b.low, b.high)
    assert difference.value == pytest.approx((4 - 23) / 130)
    assert difference.high == pytest.approx((4 - 23) / 130 + math.hypot(b.high - 4 / 130, 23 / 130 - a.low))
    assert compare_rows(a, b).direction == -1
    assert compare_rows(a, a).direction == 0


def test_figures_of_one_place_are_compared_and_no_subgroup_mean_or_control():
    table = Estimates(invented_estimates())
    changes = compare_tables(table, table)
    assert all(change.difference.value == 0 for change in changes if change.a.value is not None)
    assert {"attributable_fraction", "hit_rate", "own_identifiers", "queries_needed", "everyday_tasks"} <= {
        change.metric for change in changes
    }
    assert {change.by for change in changes} == {"", "queries"}
    assert "mean" not in {change.diagnosis for change in changes}
    assert {change.arm for change in changes if change.diagnosis} == {"train-nontrain"}
    assert len({change.place for change in changes}) == len(changes)
    # A place that one run lacks is left out.
    smaller = Estimates(table.frame.filter(table.frame["tier"] != "public"))
    assert {change.tier for change in compare_tables(table, smaller)} == {
        change.tier for change in changes if change.tier != "public"
    }


def test_what_is_published_of_two_tables_is_a_function_of_what_they_publish():
    published = [Estimates(publish(invented_estimates(seed))) for seed in (0, 1)]
    for change in compare_tables(*published):
        a, b = (table.find(**dict(zip(Row._fields[:7], change.place, strict=True))) for table in published)
        assert change == compare_rows(a, b)
        assert change.pairs is None


def decided(statuses, *, limit=0.05):
    rules = [
        Rule(
            id=name, kind="own", question="Is it?", metric="attributable_fraction", form="text", tier=name,
            arm="train", limit=limit, status=status, reason="",
        )
        for name, status in statuses.items()
    ]  # fmt: skip
    status = "fail" if "fail" in statuses.values() else "pass"
    return Verdict(status=status, policy="x", reason="", rules=rules)


def test_rules_are_mended_new_still_failing_or_open():
    a = decided({"public": "fail", "public_name": "fail", "encounter": "pass", "encounter_cc": "fail"})
    b = decided({"public": "pass", "public_name": "fail", "encounter": "fail", "encounter_cc": "inconclusive"})
    found = move_rules(a, b)
    assert (found.a, found.b) == ("fail", "fail")
    assert found.mended == ["Own text · Public facts"]
    assert found.failing == ["Own text · Public facts and name"]
    assert found.new == ["Own text · Appointment reminder"]
    assert found.open == ["Own text · Appointment and chief complaint"]


def test_a_looser_limit_mends_nothing_and_a_run_without_a_verdict_has_none():
    a, b = decided({"public": "fail"}), decided({"public": "pass"}, limit=0.5)
    found, first = move_rules(a, b), move_rules(None, a)
    assert (found.mended, found.new, found.gone) == ([], [], ["Own text · Public facts"])
    assert (first.a, first.b, first.new) == (None, "fail", ["Own text · Public facts"])
    assert move_rules(None, None) is None


def test_what_differs_is_named_the_date_is_of_the_run_after_and_no_digest_is_shown(tmp_path):
    planted = plant(tmp_path)
    given = {
        planted.a: ({"model_name": "Scribe 3", "date": "2026-11-01"}, ["1" * 64, "3" * 64, None]),
        planted.b: ({"model_name": "Scribe 4", "date": "2026-11-22"}, ["2" * 64, "4" * 64, "5" * 64]),
    }
    for root, (identity, digests) in given.items():
        record = json.loads((root / "run.json").read_text(encoding="utf-8"))
        files = dict(zip(("--policy", "--training-log", "--judge-labels"), digests, strict=True))
        settings = {**record["settings"], **files}
        (root / "run.json").write_text(json.dumps({**record, "identity": identity, "settings": settings}))
        write_manifest(RunDirectory(root))
    comparison = compare_runs(open_pair(planted.a, planted.b, allow_different_corpus=False))
    assert comparison.date == "2026-11-22"
    assert {one.name: (one.a, one.b) for one in comparison.differences} == {
        "MODEL": ("Scribe 3", "Scribe 4"),
        "--policy": ("default", "default"),
        "--training-log": ("one", "another"),
        "--judge-labels": ("none", "another"),
    }


def test_exact_figures_are_never_written_where_published_ones_are(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="exact figures"):
        write_comparison(out, compared(exact=True).model_copy(update={"figures": "published"}), None)
    assert not out.exists()


@pytest.mark.parametrize("place", ["notes.txt", "evidence/results.json", "evidence/notes/compare.json"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_directory_of_something_else_is_refused(tmp_path, place, exact):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="holds other things"):
        prepare_directory(tmp_path, exact=exact)
