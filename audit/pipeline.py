"""The audit, stage by stage. Read this first: it is the whole program in order, and nothing else.

The way of a note: corpus → facts and diagnosis labels → matched cohorts, whose members are the targets → priors,
scrubbed for each diagnosis → (the model continues them) → generations → n-gram matches with all of the patient's own
notes → pieces, sections, templated text, K over the train split. And: generations → identifiers, each with its owner.
And: generations → verdicts of a judge. Every stage leaves evidence tables. Of these alone `estimate_run` makes the one
table of estimates; the gate decides on it, and `publish_run` writes what of it may be read outside.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl

from clinaudit.audit.assembly.analyze_costs import foretell
from clinaudit.audit.assembly.caveats import StageOutcomes
from clinaudit.audit.assembly.estimates import estimate_run
from clinaudit.audit.assembly.inputs import AuditInputs, load_inputs
from clinaudit.audit.assembly.results import describe_results
from clinaudit.audit.assembly.run_record import describe_run, fingerprint, named_patients
from clinaudit.audit.assembly.scored import NOT_ASKED_FOR, ask_control, measure_scored, plan_scores
from clinaudit.audit.assembly.self_test import begin_self_test, self_test_caveats
from clinaudit.audit.measures.cohorts.stage import Targets, find_missing_tiers, match_cohorts
from clinaudit.audit.measures.generation.stage import (
    find_written_tokens,
    generate,
    load_generations,
    make_prompt_writer,
    plan_prompts,
)
from clinaudit.audit.measures.judge.labels import annotate_members, label_patients, revealed_by_judge
from clinaudit.audit.measures.judge.scoring import score_judge
from clinaudit.audit.measures.judge.selection import cache_answers, write_usage
from clinaudit.audit.measures.judge.stage import Ledger, judge_generations, make_inquiries
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.measures.ordinary.tasks import plan_tasks
from clinaudit.audit.measures.population.description import (
    count_sharing,
    describe_patients,
    find_long_notes,
    list_people,
    take_census,
)
from clinaudit.audit.measures.scoring import longest, score_notes
from clinaudit.audit.pii.stage import find_identifiers
from clinaudit.audit.preview.notes_fit import read_all_facts
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.results.publication.evidence_page import write_evidence_page
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner, open_runner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import ENGINE_IDENTITY, OF_SCORES, EngineInUse
from clinaudit.audit.runtime.model.self_test import longest_tested
from clinaudit.audit.runtime.run.directory import RunDirectory, confine_libraries, take_libraries_offline
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.manifest import refuse_purged, remove_manifest
from clinaudit.audit.runtime.run.store import RunStore, open_store
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.audit.statistics.pools import FEWEST_IN_POOL
from clinaudit.priors.facts import PatientFacts, read_facts
from clinaudit.priors.renderings import Role
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.templates.note import NoteReader


class _Audited(NamedTuple):
    """Who is audited: facts and labels of all patients, the targets, and what a judge reads of the cohorts' notes."""

    facts: Mapping[str, PatientFacts]
    labels: pl.DataFrame
    targets: Targets
    #: Of the cohorts' members, and of those whom the site named besides.
    annotations: pl.DataFrame
    #: Patients whom the site named besides, with their diagnoses: asked as targets are, and in no figure.
    included: Mapping[str, Sequence[str]]


