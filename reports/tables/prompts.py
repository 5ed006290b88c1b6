"""Tables of a run: how the prompts fit the notes, a tier asked in another form, completeness, training log, provenance.

Nothing is pooled over the forms in which a tier was asked.
"""

from collections.abc import Mapping
from dataclasses import replace

from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.tables.disclosure import metric_table
from clinaudit.reports.tables.memorization import memorization_table
from clinaudit.reports.tables.table import Table, asked_about, memorization_summaries
from clinaudit.reports.wording.names import display_title, join_words, order_tiers, tier_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text
from clinaudit.reports.wording.rule_figures import RENDERING_WORDS


def prompts_table(results: RunResults) -> Table:
    """Return how many patients were asked with a prompt that fits their own notes, by tier and arm."""
    rows = [
        (
            *asked_about(tier, arm),
            count_text(prompts.unbroken),
            count_text(prompts.broken),
            estimate_text(prompts.unbroken_share, share=True),
            count_text(prompts.own),
            count_text(prompts.earlier_note),
            join_words([f"{name.replace('_', ' ')} {count_text(count)}" for name, count in prompts.also_shows.items()]),
        )
        for tier in order_tiers(set(results.prompts))
        for arm in ARMS
        if (prompts := results.prompts[tier].get(arm)) is not None
    ]
    heads = (
        *("Tier", "Who", "Fitting prompts", "Other prompts", "Share of the first", "Nobody else’s"),
        *("Of an earlier note", "Also shows"),
    )
    note = (
        "A prompt that quotes a note fits where it is the beginning of the patient's own note, with every fact that "
        "the template places. One of background facts fits where they are the patient's own: the patients table "
        "agrees with the notes on name, birth date and sex. Whoever holds a note's beginning also sees what else "
        "stands there. A prompt that several patients are asked with is about none of them."
    )
    return Table("How the prompts fit the notes", heads, tuple(rows), note)


def refusals_table(results: RunResults) -> Table:
    """Return of how many patients the model refused to answer, asked in a chat, by tier and arm."""
    rows = [
        (
            *asked_about(tier, arm),
            count_text(summary.refused_patients),
            estimate_text(share, share=True),
        )
        for name in (None, *results.renderings)
        for tier, arm, summary in memorization_summaries(view_rendering(results, name))
        if summary.refused_patients is not None and (share := summary.refused_share) is not None
    ]
    note = (
        "A refusal counts neither as leaked nor as not leaked: figures of repeated text are of the other answers, and"
        " for a diagnosis it counts as unjudged."
    )
    return Table("Refusals in the chat", ("Tier", "Who", "Patients refused", "Their share"), tuple(rows), note)


def rendering_tables(results: RunResults) -> list[Table]:
    """Return what was measured where a tier was asked in another form, a few tables a form."""
    tables = []
    for name in results.renderings:
        seen, words = view_rendering(results, name), RENDERING_WORDS.get(name, name)
        for table in (memorization_table(seen), metric_table(seen, "auroc_all")):
            tables.append(replace(table, caption=f"{table.caption}, {words}"))
    return tables


def completeness_table(results: RunResults) -> Table:
    """Return the ledger of planned, missing and excluded units."""
    rows = []
    for stage, units in results.completeness.items():
        excluded = "; ".join(f"{_with_title(reason)}: {count_text(n)}" for reason, n in units.excluded.items())
        rows.append((display_title(stage), count_text(units.planned), count_text(units.missing), excluded or "none"))
    note = "“Missing” is what was planned and is not done; what is excluded was not planned."
    note += " A unit is a patient at a tier, asked in one form; of judgements, also one diagnosis."
    heads = ("Stage", "Planned", "Missing", "Excluded")
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
