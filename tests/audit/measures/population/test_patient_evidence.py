"""Evidence of who the patients are: groups, and whom a prompt fits; and what a run says of it."""

from pathlib import Path

from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.assembly.caveats import find_identity_caveats
from clinaudit.audit.measures.population.description import (
    Census,
    age_band,
    patient_rows,
    race_group,
    sex_group,
    uniqueness_rows,
)
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.priors.facts import read_facts
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates


def test_groups_of_odd_values() -> None:
    assert (age_band(None), age_band(0), age_band(95)) == ("unknown", "<18", "80+")
    assert (sex_group(" Female "), sex_group("x"), sex_group(None)) == ("female", "other", "unknown")
    assert race_group("Hispanic or  Latino") == "hispanic"


def test_whom_a_prompt_fits_is_counted_in_both_splits(tmp_path: Path) -> None:
    # Age 40: eleven patients of both splits. Age 50: four. One of age 60, one without any fact.
    ages = ["40"] * 11 + ["50"] * 4 + ["60", ""]
    rows = [f"p{n:02},{'train' if n % 2 else 'nontrain'},{age}" for n, age in enumerate(ages)]
    notes = [{"patient_id": f"p{n:02}", "note_id": str(n), "text": "cc: cough\n"} for n in range(len(ages))]
    corpus = corpus_of(tmp_path, notes, "patient_id,split,age\n" + "\n".join(rows) + "\n")
    facts = read_facts(corpus, PROFILE, corpus.patients)
    fitting = {row["patient_id"]: row["sharing"] for row in uniqueness_rows(facts, ProbedTiers(("public",)))}
    assert list(fitting.values()) == [11] * 11 + [4] * 4 + [1, None]
    longest = {f"p{n:02}": 100 + n for n in range(len(ages))}
    census = Census(tokens=longest, longest=longest, tag_styles={"p01": {"___"}, "p02": {"XXXX", "___"}})
    found = {row["patient_id"]: row for row in patient_rows(facts.values(), corpus, census)}
    assert [found[who]["tagged"] for who in ("p00", "p01", "p02")] == [[], ["___"], ["XXXX", "___"]]
    assert (found["p16"]["longest_note"], found["p16"]["age"], found["p15"]["split"]) == (116, None, "train")


def said(*rows: Row) -> list[str]:
    return find_identity_caveats(Estimates(as_estimates(rows)))


def test_de_identification_is_said_with_the_tiers_that_it_takes_away() -> None:
    tagged = share_row("tagged_notes", 200, 200, arm="train", by="style", part="___")
    place = {"tier": "public_name", "arm": "train", "by": "sharing", "part": "no prior"}
    (lost,) = said(tagged, share_row("uniqueness", 200, 200, **place)._replace(low=1.0))
    assert "de-identified: tags such as ___" in lost
    assert "nobody has a prompt: public_name." in lost
    (kept,) = said(tagged, share_row("uniqueness", 199, 200, **place))
    assert "nobody has a prompt" not in kept
    assert said(tagged._replace(count_low=0, count_high=10)) == []


def test_notes_too_long_to_be_trained_on_are_said() -> None:
    (words,) = said(share_row("long_notes", 60, 200, arm="train"))
    assert "evidence/long_notes.parquet" in words
    # Of the never seen nobody asks.
    assert said(share_row("long_notes", 0, 200, arm="train"), share_row("long_notes", 200, 200, arm="nontrain")) == []
