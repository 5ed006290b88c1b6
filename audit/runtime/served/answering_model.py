"""A served model, from questions to what was read of its answers.

An answer that cannot be used is asked for once more; after that there is a reason in its place. Imported lazily: it
loads the client.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Generic

from clinaudit.audit.runtime.served.access import Access, EndpointWords, ServedModel, first_form, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of
from clinaudit.audit.runtime.served.asking import Asker, asked_to_read
from clinaudit.audit.runtime.served.chat import ChatEndpoint
from clinaudit.audit.runtime.served.forms import Found, Inquiry
from clinaudit.audit.runtime.served.question import AskingEstimate


@dataclass(frozen=True, slots=True)
class Reading(Generic[Found]):
    """What a model said to one question."""

    #: Its words as they came; None where no answer could be used.
    raw: str | None
    #: None where no answer could be used.
    found: Found | None
    #: Why not, in fixed words; None with an answer.
    reason: str | None


class AnsweringModel:
    """A model behind an approved address; connections are open only during a call."""

    def __init__(
        self, model: ServedModel, access: Access, *, kind: str, words: EndpointWords, seed: int, cache: AnswerCache
    ) -> None:
        """Prepare to ask for a purpose (`kind`); sends nothing.

        Raises `UnsafeError` for a host neither loopback nor approved.
        """
        require_approved(model.base_url, approved_hosts=access.approved_hosts)
        self._cache = cache
        # The reading is raised whenever a change of the code (not of the wording) changes what an answer means.
        self._identity = identity_of(model, kind=kind, reading="2", seed=seed)
        form = first_form("deterministic", seed=seed)
        self._open_endpoint = partial(ChatEndpoint, model, access, form=form, words=words)

    def ask(
        self,
        inquiries: Sequence[Inquiry[Found]],
        announce: Callable[[AskingEstimate], None] = lambda _: None,
        *,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Iterator[Reading[Found]]:
        """Yield the reading of each answer, in order; `announce` learns first of what there is to ask, if anything.

        Raises `IncompleteError` where the server gave no answer; the answers that came are in the cache by then.
        """
        asked = [asked_to_read(question, read) for question, read in inquiries]
        with closing(self._open_endpoint()) as endpoint:
            asker = Asker(endpoint, self._cache, self._identity)
            estimate = asker.estimate(asked)
            if estimate.questions:
                announce(estimate)
            for (_, read), settled in zip(inquiries, asker.settle_all(asked), strict=True):
                found = None if settled.answer is None else read(settled.answer)
                if found is None or isinstance(found, str):
                    yield Reading(settled.answer, None, settled.reason or found)
                else:
                    yield Reading(settled.answer, found, None)
                advance(1)
