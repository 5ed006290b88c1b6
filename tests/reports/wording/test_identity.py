"""The line in the head of a printed page."""

import pytest
from support.results.filled_published import NAMELESS, PROVENANCE

from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.wording.names import identity_line, model_digest


@pytest.mark.parametrize(
    ("provenance", "line"),
    [
        (
            PROVENANCE,
            "Model Ward notes 1.5B (abababababab…) · Institution St. Invented Hospital · Date 2026-11-20",
        ),
        (NAMELESS, "Model ________ (abababababab…) · Institution ________ · Date ________"),
        ({}, "Model ________ · Institution ________ · Date ________"),
    ],
)
def test_what_was_not_given_is_a_line_to_write_on(provenance: dict[str, object], line: str) -> None:
    assert identity_line(read_identity(provenance), model_digest(provenance)) == line


@pytest.mark.parametrize("digests", [None, "text", {"model": None}, {}])
def test_a_record_without_a_digest_shows_none(digests: object) -> None:
    assert model_digest({"digests": digests}) is None
