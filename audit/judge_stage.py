"""The judge's own stages of an audit: it is scored before it judges, and compared with a second one afterwards.

Owns when these are left out. Knows nothing of disclosure figures.
"""

from collections.abc import Sequence
from dataclasses import replace

from clinaudit.audit.disclosure import inquiries_about
from clinaudit.audit.evidence import write_table
from clinaudit.audit.inputs import AuditInputs
from clinaudit.audit.judge.ledger import Judgements, ask_judge
from clinaudit.audit.judge_check import compare_judges, disagreement_rows, score_judge
from clinaudit.audit.memorization import Generation
from clinaudit.audit.progress import Progress
from clinaudit.audit.store import RunDirectory, RunStore
from clinaudit.reports.judge_quality import JudgeQuality

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
