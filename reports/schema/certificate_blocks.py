"""Records of what a benchmark adds to a deletion certificate (PHI), for `evidence/` alone (docs/comparing-runs.md).

Owns their shape. Nothing that is published is made of them but how many retained patients lost by it, in classes.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Record

#: `above` what patients never trained on give, `within` it, or `open` where that cannot be said.
RobustnessStatus = Literal["above", "within", "open"]


class KeptFigure(Record):
    """What the models before and after keep of one named patient, by one measure (PHI)."""

    measure: str
    #: None of trials: the model before is not looked up.
    before: float | None
    after: float | None
    #: Patients never seen who have less of it in B, of so many who have the figure.
    below: int = 0
    controls: int = 0
    #: Of a model that was retrained without the named patients; None where there is none.
    reference: float | None = None
    #: What is missing for a verdict; None where nothing is.
    reason: str | None = None


class QuestionRow(KeptFigure):
    """What answers to one kind of question keep."""

    #: `train`, `holdout` or `rephrased`; `tried`: the most that any trial gets of the patient's questions.
    use: str
    reference: float | None


class QuestionGroup(Record):
    """The same of all named patients together."""

    use: str
    measure: str
    #: Named patients who have it, and patients never trained on.
    patients: int
    controls: int
    before: EstimateRange
    after: EstimateRange
    floor: EstimateRange
    reference: EstimateRange


class QuestionBlock(Record):
    """Answers to the questions of a benchmark."""

    model: str
    split: str
    #: `addressed` or `paper`.
    form: str
    groups: list[QuestionGroup]
    #: Whether answers still read as those of the model before; empty where none was asked.
    health: list[AnswerCheck] = Field(default_factory=list)
    #: Null where that could not be asked.
    collapsed: bool | None = None


class RobustnessRow(Record):
    """One trial of the model after, on all whom the split forgets."""

    test: str
    measure: str
    value: EstimateRange
    floor: EstimateRange
    difference: EstimateRange
    reference: EstimateRange
    #: None: shown, and not weighed.
    status: RobustnessStatus | None


class RobustnessBlock(Record):
    """Whether forgetting survives being tried."""

    #: Whom the split forgets, and how many of them are named.
    patients: int
    named: int
    rows: list[RobustnessRow]


class DetectabilityRow(Record):
    """How far one trait of the model tells forgotten patients from those it was never trained on."""

    trait: str
    auroc: EstimateRange
    p_value: float | None
    told_apart: bool | None


class DetectabilityBlock(Record):
    """Whether a reader of the model can tell who was forgotten."""

    told_apart: bool | None
    forgotten: int
    never_trained: int
    rows: list[DetectabilityRow]


class CollateralGroup(Record):
    """What forgetting cost retained patients."""

    #: `same`: with the disease category of a named patient; `others`.
    group: str
    patients: int
    before: EstimateRange
    after: EstimateRange
    change: EstimateRange
    #: Patients by how far their answers became worse or better; adds up to `patients`.
    bins: dict[str, int]
    #: Attributable fraction of what both runs write of those whom both probed; none without their evidence.
    text_before: EstimateRange
    text_after: EstimateRange
    text_change: EstimateRange


class BenchBlocks(Record):
    """What a benchmark adds to a certificate; a block is None where it was not made."""

    questions: QuestionBlock
    robustness: RobustnessBlock | None
    detectability: DetectabilityBlock | None
    collateral: list[CollateralGroup] | None
