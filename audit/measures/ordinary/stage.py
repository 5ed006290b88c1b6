"""Everyday tasks: from answers to what they hold of trained-on patients, and how many (docs/methods.md, section 2c).

Owns which passage of an answer counts, and the figures over tasks. Knows nothing of where answers come from, of how
identifiers are found, or of files.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from clinaudit.audit.measures.memorization.masked_notes import NoteMasker, PieceMasker
from clinaudit.audit.measures.memorization.other_patients.holders import HolderFigure, SearchedText
from clinaudit.audit.measures.memorization.other_patients.stage import OwnerPiece, find_owner_pieces
from clinaudit.audit.measures.memorization.patient_count import count_patients
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.record import Answer, Held, Question
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.statistics.pools import SPLITS
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.attacks import LeakEvidence
from clinaudit.reports.tally.attacks import LeakCounts, LeakTally, OrdinaryTally
from clinaudit.reports.tally.classes import ARM_STEP, STEP
from clinaudit.reports.tally.leaves import Count, Inside, Setting
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
            patients.update(count_patients(set(masked.values()), packed, runner=runner, advance=advance))
    return {place for place, text in masked.items() if patients[text] == 1}


def summarize_ordinary(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    text: Sequence[Sequence[Held]],
    identifiers: Sequence[Sequence[Held]] | None,
    *,
    planned: int,
    match_tokens: int,
    corpus: Corpus,
) -> OrdinaryTally:
    """Return the figures over tasks; `planned` counts the tasks, those that could not be asked among them.

    An answer of fewer than `match_tokens` tokens holds no passage.

    `text` and `identifiers` hold what was found, one row an answer. A task counts as answered once all of its questions
    are.
    """
    asked = Counter(question.task_id for question in questions)
    given = Counter(answer.question.task_id for answer in answers)
    whole = {task for task, count in asked.items() if given[task] == count}
    long_enough = {answer.question.task_id for answer in answers if len(answer.token_ids) >= match_tokens}
    sizes = [len(corpus.scan_order(split)) for split in SPLITS]
    has_pools = min(sizes[0] - 1, sizes[1]) > 0
    is_public = min(sizes) > ARM_STEP

    def count(found: Sequence[Sequence[Held]], figure: HolderFigure) -> LeakCounts:
        held = [
            (answer.question.task_id, item.patient_id)
            for answer, own in zip(answers, found, strict=True)
            for item in own
            if item.figure == figure and answer.question.task_id in whole
        ]
        tasks, patients = ({pair[at] for pair in held} for at in (0, 1))
        return LeakCounts(tasks=Count.of(len(tasks), step=STEP), patients=Count.of(len(patients)))

    def leak(found: Sequence[Sequence[Held]]) -> LeakTally:
        return LeakTally(
            found=count(found, "all"),
            sampled=Inside(count(found, "sampled") if has_pools else None, is_public),
            chance=Inside(count(found, "chance") if has_pools else None, is_public),
            evidence=Inside(LeakEvidence(answers=_count_answers(answers, found))),
        )

    return OrdinaryTally(
        tasks=Setting(len(whole)),
        left_out=Setting(planned - len(whole)),
        short=Setting(len(whole - long_enough)),
        forms=tuple(dict.fromkeys(question.form for question in questions)),
        text=leak(text),
        identifiers=None if identifiers is None else leak(identifiers),
    )


def _count_answers(answers: Sequence[Answer], found: Sequence[Sequence[Held]]) -> dict[str, int]:
    """Return how many answers of each form and draw hold something of a train patient."""
    counts = {f"{answer.question.form} {answer.question.draw}": 0 for answer in answers}
    for answer, own in zip(answers, found, strict=True):
        counts[f"{answer.question.form} {answer.question.draw}"] += any(held.figure == "all" for held in own)
    return counts
