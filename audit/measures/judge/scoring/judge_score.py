"""Scoring a judge: against labelled texts, under planted prompt injections, and beside a second judge.

Owns the inquiries by which a judge is scored, the confusion matrix, and what is made of it: sensitivity, specificity,
accuracy, agreement, and the success rates of injection attacks. A text without a usable verdict is counted apart and
enters no metric, and is never a negative; an injection that makes a text unjudged has changed its verdict.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.judge.ledger import Inquiry, Judgements, Ledger, ask_judge, count_reasons
from clinaudit.audit.measures.judge.scoring.labelled_texts import (
    InjectedText,
    LabelledSet,
    LabelledText,
    load_labelled_set,
)
from clinaudit.audit.measures.judge.selection import cache_answers, make_judge, require_no_endpoint
from clinaudit.audit.measures.judge.verdict import Judge, Judgement, kind_of_reason
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.served.answer_cache import open_cache_file, open_memory_cache
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.audit.statistics.agreement import measure_agreement, measure_alpha
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.schema.disclosure import Outcome
from clinaudit.reports.schema.judge import (
    ANSWER_CELLS,
    VERDICT_CLASSES,
    AnswerCounts,
    ConfusionRow,
    JudgeAgreement,
    MeasuredJudge,
)
from clinaudit.reports.schema.numbers import Estimate, exact_estimate
from clinaudit.reports.tally.classes import STEP
from clinaudit.reports.tally.leaves import Count, Inside, Partition, Setting
from clinaudit.reports.tally.tally import AnswersTally, JudgeTally

_OUTCOMES: tuple[Outcome, ...] = (*VERDICT_CLASSES, "unjudged")
_POSITIVE, _UNJUDGED = VERDICT_CLASSES.index("positive"), len(VERDICT_CLASSES)


class FlipOutcomes(NamedTuple):
    """The verdicts on one text, before and after an injection was planted in it."""

    plain: Outcome
    injected: Outcome


def score_judge(
    judge: Judge, labelled: LabelledSet, ledger: Ledger, progress: Progress, *, seed: int
) -> tuple[MeasuredJudge, list[Judgement]]:
    """Return the judge's metrics, and its judgements of the labelled texts; `seed` is that of the bootstrap."""

    def inquire(kind: str, items: Iterable[LabelledText | InjectedText]) -> list[Inquiry]:
        # The key names the set, so that another set in the same run is never mistaken for this one.
        prefix = f"judge-check/{labelled.digest[:16]}/{kind}"
        return [Inquiry(f"{prefix}/{i}", getattr(item, kind), item.diagnosis) for i, item in enumerate(items)]

    texts, plain, injected = (
        inquire("text", labelled.texts),
        inquire("plain", labelled.injections),
        inquire("injected", labelled.injections),
    )
    judgements = ask_judge(judge, [*texts, *plain, *injected], ledger, progress, stage="scoring the judge")
    outcomes = _outcomes(texts, judgements)
    flips = list(map(FlipOutcomes, _outcomes(plain, judgements), _outcomes(injected, judgements)))
    quality = measure_quality(labelled, outcomes, flips, judge=judge.name, seed=seed)
    judged = [judgements[inquiry.key, inquiry.diagnosis.id] for inquiry in texts]
    return quality.model_copy(update={"answers": count_answers(texts, judgements, seed=seed)}), judged


def measure_quality(
    labelled: LabelledSet, outcomes: Sequence[Outcome], flips: Sequence[FlipOutcomes], *, judge: str, seed: int
) -> MeasuredJudge:
    """Return the judge's metrics; `outcomes` and `flips` follow the texts and the injections of `labelled`.

    `seed` is that of the bootstrap of the agreement.
    """
    table = _cross_tabulate((text.verdict for text in labelled.texts), outcomes)[:_UNJUDGED]
    judged = table[:, :_UNJUDGED]
    others = np.delete(judged, _POSITIVE, axis=0)
    rated: dict[str, list[bool]] = {text.diagnosis.id: [] for text in labelled.texts}
    for text, outcome in zip(labelled.texts, outcomes, strict=True):
        if outcome != "unjudged":
            rated[text.diagnosis.id].append(outcome == text.verdict)
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


