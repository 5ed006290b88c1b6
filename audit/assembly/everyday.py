"""Everyday tasks in an audit: which are asked, and what their answers give away (docs/methods.md, section 2c)."""

from collections.abc import Sequence
from typing import Final

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.asking import for_control, load_answers, plan_questions
from clinaudit.audit.measures.ordinary.record import Question, answer_rows
from clinaudit.audit.measures.ordinary.stage import find_patients_text
from clinaudit.audit.pii.stage import Search, find_in_answers
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.audit.statistics.pools import FEWEST_IN_POOL, SPLITS, pool_of_nobody

#: Of fewer patients never seen no pool tells what chance gives; the control model's answers do.
FEWEST_NEVER_SEEN: Final = 50


def plan_everyday(inputs: AuditInputs) -> list[Question]:
    """Return the questions of all tasks that fit; none where everyday tasks are left out."""
    if inputs.tasks is None:
        return []
    return plan_questions(inputs.tasks.tasks, inputs.decoding, seed=inputs.settings.seed)


def plan_for_control(questions: Sequence[Question], inputs: AuditInputs) -> list[Question]:
    """Return the questions that the control model is asked: all, where it stands for too few patients never seen."""
    never_seen = len(inputs.corpus.patient_ids("nontrain"))
    return for_control(questions) if inputs.probed.asks_control and never_seen < FEWEST_NEVER_SEEN else []


def measure_everyday(
    questions: Sequence[Question],
    inputs: AuditInputs,
    notes: MatchedCorpus,
    *,
    store: RunStore,
    search: Search,
    progress: Progress,
) -> list[Row]:
    """Return the rows of `ordinary.parquet`: what each answer gives away; none where nothing was asked."""
    if inputs.tasks is None:
        return []
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
    sizes = {split: len(inputs.corpus.scan_order(split)) for split in SPLITS}
    has_pools = pool_of_nobody(sizes) >= FEWEST_IN_POOL
    return list(answer_rows(answers, text, identifiers, has_pools=has_pools))
