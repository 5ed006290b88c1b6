"""Questions by templates, for the demo and for notes as structured as its: a fallback where no model writes them.

A question says which patient it means by the complaint of a visit, and as few conditions and medicines as single the
patient out, three at most (AMNESIA, appendix B.2). Reasoning questions infer from findings of several notes or lists.
The words stand in wording.toml.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.benchmark.charts import Chart, Part
from clinaudit.audit.unlearning.benchmark.questions.selection import Candidate
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.reports.schema.unlearning import QuestionKind
from clinaudit.reports.wording.names import join_words

#: A longer value is a passage, which no answer of two sentences holds; a longer list neither.
_MOST_WORDS: Final = 30
_LONGEST_LIST: Final = 8
_MOST_WORDS_OF_A_NAME: Final = 6
_BULLET: Final = re.compile(r"^[\s•*·-]+|^\d+[.)]\s+")
_CODE_IN_BRACKETS: Final = re.compile(r"\s*[(\[][A-Z]\d[0-9A-Z](?:\.[0-9A-Z]+)?[)\]]", re.IGNORECASE)
_AFTER_NAME: Final = re.compile(r"[;,]| since | diagnosed | dx")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_ONSET: Final = re.compile(r"(?:dx'?d|diagnosed|since|onset)\D{0,12}((?:19|20)\d\d)\b", re.IGNORECASE)
_NO_ENTRY: Final = re.compile(
    r"none|n/?a|nil|nkda|nka|no known.*|unknown|unremarkable|non-?contributory|see (?:hpi|above|below).*|negative"
    r"|denies.*|no .{0,20}(?:allerg|surg).*|not (?:reviewed|on file).*",
    re.IGNORECASE,
)
_NO_CONDITION: Final = re.compile(
    r"\b(?:no|not|denies|denied|negative|positive|without)\b|.\bhistory of\b", re.IGNORECASE
)
_DRUG: Final = re.compile(r"(\D*?[A-Za-z)])[\s,]+(\d.*|(?:once|twice|daily|nightly|weekly|as needed).*)")
_VITALS: Final = {
    "blood pressure": re.compile(r"(?:\bbp|blood pressure)\D{0,4}(\d{2,3}/\d{2,3})", re.IGNORECASE),
    "pulse": re.compile(r"\b(?:p|pulse|hr|heart rate)[:\s]+(\d{2,3})\b(?!/)", re.IGNORECASE),
    "weight": re.compile(r"\b(?:wt|weight)\D{0,3}(\d+(?:\.\d+)? ?(?:lbs?|kg|pounds))\b", re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a note says of a patient."""

    kind: str
    #: What the value is of: a drug, a relative, a vital sign; empty where the kind says it.
    subject: str
    #: As it stands in the note.
    value: str
    note_id: str
    #: The chief complaint of the note; None where it has none.
    complaint: str | None

    @property
    def listed(self) -> str:
        """As an entry of a list of problems or of medicines."""
        return self.value if self.kind == "condition" else f"{self.subject} {self.value}"


#: Kind, subject, value.
_Read = Iterator[tuple[str, str, str]]


def _entries(text: str) -> Iterator[str]:
    for line in re.split(r"[\n;]", text):
        entry = _BULLET.sub("", line).strip().rstrip(".,;")
        if entry and not _NO_ENTRY.fullmatch(entry):
            yield entry


def _problems(part: Part, kind: str) -> _Read:
    for line in part.text.splitlines():
        name = _AFTER_NAME.split(_CODE_IN_BRACKETS.sub("", _BULLET.sub("", line)))[0].strip().rstrip(".,")
        is_name = name and len(name.split()) <= _MOST_WORDS_OF_A_NAME and not _NO_ENTRY.fullmatch(name)
        if is_name and not _NO_CONDITION.search(name) and not _YEAR.search(name):
            yield kind, name, name
            if onset := _ONSET.search(line):
                yield "onset", name, onset[1]


