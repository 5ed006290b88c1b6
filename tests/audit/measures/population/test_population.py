"""Who the patients are: groups, whom a prompt fits, and their counts as rows, by hand."""

import polars as pl
import pytest
from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.measures.population import (
    age_band,
    count_sharing,
    describe_patients,
    estimate_population,
    estimate_subgroups,
    tabulate_facts,
)
from clinaudit.priors.facts import read_facts
from clinaudit.priors.tiers import ProbedTiers
from clinaudit.reports.estimates.frame import Estimates


def test_groups_of_odd_values(tmp_path):
    ages = pl.DataFrame({"age": [None, 0, 17, 18, 79, 80, 95]})
    bands = ages.select(band=age_band(pl.col("age")))["band"].to_list()
    assert bands == ["unknown", "<18", "<18", "18-34", "65-79", "80+", "80+"]
    notes = [{"patient_id": who, "note_id": who, "text": "cc: cough\n"} for who in "abc"]
    patients = "patient_id,split,sex,race\na,train,Female,Hispanic or  Latino\nb,train,male,\nc,train,,Martian\n"
    corpus = corpus_of(tmp_path, notes, patients)
    found = describe_patients(tabulate_facts(read_facts(corpus, PROFILE, corpus.patients).values(), corpus))
    groups = [("female", "hispanic", None), ("male", "unknown", None), ("unknown", "other", None)]
    assert found.select("sex", "race", "tagged").rows() == groups


def test_whom_a_prompt_fits_is_counted_in_both_splits(tmp_path):
    # Age 40: eleven patients of both splits. Age 50: four. One of age 60, one without any fact.
    ages = ["40"] * 11 + ["50"] * 4 + ["60", ""]
    rows = [f"p{n:02},{'train' if n % 2 else 'nontrain'},{age}" for n, age in enumerate(ages)]
    notes = [{"patient_id": f"p{n:02}", "note_id": str(n), "text": "cc: cough\n"} for n in range(len(ages))]
    corpus = corpus_of(tmp_path, notes, "patient_id,split,age\n" + "\n".join(rows) + "\n")
    facts = read_facts(corpus, PROFILE, corpus.patients)
    assert count_sharing(facts, ProbedTiers(("public",)))["sharing"].to_list() == [11] * 11 + [4] * 4 + [1, None]


PATIENTS = pl.DataFrame(
    [
        ("a", "train", 93, "female", "white", 3, 900, 600, ["stars"]),
        ("b", "train", 47, "male", "unknown", 1, 100, 100, []),
        ("c", "train", None, "female", "white", 2, 500, 301, ["stars", "brackets"]),
        ("d", "nontrain", 17, "female", "black", 4, 800, 300, []),
        ("v", "validation", 60, "male", "white", 1, 50, 50, []),
    ],
    schema=["patient_id", "split", "age", "sex", "race", "notes", "tokens", "longest_note", "tagged"],
    orient="row",
)
PEOPLE = pl.LazyFrame({"patient_id": ["c", "c2", "x"], "person_id": ["c", "c", "x"], "in_both_splits": [True] * 3})
COHORTS = pl.LazyFrame({"diagnosis": ["hiv", "hiv"], "patient_id": ["a", "d"]})
TABLES = {"patients": PATIENTS.lazy(), "people": PEOPLE, "cohorts": COHORTS}


def test_splits_and_cohorts_by_hand():
    found = Estimates(estimate_population(TABLES, training_length=300))

    def value(metric, **place):
        return found.find(metric, **place).value

    assert [value("patients", arm=arm) for arm in ("train", "nontrain", "validation")] == [3, 1, 1]
    assert value("patients", diagnosis="hiv") == 2
    # Ages over 89 count as 90.
    assert value("age_mean", arm="train") == (90 + 47) / 2
    assert found.find("age_mean", arm="train").behind == 2
    bands = {row.part: row.count_low for row in found.rows("population", arm="train", by="age")}
    none = dict.fromkeys(("<18", "18-34", "50-64", "65-79"), 0)
    assert bands == {**none, "35-49": 1, "80+": 1, "unknown": 1}
    assert found.find("population", diagnosis="hiv", by="race", part="black").count_low == 1
    assert (value("notes", arm="train"), value("notes", arm="train", by="tokens")) == (6, 1500)
    assert value("notes", arm="train", by="a_patient", part="tokens") == 500
    assert value("notes", arm="train", by="a_note", part="tokens") == 250
    assert found.find("long_notes", arm="train").count_low == 2
    assert found.find("long_notes", arm="nontrain").count_low == 0
    assert found.find("long_notes", arm="validation") is None
    assert found.find("several_ids", arm="train").count_low == 1
    styles = {row.part: (row.count_low, row.of_low) for row in found.rows("tagged_notes", arm="train")}
    assert styles == {"brackets": (1, 3), "stars": (2, 3)}


@pytest.mark.parametrize(("race", "listed"), [("white", True), ("unknown", False)])
def test_subgroups_by_hand(race, listed):
    answers = pl.LazyFrame(
        [
            ("a", "train", "text", 0),
            ("a", "train", "text", 7),
            ("b", "train", "text", 0),
            ("c", "train", "text", 0),
            ("d", "nontrain", "text", 0),
            ("a", "control", "text", 9),
        ],
        ["patient_id", "arm", "form", "attributable_tokens"],
        orient="row",
    ).with_columns(tier=pl.lit("public"), generation_id=pl.lit("g"), role=pl.lit("target"), model=pl.lit("audited"))
    patients = PATIENTS.lazy().with_columns(race=pl.lit(race))
    found = Estimates(estimate_subgroups({"patients": patients, "generation_metrics": answers}, match_tokens=30))
    place = {"form": "text", "tier": "public", "arm": "train"}
    women = found.find("attributable_patients", **place, by="sex", part="female")
    assert (women.count_low, women.of_low) == (1, 2)
    assert found.find("attributable_patients", **place, by="age", part="35-49").count_low == 0
    assert bool(found.rows("attributable_patients", by="race")) is listed
    assert not found.rows("attributable_patients", arm="control")
