"""What patients' own notes repeat, and what the repetition guard would cut of them (docs/methods.md, section 1).

Owns the 20-grams of model tokens that one note of a patient holds more than once. Repeats over two notes do not count:
whoever recites a note gives away that one alone. Knows nothing of what was generated.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engines.repetition_guard import (
    NONE_ALLOWED,
    REPEATED_NGRAM,
    Ngram,
    first_repeated_ngram,
)
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import rest_of_note
from clinaudit.priors.prompts import Prior
from clinaudit.priors.tiers import TIERS
from clinaudit.templates.note import normalize_newlines

Ids = npt.NDArray[np.uint32]
#: Returns the ids of each text alone, without special tokens.
_Tokenize = Callable[[Sequence[str]], list[Ids]]
#: An odd 64-bit constant without structure (the golden ratio); equal hashes are verified.
_BASE: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class OwnRepeats:
    """Which patients have a note that repeats an n-gram; the n-grams themselves are found again when asked for."""

    corpus: Corpus
    tokenize: _Tokenize
    repeating: frozenset[str]
    #: Which of the control tokens stand in some note of these patients as text.
    written: frozenset[int] = frozenset()

    def allowed(self, patient_id: str) -> Mapping[Ngram, int]:
        """Return how often each repeated n-gram stands in the one of the patient's notes that holds it most often."""
        if patient_id not in self.repeating:
            return NONE_ALLOWED
        return _repeats_in(_ids_of(patient_id, self.corpus, self.tokenize))


def find_own_repeats(
    patient_ids: Iterable[str],
    corpus: Corpus,
    tokenize: _Tokenize,
    progress: Progress,
    *,
    control: frozenset[int] = frozenset(),
) -> OwnRepeats:
    """Find the patients of whom some note holds an n-gram twice, and which `control` tokens notes hold as text.

    A mark of the site's own ("[HPI]", made a special token) is text: whoever recites a note writes it.
    """
    wanted = sorted(set(patient_ids))
    found, written = set(), set[int]()
    controls = np.array(sorted(control), dtype=np.uint32)
    with progress.stage("looking for repeats in notes", total=len(wanted), unit="patients") as advance:
        for patient_id in wanted:
            notes = _ids_of(patient_id, corpus, tokenize)
            if _repeats_in(notes):
                found.add(patient_id)
            for ids in notes if control else ():
                written.update(np.intersect1d(ids, controls).tolist())
            advance(1)
    return OwnRepeats(corpus, tokenize, frozenset(found), frozenset(written))


def _ids_of(patient_id: str, corpus: Corpus, tokenize: _Tokenize) -> list[Ids]:
    texts = [note.text for note in corpus.notes_of(patient_id)]
    # As in matching: a note with carriage returns is read as it stands, and with line feeds.
    texts += [normalize_newlines(text) for text in texts if "\r" in text]
    return tokenize(texts)


def _repeats_in(notes: Iterable[Ids]) -> dict[Ngram, int]:
    """Return how often each repeated n-gram stands in the one of the notes that holds it most often."""
    most: dict[Ngram, int] = {}
    for ids in notes:
        for ngram, times in count_repeats(ids).items():
            most[ngram] = max(times, most.get(ngram, 0))
    return most


def count_repeats(ids: Ids, n: int = REPEATED_NGRAM) -> dict[Ngram, int]:
    """Return each n-gram that stands in one note more than once, and how often; occurrences may overlap.

    `ids` are those of the note, shape (tokens,).
    """
    windows = len(ids) - n + 1
    if windows < 2:
        return {}
    hashes = np.zeros(windows, dtype=np.uint64)
    for place in range(n):
        hashes = hashes * _BASE + ids[place : place + windows] + np.uint64(1)
    _, kinds, times = np.unique(hashes, return_inverse=True, return_counts=True)
    suspects = np.flatnonzero(times[kinds] > 1).tolist()
    counts = Counter(tuple(ids[first : first + n].tolist()) for first in suspects)
    return {ngram: count for ngram, count in counts.items() if count > 1}


@dataclass(frozen=True, slots=True)
class Recitations:
    """What the guard would do to perfect recitations of the latest notes, up to each prompt's budget."""

    #: Patients of whom some note holds an n-gram twice.
    repeating: frozenset[str]
    #: Tokens that it would cut, by patient and fragment tier. A background prompt has no note to go on with.
    cuts: Mapping[tuple[str, str], int]


def measure_recitations(
    priors: Iterable[Prior], own_repeats: OwnRepeats, *, facts: Mapping[str, PatientFacts], tokenizer: ModelTokenizer
) -> Recitations:
    """Measure what the guard would cut off the rest of each latest note, as the fragment prompts are asked for it."""
    fragments = {tier.id: tier for tier in TIERS if tier.is_fragment}
    cuts: dict[tuple[str, str], int] = {}
    for prior in priors:
        key = (prior.patient_id, prior.tier)
        if prior.excluded or prior.tier not in fragments or key in cuts:
            continue
        cuts[key] = 0
        # Of a note that repeats nothing the guard cuts nothing.
        if prior.patient_id in own_repeats.repeating:
            rest = rest_of_note(facts[prior.patient_id], fragments[prior.tier])
            cuts[key] = _count_cut(tokenizer.encode(rest)[: prior.max_new_tokens])
    return Recitations(own_repeats.repeating, cuts)


def _count_cut(token_ids: Sequence[int]) -> int:
    """Return how many tokens the guard cuts off these."""
    start = first_repeated_ngram(token_ids)
    return 0 if start is None else len(token_ids) - start
