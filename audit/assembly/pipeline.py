"""`audit` and `analyze`, stage by stage. Read this first: it is the whole program in order, and nothing else.

The way of a note: corpus → facts and diagnosis labels → matched cohorts, whose members are the targets → priors,
scrubbed for each diagnosis → (the model continues them) → generations → n-gram matches with all of the patient's own
notes → pieces, sections, templated text, K over the train split; near-verbatim text; text of one other patient. And:
generations → identifiers, each with its owner. And: generations → verdicts of a judge. And: notes → the models' scores
of their tokens → queries needed, membership. Every stage leaves evidence tables. Of these alone `estimate_run` makes
the one table of estimates; the gate decides on it, and `publish_run` writes what of it may be read outside.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import polars as pl

from clinaudit.audit.assembly import results as described
from clinaudit.audit.assembly import scored
from clinaudit.audit.assembly.begun_run import BegunRun, begin_run, find_place
from clinaudit.audit.assembly.costs import count_asked, foretell
from clinaudit.audit.assembly.estimates import estimate_run
from clinaudit.audit.assembly.inputs import AuditInputs, load_inputs, read_unchanged
from clinaudit.audit.measures import population
from clinaudit.audit.measures.cohorts.cohort import Targets, find_missing_tiers, match_cohorts
from clinaudit.audit.measures.everyday.tasks import plan_tasks
from clinaudit.audit.measures.generation import stage as generation
from clinaudit.audit.measures.generation.answers import find_changed
from clinaudit.audit.measures.generation.given_generations import read_given_generations, tokenize_generations
from clinaudit.audit.measures.judge.labels import Annotator, annotate_members, label_patients, revealed_by_judge
from clinaudit.audit.measures.judge.stage import (
    Ledger,
    cache_answers,
    judge_generations,
    make_inquiries,
    score_judge,
    write_usage,
)
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.pii.detectors.site_rules import SiteRules, read_site_rules
from clinaudit.audit.pii.stage import find_identifiers
from clinaudit.audit.preview.fit import read_all_facts, read_facts_in_shards
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.results.publication.evidence_page import write_evidence_page
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.cluster import require_secure_settings
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer, digest_tokenizer
from clinaudit.audit.runtime.run.directory import library_versions, scratch_directory
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.audit.runtime.settings import AnalyzeSettings, AuditSettings, ReadingOptions
from clinaudit.audit.statistics.estimates import FEWEST_IN_POOL, SPLITS, pool_size
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.facts import PatientFacts, identity_reader, read_facts
from clinaudit.priors.tiers import TIER_IDS, Role
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.run_results import IdentifierFacts, RunReport, RunResults, Settings
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile


class _Audited(NamedTuple):
    """Who is audited: facts and labels of all patients, who is asked, and what a judge reads of the cohorts' notes."""

    facts: Mapping[str, PatientFacts]
    #: Columns of `population.tabulate_facts`.
    patients: pl.DataFrame
    labels: pl.DataFrame
    targets: Targets
    #: The targets, and the patients whom the site named besides: patient_id, role, diagnoses.
    asked: pl.DataFrame
    #: Of the cohorts' members, and of those whom the site named besides.
    annotations: pl.DataFrame


