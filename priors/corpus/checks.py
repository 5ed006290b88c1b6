"""What must hold of every row of a corpus: one table of checks, of a column, the rows that are wrong, and a message."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from clinaudit.priors.corpus.cells import ALIKE, look
from clinaudit.priors.corpus.schema import SCHEMAS
from clinaudit.priors.corpus.tables import Table

Tables = Mapping[str, Table]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold."""

    table: str
    column: str
    #: Which rows are wrong; None where tables that say so are not there, or could not be read to their end.
    wrong: Callable[[Tables], pl.Expr | None]
    #: `{patients}` is the name of that table's file.
    what: str


def _is_blank(column: str) -> Callable[[Tables], pl.Expr]:
    return lambda _: pl.col(column).is_null()


def _is_repeated(key: Sequence[str]) -> Callable[[Tables], pl.Expr]:
    is_whole = pl.all_horizontal(pl.col(key).is_not_null())
    return lambda _: pl.struct(key).is_duplicated() & is_whole


def _looks_like_another(table: str) -> Callable[[Tables], pl.Expr]:
    def wrong(tables: Tables) -> pl.Expr:
        ids = tables[table].frame.select("patient_id").unique().drop_nulls()
        looks = ids.with_columns(look=pl.Series(map(look, ids["patient_id"]), dtype=pl.String))
        return pl.col("patient_id").is_in(looks.filter(pl.col("look").is_duplicated())["patient_id"].implode())

    return wrong


def _is_in_none_of(*names: str) -> Callable[[Tables], pl.Expr | None]:
    def wrong(tables: Tables) -> pl.Expr | None:
        others = [tables[name] for name in names if name in tables]
        if not others or not all(other.lists_patients for other in others):
            return None
        return ~pl.col("patient_id").is_in(
            pl.concat([one.frame["patient_id"] for one in others]).drop_nulls().implode()
        )

    return wrong


def _is_not_the_first(_: Tables) -> pl.Expr:
    return pl.col("split") != pl.col("split").drop_nulls().first().over("patient_id")


def _is_not_that_of_the_notes(tables: Tables) -> pl.Expr:
    return pl.col("split") != pl.col("patient_id").replace_strict(splits_of(tables, "notes"), default=None)


def splits_of(tables: Tables, name: str) -> dict[str, str]:
    """Return the split of each patient of whom a table gives one, that of the first row."""
    if name not in tables or "split" not in tables[name].columns:
        return {}
    first = tables[name].frame.drop_nulls(["patient_id", "split"]).unique("patient_id", keep="first")
    return dict(first.select("patient_id", "split").iter_rows())


#: Identifiers are never converted: 007 and 7 may be two people.
_EXACTLY = "(identifiers must be written exactly alike in all tables: 007 is not 7)"
#: Of a cell the first thing wrong is said.
CHECKS = (
    *(Check(one.name, column, _is_blank(column), "is blank") for one in SCHEMAS for column in one.required),
    *(
        Check(one.name, one.key[-1], _is_repeated(one.key), f"has the same {' and '.join(one.key)} as another row")
        for one in SCHEMAS
    ),
    *(Check(one.name, "patient_id", _looks_like_another(one.name), ALIKE) for one in SCHEMAS),
    Check("notes", "patient_id", _is_in_none_of("patients"), f"has no row in {{patients}} {_EXACTLY}"),
    Check("diagnoses", "patient_id", _is_in_none_of("notes", "patients"), f"is in no other table {_EXACTLY}"),
    *(
        Check(name, "split", _is_blank("split"), "is blank; give train, nontrain or validation")
        for name in ("notes", "patients")
    ),
    Check(
        *("notes", "split", _is_not_the_first),
        "is not that of the patient's earlier notes; a patient is in one split as a whole",
    ),
    Check(
        *("patients", "split", _is_not_that_of_the_notes),
        "is not the one that the notes table gives; correct one, or leave it out",
    ),
)


def check_tables(tables: Tables) -> None:
    """Add each row that is wrong to the problems of its table; a column that a file does not have is another matter."""
    names = {name: table.file.name for name, table in tables.items()}
    for check in CHECKS:
        table = tables.get(check.table)
        if table is None or check.column not in table.columns:
            continue
        wrong = check.wrong(tables)
        if wrong is not None:
            for row in table.frame.filter(wrong)["row"]:
                table.problems.add(table.file.name, check.what.format(**names), row=row, column=check.column)
