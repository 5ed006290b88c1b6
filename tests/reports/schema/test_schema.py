"""What a run publishes follows the JSON Schema of its records; what the identity's fields take."""

import json

import jsonschema
import pytest
from support.full_report import full_report

from clinaudit.reports.schema.identity import MAX_IDENTITY_CHARS, Identity, identity_problem, read_identity
from clinaudit.reports.schema.run_results import RunResults, json_schema, to_json


def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("results", [full_report().results, full_report("pass", nontrain=0).results, RunResults()])
def test_results_validate_and_are_read_back(results: RunResults) -> None:
    text = to_json(results)
    validator().validate(json.loads(text))
    assert RunResults.model_validate(json.loads(text)) == results


@pytest.mark.parametrize("part", [(), ("verdict",), ("verdict", "rules", 0), ("identifiers",)])
def test_an_unknown_field_is_refused(part: tuple[str | int, ...]) -> None:
    document = json.loads(to_json(full_report().results))
    inner = document
    for step in part:
        inner = inner[step]
    inner["note_text"] = "…"
    assert validator().is_valid(document) is False
    with pytest.raises(ValueError, match="note_text"):
        RunResults.model_validate(document)


def test_no_field_of_the_results_is_a_number_of_patients() -> None:
    """Numbers are limits, settings, epochs and losses, and rules of a policy: figures are rows of the table."""
    found: set[str] = set()

    def look(node: object, name: str) -> None:
        if isinstance(node, dict):
            for key, child in node.items():
                # A mapping is known by its own name, not by its keys.
                look(child, name if name in {"not_asked", "not_tested", "cohorts"} else key)
        elif isinstance(node, list):
            for child in node:
                look(child, name)
        elif isinstance(node, int | float) and not isinstance(node, bool):
            found.add(name)

    results = full_report().results
    assert results.verdict is not None
    verdict = results.verdict.model_copy(update={"not_asked": {"public": 7}})
    look(results.model_copy(update={"verdict": verdict}).model_dump(mode="json"), "")
    assert found == {"limit", "not_asked", "match_tokens", "max_new_tokens", "seed", "site_rules", "epoch"} | {
        "validation_loss"
    }


TAKEN: dict[str, list[object]] = {
    "model_name": ["Scribe 3 (β)"],
    "institution": ["St. Anne's <University> Hospital & Clinics", "x" * MAX_IDENTITY_CHARS],
    "date": ["2024-02-29", "invented data"],
    "intended_use": ["Drafts visit notes; " * 15],
}
REFUSED: dict[str, list[object]] = {
    "model_name": ["", " \t", "two\nlines", "x" * (MAX_IDENTITY_CHARS + 1)],
    "institution": ["turned \u202e about", "\x1b[31mred", "\ud800", 3, None],
    "intended_use": ["x" * 301, "two\nlines"],
    "date": ["2023-02-29", "20241122", "2024-W47-5", "22.11.2024", "2024-11-22 ", "٢٠٢٤-١١-٢٢"],
}


@pytest.mark.parametrize(
    ("name", "value", "is_taken"),
    [(name, value, of is TAKEN) for of in (TAKEN, REFUSED) for name, values in of.items() for value in values],
)
def test_what_a_field_takes(name: str, value: object, is_taken: bool) -> None:
    assert (identity_problem(name, value) is None) is is_taken


def test_what_was_given_last_wins_field_by_field() -> None:
    before = Identity(model_name="Scribe 2", institution="St. Anne")
    assert before.updated(Identity(model_name="Scribe 3", date="2026-11-22")) == Identity(
        model_name="Scribe 3", institution="St. Anne", date="2026-11-22"
    )
    assert before.updated(Identity()) == before


def test_of_a_record_what_is_valid_is_read_back() -> None:
    identity = Identity(model_name="Scribe 3", institution="St. Anne", date="2026-11-22")
    record = identity.as_record()
    for held, read in (
        (record, identity),
        ({**record, "institution": "\x1b[2J", "more": "x"}, Identity(model_name="Scribe 3", date="2026-11-22")),
        ({"date": "soon"}, Identity()),
        (["x"], Identity()),
        (None, Identity()),
    ):
        assert read_identity({"identity": held, "settings": {}}) == read
    assert read_identity({}) == Identity()
