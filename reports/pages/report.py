"""The report page: suppressed results and the run's provenance in, one self-contained HTML text out.

Owns the order of the parts. The page holds no script and names no outside resource; jinja2 escapes every text from
outside.
"""

from collections.abc import Mapping

from clinaudit.reports.figures.cohorts import balance_figure, overlap_figure
from clinaudit.reports.figures.disclosure import delta_figure, roc_figure
from clinaudit.reports.figures.groups import distribution_figure, subgroup_disclosure_figure, subgroup_figure
from clinaudit.reports.figures.memorization import (
    composition_figure,
    copy_forward_figure,
    memorization_figure,
    near_verbatim_figure,
)
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.estimate import Arm
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.cohorts import cohorts_table, second_matcher_table
from clinaudit.reports.tables.corpus import corpus_tables
from clinaudit.reports.tables.disclosure import counts_table, disclosure_table, metric_table
from clinaudit.reports.tables.institution import (
    breach_factors_table,
    next_step_sentences,
    signatures_table,
    subject_table,
)
from clinaudit.reports.tables.judge import (
    corrected_sentence,
    corrected_table,
    judge_caveat_sentences,
    judge_matrix_table,
    judge_metrics_table,
)
from clinaudit.reports.tables.memorization import paper_view_table, regions_table, shared_table
from clinaudit.reports.tables.power import memorization_zeros_table, power_table
from clinaudit.reports.tables.run import completeness_table, provenance_table, rules_table, training_table
from clinaudit.reports.tables.table import tiers_of_access
from clinaudit.reports.wording.captions import stitched_caption
from clinaudit.reports.wording.escaped_text import harmless_document
from clinaudit.reports.wording.findings import (
    asked_sentence,
    compared_sentence,
    headline_sentences,
    not_measured_sentences,
)
from clinaudit.reports.wording.names import STATUSES
from clinaudit.reports.wording.verdict import tier_sentences

_TEMPLATE = "report.html.j2"
_STYLE = "report.css"
#: The metric that the default policy limits, and those of Table 1 of the paper; the page folds all but the first two.
_METRICS_SHOWN = ("auroc_all", "ppv", "auroc", "mention_rate")
_DELTAS_SHOWN = ("auroc_all", "auroc", "ppv")


def render_page(
    results: Results,
    provenance: Mapping[str, object],
    *,
    for_paper: bool = False,
) -> str:
    """Return `report.html` for results that are already suppressed.

    `provenance` is the content of `run.json`. With `for_paper` the page is what `pdf` draws: folded tables stand at the
    end, and a page number stands where each of them was.
    """
    # A NUL in a label ends the process of the drawing library; a direction override reverses the text after it.
    results = Results.model_validate(harmless_document(results.model_dump(mode="json")))
    provenance = harmless_document(provenance)
    has_both = any(pair.nontrain for tiers in results.disclosure.by_diagnosis.values() for pair in tiers.values())
    arms: tuple[Arm, ...] = ("train", "nontrain") if has_both else ("train",)
    decision = results.decision
    status = None if decision is None else STATUSES[decision.status]
    settings = provenance.get("settings")
    controls = settings.get("--controls") if isinstance(settings, Mapping) else None
    context = {
        "annex": [] if for_paper else None,
        "decision": decision,
        "status_word": "No verdict" if status is None else status[0],
        "status_sign": "–" if status is None else status[1],
        "rule_counts": _rule_counts(results),
        "headline": headline_sentences(results),
        "by_tier": tier_sentences(decision),
        "gaps": not_measured_sentences(results),
        "tiers_of_access": tiers_of_access(),
        "asked": asked_sentence(results),
        "memorization": memorization_figure(results),
        "composition": composition_figure(results),
        "regions": regions_table(results),
        "stitched": stitched_caption(results),
        "shared": shared_table(results),
        "paper_view": paper_view_table(results),
        "copy_forward": copy_forward_figure(results),
        "near_verbatim": near_verbatim_figure(results),
        "subgroups": subgroup_figure(results),
        "distribution": distribution_figure(results),
        "memorization_zeros": memorization_zeros_table(results),
        "has_disclosure": bool(results.disclosure.by_diagnosis),
        "metrics": [metric_table(results, metric) for metric in _METRICS_SHOWN],
        "deltas": [delta_figure(results, metric=metric) for metric in _DELTAS_SHOWN],
        "rocs": [roc_figure(results, arm=arm) for arm in arms],
        "disclosure": disclosure_table(results),
        "counts": counts_table(results),
        "subgroup_disclosure": subgroup_disclosure_figure(results),
        "power": power_table(results),
        "judge_caveat": judge_caveat_sentences(results.judge_quality),
        "judge_metrics": judge_metrics_table(results),
        "judge_matrix": judge_matrix_table(results),
        "corrected": corrected_table(results),
        "corrected_sentence": corrected_sentence(results),
        "cohorts": cohorts_table(results),
        "compared": compared_sentence(results, controls),
        "second_matcher": second_matcher_table(results),
        "balance": balance_figure(results),
        "overlap": overlap_figure(results),
        "corpus": [] if results.corpus is None else corpus_tables(results.corpus),
        "labels": None if results.corpus is None else results.corpus.labels,
        "next_steps": next_step_sentences(results),
        "breach_factors": breach_factors_table(results),
        "subject": subject_table(),
        "signatures": signatures_table(),
        "completeness": completeness_table(results),
        "rules": None if decision is None else rules_table(decision),
        "training": training_table(results),
        "warnings": [*results.warnings, *(results.corpus.warnings if results.corpus else ())],
        "provenance": provenance_table(
            provenance,
            has_shipped_labels=results.judge_quality is not None and results.judge_quality.labels == "shipped",
        ),
        "schema_version": results.schema_version,
    }
    return render_html(_TEMPLATE, style=_STYLE, context=context)


def _rule_counts(results: Results) -> str:
    if results.decision is None:
        return "no policy was applied"
    statuses: list[str] = [rule.status for rule in results.decision.rules]
    parts = (("fail", "failed"), ("inconclusive", "inconclusive"), ("pass", "passed"))
    return ", ".join(f"{statuses.count(status)} {word}" for status, word in parts)