def run_audit(settings: AuditSettings) -> RunReport:
    """Audit a model against a corpus, or resume an audit that was stopped; return what is published."""
    progress = Progress(quiet=settings.quiet, form=settings.progress)
    directory = find_place(settings.out)
    # All inputs are read and checked before any model is loaded.
    with directory.removed_on_failure():
        inputs = load_inputs(settings)
    if inputs.model.files is not None and inputs.model.files.ignored:
        progress.say(f"never opened beside the model's weights: {', '.join(inputs.model.files.ignored)}")
    # A resumed run must name the same patients, and nothing else tells it.
    bound = described.fingerprint(inputs) | {"--include-patients": inputs.digests.get("--include-patients")}
    with (
        begin_run(directory, bound, settings, inputs.corpus, progress) as run,
        cache_answers(inputs.judge, progress, keep_in=open_answer_cache(directory)) as answered,
    ):
        self_test = scored.begin_self_test(inputs, run)
        audited = _choose_patients(inputs, run)
        facts = audited.facts

        # Prompts of an adversary, and the models' answers; on a Ray cluster, where one is given (paper 3.1).
        prompts = _plan_prompts(inputs, audited)
        run.write({"priors": prompts})
        # Of the targets alone: whom the site named besides bars no token of anybody else's answers, and frees none.
        special = inputs.tokenizer.special_ids
        target_ids = audited.targets.patients["patient_id"]
        written = generation.find_written_tokens(target_ids, inputs.corpus, inputs.tokenizer, progress, control=special)
        inputs = replace(inputs, control_token_ids=special - written)
        texts = scored.plan_scores(audited.asked, inputs)
        asked = count_asked(prompts, texts, run.store.generations(), has_control=inputs.control is not None)
        foretell(len(prompts.filter(~pl.col("excluded"))), inputs.corpus, settings, progress, asked=asked)
        scores, not_scored = scored.ask_models(prompts, texts, inputs, run, self_test=self_test)
        generations = generation.load_generations(prompts, inputs.tokenizer, run.store)
        run.write({"generations": generations})
        changed = find_changed(generations, inputs.corpus) if inputs.model.files is None else []

        # What the models' scores of the notes show: queries needed, membership.
        notes = MatchedCorpus(inputs.corpus, inputs.tokenizer, inputs.profile, inputs.sensitive)
        run.write(scored.measure_scored(scores, prompts, inputs, run, facts=facts, notes=notes))

        # Disclosure: what the generations say of sensitive diagnoses, train minus nontrain (3.2.2).
        is_judged = _judge(inputs, generations, run)
        write_usage(answered, directory.evidence)

        # What the notes show of the patients: who they are, how long the notes are, whether they were de-identified.
        census = population.take_census(inputs.corpus, inputs.tokenizer, progress)
        validation = read_facts(inputs.corpus, inputs.profile, inputs.corpus.validation)
        everybody = pl.concat([audited.patients, population.tabulate_facts(validation.values(), inputs.corpus)])
        patients = population.describe_patients(everybody, census, validation=validation)
        run.write(
            {
                "patients": patients,
                "long_notes": population.find_long_notes(patients, inputs.training_length),
                "uniqueness": population.count_sharing(facts, settings.probed),
            }
        )

        # What the generations repeat and name; every figure, the verdict, and what is published.
        identifiers = _measure_generations(generations, notes, run, settings, inputs.site_rules)
        del generations
        exact = estimate_run(directory.evidence, match_tokens=settings.ngram, training_length=inputs.training_length)
        published = publish(exact)
        results = described.describe_results(
            inputs,
            Estimates(published),
            {
                "labels": audited.labels,
                "annotations": _of_members(audited),
                "cohorts": audited.targets.cohorts,
                "outcomes": audited.targets.outcomes,
            },
            identifiers=identifiers,
            is_judged=is_judged,
            not_scored=not_scored if settings.score else scored.NOT_ASKED_FOR,
            caveats=[
                *scored.self_test_caveats(inputs, run.store),
                *changed,
                *described.find_fit_caveats(facts.values(), inputs.profile),
            ],
        )
        results = results.model_copy(update={"doubts": scored.self_test_doubts(run.store)})
        verdict = decide(inputs.policy, Estimates(exact), results, published=Estimates(published))
        results = results.model_copy(update={"verdict": verdict})
        record = described.describe_run(inputs, prompts=prompts, bound=run.store.settings())
        write_evidence_page(directory, inputs.corpus, NoteReader(inputs.profile), match_tokens=settings.ngram)
        return publish_run(directory, results, exact, published, record)


