"""The scoring stage: log p of every token of some patients' notes, each text committed when scored.

Owns which texts are scored, their windows, and resumption. A note is scored whole, as a text of its own: a prompt that
is its beginning and what follows it are then one text, whatever the tier. Knows nothing of how an engine scores, or of
what the scores are for.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np

from clinaudit.audit.measures.scoring.record import NoteScores, Role
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.protocol import NoScoresError, ScoreRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.store import RunStore, TokenScores
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note


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
                    for of in scored:
                        finished[of.key] = of
                        store.add_scores(of)
                        advance(1)
            except NoScoresError as error:
                return str(error)
    return [_join(of, planned.scoring, [finished[text.key] for text in of.texts]) for of in planned.notes]


#: Tokens of room that an engine may want beyond a text.
_ROOM: Final = 1


def _plan_note(note: Note, scoring: Scoring) -> PlannedNote:
    """Return the texts to score of one note: itself, or windows of it where it is longer than the context.

    Windows overlap by half, so that each token has at least half a context before it.
    """
    before, own = _ids(note.text, scoring.tokenizer)
    # Nothing predicts a first token, unless a special one stands before it.
    first = scored_to = 0 if before else 1
    room = scoring.context_length - len(before) - _ROOM
    texts: list[ScoreRequest] = []
    for index, begin in enumerate(_window_starts(len(own), room)):
        end = min(begin + room, len(own))
        if end > scored_to:
            key = _key(note, scoring.role, index)
            texts.append(ScoreRequest(key, (*before, *own[begin:end]), len(before) + scored_to - begin))
            scored_to = end
    return PlannedNote(note, first, texts)


def _window_starts(tokens: int, room: int) -> range:
    """Return where windows of `room` tokens begin, until one reaches the last of `tokens`."""
    step = max(1, room // 2)
    return range(0, max(tokens - room, 0) + step, step)


def _ids(text: str, tokenizer: ModelTokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the special tokens that the tokenizer writes before a text, and the text's own ids."""
    own, whole = tokenizer.encode(text), tokenizer.encode_prompt(text)
    begin = next((at for at in range(len(whole) - len(own) + 1) if whole[at : at + len(own)] == own), 0)
    return whole[:begin], own


def _key(note: Note, role: Role, window: int) -> str:
    parts = [role, note.patient_id, note.note_id, window]
    return "s" + hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()[:20]


def _join(of: PlannedNote, scoring: Scoring, parts: Sequence[TokenScores]) -> NoteScores:
    means = [part.means for part in parts if part.means is not None]
    deviations = [part.deviations for part in parts if part.deviations is not None]
    has_spread = len(means) == len(deviations) == len(parts) > 0
    return NoteScores(
        patient_id=of.note.patient_id,
        arm=scoring.corpus.patient(of.note.patient_id).split,
        note_id=of.note.note_id,
        model=scoring.role,
        first=of.first,
        log_probs=np.concatenate([np.zeros(0, dtype=np.float32), *(part.log_probs for part in parts)]),
        means=np.concatenate(means) if has_spread else None,
        deviations=np.concatenate(deviations) if has_spread else None,
    )
