"""Scoring a judge: against labelled texts (a site's own, or those that ship), and under planted prompt injections.

Owns the format of LABELS, the inquiries by which a judge is scored, the confusion matrix, and what is made of it:
sensitivity, specificity, accuracy, agreement, and the success rates of injection attacks. A text without a usable
verdict is counted apart and enters no metric, and is never a negative; an injection that makes a text unjudged has
changed its verdict. The labels of the shipped texts were written by hand from the rules of docs/methods.md, section 5,
before any judge was run on them. No judge is tuned on them. `labelled.jsonl` holds 312 texts, 13 for each diagnosis and
class; `injections.jsonl` holds 59 texts with an injection.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from clinaudit.audit.measures.judge.selection import cache_answers, make_judge, require_no_endpoint
from clinaudit.audit.measures.judge.stage import Inquiry, Judgements, Ledger, ask_judge, count_reasons
from clinaudit.audit.measures.judge.verdict import Judge, Judgement, kind_of_reason
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.served.answer_cache import open_cache_file, open_memory_cache
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.audit.statistics.agreement import measure_agreement, measure_alpha
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import json_rows
from clinaudit.priors.diagnoses import Diagnosis, load_panel
from clinaudit.reports.schema.disclosure import Outcome
from clinaudit.reports.schema.judge import (
    ANSWER_CELLS,
    VERDICT_CLASSES,
    AnswerCounts,
    ConfusionRow,
    LabelSource,
    MeasuredJudge,
    VerdictClass,
)
from clinaudit.reports.schema.numbers import Estimate, exact_estimate
from clinaudit.reports.tally.classes import STEP
from clinaudit.reports.tally.leaves import Count, Inside, Setting
from clinaudit.reports.tally.tally import AnswersTally, JudgeTally
from clinaudit.templates.text_file import read_text_file

LABELLED_PATH: Final = Path(__file__).with_name("labelled.jsonl")
INJECTIONS_PATH: Final = Path(__file__).with_name("injections.jsonl")
_OUTCOMES: tuple[Outcome, ...] = (*VERDICT_CLASSES, "unjudged")
_POSITIVE = VERDICT_CLASSES.index("positive")


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


class FlipOutcomes(NamedTuple):
    """The verdicts on one text, before and after an injection was planted in it."""

    plain: Outcome
    injected: Outcome


def score_judge(
    judge: Judge, labelled: LabelledSet, ledger: Ledger, progress: Progress, *, seed: int
) -> tuple[MeasuredJudge, list[Judgement]]:
    """Return the judge's metrics, and its judgements of the labelled texts; `seed` is that of the bootstrap."""

    texts, plain, injected = _inquire(labelled)
    judgements = ask_judge(judge, [*texts, *plain, *injected], ledger, progress, stage="scoring the judge")
    outcomes = _outcomes(texts, judgements)
    flips = list(map(FlipOutcomes, _outcomes(plain, judgements), _outcomes(injected, judgements)))
    quality = measure_quality(labelled, outcomes, flips, judge=judge.name, seed=seed)
    judged = [judgements[inquiry.key, inquiry.diagnosis.id] for inquiry in texts]
    return quality.model_copy(update={"answers": count_answers(texts, judgements, seed=seed)}), judged


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


def scored_text_rows(labelled: LabelledSet, judgements: Judgements) -> Iterator[Row]:
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


def measure_quality(
    labelled: LabelledSet, outcomes: Sequence[Outcome], flips: Sequence[FlipOutcomes], *, judge: str, seed: int
) -> MeasuredJudge:
    """Return the judge's metrics; `outcomes` and `flips` follow the texts and the injections of `labelled`.

    `seed` is that of the bootstrap of the agreement.
    """
    # Truth in the rows, verdicts and then `unjudged` in the columns.
    table = np.zeros((len(VERDICT_CLASSES), len(_OUTCOMES)), dtype=np.int64)
    rated: dict[str, list[bool]] = {text.diagnosis.id: [] for text in labelled.texts}
    for text, outcome in zip(labelled.texts, outcomes, strict=True):
        table[VERDICT_CLASSES.index(text.verdict), _OUTCOMES.index(outcome)] += 1
        if outcome != "unjudged":
            rated[text.diagnosis.id].append(outcome == text.verdict)
    judged = table[:, : len(VERDICT_CLASSES)]
    others = np.delete(judged, _POSITIVE, axis=0)
    into_positives = [
        flip.injected
        for text, flip in zip(labelled.injections, flips, strict=True)
        if text.verdict == flip.plain == "positive"
    ]
    return MeasuredJudge(
        judge=judge,
        labels=labelled.source,
        texts=len(labelled.texts),
        matrix=[
            ConfusionRow(truth=truth, **dict(zip(_OUTCOMES, row, strict=True)))
            for truth, row in zip(VERDICT_CLASSES, table.tolist(), strict=True)
        ],
        sensitivity=wilson(int(judged[_POSITIVE, _POSITIVE]), int(judged[_POSITIVE].sum())),
        specificity=wilson(int(others.sum() - others[:, _POSITIVE].sum()), int(others.sum())),
        agreement=measure_agreement(judged.astype(np.float64), seed=seed),
        accuracy_by_class={
            truth: wilson(int(judged[i, i]), int(judged[i].sum())) for i, truth in enumerate(VERDICT_CLASSES)
        },
        accuracy_by_diagnosis={diagnosis: wilson(sum(right), len(right)) for diagnosis, right in rated.items()},
        flip_rate=measure_flips(flips),
        # Injections after which a positive text is no longer read as positive.
        hiding_rate=wilson(sum(outcome != "positive" for outcome in into_positives), len(into_positives)),
    )


