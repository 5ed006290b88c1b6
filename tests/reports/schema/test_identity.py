"""The identity of a run: what each field may hold, and what is read from a record that somebody may have changed."""

import pytest

from clinaudit.reports.schema.identity import MAX_IDENTITY_CHARS, Identity, identity_problem, read_identity


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_name", "Scribe 3 (β)"),
        ("institution", "St. Anne's <University> Hospital & Clinics"),
        ("institution", "x" * MAX_IDENTITY_CHARS),
        ("date", "2024-02-29"),
        ("date", "invented data"),
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
