"""Scoring a judge: labelled texts, planted injections, and a second judge's verdicts beside its own.

Owns what a judge is asked to be scored, and the list of disagreements. Knows nothing of the figures' formulas.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.judge.ledger import Inquiry, Judgements, Ledger, ask_judge, outcome_of
from clinaudit.audit.judge.scoring.confusion_matrix import FlipOutcomes, measure_quality
from clinaudit.audit.judge.scoring.labelled_texts import LabelledSet
from clinaudit.audit.judge.verdict import Judge
from clinaudit.audit.statistics.agreement import measure_agreement
from clinaudit.reports.schema.judge import VERDICT_CLASSES, JudgeAgreement, JudgeQuality, Outcome


def score_judge(
    judge: Judge, labelled: LabelledSet, ledger: Ledger, progress: Progress, *, seed: int
) -> tuple[JudgeQuality, list[Outcome]]:
    """Return the judge's figures, and its verdict on each labelled text, in order."""
    # The key names the set: another set in the same run could not be taken for this one.
    prefix = f"judge-check/{labelled.digest[:16]}"
    texts = [Inquiry(f"{prefix}/text/{i}", item.text, item.diagnosis) for i, item in enumerate(labelled.texts)]
    plain = [Inquiry(f"{prefix}/plain/{i}", item.plain, item.diagnosis) for i, item in enumerate(labelled.injections)]
    injected = [
        Inquiry(f"{prefix}/injected/{i}", item.injected, item.diagnosis) for i, item in enumerate(labelled.injections)
    ]
    answers = ask_judge(judge, [*texts, *plain, *injected], ledger, progress, stage="scoring the judge")
    outcomes = _outcomes(texts, answers)
    flips = [
        FlipOutcomes(before, after)
        for before, after in zip(_outcomes(plain, answers), _outcomes(injected, answers), strict=True)
    ]
    return measure_quality(labelled, outcomes, flips, judge=judge.name, seed=seed), outcomes


def compare_judges(
    questions: Sequence[Inquiry], first: Judgements, second: Judgements, *, second_judge: str, seed: int
) -> JudgeAgreement:
    """Return how far two judges agree on the same questions; where either gave no verdict, it is counted apart."""
    order = {verdict: i for i, verdict in enumerate(VERDICT_CLASSES)}
    table = np.zeros((len(order), len(order)))
    unjudged = 0
    for one, other in zip(_outcomes(questions, first), _outcomes(questions, second), strict=True):
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
        verdicts=len(questions),
        disagreements=int(table.sum() - np.trace(table)),
        unjudged=unjudged,
    )


def disagreement_rows(
    questions: Sequence[Inquiry], first: Judgements, second: Judgements
) -> Iterator[Mapping[str, object]]:
    """Yield the rows of `disagreements.parquet`: the questions to which two judges gave different answers, or one none.

    `key` of a question about a generation is its id.
    """
    for question in questions:
        one, other = (answers[question.key, question.diagnosis.id] for answers in (first, second))
        if outcome_of(one) != outcome_of(other):
            yield {
                "generation_id": question.key,
                "diagnosis": question.diagnosis.id,
                "judge": one.judge,
                "verdict": outcome_of(one),
                "spans": [] if one.verdict is None else list(one.verdict.spans),
                "second_judge": other.judge,
                "second_verdict": outcome_of(other),
                "second_spans": [] if other.verdict is None else list(other.verdict.spans),
            }


def _outcomes(questions: Sequence[Inquiry], answers: Judgements) -> list[Outcome]:
    return [outcome_of(answers[question.key, question.diagnosis.id]) for question in questions]
