"""What the fields of a text's structure hold, and names there that are nobody's."""

import pytest
from support.cases import read_cases, read_found
from support.pii.found_spans import found_by

from clinaudit.audit.pii.masking.structured_text import StructuredText


@pytest.mark.parametrize(("text", "found"), read_cases("pii/value_cases.txt")["fields"])
def test_fields_say_what_they_hold(text: str, found: str | None) -> None:
    assert found_by(StructuredText(), text) == read_found(found)


@pytest.mark.parametrize("text", ['{"a":' * 3_000 + '{"name":"Ada Lund"}', "<b>" * 3_000 + "<name>Ada Lund</name>"])
def test_what_never_ends_hides_nothing(text: str) -> None:
    assert found_by(StructuredText(), text) == [("patient_name", "Ada Lund")]
