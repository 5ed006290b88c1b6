"""From the stages' outcomes to the results and the run record (docs/results.md).

Owns completeness, warnings and provenance. Knows nothing of how figures are computed or written.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from clinaudit.audit.assembly.caveats import _warnings
from clinaudit.audit.cohorts.stage import Labels, Targets
from clinaudit.audit.generation.record import Generation
from clinaudit.audit.generation.stage import generation_id
from clinaudit.audit.inputs import AuditInputs
from clinaudit.audit.judge.annotation import Annotation
from clinaudit.audit.judge.ledger import Judgements
from clinaudit.audit.memorization.stage import MemorizationResults
from clinaudit.audit.population.description import describe_population
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import Prior
from clinaudit.reports.schema.corpus import CorpusSummary, PopulationSummary
from clinaudit.reports.schema.disclosure import DisclosureResults, SecondMatcher
from clinaudit.reports.schema.groups import Subgroups
from clinaudit.reports.schema.judge import JudgeQuality
from clinaudit.reports.schema.results import Results, StageCompleteness


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
