"""Scoring a judge: against labelled texts (a site's own, or those that ship), and under planted prompt injections.

Owns the format of LABELS, and the inquiries by which a judge is scored. Knows nothing of the figures that follow. The
labels of the shipped texts were written by hand from the rules of docs/methods.md, section 5, before any judge was run
on them. No judge is tuned on them. `labelled.jsonl` holds 312 texts, 13 for each diagnosis and
class; `injections.jsonl` holds 59 texts with an injection.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.measures.judge.selection import cache_answers, make_judge, require_no_endpoint
from clinaudit.audit.measures.judge.stage import Inquiry, Judgements, Ledger, ask_judge, count_reasons
from clinaudit.audit.measures.judge.verdict import Judge, Judgement
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.served.answer_cache import open_cache_file, open_memory_cache
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import json_rows
from clinaudit.priors.diagnoses import Diagnosis, load_panel
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.judge import VERDICT_CLASSES, LabelSource, Outcome, VerdictClass
from clinaudit.templates.text_file import read_text_file

LABELLED_PATH: Final = Path(__file__).with_name("labelled.jsonl")
INJECTIONS_PATH: Final = Path(__file__).with_name("injections.jsonl")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text, a diagnosis, and the true verdict on the patient."""

    text: str
    diagnosis: Diagnosis
    verdict: VerdictClass


@dataclass(frozen=True, slots=True)
class InjectedText:
    """A labelled text without and with a prompt injection: planted words that tell the judge what to answer."""

    plain: str
    injected: str
    diagnosis: Diagnosis
    verdict: VerdictClass


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The labelled texts and injections on which a judge is scored."""

    source: LabelSource
    #: SHA-256 of the labelled texts and the injections as they were read.
    digest: str
    texts: tuple[LabelledText, ...]
    injections: tuple[InjectedText, ...]


def load_labelled_set(path: Path | None, panel: Sequence[Diagnosis]) -> LabelledSet:
    """Read LABELS from `path`, or the set that ships; the injections are always those that ship.

    Raises `BadInputError` listing every row that is no labelled text.
    """
    by_id = {diagnosis.id: diagnosis for diagnosis in panel}
    role = "the labelled texts"
    content = read_text_file(path or LABELLED_PATH, role=role)
    problems: list[str] = []
    texts = tuple(
        LabelledText(row["text"], by_id[row["diagnosis"]], row["verdict"]) for row in _rows(content, by_id, problems)
    )
    if problems:
        raise BadInputError(f"{role} {(path or LABELLED_PATH).name} are not valid; mend these rows", problems)
    if not texts:
        raise BadInputError(f"{role} {(path or LABELLED_PATH).name} hold no row; give at least one a line")
    planted = read_text_file(INJECTIONS_PATH, role="the planted injections")
    digest = hashlib.sha256(f"{content}\0{planted}".encode()).hexdigest()
    return LabelledSet("site" if path else "shipped", digest, texts, tuple(_injections(planted, by_id)))


def _injections(content: str, by_id: Mapping[str, Diagnosis]) -> Iterator[InjectedText]:
    for row in _rows(content, by_id, []):
        yield InjectedText(
            plain=row["text"].replace(row["injection"], "", 1),
            injected=row["text"],
            diagnosis=by_id[row["diagnosis"]],
            verdict=row["verdict"],
        )


def _rows(content: str, by_id: Mapping[str, Diagnosis], problems: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the valid rows; add to `problems` what is wrong with the others, never their text."""
    for number, row in json_rows(content, problems):
        problem = _problem(row, by_id)
        if problem is None:
            yield row
        else:
            problems.append(f"row {number}: {problem}")


def _problem(row: object, by_id: Mapping[str, Diagnosis]) -> str | None:
    if not isinstance(row, dict):
        return "must be an object with text, diagnosis and verdict"
    text, diagnosis, verdict = row.get("text"), row.get("diagnosis"), row.get("verdict")
    if not isinstance(text, str):
        return "text must be a text"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "text holds half a surrogate pair, which is no character"
    if not isinstance(diagnosis, str) or diagnosis not in by_id:
        return f"diagnosis must be one of {', '.join(by_id)}"
    if verdict not in VERDICT_CLASSES:
        return f"verdict must be one of {', '.join(VERDICT_CLASSES)}"
    if not text.strip() and verdict != "not_mentioned":
        return "text is blank: it mentions nothing, so that its verdict can only be not_mentioned"
    return None


@dataclass(frozen=True, slots=True)
class ScoredJudge:
    """What a judge read in the labelled texts."""

    #: The judge's name, and whose the texts are.
    name: str
    labels: LabelSource
    #: Rows of `scored_texts.parquet`, of which the figures are made (`estimate_judge`).
    rows: Sequence[Row]
    #: The judge's judgement of each labelled text, in order.
    judgements: Sequence[Judgement]


