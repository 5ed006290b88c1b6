"""Queries needed: how often a model must be asked, at temperature 1, until it gives a patient's text away.

What counts as given away is, of the note after an opening, the first window that is the patient's own, by the rules of
attributable text: no boilerplate, of one patient with the values of each note masked, and not said by the prompt.
With p the chance that the model writes exactly that text, n queries give it away with the chance 1 - (1 - p)^n; n of an
even chance is ln 0.5 / ln(1 - p) (Hayes et al. 2024, (n, p)-discoverable extraction, with p = 0.5). It is about this
exact text: some other text of the patient's may take fewer (docs/methods.md, section 13).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.measures.generation.estimates import Tables, with_place
from clinaudit.audit.measures.memorization.patient_specificity import count_pairs
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, PatientNotes
from clinaudit.audit.measures.memorization.verbatim import find_prompt_tokens
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.statistics.estimates import shares_of_patients
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.attacks import QUERY_LIMITS
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.shown_text import Span

#: Beyond it a number of queries is said to be more than anybody asks.
MOST_QUERIES: Final = 10**12
_LN_HALF: Final = math.log(0.5)
#: Windows of an opening that are looked up in the corpus at first: in most notes one of them counts.
_FIRST_WINDOWS: Final = 8
_FRAGMENTS: Final = {tier.id: tier for tier in TIERS if tier.is_fragment}


def find_openings(
    prompts: pl.DataFrame,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> pl.DataFrame:
    """Return the unbroken openings of notes among prompts, one a patient and tier, and what each gives away.

    `prompts` have the columns of `priors.parquet`. Of the note `note_id`, `token_start` is the first token
    that does not lie within the prompt (one that straddles its end is the model's), and `token_end` the end of the
    first window that counts, null where none does. A window is `match_tokens` tokens after the prompt, within the
    prompt's budget of new tokens.
    """
    asked = prompts.filter(
        pl.col("tier").is_in(list(_FRAGMENTS)), ~pl.col("excluded"), "unbroken", form="text", model="audited"
    ).unique(["patient_id", "tier"], keep="first", maintain_order=True)
    reader = _Reader(notes, facts, match_tokens)
    found: list[_Opening] = []
    if asked.height:
        with progress.stage("reading what follows openings", total=asked.height, unit="openings") as advance:
            for row in asked.select("patient_id", "tier", "prompt", "max_new_tokens").iter_rows():
                found.append(reader.read(*row))
                reader.mask(found[-1], slice(_FIRST_WINDOWS))
                advance(1)
    reader.find_ends(found, progress=progress, runner=runner)
    left = [opening for opening in found if opening.end is None]
    for opening in left:
        reader.mask(opening, slice(_FIRST_WINDOWS, None))
    reader.find_ends(left, progress=progress, runner=runner)
    return asked.select("patient_id", "role", "arm", "tier").with_columns(
        pl.Series("note_id", [opening.note_id for opening in found], pl.String),
        pl.Series("token_start", [opening.begin for opening in found], pl.Int64),
        pl.Series("token_end", [opening.end for opening in found], pl.Int64),
    )


@dataclass(slots=True)
class _Opening:
    """An opening whose windows are being looked up."""

    patient_id: str
    note_id: str
    #: The index of the note among the patient's.
    note: int
    begin: int
    #: First token of each window that holds a token that may count, in order.
    windows: Sequence[int]
    #: Characters of each token of the note, in its text with line feeds, shape (tokens, 2).
    chars: npt.NDArray[np.int64]
    #: Of the windows that are looked up next, the text as it stands and with placeholders; by the first token.
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)
    end: int | None = None


class _Reader:
    """Reads what follows openings; the notes of one patient are kept."""

    def __init__(self, notes: MatchedCorpus, facts: Mapping[str, PatientFacts], match_tokens: int) -> None:
        self._notes, self._facts, self._match_tokens = notes, facts, match_tokens
        read = notes.reading.patient_reader()
        self._text_of = lru_cache(maxsize=1)(lambda patient_id: read(PatientNotes.of(notes.corpus, patient_id)))

    def read(self, patient_id: str, tier: str, prompt: str, max_new_tokens: int) -> _Opening:
        """Return an opening with its windows that may count; raises `ValueError` where it does not begin its note."""
        tokenizer, patient = self._notes.tokenizer, self._text_of(patient_id)
        source = self._facts[patient_id].at(_FRAGMENTS[tier]).latest
        note = patient.note_ids.index(source.note_id)
        if not source.text.startswith(prompt):
            raise ValueError("an opening is not the beginning of its note")
        ids, chars = patient.sequences[note], patient.token_chars(note)
        begin = int(np.argmax(chars[:, 1] > len(normalize_newlines(prompt))))
        follows = ids[begin : begin + max_new_tokens]
        places = chars[begin : begin + len(follows)]
        # Which tokens tell something that the prompt did not.
        echo = find_prompt_tokens(follows, prompt, tokenizer, match_tokens=self._match_tokens)
        known = echo | patient.are_boilerplate(note, places) | patient.are_given(note, places, prompt)
        total = np.concatenate([[0], np.cumsum(~known)])
        windows = begin + np.flatnonzero(total[self._match_tokens :] > total[: -self._match_tokens])
        return _Opening(patient_id, source.note_id, note, begin, windows.tolist(), chars)

    def mask(self, opening: _Opening, which: slice) -> None:
        """Read the texts of some windows of an opening; placeholders and white space alone tell nothing."""
        opening.texts.clear()
        for first in opening.windows[which]:
            place = Span(int(opening.chars[first, 0]), int(opening.chars[first + self._match_tokens - 1, 1]))
            note = self._text_of(opening.patient_id).maskable[opening.note]
            if (pair := note.mask_part(place)) is not None:
                opening.texts[first] = pair

    def find_ends(self, openings: Sequence[_Opening], *, progress: Progress, runner: ShardRunner) -> None:
        """Set the end of each opening's first window that one patient's notes alone hold, masked or not."""
        pairs = {pair for opening in openings for pair in opening.texts.values()}
        frame = pl.DataFrame(sorted(pairs), schema={"text": pl.String, "masked": pl.String}, orient="row")
        counted = count_pairs(frame, self._notes, progress=progress, runner=runner)
        counts = {(text, masked): held for text, masked, *held in counted.iter_rows()}
        for opening in openings:
            alone = int(self._notes.corpus.patient(opening.patient_id).split == "train")
            held = (first for first, pair in opening.texts.items() if counts[pair] == [alone, alone])
            if (first := next(held, None)) is not None:
                opening.end = first + self._match_tokens


def count_queries(openings: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `queries_needed.parquet`: each opening, of each model that scored its note.

    `openings` are those of `find_openings`, `scores` those of `score_notes`. `log_prob` is ln p of what follows the
    opening up to the end of its window, null where no window counts; `queries` is null there, and above 10^12.
    """
    window = pl.col("log_probs").list.slice(
        pl.col("token_start") - pl.col("first_token"), pl.col("token_end") - pl.col("token_start")
    )
    log_prob = pl.when(pl.col("token_end").is_not_null()).then(window.cast(pl.List(pl.Float64)).list.sum())
    scored = scores.select("patient_id", "note_id", "model", "first_token", "log_probs")
    return (
        openings.join(scored, on=["patient_id", "note_id"], maintain_order="left_right")
        .with_columns(log_prob.alias("log_prob"))
        .with_columns(queries_for_even_chance(pl.col("log_prob")).alias("queries"))
        .drop("first_token", "log_probs")
    )


def queries_for_even_chance(log_prob: pl.Expr) -> pl.Expr:
    """Return the least number of queries by which a text of this log p has come with a chance of one half.

    Null: more than 10^12, or no log p. Of p = 0.1 it is 7.
    """
    p = log_prob.exp()
    least = pl.max_horizontal(1.0, (_LN_HALF / (-p).log1p()).ceil())
    return pl.when(p >= 1).then(1).when(p > -_LN_HALF / MOST_QUERIES).then(least.cast(pl.Int64, strict=False))


def estimate_queries(tables: Tables) -> pl.DataFrame:
    """Return the shares of patients whose own text comes within so many queries. Takes the table queries_needed.

    The arm "control" is the control model's, of the notes of those trained on.
    """
    has_window = pl.col("log_prob").is_not_null()
    needed = with_place(tables["queries_needed"]).with_columns(queries_window=has_window).collect()
    within = pl.concat(
        needed.with_columns(
            queries_needed=(pl.col("queries") <= most).fill_null(False), by=pl.lit("queries"), part=pl.lit(str(most))
        )
        for most in QUERY_LIMITS
    )
    shares = shares_of_patients(within, ["queries_needed"], ("tier", "arm", "by", "part"))
    return pl.concat([shares, shares_of_patients(needed, ["queries_window"], ("tier", "arm"))])
