"""Everyday tasks: from answers to what they hold of trained-on patients (docs/methods.md, section 2c).

Owns which passage of an answer counts. Knows nothing of where answers come from, of how
identifiers are found, or of files.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from clinaudit.audit.measures.memorization.masked_notes import NoteMasker, PieceMasker
from clinaudit.audit.measures.memorization.other_patients.holders import SearchedText
from clinaudit.audit.measures.memorization.other_patients.stage import OwnerPiece, find_owner_pieces
from clinaudit.audit.measures.memorization.patient_count import count_patients
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.record import Answer, Held
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.statistics.pools import SPLITS
from clinaudit.templates.spans import Span

#: Whose note, its index among the patient's, and a part of it in characters.
_Place = tuple[str, int, Span]


def find_patients_text(
    answers: Sequence[Answer],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> list[list[Held]]:
    """Return for each answer the passages that one patient's notes alone hold, as they stand and masked.

    A passage is one of other patients' text (docs/methods.md, section 2), where everybody is another patient: it has
    `match_tokens` tokens at least, none of them in a window that repeats the prompt, and one that is no boilerplate.
    Besides, it must be one patient's alone in the masked notes of both splits (placeholders for the values of each
    note's own patient and visit): the house's phrases about an invented patient are nobody's. `seed` draws the pools.
    """
    searched = [
        SearchedText(
            text=answer.text,
            token_ids=answer.token_ids,
            token_chars=answer.token_chars,
            prompt=answer.question.request.prompt,
            memorized=np.zeros(len(answer.token_ids), dtype=np.bool_),
            patient_id=None,
        )
        for answer in answers
    ]
    found, _ = find_owner_pieces(
        searched, notes, match_tokens=match_tokens, seed=seed, progress=progress, runner=runner
    )
    pieces = [piece for own in found for of in own.values() for piece in of]
    alone = _held_once([_place_of(piece) for piece in pieces], notes, progress, runner)
    return [
        [
            Held(figure, piece.owner_patient_id, _text_of(answer, piece), piece.note_id, piece.revealing_tokens)
            for figure, of in own.items()
            for piece in of
            if piece.revealing_tokens and _place_of(piece) in alone
        ]
        for answer, own in zip(answers, found, strict=True)
    ]


def _place_of(piece: OwnerPiece) -> _Place:
    start = piece.piece.note_start_chars
    return piece.owner_patient_id, piece.piece.note, Span(start, start + len(piece.piece.text))


def _text_of(answer: Answer, piece: OwnerPiece) -> str:
    first, last = piece.piece.span_tokens.start, piece.piece.span_tokens.end - 1
    return answer.text[answer.token_chars[first].start : answer.token_chars[last].end]


def _held_once(places: Sequence[_Place], notes: MatchedCorpus, progress: Progress, runner: ShardRunner) -> set[_Place]:
    """Return the parts of notes that, masked, the masked notes of one patient alone hold."""
    masker = NoteMasker(notes.profile)
    masker_of = lru_cache(maxsize=1)(lambda owner: PieceMasker.of(masker, owner, notes.corpus))
    masked: dict[_Place, str] = {}
    # By owner, so that each owner's notes are read once.
    for owner, note, span in sorted(set(places)):
        pair = masker_of(owner).mask_run(note, span)
        if pair is not None:
            masked[owner, note, span] = pair[1]
    patients: Counter[str] = Counter()
    for split in SPLITS if masked else ():
        packed = notes.masked(split, runner, progress)
        with progress.stage("counting patients in masked notes", total=packed.size, unit="bytes of notes") as advance:
            texts = pl.Series(sorted(set(masked.values())), dtype=pl.String)
            patients.update(dict(count_patients(texts, packed, runner=runner, advance=advance).iter_rows()))
    return {place for place, text in masked.items() if patients[text] == 1}
