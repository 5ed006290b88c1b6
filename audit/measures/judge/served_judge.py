"""LLM-as-a-judge: a language model behind an OpenAI-compatible endpoint (paper 3.2.2, Appendices C and G).

Owns its identity and the way from texts and histories to judgements and annotations. No answer is trusted: it is
validated against the text, and asked for again once. After that the text is *unjudged* (an annotation: unknown).
A model that decodes as its provider has it is asked each question three times. Imported lazily.
"""

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

from clinaudit.audit.measures.judge.annotation import Annotation, PatientHistory, leave_open
from clinaudit.audit.measures.judge.annotation_prompt import (
    ENTRY_SCHEMA,
    QUESTION,
    ask_for_annotations,
    keep_end,
    keep_recent_notes,
    read_annotations,
    unknown_annotations,
)
from clinaudit.audit.measures.judge.verdict import NO_MAJORITY, Judgement, Verdict, kind_of_reason
from clinaudit.audit.measures.judge.verdict_prompt import ask_for_verdict, digest_of_wording, read_verdict
from clinaudit.audit.runtime.choices import JudgeDecoding
from clinaudit.audit.runtime.console.streams import warn
from clinaudit.audit.runtime.served.access import Access, ServedModel, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, Settled, identity_of, open_memory_cache
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.audit.runtime.served.question import AskingEstimate, Inquiry, after_thought
from clinaudit.priors.diagnoses import Diagnosis

#: How many answers each question is asked for. Two of three may be alike by chance, three hardly all differ [choice].
ANSWERS_EACH: Final[dict[JudgeDecoding, int]] = {"deterministic": 1, "provider-default": 3}
_MAJORITY: Final = 2
_TOO_FEW: Final = "of three answers at most one could be used"
Class = TypeVar("Class", bound=Hashable)


def join_judgements(answers: Sequence[Judgement]) -> Judgement:
    """Return the judgement of several answers: the first one of those two that share a class.

    Otherwise there is none. Where at most one answer can be used, the reason is what the others have in common. A
    question that was asked once has the one judgement.
    """
    if len(answers) == 1:
        return answers[0]
    outcomes = tuple(answer.outcome for answer in answers)
    attempts = sum(answer.attempts for answer in answers)
    shared = _shared([outcome for outcome in outcomes if outcome != "unjudged"])
    for answer in answers:
        if answer.verdict is not None and answer.outcome == shared:
            return Judgement(answer.verdict, answer.judge, attempts, None, outcomes)
    reasons = [answer.invalid_reason or "" for answer in answers if answer.verdict is None]
    reason = NO_MAJORITY
    if len(answers) - len(reasons) < _MAJORITY:
        kind = _shared([kind_of_reason(reason) for reason in reasons])
        reason = next((reason for reason in reasons if kind_of_reason(reason) == kind), _TOO_FEW)
    return Judgement(None, answers[0].judge, attempts, reason, outcomes)


def join_annotations(answers: Sequence[list[Annotation] | None], panel: Sequence[Diagnosis]) -> list[Annotation]:
    """Return the annotations of one patient from several answers, None being one that cannot be used.

    Of each diagnosis by itself: the first of those two that agree on whether it is present, absent or unknown.
    """
    usable = [answer for answer in answers if answer is not None]
    if len(answers) == len(usable) == 1:
        return usable[0]
    return [
        _join([answer[place] for answer in usable]) or unknown
        for place, unknown in enumerate(unknown_annotations(panel))
    ]


def _join(rows: Sequence[Annotation]) -> Annotation | None:
    # In words: unknown is a class, too.
    shared = _shared([str(row.present) for row in rows])
    return next((row for row in rows if str(row.present) == shared), None)


def _shared(classes: Sequence[Class]) -> Class | None:
    """Return the class that two share; of three there is at most one."""
    return next((value for value, count in Counter(classes).items() if count >= _MAJORITY), None)


