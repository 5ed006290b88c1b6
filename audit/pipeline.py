"""The audit, stage by stage. Read this first: it is the whole program in order, and nothing else.

A note goes: corpus → facts and diagnosis labels → matched cohorts, whose members are the targets → priors, scrubbed for
each diagnosis → (the model continues them) → generations → matches with all of the patient's own notes → pieces,
sections, templated text, K over the train split → memorization figures; and: generations → verdicts → disclosure
figures, train minus nontrain → gate, on unsuppressed figures → suppression and report (`publish_run`).
"""

from pathlib import Path

from clinaudit.audit.assembly.results import assemble_results
from clinaudit.audit.assembly.run_record import describe_run, fingerprint
from clinaudit.audit.cluster.runner import open_runner
from clinaudit.audit.cohorts.cohort import cohort_rows
from clinaudit.audit.cohorts.stage import annotate_targets, label_patients, match_cohorts, read_facts, revealed_by_judge
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.disclosure.second_matcher import measure_second_matching
from clinaudit.audit.disclosure.stage import collect_readings, measure_all_disclosure
from clinaudit.audit.gate.evaluation import evaluate, misses_planned_units
from clinaudit.audit.generation.record import generation_rows
from clinaudit.audit.generation.stage import generate, plan_priors, prior_rows, read_generations
from clinaudit.audit.inputs import load_inputs
from clinaudit.audit.judge.annotation import annotation_rows
from clinaudit.audit.judge.scoring.confusion_matrix import confusion_matrix
from clinaudit.audit.judge.selection import remember_answers
from clinaudit.audit.judge.stage import check_judge, compare_with_second_judge, judge_generations, judgement_rows
from clinaudit.audit.memorization.stage import measure_memorization
from clinaudit.audit.model.token_cache import open_token_cache
from clinaudit.audit.population.description import count_tokens
from clinaudit.audit.population.subgroups import describe_subgroups
from clinaudit.audit.publication.published_files import publish_run, with_decision
from clinaudit.audit.run.confinement import confine_libraries, take_libraries_offline
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.evidence_tables import write_table
from clinaudit.audit.run.manifest import drop_manifest, refuse_purged
from clinaudit.audit.run.store import open_store
from clinaudit.audit.served.answer_cache import open_judge_cache
from clinaudit.audit.settings import AuditSettings
from clinaudit.reports.schema.results import Results


def run_audit(settings: AuditSettings) -> Results:
    """Audit a model against a corpus, or go on with an audit that was stopped; return the published results."""
    progress = Progress(quiet=settings.quiet)
    run = RunDirectory(Path(settings.out))
    take_libraries_offline(run.work)

    # Everything given is read and checked before any model is loaded.
    with run.absent_on_failure():
        refuse_purged(run)
        inputs = load_inputs(settings)

    with (
        open_store(run) as store,
        open_token_cache(run, inputs.model.tokenizer_digest, inputs.tokenizer) as cache,
        remember_answers(
            [inputs.judge, inputs.second_judge], progress, price=settings.judge_price, keep_in=open_judge_cache(run)
        ) as judge_memory,
    ):
        refuse_purged(run)
        store.bind_settings(fingerprint(inputs))
        confine_libraries(run.work)
        drop_manifest(run)

        # Who is audited: facts, diagnosis labels, matched cohorts.
        facts = read_facts(inputs, progress)
        labels = label_patients(inputs, facts, progress)
        targets = match_cohorts(inputs, facts, labels, progress)
        write_table(run.evidence, "cohorts", cohort_rows(targets.cohorts))
        if settings.second_matcher is not None:
            write_table(run.evidence, "second_cohorts", cohort_rows(targets.second_cohorts))
        annotations = annotate_targets(inputs, facts, labels, targets, progress)
        write_table(run.evidence, "annotations", annotation_rows(annotations))

        # What an adversary types, and what the model answers; on a Ray cluster, where one is given.
        priors = plan_priors(inputs, targets.diagnoses, facts, revealed=revealed_by_judge(inputs, annotations))
        write_table(run.evidence, "priors", prior_rows(priors))
        with open_runner(settings.ray_address, run.work) as runner:
            engine = generate(inputs, priors, store, progress, runner=runner)
            generations = list(read_generations(inputs, priors, store))
            write_table(run.evidence, "generations", generation_rows(generations))

            # What of it stands in the patient's own notes.
            memorization = measure_memorization(
                generations,
                corpus=inputs.corpus,
                cache=cache,
                profile=inputs.profile,
                ngram=settings.ngram,
                seed=settings.seed,
                run=run,
                progress=progress,
                runner=runner,
            )

        # What it says of sensitive diagnoses, how well the judge reads that, and how much of it is due to training.
        quality = check_judge(inputs, generations, store, progress)
        judgements = judge_generations(inputs, generations, store, progress)
        write_table(run.evidence, "judgements", judgement_rows(generations, judgements))
        quality = compare_with_second_judge(
            inputs, generations, judgements, quality, run=run, store=store, progress=progress
        )
        collected = collect_readings(targets.cohorts, priors, generations, judgements, tiers=settings.tier)
        disclosure = measure_all_disclosure(
            inputs,
            targets.cohorts,
            collected,
            confusion_matrix=None if quality is None else confusion_matrix(quality),
            progress=progress,
        )
        second = measure_second_matching(inputs, targets.second_cohorts, priors, generations, judgements, progress)
        subgroups = describe_subgroups(run, inputs.corpus, facts, collected)
        judge_memory.write_usage(run.evidence)

        # The verdict, and what readers get.
        tokens = count_tokens(inputs.corpus, cache, progress)
        results = assemble_results(
            inputs,
            facts=facts,
            labels=labels,
            targets=targets,
            annotations=annotations,
            priors=priors,
            generations=generations,
            judgements=judgements,
            memorization=memorization,
            disclosure=disclosure,
            second_matcher=second,
            subgroups=subgroups,
            judge_quality=quality,
            tokens=tokens,
        )
        decision = evaluate(inputs.policy, results, planned_missing=misses_planned_units(results))
        record = describe_run(inputs, priors=priors, engine=engine)
        return publish_run(run, with_decision(results, decision), record)