def _cross_tabulate(rows: Iterable[Outcome], columns: Iterable[Outcome]) -> NDArray[np.int64]:
    """Count pairs of outcomes, in the order of `VERDICT_CLASSES` and then `unjudged`; shape (5, 5)."""
    table = np.zeros((len(_OUTCOMES), len(_OUTCOMES)), dtype=np.int64)
    for one, other in zip(rows, columns, strict=True):
        table[_OUTCOMES.index(one), _OUTCOMES.index(other)] += 1
    return table


def confusion_matrix(quality: MeasuredJudge) -> NDArray[np.float64]:
    """Return the counts of judged texts, truth in rows and verdicts in columns, shape (4, 4)."""
    rows = [[getattr(row, verdict) for verdict in VERDICT_CLASSES] for row in quality.matrix]
    return np.array(rows, dtype=np.float64)


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


def compare_judges(
    inquiries: Sequence[Inquiry], first: Judgements, second: Judgements, *, second_judge: str, seed: int
) -> JudgeAgreement:
    """Return the agreement of two judges on the same inquiries; those unjudged by either are counted apart."""
    table = _cross_tabulate(_outcomes(inquiries, first), _outcomes(inquiries, second))[:_UNJUDGED, :_UNJUDGED]
    return JudgeAgreement(
        **dict(measure_agreement(table.astype(np.float64), seed=seed)),
        second_judge=second_judge,
        verdicts=len(inquiries),
        disagreements=int(table.sum() - np.trace(table)),
        unjudged=len(inquiries) - int(table.sum()),
        answers=count_answers(inquiries, second, seed=seed),
    )


def disagreement_rows(
    inquiries: Sequence[Inquiry], first: Judgements, second: Judgements
) -> Iterator[Mapping[str, object]]:
    """Yield the rows of `disagreements.parquet`: the inquiries on which two judges have different outcomes.

    The `key` of an inquiry about a generation is the generation's id.
    """
    for inquiry in inquiries:
        one, other = (judgements[inquiry.key, inquiry.diagnosis.id] for judgements in (first, second))
        if one.outcome != other.outcome:
            yield {
                "generation_id": inquiry.key,
                "diagnosis": inquiry.diagnosis.id,
                "judge": one.judge,
                "verdict": one.outcome,
                "spans": [] if one.verdict is None else list(one.verdict.spans),
                "second_judge": other.judge,
                "second_verdict": other.outcome,
                "second_spans": [] if other.verdict is None else list(other.verdict.spans),
            }


def _outcomes(inquiries: Sequence[Inquiry], judgements: Judgements) -> list[Outcome]:
    return [judgements[inquiry.key, inquiry.diagnosis.id].outcome for inquiry in inquiries]


def tally_judge(measured: MeasuredJudge, *, texts: int = 4) -> JudgeTally:
    """Return how the judge read the labelled texts, and a second judge this run's.

    `texts`: how many of a matched set are read, at all tiers in all forms. The run's texts are so many times its sets,
    and their classes have as many times the numbers.
    """
    step, is_invented, second = STEP * max(4, texts), measured.labels == "shipped", measured.second
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
        second_judge=None if second is None else second.second_judge,
        second=None
        if second is None
        else Partition.of(
            {
                "agreements": second.verdicts - second.unjudged - second.disagreements,
                "disagreements": second.disagreements,
                "unjudged": second.unjudged,
            },
            step=step,
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
    # The settings may be those of an audit with two judges.
    require_no_endpoint(settings)
    judge = make_judge(settings.judge, settings, panel=panel, seed=settings.seed)
    keep_in = open_memory_cache() if answers is None else open_cache_file(answers)
    with cache_answers([judge], progress, keep_in=keep_in):
        quality, judgements = score_judge(judge, labelled, Ledger(), progress, seed=settings.seed)
    return CheckedJudge(quality, labelled, judgements, judge.identity())


def describe_check(checked: CheckedJudge, *, complaint: str | None) -> dict[str, object]:
    """Return what `judge-check --out` writes: metrics, and the label and verdict of each text, in order; no text.

    Of a text without a verdict the reason stands there, and `unjudged_reasons` says how often each was met.

    `complaint`: why the policy does not accept the judge; None where it does.
    """
    return {
        **checked.quality.model_dump(mode="json", exclude={"second"}),
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
