"""The judge stage: score the judge, judge every generation, and compare a second judge with it (inter-rater agreement).

Owns which inquiries an audit makes, and when these parts are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.judge.ledger import Inquiry, Judgements, Ledger, ask_judge
from clinaudit.audit.measures.judge.scoring.judge_score import (
    compare_judges,
    count_answers,
    disagreement_rows,
    score_judge,
)
from clinaudit.audit.measures.judge.scoring.labelled_texts import LabelledSet
from clinaudit.audit.measures.judge.verdict import Judge, Judgement, to_row
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.reports.schema.judge import JudgeAgreement, MeasuredJudge

#: Marks the second judge's judgements in the run's store.
_SECOND = "second-judge/"
#: Why a refused generation has no verdict: the audited model refused, not the judge's.
REFUSED = "the generation is a refusal"


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """Two judges compared on the same generations."""

    agreement: JudgeAgreement
    #: The rows of `disagreements.parquet`.
    disagreements: Sequence[Mapping[str, object]]


def make_inquiries(generations: Iterable[Generation], panel: Sequence[Diagnosis]) -> list[Inquiry]:
    """Return an inquiry for each generation and each diagnosis that its prompt serves (`Prior.diagnoses`).

    A refusal says nothing of a diagnosis that could be judged. The judge reads what the model says of its own accord.
    """
    by_id = {diagnosis.id: diagnosis for diagnosis in panel}
    return [
        Inquiry(generation.generation_id, generation.answer, by_id[diagnosis])
        for generation in generations
        if not generation.refused
        for diagnosis in generation.diagnoses
    ]


def check_judge(
    judge: Judge,
    labelled: LabelledSet,
    inquiries: Sequence[Inquiry],
    *,
    ledger: Ledger,
    progress: Progress,
    seed: int,
) -> MeasuredJudge | None:
    """Score the judge on the labelled texts; None where there is nothing for it to judge."""
    if not inquiries:
        return None
    quality, _ = score_judge(judge, labelled, ledger, progress, seed=seed)
    return quality


def with_run_answers(
    quality: MeasuredJudge | None, inquiries: Sequence[Inquiry], judgements: Judgements, *, seed: int
) -> MeasuredJudge | None:
    """Return the judge's figures with what it answered about this run's texts: refused, alike when asked again."""
    if quality is None:
        return None
    return quality.model_copy(update={"run_answers": count_answers(inquiries, judgements, seed=seed)})


def leave_refusals_unjudged(judgements: Judgements, generations: Iterable[Generation], judge: Judge) -> Judgements:
    """Return the judgements with one without a verdict for each refused generation: it is never a negative."""
    refused = {
        (generation.generation_id, diagnosis): Judgement(None, judge.name, 0, REFUSED)
        for generation in generations
        if generation.refused
        for diagnosis in generation.diagnoses
    }
    return {**judgements, **refused}


def ask_second_judge(
    second: Judge | None,
    inquiries: Sequence[Inquiry],
    judgements: Judgements,
    *,
    ledger: Ledger,
    progress: Progress,
    seed: int,
) -> JudgeComparison | None:
    """Put the same inquiries to a second judge and compare; None without a second judge, or with nothing to judge."""
    if second is None or not inquiries:
        return None
    marked = [replace(inquiry, key=_SECOND + inquiry.key) for inquiry in inquiries]
    kept = ask_judge(second, marked, ledger, progress, stage="judging a second time")
    second_judgements = {
        (key.removeprefix(_SECOND), diagnosis): judgement
        for (key, diagnosis), judgement in kept.items()
        if key.startswith(_SECOND)
    }
    return JudgeComparison(
        agreement=compare_judges(inquiries, judgements, second_judgements, second_judge=second.name, seed=seed),
        disagreements=list(disagreement_rows(inquiries, judgements, second_judgements)),
    )


def judgement_rows(generations: Iterable[Generation], judgements: Mapping[tuple[str, str], Judgement]) -> Iterator[Row]:
    """Yield the rows of `judgements.parquet`, in the order of the generations."""
    for generation in generations:
        for diagnosis in generation.diagnoses:
            judgement = judgements[generation.generation_id, diagnosis]
            yield {"generation_id": generation.generation_id, "diagnosis": diagnosis, **to_row(judgement)}
