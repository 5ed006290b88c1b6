"""Identifiers that a text names by its structure: keys of JSON and XML, columns of a table, segments of HL7 version 2.

Owns the names that fields go by. What a field of a person holds is masked whole, however little it looks like it. Knows
nothing of what is done with what it finds.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.audit.pii.detectors.word_lists import read_words
from clinaudit.audit.pii.entity_span import EntitySpan

#: Names of fields, without blanks and marks, in lower case, and the category of what such a field holds.
_FIELDS: Final = {
    "patient_name": r"(?:pat(?:ient)?|pt|full|first|last|middle|maiden|given|family|fore|legal"
    r"|preferred|client|member|person|sur)s?names?|name|names|given|family|firstname|lastname|surname|patient",
    "clinician_name": r"(?:provider|physician|doctor|attending|author|nurse|clinician"
    r"|surgeon|referring\w*|ordering\w*)(?:name)?",
    "relative_name": r"(?:nextofkin|kin|emergencycontact|contact|guardian|spouse|mother|father)(?:s?name)?",
    "birth_date": r"dob|dateofbirth|birthdate|birthday|birthtime|bdate|yearofbirth|yob",
    "date": r"(?:date|visitdate|admitdate|admissiondate|dischargedate|servicedate"
    r"|encounterdate|deathdate|dateofservice|dos)",
    "mrn": r"mrn|medicalrecord(?:number|no)?|patientid|patid|ptid|recordnumber"
    r"|chart(?:number|no)?|uhid|hospitalnumber|subjectid",
    "ssn": r"ssn|socialsecurity(?:number|no)?",
    "phone": r"(?:home|work|cell|mobile)?(?:tele)?phone(?:number|no)?|mobile|cell|tel|telecom|pager",
    "fax": r"fax(?:number|no)?",
    "email": r"e?mail(?:address)?",
    "street_address": r"(?:home|street|mailing)?address(?:line)?\d?|street\w{0,12}|addr|line\d?",
    "city": r"city|town|municipality",
    "county": r"county|district|parish",
    "zip_code": r"zip(?:code)?|postal(?:code)?|postcode",
    "health_plan_number": r"(?:member|policy|insurance|subscriber|plan|beneficiary|medicare|medicaid)(?:id|number|no)",
    "account_number": r"(?:account|acct|visit|encounter|csn|claim)(?:id|number|no)?",
    "licence_number": r"(?:licen[cs]e|npi|dea|certificate)(?:number|no)?",
    "device_id": r"(?:device|serial|udi)(?:id|identifier|number|no)?",
    "ip_address": r"ip(?:address)?",
    "social_handle": r"(?:user|login|screen)(?:name|id)|handle",
    "other_code": r"id|identifier|extension|uuid|guid|accession(?:number|no)?",
}
_OF_FIELD: Final = tuple((category, re.compile(names)) for category, names in _FIELDS.items())
#: Fields that hold others ("address": {...}, "name": [{...}]); within them these words name parts of a person.
_STRING: Final = r'(?:"(?:[^"\\\n]|\\.){0,300}"|\'[^\'\n]{0,300}\')'
_JSON: Final = re.compile(
    rf"[\"'](?P<key>[\w .-]{{1,40}})[\"']\s{{0,4}}[:=]>?\s{{0,4}}"
    rf"(?P<value>{_STRING}|-?\d[\w.-]{{0,40}}|\[\s{{0,6}}{_STRING}(?:\s{{0,6}},\s{{0,6}}{_STRING}){{0,20}}\s{{0,6}}\])"
)
_IN_STRING: Final = re.compile(rf"{_STRING}|-?\d[\w.-]*")
_ELEMENT: Final = re.compile(
    r"<(?:\w{1,20}:)?(?P<key>[A-Za-z][\w.-]{0,40})(?:\s[^<>]{0,300})?>(?P<value>[^<>]{1,300})</"
)
_VALUE_ATTRIBUTE: Final = re.compile(
    r"<(?:\w{1,20}:)?(?P<key>[A-Za-z][\w.-]{0,40})\s(?:[^<>]{0,200}\s)?(?:value"
    r"|extension)\s?=\s?[\"'](?P<value>[^\"'<>]{1,300})[\"']"
)
_ATTRIBUTE: Final = re.compile(
    r"(?<=[\s;&?(,])(?P<key>[A-Za-z][\w.-]{1,40})\s?=\s?(?P<value>[\"'][^\"'<>\n]{1,300}[\"'])"
)
#: Values that are never anybody: of FHIR's own vocabulary, and what says that there is none.
_NOBODY: Final = frozenset({"", *read_words("no_values")})
_NUMBER_OF_SOMEBODY: Final = re.compile(r"[\"'](?=[^\"']*(?:\d{3}|@))[^\"'\s]+[\"']|[\"']\+?[\d() -]{7,}[\"']")
_QUOTED: Final = re.compile(r"\"[^\"]*\"")
_RULER: Final = re.compile(r"[\s|:+=-]+")
_SEGMENT: Final = re.compile(
    r"(?:^|(?<=[\r\n\v]))[ \t]*(?P<name>PID|NK1|GT1|IN1|IN2|PD1|MRG|PV1|PV2|ORC|OBR)\|[^\r\n]*"
)
#: Fields of PID (HL7 version 2.5, 3.4.2), by number.
_OF_PID: Final = {
    **dict.fromkeys((2, 3, 4), "mrn"),
    **dict.fromkeys((5, 6, 9), "patient_name"),
    **dict.fromkeys((7, 29), "birth_date"),
    **dict.fromkeys((11, 12, 23), "street_address"),
    **dict.fromkeys((13, 14), "phone"),
    18: "account_number",
    19: "ssn",
    20: "driver_licence",
    21: "mrn",
}
#: Coded or single letters: sex, race, language, marital status, religion, ethnicity and the like.
_CODED_IN_PID: Final = frozenset({1, 8, 10, 15, 16, 17, 22, 24, 25, 26, 27, 28, 30, 31})
_OF_KIN: Final = {"NK1": frozenset({2, 4, 5, 6, 30, 31, 32}), "GT1": frozenset({2, 3, 4, 5, 6, 7, 8, 12, 19})}
#: Somebody: a number, then names ("004777^LEBAUER^SIDNEY").
_SOMEBODY: Final = re.compile(r"[^|^~]*\^[A-Za-z'’. -]{2,}\^[A-Za-z'’. -]*[^|]*")


class StructuredText:
    """Finds what stands in the fields of structured text."""

    name = "structured text"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        found = {EntitySpan(*place, category, self.name) for category, place in _all(text)}
        return sorted(span for span in found if _is_somebody(text[span.start : span.end]))


def _all(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    if '"' in text or "'" in text:
        for match in _JSON.finditer(text):
            category = _category(match["key"])
            if category is None and match["key"] == "value" and _NUMBER_OF_SOMEBODY.fullmatch(match["value"]):
                # Of an identifier, or a way to reach somebody (FHIR); the value of a measure has a unit beside it.
                category = "other_code"
            if category is not None:
                for value in _IN_STRING.finditer(text, *match.span("value")):
                    yield category, _unquoted(text, *value.span())
        for match in _ATTRIBUTE.finditer(text):
            category = _category(match["key"])
            if category is not None:
                yield category, _unquoted(text, *match.span("value"))
    if "<" in text:
        for pattern in (_ELEMENT, _VALUE_ATTRIBUTE):
            for match in pattern.finditer(text):
                category = _category(match["key"])
                if category is not None:
                    yield category, match.span("value")
    if "|" in text:
        yield from _segments(text)
    yield from _columns(text)


def _category(key: str) -> str | None:
    """Return what a field of a name holds; None for a field of nobody."""
    plain = re.sub(r"[^a-z0-9]", "", key.lower())
    return next((category for category, names in _OF_FIELD if names.fullmatch(plain)), None)


def _is_somebody(value: str) -> bool:
    return value.strip(" \t.;").lower() not in _NOBODY and any(map(str.isalnum, value))


def _unquoted(text: str, start: int, end: int) -> tuple[int, int]:
    return (start + 1, end - 1) if text[start] in "\"'" and end - start > 1 else (start, end)


def _segments(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for segment in _SEGMENT.finditer(text):
        name = segment["name"]
        place = segment.start()
        for number, field in enumerate(segment[0].split("|")):
            start, end = place, place + len(field)
            place = end + 1
            if number == 0 or not field.strip():
                continue
            if name == "PID":
                if number not in _CODED_IN_PID:
                    yield _OF_PID.get(number, "other_code"), (start, end)
            elif number in _OF_KIN.get(name, ()):
                yield "relative_name" if number == 2 else "other_code", (start, end)
            elif name in ("IN1", "IN2", "PD1", "MRG"):
                if len(field) > 2:
                    yield "other_code", (start, end)
            elif name in ("PV1", "PV2", "ORC") or number in (10, 16, 28, 32):
                if _SOMEBODY.fullmatch(field):
                    yield "clinician_name", (start, end)
                elif name == "PV1" and number in (3, 5, 6, 19, 50):
                    yield "ward" if number in (3, 6) else "account_number", (start, end)


def _columns(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the cells below a line of two names of fields or more, as far as the table goes."""
    place = 0
    header: tuple[str, Sequence[str | None]] | None = None
    for line in text.splitlines(keepends=True):
        start, place = place, place + len(line)
        bare = line.rstrip("\r\n")
        if not bare.strip():
            header = None
            continue
        if _RULER.fullmatch(bare):
            continue
        if header is not None:
            mark, columns = header
            cells = list(_cells(bare, mark))
            if len(cells) > 1:
                for category, (begin, end) in zip(columns, cells, strict=False):
                    if category is not None and begin < end:
                        yield category, (start + begin, start + end)
                continue
            header = None
        header = _header(bare)


def _header(line: str) -> tuple[str, list[str | None]] | None:
    for mark in ("|", "\t", ";", ",", "  "):
        if mark in line:
            columns = [_category(line[begin:end]) for begin, end in _cells(line, mark)]
            if len(columns) > 1 and sum(column is not None for column in columns) >= min(2, len(columns)):
                return mark, columns
    return None


def _cells(line: str, mark: str) -> Iterator[tuple[int, int]]:
    """Yield where each cell of a line stands, without the blanks and quotes around it."""
    parts = re.finditer(r"(?:\"[^\"]*\"|\S(?: ?\S)*)", line) if mark == "  " else None
    if parts is not None:
        yield from (part.span() for part in parts)
        return
    if mark == "|":
        begin = len(line) - len(line.lstrip())
        if line[begin : begin + 1] == "|":
            line = line[:begin] + " " + line[begin + 1 :]
        line = line.rstrip().removesuffix("|")
    place = 0
    # A mark within quotes parts no cells.
    marked = line if mark == "|" else _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), line)
    for part in marked.split(mark):
        stripped = line[place : place + len(part)].strip(' "*_`')
        begin = line.find(stripped, place) if stripped else place
        yield begin, begin + len(stripped)
        place += len(part) + len(mark)
