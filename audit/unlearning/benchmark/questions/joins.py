"""Which findings make a question: one of them, several of one list, or two that are joined by their meaning.

Owns what is asked for, and the facts of each answer; the words stand in wording.toml. A reasoning question joins two
findings at least (AMNESIA, 3.1). Lists hold what a leakage score looks for (AMNESIA, 5.1): the diagnoses and medicines
of the patient, several in one answer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from typing import Final

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.unlearning.benchmark.questions.findings import Finding
from clinaudit.reports.wording.names import join_words

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
#: Kinds of findings that no question asks for one by one.
_CONTEXT_ONLY: Final = frozenset({"condition", "assessed"})
#: By the kind of findings: what is asked for as a list, and how an entry stands in the answer.
_LISTS: Final = {
    "condition": ("problems", "{value}"),
    "medication": ("medicines", "{subject} {value}"),
    "assessed": ("assessed", "{value}"),
    "review": ("systems", "{subject}: {value}"),
    "exam": ("examined", "{subject}: {value}"),
}
#: A longer list is no answer of two sentences.
_LONGEST_LIST: Final = 8


@dataclass(frozen=True, slots=True)
class Join:
    """Findings that make one question."""

    about: str
    findings: tuple[Finding, ...]
    values: Mapping[str, str]
    facts: tuple[str, ...]
    #: Said by the question: the description must not hide them, and holds none of the answer.
    anchors: tuple[str | None, ...] = ()


def single_joins(findings: Iterable[Finding]) -> Iterator[Join]:
    """Yield what can be asked of findings one by one."""
    for finding in findings:
        if finding.kind not in _CONTEXT_ONLY:
            yield _alone(finding)


def list_joins(findings: Iterable[Finding]) -> Iterator[Join]:
    """Yield what can be asked as a list: findings of one kind and note, two at least, as many as an answer holds.

    Where two visits for one complaint have such a list, neither is an answer.
    """
    lists = grouped((one for one in findings if one.kind in _LISTS), attrgetter("kind", "note_id"))
    visits = Counter((kind, listed[0].complaint) for (kind, _), listed in lists.items())
    for (kind, _), listed in lists.items():
        if 1 < len(listed) <= _LONGEST_LIST and visits[kind, listed[0].complaint] == 1:
            about, entry = _LISTS[kind]
            entries = [entry.format(subject=one.subject, value=one.value) for one in listed]
            value = "; ".join(entries) if ":" in entry else join_words(entries)
            # Which drug it is belongs to the answer as much as its dose.
            facts = (
                text for one in listed for text in ((one.subject, one.value) if about == "medicines" else (one.value,))
            )
            yield Join(about, tuple(listed), {"value": value}, tuple(facts))


def reasoning_joins(
    findings: Sequence[Finding], lists: Sequence[Join], drugs: Sequence[tuple[str, str]]
) -> Iterator[Join]:
    """Yield findings that are joined with one another or with lists; `drugs` are conditions with drugs for them."""
    joins = [*_joins(findings, drugs), *_joins_of_lists(findings, lists)]
    yield from joins
    if len(joins) < _FEW_JOINS:
        yield from _read_together(findings)


def _joins_of_lists(findings: Sequence[Finding], lists: Sequence[Join]) -> Iterator[Join]:
    of_about = grouped(lists, attrgetter("about"))
    reviews = of_about.get("systems", [])
    for known in of_about.get("problems", []):
        for finding in findings:
            if finding.kind == "assessment" and finding.value.lower() not in known.values["value"].lower():
                yield _beside("assessed beside", _alone(finding), known)
            elif finding.kind == "family":
                yield _beside("family and record", _alone(finding), known)
        for review in reviews:
            yield _beside("reported and known", review, known)
    for review in reviews:
        for exam in of_about.get("examined", []):
            if exam.findings[0].note_id == review.findings[0].note_id:
                yield _beside("reviewed and examined", review, exam)


def _joins(findings: Sequence[Finding], drugs: Sequence[tuple[str, str]]) -> Iterator[Join]:
    of_kind = grouped(findings, attrgetter("kind"))

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
    treated = list(_treated(each("condition"), each("medication"), drugs))
    for condition, medication in treated:
        facts = (medication.subject, medication.value)
        values = {"subject": condition, "second": medication.subject, "other": medication.value}
        yield Join("medicine for", (medication,), values, facts)
        reason = {"second": medication.subject, "value": condition, "other": medication.value}
        yield Join("indication", (medication,), reason, (condition, medication.value))
        for status in each("status"):
            if status.subject.lower() == condition.lower():
                yield Join(
                    "controlled by", (status, medication), values | {"value": status.value}, (status.value, *facts)
                )
        for allergy in each("allergy"):
            yield Join(
                "allergy and medicine",
                (allergy, medication),
                values | {"value": allergy.value},
                (allergy.value, medication.subject),
            )
    if len(treated) > 1:
        pairs = join_words([f"{condition} with {medication.subject}" for condition, medication in treated])
        told = tuple(text for condition, medication in treated for text in (condition, medication.subject))
        yield Join("treated diagnoses", tuple(one for _, one in treated), {"value": pairs}, told)
    for last, first in combinations(each("vital sign"), 2):
        if first.subject == last.subject and first.complaint and last.complaint:
            change = _change(first.value, last.value)
            if change is not None:
                yield _changed(first, last, change)
    for one, other in combinations(sorted(each("onset"), key=lambda held: held.subject), 2):
        if one.value != other.value:
            before, after = sorted((one, other), key=lambda held: held.value)
            values = {"subject": one.subject, "second": other.subject}
            years = {"before": before.subject, "after": after.subject, "value": before.value, "other": after.value}
            yield Join("order", (one, other), values | years, (before.value, after.value))
    for operation in each("operation"):
        for relative in each("family"):
            yield _pair("family and operation", operation, relative, subject=relative.subject)
    for vital in each("vital sign"):
        for habits in each("habits"):
            yield _pair("habits and vital sign", vital, habits, subject=vital.subject)


def _treated(
    conditions: Sequence[Finding], medications: Sequence[Finding], drugs: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, Finding]]:
    """Yield conditions, as they are written, with the one medicine of the list that is for them."""
    for condition in conditions:
        own = {drug for written, drug in drugs if written in condition.subject.lower()}
        for_it = [one for one in medications if any(drug in one.subject.lower() for drug in own)]
        if len(for_it) == 1:
            yield condition.subject, for_it[0]


def _pair(about: str, first: Finding, second: Finding, *, subject: str = "") -> Join:
    values = {"value": first.value, "other": second.value, "subject": subject}
    return Join(about, (first, second), values, (first.value, second.value))


def _alone(finding: Finding) -> Join:
    return Join(finding.kind, (finding,), {"subject": finding.subject, "value": finding.value}, (finding.value,))


def _beside(about: str, first: Join, second: Join) -> Join:
    values = {**first.values, "other": second.values["value"]}
    return Join(about, (*first.findings, *second.findings), values, (*first.facts, *second.facts))


def _read_together(findings: Sequence[Finding]) -> Iterator[Join]:
    """Yield two findings of different kinds of each visit, for charts of prose with little else to join."""
    named = [finding for finding in findings if finding.kind in _LABELS]
    for one, other in combinations(named, 2):
        if one.note_id == other.note_id and one.kind != other.kind:
            first, second = (_LABELS[held.kind].format(held.subject) for held in (one, other))
            values = {"subject": first, "second": second, "value": one.value, "other": other.value}
            yield Join("read together", (one, other), values, (one.value, other.value))


def _changed(first: Finding, last: Finding, change: str) -> Join:
    complaints = (first.complaint or "", last.complaint or "")
    values = {"subject": first.subject, "value": first.value, "other": last.value, "change": change}
    visits = {"first": complaints[0], "last": complaints[1]}
    return Join("change", (first, last), values | visits, (first.value, last.value), complaints)


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


def _of_same_note(finding: Finding, others: Iterable[Finding]) -> Iterator[Finding]:
    return (other for other in others if other.note_id == finding.note_id)
