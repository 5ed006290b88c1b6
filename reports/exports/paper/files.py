"""All files of the paper's numbers by name: `paper/*.csv` of published content, `evidence/paper/*.csv` of exact.

Owns which tables there are. One function serves both: exact content has the same records, with ranges of no width.
"""

from typing import Final

from clinaudit.reports.exports.paper.corpus import longitudinal, table5, table6, table7, table8
from clinaudit.reports.exports.paper.csv_table import CsvTable, csv_text, filled
from clinaudit.reports.exports.paper.disclosure import figure3, table1, table4
from clinaudit.reports.exports.paper.identifiers import identifiers_by_kind, identifiers_by_tier
from clinaudit.reports.exports.paper.memorization import figure2, figure4, figure12, k_distribution, regions
from clinaudit.reports.schema.report_content import ReportContent

FOLDER: Final = "paper"
#: Every file there may be, in the paper's order, then identifiers, of which it has no table. No row: no file.
FILE_NAMES: Final = tuple(
    f"{FOLDER}/{name}.csv"
    for name in (
        "table1_disclosure",
        "figure2_figure8_memorization",
        "figure3_delta",
        "table4_balance",
        "table5_corpus",
        "longitudinal_coverage",
        "table6_race_sex",
        "table7_age",
        "table8_training",
        "figure4_sections",
        "figure12_copy_forward",
        "k_distribution",
        "memorized_regions",
        "identifiers_by_tier",
        "identifiers_by_kind",
    )
)


def paper_files(content: ReportContent) -> dict[str, str]:
    """Return the text of each file by its name, `paper/table1_disclosure.csv`; a table without a row is left out."""
    return {f"{FOLDER}/{table.name}.csv": csv_text(table) for table in filled(list_tables(content))}


def list_tables(content: ReportContent) -> list[CsvTable]:
    """Return the tables in the order of `FILE_NAMES`."""
    results = content.results
    return [
        table1(results),
        figure2(content),
        figure3(results),
        table4(results),
        table5(content),
        longitudinal(content),
        table6(results),
        table7(content),
        table8(results),
        figure4(results),
        figure12(results),
        k_distribution(results),
        regions(content),
        identifiers_by_tier(results),
        identifiers_by_kind(results),
    ]
