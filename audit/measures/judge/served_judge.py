"""LLM-as-a-judge: a language model behind an OpenAI-compatible endpoint (paper 3.2.2, Appendices C and G).

Owns its identity and the way from texts and histories to judgements and annotations. No answer is trusted: it is
validated against the text, and asked for again once. After that the text is *unjudged* (an annotation: unknown).
Imported lazily.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Final

from clinaudit.audit.measures.judge.annotation import Annotation, PatientHistory, leave_open, unknown_annotations
from clinaudit.audit.measures.judge.annotation_prompt import (
    ENTRY_SCHEMA,
    QUESTION,
    ask_for_annotations,
    keep_end,
    keep_recent_notes,
    read_annotations,
)
from clinaudit.audit.measures.judge.verdict import Judgement, Verdict
from clinaudit.audit.measures.judge.verdict_prompt import ask_for_verdict, digest_of_wording, read_verdict
from clinaudit.audit.runtime.choices import JudgeDecoding
from clinaudit.audit.runtime.served.access import Access, ServedModel, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, Settled, identity_of, open_memory_cache
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.audit.runtime.served.question import AskingEstimate, Inquiry
from clinaudit.priors.diagnoses import Diagnosis

#: Raised whenever a change of the code (not of the wording) changes what an answer means.
OPENAI_JUDGE_VERSION = "4"
_WITHOUT_SEED: Final = "use --judge-decoding provider-default, which sends neither"


class OpenAIJudge:
    """A judge that asks a served model; connections are open only during a call."""

    name = "openai"

    def __init__(
        self,
        model: ServedModel,
        access: Access,
        *,
        note_tokens: int,
        decoding: JudgeDecoding = "deterministic",
        seed: int = 0,
        panel: Sequence[Diagnosis] = (),
    ) -> None:
        """Prepare to ask; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved.

        `note_tokens` bounds the notes of one patient in one question, in estimated tokens. `panel` holds the diagnoses
        by which a span may be about another one: such a span supports no verdict.
        """
        require_approved(model.base_url, approved_hosts=access.approved_hosts)
        self._model, self._access = model, access
        self._decoding = decoding
        # Not sent where the provider decodes: what was answered stands, whatever the seed.
        self._seed = seed if decoding == "deterministic" else None
        self._note_tokens = note_tokens
        self._panel = tuple(panel)
        self.use_cache(None)

    def identity(self) -> dict[str, str]:
        """Return what its answers depend on, as far as it is visible here; never the key.

        The address is replaced by its digest: it may reveal the site's network.
        """
        return {
            **identity_of(self._model, kind=self.name, reading=OPENAI_JUDGE_VERSION, seed=self._seed),
            "wording": digest_of_wording(QUESTION, ENTRY_SCHEMA),
            "decoding": self._decoding,
            "note_tokens": str(self._note_tokens),
        }

    def use_cache(self, cache: AnswerCache | None, *, announce: Callable[[AskingEstimate], None] | None = None) -> None:
        """Keep answers in `cache` (None: in memory, for one call), and `announce` the estimated usage before asking."""
        self._cache, self._announce = cache, announce or (lambda _estimate: None)

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        """Yield one judgement for each (text, diagnosis), in order; an empty text mentions nothing, without a question.

        Raises `IncompleteError` where the server gave no answer; the answers that came are in the cache by then.
        """

        def inquiries() -> Iterator[Inquiry[Verdict]]:
            for text, diagnosis in items:
                if text.strip():
                    read = partial(read_verdict, text=text, diagnosis=diagnosis, panel=self._panel)
                    yield ask_for_verdict(text, diagnosis), read

        settling = self._settle(inquiries)
        for text, diagnosis in items:
            settled = next(settling) if text.strip() else None
            if settled is None:
                yield Judgement(Verdict(False, None), self.name, attempts=0, invalid_reason=None)
            elif settled.answer is None:
                yield Judgement(None, self.name, settled.attempts, settled.reason)
            else:
                read = read_verdict(settled.answer, text, diagnosis, self._panel)
                verdict, reason = (None, read) if isinstance(read, str) else (read, None)
                yield Judgement(verdict, self.name, settled.attempts, reason)

    def annotate_many(
        self, histories: Callable[[], Iterable[PatientHistory]], panel: Sequence[Diagnosis]
    ) -> Iterator[list[Annotation]]:
        """Yield the annotations of each patient, in order; errors as `judge_many`."""

        def inquiries() -> Iterator[Inquiry[list[Annotation]]]:
            for history, _ in map(self._cut, histories()):
                yield ask_for_annotations(history, panel), partial(read_annotations, history=history, panel=panel)

        with closing(self._settle(inquiries)) as settling:
            for (history, unread), settled in zip(map(self._cut, histories()), settling, strict=True):
                read = "" if settled.answer is None else read_annotations(settled.answer, history, panel)
                rows = unknown_annotations(panel) if isinstance(read, str) else read
                yield leave_open(rows, panel, unread=unread)

    def _cut(self, history: PatientHistory) -> tuple[PatientHistory, Sequence[str]]:
        """Return what is sent of a history, and the notes that are not, or not whole."""
        limit = self._note_tokens
        kept, unread = keep_recent_notes(history.notes, limit_tokens=limit)
        # Parts of the latest note: no longer than the limit of all notes.
        start, hpi = (keep_end(part, limit_tokens=limit) for part in (history.note_start, history.hpi))
        return replace(history, notes=kept, note_start=start, hpi=hpi), unread

    def _settle(self, inquiries: Callable[[], Iterable[Inquiry[Any]]]) -> Generator[Settled]:
        """Yield the result of each question."""
        with nullcontext(self._cache) if self._cache is not None else open_memory_cache() as cache:
            model = AnsweringModel(
                self._model,
                self._access,
                name="the judge's endpoint",
                identity=self.identity(),
                cache=cache,
                seed=self._seed,
                without_seed=_WITHOUT_SEED,
            )
            with closing(model.settle(inquiries, self._announce)) as settling:
                yield from settling
