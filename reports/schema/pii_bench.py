"""What `clinaudit pii bench` measured: the records of `bench.json` (docs/pii.md).

Every figure is of generated samples, so it is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.record import Record

#: The three tasks (PII-Bench, 3.1).
BenchTask = Literal["detection", "query_related", "masking"]
BENCH_TASKS: Final[tuple[BenchTask, ...]] = get_args(BenchTask)
#: The subsets of samples, and `all` of them together.
BenchSubset = Literal["all", "single", "multi", "hard", "distract"]
BENCH_SUBSETS: Final[tuple[BenchSubset, ...]] = get_args(BenchSubset)
BenchDomain = Literal["general", "clinical"]
#: How a score compares texts. Of detection all three; of the other tasks `strict_f1` and `rouge_l_f`.
BenchMetric = Literal["strict_f1", "ent_f1", "rouge_l_f"]
BENCH_METRICS: Final[tuple[BenchMetric, ...]] = get_args(BenchMetric)
#: What a score is drawn over in Figure 4.
BenchFactor = Literal["subjects", "entities", "description_chars", "needed_entities"]
BENCH_FACTORS: Final[tuple[BenchFactor, ...]] = get_args(BenchFactor)
#: How much is masked (Table 8): nothing, everything that was found, or what the question does not need.
MaskingStrategy = Literal["none", "all", "query_unrelated"]


class BenchEstimate(Record):
    """A mean over samples with its 95% interval (bootstrap over samples), or `value` null with a `reason`."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


class BenchScore(Record):
    """Precision, recall and F1, each the mean over samples."""

    precision: BenchEstimate
    recall: BenchEstimate
    f1: BenchEstimate


class BenchSystem(Record):
    """One system: what finds the identifiers, and what says which of them a question needs."""

    #: Unique; what `system` names in every other record.
    id: str
    name: str
    #: One sentence: how it works.
    how: str
    #: `oracle`: it is told part of the answer, an upper bound that nobody can deploy.
    kind: Literal["rules", "trained", "model", "oracle"]
    #: Of a served model: the strategy of PII-Bench, F.6 (naive, with-choice, self-cot, auto-cot, self-consistency,
    #: plan-and-solve); null for every other system.
    strategy: str | None = None
    #: What it was run with, in words: epochs, samples of training, thresholds, model names.
    settings: dict[str, str] = Field(default_factory=dict)
    #: Null where it was not run here.
    train_seconds: float | None = None
    seconds: float | None = None


class BenchResult(Record):
    """One system on one task, one domain and one subset."""

    system: str
    task: BenchTask
    domain: BenchDomain
    subset: BenchSubset
    samples: int
    #: Samples without an answer that could be read: each scores 0.
    unparsed: int = 0
    metrics: dict[BenchMetric, BenchScore]
    #: Of task 3: share of the needed entities that were masked, and of the unneeded ones that were left.
    over_masking: BenchEstimate | None = None
    leak: BenchEstimate | None = None


class BenchDifference(Record):
    """Two systems on the same samples: mean F1 (strict) of `a` minus that of `b`."""

    task: BenchTask
    domain: BenchDomain
    a: str
    b: str
    samples: int
    difference: BenchEstimate
    #: Samples on which `a` alone was right in everything, and `b` alone; McNemar's exact test, two-sided, adjusted
    #: over the pairs of one task and domain (Holm 1979).
    a_only: int
    b_only: int
    p_value: float


class BenchStatistics(Record):
    """The samples of one subset (Tables 3 and 10); means over samples."""

    domain: BenchDomain
    subset: BenchSubset
    samples: int
    subjects: float
    description_chars: float
    entities: float
    query_chars: float
    needed_entities: float
    #: Entities by type.
    types: dict[str, int]


class BenchPoint(Record):
    """F1 of one system among samples whose factor is from `low` to `high`, both included (Figure 4)."""

    system: str
    task: BenchTask
    domain: BenchDomain
    factor: BenchFactor
    low: float
    high: float
    samples: int
    f1: BenchEstimate


