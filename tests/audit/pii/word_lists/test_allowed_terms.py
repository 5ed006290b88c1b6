"""Eponyms and drugs are no names, and a person who bears one is; measured on notes that people wrote (ACI-Bench)."""

import json
from pathlib import Path

import pytest
from support import aci_bench

from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.word_lists.allowed_terms import allowed_terms, is_allowed, is_dosed_drug
from clinaudit.audit.pii.word_lists.reading import read_words
from clinaudit.priors.diagnoses import drug_words

NAMES = {category.id for category in categories().values() if category.type == "PER" and category.id != "social_handle"}


@pytest.mark.parametrize(
    "term",
    [
        "Parkinson",
        "parkinson's",
        "Sjögren",
        "Bell's palsy",
        "Guillain-Barré",
        "Foley",
        "Lasix",
        "Wright stain",
        "CROHN",
    ],
)
def test_a_term_is_allowed_however_it_is_written(term):
    assert is_allowed(term)


@pytest.mark.parametrize("name", ["Smith", "Cranecott", "Ada", "Wright", "Down"])
def test_other_names_are_not_allowed(name):
    assert not is_allowed(name)


def test_there_are_several_hundred_terms():
    assert len(allowed_terms()) > 1000


@pytest.mark.skipif(not aci_bench.ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")
def test_rules_call_nobody_of_real_notes_a_name_who_is_none():
    people = Path(aci_bench.__file__).with_name("person_names.txt").read_text(encoding="utf-8").splitlines()
    detector = RuleDetector(kinds=NAMES)
    lines = (aci_bench.ACI_BENCH / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    found = [text[span.start : span.end] for text in texts for span in detector.detect(text)]

    assert len(found) > 100
    assert set(found) <= set(people)
    assert not [name for name in found if is_allowed(name) and " " not in name and name not in people]


@pytest.mark.parametrize(
    "word", ["Zosyn", "zosyn", "Metronidazole", "metoprolol", "NIHSS", "PD-L1", "RA", "Bronchitis", "MS."]
)
def test_drugs_scores_and_markers_are_allowed(word):
    assert is_allowed(word)


@pytest.mark.parametrize("word", ["Bartolone", "Ms", "Ra", "Grace", "GRACE", "Politis", "April", "Zerlinib"])
def test_an_ending_alone_makes_no_drug_and_small_letters_no_abbreviation(word):
    assert not is_allowed(word)


@pytest.mark.parametrize(
    ("text", "word", "dosed"),
    [
        ("Zerlinib 5 mg daily", "Zerlinib", True),
        ("Zerlinib DS 5 mg", "Zerlinib", True),
        ("Bartolone 5 mg", "Bartolone", True),
        ("Bartolone is 5", "Bartolone", False),
        ("Smith 5 mg", "Smith", False),
    ],
)
def test_a_word_made_as_drugs_are_is_one_before_a_dose(text, word, dosed):
    assert is_dosed_drug(text, text.index(word), text.index(word) + len(word)) is dosed


def test_no_list_of_clinical_words_holds_a_given_name():
    words = {word.title() for word in drug_words()} | read_words("clinical_shorthand")
    # "ANA" and "ED" are a test and a department; their names are written so by nobody but in capitals throughout.
    assert {
        word for word in words if word in read_words("given_names") or word.title() in read_words("given_names")
    } == {
        "ANA",
        "ED",
    }
