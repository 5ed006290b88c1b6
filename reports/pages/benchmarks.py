"""Pages of benchmarks: filters for identifiers (`bench.html`), the review of their samples, unlearning (`report.html`).

Owns the order of the parts. No page names an outside resource, and the page of the review alone holds a script. The
review and the page of unlearning are PHI, and say so on every screen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from clinaudit.reports.figures.pii_bench import left_figure, missed_figure
from clinaudit.reports.figures.unlearning import disease_traces, sizes_figure, trade_off_traces
from clinaudit.reports.pages.html import harmless, own_script, render_html, script_data
from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, PiiBench
from clinaudit.reports.tables import pii_bench as pii_tables
from clinaudit.reports.tables import unlearning as tables
from clinaudit.reports.wording.unlearning import Evaluation


def render_pii_bench(bench: PiiBench) -> str:
    """Return the HTML of what `clinaudit pii bench` measured (PII-Bench in kind).

    How good each filter for identifiers is, what it misses and what it costs. The page holds no sample and no text of
    one: figures of invented persons alone.
    """
    bench = harmless(bench)
    domains = pii_tables.measured_domains(bench)
    return render_html(
        "pii_bench.html.j2",
        style=("page.css", "pii_bench.css"),
        context={
            "bench": bench,
            "headline": pii_tables.headline(bench),
            "weakest": pii_tables.weakest_sentence(bench),
            "figures": [left_figure(bench), missed_figure(bench)],
            "scores": [pii_tables.scores_table(bench, domain) for domain in domains],
            "folded_tables": [
                *(pii_tables.scores_table(bench, domain, subset) for domain in domains for subset in BENCH_SUBSETS[1:]),
                pii_tables.privacy_table(bench),
                *(
                    pii_tables.missed_table(bench, grouping, domain)
                    for grouping in pii_tables.KINDS
                    for domain in domains
                ),
                pii_tables.statistics_table(bench.statistics),
                pii_tables.types_table(bench.statistics),
                pii_tables.systems_table(bench),
            ],
        },
    )


def render_review(samples: Sequence[Mapping[str, Any]], categories: Sequence[Mapping[str, str]], *, digest: str) -> str:
    """Return the HTML on which a person checks samples (PII-Bench, G); `digest` binds a review to their file.

    One file with its own script. Samples may be made from patients' notes, so the page says PHI. Nothing is sent
    anywhere, and what the browser keeps are places and categories, never words.

    A sample has `id`, `subset`, `description`, `query` and `entities`, each with `start` and `end` (characters,
    half-open), `category`, `subject` and `needed`. A category has `id`, `name`, `type` and the `tag` that stands in a
    masked text, without brackets.
    """
    script, script_digest = own_script("pii_review_steps.js", "pii_review.js")
    return render_html(
        "pii_review.html.j2",
        style=("phi_page.css", "pii_review.css"),
        context={
            "script": script,
            "script_digest": script_digest,
            "data": script_data({"samples": samples, "categories": categories, "digest": digest}),
            "shown": len(samples),
        },
    )


def render_unlearning(evaluation: Evaluation) -> str:
    """Return the HTML of what `clinaudit unlearn evaluate` found (PHI; AMNESIA in kind).

    What was forgotten, what broke, what others lost. The page holds no id and no text of a patient, but exact figures
    of few.
    """
    record = harmless(evaluation.record)
    # Names of models stand in figures, too: they can be printed, or the command refuses them.
    evaluation = Evaluation(record, evaluation.figures, evaluation.checks)
    levels = evaluation.levels()
    bench = record.bench
    return render_html(
        "unlearning.html.j2",
        style=("page.css", "unlearning.css"),
        context={
            "evaluation": record,
            "sizes": [
                sizes_figure(evaluation, level, splits, place=place)
                for place, (level, splits) in enumerate(levels.items())
            ],
            "leakage": [tables.leakage_table(evaluation, level, splits) for level, splits in levels.items()],
            "collapse": [table for split in record.splits if (table := tables.collapse_table(evaluation, split)).rows],
            "trade_off": [trade_off_traces(evaluation, use) for use in ("train", "holdout")],
            "diseases": disease_traces(evaluation),
            "disease_tables": [table for split in record.splits for table in tables.disease_tables(evaluation, split)],
            "parts": [(split.title, tables.parts_tables(evaluation, split)) for split in record.splits],
            "trials": [
                (split.title, tried) for split in record.splits if (tried := tables.trials_tables(evaluation, split))
            ],
            "corpus": None if bench is None else tables.corpus_table(bench),
            "splits": tables.splits_table(record.splits if bench is None else bench.splits),
            "panel": [] if bench is None else tables.panel_tables(bench),
        },
    )