def analyze_file(settings: AnalyzeSettings) -> RunReport:
    """Analyse a file of generations made elsewhere against a corpus; return what is published. Loads no model."""
    progress = Progress(quiet=settings.quiet, form=settings.progress)
    directory = find_place(settings.out)
    require_secure_settings(settings.ray_address)
    with directory.removed_on_failure():
        if not settings.tokenizer.is_dir():
            raise BadInputError("no such tokenizer directory; give the audited model's directory to --tokenizer")
        profile = load_profile(settings.template)
        site_rules = read_site_rules(settings.identifier_rules) if settings.identifier_rules else None
        corpus = read_corpus(settings.corpus, scratch=scratch_directory(directory), stated=identity_reader(profile))
        tokenizer = ModelTokenizer(settings.tokenizer)

        def tokenize(path: Path) -> pl.DataFrame:
            rows = read_given_generations(path, known_patients=corpus.ids, tiers=TIER_IDS)
            return tokenize_generations(rows, corpus, tokenizer, name=printable(path.name))

        generations, digest = read_unchanged(settings.generations, tokenize)
    bound: dict[str, object] = {
        "clinaudit": version("clinaudit"),
        "command": "analyze",
        "GENERATIONS": described.hidden_digest(corpus, digest.encode("ascii")),
        "CORPUS": corpus.digest,
        "--tokenizer": digest_tokenizer(settings.tokenizer),
        "--template": profile.digest,
        "--ngram": settings.ngram,
        "--seed": settings.seed,
    }
    with begin_run(directory, bound, settings, corpus, progress) as run:
        foretell(len(generations), corpus, settings, progress)
        known = read_facts_in_shards(corpus, profile, sorted(set(generations["patient_id"])), progress, run.runner)
        run.write({"patients": population.describe_patients(population.tabulate_facts(known, corpus))})
        notes = MatchedCorpus(corpus, tokenizer, profile)
        changed = find_changed(generations, corpus)
        identifiers = _measure_generations(generations, notes, run, settings, site_rules)
        # A third of all memory; what is estimated stands in the evidence.
        del generations
        exact = estimate_run(directory.evidence, match_tokens=settings.ngram)
        published = publish(exact)
        shown = Estimates(published)
        results = RunResults(
            settings=Settings(
                match_tokens=settings.ngram,
                tiers=shown.values_of("tier", "memorized_fraction"),
                forms=shown.values_of("form", "memorized_fraction"),
                given=True,
                seed=settings.seed,
            ),
            identifiers=identifiers,
            attacks=described.list_attacks(shown, release=None),
            warnings=[
                *changed,
                "Only memorization of the generations given and their identifiers were analysed: no prompt was made "
                "here, no diagnosis was judged, and no policy was applied.",
            ],
        )
        bound["--identifier-rules"] = described.rules_digest(corpus, site_rules)
        record = {"clinaudit": bound.pop("clinaudit"), "settings": bound, "libraries": library_versions()}
        return publish_run(directory, results, exact, published, record)


def _measure_generations(
    generations: pl.DataFrame, notes: MatchedCorpus, run: BegunRun, settings: ReadingOptions, rules: SiteRules | None
) -> IdentifierFacts:
    """Write the tables of memorization and identifiers of generations, made here or given; say how it was looked."""
    # Memorization: the generated text that stands in the patient's own notes (3.2.1).
    run.write(
        measure_memorization(
            generations,
            notes,
            match_tokens=settings.ngram,
            seed=settings.seed,
            progress=run.progress,
            runner=run.runner,
        )
    )
    # Identifiers that the generations hold, and whose they are.
    tables, facts = find_identifiers(
        generations,
        corpus=notes.corpus,
        profile=notes.profile,
        seed=settings.seed,
        progress=run.progress,
        site_rules=rules,
        runner=run.runner,
    )
    run.write(tables)
    return facts