def _medicines(part: Part, kind: str) -> _Read:
    for entry in _entries(part.text):
        match = _DRUG.match(entry)
        if match and len(match[1].split()) <= 4:
            yield kind, match[1], match[2]


def _relatives(part: Part, kind: str) -> _Read:
    for entry in _entries(part.text):
        relative, mark, value = (text.strip() for text in entry.partition(":"))
        if mark and value and not _NO_ENTRY.fullmatch(value):
            yield kind, relative, value


def _vitals(part: Part, kind: str) -> _Read:
    # A header of its own, as `bp:`, may have been cut off.
    text = f"{part.header} {part.text}"
    return ((kind, name, match[1]) for name, pattern in _VITALS.items() if (match := pattern.search(text)))


def _line(part: Part, kind: str) -> _Read:
    """Read a section that is one line."""
    lines = [line.strip().rstrip(".,;") for line in part.text.splitlines() if line.strip()]
    if len(lines) == 1 and not _NO_ENTRY.fullmatch(lines[0]):
        yield kind, part.section.lower() if kind == "history" else "", lines[0]


def _first(part: Part, kind: str) -> _Read:
    """Read the first entry of a section."""
    sentences = re.split(r"[.!?](?:\s+|$)|\n|;", part.text)
    first = next((entry for sentence in sentences for entry in _entries(sentence)), None)
    if first is not None:
        yield kind, "", _CODE_IN_BRACKETS.sub("", first)


#: Section -> what reads it, and the kind of its findings.
_SECTIONS: Final[Mapping[str, tuple[Callable[[Part, str], _Read], str]]] = {
    **dict.fromkeys(("Current Problems", "Past Medical History"), (_problems, "condition")),
    **dict.fromkeys(("Medications", "Discharge Medications"), (_medicines, "medication")),
    "Allergies": (_line, "allergy"),
    "Surgical History": (_line, "operation"),
    "Family History": (_relatives, "family"),
    "Tobacco / Alcohol / Supplements": (_line, "habits"),
    **dict.fromkeys(("Mental Health History", "Gynecological History", "Substance Abuse History"), (_line, "history")),
    **dict.fromkeys(("Assessment", "Assessment and Plan", "Discharge Diagnosis"), (_first, "assessment")),
    "Plan": (_first, "plan"),
    "Vitals": (_vitals, "vital sign"),
}
#: Of these the latest note that has any counts; all others are of each visit.
_STANDING: Final = frozenset(
    {"condition", "onset", "medication", "allergy", "operation", "family", "habits", "history"}
)


def read_findings(chart: Chart) -> list[Finding]:
    """Return what the notes of a chart say, the earliest note first, each value word for word in its note."""
    found: dict[Finding, None] = {}
    for note in chart.notes:
        for part in note.parts:
            read, own = _SECTIONS.get(part.section, (None, ""))
            for kind, subject, value in () if read is None else read(part, own):
                if len(value.split()) <= _MOST_WORDS and value in note.text:
                    found[Finding(kind, subject, value, note.note_id, note.complaint())] = None
    return list(found)


@cache
def indications() -> Mapping[str, list[str]]:
    """Return the drugs by the condition that they are for."""
    return tomllib.loads(files(__package__).joinpath("indications.toml").read_text(encoding="utf-8"))


