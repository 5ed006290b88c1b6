"""All questions that the templates can ask of a patient, with their answers.

Owns which findings are details of a patient, and how a question says which patient it means without naming anybody: by
the complaint of a visit and by as few conditions and medicines as single the patient out, three at most (AMNESIA,
appendix B.2: a question must need this patient's details and may hold no identifying information). A detail that the
answer holds, or that identifies, is never one. The wordings, a question, three rephrasings and an answer, are data
(wording.toml).
"""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from clinaudit.audit.unlearning.benchmark.questions.findings import Finding, indications
from clinaudit.audit.unlearning.benchmark.questions.joins import Join, list_joins, reasoning_joins, single_joins
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.reports.schema.unlearning_scores import QuestionKind
from clinaudit.reports.wording.names import join_words


@dataclass(frozen=True, slots=True)
class Template:
    """One question in several wordings, and its answer, with places for the findings."""

    kind: QuestionKind
    wordings: tuple[str, ...]
    answer: str

    def ask(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Return the question, then its rephrasings, for some findings."""
        return tuple(_fill(wording, values) for wording in self.wordings)

    def reply(self, values: Mapping[str, str]) -> str:
        """Return the answer for some findings."""
        return _fill(self.answer, values)


@cache
def templates() -> Mapping[str, Template]:
    """Return the templates by what is asked for: a kind of finding, or how two of them are joined."""
    held = _wording()
    return {
        entry["kind"]: Template(kind, tuple(entry["wordings"]), entry["answer"])
        for kind in QUESTION_KINDS
        for entry in held[kind]
    }


def rephrase(question: str) -> tuple[str, ...]:
    """Return three rephrasings of a question that has no template."""
    values = {"question": question[:1].lower() + question[1:] if not question[:2].isupper() else question}
    return tuple(_fill(frame, values | {"Question": question}) for frame in _wording()["frames"]["wordings"])


def _fill(wording: str, values: Mapping[str, str]) -> str:
    capitals = {name.capitalize(): value[:1].upper() + value[1:] for name, value in values.items()}
    return wording.format_map(capitals | dict(values))


@cache
def _wording() -> Any:
    return tomllib.loads(files(__package__).joinpath("wording.toml").read_text(encoding="utf-8"))


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
    having = f" with {join_words(of_kind['condition'])}" if of_kind["condition"] else ""
    taking = f" who takes {join_words(of_kind['medication'])}" if of_kind["medication"] else ""
    return f"the patient{seen}{having}{taking}"


#: A value that more than this share of the patients have is no detail of one of them: boilerplate [choice].
COMMON_SHARE: Final = 0.2


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
        told = [
            one for one in self._findings[patient_id] if not any(map(self._is_identifying, (one.subject, one.value)))
        ]
        usable = [one for one in told if (one.kind, one.value.lower()) not in self._common]
        lists = [join for join in list_joins(told) if (join.about, join.values["value"].lower()) not in self._common]
        for join in (*single_joins(usable), *lists, *reasoning_joins(usable, lists, self._drugs)):
            yield from self._candidate(patient_id, join)

    def _candidate(self, patient_id: str, join: Join) -> Iterator[Candidate]:
        """Yield the question that asks for a join; none where nothing says which patient is meant."""
        template: Template = templates()[join.about]
        complaint = join.findings[0].complaint
        anchors = join.anchors or (complaint,)
        said = [anchor for anchor in anchors if anchor is not None and not self._is_identifying(anchor)]
        if len(said) < len(join.anchors):
            return
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


def _subjects(join: Join) -> Iterator[str]:
    """Yield what the question itself says, so that the description does not say it once more."""
    for name in ("subject", "second"):
        if join.values.get(name):
            yield join.values[name]


def _common_values(findings: Mapping[str, Sequence[Finding]]) -> frozenset[tuple[str, str]]:
    holders: Counter[tuple[str, str]] = Counter()
    for found in findings.values():
        listed = {(join.about, join.values["value"].lower()) for join in list_joins(found)}
        holders.update(listed | {(one.kind, one.value.lower()) for one in found if one.kind != "condition"})
    # Of few patients a share says nothing: two of them may well have one value.
    most = max(COMMON_SHARE * len(findings), 2)
    return frozenset(value for value, number in holders.items() if number > most)
