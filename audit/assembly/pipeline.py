"""`audit` and `analyze`, stage by stage. Read this first: it is the whole program in order, and nothing else.

The way of a note: corpus → facts and diagnosis labels → matched cohorts, whose members are the targets → priors,
scrubbed for each diagnosis → (the model continues them) → generations → n-gram matches with all of the patient's own
notes → pieces, sections, templated text, K over the train split. And: generations → identifiers, each with its owner.
And: generations → verdicts of a judge. Every stage leaves evidence tables. Of these alone `estimate_run` makes the one
table of estimates; the gate decides on it, and `publish_run` writes what of it may be read outside. `analyze` begins
with generations that were made elsewhere, and goes the same way from there (`_measure_generations`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from clinaudit.audit.assembly.caveats import find_fit_caveats
from clinaudit.audit.assembly.costs import count_asked, foretell
from clinaudit.audit.assembly.estimates import estimate_run
from clinaudit.audit.assembly.inputs import AuditInputs, load_inputs
from clinaudit.audit.assembly.results import describe_results, list_attacks
from clinaudit.audit.assembly.run_record import (
    describe_run,
    fingerprint,
    hidden_digest,
    named_patients,
    rules_digest,
)
from clinaudit.audit.assembly.scored import NOT_ASKED_FOR, ask_models, measure_scored, plan_scores
from clinaudit.audit.assembly.self_test import begin_self_test, self_test_caveats
from clinaudit.audit.measures.cohorts.stage import Targets, find_missing_tiers, match_cohorts
from clinaudit.audit.measures.generation.given_generations import read_given_generations, tokenize_generations
from clinaudit.audit.measures.generation.stage import (
    find_written_tokens,
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
    tabulate_facts,
    take_census,
)
from clinaudit.audit.pii.detectors.site_rules import read_site_rules
from clinaudit.audit.pii.stage import Search, find_identifiers
from clinaudit.audit.preview.notes_fit import read_all_facts, read_facts_in_shards
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.results.publication.evidence_page import write_evidence_page
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner, open_runner
from clinaudit.audit.runtime.cluster.ray_security import require_secure_settings
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import ENGINE_IDENTITY, OF_SCORES
from clinaudit.audit.runtime.model.files import digest_tokenizer
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import (
    RunDirectory,
    confine_libraries,
    library_versions,
    scratch_directory,
    take_libraries_offline,
)
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.manifest import refuse_purged, remove_manifest
from clinaudit.audit.runtime.run.store import RunStore, open_store
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.audit.runtime.settings import AnalyzeSettings, AuditSettings, ReadingOptions
from clinaudit.audit.statistics.pools import FEWEST_IN_POOL
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.facts import PatientFacts, identity_reader, read_facts
from clinaudit.priors.renderings import Role
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.run_results import IdentifierFacts, RunReport, RunResults, Settings
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile
from clinaudit.version import VERSION


class _Audited(NamedTuple):
    """Who is audited: facts and labels of all patients, the targets, and what a judge reads of the cohorts' notes."""

    facts: Mapping[str, PatientFacts]
    #: Columns of `tabulate_facts`.
    patients: pl.DataFrame
    labels: pl.DataFrame
    targets: Targets
    #: Of the cohorts' members, and of those whom the site named besides.
    annotations: pl.DataFrame
    #: Patients whom the site named besides, with their diagnoses: asked as targets are, and in no figure.
    included: Mapping[str, Sequence[str]]


