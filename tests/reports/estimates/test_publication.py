"""What of an exact table is published, and that nothing more follows from it."""

from collections import defaultdict

import polars as pl
import pytest

from clinaudit.audit.statistics.estimates import add_differences, count_row, mean_row, share_row
from clinaudit.reports.estimates.frame import COLUMNS, PLACE, Estimates, Row, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from tests.reports.estimates.test_small_cells import compositions
from tests.support.invented_estimates import VERDICTS, invented_estimates
from tests.support.runs.tables import row_of

AT = {"form": "text", "tier": "public", "arm": "train"}
OF_COHORT = AT | {"diagnosis": "hiv"}


def published(*rows: Row) -> Estimates:
    """Return what is published of some exact rows."""
    return Estimates(publish(as_estimates(rows)))


def ends(row: Row) -> tuple[int | None, ...]:
    """Return the ends of a row's count and of its size."""
    return row.count_low, row.count_high, row.of_low, row.of_high


def asked(patients: int, left_out: int = 0) -> list[Row]:
    """Return the rows that say how many of an arm were asked."""
    rows = [at("patients", **AT)._replace(value=float(patients))]
    return (
        [*rows, count_row("excluded", left_out, patients + left_out, **AT, by="reason", part="no fact")]
        if left_out
        else rows
    )


@pytest.mark.parametrize(
    ("count", "of", "shown"),
    [
        *((count, 130, (count, count, 130, 130)) for count in (0, 11, 119, 130)),
        *((count, 130, (1, 10, 130, 130)) for count in (1, 10)),
        (120, 130, (120, 129, 130, 130)),
        # Of one patient nothing is printed.
        *((count, 1, (None, None, None, None)) for count in (0, 1)),
    ],
)
def test_a_count_of_an_arm(count: int, of: int, shown: tuple[int, int]) -> None:
    row = row_of(published(*asked(of), share_row("refused", count, of, **AT)), "refused", **AT)
    assert ends(row) == shown
    assert (row.value is None) == (shown[0] is None or shown[0] != shown[1])


def test_the_share_of_a_hidden_count_is_a_bound_with_the_interval_from_both_ends() -> None:
    row = row_of(published(*asked(130), share_row("refused", 4, 130, **AT)), "refused", **AT)
    # The upper end of 10 of 130.
    assert (row.low, row.high) == (0.0, pytest.approx(0.1369, abs=1e-4))


def test_of_a_mean_only_the_whole_percent() -> None:
    exact = [
        mean_row("memorized_fraction", 4.567, 20, 130, **AT),
        mean_row("attributable_fraction", 1.23, 5, 130, **AT),
    ]
    table = published(*asked(130), *exact)
    mean, bound = (row_of(table, metric, **AT) for metric in ("memorized_fraction", "attributable_fraction"))
    assert (mean.value, mean.low, mean.high, mean.count_low) == (0.04, 0.01, 0.09, None)
    assert (bound.value, bound.low, bound.count_low, bound.count_high) == (None, 0.0, 1, 10)


def test_where_1_to_10_were_not_asked_no_count_is_printed() -> None:
    rows = [
        share_row(metric, count, 127, **AT) for metric, count in (("refused", 0), ("answered", 90), ("prompt_own", 4))
    ]
    table = published(*asked(127, 3), *rows)
    assert ends(row_of(table, "patients", **AT)) == (120, 129, 130, 130)
    assert ends(row_of(table, "excluded", **AT, by="reason", part="no fact")) == (1, 10, 130, 130)
    assert ends(row_of(table, "refused", **AT)) == (0, 0, 120, 129)
    answered = row_of(table, "answered", **AT)
    assert (answered.value, answered.count_low, answered.low, answered.high) == (0.7, None, 0.6, 0.8)
    assert ends(row_of(table, "prompt_own", **AT)) == (1, 10, 120, 129)