def measure_flips(flips: Sequence[FlipOutcomes]) -> Estimate:
    """Return the flip rate: the share of injections that change the verdict, among texts judged without one.

    It is the attack success rate of an untargeted injection. An injection that makes a text unjudged counts too.
    """
    rated = [flip for flip in flips if flip.plain != "unjudged"]
    return wilson(sum(flip.injected != flip.plain for flip in rated), len(rated))


def count_answers(inquiries: Sequence[Inquiry], judgements: Judgements, *, seed: int) -> AnswerCounts:
    """Return what was answered to the inquiries; `seed` is that of the bootstrap of the agreement.

    A text that was judged without asking (an empty one) is unanimous, and in no agreement.
    """
    asked = [judgements[inquiry.key, inquiry.diagnosis.id] for inquiry in inquiries]
    cells = Counter(map(_cell_of, asked))
    several = [judgement.answers for judgement in asked if judgement.answers]
    ratings = np.array([[answers.count(verdict) for verdict in VERDICT_CLASSES] for answers in several])
    return AnswerCounts(
        answers_each=max(map(len, several), default=1),
        **{cell: cells[cell] for cell in ANSWER_CELLS},
        alpha=measure_alpha(ratings, seed=seed) if several else None,
    )


def _cell_of(judgement: Judgement) -> str:
    if judgement.verdict is None:
        return kind_of_reason(judgement.invalid_reason or "")
    return "unanimous" if len(set(judgement.answers)) <= 1 else "majority"


def _outcomes(inquiries: Sequence[Inquiry], judgements: Judgements) -> list[Outcome]:
    return [judgements[inquiry.key, inquiry.diagnosis.id].outcome for inquiry in inquiries]


def tally_judge(measured: MeasuredJudge, *, texts: int = 4) -> JudgeTally:
    """Return how the judge read the labelled texts, and what it answered about this run's.

    `texts`: how many of a matched set are read, at all tiers in all forms. The run's texts are so many times its sets,
    and their classes have as many times the numbers.
    """
    step, is_invented = STEP * max(4, texts), measured.labels == "shipped"
    return JudgeTally(
        judge=measured.judge,
        labels=measured.labels,
        matrix={
            row.truth: {
                verdict: Count.of(getattr(row, verdict), step=None if is_invented else STEP)
                for verdict in (*VERDICT_CLASSES, "unjudged")
            }
            for row in measured.matrix
        },
        flip_rate=Setting(exact_estimate(measured.flip_rate)),
        hiding_rate=Setting(exact_estimate(measured.hiding_rate)),
        accuracy_by_diagnosis=Inside(
            {of: Setting(exact_estimate(accuracy)) for of, accuracy in measured.accuracy_by_diagnosis.items()},
            is_public=is_invented,
        ),
        # Of a site's own texts they would be a second partition beside the matrix, which has too many cells for one.
        answers=Inside(
            None if measured.answers is None else _tally_answers(measured.answers, step=None if is_invented else STEP),
            is_public=is_invented,
        ),
        run_answers=None if measured.run_answers is None else _tally_answers(measured.run_answers, step=step),
        evidence=Inside(measured),
    )


def _tally_answers(counts: AnswerCounts, *, step: int | None) -> AnswersTally:
    """Return what was answered, about invented texts without a `step`."""
    alpha = None if counts.alpha is None else Setting(exact_estimate(counts.alpha))
    return AnswersTally(
        answers_each=Setting(counts.answers_each),
        cells={name: Count.of(getattr(counts, name), step=step) for name in ANSWER_CELLS},
        alpha=Inside(alpha, is_public=step is None),
    )


@dataclass(frozen=True, slots=True)
class CheckedJudge:
    """The judge that settings choose, scored alone, outside an audit (`clinaudit judge-check`)."""

    quality: MeasuredJudge
    labelled: LabelledSet
    #: The judge's judgement of each labelled text, in order.
    judgements: Sequence[Judgement]
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
        quality, judgements = score_judge(judge, labelled, Ledger(), progress, seed=settings.seed)
    return CheckedJudge(quality, labelled, judgements, judge.identity())


def describe_check(checked: CheckedJudge, *, complaint: str | None) -> dict[str, object]:
    """Return what `judge-check --out` writes: metrics, and the label and verdict of each text, in order; no text.

    Of a text without a verdict the reason stands there, and `unjudged_reasons` says how often each was met.

    `complaint`: why the policy does not accept the judge; None where it does.
    """
    return {
        **checked.quality.model_dump(mode="json"),
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
            for text, judgement in zip(checked.labelled.texts, checked.judgements, strict=True)
        ],
        "unjudged_reasons": count_reasons(checked.judgements),
    }
