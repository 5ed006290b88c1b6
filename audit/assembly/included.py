"""Patients whom the site names with `--include-patients`: probed and judged, in the evidence alone.

Owns who they are, and the way of their generations to the tables of `evidence/included/`. They are asked what a target
is asked, and no number that is summed, averaged or published holds them: whoever is named for a reason (a request for
deletion, a complaint) must be in no figure by which that could be noticed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.generation.record import generation_rows
from clinaudit.audit.measures.generation.stage import load_finished_generations, prior_rows
from clinaudit.audit.measures.judge.annotation import Annotation, annotation_rows
from clinaudit.audit.measures.judge.stage import (
    RunLedger,
    ask_judge,
    judgement_rows,
    leave_refusals_unjudged,
    make_inquiries,
)
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.pii.stage import Search, find_identifiers
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import make_private_directory
from clinaudit.audit.runtime.run.evidence_tables import Row, write_table
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.prompts import Prior

_Annotations = Mapping[str, Sequence[Annotation]]


def choose_included(inputs: AuditInputs, targets: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the named patients who are no targets anyway, each with every diagnosis that is audited."""
    named = inputs.included
    every = tuple(diagnosis.id for diagnosis in inputs.panel)
    ids = [] if named is None else sorted(patient_id for patient_id in named.ids if patient_id not in targets)
    return dict.fromkeys(ids, every)


def measure_included(
    priors: Sequence[Prior],
    annotations: _Annotations,
    inputs: AuditInputs,
    notes: MatchedCorpus,
    *,
    store: RunStore,
    search: Search,
    progress: Progress,
) -> dict[str, Iterable[Row] | pl.DataFrame]:
    """Measure what was generated for the included patients; return the rows of their tables."""
    progress.say("the patients of --include-patients; their results stand in evidence/included alone")
    generations = list(load_finished_generations(priors, inputs.tokenizer, store))
    runner = LocalRunner(inputs.settings.processes)
    memorization = measure_memorization(
        generations,
        notes,
        match_tokens=inputs.settings.ngram,
        seed=inputs.settings.seed,
        progress=progress,
        runner=runner,
    )
    identifiers = find_identifiers(
        generations,
        corpus=inputs.corpus,
        profile=inputs.profile,
        seed=inputs.settings.seed,
        progress=progress,
        search=replace(search, runner=runner),
    )
    judgements = ask_judge(inputs.judge, make_inquiries(generations, inputs.panel), RunLedger(store, runner), progress)
    judgements = leave_refusals_unjudged(judgements, generations, inputs.judge)
    return {
        "priors": prior_rows(priors),
        "annotations": annotation_rows(annotations),
        "generations": generation_rows(generations),
        **memorization,
        "identifiers": identifiers.rows,
        "judgements": judgement_rows(generations, judgements),
    }


def write_included(run: RunDirectory, tables: Mapping[str, Iterable[Row] | pl.DataFrame]) -> None:
    """Write the tables of the included patients, in a folder of their own."""
    make_private_directory(run.included)
    for table, rows in tables.items():
        write_table(run.included, table, rows)
