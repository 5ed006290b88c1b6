"""Eponyms and drugs are no names, and a person who bears one is; measured on notes that people wrote (ACI-Bench)."""

import json
from pathlib import Path

import pytest
from support import aci_bench

from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.word_lists.allowed_terms import allowed_terms, is_allowed

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
