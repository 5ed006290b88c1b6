"""The shipped JSON Schema is current, and a filled document validates against it."""

import json

import jsonschema
import pytest
from support.results.filled_results import all_null, empty, filled

from clinaudit.reports.schema.json_schema import SCHEMA_PATH, json_schema
from clinaudit.reports.schema.results import Results, from_json, to_json
from clinaudit.reports.suppression.results import suppress

VARIANTS = [filled(), filled(cell=30), filled(nontrain=False), all_null(), empty()]


def schema_text() -> str:
    """How `results.schema.json` is written."""
    return json.dumps(json_schema(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def test_the_shipped_schema_is_current() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text()


def test_the_schema_is_itself_valid() -> None:
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    assert list(jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA).iter_errors(schema)) == []


@pytest.mark.parametrize("results", VARIANTS)
def test_evidence_and_published_documents_validate(results: Results) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))
    for document in (to_json(results), to_json(suppress(results))):
        validator.validate(json.loads(document))
        assert to_json(from_json(document)) == document


def test_an_unknown_field_is_refused() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))
    document = json.loads(to_json(filled()))
    document["memorization"]["public"]["train"]["note_text"] = "…"
    assert [error.validator for error in validator.iter_errors(document)] == ["additionalProperties"]
