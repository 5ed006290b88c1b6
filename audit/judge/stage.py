"""The judge's own stages of an audit: it is scored before it judges, and compared with a second one afterwards.

Owns when these are left out. Knows nothing of disclosure figures.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.generation.record import Generation
from clinaudit.audit.inputs import AuditInputs
from clinaudit.audit.judge.ledger import Inquiry, Judgements, ask_judge
from clinaudit.audit.judge.scoring.judge_score import compare_judges, disagreement_rows, score_judge
from clinaudit.audit.judge.verdict import Judgement, to_row
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.evidence_tables import Row, write_table
from clinaudit.audit.run.store import RunStore
from clinaudit.reports.schema.judge import JudgeQuality

#: Tells the second judge's answers from the first one's in the run's store.
_SECOND = "second-judge/"


def check_judge(
    inputs: AuditInputs, generations: Sequence[Generation], store: RunStore, progress: Progress
) -> JudgeQuality | None:
    """Score the judge on the labelled texts; None where there is nothing for it to judge."""
    if not any(generation.diagnoses for generation in generations):
        return None
    quality, _ = score_judge(inputs.judge, inputs.labelled, store, progress, seed=inputs.settings.seed)
    return quality


def compare_with_second_judge(
    inputs: AuditInputs,
    generations: Sequence[Generation],
    judgements: Judgements,
    quality: JudgeQuality | None,
    *,
    run: RunDirectory,
    store: RunStore,
    progress: Progress,
) -> JudgeQuality | None:
    """Return the quality with the agreement of a second judge, if there is one; writes `disagreements.parquet`."""
    second = inputs.second_judge
    if second is None or quality is None:
        return quality
    inquiries = inquiries_about(inputs, generations)
    marked = [replace(inquiry, key=_SECOND + inquiry.key) for inquiry in inquiries]
    kept = ask_judge(second, marked, store, progress, stage="judging a second time")
    answers = {
        (key.removeprefix(_SECOND), diagnosis): judgement
        for (key, diagnosis), judgement in kept.items()
        if key.startswith(_SECOND)
    }
    write_table(run.evidence, "disagreements", disagreement_rows(inquiries, judgements, answers))
    agreement = compare_judges(inquiries, judgements, answers, second_judge=second.name, seed=inputs.settings.seed)
    return quality.model_copy(update={"second": agreement})


def judgement_rows(generations: Iterable[Generation], judgements: Mapping[tuple[str, str], Judgement]) -> Iterator[Row]:
    """Yield the rows of `judgements.parquet`, in the order of the generations."""
    for generation in generations:
        for diagnosis in generation.diagnoses:
            judgement = judgements[generation.generation_id, diagnosis]
            yield {"generation_id": generation.generation_id, "diagnosis": diagnosis, **to_row(judgement)}


def inquiries_about(inputs: AuditInputs, generations: Iterable[Generation]) -> list[Inquiry]:
    """Return an inquiry for each generation and each diagnosis that its prompt serves."""
    panel = {diagnosis.id: diagnosis for diagnosis in inputs.panel}
    return [
        Inquiry(generation.generation_id, generation.text, panel[diagnosis])
        for generation in generations
        for diagnosis in generation.diagnoses
    ]


def judge_generations(
    inputs: AuditInputs, generations: Iterable[Generation], store: RunStore, progress: Progress
) -> Judgements:
    """Judge every generation for each diagnosis its prompt serves; each verdict is committed as it comes."""
    return ask_judge(inputs.judge, inquiries_about(inputs, generations), store, progress, stage="judging")
