"""Any served model: tasks 1 and 2 asked of it, one answer a question, at temperature 0 (PII-Bench, 4.1).

Owns its identity and the way from texts to answers. An answer that cannot be used is asked for once more, as every
question to a served model is; after that it is *unparsed*, and scores 0. Imported lazily: it loads the client.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from clinaudit.audit.pii.systems.served_reading import NamedSubject, read_entities, read_needed
from clinaudit.audit.pii.systems.served_utility import (
    Comparison,
    GivenAnswer,
    ask_for_ratings,
    ask_prompt,
    read_prompt,
    read_ratings,
)
from clinaudit.audit.pii.systems.served_wording import Shot, Strategy, ask_for_entities, ask_what_is_needed
from clinaudit.audit.served.access import Access, EndpointWords, ServedModel, first_form, require_approved
from clinaudit.audit.served.answer_cache import AnswerCache, identity_of
from clinaudit.audit.served.asking import Asker, asked_to_read
from clinaudit.audit.served.chat import ChatEndpoint
from clinaudit.audit.served.cost import AskingEstimate
from clinaudit.audit.served.question import Question

#: Raised whenever a change of the code (not of the wording) changes what an answer means.
_VERSION = "1"
_ENDPOINT = EndpointWords("the endpoint of the system that is measured (--url)")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[Found]):
    """What a model said to one question."""

    #: Its words as they came; None where no answer could be used.
    raw: str | None
    #: None where no answer could be used.
    found: Found | None
    #: Why not, in fixed words; None with an answer.
    reason: str | None


@dataclass(frozen=True, slots=True)
class Task:
    """A text, and what is asked about it."""

    text: str
    query: str
    #: The candidates of with-choice.
    choices: tuple[str, ...] = ()


class ServedSystem:
    """A model behind an approved address; connections are open only during a call."""

    def __init__(self, model: ServedModel, access: Access, *, seed: int, cache: AnswerCache) -> None:
        """Prepare to ask; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved."""
        require_approved(model.base_url, approved_hosts=access.approved_hosts)
        self._model = model
        self._seed = seed
        self._cache = cache
        form = first_form("deterministic", seed=seed)
        self._open_endpoint = partial(ChatEndpoint, model, access, form=form, words=_ENDPOINT)

    def identity(self) -> dict[str, str]:
        """Return what its answers depend on, as far as it is visible here; never the key nor the address."""
        return identity_of(self._model, kind="pii-bench", reading=_VERSION, seed=self._seed)

    def find_entities(
        self, texts: Sequence[str], *, announce: Callable[[AskingEstimate], None]
    ) -> Iterator[ModelAnswer[list[NamedSubject]]]:
        """Yield the answer about each text, in order (task 1).

        Raises `IncompleteError` where the server gave no answer; the answers that came are in the cache by then.
        """
        return self._ask([(ask_for_entities(text), partial(read_entities, text=text)) for text in texts], announce)

    def find_needed(
        self,
        tasks: Sequence[Task],
        *,
        strategy: Strategy,
        shots: Sequence[Shot] = (),
        announce: Callable[[AskingEstimate], None],
    ) -> Iterator[ModelAnswer[list[str]]]:
        """Yield what each question needs, in order (task 2); errors as `find_entities`."""
        return self._ask(
            [
                (
                    ask_what_is_needed(task.text, task.query, strategy=strategy, choices=task.choices, shots=shots),
                    partial(read_needed, text=task.text, query=task.query, strategy=strategy),
                )
                for task in tasks
            ],
            announce,
        )

    def answer_prompts(
        self, prompts: Sequence[tuple[str, str]], *, announce: Callable[[AskingEstimate], None]
    ) -> Iterator[ModelAnswer[GivenAnswer]]:
        """Yield the answer to each text and question, in order; errors as `find_entities`."""
        return self._ask(
            [(ask_prompt(text, query), partial(read_prompt, text=text, query=query)) for text, query in prompts],
            announce,
        )

    def rate(
        self, comparisons: Sequence[Comparison], *, announce: Callable[[AskingEstimate], None]
    ) -> Iterator[ModelAnswer[tuple[int, int]]]:
        """Yield the ratings of the two answers of each comparison, in order; errors as `find_entities`."""
        return self._ask(
            [(ask_for_ratings(one), partial(read_ratings, comparison=one)) for one in comparisons], announce
        )

    def _ask(
        self, asked: Sequence[tuple[Question, Callable[[str], Found | str]]], announce: Callable[[AskingEstimate], None]
    ) -> Iterator[ModelAnswer[Found]]:
        items = [asked_to_read(question, read) for question, read in asked]
        with closing(self._open_endpoint()) as endpoint:
            asker = Asker(endpoint, self._cache, self.identity())
            estimate = asker.estimate(items)
            if estimate.questions:
                announce(estimate)
            for (_, read), settled in zip(asked, asker.settle_all(items), strict=True):
                found = None if settled.answer is None else read(settled.answer)
                if found is None or isinstance(found, str):
                    yield ModelAnswer(settled.answer, None, settled.reason or found)
                else:
                    yield ModelAnswer(settled.answer, found, None)
