"""The shipped JSON Schema is current, and what is published and the evidence follow it alike."""

import json

import jsonschema
import pytest
from support.results.filled_results import all_null, empty, filled, published_of

from clinaudit.audit.results.ranges.results import derive
from clinaudit.reports.schema.results import SCHEMA_PATH, from_json, json_schema, to_json
from clinaudit.reports.tally.tally import Tally

VARIANTS = [filled(), filled(cell=30), filled(nontrain=False), all_null(), empty()]


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))


def test_the_shipped_schema_is_current_and_valid() -> None:
    schema = json_schema()
    shipped = SCHEMA_PATH.read_text(encoding="utf-8")
    assert shipped == json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert list(jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA).iter_errors(schema)) == []


@pytest.mark.parametrize("tally", VARIANTS)
def test_evidence_and_published_documents_validate(tally: Tally) -> None:
    for results in (derive(tally), published_of(tally)):
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
