"""The outcomes of all stages of an audit, as one record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clinaudit.audit.assembly.scored import Scored
from clinaudit.audit.measures.cohorts.stage import Targets
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.judge.annotation import Annotation
from clinaudit.audit.measures.judge.labels import Labels
from clinaudit.audit.measures.judge.stage import Judgements
from clinaudit.audit.measures.memorization.stage import TalliesByTier
from clinaudit.audit.measures.population.description import Census
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import Prior
from clinaudit.priors.renderings import View
from clinaudit.reports.schema.judge import MeasuredJudge
from clinaudit.reports.tally.attacks import OrdinaryTally
from clinaudit.reports.tally.tally import DisclosureTally, IdentifiersTally, SubgroupTally


@dataclass(frozen=True, slots=True)
class StageOutcomes:
    """What assembly needs of each stage."""

    #: Of every patient of the corpus, by id.
    facts: Mapping[str, PatientFacts]
    labels: Labels
    targets: Targets
    #: Of the cohorts' members, by patient id.
    annotations: Mapping[str, Sequence[Annotation]]
    priors: Sequence[Prior]
    generations: Sequence[Generation]
    judgements: Judgements
    #: By view: None is each tier in its first rendering; then each further rendering.
    memorization: Mapping[View, TalliesByTier]
    disclosure: Mapping[View, DisclosureTally]
    identifiers: Mapping[View, IdentifiersTally]
    subgroups: SubgroupTally
    #: None where there was nothing to judge.
    judge_quality: MeasuredJudge | None
    census: Census
    scored: Scored
    ordinary: OrdinaryTally | None
    #: What the report says of the model's self-test.
    self_test: Sequence[str] = ()
