"""What counts as given away: of the note after an opening, the first window that is the patient's own.

Owns which windows count, by the rules of attributable text: clinically revealing, of one patient with the values of
each note masked, and not said by the prompt. Knows nothing of how likely a model is to write it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.masked_pieces import PieceMasker
from clinaudit.audit.measures.memorization.matching import find_prompt_tokens, read_prompt
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, PatientText
from clinaudit.audit.measures.memorization.specificity.masked_notes import count_masked_patients
from clinaudit.audit.measures.memorization.specificity.patient_count import count_patients
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import Prior
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.record import Arm
from clinaudit.templates.spans import Span

#: Windows of an opening that are looked up in the corpus at first: in most notes one of them counts.
_FIRST_WINDOWS: Final = 8
_FRAGMENTS: Final = {tier.id: tier for tier in TIERS if tier.is_fragment}


@dataclass(frozen=True, slots=True)
class Opening:
    """A prompt that is the beginning of a note, and where in the note what follows is given away."""

    patient_id: str
    arm: Arm
    tier: str
    note_id: str
    #: The first token of the note that does not lie within the prompt: one that straddles its end is the model's.
    begin: int
    #: The end of the first window that counts; None where none does.
    end: int | None


@dataclass(slots=True)
class _Candidate:
    """An opening whose windows are being looked up."""

    prior: Prior
    note_id: str
    #: The index of the note among the patient's.
    note: int
    begin: int
    #: First token of each window that holds a token that may count, in order.
    windows: list[int]
    #: Characters of each token of the note, in its text with line feeds, shape (tokens, 2).
    chars: npt.NDArray[np.int64]
    #: What the note goes on with, as if it had been generated.
    generation: Generation
    #: The window's text, and with placeholders; by its first token.
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)


def find_openings(
    priors: Sequence[Prior],
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    progress: Progress,
    runner: ShardRunner | None = None,
) -> list[Opening]:
    """Return the unbroken openings among the priors, one a patient and tier, each with its first window that counts.

    A window is `match_tokens` tokens of the note after the prompt, within the prompt's budget of new tokens.
    """
    asked: dict[tuple[str, str], Prior] = {}
    for prior in priors:
        if prior.tier in _FRAGMENTS and prior.rendering == "opening" and prior.unbroken and not prior.excluded:
            asked.setdefault((prior.patient_id, prior.tier), prior)
    reader = _Reader(notes, match_tokens)
    candidates: list[_Candidate] = []
    with progress.stage("reading what follows openings", total=len(asked), unit="openings") as advance:
        for prior in asked.values():
            candidates.append(reader.read(prior, facts[prior.patient_id]))
            reader.mask(candidates[-1], slice(_FIRST_WINDOWS))
            advance(1)
    found = _find(candidates, notes, progress=progress, runner=runner)
    left = [item for item in candidates if item.generation.generation_id not in found]
    for item in left:
        reader.mask(item, slice(_FIRST_WINDOWS, None))
    found |= _find([item for item in left if item.texts], notes, progress=progress, runner=runner)
    firsts = [found.get(item.generation.generation_id) for item in candidates]
    return [
        Opening(
            item.prior.patient_id,
            item.prior.arm,
            item.prior.tier,
            item.note_id,
            item.begin,
            None if first is None else first + match_tokens,
        )
        for item, first in zip(candidates, firsts, strict=True)
    ]


class _Reader:
    """Reads what follows openings; the notes of one patient are kept."""

    def __init__(self, notes: MatchedCorpus, match_tokens: int) -> None:
        self._notes = notes
        self._match_tokens = match_tokens
        self._masker = PieceMasker(notes.corpus, notes.profile)
        self._layout = notes.reader()
        self._patient_id: str | None = None
        self._patient = PatientText([], notes.cache, self._layout)

    def read(self, prior: Prior, facts: PatientFacts) -> _Candidate:
        tokenizer = self._notes.cache.tokenizer
        own = self._notes.corpus.notes_of(prior.patient_id)
        if prior.patient_id != self._patient_id:
            self._patient_id = prior.patient_id
            texts = [(note.note_id, note.text) for note in own]
            self._patient = PatientText(texts, self._notes.cache, self._layout)
        latest = facts.at(_FRAGMENTS[prior.tier]).latest
        place = next(index for index, note in enumerate(own) if note.note_id == latest.note_id)
        text = latest.text
        if not text.startswith(prior.prompt):
            raise ValueError("an opening is not the beginning of its note")
        ids = self._patient.sequences[place]
        begin = int(np.argmax(tokenizer.place_tokens(ids, text)[:, 1] > len(prior.prompt)))
        self._patient.lay_out(place, tokenizer)
        chars = self._patient.token_chars[slice(*self._patient.sequences.starts[place : place + 2].tolist())]
        generation = Generation(
            generation_id=f"{prior.patient_id} {prior.tier}",
            patient_id=prior.patient_id,
            arm=prior.arm,
            tier=prior.tier,
            rendering=prior.rendering,
            diagnoses=(),
            cohorts=(),
            prompt=prior.prompt,
            text="",
            token_ids=tuple(ids[begin : begin + prior.max_new_tokens].tolist()),
            token_chars=(),
            finish_reason="length",
        )
        counts = self._which_count(generation, place, chars[begin:])
        total = np.concatenate([[0], np.cumsum(counts)])
        windows = begin + np.flatnonzero(total[self._match_tokens :] > total[: -self._match_tokens])
        return _Candidate(prior, latest.note_id, place, begin, windows.tolist(), chars, generation)

    def _which_count(self, generation: Generation, note: int, chars: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which tokens tell something that the prompt did not, shape (tokens,)."""
        prompt = read_prompt(generation.prompt, self._notes.cache.tokenizer)
        counts = np.logical_not(find_prompt_tokens(generation.token_ids, prompt, match_tokens=self._match_tokens))
        boilerplate = self._patient.note(note).boilerplate
        given = [value.span_chars for value in self._masker.find_given(generation, note)]
        for at, (start, end) in enumerate(chars[: len(counts)].tolist()):
            counts[at] &= 1 not in boilerplate[start:end] and not any(of.overlaps(Span(start, end)) for of in given)
        return counts

    def mask(self, item: _Candidate, which: slice) -> None:
        """Look some windows of an opening up; one of placeholders alone tells nothing."""
        item.texts.clear()
        for first in item.windows[which]:
            place = Span(int(item.chars[first, 0]), int(item.chars[first + self._match_tokens - 1, 1]))
            if (pair := self._masker.mask_run(item.generation.patient_id, item.note, place)) is not None:
                item.texts[first] = pair


def _find(
    candidates: Sequence[_Candidate], notes: MatchedCorpus, *, progress: Progress, runner: ShardRunner | None
) -> dict[str, int]:
    """Return the first window of each opening, by its id, that one patient's notes alone hold, masked or not."""
    pairs = [pair for item in candidates for pair in item.texts.values()]
    packed = notes.corpus.packed("train")
    with progress.stage("counting patients of what follows openings", total=2 * packed.size, unit="bytes") as advance:
        counts = count_patients({text for text, _ in pairs}, packed, runner=runner, advance=advance)
        masked = count_masked_patients(
            {text for _, text in pairs}, notes.corpus, notes.profile, runner=runner, advance=advance
        )

    def first_of(item: _Candidate) -> Iterator[int]:
        outside = item.prior.arm != "train"
        for first, (text, mask) in item.texts.items():
            if counts[text] + outside == masked[mask] + outside == 1:
                yield first

    return {
        item.generation.generation_id: first for item in candidates if (first := next(first_of(item), None)) is not None
    }