def run_audit(settings: AuditSettings) -> RunReport:
    """Audit a model against a corpus, or resume an audit that was stopped; return what is published."""
    progress = Progress(quiet=settings.quiet, form=settings.progress)
    run = _find_place(settings.out)
    # All inputs are read and checked before any model is loaded.
    with run.removed_on_failure():
        inputs = load_inputs(settings)
    if inputs.model.ignored_files:
        progress.say(f"never opened beside the model's weights: {', '.join(inputs.model.ignored_files)}")
    bound = fingerprint(inputs) | named_patients(inputs)
    with (
        _begun(run, bound, settings, inputs.corpus, progress) as (store, runner),
        cache_answers(inputs.judge, progress, keep_in=open_answer_cache(run)) as answered,
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
        asked = count_asked(prompts, texts, store.generations(), has_control=inputs.control is not None)
        foretell(len(prompts.filter(~pl.col("excluded"))), inputs.corpus, settings, progress, asked=asked)
        scores, not_scored = ask_models(
            prompts,
            texts,
            inputs,
            self_test=self_test,
            store=store,
            runner=runner,
            progress=progress,
        )
        generations = load_generations(prompts, inputs.tokenizer, store)
        write_table(run.evidence, "generations", generations)

        # What the models' scores of the notes show: queries needed, membership.
        notes = MatchedCorpus(inputs.corpus, inputs.tokenizer, inputs.profile, inputs.sensitive)
        scored = measure_scored(
            scores,
            prompts,
            inputs,
            facts=facts,
            notes=notes,
            runner=runner,
            progress=progress,
        )
        for table, rows in scored.items():
            write_table(run.evidence, table, rows)

        # Disclosure: what the generations say of sensitive diagnoses, train minus nontrain (3.2.2).
        is_judged = _judge(inputs, generations, Ledger(store, runner), run, progress)
        write_usage(answered, run.evidence)

        # What the notes show of the patients: who they are, how long the notes are, whether they were de-identified.
        census = take_census(inputs.corpus, inputs.tokenizer, progress)
        validation = read_facts(inputs.corpus, inputs.profile, inputs.corpus.validation)
        everybody = pl.concat([audited.patients, tabulate_facts(validation.values(), inputs.corpus)])
        patients = describe_patients(everybody, census, validation=validation)
        write_table(run.evidence, "patients", patients)
        write_table(run.evidence, "long_notes", find_long_notes(patients, inputs.training_length))
        write_table(run.evidence, "uniqueness", count_sharing(facts, inputs.settings.probed))

        # What the generations repeat and name; every figure, the verdict, and what is published.
        exact, identifiers = _measure_generations(
            generations,
            notes,
            settings=settings,
            search=Search(inputs.site_rules, runner),
            training_length=inputs.training_length,
            run=run,
            progress=progress,
        )
        published = publish(exact)
        results = describe_results(
            inputs,
            Estimates(published),
            {
                "labels": audited.labels,
                "annotations": _of_members(audited),
                "cohorts": targets.cohorts,
                "outcomes": targets.outcomes,
            },
            identifiers=identifiers,
            is_judged=is_judged,
            not_scored=not_scored if settings.score else NOT_ASKED_FOR,
            caveats=[*self_test_caveats(inputs, store), *find_fit_caveats(facts.values(), inputs.profile)],
        )
        verdict = decide(inputs.policy, Estimates(exact), results, published=Estimates(published))
        results = results.model_copy(update={"verdict": verdict})
        engines = (store.settings().get(name, {}) for name in (ENGINE_IDENTITY, ENGINE_IDENTITY + OF_SCORES))
        decoded_by, scored_by = engines
        record = describe_run(inputs, prompts=prompts, engine=decoded_by, scored_by=scored_by)
        write_evidence_page(run, inputs.corpus, NoteReader(inputs.profile))
        return publish_run(run, results, exact, published, record)


def analyze_file(settings: AnalyzeSettings) -> RunReport:
    """Analyse a file of generations made elsewhere against a corpus; return what is published. Loads no model."""
    progress = Progress(quiet=settings.quiet, form=settings.progress)
    run = _find_place(settings.out)
    require_secure_settings(settings.ray_address)
    with run.removed_on_failure():
        if not settings.tokenizer.is_dir():
            raise BadInputError("no such tokenizer directory; give the audited model's directory to --tokenizer")
        profile = load_profile(settings.template)
        site_rules = read_site_rules(settings.identifier_rules) if settings.identifier_rules else None
        corpus = read_corpus(settings.corpus, scratch=scratch_directory(run), stated=identity_reader(profile))
        rows = read_given_generations(settings.generations, known_patients=corpus.ids, tiers=TIER_IDS)
        tokenizer = ModelTokenizer(settings.tokenizer)
        generations = tokenize_generations(rows, corpus, tokenizer, name=printable(settings.generations.name))
    bound: dict[str, object] = {
        "clinaudit": VERSION,
        "command": "analyze",
        "GENERATIONS": hidden_digest(corpus, sha256_of(settings.generations).encode("ascii")),
        "CORPUS": corpus.digest,
        "--tokenizer": digest_tokenizer(settings.tokenizer),
        "--template": profile.digest,
        "--ngram": settings.ngram,
        "--seed": settings.seed,
    }
    with _begun(run, bound, settings, corpus, progress) as (_, runner):
        foretell(len(generations), corpus, settings, progress)
        known = read_facts_in_shards(corpus, profile, sorted(set(generations["patient_id"])), progress, runner)
        write_table(run.evidence, "patients", describe_patients(tabulate_facts(known, corpus)))
        exact, identifiers = _measure_generations(
            generations,
            MatchedCorpus(corpus, tokenizer, profile),
            settings=settings,
            search=Search(site_rules, runner),
            training_length=None,
            run=run,
            progress=progress,
        )
        published = publish(exact)
        shown = Estimates(published)
        results = RunResults(
            settings=Settings(
                match_tokens=settings.ngram,
                tiers=shown.values_of("tier", "memorized_fraction"),
                forms=shown.values_of("form", "memorized_fraction"),
                seed=settings.seed,
            ),
            identifiers=identifiers,
            attacks=list_attacks(shown, release=None),
            warnings=[
                "Only memorization of the generations given and their identifiers were analysed: no prompt was made "
                "here, no diagnosis was judged, and no policy was applied."
            ],
        )
        bound["--identifier-rules"] = rules_digest(corpus, site_rules)
        record = {"clinaudit": bound.pop("clinaudit"), "settings": bound, "libraries": library_versions()}
        return publish_run(run, results, exact, published, record)


def _measure_generations(
    generations: pl.DataFrame,
    notes: MatchedCorpus,
    *,
    settings: ReadingOptions,
    search: Search,
    training_length: int | None,
    run: RunDirectory,
    progress: Progress,
) -> tuple[pl.DataFrame, IdentifierFacts]:
    """Return the exact table of estimates of generations, made here or given, and how identifiers were looked for.

    Leaves the tables of memorization and identifiers; what a command measures besides is in the evidence already.
    """
    # Memorization: the generated text that stands in the patient's own notes (3.2.1).
    tables = measure_memorization(
        generations,
        notes,
        match_tokens=settings.ngram,
        seed=settings.seed,
        progress=progress,
        runner=search.runner,
    )
    # Identifiers that the generations hold, and whose they are.
    identifiers = find_identifiers(
        generations,
        corpus=notes.corpus,
        profile=notes.profile,
        seed=settings.seed,
        progress=progress,
        search=search,
    )
    tables |= {"identifiers": identifiers.rows, "planted": identifiers.planted}
    with progress.stage("writing tables", total=len(tables), unit="tables") as advance:
        for table, rows in tables.items():
            write_table(run.evidence, table, rows)
            advance(1)
    exact = estimate_run(run.evidence, match_tokens=settings.ngram, training_length=training_length)
    return exact, identifiers.facts


def _find_place(out: Path) -> RunDirectory:
    """Return the directory of a new or a stopped run, and keep libraries off the network."""
    run = RunDirectory(out)
    refuse_purged(run)
    run.refuse_foreign()
    take_libraries_offline(run.work)
    return run


@contextmanager
def _begun(
    run: RunDirectory, bound: Mapping[str, object], settings: ReadingOptions, corpus: Corpus, progress: Progress
) -> Iterator[tuple[RunStore, ShardRunner]]:
    """Yield a run's store and the runner of its shards, once it is bound to what its results depend on."""
    with open_store(run) as store:
        store.bind_settings(bound)
        confine_libraries(run.work)
        remove_manifest(run)
        for reading in corpus.readings:
            progress.say(f"corpus: {reading}")
        write_table(run.evidence, "people", list_people(corpus))
        with open_runner(settings.ray_address, settings.processes) as runner:
            yield store, runner


def _choose_patients(inputs: AuditInputs, run: RunDirectory, progress: Progress, runner: ShardRunner) -> _Audited:
    """Return who is audited: facts, diagnosis labels, matched cohorts (paper 3.2.2, Appendix D)."""
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
    patients = tabulate_facts(facts.values(), inputs.corpus)
    targets = match_cohorts(
        patients,
        labels=labels,
        panel=inputs.panel,
        settings=inputs.settings,
        has_control=inputs.probed.asks_control,
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
    return _Audited(facts, patients, labels, targets, annotations, included)


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
