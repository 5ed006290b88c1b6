"""What a chart says, as findings: a value that stands word for word in one note, of a kind, about something.

Owns what each section of a note gives. A finding of a visit is identified by that visit's chief complaint; without
one it counts of the latest note alone. A standing one is read from the latest note that has its section. A kind and
subject with two values is nobody's answer: it is left out.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from clinaudit.audit.unlearning.benchmark.charts import Chart, ChartEntry, Part
from clinaudit.audit.unlearning.benchmark.taxonomy import taxonomy


def topics_of(sentence: str) -> tuple[str, ...]:
    """Return the diseases and drugs that a sentence names, in lower case, each once, in order."""
    return tuple(dict.fromkeys(match[0].lower() for match in _pattern().finditer(sentence)))


@cache
def indications() -> Mapping[str, list[str]]:
    """Return the drugs by the condition that they are for."""
    return tomllib.loads(files(__package__).joinpath("indications.toml").read_text(encoding="utf-8"))


@cache
def _pattern() -> re.Pattern[str]:
    # Terms with an open end stand for parts of words, which are no topic.
    words = [word for category in taxonomy().values() for word in category.lexicon if not word.endswith("*")]
    drugs = [drug for held in indications().values() for drug in held]
    terms = sorted({*words, *indications(), *drugs}, key=lambda term: (-len(term), term))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, terms))})(?!\w)", re.IGNORECASE)


#: Findings of one visit.
VISIT_KINDS: Final = frozenset(
    {"vital sign", "status", "assessment", "assessed", "plan", "result", "exam", "review", "course", "management"}
)
#: A longer value is a passage, which no answer of two sentences holds.
MOST_WORDS: Final = 30
#: A shorter sentence of prose is a heading.
_FEWEST_WORDS_OF_PROSE: Final = 5
_MOST_WORDS_OF_A_NAME: Final = 6
_MOST_WORDS_OF_A_DIAGNOSIS: Final = 12
#: Headers of reviews and exams as a whole.
_OF_ALL_SYSTEMS: Final = frozenset(
    {"ros", "review of systems", "physical exam", "physical examination", "exam", "objective"}
)
_BULLET: Final = re.compile(r"^[\s•*·-]+|^\d+[.)]\s+")
_CODE_IN_BRACKETS: Final = re.compile(r"\s*[(\[][A-Z]\d[0-9A-Z](?:\.[0-9A-Z]+)?[)\]]", re.IGNORECASE)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_ONSET: Final = re.compile(r"(?:dx'?d|diagnosed|since|onset)\D{0,12}((?:19|20)\d\d)\b", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bvs)[.!?](?:\s+|$)|\n", re.IGNORECASE)
_NO_ENTRY: Final = re.compile(
    r"none|n/?a|nil|nkda|nka|no known.*|unknown|unremarkable|non-?contributory|see (?:hpi|above|below).*|negative"
    r"|denies.*|no .{0,20}(?:allerg|surg).*|not (?:reviewed|on file).*",
    re.IGNORECASE,
)
_NO_CONDITION: Final = re.compile(
    r"\b(?:no|not|denies|denied|negative|positive|without)\b|.\bhistory of\b", re.IGNORECASE
)
_NO_DRUG: Final = re.compile(r"\b(?:patient|reports?|takes?|taking|she|he|they|is|was|on|utilizes)\b", re.IGNORECASE)
#: Vital signs: name -> how a note writes it, the value in the group.
_VITALS: Final = {
    "blood pressure": re.compile(r"(?:\bbp|blood pressure)\D{0,4}(\d{2,3}/\d{2,3})", re.IGNORECASE),
    "pulse": re.compile(r"\b(?:p|pulse|hr|heart rate)[:\s]+(\d{2,3})\b(?!/)", re.IGNORECASE),
    "weight": re.compile(r"\b(?:wt|weight)\D{0,3}(\d+(?:\.\d+)? ?(?:lbs?|kg|pounds))\b", re.IGNORECASE),
    "temperature": re.compile(r"\b(?:t|temp|temperature)[:\s]+(\d{2,3}(?:\.\d)?)\b(?!/)", re.IGNORECASE),
    "respiratory rate": re.compile(r"\b(?:r|rr|resp|respirations)[:\s]+(\d{1,2})\b(?!/)", re.IGNORECASE),
    "oxygen saturation": re.compile(r"\b(?:sat|spo2|o2 sat)[:\s]+(\d{2,3} ?%?)", re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the notes say of a patient."""

    kind: str
    #: What the value is of: a drug, a relative, a vital sign; empty where the kind says it.
    subject: str
    #: As it stands in the note.
    value: str
    note_id: str
    #: The chief complaint of the note; None where it has none.
    complaint: str | None