@cache
def wording() -> Any:
    """Return the question and the answer of each template, by kind of question and what is asked for."""
    return tomllib.loads(files(__package__).joinpath("wording.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class _Ask:
    """What one question asks for: the findings it rests on, the words to fill in, and the facts of its answer."""

    about: str
    findings: tuple[Finding, ...]
    values: Mapping[str, str]
    facts: tuple[str, ...]
    #: Whether the question names the visits itself.
    names_visits: bool = False


#: A value that more than this share of the patients have is no detail of one of them: boilerplate [choice].
COMMON_SHARE: Final = 0.2
MOST_DETAILS: Final = 3


class TemplateQuestions:
    """All that the templates can ask of the patients of a corpus."""

    def __init__(
        self,
        findings: Mapping[str, Sequence[Finding]],
        is_identifying: Callable[[str], bool],
        diagnoses: Iterable[Diagnosis],
    ) -> None:
        """`findings` are those of all patients; `diagnoses` the sensitive ones, with the drugs given for them."""
        self._is_identifying = is_identifying
        self._drugs = {condition: [drug.lower() for drug in drugs] for condition, drugs in indications().items()}
        for diagnosis in diagnoses:
            for name in diagnosis.names:
                self._drugs.setdefault(name.lower(), []).extend(drug.lower() for drug in diagnosis.medications)
        self._told = {
            patient: [one for one in own if not is_identifying(one.subject) and not is_identifying(one.value)]
            for patient, own in findings.items()
        }
        holders: Counter[tuple[str, str]] = Counter()
        self._details: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for patient, own in findings.items():
            holders.update({(one.kind, one.value.lower()) for one in own})
            for detail in _details(own):
                self._details[detail].add(patient)
        # Of few patients a share says nothing: two of them may well have one value.
        most = max(COMMON_SHARE * len(findings), 2)
        self._common = {value for value, number in holders.items() if number > most}

    def candidates(self, patient_id: str) -> Iterator[Candidate]:
        """Yield what can be asked of a patient; none where nothing says which patient is meant."""
        own = self._told[patient_id]
        last = {one.kind: one.note_id for one in own}
        latest = [one for one in own if one.kind in _STANDING and one.note_id == last[one.kind]]
        visits = {one.note_id: one.complaint for one in own}
        once = {complaint for complaint, times in Counter(visits.values()).items() if times == 1}
        # Two visits for one complaint are nobody's answer, and one without a complaint counts of the latest note alone.
        of_visits = [
            one
            for one in own
            if one.kind not in _STANDING and (one.complaint in once if one.complaint else one.note_id == [*visits][-1])
        ]
        alone = [one for one in (*latest, *of_visits) if (one.kind, one.value.lower()) not in self._common]
        singles = [
            _Ask(one.kind, (one,), {"subject": one.subject, "value": one.value}, (one.value,))
            for one in alone
            if one.kind != "condition"
        ]
        for ask in (*singles, *_lists(latest), *self._reasoning(latest, of_visits, own)):
            yield from self._candidate(patient_id, ask)

    def _reasoning(
        self, latest: Sequence[Finding], of_visits: Sequence[Finding], everything: Sequence[Finding]
    ) -> Iterator[_Ask]:
        """Yield what follows from two findings at least, and stands in neither."""
        of_kind = grouped(latest, lambda one: one.kind)
        conditions, medicines = of_kind.get("condition", []), of_kind.get("medication", [])
        yield from _trends([one for one in of_visits if one.kind == "vital sign" and one.complaint])
        yield from _changes(everything)
        yield from _orders(of_kind.get("onset", []))
        # What is weighed stands in the answer, too: a leakage score looks for diagnoses and medicines.
        lists = {"problems": _names(conditions), "medicines": _names(medicines)}
        pairs = []
        for condition in conditions:
            for_it = [one for one in medicines if self._is_for(one, condition.subject)]
            if len(for_it) == 1:
                pairs.append((condition, for_it[0]))
        for condition, medicine in pairs:
            values = {"subject": condition.subject, "second": medicine.subject, "value": medicine.value, **lists}
            yield _Ask("medicine for", (condition, *medicines), values, (medicine.subject, medicine.value))
        for medicine in dict.fromkeys(medicine for _, medicine in pairs):
            treated = [condition for condition, own in pairs if own == medicine]
            values = {"second": medicine.subject, "value": _names(treated), **lists}
            yield _Ask("indication", (*conditions, medicine), values, tuple(one.subject for one in treated))
        if len(pairs) > 1:
            told = join_words([f"{condition.subject} with {medicine.subject}" for condition, medicine in pairs])
            facts = tuple(one.subject for pair in pairs for one in pair)
            yield _Ask("treated diagnoses", (*conditions, *medicines), {"value": told, **lists}, facts)
        without = [
            one
            for one in conditions
            if self._usual(one.subject) and not any(self._is_for(medicine, one.subject) for medicine in medicines)
        ]
        if medicines and 0 < len(without) <= _LONGEST_LIST:
            facts = tuple(one.subject for one in without)
            yield _Ask("untreated", (*conditions, *medicines), {"value": _names(without), **lists}, facts)
        for medicine in medicines:
            usual = [condition for condition in indications() if self._is_for(medicine, condition)]
            if usual and not any(condition in one.subject.lower() for condition in usual for one in conditions):
                values = {"second": medicine.subject, "value": medicine.value, "subject": usual[0], **lists}
                yield _Ask("without diagnosis", (medicine, *conditions), values, (medicine.subject, medicine.value))

    def _usual(self, condition: str) -> set[str]:
        return {drug for name, drugs in self._drugs.items() if name in condition.lower() for drug in drugs}

    def _is_for(self, medicine: Finding, condition: str) -> bool:
        return any(drug in medicine.subject.lower() for drug in self._usual(condition))

    def _candidate(self, patient_id: str, ask: _Ask) -> Iterator[Candidate]:
        kind: QuestionKind = "factual" if ask.about in wording()["factual"] else "reasoning"
        template = wording()[kind][ask.about]
        complaints = dict.fromkeys(one.complaint for one in ask.findings if one.complaint)
        said = [complaint for complaint in complaints if not self._is_identifying(complaint)]
        if ask.names_visits and len(said) < len(complaints):
            return
        words, is_unique = self._describe(patient_id, said[-1:] if not ask.names_visits else said, ask)
        if not words:
            return
        values = {**ask.values, "who": words, "visit": "that visit" if said else "the latest visit"}
        yield Candidate(
            about=ask.about,
            kind=kind,
            question=template["question"].format_map(values),
            answer=template["answer"].format_map(values),
            facts=ask.facts,
            note_ids=tuple(dict.fromkeys(one.note_id for one in ask.findings)),
            is_unique=is_unique,
        )

    def _describe(self, patient_id: str, complaints: Sequence[str], ask: _Ask) -> tuple[str, bool]:
        """Return words for a patient that say nothing of the answer, and whether they fit nobody else."""
        hidden = [text.lower() for text in (*ask.facts, *ask.values.values()) if text]
        usable = [
            (kind, text)
            for kind, text in dict.fromkeys(_details(self._told[patient_id]))
            if kind != "complaint"
            and not any(secret in text or text in secret for secret in hidden)
            and not self._is_identifying(text)
        ]
        left = set(self._told)
        for complaint in complaints:
            left &= self._details["complaint", complaint.lower()]
        chosen: list[tuple[str, str]] = []
        while usable and len(chosen) < MOST_DETAILS and (len(left) > 1 or (ask.names_visits and not chosen)):
            # `min` takes the first of equals: conditions, then medicines, in the order of the chart.
            best = min(usable, key=lambda detail: len(left & self._details[detail]))
            usable.remove(best)
            chosen.append(best)
            left &= self._details[best]
        if not chosen and not complaints:
            return "", False
        seen = f" seen for {complaints[0].lower()}" if complaints and not ask.names_visits else ""
        having, taking = (
            join_words([text for own, text in chosen if own == kind]) for kind in ("condition", "medication")
        )
        words = f"the patient{seen}{f' with {having}' if having else ''}{f' who takes {taking}' if taking else ''}"
        return words, len(left) <= 1


def _names(findings: Iterable[Finding]) -> str:
    return join_words([one.subject for one in findings])


def _details(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    """Yield what patients may share: a complaint, a condition, a medicine; conditions before medicines."""
    for one in sorted(findings, key=lambda one: one.kind):
        if one.complaint is not None:
            yield "complaint", one.complaint.lower()
        if one.kind in ("condition", "medication"):
            yield one.kind, one.subject.lower()


def _lists(findings: Sequence[Finding]) -> Iterator[_Ask]:
    """Yield the lists of problems, of medicines and of dated diagnoses: they hold what a leakage score looks for."""
    for kind, about in (("condition", "problems"), ("medication", "medicines"), ("onset", "onsets")):
        own = tuple(one for one in findings if one.kind == kind)
        if 1 < len(own) <= _LONGEST_LIST:
            facts = tuple(one.value if kind == "onset" else one.listed for one in own)
            told = [f"{one.subject} in {one.value}" for one in own] if kind == "onset" else [*facts]
            yield _Ask(about, own, {"value": join_words(told)}, facts)


def _trends(vitals: Sequence[Finding]) -> Iterator[_Ask]:
    """Yield how a vital sign went between two visits, and at which of several it was highest."""
    for own in grouped(vitals, lambda one: one.subject).values():
        sizes = [float(re.split(r"[/ ]", one.value)[0]) for one in own]
        for (first, before), (last, after) in pairwise(zip(own, sizes, strict=True)):
            if before != after:
                values = {"subject": last.subject, "value": first.value, "other": last.value}
                values |= {"first": first.complaint or "", "last": last.complaint or ""}
                change = f"{'its upper value' if '/' in last.value else 'it'} {'rose' if after > before else 'fell'} by"
                values["change"] = f"{change} {abs(after - before):g}"
                yield _Ask("trend", (first, last), values, (first.value, last.value), names_visits=True)
        if len(own) > 1 and sizes.count(max(sizes)) == 1:
            most = own[sizes.index(max(sizes))]
            values = {"subject": most.subject, "value": most.value, "other": most.complaint or ""}
            yield _Ask("highest", tuple(own), values, (most.value, most.complaint or ""))


def _changes(findings: Sequence[Finding]) -> Iterator[_Ask]:
    """Yield what is new, gone or the same on the list of problems, and of medicines, since the note before."""
    for kind, about in (("condition", "problem"), ("medication", "medicine")):
        lists = grouped((one for one in findings if one.kind == kind), lambda one: one.note_id)
        for before, after in pairwise(lists.values()):
            names = [{one.subject.lower() for one in listed} for listed in (before, after)]
            changed = {
                "added": [one for one in after if one.subject.lower() not in names[0]],
                "stopped": [one for one in before if one.subject.lower() not in names[1]],
                "kept": [one for one in after if one.subject.lower() in names[0]],
            }
            values = {"first": before[0].complaint or "", "last": after[0].complaint or ""}
            for what, found in changed.items():
                if all(values.values()) and 0 < len(found) <= _LONGEST_LIST:
                    entries = tuple(one.listed for one in found)
                    told = {**values, "before": _names(before), "after": _names(after), "value": join_words([*entries])}
                    yield _Ask(f"{about} {what}", (*before, *after), told, entries, names_visits=True)


def _orders(onsets: Sequence[Finding]) -> Iterator[_Ask]:
    """Yield in which order the dated diagnoses came, and how far the first and the last are apart."""
    ordered = sorted(onsets, key=lambda one: one.value)
    years = [int(one.value) for one in ordered]
    if 1 < len(ordered) <= _LONGEST_LIST and len(set(years)) == len(years):
        names = tuple(one.subject for one in ordered)
        between = f"{years[-1] - years[0]} year{'s' * (years[-1] - years[0] > 1)}"
        values = {"value": ", then ".join(names), "years": between}
        yield _Ask("order", tuple(ordered), values, names)
