"""All questions that the templates can ask of a patient, with their answers: of one finding, or of two that are joined.

Owns which findings are asked for, how two of them make a reasoning question (AMNESIA, 3.1: it must join at least two),
and how a question says which patient it means without naming anybody: by the complaint of a visit and by as few
conditions and medicines as single the patient out, three at most (appendix B.2: a question must need this patient's
details and may hold no identifying information). A detail that the answer holds, or that identifies, is never one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from clinaudit.audit.unlearning.benchmark.questions.findings import Finding, indications
from clinaudit.audit.unlearning.benchmark.questions.wording import Template, templates
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.reports.schema.unlearning_scores import QuestionKind

MOST_DETAILS: Final = 3
#: Conditions first: a sentence reads better with them, and lists of medicines change.
_DETAIL_KINDS: Final = ("condition", "medication")


@dataclass(frozen=True, slots=True, order=True)
class Detail:
    """Something that a patient has and others may share: `kind` is `complaint`, `condition` or `medication`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Description:
    """The words for a patient."""

    #: `the patient seen for ear pressure with gout who takes famotidine`.
    words: str
    #: Whether nobody else of the corpus fits them.
    is_unique: bool
    #: Whether they say anything at all.
    is_telling: bool = True


class Describer:
    """Describes patients of a corpus; built from the findings of all of them."""

    def __init__(self, findings: Mapping[str, Sequence[Finding]], is_identifying: Callable[[str], bool]) -> None:
        self._findings = findings
        self._is_identifying = is_identifying
        self._holders: defaultdict[Detail, set[str]] = defaultdict(set)
        for patient_id, found in findings.items():
            for detail in _details(found):
                self._holders[detail].add(patient_id)

    def describe(
        self, patient_id: str, *, anchors: Sequence[str], hidden: Iterable[str], say_anchors: bool = True
    ) -> Description:
        """Return words for a patient, seen for the complaints `anchors`, that say nothing of `hidden` (values).

        Where `say_anchors` is False the question itself names the complaints.
        """
        secrets = [text.lower() for text in hidden if text]
        usable = [
            detail
            for detail in dict.fromkeys(_details(self._findings[patient_id]))
            if detail.kind != "complaint"
            and not any(secret in detail.text or detail.text in secret for secret in secrets)
            and not self._is_identifying(detail.text)
        ]
        usable.sort(key=lambda detail: _DETAIL_KINDS.index(detail.kind))
        left: set[str] | None = None
        for anchor in anchors:
            left = self._still(left, Detail("complaint", anchor.lower()))
        chosen: list[Detail] = []
        while usable and len(chosen) < MOST_DETAILS and (left is None or len(left) > 1 or not (chosen or say_anchors)):
            # `min` takes the first of equals: the order of the chart.
            best = min(usable, key=lambda detail: len(self._still(left, detail)))
            usable.remove(best)
            chosen.append(best)
            left = self._still(left, best)
        words = _words(chosen, anchors if say_anchors else ())
        return Description(words, left is not None and len(left) <= 1, is_telling=bool(chosen or anchors))

    def _still(self, left: set[str] | None, detail: Detail) -> set[str]:
        """Return who is left when a detail is given; None: nothing has been given yet."""
        return self._holders[detail] if left is None else left & self._holders[detail]


def _details(findings: Iterable[Finding]) -> Iterable[Detail]:
    for finding in findings:
        if finding.complaint is not None:
            yield Detail("complaint", finding.complaint.lower())
        if finding.kind in _DETAIL_KINDS:
            yield Detail(finding.kind, finding.subject.lower())


def _words(details: Iterable[Detail], anchors: Sequence[str]) -> str:
    of_kind = {kind: [detail.text for detail in details if detail.kind == kind] for kind in _DETAIL_KINDS}
    seen = f" seen for {anchors[0].lower()}" if anchors else ""
    having = f" with {_join(of_kind['condition'])}" if of_kind["condition"] else ""
    taking = f" who takes {_join(of_kind['medication'])}" if of_kind["medication"] else ""
    return f"the patient{seen}{having}{taking}"


