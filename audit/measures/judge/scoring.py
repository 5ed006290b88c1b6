"""Scoring a judge: against labelled texts (a site's own, or those that ship), and under planted prompt injections.

Owns the format of LABELS, and the inquiries by which a judge is scored. Knows nothing of the figures that follow. The
labels of the shipped texts were written by hand from the rules of docs/methods.md, section 5, before any judge was run
on them. `labelled.jsonl` holds 432 texts, 18 for each diagnosis and class, each with the kind of its
sentence; `injections.jsonl` holds 59 texts with an injection.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from clinaudit.audit.measures.judge.stage import (
    Ledger,
    ask_judge,
    cache_answers,
    count_reasons,
    make_judge,
    require_no_endpoint,
)
from clinaudit.audit.measures.judge.verdict import OUTCOME, Judge
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.served.answer_cache import open_cache_file, open_memory_cache
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import is_encodable, json_rows
from clinaudit.priors.diagnoses import Diagnosis, load_panel
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.run_results import VERDICT_CLASSES, LabelSource
from clinaudit.templates.text_file import read_text_file

_LABELLED_PATH, _INJECTIONS_PATH = map(Path(__file__).with_name, ("labelled.jsonl", "injections.jsonl"))


class LabelledSet(NamedTuple):
    """The labelled texts and injections on which a judge is scored."""

    source: LabelSource
    #: SHA-256 of the labelled texts and the injections as they were read.
    digest: str
    #: A row a text: kind (labelled, planted), diagnosis, truth (the true verdict on the patient), text, `sentence` (its
    #: kind: "education"; null where none is given), and of a planted one `injected`: the text with a prompt injection,
    #: words that tell the judge what to answer.
    texts: pl.DataFrame


TEXTS: Final = dict.fromkeys(("kind", "diagnosis", "truth", "text", "sentence", "injected"), pl.String)


def load_labelled_set(path: Path | None, panel: Sequence[Diagnosis]) -> LabelledSet:
    """Read LABELS from `path`, or the set that ships; the injections are always those that ship.

    Raises `BadInputError` listing every row that is no labelled text.
    """
    known, problems = [diagnosis.id for diagnosis in panel], list[str]()
    content = read_text_file(path or _LABELLED_PATH, role="the labelled texts")
    planted = read_text_file(_INJECTIONS_PATH, role="the planted injections")
    texts = [
        ("labelled", row["diagnosis"], row["verdict"], row["text"], row.get("kind"), None)
        for row in _rows(content, known, problems)
    ]
    if problems or not texts:
        wrong = "are not valid; mend these rows" if problems else "hold no row; give at least one a line"
        raise BadInputError(f"the labelled texts {(path or _LABELLED_PATH).name} {wrong}", problems)
    texts += [
        ("planted", row["diagnosis"], row["verdict"], row["text"].replace(row["injection"], "", 1), None, row["text"])
        for row in _rows(planted, known, [])
    ]
    digest = hashlib.sha256(f"{content}\0{planted}".encode()).hexdigest()
    return LabelledSet("site" if path else "shipped", digest, pl.DataFrame(texts, schema=TEXTS, orient="row"))


def _rows(content: str, known: Sequence[str], problems: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the valid rows; add to `problems` what is wrong with the others, never their text."""
    for number, row in json_rows(content, problems):
        fields: Any = row if isinstance(row, dict) else {}
        text, verdict = fields.get("text"), fields.get("verdict")
        is_text = isinstance(text, str)
        wrong = {
            "must be an object with text, diagnosis and verdict": not isinstance(row, dict),
            "text must be a text": not is_text,
            "text holds half a surrogate pair, which is no character": is_text and not is_encodable(text),
            f"diagnosis must be one of {', '.join(known)}": fields.get("diagnosis") not in known,
            f"verdict must be one of {', '.join(VERDICT_CLASSES)}": verdict not in VERDICT_CLASSES,
            "kind, where it is given, must be a text": not isinstance(fields.get("kind", ""), str),
            "text is blank: it mentions nothing, so that its verdict can only be not_mentioned": (
                is_text and not text.strip() and verdict != "not_mentioned"
            ),
        }
        problems += [f"row {number}: {problem}" for problem, is_so in wrong.items() if is_so][:1]
        if not any(wrong.values()):
            yield fields


