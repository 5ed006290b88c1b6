"""The questions that a patient gets: four factual and four reasoning ones, one of each withheld (AMNESIA, 3.1 and 3.2).

Owns what every question must hold to, wherever it comes from, and the choice, by seed.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Final

from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.taxonomy import UnionDetector, categories
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.unlearning.benchmark.files import QUESTION_KINDS, Question, QuestionOrigin, stands_in, words_of
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import FactReader
from clinaudit.priors.tiers import Fact
from clinaudit.reports.schema.unlearning import QuestionKind
from clinaudit.templates.profile import NoteProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One question that may be asked of a patient."""

    #: What is asked for: the key of its template; or `served`, `given`.
    about: str
    kind: QuestionKind
    question: str
    answer: str
    facts: tuple[str, ...]
    note_ids: tuple[str, ...] = ()
    #: Whether nobody else of the corpus fits its description of the patient.
    is_unique: bool = True
    is_holdout: bool = False


IDENTIFIER: Final = "the question holds an identifier"
OWN_ANSWER: Final = "the question holds its own answer"
NO_FACT: Final = "the answer states no fact"
NOT_IN_NOTES: Final = "a fact does not stand word for word in the notes and the answer"
IDENTIFYING_ANSWER: Final = "the answer holds an identifier"
NONE_USABLE: Final = "none of the questions given may be asked"


def problem_of(candidate: Candidate, texts: Sequence[str], holds_identifier: Callable[[str], bool]) -> str | None:
    """Return why a question must not be asked of the patient whose notes are `texts`; None where it may."""
    # Questions made elsewhere may come without facts: there is nothing to look for then.
    if not candidate.facts and candidate.about != "given":
        return NO_FACT
    for fact in candidate.facts:
        if fact not in candidate.answer or not any(fact in text for text in texts):
            return NOT_IN_NOTES
    if holds_answer(candidate.question, candidate.answer, candidate.facts):
        return OWN_ANSWER
    if holds_identifier(candidate.question):
        return IDENTIFIER
    return IDENTIFYING_ANSWER if holds_identifier(candidate.answer) else None


def holds_answer(question: str, answer: str, facts: Sequence[str]) -> bool:
    """Whether a question gives away its answer, or any fact of it, as whole words; without regard to case."""
    asked = words_of(question)
    return any(stands_in(words_of(text), asked) for text in (answer, *facts))


#: Questions of each kind a patient (AMNESIA, 3.1).
EACH: Final = 4
#: Terms of a disease, each as its words in lower case.
Terms = Collection[Sequence[str]]


def choose_questions(
    patient_id: str,
    candidates: Iterable[Candidate],
    *,
    accept: Callable[[Candidate], str | None],
    seed: int,
    terms: Terms = (),
) -> list[Candidate] | str:
    """Return a patient's questions, four of each kind, or why there are not enough; by seed and patient alone.

    Preferred are descriptions that fit nobody else, then answers that hold many terms of the patient's disease, without
    which a leakage score has nothing to measure, then kinds not asked yet, then facts not stated yet. No two factual
    questions share a fact, no two reasoning ones all of their facts. Withheld is the question whose facts the others
    state least of: what training repeats elsewhere would not be held out. `accept` returns why a question must not be
    asked, or None.
    """
    # Seeded by the patient: who else is in the corpus changes nothing.
    rng = random.Random(f"clinaudit unlearning questions {seed} {patient_id}")
    pool = sorted(candidates, key=lambda held: (held.kind, held.question))
    rng.shuffle(pool)
    chosen: list[Candidate] = []
    for kind in QUESTION_KINDS:
        of_kind = _choose([held for held in pool if held.kind == kind], chosen, accept, terms)
        if len(of_kind) < EACH:
            return f"fewer than four {kind} questions can be asked from the notes"
        chosen.extend(of_kind)
    withheld = {
        min((_told_elsewhere(chosen, place), place) for place, held in enumerate(chosen) if held.kind == kind)[1]
        for kind in QUESTION_KINDS
    }
    return [replace(held, is_holdout=place in withheld) for place, held in enumerate(chosen)]


def shared_holdouts(chosen: Sequence[Candidate]) -> int:
    """Return how many withheld questions have a fact that another question has too."""
    return sum(held.is_holdout and _told_elsewhere(chosen, place) > 0 for place, held in enumerate(chosen))


def _choose(
    pool: Sequence[Candidate], before: Sequence[Candidate], accept: Callable[[Candidate], str | None], terms: Terms
) -> list[Candidate]:
    """Choose up to four, of which no two share a fact while the pool has others."""
    told = []
    for held in pool:
        question, answer = words_of(held.question), words_of(held.answer)
        # How many terms the answer tells of that the question does not hold.
        told.append(sum(stands_in(term, answer) and not stands_in(term, question) for term in terms))
    found: list[Candidate] = []
    refused: set[int] = set()
    stated = {fact for held in before for fact in held.facts}
    while len(found) < EACH:
        asked = Counter(held.about for held in found)
        facts = {fact for held in found for fact in held.facts}
        left = [
            (
                not held.is_unique,
                # A second question of a kind is worth half its terms: lists would be asked for at every visit.
                -told[place] / (1 + asked[held.about]),
                asked[held.about],
                len(facts.intersection(held.facts)),
                len(stated.intersection(held.facts)),
                place,
            )
            for place, held in enumerate(pool)
            if place not in refused
            and (held.kind != "factual" or not _share_text(facts, held.facts))
            and all(set(held.facts) != set(other.facts) for other in found)
        ]
        if not left:
            break
        place = min(left)[-1]
        refused.add(place)
        if accept(pool[place]) is None:
            found.append(pool[place])
    return found


def _share_text(facts: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a fact is one of the others, or one of several words that stands within one of them, or holds one."""
    pairs = (sorted(pair, key=len) for pair in product(facts, others))
    return any(shorter == longer or (" " in shorter and shorter in longer) for shorter, longer in pairs)


def _told_elsewhere(chosen: Sequence[Candidate], place: int) -> int:
    others = {fact for other, held in enumerate(chosen) if other != place for fact in held.facts}
    return len(others.intersection(chosen[place].facts))


_LABELS: Final = {
    Fact.NAME: "Patient",
    Fact.DOB: "Date of birth",
    Fact.VISIT_DATE: "Visit date",
    Fact.PROVIDER: "Provider",
    Fact.PRACTICE: "Location",
}


def address_reader(corpus: Corpus, profile: NoteProfile) -> Callable[[str], str]:
    """Return what gives a patient's address by id: facts of the fourth tier, which an adversary types; or nothing."""
    reader = FactReader(profile)

    def address_of(patient_id: str) -> str:
        values = reader.read(corpus, patient_id).values
        return " ".join(f"{label}: {values[fact]}." for fact, label in _LABELS.items() if values.get(fact))

    return address_of


#: Beside the eighteen of HIPAA (45 CFR 164.514(b)(2)).
_NAMED_BESIDE: Final = frozenset(
    {"age", "gender", "occupation", "race", "ethnicity", "nationality", "religion", "sexual_orientation"}
    | {"clinic", "healthcare_facility", "company", "school"}
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
    """Return a patient's question as it stands in the benchmark; its id is a digest, which names no patient."""
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
