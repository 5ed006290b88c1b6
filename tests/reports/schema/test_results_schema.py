"""The shipped JSON Schemas are current, and documents of both kinds validate against their own."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.results.filled_results import all_null, empty, filled

from clinaudit.audit.ranges.results import publish
from clinaudit.reports.exact.json_schema import EXACT_SCHEMA_PATH, exact_json_schema
from clinaudit.reports.exact.results import Results, exact_from_json, exact_to_json
from clinaudit.reports.schema.json_schema import SCHEMA_PATH, json_schema
from clinaudit.reports.schema.results import from_json, to_json
from clinaudit.reports.suppression.coarse import coarsen

VARIANTS = [filled(), filled(cell=30), filled(nontrain=False), all_null(), empty()]
SHIPPED = [(SCHEMA_PATH, json_schema()), (EXACT_SCHEMA_PATH, exact_json_schema())]


def validator(path: Path) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("path", "schema"), SHIPPED)
def test_a_shipped_schema_is_current_and_valid(path: Path, schema: dict[str, Any]) -> None:
    assert path.read_text(encoding="utf-8") == json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert list(jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA).iter_errors(schema)) == []


@pytest.mark.parametrize("results", VARIANTS)
def test_evidence_and_published_documents_validate(results: Results) -> None:
    exact, shown = exact_to_json(results), to_json(publish(coarsen(results)))
    validator(EXACT_SCHEMA_PATH).validate(json.loads(exact))
    validator(SCHEMA_PATH).validate(json.loads(shown))
    assert exact_to_json(exact_from_json(exact)) == exact
    assert to_json(from_json(shown)) == shown


def test_an_unknown_field_is_refused() -> None:
    document = json.loads(to_json(publish(coarsen(filled()))))
    document["memorization"]["public"]["train"]["note_text"] = "…"
    assert [error.validator for error in validator(SCHEMA_PATH).iter_errors(document)] == ["additionalProperties"]


def test_a_published_count_is_nobody_or_a_class() -> None:
    document = json.loads(to_json(publish(coarsen(filled()))))
    patients = document["memorization"]["public"]["train"]
    assert patients["hit_patients"] == {"low": 21, "high": 40}
    assert patients["empty"] == 0
    patients["hit_patients"] = 40
    assert not validator(SCHEMA_PATH).is_valid(document)
