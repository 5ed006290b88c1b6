"""`bench.html`: how good each filter for identifiers is, what it misses and what it costs (PII-Bench in kind).

Holds no sample and no text of one: figures of invented persons alone. No script, no outside resource.

And the page on which a person checks its samples (PII-Bench, G): one file with its own script. These may be made from
patients' notes, so it says PHI on every screen; nothing is sent anywhere, and what the browser keeps are places and
categories, never words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from clinaudit.reports.figures.pii_bench import left_figure, missed_figure
from clinaudit.reports.pages.html import own_script, render_html, script_data
from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, PiiBench
from clinaudit.reports.tables.pii_bench import (
    KINDS,
    headline,
    measured_domains,
    missed_table,
    privacy_table,
    scores_table,
    statistics_table,
    systems_table,
    types_table,
    weakest_sentence,
)
from clinaudit.reports.wording.escaped_text import harmless_document


def render_pii_bench(bench: PiiBench) -> str:
    """Return the HTML of what `clinaudit pii bench` measured."""
    bench = PiiBench.model_validate(harmless_document(bench.model_dump(mode="json")))
    domains = measured_domains(bench)
    return render_html(
        "pii_bench.html.j2",
        style=("page.css", "pii_bench.css"),
        context={
            "bench": bench,
            "headline": headline(bench),
            "weakest": weakest_sentence(bench),
            "figures": [left_figure(bench), missed_figure(bench)],
            "scores": [scores_table(bench, domain) for domain in domains],
            "folded_tables": [
                *(scores_table(bench, domain, subset) for domain in domains for subset in BENCH_SUBSETS[1:]),
                privacy_table(bench),
                *(missed_table(bench, grouping, domain) for grouping in KINDS for domain in domains),
                statistics_table(bench.statistics),
                types_table(bench.statistics),
                systems_table(bench),
            ],
        },
    )


def render_review(samples: Sequence[Mapping[str, Any]], categories: Sequence[Mapping[str, str]], *, digest: str) -> str:
    """Return the HTML on which samples are checked; `digest` binds a review to their file.

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
