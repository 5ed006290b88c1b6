"""From questions to settled results: taken from the cache, asked, asked once more, or left for the next run.

Owns this order, and when a missing answer is final. An answer that cannot be used is asked for again once; then the
question is settled without one. A refused question is settled only where the server answers something asked later. A
question that got no answer at all is not settled, and the audit is incomplete. Where the first thing that a server says
is a refusal, it is asked about nothing in other forms, to learn which it takes. Knows nothing of what is asked.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from clinaudit.audit.runtime.served.access import Access
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, Settled, question_key
from clinaudit.audit.runtime.served.chat import ChatEndpoint, Failure, Refusal, Reply
from clinaudit.audit.runtime.served.question import (
    OF_ANOTHER_QUESTION,
    AskingEstimate,
    Question,
    Usage,
    estimate_tokens,
)
from clinaudit.errors import BadInputError, IncompleteError, StorageError
from clinaudit.reports.wording.numbers import counted

#: An answer that cannot be used is asked for again once (docs/methods.md, section 5).
MAX_ATTEMPTS = 2
#: After so many refusals without an answer, the server is asked whether it answers anything. As many as may be in
#: flight: a working server could refuse all of these before its first answer comes.
_REFUSALS_TO_DOUBT = Access().concurrency


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the validation of its answer."""

    question: Question
    #: Returns why an answer cannot be used (in fixed words), or None where it can.
    problem: Callable[[str], str | None]
    #: Which answer to this question, counted from 0, where several are asked for.
    repeat: int = 0


def asked_to_read(question: Question, read: Callable[[str], object]) -> Asked:
    """Return a question whose answer is usable if it can be read; `read` returns why not, in fixed words, as a text."""

    def problem(answer: str) -> str | None:
        found = read(answer)
        return found if isinstance(found, str) else None

    return Asked(question, problem)


@dataclass(frozen=True, slots=True)
class Refused:
    """A question that the server refuses, as far as is known yet."""

    reason: str
    #: How many refusals came before this one.
    number: int
    #: How many times the question was asked, and the usage of the answers before the refusal.
    attempts: int
    usage: Usage


def _prompt_tokens(question: Question) -> int:
    return estimate_tokens(question.system) + estimate_tokens(question.user)


