"""The audit, stage by stage. Read this first: it is the whole program in order, and nothing else.

The way of a note: corpus → facts and diagnosis labels → matched cohorts, whose members are the targets → priors,
scrubbed for each diagnosis → (the model continues them) → generations → n-gram matches with all of the patient's own
notes → pieces, sections, templated text, K over the train split. And: generations → identifiers, each with its owner.
And: generations → verdicts of a judge. Every stage leaves evidence tables. Of these alone `estimate_run` makes the one
table of estimates; the gate decides on it, and `publish_run` writes what of it may be read outside.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl

from clinaudit.audit.assembly.analyze_costs import foretell
from clinaudit.audit.assembly.caveats import StageOutcomes
from clinaudit.audit.assembly.estimates import estimate_run
from clinaudit.audit.assembly.everyday import measure_everyday, plan_everyday, plan_for_control
from clinaudit.audit.assembly.inputs import AuditInputs, load_inputs
from clinaudit.audit.assembly.results import describe_results
from clinaudit.audit.assembly.run_record import describe_run, fingerprint, named_patients
from clinaudit.audit.assembly.scored import NOT_ASKED_FOR, ask_control, measure_scored, plan_scores
from clinaudit.audit.assembly.self_test import begin_self_test, self_test_caveats
from clinaudit.audit.measures.cohorts.cohort import candidate_rows, cohort_rows
from clinaudit.audit.measures.cohorts.stage import Targets, find_missing_tiers, list_candidates, match_cohorts
from clinaudit.audit.measures.generation.record import as_records
from clinaudit.audit.measures.generation.stage import (
    find_written_tokens,
    generate,
    load_generations,
    make_prompt_writer,
    plan_prompts,
)
from clinaudit.audit.measures.judge.annotation import Annotation, annotation_rows
from clinaudit.audit.measures.judge.labels import (
    Labels,
    annotate_members,
    label_patients,
    label_rows,
    revealed_by_judge,
)
from clinaudit.audit.measures.judge.scoring import ScoredJudge, score_judge
from clinaudit.audit.measures.judge.selection import cache_answers
from clinaudit.audit.measures.judge.stage import (
    RunLedger,
    ask_judge,
    judgement_rows,
    leave_refusals_unjudged,
    make_inquiries,
)
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.measures.ordinary.asking import answer_questions, tokens_needed
from clinaudit.audit.measures.population.description import (
    long_note_rows,
    patient_rows,
    people_rows,
    take_census,
    uniqueness_rows,
)
from clinaudit.audit.measures.scoring import longest, score_notes
from clinaudit.audit.pii.stage import Search, find_identifiers, site_detector
from clinaudit.audit.preview.notes_fit import read_all_facts
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.results.publication.evidence_page import write_evidence_page
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner, open_runner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import ENGINE_IDENTITY, OF_SCORES, EngineInUse
from clinaudit.audit.runtime.model.self_test import longest_tested
from clinaudit.audit.runtime.run.directory import RunDirectory, confine_libraries, take_libraries_offline
from clinaudit.audit.runtime.run.evidence_tables import Row, write_table
from clinaudit.audit.runtime.run.manifest import refuse_purged, remove_manifest
from clinaudit.audit.runtime.run.store import RunStore, open_store
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.facts import PatientFacts, read_facts
from clinaudit.priors.renderings import Role
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.templates.note import NoteReader


class _Audited(NamedTuple):
    """Who is audited: facts and labels of all patients, the targets, and what a judge reads of the cohorts' notes."""

    facts: Mapping[str, PatientFacts]
    labels: Labels
    targets: Targets
    annotations: Mapping[str, Sequence[Annotation]]
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
        cache_answers(inputs.judge, progress, keep_in=open_answer_cache(run)) as judge_usage,
        _begun(inputs, run, store) as runner,
    ):
        self_test = begin_self_test(inputs, run, store, progress)
        audited = _choose_patients(inputs, run, progress, runner)
        facts, targets = audited.facts, audited.targets

        # Prompts of an adversary, and the model's generations; on a Ray cluster, where one is given (paper 3.1).
        prompts = _plan_prompts(inputs, audited)
        write_table(run.evidence, "priors", prompts)
        asked = [*targets.diagnoses, *audited.included]
        controls = inputs.tokenizer.special_ids
        written = find_written_tokens(asked, inputs.corpus, inputs.tokenizer, progress, control=controls)
        inputs = replace(inputs, control_token_ids=controls - written)
        foretell(len(prompts), inputs.corpus, settings, progress)
        everyday = plan_everyday(inputs)
        everyday_of_control = plan_for_control(everyday, inputs)
        texts = plan_scores(inputs, targets.diagnoses, audited.included)
        with closing(EngineInUse(inputs.model, runner, store, self_test=self_test)) as engine:
            # An engine is loaded once, for prompts, everyday tasks and notes; the same, be it tested or not.
            engine.require(max(tokens_needed(everyday), longest(texts), longest_tested(inputs.model)))
            generate(prompts.filter(model="audited"), inputs.decoding, engine, store, progress)
            answer_questions(everyday, engine, inputs.decoding, store, progress)
            scores, not_scored = score_notes(texts, engine, store, progress)
        # One model at a time is loaded.
        of_control = ask_control(
            prompts.filter(model="control"),
            everyday_of_control,
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
        search = Search(inputs.site_rules, runner)
        search = replace(search, detector=site_detector(inputs.corpus, inputs.profile, search, progress))
        answers = measure_everyday(everyday, inputs, notes, store=store, search=search, progress=progress)
        by_control: list[Row] = []
        if everyday_of_control:
            by_control = measure_everyday(
                everyday_of_control, inputs, notes, store=store, search=search, progress=progress
            )
        identifiers = find_identifiers(
            generations,
            corpus=inputs.corpus,
            profile=inputs.profile,
            seed=settings.seed,
            progress=progress,
            search=search,
        )
        tables: dict[str, Iterable[Row] | pl.DataFrame] = {**memorization, **scored}
        tables |= {"identifiers": identifiers.rows, "planted": identifiers.planted}
        tables |= {"ordinary": answers, "ordinary_control": by_control}
        for table, rows in tables.items():
            write_table(run.evidence, table, rows)

        # Disclosure: what the generations say of sensitive diagnoses, train minus nontrain (3.2.2).
        judge_quality = _judge(inputs, generations, RunLedger(store, runner), run, progress)
        judge_usage.write_usage(run.evidence)

        # What the notes show of the patients: who they are, how long the notes are, whether they were de-identified.
        census = take_census(inputs.corpus, inputs.tokenizer, progress)
        write_table(run.evidence, "long_notes", long_note_rows(census, inputs.corpus, inputs.training_length))
        described = chain(facts.values(), read_facts(inputs.corpus, inputs.profile, inputs.corpus.validation).values())
        write_table(run.evidence, "patients", patient_rows(described, inputs.corpus, census))
        write_table(run.evidence, "uniqueness", uniqueness_rows(facts, inputs.settings.probed))

        # Every figure, the verdict, and what is published.
        exact = estimate_run(run.evidence, match_tokens=settings.ngram, training_length=inputs.training_length)
        outcomes = StageOutcomes(
            facts=facts,
            labels=audited.labels,
            targets=targets,
            annotations=audited.annotations,
            identifiers=identifiers.facts,
            judge_quality=judge_quality,
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
    with open_runner(inputs.settings.ray_address, run.work, inputs.settings.processes) as runner:
        yield runner


def _choose_patients(inputs: AuditInputs, run: RunDirectory, progress: Progress, runner: ShardRunner) -> _Audited:
    """Return who is audited: people, their facts, diagnosis labels, matched cohorts (paper 3.2.2, Appendix D)."""
    write_table(run.evidence, "people", people_rows(inputs.corpus))
    facts = read_all_facts(inputs.corpus, inputs.profile, progress, runner)
    annotator = replace(inputs.annotator, runner=runner)
    labels = label_patients(facts, annotator, progress)
    write_table(run.evidence, "labels", label_rows(labels, facts, inputs.sensitive))
    missing_tiers = find_missing_tiers(
        facts,
        status=labels.status,
        panel=inputs.panel,
        probed=inputs.probed,
        writer=make_prompt_writer(inputs.profile, panel=inputs.panel, decoding=inputs.decoding),
        progress=progress,
    )
    targets = match_cohorts(
        facts,
        status=labels.status,
        panel=inputs.panel,
        choice=inputs.cohort_choice,
        missing_tiers=missing_tiers,
        progress=progress,
    )
    write_table(run.evidence, "cohorts", cohort_rows(targets.cohorts))
    candidates = list_candidates(facts, labels.status)
    controls = inputs.settings.controls
    write_table(run.evidence, "candidates", candidate_rows(candidates, targets.cohorts, controls))
    included = choose_included(inputs, targets.diagnoses)
    members = [*targets.members, *included]
    annotations = annotate_members(members, facts=facts, labels=labels, annotator=annotator, progress=progress)
    write_table(run.evidence, "annotations", annotation_rows(annotations))
    return _Audited(facts, labels, targets, annotations, included)


def _plan_prompts(inputs: AuditInputs, audited: _Audited) -> pl.DataFrame:
    """Return the prompts about the targets, and about the patients whom the site named besides (paper 3.1)."""
    of_targets = {key: audited.annotations[key] for key in audited.targets.members}
    asked: tuple[tuple[Role, Mapping[str, Sequence[str]], Mapping[str, Sequence[Annotation]]], ...] = (
        ("target", audited.targets.diagnoses, of_targets),
        ("included", audited.included, audited.annotations),
    )
    return pl.concat(
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
    )


def choose_included(inputs: AuditInputs, targets: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the patients whom the site named and who are no targets anyway, each with every audited diagnosis.

    They are asked what a target is asked, and are in no figure: whoever is named for a reason (a request for deletion,
    a complaint) must be in no number by which that could be noticed.
    """
    named = inputs.included
    every = tuple(diagnosis.id for diagnosis in inputs.panel)
    ids = [] if named is None else sorted(patient_id for patient_id in named.ids if patient_id not in targets)
    return dict.fromkeys(ids, every)


def _judge(
    inputs: AuditInputs, generated: pl.DataFrame, ledger: RunLedger, run: RunDirectory, progress: Progress
) -> ScoredJudge | None:
    """Write what the judge reads in the generations; return how it reads labelled texts (paper 3.2.2, Appendix G)."""
    generations = as_records(generated, inputs.tokenizer)
    inquiries = make_inquiries(generations, inputs.panel)
    scored = score_judge(inputs.judge, inputs.labelled, ledger, progress) if inquiries else None
    write_table(run.evidence, "scored_texts", [] if scored is None else scored.rows)
    judgements = ask_judge(inputs.judge, inquiries, ledger, progress)
    judgements = leave_refusals_unjudged(judgements, generations, inputs.judge)
    write_table(run.evidence, "judgements", judgement_rows(generations, judgements))
    return scored
