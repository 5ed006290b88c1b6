"""Evidence of who the patients are: groups, and whom a prompt fits; and what a run says of it."""

from pathlib import Path

import polars as pl
from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.assembly.caveats import find_identity_caveats
from clinaudit.audit.measures.population.description import (
    age_band,
    count_sharing,
    describe_patients,
    find_long_notes,
    tabulate_facts,
    take_census,
)
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.priors.facts import read_facts
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates


def test_groups_of_odd_values(tmp_path: Path) -> None:
    ages = pl.DataFrame({"age": [None, 0, 17, 18, 79, 80, 95]})
    bands = ages.select(band=age_band(pl.col("age")))["band"].to_list()
    assert bands == ["unknown", "<18", "<18", "18-34", "65-79", "80+", "80+"]
    notes = [{"patient_id": who, "note_id": who, "text": "cc: cough\n"} for who in "abc"]
    patients = "patient_id,split,sex,race\na,train,Female,Hispanic or  Latino\nb,train,male,\nc,train,,Martian\n"
    corpus = corpus_of(tmp_path, notes, patients)
    found = describe_patients(tabulate_facts(read_facts(corpus, PROFILE, corpus.patients).values(), corpus))
    groups = [("female", "hispanic", None), ("male", "unknown", None), ("unknown", "other", None)]
    assert found.select("sex", "race", "tagged").rows() == groups


def test_whom_a_prompt_fits_is_counted_in_both_splits(tmp_path: Path) -> None:
    # Age 40: eleven patients of both splits. Age 50: four. One of age 60, one without any fact.
    ages = ["40"] * 11 + ["50"] * 4 + ["60", ""]
    rows = [f"p{n:02},{'train' if n % 2 else 'nontrain'},{age}" for n, age in enumerate(ages)]
    notes = [{"patient_id": f"p{n:02}", "note_id": str(n), "text": "cc: cough\n"} for n in range(len(ages))]
    corpus = corpus_of(tmp_path, notes, "patient_id,split,age\n" + "\n".join(rows) + "\n")
    facts = read_facts(corpus, PROFILE, corpus.patients)
    assert count_sharing(facts, ProbedTiers(("public",)))["sharing"].to_list() == [11] * 11 + [4] * 4 + [1, None]


def test_a_census_counts_tokens_and_tags_of_all_notes(tmp_path: Path, tokenizer_directory: Path) -> None:
    tokenizer = ModelTokenizer(tokenizer_directory)
    texts = {"a": ["cc: cough\n", "name: ___ XXXX\n", "cc: ___ cough, and a cough\n"], "b": ["cc: cough\n"]}
    notes = [
        {"patient_id": who, "note_id": f"{who}{n}", "text": text} for who in texts for n, text in enumerate(texts[who])
    ]
    corpus = corpus_of(tmp_path, notes)
    census = take_census(corpus, tokenizer, Progress(quiet=True))
    patients = tabulate_facts(read_facts(corpus, PROFILE, corpus.patients).values(), corpus)
    found = describe_patients(patients, census)
    lengths = {who: [len(tokenizer.encode(text)) for text in own] for who, own in texts.items()}
    assert found.select("patient_id", "tokens", "longest_note", "tagged").rows() == [
        ("a", sum(lengths["a"]), max(lengths["a"]), ["XXXX", "___"]),
        ("b", sum(lengths["b"]), max(lengths["b"]), []),
    ]
    long = find_long_notes(found, max(lengths["a"]) - 1)
    assert long.rows() == [("a", max(lengths["a"]))]


def said(*rows: Row) -> list[str]:
    return find_identity_caveats(Estimates(as_estimates(rows)))


def test_de_identification_is_said_with_the_tiers_that_it_takes_away() -> None:
    tagged = share_row("tagged_notes", 200, 200, arm="train", by="style", part="___")
    place = {"tier": "public_name", "arm": "train", "by": "sharing", "part": "no prior"}
    (lost,) = said(tagged, share_row("uniqueness", 200, 200, **place))
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