OF_NOTES = {"tier": "public", "arm": "train"}
TEN = {"by": "queries", "part": "10"}
SPLITS = [at("patients", arm=arm)._replace(value=130.0) for arm in ("train", "nontrain")]
SEVERAL = [share_row("several_ids", 15, 130, arm="train"), share_row("several_ids", 12, 130, arm="nontrain")]
UNBROKEN = [
    *asked(130),
    share_row("prompt_unbroken", 125, 130, **AT),
    share_row("queries_needed", 40, 125, **OF_NOTES, **TEN),
]
OPENINGS = [*asked(130), share_row("prompt_unbroken", 119, 130, **AT), share_row("queries_window", 40, 115, **OF_NOTES)]
MISSING = {"by": "stage", "part": "generations"}
PLANNED = [
    at("planned", **AT, **MISSING)._replace(value=130.0),
    *asked(127),
    count_row("missing", 3, 130, **AT, **MISSING),
]
PRESENT, ABSENT = ({"diagnosis": "hiv", "arm": "train", "by": "status", "part": part} for part in ("present", "absent"))
CANDIDATES = [
    at("cohort_sets", diagnosis="hiv")._replace(value=59.0),
    count_row("candidates", 62, 321, **PRESENT),
    count_row("unmatched", 3, 62, **PRESENT),
    count_row("candidates", 259, 321, **ABSENT),
    count_row("unmatched", 200, 259, **ABSENT),
    share_row("prevalence", 62, 321, diagnosis="hiv"),
]
BY_SEX = {"by": "sex", "part": "female"}
WOMEN = [
    *(share_row("population", of, 145, arm="train", by="sex", part=sex) for sex, of in (("female", 65), ("male", 80))),
    *asked(129, 16),
    share_row("attributable_patients", 50, 129, **AT),
    share_row("attributable_patients", 30, 60, **AT | BY_SEX),
    share_row("attributable_patients", 20, 69, **AT | BY_SEX | {"part": "male"}),
]


def short(some: int, within: int) -> list[Row]:
    """Of 130 asked some have a prompt that is too short, and so many a long one."""
    return [*asked(130), share_row("short_budget", some, 130, **AT), share_row("long_answers", 100, within, **AT)]


@pytest.mark.parametrize(
    ("rows", "metric", "place", "shown"),
    [
        # 15 have a short one, 12 no other: 3 are in the figures of text all the same. Of 118 115 have no short one.
        (short(15, 118), "short_budget", AT, (13, 22, 130, 130)),
        (short(15, 118), "long_answers", AT, (100, 100, 118, 118)),
        # None, or enough of them, are in between: it stands.
        *((short(*of), "short_budget", AT, (of[0], of[0], 130, 130)) for of in ((12, 118), (30, 118), (0, 130))),
        # 27 have several ids, 22 of them one in each split: 5 have several in one split.
        ([*SPLITS, *SEVERAL, share_row("in_both_arms", 22, 260)], "in_both_arms", {}, (17, 26, 260, 260)),
        ([*SPLITS, *SEVERAL, share_row("in_both_arms", 12, 260)], "in_both_arms", {}, (12, 12, 260, 260)),
        # Of 130 asked, 5 have no note to be scored: with 125 printed, the hidden count of unbroken prompts followed.
        (UNBROKEN, "prompt_unbroken", AT, (120, 129, 130, 130)),
        (UNBROKEN, "queries_needed", OF_NOTES | TEN, (None, None, 120, 129)),
        # Queries are of those whose prompt is an opening.
        (OPENINGS, "queries_window", OF_NOTES, (None, None, 109, 118)),
        # All 130 were planned, and three have no answer: there is nobody who was excluded, and no other tier.
        (PLANNED, "patients", AT, (120, 129, 130, 130)),
        # Candidates are those matched and what is printed of the others.
        (CANDIDATES, "unmatched", PRESENT, (1, 10, 60, 69)),
        (CANDIDATES, "candidates", PRESENT, (60, 69, 321, 321)),
        (CANDIDATES, "prevalence", {"diagnosis": "hiv"}, (60, 69, 321, 321)),
        # Of 65 women 60 were asked, of 80 men 69.
        (WOMEN, "attributable_patients", AT, (50, 50, 129, 129)),
        (WOMEN, "attributable_patients", AT | BY_SEX, (None, None, None, None)),
    ],
)
def test_no_count_tells_another(
    rows: list[Row], metric: str, place: dict[str, str], shown: tuple[int | None, ...]
) -> None:
    assert ends(row_of(published(*rows), metric, **place)) == shown


