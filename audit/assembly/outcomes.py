"""What assembly needs of each stage beside its evidence tables, as one record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clinaudit.audit.assembly.scored import Scored
from clinaudit.audit.measures.cohorts.stage import Targets
from clinaudit.audit.measures.judge.annotation import Annotation
from clinaudit.audit.measures.judge.labels import Labels
from clinaudit.audit.measures.judge.scoring import ScoredJudge
from clinaudit.priors.facts import PatientFacts
from clinaudit.reports.schema.run_results import IdentifierFacts


@dataclass(frozen=True, slots=True)
class StageOutcomes:
    """What assembly says of a run, beside what follows from its tables."""

    #: Of every patient of the corpus, by id.
    facts: Mapping[str, PatientFacts]
    labels: Labels
    targets: Targets
    #: Of the cohorts' members, by patient id.
    annotations: Mapping[str, Sequence[Annotation]]
    identifiers: IdentifierFacts
    #: None where there was nothing to judge.
    judge_quality: ScoredJudge | None
    scored: Scored
    #: What the report says of the model's self-test.
    self_test: Sequence[str] = ()
