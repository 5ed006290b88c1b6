"""From the stages' outcomes to the tally of the run, still without a verdict (docs/results.md).

Owns completeness, and which outcome goes into which field.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from clinaudit.audit.assembly.caveats import find_caveats, find_identity_caveats
from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.assembly.outcomes import StageOutcomes
from clinaudit.audit.measures.cohorts.cohort import tally_cohort
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.generation.stage import generation_id
from clinaudit.audit.measures.judge.scoring import tally_judge
from clinaudit.audit.measures.judge.stage import Judgements
from clinaudit.audit.measures.population.description import (
    describe_identifiability,
    describe_population,
)
from clinaudit.priors.facts import read_facts
from clinaudit.priors.prompts import Prior
from clinaudit.priors.renderings import CONTROL, ProbedTiers
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.classes import STEP
from clinaudit.reports.tally.leaves import Alone, Count, Inside, Partition, Setting
from clinaudit.reports.tally.tally import (
    CorpusTally,
    DisclosureTally,
    PopulationTally,
    PromptTally,
    RenderingTally,
    StageTally,
    Tally,
)
from clinaudit.templates.markup import said_in


def assemble_results(inputs: AuditInputs, outcomes: StageOutcomes) -> Tally:
    """Return all that was counted, without the verdict."""

    # Of the validation split nothing but this is published: nobody of it is probed.
    described = read_facts(inputs.corpus, inputs.profile, inputs.corpus.validation)
    facts = {**outcomes.facts, **described}

    def describe(patient_ids: Sequence[str], *, is_split: bool) -> PopulationTally:
        tokens = outcomes.census.tokens
        return describe_population(patient_ids, corpus=inputs.corpus, facts=facts, tokens=tokens, is_split=is_split)

    splits: dict[str, Sequence[str]] = {split: inputs.corpus.patient_ids(split) for split in ARMS}
    splits["validation"] = tuple(described)
    identifiability = describe_identifiability(
        outcomes.facts,
        inputs.settings.probed,
        outcomes.census,
        training_length=inputs.training_length,
        several_ids=set(inputs.corpus.people.person_of.values()),
    )
    renderings: dict[str, RenderingTally] = {
        name: RenderingTally(
            memorization=outcomes.memorization.get(view, {}),
            disclosure=outcomes.disclosure.get(view, DisclosureTally()),
            identifiers=outcomes.identifiers.get(view),
        )
        for name, view in (("chat", "chat"), (CONTROL, inputs.probed.of_control(None)))
        # A chat without a single prompt is one that was not tested, and stands here without figures.
        if view in inputs.probed.beside and (view == "chat" or view in outcomes.memorization)
    }
    disclosure = outcomes.disclosure[None]
    # Texts of a matched set that a judge reads: of each patient those at each tier in each form, and the control's.
    texts = 0
    for form in (disclosure, *(of.disclosure for of in renderings.values())):
        read = (sum(pair.read_of_a_set() for pair in of.values()) for of in form.by_diagnosis.values())
        texts += max(read, default=0)
    quality = outcomes.judge_quality
    return Tally(
        completeness=count_stages(outcomes.priors, outcomes.generations, outcomes.judgements),
        corpus=CorpusTally(
            counterfactual=inputs.corpus.has_counterfactual,
            labels=outcomes.labels.source,
            splits={split: describe(ids, is_split=True) for split, ids in splits.items() if ids},
            cohorts={
                cohort.diagnosis: describe([member.patient_id for member in cohort.members], is_split=False)
                for cohort in outcomes.targets.cohorts
                if cohort.members
            },
            identifiability=identifiability,
            targets_in_both_splits=Alone.of(
                len(inputs.corpus.people.in_both_splits & outcomes.targets.diagnoses.keys())
            ),
            warnings=tuple(inputs.corpus.warnings),
        ),
        memorization=outcomes.memorization[None],
        disclosure=disclosure,
        identifiers=outcomes.identifiers.get(None),
        renderings=renderings,
        prompts=summarize_prompts(outcomes.priors, inputs.probed),
        queries=outcomes.scored.queries,
        not_scored=outcomes.scored.not_scored,
        membership=outcomes.scored.membership,
        ordinary=outcomes.ordinary,
        cohorts={cohort.diagnosis: tally_cohort(cohort.summary) for cohort in outcomes.targets.cohorts},
        subgroups=outcomes.subgroups,
        judge=None if quality is None else tally_judge(quality, texts=texts),
        warnings=(*find_caveats(inputs, outcomes), *find_identity_caveats(identifiability)),
        narrowed=tuple(inputs.narrowed),
        release=inputs.settings.release,
        training=None if inputs.training is None else Setting(tuple(inputs.training)),
    )


def summarize_prompts(priors: Sequence[Prior], probed: ProbedTiers) -> dict[str, dict[Arm, PromptTally]]:
    """Return how many patients have a prompt that fits their own notes, that is nobody else's, and what it shows.

    A prompt is somebody else's, too, where it differs in blanks or tags of de-identification alone.
    """
    asked = {
        (prior.tier, prior.arm, prior.patient_id): prior
        for prior in priors
        if prior.unbroken is not None and prior.rendering not in probed.beside
    }
    written = {
        (prior.tier, prior.patient_id): said_in(prior.prompt)
        for prior in priors
        if not (prior.excluded or prior.messages or prior.rendering in probed.beside)
    }
    texts = Counter((tier, said) for (tier, _), said in written.items())
    alone = {(tier, patient_id) for (tier, patient_id), said in written.items() if texts[tier, said] == 1}
    groups: dict[tuple[str, Arm], list[Prior]] = {}
    for (tier, arm, _), prior in asked.items():
        groups.setdefault((tier, arm), []).append(prior)
    return {
        tier: {
            arm: PromptTally(
                fit=Partition.of(
                    {
                        "unbroken": sum(prior.unbroken is True for prior in own),
                        "broken": sum(prior.unbroken is False for prior in own),
                    }
                ),
                own=Partition.halves("own", sum((tier, prior.patient_id) in alone for prior in own), len(own)),
                earlier=Partition.halves("earlier", sum(prior.earlier_note for prior in own), len(own)),
                shown={
                    shown: Partition.halves("some", count, len(own))
                    for shown, count in sorted(Counter(shown for prior in own for shown in prior.also_shows).items())
                },
            )
            for arm in ARMS
            if (own := groups.get((tier, arm)))
        }
        for tier in probed.ids
        if any(place == tier for place, _ in groups)
    }


def count_stages(
    priors: Sequence[Prior], generations: Sequence[Generation], judgements: Judgements
) -> dict[str, StageTally]:
    """Count planned and finished units by stage; of judgements also by diagnosis."""
    judged = [(item.generation_id, diagnosis) in judgements for item in generations for diagnosis in item.diagnoses]
    return {
        **count_units(priors, {generation.generation_id for generation in generations}),
        "judgements": tally_stage(planned=len(judged), done=sum(judged)),
    }


def count_units(priors: Sequence[Prior], done: Collection[str]) -> dict[str, StageTally]:
    """Count the patients at a tier, in one form, for whom prompts were written, and who have all their generations.

    A patient may have several prompts at a tier, scrubbed for different diagnoses: how many is not published. Excluded
    priors are counted by tier and reason. `done` are ids of generations.
    """
    written = [prior for prior in priors if not prior.excluded]
    excluded = Counter(f"{prior.tier}: {prior.reason}" for prior in priors if prior.excluded)
    planned = {_unit(prior) for prior in written}
    missing = {_unit(prior) for prior in written if generation_id(prior) not in done}
    return {
        "priors": tally_stage(planned=len(planned), done=len(planned), excluded=dict(sorted(excluded.items()))),
        "generations": tally_stage(planned=len(planned), done=len(planned - missing)),
    }


def _unit(asked: Prior) -> tuple[str, str, str]:
    return asked.patient_id, asked.tier, asked.rendering


def tally_stage(*, planned: int, done: int, excluded: Mapping[str, int] | None = None) -> StageTally:
    """Return what became of a stage's units."""
    return StageTally(
        # Of sets that are left out some are judged all the same: the sizes give a range.
        planned=Inside(planned),
        missing=Count.of(max(0, planned - done), step=STEP),
        excluded=Inside(Partition.of(excluded or {}, step=STEP)),
    )