def _choose_patients(inputs: AuditInputs, run: BegunRun) -> _Audited:
    """Return who is audited: facts, diagnosis labels, matched cohorts (paper 3.2.2, Appendix D)."""
    facts = read_all_facts(inputs.corpus, inputs.profile, run.progress, run.runner)
    annotator = Annotator(inputs.judge, inputs.sensitive, inputs.corpus, run.runner)
    labels, annotated = label_patients(facts, annotator, run.progress)
    missing = find_missing_tiers(
        facts,
        labels=labels,
        panel=inputs.panel,
        probed=inputs.probed,
        writer=generation.make_prompt_writer(inputs.profile, panel=inputs.panel, decoding=inputs.decoding),
        progress=run.progress,
    )
    patients = population.tabulate_facts(facts.values(), inputs.corpus)
    targets = match_cohorts(
        patients,
        labels=labels,
        panel=inputs.panel,
        settings=inputs.settings,
        has_control=inputs.probed.asks_control,
        missing=missing,
        progress=run.progress,
    )
    # Whom the site named and who is no target is asked what a target is, and is in no figure: whoever is named for
    # a reason (a request for deletion, a complaint) must be in no number by which that could be noticed.
    named = sorted(inputs.included.ids) if inputs.included is not None else []
    included = (
        pl.DataFrame({"patient_id": named}, schema={"patient_id": pl.String})
        .join(targets.patients, on="patient_id", how="anti", maintain_order="left")
        .select("patient_id", diagnoses=pl.lit([diagnosis.id for diagnosis in inputs.panel]))
    )
    by_role = {"target": targets.patients, "included": included}
    asked = pl.concat([rows.with_columns(role=pl.lit(role)) for role, rows in by_role.items()])
    annotations = annotate_members(
        {*targets.cohorts["patient_id"], *asked.filter(role="included")["patient_id"]},
        facts=facts,
        labels=labels,
        annotated=annotated,
        annotator=annotator,
        progress=run.progress,
    )
    run.write(
        {"labels": labels, "cohorts": targets.cohorts, "candidates": targets.candidates, "annotations": annotations}
    )
    return _Audited(facts, patients, labels, targets, asked, annotations)


def _of_members(audited: _Audited) -> pl.DataFrame:
    """Return the annotations of the cohorts' members: those of whom the site named besides enter nothing published."""
    return audited.annotations.filter(pl.col("patient_id").is_in(audited.targets.cohorts["patient_id"].implode()))


def _plan_prompts(inputs: AuditInputs, audited: _Audited) -> pl.DataFrame:
    """Return the prompts about the targets, about patients whom the site named besides (paper 3.1), and the tasks."""
    known: dict[Role, pl.DataFrame] = {"target": _of_members(audited), "included": audited.annotations}
    planned = [
        generation.plan_prompts(
            dict(audited.asked.filter(role=role).select("patient_id", "diagnoses").iter_rows()),
            role=role,
            facts=audited.facts,
            probed=inputs.probed,
            writer=generation.make_prompt_writer(
                inputs.profile,
                panel=inputs.panel,
                decoding=inputs.decoding,
                revealed=revealed_by_judge(inputs.judge, annotations),
            ),
        )
        for role, annotations in known.items()
    ]
    if inputs.tasks is not None:
        patients = {split: len(inputs.corpus.patient_ids(split)) for split in SPLITS}
        asks_control = inputs.probed.asks_control and pool_size(patients, "nobody") < FEWEST_IN_POOL
        planned.append(plan_tasks(inputs.tasks, inputs.decoding, asks_control=asks_control))
    return pl.concat(planned)


def _judge(inputs: AuditInputs, generations: pl.DataFrame, run: BegunRun) -> bool:
    """Write what the judge reads in labelled texts and generations; return whether a figure needs it (3.2.2)."""
    ledger, inquiries = Ledger(run.store, run.runner), make_inquiries(generations)
    is_judged = not make_inquiries(generations.filter(role="target"))["refused"].all()
    scored = as_table("scored_texts", [])
    if is_judged:
        scored = score_judge(inputs.judge, inputs.labelled, inputs.sensitive, ledger, run.progress)
    judged = judge_generations(inputs.judge, inquiries, inputs.panel, ledger, run.progress)
    run.write({"scored_texts": scored, "judgements": judged})
    return is_judged