def read_findings(chart: Chart) -> list[Finding]:
    """Return the findings of a chart, the latest visit's first, each value word for word in its note."""
    found: list[Finding] = []
    for section, read in _STANDING.items():
        note, parts = _latest_with(chart, section)
        if note is not None:
            found.extend(_of_note(note, finding) for part in parts for finding in read(part))
    conditions = {finding.subject.lower() for finding in found if finding.kind == "condition"}
    for note in reversed(chart.notes):
        for section, read in _OF_VISIT.items():
            for part in note.of_sections(frozenset({section})):
                found.extend(
                    _of_note(note, finding) for finding in read(part) if not _is_out_of_place(finding, conditions)
                )
    verbatim = {note.note_id: note.text for note in chart.notes}
    stated = [finding for finding in dict.fromkeys(found) if _is_usable(finding, verbatim)]
    latest = chart.latest.note_id
    found = [one for one in stated if one.kind not in VISIT_KINDS or one.complaint is not None or one.note_id == latest]
    return list(_unambiguous(found))


def _is_out_of_place(finding: tuple[str, str, str], conditions: set[str]) -> bool:
    """Whether an assessment repeats the list of problems, or what looks like a state is of no condition of the list."""
    kind, subject, value = finding
    return (kind == "assessment" and value.lower() in conditions) or (
        kind == "status" and subject.lower() not in conditions
    )


def _of_note(note: ChartEntry, found: tuple[str, str, str]) -> Finding:
    return Finding(*found, note_id=note.note_id, complaint=note.complaint())


def _latest_with(chart: Chart, section: str) -> tuple[ChartEntry | None, list[Part]]:
    for note in reversed(chart.notes):
        parts = list(note.of_sections(frozenset({section})))
        if parts:
            return note, parts
    return None, []


def _is_usable(finding: Finding, texts: dict[str, str]) -> bool:
    if finding.kind == "condition":
        return True
    return 0 < len(finding.value.split()) <= MOST_WORDS and finding.value in texts[finding.note_id]


