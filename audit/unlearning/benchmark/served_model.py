"""A served model that the benchmark asks: which notes it is shown, and the way from questions to readings.

Owns its identity in the cache. An answer that cannot be used is asked for once more; after that there is a reason in
its place. Imported lazily: it loads the client.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.served.access import Access, EndpointWords, ServedModel, first_form, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of
from clinaudit.audit.runtime.served.asking import Asker, asked_to_read
from clinaudit.audit.runtime.served.chat import ChatEndpoint
from clinaudit.audit.runtime.served.client import read_key_file
from clinaudit.audit.runtime.served.question import (
    Question,
    StrictModel,
    break_control_tokens,
    fence_marker,
    question_id,
    read_answer,
)

#: Characters of notes in one question: some 25,000 tokens.
MOST_NOTE_CHARS: Final = 100_000


def notes_to_send(texts: Sequence[str], *, facts: Collection[str] = ()) -> list[str]:
    """Return as many of a patient's notes as there is room for, one at least, in their order.

    Those that hold one of some facts come first, then the latest; a note that is longer by itself is cut at its end.
    """
    latest_first = range(len(texts) - 1, -1, -1)
    holding = [place for place in latest_first if any(fact in texts[place] for fact in facts)]
    sent: dict[int, str] = {}
    room = MOST_NOTE_CHARS
    for place in dict.fromkeys((*holding, *latest_first)):
        if sent and len(texts[place]) > room:
            break
        sent[place] = texts[place][:MOST_NOTE_CHARS]
        room -= len(sent[place])
    return [sent[place] for place in sorted(sent)]


#: Raised whenever a change of the code (not of the wording) changes what an answer means.
_VERSION = "1"
Found = TypeVar("Found")
#: A question, and what reads its answer: a string says why it cannot be used.
Inquiry = tuple[Question, Callable[[str], Found | str]]


class FilledForm(StrictModel):
    """A form as a model filled it in; it repeats the id of the question."""

    question: str


Filled = TypeVar("Filled", bound=FilledForm)


@dataclass(frozen=True, slots=True)
class Form(Generic[Filled]):
    """A form that a model fills in about some texts: how it is put, and how the answer is read."""

    #: What is asked for, in the question's id.
    name: str
    system: str
    #: With places for `marker`, `question` and what else a question says.
    prompt: str
    answer: type[Filled]
    schema: Mapping[str, Any]
    max_answer_tokens: int

    def ask(self, texts: Sequence[str], **said: object) -> Question:
        """Return the question about some texts, which are fenced by a marker that stands in none of them."""
        prompt = self.prompt.format(marker=fence_marker(texts), question=question_id(texts, [self.name]), **said)
        return Question(self.system, prompt, self.name, self.schema, self.max_answer_tokens)

    def read(self, answer: str, texts: Sequence[str]) -> Filled | str:
        """Return the form as it was filled in about these texts, or why the answer cannot be used."""
        return read_answer(answer, TypeAdapter(self.answer), question=question_id(texts, [self.name]))

    @staticmethod
    def fenced(texts: Sequence[str], marker: str) -> str:
        """Return texts one after the other, a marker between two."""
        return f"\n{marker}\n".join(map(break_control_tokens, texts))


@dataclass(frozen=True, slots=True)
class Reading(Generic[Found]):
    """What a model said to one question: what was found, or why nothing."""

    found: Found | None
    reason: str | None


class BenchModel:
    """A model behind an approved address; connections are open only during a call."""

    def __init__(
        self,
        model: ServedModel,
        *,
        approved_hosts: Collection[str],
        key_file: Path | None,
        seed: int,
        cache: AnswerCache,
    ) -> None:
        """Prepare to ask; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved."""
        require_approved(model.base_url, approved_hosts=approved_hosts)
        key = None if key_file is None else read_key_file(key_file)
        access = Access(approved_hosts=approved_hosts, api_key=key)
        self._model = model
        self._seed = seed
        self._cache = cache
        # A panel has several endpoints: the model's name says which.
        words = EndpointWords(f"the endpoint of {model.name}")
        form = first_form("deterministic", seed=seed)
        self._open_endpoint = partial(ChatEndpoint, model, access, form=form, words=words)

    def identity(self) -> dict[str, str]:
        """Return what its answers depend on, as far as it is visible here; never the key nor the address."""
        return identity_of(self._model, kind="unlearning-benchmark", reading=_VERSION, seed=self._seed)

    def ask(
        self, inquiries: Sequence[Inquiry[Found]], *, title: str, unit: str, progress: Progress
    ) -> Iterator[Reading[Found]]:
        """Yield the reading of each answer, in order.

        Raises `IncompleteError` where the server gave no answer; the answers that came are in the cache by then.
        """

        asked = [asked_to_read(question, read) for question, read in inquiries]
        with closing(self._open_endpoint()) as endpoint, progress.stage(title, total=len(asked), unit=unit) as advance:
            settled_all = Asker(endpoint, self._cache, self.identity()).settle_all(asked)
            for (_, read), settled in zip(inquiries, settled_all, strict=True):
                found = None if settled.answer is None else read(settled.answer)
                if found is None or isinstance(found, str):
                    yield Reading(None, settled.reason or found)
                else:
                    yield Reading(found, None)
                advance(1)
