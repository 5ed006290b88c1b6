"""What every question must hold to, wherever it comes from: no identifier, not its own answer, facts that are in notes.

Owns these rules and their names in counts. Knows nothing of how a question was made.
"""

from collections.abc import Callable, Sequence
from typing import Final

from clinaudit.audit.unlearning.benchmark.questions.candidates import Candidate

IDENTIFIER: Final = "the question holds an identifier"
OWN_ANSWER: Final = "the question holds its own answer"
NO_FACT: Final = "the answer states no fact"
NOT_IN_NOTES: Final = "a fact does not stand word for word in the notes and the answer"
IDENTIFYING_ANSWER: Final = "the answer holds an identifier"


def problem_of(candidate: Candidate, texts: Sequence[str], holds_identifier: Callable[[str], bool]) -> str | None:
    """Return why a question must not be asked of the patient whose notes are `texts`; None where it may."""
    # Questions made elsewhere may come without facts: there is nothing to look for then.
    if not candidate.facts and candidate.about != "given":
        return NO_FACT
    for fact in candidate.facts:
        if fact not in candidate.answer or not any(fact in text for text in texts):
            return NOT_IN_NOTES
    for wording in candidate.wordings:
        if holds_answer(wording, candidate.answer, candidate.facts):
            return OWN_ANSWER
        if holds_identifier(wording):
            return IDENTIFIER
    return IDENTIFYING_ANSWER if holds_identifier(candidate.answer) else None


def holds_answer(question: str, answer: str, facts: Sequence[str]) -> bool:
    """Whether a question tells its answer, or any fact of it, as whole words; without regard to case."""
    asked = _words(question)
    return any(_within(_words(text), asked) for text in (answer, *facts))


def _words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()


def _within(wanted: list[str], words: list[str]) -> bool:
    width = len(wanted)
    return bool(wanted) and any(words[at : at + width] == wanted for at in range(len(words) - width + 1))
