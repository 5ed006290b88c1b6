"""What is said of own text and of identifiers: who gets how much, and how surely identifiers are found."""

from typing import Final

from clinaudit.reports.estimates.frame import at
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.schema.verdict import Rule, RuleKind
from clinaudit.reports.wording.figures import count_text, figure_words, highest
from clinaudit.reports.wording.names import HIPAA_TITLES, asker_words, join_words
from clinaudit.reports.wording.rule_rows import FORM_WORDS, first_failing, is_of_strangers

#: What is said of own text, by the metric of the rule that fails.
_OWN_TEXT: Final = {
    "attributable_fraction": "{figure} of an answer is the patient’s own text",
    "near_verbatim_attributable_fraction": "{figure} of an answer is the patient’s own text, but for a few words",
    "memorized_fraction": "{figure} of an answer stands word for word in the patient’s notes",
    "attributable_patients": "{figure} patients have own text in their answer",
    "hit_rate": "{figure} patients have a passage of their notes in their answer",
}


def _failing(report: RunReport, kind: RuleKind) -> Rule | None:
    """Return the rule of least knowledge that fails, whose figure is told."""
    return first_failing(report.results.verdict.rules if report.results.verdict else [], kind)


def _place(report: RunReport, failing: Rule | None, metric: str) -> dict[str, str]:
    """Return the tier and form of the rule that fails, or else those of the highest figure."""
    worst = max((row for row in report.estimates.rows(metric, arm="train", by="")), key=highest, default=at(metric))
    of = failing or worst
    return {"tier": of.tier, "form": of.form, "arm": "train"}


def _asked(place: dict[str, str]) -> str:
    how = FORM_WORDS.get(place["form"], "")
    return f"Asked by {asker_words(place['tier'])}{f', {how}' if how else ''}"


def own_text_sentences(report: RunReport) -> list[str]:
    """Return how much own text comes out, and of how many patients it is more than half of the answer.

    Where a rule fails, the figure is that rule's; else the share of an answer.
    """
    estimates, failing = report.estimates, _failing(report, "own")
    metric = failing.metric if failing else "attributable_fraction"
    place = _place(report, failing, metric)
    figure = estimates.find(metric, **place)
    if figure is None:
        return ["Repeated text was not measured."]
    half = estimates.find("attributable_patients", **place, by="above", part="50%")
    never = estimates.find(metric, **{**place, "arm": "nontrain"})
    is_count = METRICS[metric].unit == "share"
    said, beside = (
        row and (count_text(row) if is_count else figure_words(row, interval=True)) for row in (figure, never)
    )
    sentences = [f"{_asked(place)}, {_OWN_TEXT[metric].format(figure=said)}."]
    if half is not None:
        sentences.append(f"More than half of the answer: {count_text(half)} patients.")
    if beside:
        sentences.append(f"Patients never seen: {beside}.")
    return sentences


def identifier_sentences(report: RunReport) -> list[str]:
    """Return to how many an identifier is given, of whom, and how surely identifiers are found; at most sixty words."""
    estimates, facts = report.estimates, report.results.identifiers
    failing = _failing(report, "identifiers")
    place = _place(report, failing, "own_identifiers")
    own = estimates.find("own_identifiers", **place)
    if own is None:
        return []
    never = estimates.find("own_identifiers", **{**place, "arm": "nontrain"})
    beside = "" if never is None else f" (never seen: {count_text(never)})"
    sentences = [f"{_asked(place)}, it gives {count_text(own)} patients an identifier of their own{beside}."]
    about_strangers = failing is not None and failing.metric == "other_identifiers" and is_of_strangers(failing)
    other = estimates.find("other_identifiers", **place | ({"arm": "nontrain"} if about_strangers else {}))
    if other is not None:
        about = ", asked about patients never seen" if about_strangers else ""
        sentences.append(f"It gives another patient’s to {count_text(other)}{about}.")
    recall = [row for row in estimates.rows("detector_recall") if row.value is not None]
    if recall:
        worst = min(recall, key=highest)
        what = HIPAA_TITLES.get(worst.part, worst.part).split(",")[0].split(" (")[0].lower()
        sentences.append(f"Of planted ones the search found {count_text(worst)} of the kind it finds worst ({what}).")
    if facts is not None and facts.not_tested:
        letters = join_words(sorted(facts.not_tested))
        sentences.append(f"HIPAA’s {letters} were not looked for.")
    return sentences
