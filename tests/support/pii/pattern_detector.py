"""A detector by patterns, for tests of what is done with what a detector finds."""

import re
from collections.abc import Mapping

from clinaudit.audit.pii.taxonomy import EntitySpan

#: What the invented texts of tests hold.
PATTERNS = {
    "ssn": r"\b\d{3}-\d{2}-\d{4}\b",
    "date": r"\b\d{2}/\d{2}/\d{4}\b|\b[A-Z][a-z]+ \d{1,2}, \d{4}\b|\b\d{4}-\d{2}-\d{2}\b",
    "birth_date": r"(?<=born )\d{2}/\d{2}/\d{4}",
    "patient_name": r"\b(?:Ada|Kari|Per) Lund\b|\bLund, Ada\b",
    "age": r"\b\d{1,3}(?=-year-old)",
    "city": r"\bAarhus\b",
    "occupation": r"\b(?:nurse|pilot)\b",
    "diagnosis": r"\basthma\b",
    "phone": r"\b\d{3}-\d{4}\b",
}


class PatternDetector:
    """Finds what matches; of a text that holds `fails_on` it raises, with the text in its message."""

    name = "patterns"

    def __init__(self, patterns: Mapping[str, str] = PATTERNS, *, fails_on: str | None = None) -> None:
        self._patterns = {category: re.compile(pattern) for category, pattern in patterns.items()}
        self._fails_on = fails_on

    def detect(self, text: str) -> list[EntitySpan]:
        if self._fails_on is not None and self._fails_on in text:
            raise RuntimeError(text)
        return sorted(
            EntitySpan(*found.span(), category, self.name)
            for category, pattern in self._patterns.items()
            for found in pattern.finditer(text)
        )
