"""Scoring a judge: labelled texts, planted injections, and inter-rater agreement with a second judge.

Owns the inquiries by which a judge is scored, and the list of disagreements. Knows nothing of the metrics' formulas.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from clinaudit.audit.measures.judge.ledger import Inquiry, Judgements, Ledger, ask_judge
from clinaudit.audit.measures.judge.scoring.confusion_matrix import FlipOutcomes, measure_quality
from clinaudit.audit.measures.judge.scoring.labelled_texts import LabelledSet
from clinaudit.audit.measures.judge.verdict import Judge, Judgement, kind_of_reason
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.statistics.agreement import measure_agreement, measure_alpha
from clinaudit.reports.schema.disclosure import Outcome
from clinaudit.reports.schema.judge import ANSWER_CELLS, VERDICT_CLASSES, AnswerCounts, JudgeAgreement, MeasuredJudge
from clinaudit.reports.schema.numbers import exact_estimate
from clinaudit.reports.tally.classes import COHORT_STEP, STEP
from clinaudit.reports.tally.leaves import Count, Inside, Partition, Setting
from clinaudit.reports.tally.tally import AnswersTally, JudgeTally


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


def score_judge(
    judge: Judge, labelled: LabelledSet, ledger: Ledger, progress: Progress, *, seed: int
) -> tuple[MeasuredJudge, list[Outcome]]:
    """Return the judge's metrics, and its outcome on each labelled text, in order; `seed` is that of the bootstrap."""
    # The key names the set, so that another set in the same run is never mistaken for this one.
    prefix = f"judge-check/{labelled.digest[:16]}"
    texts = [Inquiry(f"{prefix}/text/{i}", item.text, item.diagnosis) for i, item in enumerate(labelled.texts)]
    plain = [Inquiry(f"{prefix}/plain/{i}", item.plain, item.diagnosis) for i, item in enumerate(labelled.injections)]
    injected = [
        Inquiry(f"{prefix}/injected/{i}", item.injected, item.diagnosis) for i, item in enumerate(labelled.injections)
    ]
    judgements = ask_judge(judge, [*texts, *plain, *injected], ledger, progress, stage="scoring the judge")
    outcomes = _outcomes(texts, judgements)
    flips = [
        FlipOutcomes(before, after)
        for before, after in zip(_outcomes(plain, judgements), _outcomes(injected, judgements), strict=True)
    ]
    quality = measure_quality(labelled, outcomes, flips, judge=judge.name, seed=seed)
    return quality.model_copy(update={"answers": count_answers(texts, judgements, seed=seed)}), outcomes


def compare_judges(
    inquiries: Sequence[Inquiry], first: Judgements, second: Judgements, *, second_judge: str, seed: int
) -> JudgeAgreement:
    """Return the agreement of two judges on the same inquiries; those unjudged by either are counted apart."""
    order = {verdict: i for i, verdict in enumerate(VERDICT_CLASSES)}
    table = np.zeros((len(order), len(order)))
    unjudged = 0
    for one, other in zip(_outcomes(inquiries, first), _outcomes(inquiries, second), strict=True):
        if one == "unjudged" or other == "unjudged":
            unjudged += 1
        else:
            table[order[one], order[other]] += 1
    agreement = measure_agreement(table, seed=seed)
    return JudgeAgreement(
        agreement=agreement.agreement,
        kappa=agreement.kappa,
        alpha=agreement.alpha,
        second_judge=second_judge,
        verdicts=len(inquiries),
        disagreements=int(table.sum() - np.trace(table)),
        unjudged=unjudged,
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


def tally_judge(measured: MeasuredJudge, *, readings: int = 1) -> JudgeTally:
    """Return how the judge read the labelled texts, and a second judge this run's.

    `readings`: how often a patient of a matched set is read, once at each tier in each form. The run's texts are so
    many times its cohorts' patients, and their classes have as many times the numbers.
    """
    step, is_invented, second = COHORT_STEP * max(1, readings), measured.labels == "shipped", measured.second
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
