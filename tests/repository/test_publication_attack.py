"""The attack on what is published finds a planted leak of every kind, and none in what is published."""

import polars as pl
import pytest
from support.invented_estimates import invented_estimates
from support.scripts import load_script

from clinaudit.audit.statistics.estimates import count_row, share_row
from clinaudit.reports.estimates.frame import Estimates, as_estimates, at
from clinaudit.reports.estimates.publication import publish

attack = load_script("attack_publication", "benchmarks")

AT = {"form": "text", "tier": "public", "arm": "train"}
HIV = AT | {"diagnosis": "hiv"}


def hidden(row, low, high):
    """Return a row as it is published with bounds alone."""
    return row._replace(value=None, low=None, high=None, count_low=low, count_high=high)


LEAKS = {
    "printed": [share_row("refused", 4, 130, **AT)],
    # 130 − 126.
    "complement": [share_row("refused", 126, 130, **AT)],
    # The cohort has seven sets.
    "size": [hidden(count_row("dropped_sets", 7, 7, **HIV), 1, 10)],
    # 60 − 55.
    "nested": [share_row("hit_rate", 60, 130, **AT), share_row("attributable_patients", 55, 130, **AT)],
    # 60 − 55, where the wider set is that of a mean.
    "nested in a mean": [share_row("answered", 60, 130, **AT), share_row("long_answers", 55, 130, **AT)],
    # Two hidden cells beside one that is not: 30 − 21 = 9 for both, of which one has 8 at least.
    "cells": [
        count_row("verdicts", 21, 30, **HIV, by="present", part="positive"),
        hidden(count_row("verdicts", 8, 30, **HIV, by="present", part="negative"), 8, 10),
        hidden(count_row("verdicts", 1, 30, **HIV, by="present", part="ambiguous"), 1, 10),
        *(count_row("verdicts", 0, 30, **HIV, by="present", part=part) for part in ("not_mentioned", "unjudged")),
    ],
    # 59 − 55.
    "sets": [
        at("cohort_sets", diagnosis="hiv")._replace(value=59.0),
        at("cohort_sets", form="text", tier="public", diagnosis="hiv")._replace(value=55.0),
        share_row("sensitivity", 40, 55, **HIV),
    ],
    # The sum is printed, and the other part.
    "parts": [
        share_row("population", 20, 50, arm="train", by="sex", part="female"),
        hidden(share_row("population", 5, 50, arm="train", by="sex", part="unknown"), 1, 10),
        share_row("population", 25, 50, arm="train", by="sex", part="male"),
    ],
    # 20 − 14, as no other tier gave anything.
    "category": [
        share_row("own_identifiers", 20, 130, **AT),
        share_row("own_identifiers", 0, 130, **AT | {"tier": "encounter"}),
        share_row("own_identifiers", 14, 130, form="text", arm="train", by="category", part="C"),
        share_row("own_identifiers", 12, 130, form="text", arm="train", by="category", part="A"),
    ],
    # 130 − 125.
    "any tier": [
        hidden(at("patients", **AT), 120, 129),
        hidden(count_row("excluded", 5, 130, **AT, by="reason", part="no fact"), 1, 10),
        share_row("own_identifiers", 0, 125, form="text", arm="train", by="category", part="C"),
    ],
    # 130 − 127.
    "planned": [
        at("planned", **AT, by="stage", part="generations")._replace(value=130.0),
        at("patients", **AT)._replace(value=127.0),
        share_row("refused", 0, 127, **AT),
    ],
    # 65 − 60.
    "groups": [
        share_row("population", 65, 130, arm="train", by="sex", part="female"),
        share_row("attributable_patients", 30, 60, **AT, by="sex", part="female"),
    ],
}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_planted_leak_is_found(kind):
    given, _ = attack.attack_tables(Estimates(as_estimates(LEAKS[kind])))
    assert given


def test_a_word_that_gives_a_count_is_found():
    assert attack.attack_words("<p>7 of 130 patients</p> <p>fewer than 11 of 130</p> 17 patients") == ["7 of 130"]
    assert attack.attack_words("126 of 130; <b>&lt;11 of 130</b>; more than 119 of 130") == ["126 of 130"]
    assert attack.attack_words("6 of 42 rules; a count of 1 to 10 patients; epoch 8 of 24") == []


#: Figures over all tiers hang together with those of each.
OF_ALL_TIERS = pl.col("metric").is_in(["own_identifiers", "patients", "excluded"])


def test_a_whole_table_gives_none():
    some = invented_estimates(4, 40, 40).filter(pl.col("tier").is_in(["", "encounter_cc"]) | OF_ALL_TIERS)
    given, fewest = attack.attack_tables(Estimates(publish(some)))
    assert given == []
    assert fewest >= 7
    assert attack.attack_tables(Estimates(some))[0]


@pytest.mark.simulation
@pytest.mark.parametrize(("seed", "size"), list(enumerate([15, 20, 25, 40, 60, 80, 100, 110, 130, 150])))
def test_no_table_of_15_to_150_patients_an_arm_gives_any(seed, size):
    given, fewest = attack.attack_tables(Estimates(publish(invented_estimates(seed, size, size))))
    assert given == []
    assert fewest >= 7
