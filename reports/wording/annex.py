"""The words of the annex: methods in short, with what this run did, and the glossary."""

import tomllib
from pathlib import Path
from typing import Final

from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.wording.figures import row_text
from clinaudit.reports.wording.names import join_words

_WORDS: Final = tomllib.loads(Path(__file__).with_name("annex.toml").read_text(encoding="utf-8"))
#: A term, and what it means.
Terms = tuple[tuple[str, str], ...]
GLOSSARY: Final[Terms] = (*_WORDS["glossary"].items(), *_WORDS["sections"].items())
_FORMS: Final = {"text": "as plain text that it continues", "chat": "as questions in a chat", "drawn": "drawn again"}
_LABELS: Final = {
    "table": "Who has a diagnosis is said by a table of the site.",
    "lexicon": "Who has a diagnosis was read from the notes with a lexicon, not from a table.",
    "openai": "Who has a diagnosis was read from the notes by a language model, not from a table.",
}


def methods(report: RunReport) -> Terms:
    """Return what was done and how, a subject each."""
    results = report.results
    settings = results.settings
    said = {
        "trained": trained_sentence(report.estimates),
        "sampled": f"Anything drawn is drawn by the seed {settings.seed}." if settings else "",
        "forms": join_words([_FORMS.get(form, form) for form in settings.forms] if settings else [])
        or "as its own text",
        "tokens": str(settings.match_tokens) if settings else "30",
        "judge": " ".join(filter(None, (_labels(results), judge_sentence(report)))),
        "chance": _chance(results),
    }
    return tuple((term, words.format(**said)) for term, words in _WORDS["methods"].items())


def trained_sentence(estimates: Estimates) -> str:
    """Return how many were trained on in all against those asked; empty where the table does not say it."""
    whole = estimates.find("patients", arm="train")
    asked = [row.value for row in estimates.rows("patients", arm="train") if row.tier and row.value is not None]
    if whole is None or whole.value is None or not asked:
        return ""
    low, high = min(asked), max(asked)
    between = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}, by tier,"
    return f"Of {whole.value:,.0f} patients trained on in all, {between} were asked about."


def judge_sentence(report: RunReport) -> str:
    """Return who judged, and how often wrongly, so that it stands beside what was judged; empty without a judge."""
    name = report.results.judge
    if name is None:
        return ""
    errors = {
        word: row_text(row)
        for word, metric in (("finds", "judge_sensitivity"), ("rightly clears", "judge_specificity"))
        if (row := report.estimates.find(metric)) is not None
    }
    labels = "labelled texts of the site" if report.results.judge_labels == "site" else "the labelled texts that ship"
    if not errors:
        return f"The judge is {name}."
    said = join_words([f"{word} {share}" for word, share in errors.items()])
    return (
        f"The judge is {name}. On {labels} it {said} of those that state, or do not state, a diagnosis (95% intervals"
        " in brackets); what it misses is missing in every figure of diagnoses."
    )


def _labels(results: RunResults) -> str:
    return "" if results.corpus is None else _LABELS.get(results.corpus.labels, "")


def _chance(results: RunResults) -> str:
    if results.corpus is not None and results.corpus.counterfactual:
        return "What patients never seen show, asked the same, is chance."
    if results.settings is not None and results.settings.control:
        return "Nobody was held out of training: what the control model shows, asked the same, is chance."
    return "Nobody was held out of training and no control model was asked: figures hold what chance gives, too."
