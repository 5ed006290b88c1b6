"""Tables of the run: completeness, training log, provenance. The rules are in `rules`."""

from collections.abc import Mapping

from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import display_title, tier_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text


def completeness_table(results: RunResults) -> Table:
    """Return the ledger of planned, missing, failed and excluded units."""
    rows = []
    for stage, units in results.completeness.items():
        excluded = "; ".join(f"{_with_title(reason)}: {count_text(n)}" for reason, n in units.excluded.items())
        sizes = (count_text(units.planned), count_text(units.missing), count_text(units.failed))
        rows.append((display_title(stage), *sizes, excluded or "none"))
    note = "“Missing” is what was planned and is neither done nor failed; what is excluded was not planned."
    note += " A unit is a patient at a tier, asked in one form; of judgements, also one diagnosis."
    heads = ("Stage", "Planned", "Missing", "Failed", "Excluded")
    return Table("Units of work by stage", heads, tuple(rows), note if rows else "")


def _with_title(reason: str) -> str:
    """Return a reason that opens with a tier's id with its title instead."""
    tier, colon, why = reason.partition(": ")
    return f"{tier_title(tier)}: {why}" if colon else reason


def training_table(results: RunResults) -> Table:
    """Return the paper's Table 8."""

    def cell(value: float | None) -> str:
        return NOT_MEASURED if value is None else f"{value:.4f}"

    rows = tuple(
        (f"{row.epoch:g}", cell(row.train_loss), cell(row.validation_loss), cell(row.perplexity))
        for row in results.training or ()
    )
    return Table("Training log", ("Epoch", "Train loss", "Validation loss", "Perplexity"), rows)


def provenance_table(provenance: Mapping[str, object], *, has_shipped_labels: bool = False) -> Table:
    """Return settings, versions and digests, nested keys joined by dots.

    `has_shipped_labels`: the judge was scored on the set that ships, whose digest names no file of the site.
    """
    rows = tuple(
        (item, f"shipped set ({value})" if has_shipped_labels and item == "settings.--judge-labels" else value)
        for item, value in _flatten("", provenance)
        if item  # nothing at all is no row
    )
    return Table("Settings, versions and digests of this run", ("Item", "Value"), rows)


def _flatten(prefix: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        rows = []
        for key in value:
            rows += _flatten(f"{prefix}.{key}" if prefix else str(key), value[key])
        return rows
    if isinstance(value, (list, tuple)):
        return [(prefix, ", ".join(str(item) for item in value) or "none")]
    if value is None or value == {}:
        return [(prefix, "not given")]
    return [(prefix, str(value).lower() if isinstance(value, bool) else str(value))]
