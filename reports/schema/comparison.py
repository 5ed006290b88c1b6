"""Records of a comparison: what `compare.json` holds, published or exact (docs/for-ml-engineers.md).

A comparison is a join of two tables of estimates: A is the run before, B the one after. An exact comparison (PHI) has
beside it what only the evidence of both runs holds: the differences of the patients whom both asked.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer

from clinaudit.reports.estimates.frame import METRICS, PLACE, Row
from clinaudit.reports.schema.certificate import Forgetting
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.run_results import Status

#: What was read: both runs' published tables, or the evidence of both.
FiguresRead = Literal["published", "exact"]


class Difference(Record):
    """A setting, version or digest in which the runs differ."""

    name: str
    a: str
    b: str


class MovedRules(Record):
    """The verdicts of both runs, and what became of the rules, each in words: "Own text · Appointment reminder"."""

    #: Null where no policy was applied.
    a: Status | None
    b: Status | None
    #: Failed in A and pass in B; fail in B alone; fail in both; could not be decided in B.
    mended: list[str]
    new: list[str]
    failing: list[str]
    open: list[str]
    #: Failed in A, and no rule of B, or with another limit there.
    gone: list[str]


class _Sparse(Record):
    """A record that leaves out of JSON what does not apply."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: of for name, of in write(self).items() if of is not None and of != ""}


class Side(_Sparse):
    """A figure as the table of estimates has it; in JSON what does not apply is left out."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    count_low: int | None = None
    count_high: int | None = None
    of_low: int | None = None
    of_high: int | None = None

    @classmethod
    def of(cls, row: Row) -> Self:
        """Return the figure of a row."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields} | {"reason": row.reason or None})


def _require_metric(name: str) -> str:
    if name not in METRICS:
        raise ValueError("no metric of the registry")
    return name


class Change(_Sparse):
    """One figure in both runs, and B minus A, at a place of the table of estimates.

    The difference of two tables is that of independent patients (MOVER); one with `pairs` is of the same patients.
    """

    metric: Annotated[str, AfterValidator(_require_metric)]
    form: str = ""
    tier: str = ""
    arm: str = ""
    diagnosis: str = ""
    by: str = ""
    part: str = ""
    a: Side
    b: Side
    difference: Side
    #: Patients whom both runs asked; of these, of a share, how many had it in A alone, and in B alone.
    pairs: int | None = None
    a_only: int | None = None
    b_only: int | None = None

    @classmethod
    def of(cls, a: Row, b: Row, difference: Row, **counts: int | None) -> Self:
        """Return the change between two rows of one place."""
        place = dict(zip(PLACE, a.place, strict=True))
        return cls(**place, a=Side.of(a), b=Side.of(b), difference=Side.of(difference), **counts)

    @property
    def place(self) -> tuple[str, ...]:
        """Where it stands, as `PLACE` has it."""
        return tuple(getattr(self, column) for column in PLACE)

    def row(self, side: Literal["a", "b", "difference"]) -> Row:
        """Return a side as a row of the table of estimates."""
        own = dict(getattr(self, side))
        place = dict(zip(PLACE, self.place, strict=True))
        return Row(**{**place, **own, "reason": own["reason"] or ""})

    @property
    def direction(self) -> int | None:
        """1 where the 95% interval of the difference lies above 0, -1 below, 0 where it holds 0; None without one."""
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return None
        return 1 if low > 0 else -1 if high < 0 else 0


class Comparison(Record):
    """Everything `compare.json` holds, and `evidence/compare.json`."""

    schema_version: Literal["6.0"] = "6.0"
    figures: FiguresRead
    #: One sentence: what changed, as far as these figures show it.
    conclusion: str = ""
    #: Null where neither run has a verdict.
    rules: MovedRules | None = None
    #: Of run B's audit, as the site gave it (ISO 8601); None where it gave none.
    date: str | None = None
    differences: list[Difference]
    warnings: list[str]
    #: In the order of the table of estimates.
    changes: list[Change] = Field(default_factory=list)
    forgetting: Forgetting | None = None

    def changes_of(self, metric: str, **place: str) -> list[Change]:
        """Return the changes of a metric that agree with the columns named."""
        asked = {"metric": metric, **place}.items()
        return [one for one in self.changes if all(getattr(one, column) == of for column, of in asked)]