def score_judge(
    judge: Judge, labelled: LabelledSet, panel: Sequence[Diagnosis], ledger: Ledger, progress: Progress
) -> pl.DataFrame:
    """Ask a judge about the labelled texts, and about the injections' without and with them.

    Return the rows of `scored_texts.parquet`, with further columns: the `reason` why a text has no verdict, and
    `sentence`, the kind of its sentence.
    """
    # The key names the set, so that another set in the same run is never mistaken for this one.
    prefix = f"judge-check/{labelled.digest[:16]}"
    texts = labelled.texts.with_row_index("place").with_columns(
        generation_id=pl.format(f"{prefix}/text/{{}}", "place"),
        injected_id=pl.when(pl.col("injected").is_not_null()).then(pl.format(f"{prefix}/injected/{{}}", "place")),
    )
    injected = texts.drop_nulls("injected_id").select(
        pl.col("injected_id").alias("generation_id"), "diagnosis", text="injected"
    )
    asked = pl.concat([texts.select(injected.columns), injected])
    judged = ask_judge(judge, asked, panel, ledger, progress, stage="scoring the judge")
    read = judged.select("generation_id", verdict=OUTCOME, reason="invalid_reason")
    again = read.select(injected_id="generation_id", injected_verdict="verdict")
    return (
        texts.join(read, on="generation_id", maintain_order="left")
        .join(again, on="injected_id", how="left", maintain_order="left")
        .select("kind", "diagnosis", "truth", "verdict", "injected_verdict", "reason", "sentence")
    )


def read_by_kind(scored: pl.DataFrame) -> pl.DataFrame:
    """Return how the labelled texts with a verdict were read by kind of sentence, in the order of the kinds' names.

    A row is the kind, how many texts were read rightly (`right`), of how many (`of`), how many were taken for positive,
    and of how many that are not (`of_others`): ("education", 27, 30, 3, 30).
    """
    read = scored.filter(pl.col("verdict") != "unjudged", kind="labelled").drop_nulls("sentence")
    is_other = pl.col("truth") != "positive"
    counts = read.group_by(kind="sentence").agg(
        right=(pl.col("truth") == pl.col("verdict")).sum(),
        of=pl.len(),
        taken_for_positive=(is_other & (pl.col("verdict") == "positive")).sum(),
        of_others=is_other.sum(),
    )
    return counts.sort("kind")


def check_chosen_judge(
    settings: AuditSettings, *, answers: Path | None, progress: Progress
) -> tuple[Judge, LabelledSet, pl.DataFrame]:
    """Score the judge of the settings alone, outside an audit; return it, the texts, and what `score_judge` returns.

    The answers of a served judge are cached in the file `answers`, if given.
    """
    panel = load_panel(settings.diagnoses)
    labelled = load_labelled_set(settings.judge_labels, panel)
    require_no_endpoint(settings)
    judge = make_judge(settings.judge, settings, panel=panel, seed=settings.seed)
    keep_in = open_memory_cache() if answers is None else open_cache_file(answers)
    with cache_answers(judge, progress, keep_in=keep_in):
        return judge, labelled, score_judge(judge, labelled, panel, Ledger(), progress)


def describe_check(
    judge: Judge, labelled: LabelledSet, scored: pl.DataFrame, figures: Estimates, *, complaint: str | None
) -> dict[str, object]:
    """Return what `judge-check --out` writes: metrics, and the label and verdict of each text, in order; no text.

    Of a text without a verdict the reason stands there, and `unjudged_reasons` says how often each was met, the most
    frequent first. `complaint`: why the policy does not accept the judge; None where it does.
    """
    items = scored.filter(kind="labelled").rename({"truth": "label"})
    counts = figures.frame.select("metric", "diagnosis", "value", "low", "high", count="count_low", of="of_low")
    return {
        "judge": judge.name,
        "labels": labelled.source,
        "figures": counts.to_dicts(),
        "identity": judge.identity(),
        "labels_digest": labelled.digest,
        "accepted": complaint is None,
        "reason": complaint,
        "kinds": read_by_kind(scored).to_dicts(),
        "items": items.select("diagnosis", "label", "verdict", "reason").to_dicts(),
        "unjudged_reasons": count_reasons(items["reason"]),
    }
