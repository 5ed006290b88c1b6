"""Everyday tasks: from answers to what they hold of trained-on patients (docs/methods.md, section 2c).

Owns which passage of an answer counts. Knows nothing of where answers come from, of how
identifiers are found, or of files.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from clinaudit.audit.measures.memorization.other_patients import ASKED, find_sole_pieces
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.record import Answer, Held
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress


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
    asked = [(own.question.request.key, None, own.question.request.prompt, own.text, own.token_ids) for own in answers]
    pieces, _ = find_sole_pieces(
        pl.DataFrame(asked, schema=ASKED, orient="row"),
        [np.zeros(len(answer.token_ids), dtype=np.bool_) for answer in answers],
        notes,
        match_tokens=match_tokens,
        seed=seed,
        progress=progress,
        runner=runner,
    )
    held: list[list[Held]] = [[] for _ in answers]
    columns = ("generation", "figure", "owner_patient_id", "text", "source_note_id", "revealing")
    for answer, figure, owner, text, note_id, revealing in pieces.explode("figure").select(columns).iter_rows():
        if revealing:
            held[answer].append(Held(figure, owner, text, note_id, tuple(revealing)))
    return held
