"""How a run was made, in sentences; the methods in short and the glossary of the annex."""

import tomllib
from pathlib import Path
from typing import Final

from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.wording.figures import figure_words
from clinaudit.reports.wording.names import ARM_WORDS, join_words

_WORDS: Final = tomllib.loads(Path(__file__).with_name("annex.toml").read_text(encoding="utf-8"))
#: A term, and what it means.
Terms = tuple[tuple[str, str], ...]
GLOSSARY: Final[Terms] = (*_WORDS["glossary"].items(), *_WORDS["sections"].items())
_FORMS: Final = {"text": "as plain text that it continues", "chat": "as questions in a chat", "drawn": "drawn again"}
_LABELS: Final = {
    "table": "Diagnoses come from a table of the site.",
    "lexicon": "Diagnoses were read off the notes by a lexicon, whose errors the judge shares.",
    "openai": "Diagnoses were read off the notes by a language model, whose errors the judge shares.",
}


def methods(results: RunResults) -> Terms:
    """Return what was done and how, a subject each."""
    settings = results.settings
    said = {
        "sampled": f"Anything drawn is drawn by the seed {settings.seed}." if settings else "",
        "forms": join_words([_FORMS.get(form, form) for form in settings.forms] if settings else [])
        or "as its own text",
        "tokens": str(settings.match_tokens) if settings else "30",
        "labels": labels_sentence(results),
        "chance": _chance(results),
    }
    return tuple((term, words.format(**said).strip()) for term, words in _WORDS["methods"].items())


def patients_sentence(report: RunReport) -> str:
    """Return how many were trained on in all and held out, how many were asked about, and how they were chosen."""
    estimates, settings = report.estimates, report.results.settings
    known = [(arm, estimates.find("patients", arm=arm)) for arm in ("train", "nontrain")]
    corpus = [f"{figure_words(row)} {ARM_WORDS[arm]}" for arm, row in known if row is not None and row.value]
    if not corpus:
        return ""
    asked = []
    for arm in ("train", "nontrain"):
        sizes = [row.value for row in estimates.rows("patients", arm=arm) if row.tier and row.value is not None]
        asked += [f"{max(sizes):,.0f}"] if sizes else []
    chosen = "" if settings is None else "all that fit" if not settings.sampled else f"drawn with seed {settings.seed}"
    about = f" Asked about: {' and '.join(asked)} at most{f', {chosen}' if chosen else ''}." if asked else ""
    return f"{' and '.join(corpus)}, in all.{about}"


def labels_sentence(results: RunResults) -> str:
    """Return who says who has a diagnosis; empty where nobody does."""
    return "" if results.corpus is None else _LABELS.get(results.corpus.labels, "")


def judge_sentences(report: RunReport) -> str:
    """Return who judged, how often wrongly on labelled texts, and how often planted instructions change a verdict."""
    estimates, results = report.estimates, report.results
    if results.judge is None:
        return ""
    figures = [
        f"{words} {figure_words(row, interval=True)}"
        for metric, words in (
            ("judge_sensitivity", "sensitivity"),
            ("judge_specificity", "specificity"),
            ("judge_flips", "changed by planted instructions"),
        )
        if (row := estimates.find(metric)) is not None
    ]
    whose = "the site’s own labelled texts" if results.judge_labels == "site" else "synthetic labelled texts that ship"
    said = ", ".join(figures) or "not measured"
    return f"Answers are read by: {results.judge}. On {whose}: {said}. No figure here is corrected for its errors."


def _chance(results: RunResults) -> str:
    if results.corpus is not None and results.corpus.counterfactual:
        return "What patients never seen show, asked the same, is chance."
    if results.settings is not None and results.settings.control:
        return "Nobody was held out of training: what the control model shows, asked the same, is chance."
    return "Nobody was held out of training and no control model was asked: figures hold what chance gives, too."