@pytest.mark.parametrize(
    ("no_fact", "too_long", "none", "split", "few", "stands"),
    [
        # Beside 15 left out, 12 without a prompt would say that 3 were left out for another reason.
        (12, 3, 12, 130, 20, False),
        (12, 0, 12, 130, 20, True),
        (12, 14, 12, 130, 20, True),
        # Beside 15 of a pool of 18, 3 would be left of it.
        (15, 0, 15, 130, 3, False),
        # Of those who are no targets, 7 have none.
        (33, 0, 40, 500, 20, False),
        (33, 0, 60, 500, 20, True),
        # Of those who are no targets, 5 have one.
        (0, 0, 65, 200, 20, False),
        # Few on both sides: neither number is printed.
        (4, 0, 4, 130, 20, True),
        (0, 12, 0, 130, 20, True),
    ],
)
def test_who_has_no_prompt_tells_of_nobody_left_out(
    no_fact: int, too_long: int, none: int, split: int, few: int, stands: bool
) -> None:
    of_split = {"tier": "public", "arm": "train", "by": "sharing"}
    reasons = {"no distinguishing fact": no_fact, "too long": too_long}
    rows = [
        *asked(130 - no_fact - too_long),
        *(count_row("excluded", of, 130, **AT, by="reason", part=part) for part, of in reasons.items() if of),
        *(
            share_row("uniqueness", of, split, **of_split, part=part)
            for part, of in (("1", split - few - none), ("2-4", few), ("no prior", none))
        ),
    ]
    shown = published(*rows).rows("uniqueness")
    assert any(row.count_high is not None for row in shown) is stands
    assert stands or {row.reason for row in shown} == {"it would say how many were left out, 1 to 10 patients"}


def at_tiers(*figures: tuple[int, int], **parts: int) -> Estimates:
    """Return what is published of those given an identifier, of how many asked, by tier; and by category, of most."""
    of, rows = max(asked for _, asked in figures), []
    for tier, (count, asked) in zip(("encounter", "public", "personal"), figures, strict=False):
        place = AT | {"tier": tier}
        rows.append(at("patients", **place)._replace(value=float(asked)))
        rows.append(count_row("excluded", 130 - asked, 130, **place, by="reason", part="no fact"))
        rows.append(share_row("own_identifiers", count, asked, **place))
    over_tiers = AT | {"tier": "", "by": "category"}
    return published(*rows, *(share_row("own_identifiers", parts[part], of, **over_tiers, part=part) for part in parts))


@pytest.mark.parametrize(
    ("figures", "parts", "shown"),
    [
        # One tier alone gave anything: with 14 printed, six of its 20 were given something else.
        ([(0, 130), (20, 130)], {"A": 9, "C": 14}, {"A": (1, 20, 130, 130), "C": (1, 20, 130, 130)}),
        # 125 of 130 asked.
        ([(60, 125)], {"A": 40, "C": 0}, {"A": (None, None, 120, 129), "C": (0, 0, 120, 129)}),
        # With 30 printed, the hidden tier would be ten.
        ([(20, 130), (10, 130)], {"A": 30, "C": 5}, {"A": (22, 30, 130, 130), "C": (1, 10, 130, 130)}),
        # Three categories of ten at most, and 30 patients.
        ([(30, 130)], {"A": 10, "B": 10, "C": 10}, dict.fromkeys("ABC", (None,) * 4)),
        ([(60, 130), (70, 130)], {"A": 55, "C": 68}, {"A": (55, 55, 130, 130), "C": (68, 68, 130, 130)}),
    ],
)
def test_identifiers_by_category_say_nothing_that_those_by_tier_do_not(
    figures: list[tuple[int, int]], parts: dict[str, int], shown: dict[str, tuple[int | None, ...]]
) -> None:
    table = at_tiers(*figures, **parts)
    found = {row.part: ends(row) for row in table.rows("own_identifiers", by="category")}
    assert found == shown


def test_where_everybody_is_scored_queries_are_of_a_split() -> None:
    """Of 1,000 trained on, 130 are targets, and 995 have an opening: with 995 printed, five follow."""
    of_notes = {"tier": "public", "arm": "train", "by": "queries", "part": "10"}
    rows = [
        at("patients", arm="train")._replace(value=1000.0),
        share_row("queries_needed", 40, 995, **of_notes),
        share_row("queries_needed", 40, 995, **of_notes | {"arm": "control"}),
        share_row("membership_found", 40, 995),
    ]
    table = published(*asked(130), *rows)
    found = [row for row in table if row.metric != "patients"]
    assert {ends(row) for row in found} == {(None, None, 990, 999)}
    assert len(found) == 3


def test_edited_text_is_not_of_those_with_a_match_alone() -> None:
    rows = [share_row("hit_rate", 60, 130, **AT), mean_row("near_verbatim_attributable_fraction", 1.7, 55, 130, **AT)]
    assert row_of(published(*asked(130), *rows), "near_verbatim_attributable_fraction", **AT).value == 0.01


