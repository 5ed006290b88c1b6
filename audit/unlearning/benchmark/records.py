"""The rows of an unlearning benchmark: patients, questions, splits, keywords and answers.

Owns their fields and what each means (AMNESIA, section 3). All of them are of patients: they stand under `evidence/`,
or in a directory of the user's that is as private as the corpus.
"""

from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.reports.schema.unlearning import KINDS, QuestionKind, QuestionUse

#: Recall of one finding, or inference from at least two (section 3.1).
QUESTION_KINDS: Final = KINDS
#: `paper`: without anything that names the patient. `addressed`: it opens with what an adversary knows of the
#: encounter, which is what one would really type; the certificate asks these.
QuestionForm = Literal["paper", "addressed"]
#: Where a question came from.
QuestionOrigin = Literal["templates", "served", "given"]
#: `request`: patients whom the user names.
SplitLevel = Literal["random", "category", "request"]
KeywordField = Literal["note", "question", "answer"]


@dataclass(frozen=True, slots=True)
class BenchPatient:
    """One patient of the benchmark."""

    patient_id: str
    #: An id of the taxonomy of categories, or `other`.
    category: str
    #: What decided it, such as `assessment, code`; `served`, `given`, or `none` where no note names a disease.
    category_source: str
    #: One sentence that the category is read from: chief complaint and assessment of the latest note.
    title: str
    #: Whether the corpus says that the model was trained on the patient.
    is_trained: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One question on one patient, with the answer that the patient's notes give."""

    qa_id: str
    patient_id: str
    kind: QuestionKind
    use: QuestionUse
    question: str
    answer: str
    #: The values of the answer, each as it stands in one of the notes.
    facts: tuple[str, ...]
    note_ids: tuple[str, ...]
    origin: QuestionOrigin
    #: What an adversary knows of the encounter, to be put before the question in its addressed form.
    address: str

    def text(self, form: QuestionForm) -> str:
        """Return the question as it is asked in a form."""
        return self.question if form == "paper" else f"{self.address} {self.question}".lstrip()


@dataclass(frozen=True, slots=True)
class Split:
    """Who is forgotten and who is retained; together all patients trained on, each once."""

    level: SplitLevel
    #: An id of the taxonomy where the level is `category`, else None.
    category: str | None
    #: Of all patients trained on, in percent; of a request rounded, 1 at least.
    percent: int
    forget: tuple[str, ...]
    retain: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return what commands call it: `random:10`, `cancer:10` or `request:4`."""
        return f"{self.category or self.level}:{self.percent}"

    @property
    def public_name(self) -> str:
        """Return the name that may go where the weights go: that of a request does not say how many it names."""
        return self.level if self.level == "request" else self.name


@dataclass(frozen=True, slots=True)
class Keyword:
    """A term of the patient's disease in the note, the question or the answer (AMNESIA, appendix E)."""

    qa_id: str
    phrase: str
    #: Relevance (0.5 to 1) plus 0.05 for each time it stands in its field, up to five; of several fields the largest.
    weight: float
    fields: tuple[KeywordField, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote when asked a question, without the repetition guard: it would hide a collapse."""

    model: str
    qa_id: str
    text: str
    #: Without the end of sequence; None where a model was asked over a protocol that gives none.
    token_ids: tuple[int, ...] | None
    #: 0 for the greedy answer; 1, 2, ... for sampled ones.
    sample: int = 0
