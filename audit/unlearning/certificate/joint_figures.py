"""The figures that named and never-seen patients are tested on, by where they come from: audits, answers, trials."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from clinaudit.audit.results.comparison.evidence import RunEvidence
from clinaudit.audit.unlearning.certificate.audit_figures import TEXT_MEASURES, AuditFigures, joined, read_audit_figures
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.compared_answers import Evidence
from clinaudit.audit.unlearning.certificate.joint_test import (
    Figures,
    JointTest,
    count_never_seen_above,
    enough_never_seen,
    is_unweighed,
    most_as_large,
    run_joint_test,
    smallest_leak,
    vouched_for,
)
from clinaudit.audit.unlearning.certificate.question_block import measure_answers, never_trained
from clinaudit.audit.unlearning.certificate.robustness_block import measure_trials
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import JointDecision, Shortfall, SmallestLeak

JOINTLY: Final = "all figures of the named patients together"


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one origin: audits, answers or trials."""

    after: Figures
    #: Never seen by the model after, with such figures.
    never_seen: Collection[str]
    reference: Figures
    #: Never seen by the retrained model.
    never_seen_by_reference: Collection[str]
    #: Empty where the model before has none.
    before: Figures = field(default_factory=dict)
    never_seen_before: Collection[str] = ()


def audit_family(
    evidence: Evidence, named: Collection[str], reference: RunEvidence | None
) -> tuple[Family, AuditFigures, AuditFigures]:
    """Return the figures of the audits, and both runs' own."""
    before, after = (read_audit_figures(run) for run in evidence)
    retrained = None if reference is None else read_audit_figures(reference)
    family = Family(
        after.values,
        after.never_seen(named),
        {} if retrained is None else retrained.values,
        set() if retrained is None else retrained.never_seen(named),
        before.values,
        before.never_seen(named),
    )
    return family, before, after


def bench_families(result: BenchResult, named: Collection[str]) -> Iterator[Family]:
    """Yield what answers keep, and what trials get, where any was made of both groups."""
    controls = never_trained(result, named)
    before = measure_answers(result.before)
    yield Family(
        measure_answers(result.after),
        controls,
        measure_answers(result.reference),
        controls,
        before,
        controls & before.keys(),
    )
    if result.robustness is not None and any(result.robustness.by_patient.values()):
        after, reference = measure_trials(result.robustness), measure_trials(result.reference_robustness)
        yield Family(after, controls & after.keys(), reference, controls & reference.keys())


@dataclass(frozen=True, slots=True)
class JointTests:
    """The joint test of the model after and of the model before, on the named patients whom it can be asked of."""

    after: JointTest
    before: JointTest
    joint: JointDecision
    shortfalls: list[Shortfall]
    #: Who has a figure that too few patients have for the test to weigh it.
    unweighed: Collection[str]
    #: Patients never seen by the model after who would not pass among the others, were each the only one named.
    never_seen_above: int


def run_joint_tests(families: Sequence[Family], asked: Sequence[str]) -> JointTests:
    """Test over all families: a never-seen patient counts who has figures of each."""
    never_seen = set.intersection(*(set(family.never_seen) for family in families)) if families else set()
    vouched = [
        vouched_for(family.after, family.reference, asked, family.never_seen_by_reference) for family in families
    ]
    now = joined(*vouched, patients=[*asked, *never_seen])
    after = run_joint_test(now, asked, never_seen)
    known = [family for family in families if family.before]
    then = set.intersection(*(set(family.never_seen_before) for family in known)) if known else set()
    figures = joined(*(family.before for family in known), patients=[*asked, *then])
    before = run_joint_test(figures, asked, then)
    enough = enough_never_seen(len(asked))
    joint = JointDecision(
        named=len(asked),
        never_seen=after.never_seen,
        never_seen_before=before.never_seen,
        enough=enough,
        most_as_large=most_as_large(named=len(asked), never_seen=before.never_seen) if asked else None,
        p_value=after.least_p_value,
        p_value_before=before.least_p_value,
        smallest=[
            SmallestLeak(
                measure=name,
                # At whichever level of access, and in whichever of both models, it shows last.
                tokens=max(
                    (
                        tokens
                        for of, group in ((figures, then), (now, never_seen))
                        for tier in TIER_IDS
                        if (tokens := smallest_leak(of, group, (tier, name), named=len(asked))) is not None
                    ),
                    default=None,
                ),
            )
            for name in TEXT_MEASURES
            if before.can_fail and after.can_fail
        ],
    )
    shortfalls = [
        Shortfall(figure=f"{JOINTLY}, {when}", group="controls", patients=test.never_seen, enough=enough)
        for when, test in (("model before", before), ("model after", after))
        if asked and not test.can_fail
    ]
    left_out = [one for one in asked if is_unweighed(now, asked, never_seen, one)]
    return JointTests(after, before, joint, shortfalls, left_out, count_never_seen_above(now, never_seen))