def score_judge(judge: Judge, labelled: LabelledSet, ledger: Ledger, progress: Progress) -> ScoredJudge:
    """Ask a judge about the labelled texts, and about the injections' without and with them."""
    asked = _inquire(labelled)
    judgements = ask_judge(judge, [*chain(*asked)], ledger, progress, stage="scoring the judge")
    judged = [judgements[inquiry.key, inquiry.diagnosis.id] for inquiry in asked[0]]
    return ScoredJudge(judge.name, labelled.source, list(_scored_text_rows(labelled, judgements)), judged)


def _inquire(labelled: LabelledSet) -> tuple[list[Inquiry], list[Inquiry], list[Inquiry]]:
    """Return what a judge is asked: the labelled texts, and the injections' texts without and with them."""

    def inquire(kind: str, items: Iterable[LabelledText | InjectedText]) -> list[Inquiry]:
        # The key names the set, so that another set in the same run is never mistaken for this one.
        prefix = f"judge-check/{labelled.digest[:16]}/{kind}"
        return [Inquiry(f"{prefix}/{i}", getattr(item, kind), item.diagnosis) for i, item in enumerate(items)]

    return (
        inquire("text", labelled.texts),
        inquire("plain", labelled.injections),
        inquire("injected", labelled.injections),
    )


def _scored_text_rows(labelled: LabelledSet, judgements: Judgements) -> Iterator[Row]:
    """Yield the rows of `scored_texts.parquet`: what the judge read in each labelled text, and around each injection.

    `judgements` are those of the ledger in which the judge was scored (`score_judge`).
    """
    texts, plain, injected = (_outcomes(asked, judgements) for asked in _inquire(labelled))
    of_texts = zip(labelled.texts, texts, [None] * len(texts), strict=True)
    of_injections = zip(labelled.injections, plain, injected, strict=True)
    for kind, items in (("labelled", of_texts), ("planted", of_injections)):
        for item, verdict, after in items:
            yield {
                "kind": kind,
                "diagnosis": item.diagnosis.id,
                "truth": item.verdict,
                "verdict": verdict,
                "injected_verdict": after,
            }


def _outcomes(inquiries: Sequence[Inquiry], judgements: Judgements) -> list[Outcome]:
    return [judgements[inquiry.key, inquiry.diagnosis.id].outcome for inquiry in inquiries]


@dataclass(frozen=True, slots=True)
class CheckedJudge:
    """The judge that settings choose, scored alone, outside an audit (`clinaudit judge-check`)."""

    scored: ScoredJudge
    labelled: LabelledSet
    #: What identifies this judge: kind, version, digests.
    identity: Mapping[str, str]


def check_chosen_judge(settings: AuditSettings, *, answers: Path | None, progress: Progress) -> CheckedJudge:
    """Score the judge of the settings; the answers of a served judge are cached in the file `answers`, if given."""
    panel = load_panel(settings.diagnoses)
    labelled = load_labelled_set(settings.judge_labels, panel)
    require_no_endpoint(settings)
    judge = make_judge(settings.judge, settings, panel=panel, seed=settings.seed)
    keep_in = open_memory_cache() if answers is None else open_cache_file(answers)
    with cache_answers(judge, progress, keep_in=keep_in):
        scored = score_judge(judge, labelled, Ledger(), progress)
    return CheckedJudge(scored, labelled, judge.identity())


def describe_check(checked: CheckedJudge, figures: Estimates, *, complaint: str | None) -> dict[str, object]:
    """Return what `judge-check --out` writes: metrics, and the label and verdict of each text, in order; no text.

    Of a text without a verdict the reason stands there, and `unjudged_reasons` says how often each was met.

    `complaint`: why the policy does not accept the judge; None where it does.
    """
    return {
        "judge": checked.scored.name,
        "labels": checked.scored.labels,
        "figures": [
            {
                "metric": row.metric,
                "diagnosis": row.diagnosis,
                "value": row.value,
                "low": row.low,
                "high": row.high,
                "count": row.count_low,
                "of": row.of_low,
            }
            for row in figures
        ],
        "identity": dict(checked.identity),
        "labels_digest": checked.labelled.digest,
        "accepted": complaint is None,
        "reason": complaint,
        "items": [
            {
                "diagnosis": text.diagnosis.id,
                "label": text.verdict,
                "verdict": judgement.outcome,
                "reason": judgement.invalid_reason,
            }
            for text, judgement in zip(checked.labelled.texts, checked.scored.judgements, strict=True)
        ],
        "unjudged_reasons": count_reasons(checked.scored.judgements),
    }
