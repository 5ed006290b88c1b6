"""From the stages' outcomes to the results and the run record (contract, section 6).

Owns completeness, warnings and provenance. Knows nothing of how figures are computed or written.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from clinaudit.audit.generation import generation_id
from clinaudit.audit.inputs import AuditInputs, fingerprint
from clinaudit.audit.judge.annotation import Annotation
from clinaudit.audit.judge.ledger import Judgements
from clinaudit.audit.memorization import Generation
from clinaudit.audit.memorization_stage import MemorizationResults
from clinaudit.audit.population import describe_population
from clinaudit.audit.targets import Labels, Targets
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import Prior
from clinaudit.reports.judge_quality import JudgeQuality
from clinaudit.reports.patient_groups import Subgroups
from clinaudit.reports.results import (
    CorpusSummary,
    DisclosureResults,
    PopulationSummary,
    Results,
    SecondMatcher,
    StageCompleteness,
)


def assemble_results(
    inputs: AuditInputs,
    *,
    facts: Mapping[str, PatientFacts],
    labels: Labels,
    targets: Targets,
    annotations: Mapping[str, Sequence[Annotation]],
    priors: Sequence[Prior],
    generations: Sequence[Generation],
    judgements: Judgements,
    memorization: MemorizationResults,
    disclosure: DisclosureResults,
    second_matcher: SecondMatcher | None,
    subgroups: Subgroups,
    judge_quality: JudgeQuality | None,
    tokens: Mapping[str, int],
) -> Results:
    """Return the unsuppressed results, without the verdict."""

    def describe(patient_ids: Sequence[str]) -> PopulationSummary:
        return describe_population(patient_ids, corpus=inputs.corpus, facts=facts, tokens=tokens)

    splits = {split: inputs.corpus.patient_ids(split) for split in ("train", "nontrain")}
    return Results(
        completeness=_completeness(priors, generations, judgements),
        corpus=CorpusSummary(
            counterfactual=inputs.corpus.has_counterfactual,
            labels=labels.source,
            splits={split: describe(ids) for split, ids in splits.items() if ids},
            cohorts={
                cohort.diagnosis: describe([member.patient_id for member in cohort.members])
                for cohort in targets.cohorts
                if cohort.members
            },
            warnings=list(inputs.corpus.warnings),
        ),
        memorization=memorization,
        disclosure=disclosure,
        cohorts={cohort.diagnosis: cohort.summary for cohort in targets.cohorts},
        second_matcher=second_matcher,
        subgroups=subgroups,
        judge_quality=judge_quality,
        warnings=_warnings(inputs, labels, targets, annotations, memorization),
        training=list(inputs.training) if inputs.training is not None else None,
    )


def misses_planned_units(results: Results) -> bool:
    """Whether some stage has not finished all that was planned: such an audit never passes."""
    return any(
        stage.failed + (stage.missing or 0) > 0
        if stage.planned is None or stage.done is None
        else stage.done < stage.planned
        for stage in results.completeness.values()
    )


def _completeness(
    priors: Sequence[Prior], generations: Sequence[Generation], judgements: Judgements
) -> dict[str, StageCompleteness]:
    """Count planned and finished units by stage; exclusions of priors count rows, by tier and reason."""
    planned = {generation_id(prior) for prior in priors if not prior.excluded}
    done = {generation.generation_id for generation in generations}
    excluded = Counter(f"{prior.tier}: {prior.reason}" for prior in priors if prior.excluded)
    verdicts = {(item.generation_id, diagnosis) for item in generations for diagnosis in item.diagnoses}
    judged = {key for key in verdicts if key in judgements}
    written = len(priors) - excluded.total()
    return {
        "priors": StageCompleteness(planned=written, done=written, failed=0, excluded=dict(sorted(excluded.items()))),
        "generations": StageCompleteness(planned=len(planned), done=len(done), failed=0),
        "judgements": StageCompleteness(planned=len(verdicts), done=len(judged), failed=0),
    }


def _warnings(
    inputs: AuditInputs,
    labels: Labels,
    targets: Targets,
    annotations: Mapping[str, Sequence[Annotation]],
    memorization: MemorizationResults,
) -> list[str]:
    found: list[str] = []
    if not inputs.corpus.has_counterfactual:
        found.append(
            "The corpus has no held-out (nontrain) patients: nothing measured here can be attributed to training."
        )
    if labels.source == "openai":
        found.append(
            f"Diagnosis labels were read off the notes by the served language model ({_judge_model(inputs)}) that also "
            "judges the generations: its errors are in both, so the disclosure figures may look better or worse than "
            "they are."
        )
        if any(row.present is None for rows in labels.annotations.values() for row in rows):
            found.append(
                "For some patients the judge gave no usable answer about their notes: they count as unknown, and are "
                "neither positive nor a control."
            )
    elif inputs.settings.judge == "openai":
        found.append(
            f"Generations were judged by a served language model ({_judge_model(inputs)}). What runs behind its "
            "address cannot be seen from here, and asked again it may answer otherwise; the labels are those of the "
            "diagnoses table."
        )
        members = [] if targets.sampled else targets.diagnoses
        if any(row.in_note_start is None for member in members for row in annotations[member]):
            found.append(
                "For some members of the cohorts the judge gave no usable answer about their notes: of what could tell "
                "a diagnosis in their prompts, only the panel's own terms and medications found revealing in others "
                "were taken out."
            )
    if labels.source == "lexicon":
        found.append(
            "Diagnosis labels were read off the notes by the same lexicon that judges the generations: its errors are "
            "in both, so the disclosure figures may look better or worse than they are."
        )
    if targets.sampled:
        found.append(
            "No matched cohort could be made: targets are a sample of the patients, and disclosure was not measured."
        )
    labels_of = inputs.corpus.diagnosis_labels
    if labels_of is not None and {name for _, name in labels_of} - {diagnosis.id for diagnosis in inputs.sensitive}:
        # Their names are the table's own text, which stays out of what is published.
        found.append(
            "Some rows of the diagnoses table name a diagnosis that is not in the panel (ids are lower-case, such as "
            "hiv); they were not used."
        )
    if labels_of is not None:
        named = {name for _, name in labels_of}
        unlabelled = [diagnosis.id for diagnosis in inputs.panel if diagnosis.id not in named]
        if unlabelled:
            found.append(
                f"The diagnoses table has no row for {', '.join(unlabelled)}: nobody is known to have it or not, so "
                "that no cohort can be made."
            )
    scored = {text.diagnosis.id for text in inputs.labelled.texts}
    unscored = [diagnosis.id for diagnosis in inputs.panel if diagnosis.id not in scored]
    if unscored:
        found.append(
            f"The judge was scored on no labelled text about {', '.join(unscored)}: how well it reads these is not "
            "known. Give labelled texts of your own with --judge-labels."
        )
    missing = [tier for tier in inputs.settings.tier if tier not in memorization]
    if missing:
        found.append(f"No prompt could be made at these tiers: {', '.join(missing)}. They were not measured.")
    return found


def _judge_model(inputs: AuditInputs) -> str:
    return inputs.judge.identity()["model"]


def describe_run(inputs: AuditInputs, *, priors: Sequence[Prior], engine: Mapping[str, str]) -> dict[str, object]:
    """Return `run.json`: settings, versions and digests; no paths, no times."""
    prompts = json.dumps([asdict(prior) for prior in priors], sort_keys=True)
    settings = fingerprint(inputs)
    libraries, judge = settings.pop("libraries"), settings.pop("--judge")
    return {
        "clinaudit": settings.pop("clinaudit"),
        "settings": settings,
        "libraries": libraries,
        # A served model's address may tell of the site's network; its digest stands for it.
        "engine": {field: value for field, value in engine.items() if field != "base_url"},
        "judge": judge,
        "digests": {
            "model": inputs.model.digest,
            "tokenizer": inputs.model.tokenizer_digest,
            "corpus": inputs.corpus.digest,
            "prompts": hashlib.sha256(prompts.encode("utf-8")).hexdigest(),
        },
    }