@pytest.mark.parametrize("whole", [[], [at("cohort_sets", diagnosis="hiv")._replace(value=59.0)]])
def test_where_1_to_10_sets_were_left_out_no_verdict_is_counted(whole: list[Row]) -> None:
    where = {"form": "text", "tier": "public", "diagnosis": "hiv"}
    left_out = [
        at("cohort_sets", **where)._replace(value=55.0),
        count_row("dropped_sets", 4, 59, **where, by="reason", part="its prompt says it"),
    ]
    table = published(*whole, *left_out, *verdicts({"positive": 40, "not_mentioned": 15}, {"not_mentioned": 55}))
    assert ends(row_of(table, "cohort_sets", **where)) == (49, 58, 59, 59)
    assert ends(row_of(table, "dropped_sets", **where, by="reason", part="its prompt says it")) == (1, 10, 59, 59)
    assert {row.count_low for row in table.rows("verdicts")} == {None}
    sensitivity = row_of(table, "sensitivity", **OF_COHORT)
    # In steps of 15%, at least five patients of 49 to 58.
    assert (sensitivity.value, sensitivity.low, sensitivity.high, sensitivity.of_low) == (0.75, 0.45, 0.9, None)


def test_a_difference_with_a_hidden_count_has_ends_alone() -> None:
    def difference(first: int, second: int, of: int) -> Row:
        sides = zip(("train", "nontrain"), (first, second), strict=True)
        exact = add_differences(as_estimates(share_row("hit_rate", count, of, arm=arm) for arm, count in sides))
        return row_of(Estimates(publish(exact)), "hit_rate", arm="train-nontrain")

    assert difference(40, 20, 130).value == 0.15
    hidden = difference(40, 2, 130)
    assert (hidden.value, hidden.low, hidden.high) == (None, 0.15, 0.4)
    # The exact difference of 1 of 130 alone has an upper end below 5%.
    assert {difference(count, 0, 130) for count in range(1, 6)} == {difference(1, 0, 130)}
    assert {difference(3, count, 200) for count in range(6, 11)} == {difference(4, 9, 200)}
    few = difference(20, 2, 59)
    assert few.value is None
    # Nothing but what is printed of both.
    assert few == difference(20, 9, 59)


def verdicts(present: dict[str, int], absent: dict[str, int]) -> list[Row]:
    """Return all rows of one cohort at one place."""
    sides = {"present": present, "absent": absent}
    rows = [
        count_row("verdicts", cells.get(part, 0), sum(cells.values()), **OF_COHORT, by=side, part=part)
        for side, cells in sides.items()
        for part in VERDICTS
    ]
    judged = {side: sum(cells.values()) - cells.get("unjudged", 0) for side, cells in sides.items()}
    mentioned = sum(cells.get(part, 0) for cells in sides.values() for part in ("positive", "negative", "ambiguous"))
    both = sum(judged.values())
    return [
        *rows,
        share_row("sensitivity", present.get("positive", 0), judged["present"], **OF_COHORT),
        share_row("false_positive_rate", absent.get("positive", 0), judged["absent"], **OF_COHORT),
        share_row("mention_rate", mentioned, both, **OF_COHORT),
        share_row("judged", both, sum(present.values()) + sum(absent.values()), **OF_COHORT),
        at("ppv", **OF_COHORT)._replace(value=0.5),
        at("auroc_all", **OF_COHORT)._replace(value=0.637, low=0.561, high=0.742),
    ]


def test_verdicts_and_all_that_is_made_of_them() -> None:
    table = published(*verdicts({"positive": 40, "not_mentioned": 60}, {"not_mentioned": 96, "positive": 4}))
    assert ends(row_of(table, "sensitivity", **OF_COHORT)) == (40, 40, 100, 100)
    assert ends(row_of(table, "false_positive_rate", **OF_COHORT)) == (1, 10, 100, 100)
    assert ends(row_of(table, "mention_rate", **OF_COHORT)) == (41, 50, 200, 200)
    assert ends(row_of(table, "verdicts", **OF_COHORT, by="absent", part="not_mentioned")) == (90, 99, 100, 100)
    ppv, auroc = row_of(table, "ppv", **OF_COHORT), row_of(table, "auroc_all", **OF_COHORT)
    assert ppv.value is None
    assert ppv.reason
    assert (auroc.value, auroc.low, auroc.high) == (0.65, 0.55, 0.75)
    alone = published(*verdicts({"positive": 40, "not_mentioned": 60}, {"not_mentioned": 100}))
    exact = row_of(alone, "auroc_all", **OF_COHORT)
    assert (exact.value, exact.low, exact.high) == (0.64, 0.56, 0.75)