class Asker:
    """Settles questions by one endpoint and one cache."""

    def __init__(self, endpoint: ChatEndpoint, cache: AnswerCache, identity: Mapping[str, str]) -> None:
        self._endpoint = endpoint
        self._words = endpoint.words
        self._cache = cache
        self._identity = identity
        #: Refusals below this number were followed by an answer to something asked after them.
        self._outlived = 0
        #: Whether the server answers in the endpoint's form, or in none.
        self._is_form_known = False
        self._learning = asyncio.Lock()

    def estimate(self, asked: Iterable[Asked]) -> AskingEstimate:
        """Return the number of distinct unsettled questions, and about how many tokens they take."""
        seen: set[bytes] = set()
        tokens = again = room = 0
        each = 1
        for item in asked:
            key = self._key_of(item)
            each = max(each, item.repeat + 1)
            if key not in seen and self._recall(key, item) is None:
                seen.add(key)
                tokens += _prompt_tokens(item.question)
                again += _prompt_tokens(item.question.again(OF_ANOTHER_QUESTION))
                room += item.question.max_answer_tokens + self._endpoint.form.reasoning_tokens
        repeats = MAX_ATTEMPTS - 1
        return AskingEstimate(len(seen), tokens, room, tokens + repeats * again, MAX_ATTEMPTS * room, each)

    def settle_all(self, asked: Iterable[Asked]) -> Iterator[Settled]:
        """Yield the result of each question, in order; equal questions are asked once.

        Raises `IncompleteError` where some question got no answer, after the rest was asked and cached;
        `BadInputError` where the server refuses every question.
        """
        order: deque[bytes] = deque()
        begun: set[bytes] = set()
        done: set[bytes] = set()
        failures: Counter[str] = Counter()
        refused: dict[bytes, tuple[Asked, Refused]] = {}

        def first_times() -> Iterator[tuple[bytes, Asked]]:
            for item in asked:
                key = self._key_of(item)
                order.append(key)
                if key not in begun:
                    begun.add(key)
                    yield key, item

        def settle_refused() -> None:
            # It answers others, so it refuses this very question (by a filter of its own, or for its length).
            for key in [key for key, (_, refusal) in refused.items() if refusal.number < self._outlived]:
                _, refusal = refused.pop(key)
                self._keep(key, Settled(None, refusal.attempts, refusal.reason), refusal.usage)
                done.add(key)

        for (key, item), outcome in self._endpoint.run_in_order(self._settle, first_times()):
            if isinstance(outcome, Failure):
                failures[outcome.reason] += 1
            elif isinstance(outcome, Refused):
                refused[key] = item, outcome
            else:
                done.add(key)
            settle_refused()
            if len(refused) >= _REFUSALS_TO_DOUBT:
                self._require_answers(*next(iter(refused.values())))
                settle_refused()
            while order and order[0] in done:
                yield self._remembered(order.popleft())
        if refused:
            self._require_answers(*next(iter(refused.values())))
            settle_refused()
        if failures:
            reasons = ", ".join(f"{count} x {reason}" for reason, count in sorted(failures.items()))
            raise IncompleteError(
                f"{counted(failures.total(), 'question')} got no answer from {self._words.name} ({reasons}); "
                f"{self._what_was_answered()}; look at the server, then run the same command again"
            )
        while order:
            yield self._remembered(order.popleft())

    async def _settle(self, keyed: tuple[bytes, Asked]) -> Settled | Refused | Failure:
        key, item = keyed
        known = self._recall(key, item)
        if known is not None:
            # Not counted as an answer of the server: it may refuse today what it answered yesterday.
            return known
        usage, question, reason = Usage(), item.question, ""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            refusals_before = self._endpoint.refusals
            said = await self._ask(question)
            if isinstance(said, Failure):
                return said
            if isinstance(said, Refusal):
                return Refused(said.reason, said.number, attempt, usage)
            self._outlived = max(self._outlived, refusals_before)
            usage += said.usage
            found = said.problem if said.content is None else item.problem(said.content)
            if found is None:
                return self._keep(key, Settled(said.content, attempt, None), usage)
            reason = found
            question = item.question.again(reason)
        return self._keep(key, Settled(None, MAX_ATTEMPTS, reason), usage)

    async def _ask(self, question: Question) -> Reply | Refusal | Failure:
        """Ask once; where that is refused before anything was answered, in the form that the server takes."""
        form = self._endpoint.form
        said = await self._endpoint.ask(question)
        if isinstance(said, Refusal):
            async with self._learning:
                if not self._is_form_known:
                    await self._learn_form(question.without_notes())
            if self._endpoint.form != form:
                return await self._endpoint.ask(question)
        elif isinstance(said, Reply):
            self._is_form_known = True
        return said

    async def _learn_form(self, question: Question) -> None:
        """Ask a question without notes in one form after the other, and keep to the first that is answered."""
        refusals_before = self._endpoint.refusals
        for form in self._endpoint.form.with_alternatives():
            said = await self._endpoint.ask(question, form=form)
            if isinstance(said, Failure):
                return
            if isinstance(said, Reply):
                if form.seed != self._endpoint.form.seed:
                    raise BadInputError(
                        f"the model at {self._words.name} answers only without temperature and seed, as reasoning "
                        f"models do; {self._words.without_seed}"
                    )
                self._endpoint.form = form
                self._outlived = max(self._outlived, refusals_before)
                self._count_probe(question, said.usage)
                break
        self._is_form_known = True

    def _require_answers(self, item: Asked, refusal: Refused) -> None:
        """Ask a question of the same form without notes; raises where no answer comes, and settles no refusal then."""
        refusals_before, question = self._endpoint.refusals, item.question.without_notes()
        ((_, said),) = self._endpoint.run_in_order(self._endpoint.ask, [question])
        if isinstance(said, Refusal):
            raise BadInputError(
                f"{self._words.name} answers no question: each is {refusal.reason}; it must take chat completions "
                "with a limit of tokens, a JSON schema to answer by, temperature 0 and a seed (where it takes no "
                f"temperature or seed: {self._words.without_seed}); nothing refused is recorded"
            )
        if isinstance(said, Failure):
            raise IncompleteError(
                f"{self._words.name} refuses questions, then does not answer ({said.reason}); "
                f"{self._what_was_answered()}; look at the server, then run the same command again"
            )
        self._outlived = max(self._outlived, refusals_before)
        self._count_probe(question, said.usage)

    def _count_probe(self, question: Question, usage: Usage) -> None:
        # Cached for its token count alone: it is asked anew each time.
        self._keep(question_key(self._identity, question), Settled(None, 1, "asked about nothing"), usage)

    def _key_of(self, item: Asked) -> bytes:
        return question_key(self._identity, item.question, repeat=item.repeat)

    def _what_was_answered(self) -> str:
        return "what it answered is kept" if self._cache.lasts else "what it answered is lost"

    def _keep(self, key: bytes, settled: Settled, usage: Usage) -> Settled:
        self._cache.keep(key, settled, usage)
        return settled

    def _recall(self, key: bytes, item: Asked) -> Settled | None:
        """Return the cached result, unless its answer would not pass validation today."""
        known = self._cache.find(key)
        if known is None or (known.answer is not None and item.problem(known.answer) is not None):
            return None
        return known

    def _remembered(self, key: bytes) -> Settled:
        known = self._cache.find(key)
        if known is None:
            raise StorageError("the cache of answers lost what was just written; run the same command again")
        return known