def run_audit(settings: AuditSettings) -> RunReport:
    """Audit a model against a corpus, or resume an audit that was stopped; return what is published."""
    progress = Progress(quiet=settings.quiet, form=settings.progress)
    run = RunDirectory(Path(settings.out))
    refuse_purged(run)
    run.refuse_foreign()
    take_libraries_offline(run.work)

    # All inputs are read and checked before any model is loaded.
    with run.removed_on_failure():
        inputs = load_inputs(settings)
    if inputs.model.ignored_files:
        progress.say(f"never opened beside the model's weights: {', '.join(inputs.model.ignored_files)}")
    for reading in inputs.corpus.readings:
        progress.say(f"corpus: {reading}")

    with (
        open_store(run) as store,
        cache_answers(inputs.judge, progress, keep_in=open_answer_cache(run)) as answered,
        _begun(inputs, run, store) as runner,
    ):
        self_test = begin_self_test(inputs, run, store, progress)
        audited = _choose_patients(inputs, run, progress, runner)
        facts, targets = audited.facts, audited.targets

        # Prompts of an adversary, and the model's generations; on a Ray cluster, where one is given (paper 3.1).
        prompts = _plan_prompts(inputs, audited)
        write_table(run.evidence, "priors", prompts)
        controls = inputs.tokenizer.special_ids
        # Of the targets alone: whom the site named besides changes no answer about anybody else.
        written = find_written_tokens(
            targets.probed["patient_id"], inputs.corpus, inputs.tokenizer, progress, control=controls
        )
        inputs = replace(inputs, control_token_ids=controls - written)
        texts = plan_scores(inputs, targets.probed["patient_id"], audited.included)
        foretell(
            len(prompts.filter(~pl.col("excluded"))),
            inputs.corpus,
            settings,
            progress,
            texts=len(texts),
            is_audit=True,
        )
        with closing(EngineInUse(inputs.model, runner, store, self_test=self_test)) as engine:
            # An engine is loaded once, for prompts, everyday tasks and notes; the same, be it tested or not.
            engine.require(max(longest(texts), longest_tested(inputs.model)))
            generate(prompts.filter(model="audited"), inputs.decoding, engine, store, progress)
            scores, not_scored = score_notes(texts, engine, store, progress)
        # One model at a time is loaded.
        of_control = ask_control(
            prompts.filter(model="control"),
            texts,
            inputs,
            store=store,
            runner=runner,
            progress=progress,
        )
        generations = load_generations(prompts, inputs.tokenizer, store)
        write_table(run.evidence, "generations", generations)

        # Memorization: the generated text that stands in the patient's own notes (3.2.1).
        notes = MatchedCorpus(inputs.corpus, inputs.tokenizer, inputs.profile, inputs.sensitive)
        memorization = measure_memorization(
            generations,
            notes,
            match_tokens=settings.ngram,
            seed=settings.seed,
            progress=progress,
            runner=runner,
        )
        scored = measure_scored(
            pl.concat([scores, *of_control]),
            prompts,
            inputs,
            facts=facts,
            notes=notes,
            runner=runner,
            progress=progress,
        )

        # Identifiers that the generations hold, and whose they are.
        identifiers = find_identifiers(
            generations,
            corpus=inputs.corpus,
            profile=inputs.profile,
            seed=settings.seed,
            progress=progress,
            site_rules=inputs.site_rules,
            runner=runner,
        )
        tables = {**memorization, **scored}
        tables |= {"identifiers": identifiers.rows, "planted": identifiers.planted}
        for table, rows in tables.items():
            write_table(run.evidence, table, rows)

        # Disclosure: what the generations say of sensitive diagnoses, train minus nontrain (3.2.2).
        is_judged = _judge(inputs, generations, Ledger(store, runner), run, progress)
        write_usage(answered, run.evidence)

        # What the notes show of the patients: who they are, how long the notes are, whether they were de-identified.
        census = take_census(inputs.corpus, inputs.tokenizer, progress)
        described = chain(facts.values(), read_facts(inputs.corpus, inputs.profile, inputs.corpus.validation).values())
        patients = describe_patients(described, inputs.corpus, census)
        write_table(run.evidence, "patients", patients)
        write_table(run.evidence, "long_notes", find_long_notes(patients, inputs.training_length))
        write_table(run.evidence, "uniqueness", count_sharing(facts, inputs.settings.probed))

        # Every figure, the verdict, and what is published.
        exact = estimate_run(run.evidence, match_tokens=settings.ngram, training_length=inputs.training_length)
        outcomes = StageOutcomes(
            facts=facts,
            labels=audited.labels,
            targets=targets,
            annotations=_of_members(audited),
            identifiers=identifiers.facts,
            is_judged=is_judged,
            not_scored=not_scored if settings.score else NOT_ASKED_FOR,
            self_test=self_test_caveats(inputs, store),
        )
        published = Estimates(publish(exact))
        results = describe_results(inputs, outcomes, published)
        verdict = decide(inputs.policy, Estimates(exact), results, published=published)
        results = results.model_copy(update={"verdict": verdict})
        engines = (store.settings().get(name, {}) for name in (ENGINE_IDENTITY, ENGINE_IDENTITY + OF_SCORES))
        decoded_by, scored_by = engines
        record = describe_run(inputs, prompts=prompts, engine=decoded_by, scored_by=scored_by)
        write_evidence_page(run, inputs.corpus, NoteReader(inputs.profile))
        return publish_run(run, results, exact, record)


@contextmanager
def _begun(inputs: AuditInputs, run: RunDirectory, store: RunStore) -> Iterator[ShardRunner]:
    """Yield the runner of the shards, once the run is bound to its settings and its libraries to its folder."""
    refuse_purged(run)
    store.bind_settings(fingerprint(inputs) | named_patients(inputs))
    confine_libraries(run.work)
    remove_manifest(run)
    with open_runner(inputs.settings.ray_address, inputs.settings.processes) as runner:
        yield runner


