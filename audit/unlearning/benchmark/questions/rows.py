"""From a patient's chosen questions to rows of the benchmark: ids, uses, and the address that opens them.

The ids are digests, so that no message that names a question names a patient. The address holds the facts of the fourth
tier, which an adversary types (docs/methods.md, section 1), read as for an audit's prompts.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from clinaudit.audit.pii.detectors.combined import UnionDetector
from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.questions.selection import Candidate
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionOrigin
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import FactReader
from clinaudit.priors.tiers import Fact
from clinaudit.templates.profile import NoteProfile

_LABELS: Final = {
    Fact.NAME: "Patient",
    Fact.DOB: "Date of birth",
    Fact.VISIT_DATE: "Visit date",
    Fact.PROVIDER: "Provider",
    Fact.PRACTICE: "Location",
}


def address_reader(corpus: Corpus, profile: NoteProfile) -> Callable[[str], str]:
    """Return what gives a patient's address by id; empty where neither tables nor notes hold any of the facts."""
    reader = FactReader(profile)

    def address_of(patient_id: str) -> str:
        values = reader.read(corpus, patient_id).values
        return " ".join(f"{label}: {values[fact]}." for fact, label in _LABELS.items() if values.get(fact))

    return address_of


#: Beside the eighteen of HIPAA (45 CFR 164.514(b)(2)).
_NAMED_BESIDE: Final = frozenset(
    {
        "age",
        "gender",
        "occupation",
        "race",
        "ethnicity",
        "nationality",
        "religion",
        "sexual_orientation",
        "clinic",
        "healthcare_facility",
        "company",
        "school",
    }
)
_REMEMBERED: Final = 50_000


def identifying_kinds() -> frozenset[str]:
    """Return the categories of identifying text that no question may hold."""
    return frozenset(
        category.id
        for category in categories().values()
        if category.hipaa is not None or category.direct or category.id in _NAMED_BESIDE
    )


def identifier_check(corpus: Corpus, profile: NoteProfile, progress: Progress) -> Callable[[str], bool]:
    """Return a check of texts: True where one holds an identifier."""
    detector = UnionDetector([Gazetteer(corpus, profile, progress), RuleDetector(identifying_kinds())])

    @lru_cache(maxsize=_REMEMBERED)
    def holds_identifier(text: str) -> bool:
        return bool(detector.detect(text))

    return holds_identifier


#: Hexadecimal digits of an id: no two of a million questions share one, by chance, in one benchmark of a thousand.
_ID_DIGITS = 16


def question_row(patient_id: str, candidate: Candidate, *, origin: QuestionOrigin, address: str) -> Question:
    """Return a patient's question as it stands in the benchmark."""
    parts = (patient_id, candidate.kind, candidate.question, candidate.answer)
    return Question(
        qa_id="q" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_ID_DIGITS],
        patient_id=patient_id,
        kind=candidate.kind,
        use="holdout" if candidate.is_holdout else "train",
        question=candidate.question,
        answer=candidate.answer,
        facts=candidate.facts,
        note_ids=candidate.note_ids,
        origin=origin,
        address=address,
    )
