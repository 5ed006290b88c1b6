"""The scoring stage: log p of every token of some patients' notes, each text committed when scored.

Owns which texts are scored, their windows, resumption, and the frame of scores, a row a note, role and model. A note is
scored whole, as a text of its own: a prompt that is its beginning and what follows it are then one text, whatever the
tier. Knows nothing of how an engine scores, or of what the scores are for (docs/methods.md, section 13).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final, Literal

import polars as pl

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.audited_model import EngineInUse
from clinaudit.audit.runtime.model.engines.protocol import NoScoresError, ScoreRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.corpus.corpus import Corpus

#: The model under audit, or the control: the same model before it was trained on these patients.
ScoredModel = Literal["audited", "control"]
#: Tokens of room that an engine may want beyond a text.
_ROOM: Final = 1
_FLOATS: Final = pl.List(pl.Float32())
#: Columns of the texts of one patient's notes; without a `window` a note has no token to score.
_TEXTS: Final[Mapping[str, pl.DataType]] = {
    **dict.fromkeys(("patient_id", "arm", "note_id"), pl.String()),
    # The first scored token of the note: 0 where a special token stands before the note, else 1.
    "first_token": pl.Int64(),
    "window": pl.Int64(),
    "token_ids": pl.List(pl.Int32()),
    # The first scored token of the text.
    "first": pl.Int64(),
}


def plan_texts(
    patients: pl.DataFrame, corpus: Corpus, tokenizer: ModelTokenizer, *, context_length: int
) -> pl.DataFrame:
    """Return the texts by which all notes of some patients are scored, a row a text.

    `patients` have a `patient_id` and a `role` (target, included). A note longer than the model's context, in tokens,
    is scored in windows.
    """
    wanted = patients.select("role", "patient_id").unique().sort("role", "patient_id", descending=[True, False])
    rows = (
        (patient_id, corpus.patient(patient_id).split, note.note_id, *text)
        for patient_id in wanted["patient_id"].unique().sort()
        for note in corpus.notes_of(patient_id)
        for text in _cut(note.text, tokenizer, context_length)
    )
    texts = pl.DataFrame(rows, schema=_TEXTS, orient="row")
    return wanted.join(texts, on="patient_id", maintain_order="left_right")


def longest(texts: pl.DataFrame) -> int:
    """Return the tokens that an engine must have room for, for all texts: a resumed run must load the same engine."""
    return int(texts["token_ids"].list.len().max() or 0) + _ROOM  # type: ignore[arg-type]


def score_notes(
    texts: pl.DataFrame, engine: EngineInUse, store: RunStore, progress: Progress, *, model: ScoredModel = "audited"
) -> tuple[pl.DataFrame, str | None]:
    """Score every text that has no scores yet; return the scores of all notes, and why there are none.

    The frame has the columns of `scores.parquet`. Each text is on the disk before the next one counts.
    Raises `UsageError` where the engine changed since the run began.
    """
    keyed = texts.with_columns(
        pl.Series("key", [_key(model, *row) for row in texts["patient_id", "note_id", "window"].iter_rows()], pl.String)
    )
    parts = keyed["key", "token_ids", "first"].drop_nulls().unique("key").iter_rows()
    # The longest first, so that the last batch is not one long straggler.
    requests = sorted(
        (ScoreRequest(key, tuple(ids), first) for key, ids, first in parts),
        key=lambda request: (-len(request.token_ids), request.key),
    )
    finished, why = store.scores(), None
    done = sum(request.key in finished for request in requests)
    if done < len(requests):
        title = "scoring notes" if model == "audited" else "scoring notes by the control model"
        with progress.stage(title, total=len(requests), unit="texts", done=done) as advance:
            try:
                with closing(engine.score(requests, finished)) as scored:
                    for scores in scored:
                        finished[scores.key] = scores
                        store.add_scores(scores)
                        advance(1)
            except NoScoresError as error:
                keyed, requests, why = keyed.clear(), [], str(error)
    columns = ("log_probs", "means", "deviations")
    keys = [request.key for request in requests]
    # Arrays as they are: rows of Python's floats take ten times the memory.
    found = {name: [getattr(finished[key], name) for key in keys] for name in columns}
    floats = [
        pl.Series(name, [None if own is None else pl.Series(own) for own in of_texts], _FLOATS)
        for name, of_texts in found.items()
    ]
    by_key = pl.DataFrame([pl.Series("key", keys, pl.String), *floats])
    notes = (
        keyed.join(by_key, on="key", how="left", maintain_order="left")
        .group_by("role", "patient_id", "arm", "note_id", "first_token", maintain_order=True)
        .agg(
            pl.lit(model).alias("model"),
            pl.all_horizontal(pl.col("means", "deviations").is_not_null().all()).alias("has_spread"),
            *(pl.col(name).explode(keep_nulls=False) for name in columns),
        )
        .with_columns(pl.when("has_spread").then(pl.col(name)).alias(name) for name in columns[1:])
        .drop("has_spread")
    )
    return notes, why


def _cut(text: str, tokenizer: ModelTokenizer, context_length: int) -> Iterator[Sequence[object]]:
    """Yield the texts of one note: itself, or windows where it is longer than the context, as `_TEXTS` has them.

    Windows overlap by half, so that each token has at least half a context before it.
    """
    ids, whole = tokenizer.encode(text), tokenizer.encode_prompt(text)
    # The special tokens that the tokenizer writes before a text.
    before = whole[: next((at for at in range(len(whole) - len(ids) + 1) if whole[at : at + len(ids)] == ids), 0)]
    # Nothing predicts a first token, unless a special one stands before it.
    first_token = scored_to = 0 if before else 1
    room = context_length - len(before) - _ROOM
    step = max(1, room // 2)
    if len(ids) <= scored_to:
        yield first_token, None, None, None
    for window, begin in enumerate(range(0, max(len(ids) - room, 0) + step, step)):
        end = min(begin + room, len(ids))
        if end > scored_to:
            yield first_token, window, [*before, *ids[begin:end]], len(before) + scored_to - begin
            scored_to = end


def _key(model: ScoredModel, patient_id: str, note_id: str, window: int | None) -> str | None:
    if window is None:
        return None
    parts = json.dumps([model, patient_id, note_id, window])
    return "s" + hashlib.sha256(parts.encode("utf-8")).hexdigest()[:20]
