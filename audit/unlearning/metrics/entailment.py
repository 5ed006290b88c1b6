"""Whether an answer says what the reference answer says: by rules, or by a model of inference (AMNESIA, section 5.2).

Owns the two ways. By rules [choice]: the share of the reference's facts that the answer states with the same polarity.
Negation is NegEx's, and whom a mention is about is decided by the offline judge's rules (docs/methods.md, section 5).
Knows nothing of models' files.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from clinaudit.audit.unlearning.benchmark.records import Question
from clinaudit.priors.diagnoses import Diagnosis

if TYPE_CHECKING:
    from clinaudit.audit.judge.lexicon.judge import LexiconJudge
    from clinaudit.audit.judge.verdict import PatientStatus

NO_FACTS: Final = "the question has no facts to look for"
BY_RULES_ONE_WAY: Final = "rules compare in one direction"
#: What joins the digits of one number: "7" is no part of 7.2 or of 120/7.
_IN_NUMBERS: Final = ".,/:"


@dataclass(frozen=True, slots=True)
class EntailmentScore:
    """How far answer and reference entail each other, from 0 to 1."""

    #: The answer as premise, the reference as hypothesis; None where it cannot be told.
    forward: float | None
    #: The reference as premise.
    reverse: float | None
    #: Why `forward` is None.
    reason: str | None = None


class Entailment(Protocol):
    """Scores answers."""

    #: How the score is called in files: `es_rules` or `es`.
    metric: str
    #: What it was made with.
    name: str

    def score(self, question: Question, answer: str) -> EntailmentScore:
        """Return how far an answer and the question's reference answer entail each other."""
        ...


class EntailmentByRules:
    """The share of the reference's facts that an answer states, as the reference states them."""

    metric = "es_rules"
    name = "rules: facts with their polarity"

    def score(self, question: Question, answer: str) -> EntailmentScore:
        """Return the share of the question's facts; None where it has none."""
        facts = [fact for fact in question.facts if fact.strip()]
        if not facts:
            return EntailmentScore(None, None, NO_FACTS)
        in_reference = self._polarities(question.answer, facts)
        in_answer = self._polarities(answer, facts)
        stated = sum(
            # A fact that stands in the reference in other words is taken as stated there.
            mine == (theirs or {"positive"})
            for mine, theirs in zip(in_answer, in_reference, strict=True)
        )
        return EntailmentScore(stated / len(facts), None)

    def _polarities(self, text: str, facts: Iterable[str]) -> "list[set[PatientStatus]]":
        """Return for each fact what a text says of it: empty where it does not stand there."""
        terms = [Diagnosis(id="fact", display="fact", names=(fact,)) for fact in facts]
        return [
            {mention.status for mention in mentions if not _cuts_a_number(text, *mention.span_chars)}
            for mentions in self._judge.read_mentions(text, terms)
        ]

    @cached_property
    def _judge(self) -> "LexiconJudge":
        from clinaudit.audit.judge.lexicon.judge import LexiconJudge

        return LexiconJudge(())


class PairModel(Protocol):
    """A model of inference."""

    name: str

    def entails(self, premise: str, hypothesis: str) -> bool:
        """Return whether the premise entails the hypothesis."""
        ...


class EntailmentByModel:
    """1 where a model takes the reference to follow from the answer, else 0."""

    metric = "es"

    def __init__(self, model: PairModel) -> None:
        self._model = model
        self.name = model.name

    def score(self, question: Question, answer: str) -> EntailmentScore:
        """Return both directions; a blank answer entails nothing."""
        if not answer.strip():
            return EntailmentScore(0.0, 0.0)
        forward = self._model.entails(answer, question.answer)
        return EntailmentScore(float(forward), float(self._model.entails(question.answer, answer)))


def _cuts_a_number(text: str, start: int, end: int) -> bool:
    """Whether a mention is part of a longer number, such as `7` of `7.2`."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    goes_on_before = text[start].isdigit() and len(before) == 2 and before[0].isdigit() and before[1] in _IN_NUMBERS
    goes_on_after = text[end - 1].isdigit() and len(after) == 2 and after[0] in _IN_NUMBERS and after[1].isdigit()
    return goes_on_before or goes_on_after
