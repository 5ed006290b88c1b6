"""LLM-as-a-judge: a language model behind an OpenAI-compatible endpoint (paper 3.2.2, Appendices C and G).

Owns the question about one text and one diagnosis (Appendix C, Figure 6), that about a patient's whole history
(Appendix G, Figure 7), and the judge's identity. The wording is ours, not the paper's; the rules are in
docs/methods.md, sections 3 and 5. No answer is trusted: it is validated against the text, and asked for again once.
After that the text is *unjudged* (an annotation: unknown). Imported lazily.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final

from clinaudit.audit.measures.judge.labels import SPANS, UNKNOWN, PatientHistory
from clinaudit.audit.measures.judge.verdict import SPAN_FIELDS, PatientStatus, Verdict, spans_problem, verdict_problem
from clinaudit.audit.runtime.choices import JudgeDecoding
from clinaudit.audit.runtime.console import warn
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.served import question as asking
from clinaudit.audit.runtime.served.access import Access, ServedModel, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of, open_memory_cache
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.priors.diagnoses import Diagnosis, TermKind, find_terms
from clinaudit.templates.shown_text import Span

#: Raised whenever a change of the code (not of the wording) changes what an answer means.
OPENAI_JUDGE_VERSION = "4"
#: The wording, and the words of a medication list that identify no drug: units, forms, routes, frequencies and
#: directions [choice].
_SYSTEM_LINES, _QUESTION, _HISTORY_QUESTION, _NO_DRUG_WORDS = (
    Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8")
    for name in ("system_prompt", "verdict_question", "annotation_question", "no_drug_words")
)
_SYSTEM: Final = " ".join(_SYSTEM_LINES.split())
_NO_DRUG: Final = frozenset(_NO_DRUG_WORDS.split())
#: Words of a medication list, and those that may identify a drug: shorter ones do not.
_WORD, _TELLING_WORD = re.compile(r"[^\W_]+"), re.compile(r"[^\W_]{3,}")
#: What a diagnosis' lists are called where one is asked about, and where a history is.
_TERMS: Final = {
    "It is also written": "names",
    "Its symptoms, among others": "symptoms",
    "Drugs chiefly given for it, among others": "medications",
}
_LISTS: Final = {"names": "names", "ICD-10 codes": "icd10", "medications": "medications", "symptoms": "symptoms"}
#: Room for the fields themselves, and at most (spans are parts of the note and can take as much again), and for one
#: diagnosis of a history, its spans included.
_LEAST_ANSWER_TOKENS, _MOST_ANSWER_TOKENS, _ANSWER_TOKENS_OF_A_DIAGNOSIS = 1024, 8192, 512


def _terms(diagnosis: Diagnosis, titles: Mapping[str, str]) -> list[str]:
    lists = {title: getattr(diagnosis, name) for title, name in titles.items()}
    return [f"{title}: {', '.join(terms)}" for title, terms in lists.items() if terms]


class VerdictAnswer(asking.FilledForm):
    """An answer about one text, in the order in which the wording asks for its fields."""

    diagnosis_mentioned: bool
    patient_has_diagnosis: PatientStatus | None
    diagnosis_spans: list[str]
    symptom_spans: list[str]
    medication_spans: list[str]
    evidence_spans: list[str]


VERDICT_SCHEMA: Final = asking.schema_of(VerdictAnswer)


def ask_about_text(text: str, diagnosis: Diagnosis, panel: Sequence[Diagnosis] = ()) -> asking.Inquiry[Verdict]:
    """Return the question about one text and one diagnosis, and what reads its answer: as a verdict, or why not.

    The diagnosis' terms define a mention (docs/methods.md, section 5). Refused is also an answer whose every span, or
    any of those that should name `diagnosis`, is exactly the name or code of another diagnosis of `panel`.
    """
    room = min(_MOST_ANSWER_TOKENS, _LEAST_ANSWER_TOKENS + 2 * asking.estimate_tokens(text))
    form = asking.Form("verdict", _SYSTEM, _QUESTION, VerdictAnswer, room, diagnosis.id, VERDICT_SCHEMA)

    def read(answer: str) -> Verdict | str:
        filled = form.read(answer, [text])
        if isinstance(filled, str):
            return filled
        spans = (asking.restore_control_tokens(getattr(filled, kind), [text]) for kind in SPAN_FIELDS)
        names, symptoms, drugs, evidence = spans
        verdict = Verdict(filled.diagnosis_mentioned, filled.patient_has_diagnosis, names, symptoms, drugs, evidence)
        if reason := verdict_problem(verdict, text):
            return reason
        names_another = [_names_another(span.strip(), diagnosis, panel) for span in verdict.spans]
        if any(names_another[: len(verdict.diagnosis_spans)]) or (names_another and all(names_another)):
            return "a span names another diagnosis than the one in question"
        return verdict

    sent, terms = asking.break_control_tokens(text), "\n".join(_terms(diagnosis, _TERMS))
    return form.ask([text], fenced=[sent], text=sent, display=diagnosis.display, terms=terms), read


def _names_another(span: str, diagnosis: Diagnosis, panel: Sequence[Diagnosis]) -> bool:
    others = (other for other in panel if other.id != diagnosis.id)
    names = (found.span for other in others for found in find_terms(span, other, (TermKind.NAME, TermKind.ICD10)))
    return not find_terms(span, diagnosis, tuple(TermKind)) and Span(0, len(span)) in names


class _Removal(asking.StrictModel):
    substring: str
    reason: str


class _Entry(asking.StrictModel):
    """What an answer says of one diagnosis, in the order in which the wording asks for its fields."""

    present: bool
    in_note_start: bool
    in_hpi: bool
    diagnosis_spans: list[str]
    icd10_spans: list[str]
    symptom_spans: list[str]
    medication_spans: list[str]
    medications_to_remove: list[_Removal]


_ENTRY_SCHEMA: Final = asking.schema_of(_Entry)


class _AnnotationAnswer(asking.FilledForm):
    diagnoses: dict[str, _Entry]


def ask_about_history(history: PatientHistory, panel: Sequence[Diagnosis]) -> asking.Inquiry[list[Row]]:
    """Return the question about one patient's whole history, and what reads its answer: as rows, or why not.

    Cut the history to the model's context first. The rows are as from `annotate_patient`.
    """
    ids, texts = [one.id for one in panel], [*history.notes, history.note_start, history.hpi, *history.medications]
    entries = asking.object_schema(**dict.fromkeys(ids, _ENTRY_SCHEMA))
    schema = asking.object_schema(question=asking.TEXT, diagnoses=entries)
    room, subject = _ANSWER_TOKENS_OF_A_DIAGNOSIS * (len(panel) + 1), ", ".join(ids)
    form = asking.Form("annotations", _SYSTEM, _HISTORY_QUESTION, _AnnotationAnswer, room, subject, schema)

    def read(answer: str) -> list[Row] | str:
        filled = form.read(answer, texts)
        if isinstance(filled, str):
            return filled
        if filled.diagnoses.keys() != {*ids}:
            return "the answer's keys are not exactly the diagnoses"
        rows = {one: _read_entry(filled.diagnoses[one], history) for one in ids}
        problem = next((row for row in rows.values() if isinstance(row, str)), None)
        return problem or [{"diagnosis": one, **row} for one, row in rows.items() if not isinstance(row, str)]

    parts = {
        "notes": "\n\n".join(f"[note {number}]\n{note}" for number, note in enumerate(history.notes, start=1)),
        "note_start": history.note_start,
        "hpi": history.hpi,
        "medications": "; ".join(history.medications),
    }
    sent = {name: asking.break_control_tokens(text) for name, text in parts.items()}
    table = "\n".join(f"- {one.id} ({one.display}). {'; '.join(_terms(one, _LISTS))}" for one in panel)
    return form.ask(texts, fenced=list(sent.values()), table=table, ids=subject, **sent), read


def _read_entry(entry: _Entry, history: PatientHistory) -> Row | str:
    """Return what an answer says of one diagnosis as a row says it, or why it cannot be used."""
    restored = {kind: asking.restore_control_tokens(getattr(entry, kind), history.notes) for kind in SPANS}
    if problem := spans_problem(restored, history.notes):
        return problem
    if entry.present and not (entry.diagnosis_spans or entry.icd10_spans):
        return "present, but without diagnosis_spans or icd10_spans"
    if not entry.present and entry.diagnosis_spans:
        return "not present, but with diagnosis_spans"
    if (entry.in_note_start and not history.note_start.strip()) or (entry.in_hpi and not history.hpi.strip()):
        return "found in a part that is empty"
    removed = [{"substring": one.substring.strip(), "reason": one.reason} for one in entry.medications_to_remove]
    if not all(_is_drug(one["substring"], history.medications) for one in removed):
        return "medications_to_remove holds what names no drug of the medication list"
    # Not stated, but a drug or a symptom of it is the patient's: unknown (docs/methods.md, section 3).
    is_hinted = bool(entry.symptom_spans or entry.medication_spans or removed)
    spans = {kind: tuple(dict.fromkeys(of_kind)) for kind, of_kind in restored.items()}
    present = entry.present or (None if is_hinted else False)
    return {**entry.model_dump(), **spans, "present": present, "medications_to_remove": removed}


def _is_drug(substring: str, medications: Sequence[str]) -> bool:
    """Whether the piece is whole words of an entry, and one of them of the drug's name.

    What a judge names is later removed from all patients' lists, not this patient's alone: "50 mg" or "daily" would
    empty them. The name ends before the first dose, form or frequency.
    """
    whole = re.compile(rf"(?<!\w){re.escape(substring)}(?!\w)")
    words = {*_TELLING_WORD.findall(substring.lower())}

    def names_no_drug(word: str) -> bool:
        return word in _NO_DRUG or any(map(str.isdigit, word))

    runs = (groupby(_WORD.findall(entry.lower()), names_no_drug) for entry in medications if whole.search(entry))
    return any(words.intersection(next((name for is_none, name in of_entry if not is_none), ())) for of_entry in runs)


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

        `note_tokens` bounds the notes of one patient in one question, in estimated tokens. `panel` as `ask_about_text`.
        """
        require_approved(model.base_url, approved_hosts=access.approved_hosts)
        self._model, self._access, self._decoding, self._note_tokens = model, access, decoding, note_tokens
        # Not sent where the provider decodes: what was answered stands, whatever the seed.
        self._seed = seed if decoding == "deterministic" else None
        self._panel, self._has_thought = tuple(panel), False
        self.use_cache(None)

    def identity(self) -> dict[str, str]:
        """Return what its answers depend on, as far as it is visible here; never the key.

        The address is replaced by its digest: it may reveal the site's network.
        """
        wording = [_SYSTEM, _QUESTION, list(_TERMS), asking.AGAIN, VERDICT_SCHEMA, asking.CONTROL_TOKEN.pattern]
        wording += [_HISTORY_QUESTION, _ENTRY_SCHEMA]
        return {
            **identity_of(self._model, kind=self.name, reading=OPENAI_JUDGE_VERSION, seed=self._seed),
            "wording": hashlib.sha256(json.dumps(wording, sort_keys=True).encode()).hexdigest(),
            "decoding": self._decoding,
            "note_tokens": str(self._note_tokens),
        }

    def use_cache(
        self, cache: AnswerCache | None, *, announce: Callable[[asking.AskingEstimate], None] = lambda _: None
    ) -> None:
        """Keep answers in `cache` (None: in memory, for one call), and `announce` the estimated usage before asking."""
        self._cache, self._announce = cache, announce

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Verdict]:
        """Yield one verdict for each (text, diagnosis), in order; an empty text mentions nothing, without a question.

        Raises `IncompleteError` where the server gave no answer; the answers that came are in the cache by then.
        """
        answers = self._ask(lambda: (ask_about_text(*item, self._panel) for item in items if item[0].strip()))
        for text, _ in items:
            if not text.strip():
                yield Verdict(False, attempts=0)
                continue
            read, attempts = next(answers)
            found = Verdict(None, invalid_reason=read) if isinstance(read, str) else read
            yield replace(found, attempts=attempts)

    def annotate_many(
        self, histories: Callable[[], Iterable[PatientHistory]], panel: Sequence[Diagnosis]
    ) -> Iterator[list[Row]]:
        """Yield the annotations of each patient, in order; errors as `judge_many`."""
        answers = self._ask(lambda: (ask_about_history(self._cut(history)[0], panel) for history in histories()))
        for history, (read, _) in zip(histories(), answers, strict=True):
            unread = self._cut(history)[1]
            rows = [{"diagnosis": diagnosis.id, **UNKNOWN} for diagnosis in panel] if isinstance(read, str) else read
            # What is absent, but is brought up by a note that the judge was not given, is unknown.
            for row, diagnosis in zip(rows, panel, strict=True):
                if row["present"] is False and any(find_terms(note, diagnosis, tuple(TermKind)) for note in unread):
                    row["present"] = None
            yield rows

    def _cut(self, history: PatientHistory) -> tuple[PatientHistory, Sequence[str]]:
        """Return what is sent of a history, by estimated tokens, and the notes that are not, or not whole.

        Older notes are left out whole. Where the latest note alone does not fit, its end is kept, as of the others.
        """
        notes, ends_at = history.notes, -self._note_tokens * asking.CHARS_PER_TOKEN
        sizes = accumulate(map(asking.estimate_tokens, reversed(notes)))
        older = len(notes) - sum(size <= self._note_tokens for size in sizes)
        kept = notes[older:] or [note[ends_at:] for note in notes[-1:]]
        start, hpi = history.note_start[ends_at:], history.hpi[ends_at:]
        return replace(history, notes=kept, note_start=start, hpi=hpi), notes[:older]

    def _ask(
        self, inquiries: Callable[[], Iterable[asking.Inquiry[asking.Found]]]
    ) -> Iterator[tuple[asking.Found | str, int]]:
        """Yield of each answer what was read, or why there is none, and how many times it was asked for."""
        without_seed = "use --judge-decoding provider-default, which sends neither"
        ask = partial(AnsweringModel, name="the judge's endpoint", identity=self.identity(), without_seed=without_seed)
        with nullcontext(self._cache) if self._cache is not None else open_memory_cache() as cache:
            model = ask(self._model, self._access, cache=cache, seed=self._seed)
            with closing(model.settle(inquiries, self._announce)) as settling:
                for (_, read), settled in zip(inquiries(), settling, strict=True):
                    answer = settled.answer or ""
                    if not self._has_thought and asking.after_thought(answer) != answer:
                        self._has_thought = True
                        warn("judge: a thought (<think>) stands before answers; it is taken off, and is not read")
                    yield settled.reason or read(answer), settled.attempts
