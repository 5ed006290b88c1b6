"""Tables of how the prompts fit the notes, and of a tier asked in another form, for the annex.

Owns what stands in which column. Nothing is pooled over the forms in which a tier was asked.
"""

from dataclasses import replace

from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.tables.disclosure import metric_table
from clinaudit.reports.tables.memorization import memorization_table
from clinaudit.reports.tables.table import Table, asked_about, memorization_summaries, order_tiers
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import count_text, estimate_text
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