class BalancePoint(Record):
    """B = alpha P + (1 - alpha) U (Eq. 20)."""

    alpha: float
    balance: float


class PrivacyUtility(Record):
    """What is gained and lost by masking (Table 8, Figure 1)."""

    #: Null where what is masked is the gold answer.
    system: str | None
    domain: BenchDomain
    masking: MaskingStrategy
    samples: int
    #: P (Eq. 17).
    privacy: BenchEstimate
    #: U (Eqs. 18 and 19); without a model that answers there is none, and `reason` says so.
    utility: BenchEstimate
    #: At alpha 0.5; null without U.
    balance: BenchEstimate
    curve: list[BalancePoint] = Field(default_factory=list)


class GroupRecall(Record):
    """The share of the entities of one group that a system finds: of names by origin, or by what it was trained on."""

    system: str
    domain: BenchDomain
    #: `name_origin`: names by the locale they were drawn from. `vocabulary`: entities by whether training held them.
    #: `category`: entities by category of the taxonomy. `hipaa`: by HIPAA's identifiers.
    grouping: Literal["name_origin", "vocabulary", "category", "hipaa"]
    group: str
    entities: int
    recall: BenchEstimate


class PaperScore(Record):
    """A figure of the paper, to stand beside; never measured here."""

    #: Such as `Table 6`.
    table: str
    model: str
    task: BenchTask
    subset: BenchSubset
    #: Null where the task was asked without one.
    strategy: str | None = None
    metric: BenchMetric
    value: float
    #: Where the paper states it.
    deviation: float | None = None


class PiiBench(Record):
    """Everything `bench.json` holds."""

    schema_version: Literal["3.0"] = "3.0"
    clinaudit_version: str
    #: Versions of the libraries that the systems are made of.
    libraries: dict[str, str]
    seed: int
    #: One or two sentences: which system is best at what, and how far from the paper's people.
    conclusion: str = ""
    warnings: list[str] = Field(default_factory=list)
    systems: list[BenchSystem]
    statistics: list[BenchStatistics]
    results: list[BenchResult]
    differences: list[BenchDifference] = Field(default_factory=list)
    points: list[BenchPoint] = Field(default_factory=list)
    privacy: list[PrivacyUtility] = Field(default_factory=list)
    groups: list[GroupRecall] = Field(default_factory=list)
    paper: list[PaperScore] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PaperStatistics:
    """A row of Table 3: samples, then means over samples."""

    samples: int
    subjects: float
    description_chars: float
    entities: float
    query_chars: float
    needed_entities: float


#: PII-Bench, Table 3.
PAPER_STATISTICS: Final[Mapping[BenchSubset, PaperStatistics]] = {
    "all": PaperStatistics(2842, 1.92, 1028.32, 13.30, 268.41, 2.28),
    "single": PaperStatistics(1214, 1.0, 893.48, 7.67, 211.21, 1.95),
    "multi": PaperStatistics(1228, 2.0, 652.65, 13.14, 236.21, 2.06),
    "hard": PaperStatistics(200, 1.5, 778.03, 10.60, 222.09, 2.10),
    "distract": PaperStatistics(200, 7.5, 4403.64, 51.08, 859.69, 5.82),
}
#: PII-Bench, Table 10: entities by type.
PAPER_TYPES: Final[Mapping[BenchSubset, Mapping[str, int]]] = {
        "single": {
            "PER": 1214, "DEM": 1220, "CODE": 1464, "ORG": 1590, "LOC": 1053, "DATETIME": 1368, "QUANTITY": 1394,
        },
        "multi": {"PER": 2456, "DEM": 2450, "CODE": 2470, "ORG": 2544, "LOC": 1516, "DATETIME": 2526, "QUANTITY": 2174},
        "hard": {"PER": 286, "DEM": 286, "CODE": 222, "ORG": 251, "LOC": 304, "DATETIME": 251, "QUANTITY": 234},
        "distract": {
            "PER": 1449, "DEM": 1467, "CODE": 1605, "ORG": 1673, "LOC": 1008, "DATETIME": 1559, "QUANTITY": 1450,
        },
    }  # fmt: skip