def _choose_patients(inputs: AuditInputs, run: RunDirectory, progress: Progress, runner: ShardRunner) -> _Audited:
    """Return who is audited: people, their facts, diagnosis labels, matched cohorts (paper 3.2.2, Appendix D)."""
    write_table(run.evidence, "people", list_people(inputs.corpus))
    facts = read_all_facts(inputs.corpus, inputs.profile, progress, runner)
    annotator = replace(inputs.annotator, runner=runner)
    labels, annotated = label_patients(facts, annotator, progress)
    write_table(run.evidence, "labels", labels)
    missing = find_missing_tiers(
        facts,
        labels=labels,
        panel=inputs.panel,
        probed=inputs.probed,
        writer=make_prompt_writer(inputs.profile, panel=inputs.panel, decoding=inputs.decoding),
        progress=progress,
    )
    targets = match_cohorts(
        facts,
        labels=labels,
        panel=inputs.panel,
        choice=inputs.cohort_choice,
        missing=missing,
        progress=progress,
    )
    write_table(run.evidence, "cohorts", targets.cohorts)
    write_table(run.evidence, "candidates", targets.candidates)
    included = choose_included(inputs, set(targets.probed["patient_id"]))
    annotations = annotate_members(
        {*targets.cohorts["patient_id"], *included},
        facts=facts,
        labels=labels,
        annotated=annotated,
        annotator=annotator,
        progress=progress,
    )
    write_table(run.evidence, "annotations", annotations)
    return _Audited(facts, labels, targets, annotations, included)


def _of_members(audited: _Audited) -> pl.DataFrame:
    """Return the annotations of the cohorts' members: those of whom the site named besides enter nothing published."""
    return audited.annotations.filter(pl.col("patient_id").is_in(audited.targets.cohorts["patient_id"].implode()))


def _plan_prompts(inputs: AuditInputs, audited: _Audited) -> pl.DataFrame:
    """Return the prompts about the targets, and about the patients whom the site named besides (paper 3.1)."""
    asked: tuple[tuple[Role, Mapping[str, Sequence[str]], pl.DataFrame], ...] = (
        ("target", dict(audited.targets.probed.iter_rows()), _of_members(audited)),
        ("included", audited.included, audited.annotations),
    )
    about_patients = [
        plan_prompts(
            diagnoses,
            role=role,
            facts=audited.facts,
            probed=inputs.probed,
            writer=make_prompt_writer(
                inputs.profile,
                panel=inputs.panel,
                decoding=inputs.decoding,
                revealed=revealed_by_judge(inputs.judge, known),
            ),
        )
        for role, diagnoses, known in asked
    ]
    return pl.concat([*about_patients, *_plan_everyday(inputs)])


def _plan_everyday(inputs: AuditInputs) -> Iterator[pl.DataFrame]:
    """Yield the prompts of everyday tasks, where they are asked.

    The control model is asked them where too few patients were never seen for a pool that tells what chance gives.
    """
    if inputs.tasks is not None:
        never_seen = len(inputs.corpus.patient_ids("nontrain"))
        asks_control = inputs.probed.asks_control and never_seen < FEWEST_IN_POOL
        yield plan_tasks(inputs.tasks, inputs.decoding, asks_control=asks_control)


def choose_included(inputs: AuditInputs, targets: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the patients whom the site named and who are no targets anyway, each with every audited diagnosis.

    They are asked what a target is asked, and are in no figure: whoever is named for a reason (a request for deletion,
    a complaint) must be in no number by which that could be noticed.
    """
    named = inputs.included
    every = tuple(diagnosis.id for diagnosis in inputs.panel)
    ids = [] if named is None else sorted(patient_id for patient_id in named.ids if patient_id not in targets)
    return dict.fromkeys(ids, every)


def _judge(
    inputs: AuditInputs, generations: pl.DataFrame, ledger: Ledger, run: RunDirectory, progress: Progress
) -> bool:
    """Write what the judge reads in labelled texts and in the generations; return whether it was asked (3.2.2)."""
    inquiries = make_inquiries(generations)
    is_judged = not inquiries["refused"].all()
    scored = score_judge(inputs.judge, inputs.labelled, inputs.sensitive, ledger, progress) if is_judged else None
    write_table(run.evidence, "scored_texts", [] if scored is None else scored)
    judged = judge_generations(inputs.judge, inquiries, inputs.panel, ledger, progress)
    write_table(run.evidence, "judgements", judged)
    return is_judged