def test_no_cell_of_the_verdicts_follows_from_their_rows_and_rates() -> None:
    """All tables of 24 texts of patients with the diagnosis; each cell that may be 1 to 10 keeps at least 7 values."""
    alike = defaultdict(list)
    parts = ("positive", "not_mentioned", "ambiguous", "unjudged")
    others = {"not_mentioned": 30}
    for cells in compositions(24, 4):
        rows = [row for row in verdicts(dict(zip(parts, cells, strict=True)), others) if row.metric != "auroc_all"]
        alike[publish(as_estimates(rows)).write_csv()].append(cells)
    for tables in alike.values():
        for values in map(set, zip(*tables, strict=True)):
            assert len(values) >= 7 or not any(1 <= value <= 10 for value in values)


def test_of_a_cohort_of_1_to_10_sets_nothing_but_that() -> None:
    sets = at("cohort_sets", diagnosis="hiv")._replace(value=7.0)
    rows = [sets, *verdicts({"positive": 7}, {"not_mentioned": 7}), share_row("refused", 12, 30, **AT)]
    left = list(published(*rows))
    assert [row.metric for row in left] == ["cohort_sets", "refused"]
    # Not even as the size that its own count is of.
    assert ends(left[0]) == (1, 10, None, None)
    assert left[0].value is None


def test_a_composition_shows_and_leaves_out_what_rests_on_11_patients_or_none() -> None:
    def shown(**behind: int) -> dict[str, float | None]:
        rows = [
            at("k_distribution", **AT, by="k", part=part)._replace(value=value, behind=behind[part])
            for part, value in (("a", 0.611), ("b", 0.25), ("c", 0.139))
        ]
        return {row.part: row.value for row in published(*rows)}

    assert shown(a=30, b=20, c=11) == {"a": 0.61, "b": 0.25, "c": 0.14}
    # With c alone left out, its share would follow; with b, that of both.
    assert shown(a=30, b=20, c=10) == {"a": 0.61, "b": None, "c": None}
    assert shown(a=10, b=5, c=3) == {"a": None, "b": None, "c": None}


def test_parts_of_the_population_are_pooled_by_name() -> None:
    counts = {"Asian": 6, "Black": 7, "White": 117}
    table = published(
        *(share_row("population", count, 130, arm="train", by="race", part=part) for part, count in counts.items())
    )
    assert [(row.part, row.count_low) for row in table] == [("Asian + Black", 13), ("White", 117)]


def test_own_text_by_group_is_pooled_like_the_population_and_needs_the_whole() -> None:
    groups = {"female": (30, 60), "male": (20, 50), "unknown": (0, 20)}

    def shown(whole: int) -> list[tuple[str, int | None]]:
        rows = [share_row("attributable_patients", whole, 130, **AT)]
        rows += [
            share_row("attributable_patients", has, of, **AT, by="sex", part=part) for part, (has, of) in groups.items()
        ]
        return [(row.part, row.count_low) for row in published(*asked(130), *rows) if row.by]

    assert shown(50) == [("female", 30), ("male", 20), ("unknown", 0)]
    assert shown(122) == [("female", None), ("male", None), ("unknown", None)]


@pytest.mark.parametrize(("seed", "patients"), [(0, 130), (1, 18), (2, 60)])
def test_a_whole_table_comes_out_coarser_never_otherwise(seed: int, patients: int) -> None:
    exact = invented_estimates(seed, patients, patients)
    table = publish(exact)
    assert table.schema == pl.Schema(COLUMNS)
    assert publish(exact).equals(table)
    assert table["behind"].null_count() == table.height
    truth = Estimates(exact)
    for row in Estimates(table):
        before = truth.find(**dict(zip(PLACE, row.place, strict=True)))
        if before is None:
            assert " + " in row.part
            continue
        assert row.value is not None or row.reason or row.low is not None or row.count_low is not None
        if row.count_low is not None and before.count_low is not None:
            assert row.count_low <= before.count_low <= (row.count_high or 0)
            assert row.count_low == row.count_high or row.value is None or row.value == 0
            assert not 1 <= row.count_low == row.count_high <= 10
        if row.low is not None and before.low is not None:
            assert row.low <= before.low + 1e-9
        if row.high is not None and before.high is not None:
            assert row.high >= before.high - 1e-9