def _join(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


#: A value that more than this share of the patients have is no detail of one of them: boilerplate [choice].
COMMON_SHARE: Final = 0.2
#: With fewer joins by meaning than this, findings of one visit are joined whatever they are of.
_FEW_JOINS: Final = 8
#: How a question names findings that are joined so.
_LABELS: Final = {
    "course": "history of {}",
    "management": "plan for {}",
    "review": "review of systems ({})",
    "exam": "exam ({})",
    "result": "result of {}",
    "vital sign": "{}",
}
_CONTEXT_ONLY: Final = frozenset({"condition"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """One question that may be asked of a patient."""

    #: What is asked for: the key of its template; or `served`, `given`.
    about: str
    kind: QuestionKind
    #: The question, then its rephrasings.
    wordings: tuple[str, ...]
    answer: str
    facts: tuple[str, ...]
    note_ids: tuple[str, ...]
    #: Whether nobody else of the corpus fits its description of the patient.
    is_unique: bool


@dataclass(frozen=True, slots=True)
class _Join:
    """Two findings (or three) that make a reasoning question."""

    about: str
    findings: tuple[Finding, ...]
    values: Mapping[str, str]
    facts: tuple[str, ...]
    #: Said by the question: the description must not hide them, and holds none of the answer.
    anchors: tuple[str | None, ...] = ()


class CandidateMaker:
    """Asks all that the templates can ask of the patients of a corpus."""

    def __init__(
        self,
        findings: Mapping[str, Sequence[Finding]],
        is_identifying: Callable[[str], bool],
        diagnoses: Iterable[Diagnosis],
    ) -> None:
        """`findings` are those of all patients; `diagnoses` the sensitive ones, with the drugs given for them."""
        self._findings = findings
        self._is_identifying = is_identifying
        self._describer = Describer(findings, is_identifying)
        self._common = _common_values(findings)
        self._drugs = [
            *((condition, drug) for condition, drugs in indications().items() for drug in drugs),
            *(
                (name.lower(), drug.lower())
                for diagnosis in diagnoses
                for name in diagnosis.names
                for drug in diagnosis.medications
            ),
        ]

    def make(self, patient_id: str) -> Iterator[Candidate]:
        """Yield the candidates of a patient, factual ones first."""
        usable = [finding for finding in self._findings[patient_id] if self._is_usable(finding)]
        for finding in usable:
            if finding.kind not in _CONTEXT_ONLY:
                join = _Join(finding.kind, (finding,), _values(finding), (finding.value,))
                yield from self._candidate(patient_id, join)
        joins = list(self._joins(usable))
        if len(joins) < _FEW_JOINS:
            joins.extend(_read_together(usable))
        for join in joins:
            yield from self._candidate(patient_id, join)

    def _is_usable(self, finding: Finding) -> bool:
        if finding.kind in _CONTEXT_ONLY:
            return not self._is_identifying(finding.subject)
        return (finding.kind, finding.value.lower()) not in self._common and not any(
            self._is_identifying(text) for text in (finding.value, finding.subject)
        )

    def _candidate(self, patient_id: str, join: _Join) -> Iterator[Candidate]:
        """Yield the question that asks for a join; none where nothing says which patient is meant."""
        template: Template = templates()[join.about]
        complaint = join.findings[0].complaint
        anchors = join.anchors or (complaint,)
        said = [anchor for anchor in anchors if anchor is not None and not self._is_identifying(anchor)]
        described = self._describer.describe(
            patient_id, anchors=said, hidden=[*join.facts, *_subjects(join)], say_anchors=not join.anchors
        )
        visit = "that visit" if said else "the latest visit"
        values = {**join.values, "who": described.words, "visit": visit}
        if not described.is_telling:
            return
        yield Candidate(
            about=join.about,
            kind=template.kind,
            wordings=template.ask(values),
            answer=template.reply(values),
            facts=join.facts,
            note_ids=tuple(dict.fromkeys(finding.note_id for finding in join.findings)),
            is_unique=described.is_unique,
        )

    def _joins(self, findings: Sequence[Finding]) -> Iterator[_Join]:
        of_kind: dict[str, list[Finding]] = {}
        for finding in findings:
            of_kind.setdefault(finding.kind, []).append(finding)

        def each(kind: str) -> list[Finding]:
            return of_kind.get(kind, [])

        for assessment in each("assessment"):
            for plan in _of_same_note(assessment, each("plan")):
                yield _pair("explained and treated", assessment, plan)
            for vital in _of_same_note(assessment, each("vital sign")):
                yield _pair("assessed with", assessment, vital, subject=vital.subject)
            for exam in _of_same_note(assessment, each("exam")):
                yield _pair("assessed with", assessment, exam, subject=f"finding on exam ({exam.subject})")
        for course in each("course"):
            for management in _of_same_note(course, each("management")):
                if course.subject == management.subject:
                    yield _pair("reported and decided", course, management, subject=course.subject)
        for review in each("review"):
            for exam in _of_same_note(review, each("exam")):
                if review.subject.lower() == exam.subject.lower():
                    yield _pair("reported and found", review, exam, subject=review.subject)
        treated = list(self._treated(each("condition"), each("medication")))
        for condition, medication in treated:
            facts = (medication.subject, medication.value)
            values = {"subject": condition, "second": medication.subject, "other": medication.value}
            yield _Join("medicine for", (medication,), values, facts)
            for status in each("status"):
                if status.subject.lower() == condition:
                    yield _Join(
                        "controlled by", (status, medication), values | {"value": status.value}, (status.value, *facts)
                    )
            for allergy in each("allergy"):
                yield _Join(
                    "allergy and medicine",
                    (allergy, medication),
                    values | {"value": allergy.value},
                    (allergy.value, medication.subject),
                )
        for last, first in combinations(each("vital sign"), 2):
            is_named = all(one.complaint and not self._is_identifying(one.complaint) for one in (first, last))
            if first.subject == last.subject and is_named:
                change = _change(first.value, last.value)
                if change is not None:
                    yield _changed(first, last, change)
        for one, other in combinations(sorted(each("onset"), key=lambda held: held.subject), 2):
            if one.value != other.value:
                before, after = sorted((one, other), key=lambda held: held.value)
                values = {"subject": one.subject, "second": other.subject}
                years = {"before": before.subject, "after": after.subject, "value": before.value, "other": after.value}
                yield _Join("order", (one, other), values | years, (before.value, after.value))
        for operation in each("operation"):
            for relative in each("family"):
                yield _pair("family and operation", operation, relative, subject=relative.subject)
        for vital in each("vital sign"):
            for habits in each("habits"):
                yield _pair("habits and vital sign", vital, habits, subject=vital.subject)

    def _treated(self, conditions: Sequence[Finding], medications: Sequence[Finding]) -> Iterator[tuple[str, Finding]]:
        """Yield conditions with the one medicine of the list that is for them."""
        for condition in conditions:
            name = condition.subject.lower()
            drugs = {drug for written, drug in self._drugs if written in name}
            for_it = [one for one in medications if any(drug in one.subject.lower() for drug in drugs)]
            if len(for_it) == 1:
                yield name, for_it[0]


def _pair(about: str, first: Finding, second: Finding, *, subject: str = "") -> _Join:
    values = {"value": first.value, "other": second.value, "subject": subject}
    return _Join(about, (first, second), values, (first.value, second.value))


def _read_together(findings: Sequence[Finding]) -> Iterator[_Join]:
    """Yield two findings of different kinds of each visit, for charts of prose with little else to join."""
    named = [finding for finding in findings if finding.kind in _LABELS]
    for one, other in combinations(named, 2):
        if one.note_id == other.note_id and one.kind != other.kind:
            first, second = (_LABELS[held.kind].format(held.subject) for held in (one, other))
            values = {"subject": first, "second": second, "value": one.value, "other": other.value}
            yield _Join("read together", (one, other), values, (one.value, other.value))


def _changed(first: Finding, last: Finding, change: str) -> _Join:
    complaints = (first.complaint or "", last.complaint or "")
    values = {"subject": first.subject, "value": first.value, "other": last.value, "change": change}
    visits = {"first": complaints[0], "last": complaints[1]}
    return _Join("change", (first, last), values | visits, (first.value, last.value), complaints)


def _change(first: str, last: str) -> str | None:
    """Return how a vital sign changed, in words; None where it did not, or is no number."""
    numbers = [text.split("/")[0].split()[0].rstrip("%") for text in (first, last)]
    try:
        difference = float(numbers[1]) - float(numbers[0])
    except ValueError:
        return None
    if not difference:
        return None
    what = "its upper value" if "/" in first else "it"
    return f"{what} {'rose' if difference > 0 else 'fell'} by {abs(difference):g}"


def _values(finding: Finding) -> dict[str, str]:
    return {"subject": finding.subject, "value": finding.value}


def _subjects(join: _Join) -> Iterator[str]:
    """Yield what the question itself says, so that the description does not say it once more."""
    for name in ("subject", "second"):
        if join.values.get(name):
            yield join.values[name]


def _of_same_note(finding: Finding, others: Iterable[Finding]) -> Iterator[Finding]:
    return (other for other in others if other.note_id == finding.note_id)


def _common_values(findings: Mapping[str, Sequence[Finding]]) -> frozenset[tuple[str, str]]:
    holders: Counter[tuple[str, str]] = Counter()
    for found in findings.values():
        holders.update({(finding.kind, finding.value.lower()) for finding in found})
    # Of few patients a share says nothing: two of them may well have one value.
    most = max(COMMON_SHARE * len(findings), 2)
    return frozenset(value for value, number in holders.items() if number > most)
