"""A served model that answers questions: from the cache, asked, asked once more, or left for the next run.

Owns this order, the one form of request, and when a missing answer is final. An answer that cannot be used is asked for
again once; then a reason stands in its place. A question that the server refuses is settled only where it answers one
of the same form about nothing afterwards; so is one whose answer was none of the protocol, or another model's. A
question that got no answer at all is not settled, and the audit is incomplete. Imported lazily: it loads the client.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic

from clinaudit.audit.runtime.console import Advance
from clinaudit.audit.runtime.served import question as asking
from clinaudit.audit.runtime.served.access import Access, ServedModel, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, Settled, question_key
from clinaudit.audit.runtime.served.endpoint import UNREADABLE, Endpoint, Failed
from clinaudit.audit.runtime.served.question import OTHER_MODEL, AskingEstimate, Found, Inquiry, Question, Usage
from clinaudit.errors import BadInputError, IncompleteError, StorageError
from clinaudit.reports.wording.numbers import counted

#: A reasoning model thinks before it answers, and its limit of tokens counts both. Cut short it gives no answer, so the
#: room is ample [choice]; what is not used costs nothing.
REASONING_TOKENS: Final = 25_000
#: Far above the characters per token of any tokenizer over a whole answer.
_MOST_CHARS_PER_TOKEN: Final = 32
_NO_CHOICE: Final = "the server's answer does not hold one choice"
_Announce = Callable[[AskingEstimate], None]


def _silent(_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Reading(Generic[Found]):
    """What a model said to one question: its words, and what was found in them; else why not, in fixed words."""

    raw: str | None
    found: Found | None
    reason: str | None


class AnsweringModel:
    """A model behind an approved address; connections are open only during a call."""

    def __init__(
        self,
        model: ServedModel,
        access: Access,
        *,
        name: str,
        identity: Mapping[str, str],
        cache: AnswerCache,
        seed: int | None,
        without_seed: str = "name a model that takes both",
    ) -> None:
        """Prepare to ask; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved.

        `name` is what errors call the endpoint, `identity` what answers depend on beside the question. `seed`: None for
        a model that takes neither temperature nor seed, as reasoning models; `without_seed` says what to do with one.
        """
        require_approved(model.base_url, approved_hosts=access.approved_hosts)
        self._model, self._access, self._name = model, access, name
        self._identity, self._cache = identity, cache
        self._seed, self._without_seed = seed, without_seed

    def ask(
        self, inquiries: Sequence[Inquiry[Found]], announce: _Announce = _silent, *, advance: Advance = _silent
    ) -> Iterator[Reading[Found]]:
        """Yield the reading of each answer, in order; errors as `settle`."""
        settling = self.settle(lambda: inquiries, announce)
        for (_, read), settled in zip(inquiries, settling, strict=True):
            found = None if settled.answer is None else read(settled.answer)
            if found is None or isinstance(found, str):
                yield Reading(settled.answer, None, settled.reason or found)
            else:
                yield Reading(settled.answer, found, None)
            advance(1)

    def settle(
        self, inquiries: Callable[[], Iterable[Inquiry[Any]]], announce: _Announce = _silent
    ) -> Generator[Settled]:
        """Yield the result of each question, in order; equal questions are asked once.

        `inquiries` is called twice: they may be too many to hold. `announce` learns first of what there is to ask, if
        anything. Raises `IncompleteError` where some question got no answer, after the rest was asked and cached;
        `BadInputError` where the server refuses every question.
        """

        def keyed() -> Iterator[tuple[bytes, Inquiry[Any]]]:
            return ((question_key(self._identity, inquiry[0]), inquiry) for inquiry in inquiries())

        def is_known(key: bytes, read: Callable[[str], object]) -> bool:
            # And its answer would pass validation today.
            known = self._cache.find(key)
            return known is not None and (known.answer is None or not isinstance(read(known.answer), str))

        unknown = {key: self._tokens_of(question) for key, (question, read) in keyed() if not is_known(key, read)}
        if unknown:
            prompts, answers = map(sum, zip(*unknown.values(), strict=True))
            announce(AskingEstimate(len(unknown), prompts, answers))
        order: deque[bytes] = deque()
        unsettled = set(unknown)
        failures: Counter[str] = Counter()

        def to_be_asked() -> Iterator[tuple[bytes, Inquiry[Any]]]:
            for key, inquiry in keyed():
                order.append(key)
                if unknown.pop(key, None) is not None:
                    yield key, inquiry

        # Of its own: a caller may take several streams of answers by turns.
        endpoint = Endpoint(self._model, self._access, name=self._name)
        for (key, _), failed in endpoint.run(partial(self._settle, endpoint), to_be_asked()):
            if failed is None:
                unsettled.remove(key)
            else:
                failures[failed.reason] += 1
            while order and order[0] not in unsettled:
                yield self._kept(order.popleft())
        if failures:
            reasons = ", ".join(f"{count} x {reason}" for reason, count in sorted(failures.items()))
            raise IncompleteError(
                f"{counted(failures.total(), 'question')} got no answer from {self._name} ({reasons}); look at the "
                "server, then run the same command again"
            )
        yield from map(self._kept, order)

    def _kept(self, key: bytes) -> Settled:
        if (settled := self._cache.find(key)) is None:
            raise StorageError("the cache of answers lost what was just written; run the same command again")
        return settled

    def _tokens_of(self, question: Question) -> tuple[int, int]:
        """Return about how many tokens a question has, and how many its answer may have."""
        asked = asking.estimate_tokens(question.system) + asking.estimate_tokens(question.user)
        return asked, question.max_answer_tokens + (REASONING_TOKENS if self._seed is None else 0)

    async def _settle(self, endpoint: Endpoint, keyed: tuple[bytes, Inquiry[Any]]) -> Failed | None:
        """Ask until the question is settled, and keep the result at once; return why it is not."""
        key, (question, read) = keyed
        usage, asked, problem = Usage(), question, ""
        # An answer that cannot be used is asked for again once (docs/methods.md, section 5).
        for attempt in (1, 2):
            said = await self._say(endpoint, asked)
            if isinstance(said, Failed):
                if said.passes:
                    return said
                # It may refuse this very question, by a filter of its own or for its length; or every one by now.
                about_nothing = await self._say(endpoint, question.without_notes())
                if not isinstance(about_nothing, Failed):
                    refusal = f"{asking.REFUSED_BY_SERVER} ({said.reason})"
                    self._cache.keep(key, Settled(None, attempt, refusal), usage + about_nothing[2])
                    return None
                if about_nothing.passes:
                    return about_nothing
                decoding = "max_tokens, temperature 0 and a seed"
                if self._seed is None:
                    decoding = f"max_completion_tokens, with {REASONING_TOKENS:,} tokens beside those of an answer"
                raise BadInputError(
                    f"{self._name} answers no question: each is {asking.REFUSED_BY_SERVER} ({said.reason}); it must "
                    f"take chat completions with a JSON schema to answer by and {decoding} (where it takes no "
                    f"temperature or seed: {self._without_seed}); nothing refused is recorded"
                )
            content, problem, used = said
            usage += used
            found = problem if content is None else read(content)
            if not isinstance(found, str):
                self._cache.keep(key, Settled(content, attempt, None), usage)
                return None
            problem, asked = found, question.again(found)
        if _is_strange(problem):
            # A gateway's page, or another model, may stand in the place of every answer for a while.
            about_nothing = await self._say(endpoint, question.without_notes())
            if isinstance(about_nothing, Failed):
                return Failed(problem, passes=True)
            if about_nothing[1].startswith(OTHER_MODEL) and problem.startswith(OTHER_MODEL):
                raise BadInputError(
                    f"at {self._name} {problem}; give the full name that the server answers by, or have it serve the "
                    "model asked for (no alias, no fallback); none of its answers is recorded"
                )
            if _is_strange(about_nothing[1]):
                return Failed(problem, passes=True)
            usage += about_nothing[2]
        self._cache.keep(key, Settled(None, attempt, problem), usage)
        return None

    async def _say(self, endpoint: Endpoint, question: Question) -> tuple[str | None, str, Usage] | Failed:
        """Ask once: return the text that can be used, else why there is none, and its tokens; or the failure.

        A failure is a refusal, or may pass. Raises where every further question would fail.
        """
        _, room = self._tokens_of(question)
        schema = {"name": question.schema_name, "strict": True, "schema": dict(question.schema)}
        # Reasoning models know no `max_tokens`, older servers nothing else.
        limit = {"max_completion_tokens": room}
        decoding = limit if self._seed is None else {"temperature": 0.0, "seed": self._seed, "max_tokens": room}
        asked = {
            "messages": [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}],
            "n": 1,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        said = await endpoint.send("/chat/completions", asked | decoding, serves="chat completions")
        if isinstance(said, Failed):
            return said if said.passes or said.status else (None, said.reason, Usage(1, uncounted_calls=1))
        return *self._read(said, question), asking.count_usage(said)

    def _read(self, answer: dict[str, Any], question: Question) -> tuple[str | None, str]:
        """Return the text of the one message of a server's answer; None where it cannot be used, and why not."""
        if (reply := asking.read_reply(answer)) is None:
            return None, _NO_CHOICE
        if (problem := asking.other_model(self._model.name, answer.get("model"))) is not None:
            return None, problem
        content = reply.content
        if reply.ending == "filtered" or reply.refusal:
            return None, asking.REFUSED_BY_MODEL
        if reply.ending == "tool":
            return None, "the model called a tool instead of answering"
        if reply.ending is None and reply.word is not None:
            return None, f"the server ended the answer by a word that is not known here: {reply.word}"
        if reply.ending != "stop":
            return None, "the answer was cut off"
        if content is None or (isinstance(content, str) and not content.strip()):
            return None, "the model thought and gave no answer" if reply.thought else asking.REFUSED_BY_MODEL
        if not isinstance(content, str):
            return None, "the model gave no answer"
        is_long = len(content) > question.max_answer_tokens * _MOST_CHARS_PER_TOKEN
        return (None, "the answer is longer than was asked for") if is_long else (content, "")


def _is_strange(problem: str) -> bool:
    # None of the protocol, or another model's.
    return problem in (UNREADABLE.reason, _NO_CHOICE) or problem.startswith(OTHER_MODEL)