#: Raised whenever a change of the code (not of the wording) changes what an answer means.
OPENAI_JUDGE_VERSION = "4"
_WITHOUT_SEED: Final = "use --judge-decoding provider-default, which sends neither and asks each question three times"


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
        self._cache: AnswerCache | None = None
        self._announce: Callable[[AskingEstimate], None] = _say_nothing
        #: Whether it was said that answers begin with a thought.
        self._has_thought = False

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
        self._cache, self._announce = cache, announce or _say_nothing

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        """Yield one judgement for each (text, diagnosis), in order; an empty text mentions nothing, without a question.

        Raises `IncompleteError` where the server gave no answer; the answers that came are in the cache by then.
        """
        settled = self._settle(lambda: (self._inquiry(text, diagnosis) for text, diagnosis in items if text.strip()))
        for text, diagnosis in items:
            if text.strip():
                answers = [self._judgement(outcome, text, diagnosis) for outcome in next(settled)]
                yield join_judgements(answers)
            else:
                yield Judgement(Verdict(False, None), self.name, attempts=0, invalid_reason=None)

    def annotate_many(
        self, histories: Callable[[], Iterable[PatientHistory]], panel: Sequence[Diagnosis]
    ) -> Iterator[list[Annotation]]:
        """Yield the annotations of each patient, in order; errors as `judge_many`."""

        def inquiries() -> Iterator[Inquiry[list[Annotation]]]:
            for history, _ in map(self._cut, histories()):
                yield ask_for_annotations(history, panel), partial(read_annotations, history=history, panel=panel)

        with closing(self._settle(inquiries)) as settled:
            for (history, unread), outcomes in zip(map(self._cut, histories()), settled, strict=True):
                joined = join_annotations([_annotations(outcome, history, panel) for outcome in outcomes], panel)
                yield leave_open(joined, panel, unread=unread)

    def _cut(self, history: PatientHistory) -> tuple[PatientHistory, Sequence[str]]:
        """Return what is sent of a history, and the notes that are not, or not whole."""
        limit = self._note_tokens
        kept, unread = keep_recent_notes(history.notes, limit_tokens=limit)
        # Parts of the latest note: no longer than the limit of all notes.
        start, hpi = (keep_end(part, limit_tokens=limit) for part in (history.note_start, history.hpi))
        return replace(history, notes=kept, note_start=start, hpi=hpi), unread

    def _settle(self, inquiries: Callable[[], Iterable[Inquiry[Any]]]) -> Generator[list[Settled]]:
        """Yield the results of each question, as many as answers are asked for."""
        each = ANSWERS_EACH[self._decoding]
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
            with closing(model.settle(inquiries, self._announce, answers_each=each)) as settled:
                while results := list(islice(settled, each)):
                    yield results

    def _inquiry(self, text: str, diagnosis: Diagnosis) -> Inquiry[Verdict]:
        read = partial(read_verdict, text=text, diagnosis=diagnosis, panel=self._panel)
        return ask_for_verdict(text, diagnosis), read

    def _judgement(self, settled: Settled, text: str, diagnosis: Diagnosis) -> Judgement:
        if settled.answer is None:
            return Judgement(None, self.name, settled.attempts, settled.reason)
        if not self._has_thought and after_thought(settled.answer) != settled.answer:
            self._has_thought = True
            warn("judge: a thought (<think>) stands before answers; it is taken off, and is not read")
        verdict = read_verdict(settled.answer, text, diagnosis, self._panel)
        if isinstance(verdict, str):
            return Judgement(None, self.name, settled.attempts, verdict)
        return Judgement(verdict, self.name, settled.attempts, None)


def _annotations(settled: Settled, history: PatientHistory, panel: Sequence[Diagnosis]) -> list[Annotation] | None:
    """Return what an answer says of a history, or None where it cannot be used."""
    read = read_annotations(settled.answer, history, panel) if settled.answer is not None else ""
    return None if isinstance(read, str) else read


def _say_nothing(_estimate: AskingEstimate) -> None:
    pass
