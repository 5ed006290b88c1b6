"""The annex: every number of the report as a table, methods, words, provenance.

A table in which nothing may be shown is left out, and so is a chart of one bar.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clinaudit.reports.figures.bars import BarFigure, Panel
from clinaudit.reports.figures.disclosure import roc_panels
from clinaudit.reports.figures.extraction import queries_figure
from clinaudit.reports.figures.memorization import (
    copy_forward_figure,
    memorized_figure,
    others_text_figure,
    shared_figure,
)
from clinaudit.reports.schema.results import ReportContent, RunResults
from clinaudit.reports.tables.attacks import attacks_table, membership_table, ordinary_table, queries_table
from clinaudit.reports.tables.corpus import corpus_tables, group_means_tables, subgroup_tables
from clinaudit.reports.tables.disclosure import (
    balance_table,
    cohorts_table,
    metric_tables,
    p_values_table,
    power_table,
    verdicts_table,
)
from clinaudit.reports.tables.identifiers import identifier_bins_table, identifiers_table
from clinaudit.reports.tables.judge import judge_metrics_table
from clinaudit.reports.tables.memorization import (
    above_table,
    bins_table,
    composition_tables,
    copy_forward_tables,
    memorization_table,
    memorization_zeros_table,
    near_verbatim_table,
    others_table,
    piece_lengths_table,
    regions_table,
    sections_table,
    shared_table,
    short_texts_table,
    source_notes_table,
    spread_table,
)
from clinaudit.reports.tables.prompts import (
    completeness_table,
    prompts_table,
    provenance_table,
    refusals_table,
    rendering_tables,
    training_table,
)
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.annex import GLOSSARY, METHODS, SECTIONS, compared_sentence, labels_sentence
from clinaudit.reports.wording.attacks import membership_sentence, ordinary_sentence, queries_sentences
from clinaudit.reports.wording.captions import others_fail, refusal_sentences


@dataclass(frozen=True, slots=True)
class AnnexPart:
    """One folded section: its title, sentences, charts, curves, tables, and terms with what they mean."""

    id: str
    title: str
    sentences: tuple[str, ...] = ()
    figures: tuple[BarFigure, ...] = ()
    curves: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    #: Tables that are folded once more, each for itself.
    folded: tuple[Table, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show but sentences."""
        return not (self.figures or self.curves or self.tables or self.terms or self.folded)


def context(content: ReportContent) -> dict[str, object]:
    """Return what `annex.html.j2` shows, as `annex`."""
    results = content.results
    parts = [
        _repeated_text(results),
        _identifiers(results),
        _diagnoses(results),
        _prompts(results),
        _subgroups(results),
        _cohorts(content),
        _judge(results),
        _corpus(results),
        _run(results),
        AnnexPart("methods", "Methods in short", terms=METHODS),
        AnnexPart("glossary", "Glossary", terms=(*GLOSSARY, *SECTIONS)),
        _provenance(content),
    ]
    return {"parts": [part for part in parts if not part.is_empty]}


def _repeated_text(results: RunResults) -> AnnexPart:
    figures = [memorized_figure(results), shared_figure(results), copy_forward_figure(results), queries_figure(results)]
    if not others_fail(results):
        figures.insert(1, others_text_figure(results))
    return AnnexPart(
        "annex-repeated-text",
        "Repeated text in numbers",
        (
            *(figure.caption for figure in figures if not figure.rows),
            *queries_sentences(results),
            *([] if results.ordinary is None else [ordinary_sentence(results.ordinary)]),
            *([] if results.membership is None else [membership_sentence(results.membership)]),
        ),
        figures=tuple(figure for figure in figures if figure.rows),
        tables=_filled(
            memorization_table(results),
            above_table(results),
            bins_table(results),
            spread_table(results),
            memorization_zeros_table(results),
            short_texts_table(results),
            regions_table(results),
            source_notes_table(results),
            piece_lengths_table(results),
            shared_table(results),
            sections_table(results),
            others_table(results),
            near_verbatim_table(results),
            queries_table(results),
            *([] if results.ordinary is None else [ordinary_table(results.ordinary)]),
            *([] if results.membership is None else [membership_table(results.membership)]),
        ),
        folded=_filled(*composition_tables(results), *copy_forward_tables(results)),
    )


def _identifiers(results: RunResults) -> AnnexPart:
    tables = _filled(identifiers_table(results), identifier_bins_table(results))
    return AnnexPart("annex-identifiers", "Identifiers in numbers", tables=tables)


def _diagnoses(results: RunResults) -> AnnexPart:
    curves = roc_panels(results.disclosure)
    about = "ROC curves and p-values of diagnoses stand in the exact report alone, which stays inside."
    if curves:
        about = (
            "ROC curves among the generations that mention the diagnosis: dashed for background facts, solid for"
            " fragments of a note, thicker the more is known; the diagonal is chance."
        )
    return AnnexPart(
        "annex-diagnoses",
        "Diagnoses in numbers",
        (about,) if results.disclosure.by_diagnosis else (),
        curves=tuple(curves),
        tables=_filled(
            *metric_tables(results),
            p_values_table(results),
            power_table(results),
            verdicts_table(results),
        ),
    )


def _prompts(results: RunResults) -> AnnexPart:
    about = (
        "A tier that quotes a note is asked with the note as it begins. A model with a chat template is asked in a chat"
        " as well. Each form has its own rules; the worse decides."
    )
    tables = _filled(prompts_table(results), refusals_table(results), *rendering_tables(results))
    return AnnexPart("annex-prompts", "Prompts", (about, *refusal_sentences(results)), tables=tables)


def _subgroups(results: RunResults) -> AnnexPart:
    tables = _filled(*subgroup_tables(results), *group_means_tables(results))
    return AnnexPart("annex-subgroups", "Subgroups", tables=tables)


def _cohorts(content: ReportContent) -> AnnexPart:
    results = content.results
    settings = content.provenance.get("settings")
    compared = compared_sentence(results, settings.get("--controls") if isinstance(settings, Mapping) else None)
    return AnnexPart(
        "annex-cohorts",
        "Cohorts and balance",
        (compared,) if compared else (),
        tables=_filled(cohorts_table(results), balance_table(results)),
    )


def _judge(results: RunResults) -> AnnexPart:
    return AnnexPart("annex-judge", "The judge", tables=_filled(judge_metrics_table(results)))


def _corpus(results: RunResults) -> AnnexPart:
    corpus = results.corpus
    if corpus is None:
        return AnnexPart("annex-corpus", "The corpus")
    return AnnexPart(
        "annex-corpus", "The corpus", (labels_sentence(corpus.labels),), tables=_filled(*corpus_tables(corpus))
    )


def _run(results: RunResults) -> AnnexPart:
    tables = _filled(completeness_table(results), attacks_table(results), training_table(results))
    return AnnexPart("annex-run", "Completeness and training log", tables=tables)


def _provenance(content: ReportContent) -> AnnexPart:
    quality = content.results.judge_quality
    table = provenance_table(content.provenance, has_shipped_labels=quality is not None and quality.labels == "shipped")
    sentences = (
        "Text is generated greedily, and anything random is seeded: the same files, settings and versions give"
        " the same figures, as long as the machine or server computes the same way.",
        f"Results schema {content.results.schema_version}.",
    )
    return AnnexPart("provenance", "Provenance", sentences, tables=_filled(table) if content.provenance else ())


def _filled(*tables: Table) -> tuple[Table, ...]:
    return tuple(table for table in tables if table.rows)
