"""Tables of the corpus: how large it is, and who is in it (the paper's Tables 5, 6 and 7).

Owns what stands in which column. Works on suppressed results; rows that are suppressed whole are joined.
"""

from collections.abc import Mapping

from clinaudit.reports.schema.corpus import CorpusSummary, Moments, PopulationSummary
from clinaudit.reports.tables.table import Table, join_suppressed_rows
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, SUPPRESSED, count_text, number_text


def corpus_tables(corpus: CorpusSummary) -> list[Table]:
    """Return the paper's Tables 5, 6 and 7."""
    populations = {**{display_title(s): p for s, p in corpus.splits.items()}}
    populations |= {f"Cohort {display_title(d)}": p for d, p in corpus.cohorts.items()}
    sizes = tuple(
        (
            name,
            count_text(p.notes),
            count_text(p.patients),
            count_text(p.practices) if p.practices is not None or p.patients is None else NOT_MEASURED,
            count_text(p.tokens) if p.tokens is not None or p.patients is None else NOT_MEASURED,
            _moments(p.notes_per_patient, p),
            _moments(p.tokens_per_patient, p),
        )
        for name, p in populations.items()
    )
    heads = ("Population", "Notes", "Patients", "Practices", "Tokens", "Notes a patient", "Tokens a patient")
    return [
        Table("Size (mean and standard deviation a patient)", heads, join_suppressed_rows(sizes)),
        _breakdown("Race and ethnicity", populations, "race"),
        _breakdown("Sex", populations, "sex"),
        _breakdown("Age", populations, "age_bands", with_age=True),
    ]


def _moments(moments: Moments, population: PopulationSummary) -> str:
    if moments.mean is None:
        return SUPPRESSED if population.patients is None else NOT_MEASURED
    return number_text(moments.mean) + ("" if moments.sd is None else f" (SD {number_text(moments.sd)})")


def _breakdown(
    caption: str, populations: Mapping[str, PopulationSummary], field: str, *, with_age: bool = False
) -> Table:
    keys = list(dict.fromkeys(key for p in populations.values() for key in getattr(p, field)))
    keys.sort(key=lambda key: not key.startswith("<"))
    rows = []
    for name, population in populations.items():
        counts: dict[str, int | None] = getattr(population, field)
        cells = []
        for key in keys:
            hidden = population.patients is None or (key in counts and counts[key] is None)
            cells.append(SUPPRESSED if hidden else f"{counts.get(key) or 0:,}")
        rows.append((name, *((_moments(population.age, population),) if with_age else ()), *cells))
    heads = (
        "Population",
        *(("Mean age",) if with_age else ()),
        *(key if key[:1] in "<0123456789" else display_title(key) for key in keys),
    )
    shown = join_suppressed_rows(rows)
    if len(shown) == 1 and set(shown[0][1:]) == {SUPPRESSED}:
        return Table(caption, heads, (), f"{caption}: {SUPPRESSED} in every group of every split and cohort.")
    return Table(caption, heads, shown)
