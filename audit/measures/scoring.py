"""The scoring stage: log p of every token of some patients' notes, each text committed when scored.

Owns which texts are scored, their windows, resumption, and the scores' row in the evidence. A note is scored whole, as
a text of its own: a prompt that is its beginning and what follows it are then one text, whatever the tier. Knows
nothing of how an engine scores, or of what the scores are for (docs/methods.md, section 1).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.protocol import NoScoresError, ScoreRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.store import RunStore, TokenScores
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note
from clinaudit.reports.schema.record import Arm

#: The model under audit, or the control: the same model before it was trained on these patients.
Role = Literal["audited", "control"]
#: Tokens of room that an engine may want beyond a text.
_ROOM: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class NoteScores:
    """How likely a model holds each token of one note, after all of the note that stands before it."""

    patient_id: str
    arm: Arm
    note_id: str
    model: Role
    #: The first scored token of the note's own ids: 0 where a special token stands before them, else 1.
    first: int
    #: Natural logarithms of the probabilities, shape (tokens - first,).
    log_probs: npt.NDArray[np.float32]
    #: Mean and standard deviation of log p over the vocabulary, weighted by p, of the same shape; None where the engine
    #: gives the scored tokens alone.
    means: npt.NDArray[np.float32] | None = None
    deviations: npt.NDArray[np.float32] | None = None

    def log_prob(self, begin: int, end: int) -> float:
        """Return log p of the note's tokens `begin` to `end` after all that stands before them."""
        return float(self.log_probs[begin - self.first : end - self.first].sum(dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Scoring:
    """Which notes are scored, and how."""

    corpus: Corpus
    tokenizer: ModelTokenizer
    #: Of the model, in tokens.
    context_length: int
    role: Role = "audited"


@dataclass(frozen=True, slots=True)
class PlannedNote:
    """A note, and the texts by which it is scored."""

    note: Note
    #: The first of the note's own tokens that is scored.
    first: int
    texts: Sequence[ScoreRequest]


@dataclass(frozen=True, slots=True)
class PlannedTexts:
    """The texts to score: of every note of some patients."""

    scoring: Scoring
    notes: Sequence[PlannedNote]

    @property
    def requests(self) -> list[ScoreRequest]:
        """All texts."""
        return [text for note in self.notes for text in note.texts]

    @property
    def longest(self) -> int:
        """Tokens that an engine must have room for, for all texts: a resumed run must load the same engine."""
        return max((len(request.token_ids) for request in self.requests), default=0) + _ROOM


def plan_texts(patient_ids: Iterable[str], scoring: Scoring) -> PlannedTexts:
    """Return the texts to score of all notes of some patients."""
    notes = (note for patient_id in sorted(set(patient_ids)) for note in scoring.corpus.notes_of(patient_id))
    return PlannedTexts(scoring, [_plan_note(note, scoring) for note in notes])


def score_notes(
    planned: PlannedTexts, engine: EngineInUse, store: RunStore, progress: Progress
) -> list[NoteScores] | str:
    """Score every text that has no scores yet; return those of all notes, or why there are none.

    Each text is on the disk before the next one counts. Raises `UsageError` where the engine changed since the run
    began.
    """
    finished = store.scores()
    # The longest first, so that the last batch is not one long straggler.
    requests = sorted(planned.requests, key=lambda request: (-len(request.token_ids), request.key))
    done = sum(request.key in finished for request in requests)
    if done < len(requests):
        title = "scoring notes" if planned.scoring.role == "audited" else "scoring notes by the control model"
        with progress.stage(title, total=len(requests), unit="texts", done=done) as advance:
            try:
                with closing(engine.score(requests, finished)) as scored:
                    for text_scores in scored:
                        finished[text_scores.key] = text_scores
                        store.add_scores(text_scores)
                        advance(1)
            except NoScoresError as error:
                return str(error)
    return [_join(note, planned.scoring, [finished[text.key] for text in note.texts]) for note in planned.notes]


def _plan_note(note: Note, scoring: Scoring) -> PlannedNote:
    """Return the texts to score of one note: itself, or windows of it where it is longer than the context.

    Windows overlap by half, so that each token has at least half a context before it.
    """
    before, ids = _ids(note.text, scoring.tokenizer)
    # Nothing predicts a first token, unless a special one stands before it.
    first = scored_to = 0 if before else 1
    room = scoring.context_length - len(before) - _ROOM
    texts: list[ScoreRequest] = []
    for index, begin in enumerate(_window_starts(len(ids), room)):
        end = min(begin + room, len(ids))
        if end > scored_to:
            key = _key(note, scoring.role, index)
            texts.append(ScoreRequest(key, (*before, *ids[begin:end]), len(before) + scored_to - begin))
            scored_to = end
    return PlannedNote(note, first, texts)


def _window_starts(tokens: int, room: int) -> range:
    """Return where windows of `room` tokens begin, until one reaches the last of `tokens`."""
    step = max(1, room // 2)
    return range(0, max(tokens - room, 0) + step, step)


def _ids(text: str, tokenizer: ModelTokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the special tokens that the tokenizer writes before a text, and the text's own ids."""
    ids, whole = tokenizer.encode(text), tokenizer.encode_prompt(text)
    begin = next((at for at in range(len(whole) - len(ids) + 1) if whole[at : at + len(ids)] == ids), 0)
    return whole[:begin], ids


def _key(note: Note, role: Role, window: int) -> str:
    parts = [role, note.patient_id, note.note_id, window]
    return "s" + hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()[:20]


def _join(planned: PlannedNote, scoring: Scoring, parts: Sequence[TokenScores]) -> NoteScores:
    means = [part.means for part in parts if part.means is not None]
    deviations = [part.deviations for part in parts if part.deviations is not None]
    has_spread = len(means) == len(deviations) == len(parts) > 0
    return NoteScores(
        patient_id=planned.note.patient_id,
        arm=scoring.corpus.patient(planned.note.patient_id).split,
        note_id=planned.note.note_id,
        model=scoring.role,
        first=planned.first,
        log_probs=np.concatenate([np.zeros(0, dtype=np.float32), *(part.log_probs for part in parts)]),
        means=np.concatenate(means) if has_spread else None,
        deviations=np.concatenate(deviations) if has_spread else None,
    )


def score_rows(scores: Iterable[NoteScores], role: Callable[[str], str]) -> Iterator[Row]:
    """Yield the rows of `scores.parquet`; `role` gives that of a patient."""
    for note in scores:
        yield {
            "patient_id": note.patient_id,
            "role": role(note.patient_id),
            "arm": note.arm,
            "note_id": note.note_id,
            "model": note.model,
            "first_token": note.first,
            "log_probs": note.log_probs.tolist(),
            "means": None if note.means is None else note.means.tolist(),
            "deviations": None if note.deviations is None else note.deviations.tolist(),
        }
