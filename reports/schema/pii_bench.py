"""Records of `bench.json`, what `clinaudit pii bench` and `pii score` measured, and HIPAA's identifiers (docs/pii.md).

Every figure is of generated samples, so it is exact.
"""

from typing import Final, Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.record import Estimate, Record

#: The three tasks (PII-Bench, 3.1).
BenchTask = Literal["detection", "query_related", "masking"]
BENCH_TASKS: Final[tuple[BenchTask, ...]] = get_args(BenchTask)
#: The subsets of samples, and `all` of them together.
BenchSubset = Literal["all", "single", "multi", "hard", "distract"]
BENCH_SUBSETS: Final[tuple[BenchSubset, ...]] = get_args(BenchSubset)
BenchDomain = Literal["general", "clinical"]
#: What a figure is of, beside its task and domain: of a subset of samples, of one way to mask, of a kind of identifier.
#: Kinds: names by the locale they were drawn from, by category, by HIPAA's letter.
BenchGrouping = Literal["subset", "masking", "name_origin", "category", "hipaa"]
#: How much is masked (Table 8): nothing, everything that was found, or what the question does not need.
MaskingStrategy = Literal["none", "all", "query_unrelated"]
#: In place of a system: the gold answer's own masks, as of a filter that misses nothing.
GOLD_MASKS: Final = "gold-masks"


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


class BenchFigure(Estimate):
    """One mean over samples, with its 95% interval (bootstrap over samples); `n` counts the samples that have it.

    Metrics. Of each task: `strict_f1`, `ent_f1` and `rouge_l_f`, each with `.precision`, `.recall` and `.f1`; `exact`,
    the share of samples with the gold answer; `given`, `unparsed` and `missing` answers. Of masking: `over_masking` and
    `leak`, the needed entities that were masked and the others that were left; `privacy`, `utility` and `balance`. Of
    detection by kind of identifier: `found`.
    """

    system: str
    task: BenchTask
    domain: BenchDomain
    grouping: BenchGrouping = "subset"
    #: One of `BENCH_SUBSETS`, of `MaskingStrategy`, or the name of a kind.
    group: str = "all"
    metric: str
    #: Entities, of a kind of identifier.
    entities: int | None = None


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


class SampleScores(Record):
    """What one system got in one sample and task."""

    system: str
    task: BenchTask
    sample: str
    answer: Literal["given", "unparsed", "missing"]
    #: By metric; null where there was nothing to get wrong.
    scores: dict[str, float | None]


class PiiBench(Record):
    """Everything that `bench.json` holds, and the file that `clinaudit pii score` writes."""

    schema_version: Literal["6.0"] = "6.0"
    clinaudit_version: str
    #: Versions of the libraries that the systems are made of.
    libraries: dict[str, str] = Field(default_factory=dict)
    seed: int
    warnings: list[str] = Field(default_factory=list)
    systems: list[BenchSystem]
    statistics: list[BenchStatistics]
    figures: list[BenchFigure]
    #: Of `clinaudit pii score` alone, which keeps no predictions.
    by_sample: list[SampleScores] = Field(default_factory=list)


#: HIPAA's 18 identifiers, by the letter of their paragraph in 45 CFR 164.514(b)(2)(i).
HipaaIdentifier = Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R"]
HIPAA_IDENTIFIERS: Final[tuple[HipaaIdentifier, ...]] = get_args(HipaaIdentifier)
#: Whose a value is; the first that holds stands.
IdentifierOwner = Literal["echo", "own", "staff", "other_train", "other_nontrain", "nobody"]
