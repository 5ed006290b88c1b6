"""A comparison of two invented runs: B is a model that knows no more of whom it was trained on than of strangers."""

from functools import cache

import polars as pl
from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_verdict

from clinaudit.audit.results.comparison.comparison import compare_tables, move_rules
from clinaudit.audit.statistics.estimates import difference_row
from clinaudit.reports.estimates.frame import PLACE, Estimates, Row, as_estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.certificate import AnswerCheck, Forgetting
from clinaudit.reports.schema.comparison import Change, Comparison, Difference
from clinaudit.reports.wording.certificate import conclusion_sentence


def forgetting_table_of(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table of a model of which those trained on give away what strangers do."""
    known = Estimates(table)

    def at(row: Row, arm: str) -> Row | None:
        return known.find(**dict(zip(PLACE, row.place, strict=True)) | {"arm": arm})

    rows = []
    for row in known:
        if row.arm == "train" and row.tier and (stranger := at(row, "nontrain")):
            rows.append(stranger._replace(arm="train"))
        elif row.arm == "train-nontrain" and (stranger := at(row, "nontrain")):
            rows.append(difference_row(stranger, stranger, row.arm))
        else:
            rows.append(row)
    return as_estimates(rows)


@cache
def compared(*, exact: bool = False, certified: bool = True) -> Comparison:
    """Return run A, which leaks, beside run B, which does not; the exact one has pairs at one place."""
    before = invented_estimates()
    after = forgetting_table_of(before)
    verdicts = [invented_verdict(Estimates(table)) for table in (before, after)]
    a, b = (Estimates(table if exact else publish(table)) for table in (before, after))
    changes = compare_tables(a, b)
    if exact:
        changes = [with_pairs(change) if change.metric == "hit_rate" else change for change in changes]
    comparison = Comparison(
        figures="exact" if exact else "published",
        differences=[Difference(name="MODEL", a="Scribe 3", b="Scribe 3, forgetting")],
        rules=move_rules(*verdicts),
        warnings=["The engines ran on other devices or versions."],
        changes=changes,
        forgetting=forgetting(exact=exact) if certified else None,
    )
    return comparison.model_copy(update={"conclusion": conclusion_sentence(comparison)})


def with_pairs(change: Change) -> Change:
    """Return a change as if 119 patients had a match in A alone, and nobody in B alone."""
    return change.model_copy(update={"pairs": 125, "a_only": 119, "b_only": 0})


def forgetting(*, exact: bool = False) -> Forgetting:
    """Return a certificate over 14 named patients, one of whom still leaks."""
    return Forgetting(
        verdict="still leaks",
        named="14",
        before="13 of 14" if exact else None,
        after="1 of 14" if exact else None,
        collapsed=False,
        health=[
            AnswerCheck(
                group="retained",
                question="mean length in tokens",
                allowed="no less than half of A",
                a=118.25 if exact else None,
                b=117.5 if exact else None,
                limit=59.125 if exact else None,
                passed=True,
                reason=None if exact else "not published",
            )
        ],
        reasons=["too few patients have a figure that the patient has for the joint test to weigh it"],
    )
