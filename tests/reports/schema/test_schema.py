"""The shipped JSON Schema is current, and what is published and the evidence follow it alike."""

import json
from collections.abc import Callable
from functools import partial

import jsonschema
import pytest
from support.results.filled_results import all_null, empty, exact_of, filled, published_of

from clinaudit.reports.schema.identity import MAX_IDENTITY_CHARS, Identity, identity_problem, read_identity
from clinaudit.reports.schema.results import SCHEMA_PATH, from_json, json_schema, to_json
from clinaudit.reports.tally.tally import Tally

#: Not made before they are asked for: each takes seconds, in every process that collects the tests.
VARIANTS = [filled, partial(filled, cell=30), partial(filled, nontrain=False), all_null, empty]


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))


def test_the_shipped_schema_is_current_and_valid() -> None:
    schema = json_schema()
    shipped = SCHEMA_PATH.read_text(encoding="utf-8")
    assert shipped == json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert list(jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA).iter_errors(schema)) == []


@pytest.mark.parametrize("make", VARIANTS)
def test_evidence_and_published_documents_validate(make: Callable[[], Tally]) -> None:
    tally = make()
    for results in (exact_of(tally), published_of(tally)):
        text = to_json(results)
        validator().validate(json.loads(text))
        assert to_json(from_json(text)) == text


def test_an_unknown_field_is_refused() -> None:
    document = json.loads(to_json(published_of(filled())))
    document["memorization"]["public"]["train"]["note_text"] = "…"
    assert [error.validator for error in validator().iter_errors(document)] == ["additionalProperties"]


def test_a_published_count_is_nobody_or_a_class() -> None:
    document = json.loads(to_json(published_of(filled())))
    patients = document["memorization"]["public"]["train"]
    assert patients["hit_patients"] == {"low": 21, "high": 40}
    assert patients["empty"] == 0
    patients["hit_patients"] = 40
    assert not validator().is_valid(document)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_name", "Scribe 3 (β)"),
        ("institution", "St. Anne's <University> Hospital & Clinics"),
        ("institution", "x" * MAX_IDENTITY_CHARS),
        ("date", "2024-02-29"),
        ("date", "invented data"),
        ("intended_use", "Drafts visit notes; " * 15),
    ],
)
def test_what_a_field_takes(name: str, value: str) -> None:
    assert identity_problem(name, value) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_name", ""),
        ("model_name", " \t"),
        ("model_name", "two\nlines"),
        ("model_name", "x" * (MAX_IDENTITY_CHARS + 1)),
        ("institution", "turned \u202e about"),
        ("institution", "\x1b[31mred"),
        ("institution", "\ud800"),
        ("intended_use", "x" * 301),
        ("intended_use", "two\nlines"),
        ("institution", 3),
        ("institution", None),
        ("date", "2023-02-29"),
        ("date", "20241122"),
        ("date", "2024-W47-5"),
        ("date", "22.11.2024"),
        ("date", "2024-11-22 "),
        ("date", "٢٠٢٤-١١-٢٢"),
    ],
)
def test_what_a_field_refuses(name: str, value: object) -> None:
    assert identity_problem(name, value) is not None


def test_what_was_given_last_wins_field_by_field() -> None:
    before = Identity(model_name="Scribe 2", institution="St. Anne")
    assert before.updated(Identity(model_name="Scribe 3", date="2026-11-22")) == Identity(
        model_name="Scribe 3", institution="St. Anne", date="2026-11-22"
    )
    assert before.updated(Identity()) == before


@pytest.mark.parametrize("record", [{}, {"identity": None}, {"identity": ["x"]}, {"identity": {"date": "soon"}}])
def test_what_is_not_valid_is_not_given(record: dict[str, object]) -> None:
    assert read_identity(record) == Identity()


def test_a_record_is_read_back() -> None:
    identity = Identity(model_name="Scribe 3", institution="St. Anne", date="2026-11-22")
    assert read_identity({"identity": identity.as_record(), "settings": {}}) == identity
    hostile = {**identity.as_record(), "institution": "\x1b[2J", "more": "x"}
    assert read_identity({"identity": hostile}) == Identity(model_name="Scribe 3", date="2026-11-22")
