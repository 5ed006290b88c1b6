"""Evidence of who the patients are: groups, and whom a prompt fits; and what a run says of it."""

import polars as pl
from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.measures.population.description import (
    age_band,
    count_sharing,
    describe_patients,
    tabulate_facts,
)
from clinaudit.priors.facts import read_facts
from clinaudit.priors.renderings import ProbedTiers


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