def _unambiguous(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings but those that answer one question in two ways: two visits for the same complaint, say."""
    findings = list(findings)
    values = Counter((one.kind, one.subject.lower(), one.complaint) for one in findings)
    return (one for one in findings if values[one.kind, one.subject.lower(), one.complaint] == 1)


def _entries(text: str) -> Iterator[str]:
    for line in re.split(r"[\n;]", text):
        entry = _BULLET.sub("", line).strip().rstrip(".,;")
        if entry and not _NO_ENTRY.fullmatch(entry):
            yield entry


def _conditions(part: Part) -> Iterator[tuple[str, str, str]]:
    for entry in _entries(part.text):
        name = _CODE_IN_BRACKETS.sub("", re.split(r"[;,]| since | diagnosed | dx", entry)[0]).strip().rstrip(".,")
        if (
            name
            and len(name.split()) <= _MOST_WORDS_OF_A_NAME
            and not _NO_CONDITION.search(name)
            and not _YEAR.search(name)
        ):
            yield "condition", name, name


def _onsets(part: Part) -> Iterator[tuple[str, str, str]]:
    for line in part.text.splitlines():
        name = re.split(r"[;,]| since | diagnosed | dx", _BULLET.sub("", line))[0].strip()
        match = _ONSET.search(line)
        if match and name and len(name.split()) <= _MOST_WORDS_OF_A_NAME and not _NO_CONDITION.search(name):
            yield "onset", name, match[1]


def _medications(part: Part) -> Iterator[tuple[str, str, str]]:
    for entry in _entries(part.text):
        match = re.match(r"(\D*?[A-Za-z)])[\s,]+(\d.*|(?:once|twice|daily|nightly|weekly|as needed).*)", entry)
        if match and len(match[1].split()) <= 4 and not _NO_DRUG.search(match[1]):
            yield "medication", match[1], match[2]


def _whole(kind: str) -> Callable[[Part], Iterator[tuple[str, str, str]]]:
    def read(part: Part) -> Iterator[tuple[str, str, str]]:
        lines = [line.strip().rstrip(".,;") for line in part.text.splitlines() if line.strip()]
        if len(lines) == 1 and not _NO_ENTRY.fullmatch(lines[0]):
            yield kind, "", lines[0]

    return read


def _histories(part: Part) -> Iterator[tuple[str, str, str]]:
    lines = [line.strip().rstrip(".;") for line in part.text.splitlines() if line.strip()]
    if len(lines) == 1:
        yield "history", part.section.lower(), lines[0]


def _subjects(kind: str) -> Callable[[Part], Iterator[tuple[str, str, str]]]:
    def read(part: Part) -> Iterator[tuple[str, str, str]]:
        for entry in _entries(part.text):
            subject, mark, value = entry.partition(":")
            if mark and len(subject.split()) <= 4 and value.strip() and not _NO_ENTRY.fullmatch(value.strip()):
                yield kind, subject.strip(), value.strip()

    return read


def _vitals(part: Part) -> Iterator[tuple[str, str, str]]:
    # A header of its own, as `bp:`, may have been cut off.
    text = f"{part.header} {part.text}"
    for name, pattern in _VITALS.items():
        match = pattern.search(text)
        if match:
            yield "vital sign", name, match[1]


def _on_topics(kind: str) -> Callable[[Part], Iterator[tuple[str, str, str]]]:
    """Read prose: a sentence that names one disease or drug is a finding on it, where no other sentence names it."""

    def read(part: Part) -> Iterator[tuple[str, str, str]]:
        sentences = [_BULLET.sub("", sentence) for sentence in _sentences(part.text)]
        topics = [topics_of(sentence) for sentence in sentences]
        named = Counter(topic for held in topics for topic in held)
        for sentence, held in zip(sentences, topics, strict=True):
            own = [topic for topic in held if named[topic] == 1]
            if len(own) == 1 and len(sentence.split()) >= _FEWEST_WORDS_OF_PROSE:
                yield kind, own[0], sentence

    return read


def _systems(kind: str) -> Callable[[Part], Iterator[tuple[str, str, str]]]:
    """Read a review or an exam: a line or a header for each body system."""
    listed = _subjects(kind)

    def read(part: Part) -> Iterator[tuple[str, str, str]]:
        lines = [line.strip().rstrip(".;") for line in part.text.splitlines() if line.strip()]
        is_of_system = part.header.lower() not in _OF_ALL_SYSTEMS
        if is_of_system and len(lines) == 1 and ":" not in lines[0] and not _NO_ENTRY.fullmatch(lines[0]):
            yield kind, part.header, lines[0]
        else:
            yield from listed(part)

    return read


def _statuses(part: Part) -> Iterator[tuple[str, str, str]]:
    for sentence in _sentences(part.text):
        subject, mark, value = _BULLET.sub("", sentence).partition(": ")
        if mark and len(subject.split()) <= 4:
            yield "status", subject.strip(), value.strip()


def _listed(part: Part) -> Iterator[tuple[str, str, str]]:
    """Read the diagnoses of an assessment: its lines, but for those of prose."""
    for entry in _entries(part.text):
        name = _CODE_IN_BRACKETS.sub("", entry).removesuffix(", see above").strip()
        if name and len(name.split()) <= _MOST_WORDS_OF_A_DIAGNOSIS and ":" not in name:
            yield "assessed", name, name


def _first(kind: str) -> Callable[[Part], Iterator[tuple[str, str, str]]]:
    def read(part: Part) -> Iterator[tuple[str, str, str]]:
        first = next((entry for sentence in _sentences(part.text) for entry in _entries(sentence)), None)
        if first is not None:
            yield kind, "", first

    return read


def _sentences(text: str) -> Iterator[str]:
    return (sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence and sentence.strip())


#: Section -> what is read of the latest note that has it.
_STANDING: Final = {
    "Current Problems": _conditions,
    "Past Medical History": lambda part: (*_conditions(part), *_onsets(part)),
    "Medications": _medications,
    "Discharge Medications": _medications,
    "Allergies": _whole("allergy"),
    "Surgical History": _whole("operation"),
    "Family History": _subjects("family"),
    "Tobacco / Alcohol / Supplements": _whole("habits"),
    "Mental Health History": _histories,
    "Gynecological History": _histories,
    "Substance Abuse History": _histories,
}
#: Section -> what is read of every note.
_OF_VISIT: Final = {
    "Assessment": lambda part: (*_first("assessment")(part), *_listed(part), *_on_topics("management")(part)),
    "Assessment and Plan": lambda part: (*_first("assessment")(part), *_listed(part), *_on_topics("management")(part)),
    "Discharge Diagnosis": lambda part: (*_first("assessment")(part), *_listed(part)),
    "Plan": lambda part: (*_first("plan")(part), *_on_topics("management")(part)),
    "History of Present Illness": lambda part: (*_statuses(part), *_on_topics("course")(part)),
    "Review of Systems": _systems("review"),
    "Vitals": _vitals,
    "Lab / Test Results": _subjects("result"),
    "Physical Exam": _systems("exam"),
}
