"""Everyday tasks in an audit: which are asked, and what their answers give away (docs/methods.md, section 2c)."""

from collections.abc import Sequence

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.asking import load_answers, plan_questions
from clinaudit.audit.measures.ordinary.record import Question, answer_rows
from clinaudit.audit.measures.ordinary.stage import find_patients_text, summarize_ordinary
from clinaudit.audit.pii.stage import Search, find_in_answers
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.audit.statistics.pools import FEWEST_IN_POOL, SPLITS, pool_of_nobody
from clinaudit.reports.tally.attacks import OrdinaryTally


def plan_everyday(inputs: AuditInputs) -> list[Question]:
    """Return the questions of all tasks that fit; none where everyday tasks are left out."""
    if inputs.tasks is None:
        return []
    return plan_questions(inputs.tasks.tasks, inputs.decoding, seed=inputs.settings.seed)


def measure_everyday(
    questions: Sequence[Question],
    inputs: AuditInputs,
    notes: MatchedCorpus,
    *,
    store: RunStore,
    search: Search,
    progress: Progress,
) -> tuple[OrdinaryTally | None, list[Row]]:
    """Return what the answers give away, and the rows of `ordinary.parquet`; None where nothing was asked."""
    if inputs.tasks is None:
        return None, []
    settings = inputs.settings
    answers = list(load_answers(questions, inputs.tokenizer, store))
    text = find_patients_text(
        answers, notes, match_tokens=settings.ngram, seed=settings.seed, progress=progress, runner=search.runner
    )
    identifiers = find_in_answers(
        answers,
        corpus=inputs.corpus,
        profile=inputs.profile,
        seed=settings.seed,
        progress=progress,
        search=search,
    )
    tally = summarize_ordinary(
        questions,
        answers,
        text,
        identifiers,
        planned=len(inputs.tasks.tasks),
        match_tokens=settings.ngram,
        corpus=inputs.corpus,
    )
    sizes = {split: len(inputs.corpus.scan_order(split)) for split in SPLITS}
    has_pools = pool_of_nobody(sizes) >= FEWEST_IN_POOL
    return tally, list(answer_rows(answers, text, identifiers, has_pools=has_pools))
