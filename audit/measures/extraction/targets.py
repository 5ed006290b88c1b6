"""What counts as given away: of the note after an opening, the first window that is the patient's own.

Owns which windows count, by the rules of attributable text: clinically revealing, of one patient with the values of
each note masked, and not said by the prompt. Knows nothing of how likely a model is to write it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.masked_notes import NoteMasker, PieceMasker
from clinaudit.audit.measures.memorization.patient_count import count_texts
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, PatientText
from clinaudit.audit.measures.memorization.verbatim import find_prompt_tokens, read_prompt
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
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

    #: Its end is None until a window is found that counts.
    opening: Opening
    #: The index of the note among the patient's.
    note: int
    #: First token of each window that holds a token that may count, in order.
    windows: list[int]
    #: Characters of each token of the note, in its text with line feeds, shape (tokens, 2).
    chars: npt.NDArray[np.int64]
    #: Of the windows that are looked up next, the text as it stands and with placeholders; by the first token.
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)


def find_openings(
    priors: Sequence[Prior],
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
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
    reader.find_ends(candidates, progress=progress, runner=runner)
    left = [item for item in candidates if item.opening.end is None]
    for item in left:
        reader.mask(item, slice(_FIRST_WINDOWS, None))
    reader.find_ends(left, progress=progress, runner=runner)
    return [item.opening for item in candidates]


class _Reader:
    """Reads what follows openings; the notes of one patient are kept."""

    def __init__(self, notes: MatchedCorpus, match_tokens: int) -> None:
        self._notes = notes
        self._match_tokens = match_tokens
        masker = NoteMasker(notes.profile)
        self._masker_of = lru_cache(maxsize=1)(lambda one: PieceMasker.of(masker, one, notes.corpus))
        self._layout = notes.reading.reader()
        self._patient_id: str | None = None
        self._patient = PatientText([], notes.tokenizer, self._layout)

    def read(self, prior: Prior, facts: PatientFacts) -> _Candidate:
        tokenizer = self._notes.tokenizer
        own = self._notes.corpus.notes_of(prior.patient_id)
        if prior.patient_id != self._patient_id:
            self._patient_id = prior.patient_id
            texts = [(note.note_id, note.text) for note in own]
            self._patient = PatientText(texts, tokenizer, self._layout)
        latest = facts.at(_FRAGMENTS[prior.tier]).latest
        place = next(index for index, note in enumerate(own) if note.note_id == latest.note_id)
        text = latest.text
        if not text.startswith(prior.prompt):
            raise ValueError("an opening is not the beginning of its note")
        ids = self._patient.sequences[place]
        begin = int(np.argmax(tokenizer.place_tokens(ids, text)[:, 1] > len(prior.prompt)))
        self._patient.lay_out(place)
        chars = self._patient.token_chars[slice(*self._patient.sequences.starts[place : place + 2].tolist())]
        follows = tuple(ids[begin : begin + prior.max_new_tokens].tolist())
        counts = self._which_count(prior, follows, place, chars[begin:])
        total = np.concatenate([[0], np.cumsum(counts)])
        windows = begin + np.flatnonzero(total[self._match_tokens :] > total[: -self._match_tokens])
        opening = Opening(prior.patient_id, prior.arm, prior.tier, latest.note_id, begin, end=None)
        return _Candidate(opening, place, windows.tolist(), chars)

    def _which_count(
        self, prior: Prior, follows: tuple[int, ...], note: int, chars: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Return which tokens tell something that the prompt did not, shape (tokens,)."""
        prompt = read_prompt(prior.prompt, self._notes.tokenizer)
        counts = np.logical_not(find_prompt_tokens(follows, prompt, match_tokens=self._match_tokens))
        boilerplate = self._patient.note(note).boilerplate
        given = [value.span_chars for value in self._masker_of(prior.patient_id).find_given(note, prior.prompt)]
        for at, (start, end) in enumerate(chars[: len(counts)].tolist()):
            counts[at] &= 1 not in boilerplate[start:end] and not any(of.overlaps(Span(start, end)) for of in given)
        return counts

    def mask(self, item: _Candidate, which: slice) -> None:
        """Read the texts of some windows of an opening; one of placeholders alone tells nothing."""
        item.texts.clear()
        for first in item.windows[which]:
            place = Span(int(item.chars[first, 0]), int(item.chars[first + self._match_tokens - 1, 1]))
            if (pair := self._masker_of(item.opening.patient_id).mask_run(item.note, place)) is not None:
                item.texts[first] = pair

    def find_ends(self, items: Sequence[_Candidate], *, progress: Progress, runner: ShardRunner) -> None:
        """Set the end of each opening's first window that one patient's notes alone hold, masked or not."""
        pairs = {pair for item in items for pair in item.texts.values()}
        (counts,) = count_texts([list(pairs)], self._notes, progress=progress, runner=runner)
        for item in items:
            alone = 1 - (item.opening.arm != "train")
            held = (first for first, pair in item.texts.items() if counts[pair] == (alone, alone))
            if (first := next(held, None)) is not None:
                item.opening = replace(item.opening, end=first + self._match_tokens)
