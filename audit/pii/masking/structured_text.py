"""Identifiers that a text names by its structure: keys of JSON and XML, columns of a table, segments of HL7 version 2.

Owns the names that fields go by, and what stands beside a name that says of what it is one. What a field of a person
holds is masked whole, however little it looks like it. Knows nothing of what is done with what it finds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from clinaudit.audit.pii.detectors.word_lists import read_words
from clinaudit.audit.pii.entity_span import EntitySpan

#: Names of fields, without blanks and marks, in lower case, and the category of what such a field holds.
_FIELDS: Final = {
    "patient_name": r"(?:pat(?:ient)?|pt|full|first|last|middle|maiden|given|family|fore|legal"
    r"|preferred|client|member|person|sur|f|l|m|other|nick)s?names?|names?|given|family|first|last|middle|forename|surname"
    r"|patients?|client",
    "clinician_name": r"(?:provider|practitioner|physician|doctor|dr|attending(?:physician)?|author|nurse|clinician"
    r"|consultant|gp|pcp|surgeon|registrar|midwife|prescriber|referring\w*|ordering\w*|(?:seen|signed|ordered)by)(?:name)?",
    "relative_name": r"(?:nextofkin|kin|emergencycontact|contact|guardian|spouse)(?:s?name)?|(?:mother|father)s?name",
    "ward": r"(?:room|bed|ward|bay)(?:number|no)?",
    "birth_date": r"dob|dofb|dateofbirth|birthdt|birthdate|birthday|birthtime|bdate|yearofbirth|yob",
    "date": r"(?:date|visitdate|admitdate|admissiondate|dischargedate|servicedate"
    r"|encounterdate|deathdate|dateofservice|dos|do[ad]|(?:last|next)(?:visit|seen|appt|appointment)|appt(?:date)?)",
    "mrn": r"mrn|medicalrecord(?:number|no)?|patientid|patid|ptid|recordnumber"
    r"|chart(?:number|no)?|uhid|hosp(?:ital)?(?:number|no)|subjectid|(?:ip|op|cr)(?:number|no)",
    "ssn": r"ssn|socialsecurity(?:number|no)?|aadhaa?r(?:number|no)?|nino|ahvnr",
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
#: A name, of whatever the fields beside it and the field around it are of.
_OF_ANYTHING: Final = frozenset({"name", "names"})
#: What is somebody's only beside another field of a person, or within one: a drug is given, a line is placed.
_WEAK: Final = frozenset(
    {"given", "family", "first", "last", "middle", "line", "id", "contact", "mobile", "cell", "appt"}
)
#: Fields beside a name that is nobody's.
_BESIDE_A_THING: Final = re.compile(
    r"dos(?:e|es|age)|route|freq(?:uency)?|strength|sig|units?|results?|values?|reference(?:range)?|(?:normal)?range|flag"
    r"|loinc|ndc|rxnorm|cpt|snomed\w*|icd\d*|quantity|qty|refills?|manufacturer|model|lot(?:number|no)?|price"
    r"|tests?|labs?|drugs?|analytes?|parameters?|variables?|measure(?:ment)?s?"
)
#: Fields and headings whose parts have such names.
_OF_THINGS: Final = re.compile(
    r"(?:\w*(?:medication|drug|medicine|test|laborator(?:y|ie)|device|implant|procedure|allerg(?:y|ie|en)|vaccine"
    r"|immuni[sz]ation|diagnos[ei]s|problem|condition|prescription|panel|analyte|specimen|organism|antibiotic|product"
    r"|item|equipment)|meds?|labs?|coding|codes?)(?:s|list|results?)?"
)
#: By one such column (a sentence that ends has none) a line is the heading of a table; otherwise there are two.
_HEADINGS: Final = frozenset({"patient_name", "clinician_name", "ward"})
_HEADING: Final = re.compile(r"|[A-Za-z#][\w .#/()'’&-]{0,30}(?<![a-z]{4}\.)")
_STRING: Final = r'(?:"(?:[^"\\\n]|\\.){0,300}"|\'[^\'\n]{0,300}\')'
_JSON: Final = re.compile(
    rf"(?P<open>[\{{\[])|(?P<close>[\}}\]])|[\"'](?P<key>[\w .-]{{1,40}})[\"']\s{{0,4}}[:=]>?\s{{0,4}}"
    rf"(?P<value>{_STRING}|-?\d[\w.-]{{0,40}}|\[\s{{0,6}}{_STRING}(?:\s{{0,6}},\s{{0,6}}{_STRING}){{0,20}}\s{{0,6}}\])?"
)
_IN_STRING: Final = re.compile(rf"{_STRING}|-?\d[\w.-]*")
_ELEMENT: Final = re.compile(
    r"<(?P<end>/)?(?:\w{1,20}:)?(?P<key>[A-Za-z][\w.-]{0,40})(?P<attributes>(?:\s[^<>]{0,300})?/?)>"
    r"(?:(?P<value>[^<>]{1,300})(?=</))?"
)
_VALUE_ATTRIBUTE: Final = re.compile(r"\b(?:value|extension)\s?=\s?[\"'](?P<value>[^\"'<>]{1,300})[\"']")
_ATTRIBUTE: Final = re.compile(
    r"(?<=[\s;&?(,])(?P<key>[A-Za-z][\w.-]{1,40})\s?=\s?(?P<value>[\"'][^\"'<>\n]{1,300}[\"'])"
)
#: Elements of a page, whose names are those of fields to fill in.
_OF_A_PAGE: Final = frozenset(
    {"a", "button", "form", "iframe", "img", "input", "map", "meta", "object", "param", "select"}
)
_ROW: Final = re.compile(r"<tr\b[^<>]*>(.*?)(?=<tr\b|</table\b|\Z)", re.DOTALL | re.IGNORECASE)
_CELL: Final = re.compile(r"<t[hd]\b[^<>]*>(.*?)(?=</?t[hdr]\b|\Z)", re.DOTALL | re.IGNORECASE)
_SHOWN: Final = re.compile(r"(?:\s|<[^<>]*>)*+((?:[^<>\s]|\s+(?=[^<>\s]))*)")
#: Values that are never anybody: of FHIR's own vocabulary, and what says that there is none.
_NOBODY: Final = frozenset({"", *read_words("no_values")})
_NUMBER_OF_SOMEBODY: Final = re.compile(r"[\"'](?=[^\"']*(?:\d{3}|@))[^\"'\s]+[\"']|[\"']\+?[\d() -]{7,}[\"']")
_QUOTED: Final = re.compile(r"\"[^\"]*\"")
_RULER: Final = re.compile(r"[\s|:+=-]+")
_SEGMENT: Final = re.compile(
    r"(?:^|(?<=[\r\n\v]))[ \t]*(?P<name>PID|NK1|GT1|IN1|IN2|PD1|MRG|PV1|PV2|ORC|OBR|OBX)\|[^\r\n]*"
)
#: What the fields of a segment hold (HL7 version 2.5), by number; of a clinician those alone that are written as one.
_OF_SEGMENT: Final[dict[str, dict[int, str]]] = {
    "PID": {
        **dict.fromkeys((2, 3, 4, 21), "mrn"),
        **dict.fromkeys((5, 6, 9), "patient_name"),
        **dict.fromkeys((7, 29), "birth_date"),
        **dict.fromkeys((11, 12, 23), "street_address"),
        **dict.fromkeys((13, 14), "phone"),
        18: "account_number",
        19: "ssn",
        20: "driver_licence",
    },
    "NK1": {2: "relative_name", **dict.fromkeys((4, 5, 6, 30, 31, 32), "other_code")},
    "GT1": {2: "other_code", 3: "relative_name", **dict.fromkeys((4, 5, 6, 7, 8, 12, 19), "other_code")},
    "PV1": {**dict.fromkeys((3, 6), "ward"), **dict.fromkeys((5, 19, 50), "account_number")},
    "ORC": dict.fromkeys((2, 3, 4), "other_code"),
    "OBR": dict.fromkeys((2, 3), "other_code"),
}
#: Segments whose other fields hold numbers and names of people too, but for those that are coded in PID: sex, race,
#: language, marital status, religion, ethnicity and the like.
_WHOLE: Final = frozenset({"PID", "IN1", "IN2", "PD1", "MRG"})
_CODED_IN_PID: Final = frozenset({1, 8, 10, 15, 16, 17, 22, 24, 25, 26, 27, 28, 30, 31})
#: Of results, the fields that hold somebody: who collected, ordered, interpreted and observed.
_SOMEBODY_IN: Final = {"OBR": frozenset({10, 16, 28, 32, 33, 34, 35}), "OBX": frozenset({16})}
#: Somebody: a number, then names ("004777^LEBAUER^SIDNEY").
_SOMEBODY: Final = re.compile(r"[^|^~]*\^[A-Za-z'’. -]{2,}\^[A-Za-z'’. -]*[^|]*")

_DEEPEST: Final = 40

#: Where something stands in a text, from start to end.
Place = tuple[int, int]
Found = Iterator[tuple[str, Place]]


class StructuredText:
    """Finds what stands in the fields of structured text."""

    name = "structured text"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        found = {EntitySpan(*place, category, self.name) for category, place in _all(text)}
        return sorted(span for span in found if _is_somebody(text[span.start : span.end]))


def _all(text: str) -> Found:
    if '"' in text or "'" in text:
        yield from _objects(text)
        yield from _attributes(text)
    if "<" in text:
        yield from _elements(text)
        begins = [table.start() for table in re.finditer(r"(?i)<table\b", text)]
        for begin, end in pairwise((*begins, len(text))):
            yield from _in_table(text, list(_rows_of_page(text, begin, end)), "|", "")
    if "|" in text:
        yield from _segments(text)
    for rows, mark, heading in _tables(text):
        yield from _in_table(text, rows, mark, heading)


def _of_fields(names: Sequence[str], around: Iterable[str] = ()) -> list[str | None]:
    """Return what each of some fields that stand together holds; None for a field of nobody.

    `around`: the names of the fields that hold them, the outermost first. `name` beside `dose` is no person's, nor is
    one in `medications`.
    """
    plain = [_plain(name) for name in names]
    found = [_category(name) for name in plain]
    holds = next(
        (name for name in map(_plain, reversed(list(around))) if _category(name) or _OF_THINGS.fullmatch(name)), ""
    )
    of_things = _OF_THINGS.fullmatch(holds) is not None
    own = [name for name, kind in zip(plain, found, strict=True) if kind is not None]
    sure = [name for name in own if name not in _WEAK | _OF_ANYTHING]
    if not sure and not _category(holds):
        of_things = of_things or any(map(_BESIDE_A_THING.fullmatch, plain))
    is_person = bool(sure or _category(holds) or len(own) > 1)
    left_out = (_OF_ANYTHING if of_things else frozenset()) | (frozenset() if is_person and not of_things else _WEAK)
    return [None if name in left_out else kind for name, kind in zip(plain, found, strict=True)]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _category(plain: str) -> str | None:
    return next((category for category, names in _OF_FIELD if names.fullmatch(plain)), None)


def _is_somebody(value: str) -> bool:
    return value.strip(" \t.;").lower() not in _NOBODY and any(map(str.isalnum, value))


def _unquoted(text: str, start: int, end: int) -> Place:
    return (start + 1, end - 1) if text[start] in "\"'" and end - start > 1 else (start, end)


#: A field that holds others: its name, and the names and places of those whose values stand in it.
Holder = tuple[str, list[tuple[str, Place]]]


def _in_holder(text: str, holders: Sequence[Holder]) -> Found:
    """Yield what the fields of the innermost of some holders are."""
    fields = holders[-1][1]
    kinds = _of_fields([name for name, _ in fields], [name for name, _ in holders])
    for (name, place), kind in zip(fields, kinds, strict=True):
        if kind is None and name == "value" and _NUMBER_OF_SOMEBODY.fullmatch(text, *place):
            # Of an identifier, or a way to reach somebody (FHIR); the value of a measure has a unit beside it.
            kind = "other_code"
        if kind is not None:
            is_string = text[place[0]] in "\"'["
            yield from (
                ((kind, _unquoted(text, *one.span())) for one in _IN_STRING.finditer(text, *place))
                if is_string
                else ((kind, place),)
            )


def _opened(text: str, holders: list[Holder], name: str) -> Found:
    """Add a holder; so many deep the outermost one, which may never end, ends."""
    holders.append((name, []))
    if len(holders) > _DEEPEST:
        yield from _in_holder(text, holders[:2])
        del holders[1]


def _objects(text: str) -> Found:
    """Yield the fields of JSON, whole or in part, by the object that each stands in."""
    holders: list[Holder] = [("", [])]
    last = ""
    for part in _JSON.finditer(text):
        if part["open"]:
            yield from _opened(text, holders, last)
        elif part["close"]:
            if len(holders) > 1:
                yield from _in_holder(text, holders)
                holders.pop()
        elif part["value"]:
            holders[-1][1].append((part["key"], part.span("value")))
        last = part["key"] if part["key"] and not part["value"] else ""
    while holders:
        yield from _in_holder(text, holders)
        holders.pop()


def _elements(text: str) -> Found:
    """Yield the fields of XML, by the element that each stands in: its text, or its attribute `value`."""
    holders: list[Holder] = [("", [])]
    for part in _ELEMENT.finditer(text):
        if part["end"]:
            # What was left open within it ends with it.
            while any(name == part["key"] for name, _ in holders[1:]):
                yield from _in_holder(text, holders)
                if holders.pop()[0] == part["key"]:
                    break
            continue
        held = part if part["value"] else _VALUE_ATTRIBUTE.search(text, *part.span("attributes"))
        if held is not None:
            holders[-1][1].append((part["key"], held.span("value")))
        if not part["attributes"].endswith("/"):
            yield from _opened(text, holders, part["key"])
    while holders:
        yield from _in_holder(text, holders)
        holders.pop()


def _attributes(text: str) -> Found:
    """Yield the values of `name="value"`, by the element, the call or the line that each stands in."""

    def begin(match: "re.Match[str]") -> int:
        return max(text.rfind(mark, max(0, match.start() - 1_000), match.start()) for mark in "<(\n")

    for place, some in groupby(_ATTRIBUTE.finditer(text), key=begin):
        around = re.match(r"\w*", text[place + 1 : place + 40])
        element = around[0] if around is not None and text[place : place + 1] == "<" else ""
        if element.lower() not in _OF_A_PAGE:
            yield from _in_holder(
                text, [(element, [(one["key"], one.span("value")) for one in some if one["key"] != "value"])]
            )


def _segments(text: str) -> Found:
    for segment in _SEGMENT.finditer(text):
        name, place = segment["name"], segment.start()
        for number, field in enumerate(segment[0].split("|")):
            start, end = place, place + len(field)
            place = end + 1
            kind = _OF_SEGMENT.get(name, {}).get(number)
            if not number or not field.strip():
                continue
            if kind is None and number in _SOMEBODY_IN.get(name, range(99)) and _SOMEBODY.fullmatch(field):
                kind = "clinician_name"
            if kind is None and name in _WHOLE and (number not in _CODED_IN_PID if name == "PID" else len(field) > 2):
                kind = "other_code"
            if kind is not None:
                yield kind, (start, end)


def _in_table(text: str, rows: Sequence[Sequence[Place]], mark: str, heading: str) -> Found:
    """Yield the cells of a table whose heading says what they are, above them or in the first of two columns."""
    written = [[text[begin:end] for begin, end in row] for row in rows]
    if all(len(row) == 2 for row in rows):
        kinds = _of_fields([first for first, _ in written], [heading])
        if sum(kind is not None for kind in kinds) > 1:
            yield from ((kind, row[1]) for kind, row in zip(kinds, rows, strict=True) if kind is not None)
            return
    columns: list[tuple[str | None, int]] = []
    for row, cells in zip(rows, written, strict=True):
        if not columns or (mark in ",;" and len(row) != len(columns)):
            kinds = _of_fields(cells, [heading])
            known = [kind for kind in kinds if kind is not None]
            by_one = not set(known).isdisjoint(_HEADINGS) and (
                mark in "|\t" or (len(row) > 2 if mark == "  " else not any(cell.startswith(" ") for cell in cells))
            )
            is_heading = all(map(_HEADING.fullmatch, cells)) and (len(known) > 1 or by_one)
            columns = (
                [(kind, _column(text, *place)) for kind, place in zip(kinds, row, strict=True)] if is_heading else []
            )
            continue
        for number, place in enumerate(row):
            if mark == "  " and len(row) != len(columns):
                # A cell is left out: the others stand below their headings.
                number = min(range(len(columns)), key=lambda one: abs(columns[one][1] - _column(text, *place)))
            if number < len(columns) and (kind := columns[number][0]) is not None and place[0] < place[1]:
                yield kind, place


def _column(text: str, start: int, _end: int) -> int:
    return start - text.rfind("\n", 0, start)


def _rows_of_page(text: str, begin: int, end: int) -> Iterator[list[Place]]:
    """Yield the rows of a table of HTML: where what each cell shows stands."""
    for row in _ROW.finditer(text, begin, end):
        cells = [_SHOWN.match(text, *cell.span(1)) for cell in _CELL.finditer(text, *row.span(1))]
        if len(cells) > 1:
            yield [cell.span(1) for cell in cells if cell is not None]


def _tables(text: str) -> Iterator[tuple[list[list[Place]], str, str]]:
    """Yield lines that follow one another and are parted into cells alike: their cells, the mark, the line above."""
    rows: list[list[Place]] = []
    mark = above = heading = ""
    place = 0
    for line in (*text.splitlines(keepends=True), "\n"):
        start, place = place, place + len(line)
        bare = line.rstrip("\r\n")
        if bare.strip() and _RULER.fullmatch(bare):
            continue
        own = mark if mark and mark in bare.strip() else _mark_of(bare)
        if own != mark and rows:
            yield rows, mark, heading
            rows = []
        mark = own
        if mark:
            heading = heading if rows else above
            rows.append([(start + begin, start + end) for begin, end in _cells(bare, mark)])
        above = bare if bare.strip() else above if not rows else ""


def _mark_of(line: str) -> str:
    bare = line.strip()
    return next(
        (mark for mark in ("|", "\t", ";", ",", "  ") if mark in bare and len(list(_cells(line, mark))) > 1), ""
    )


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
