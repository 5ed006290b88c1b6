"""What is said of own text and of identifiers: who gets how much, and how surely identifiers are found."""

from clinaudit.reports.estimates.frame import at
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.schema.verdict import RuleKind
from clinaudit.reports.wording.names import HIPAA_TITLES, asker_words, join_words
from clinaudit.reports.wording.plain_figures import count_text, figure_words, highest
from clinaudit.reports.wording.rule_rows import first_failing


def shown_place(report: RunReport, metric: str, kind: RuleKind) -> dict[str, str]:
    """Return the tier and form that sentences speak of: of least knowledge where a rule fails, or else the highest."""
    rules = report.results.verdict.rules if report.results.verdict else []
    worst = max((row for row in report.estimates.rows(metric, arm="train", by="")), key=highest, default=at(metric))
    tier, form = first_failing(rules, kind) or (worst.tier, worst.form)
    return {"tier": tier, "form": form, "arm": "train"}


def own_text_sentences(report: RunReport) -> list[str]:
    """Return how much of an answer is own text, and of how many patients it is more than half."""
    estimates, place = report.estimates, shown_place(report, "attributable_fraction", "own")
    mean = estimates.find("attributable_fraction", **place)
    if mean is None:
        return ["Repeated text was not measured."]
    half = estimates.find("attributable_patients", **place, by="above", part="50%")
    never = estimates.find("attributable_fraction", **{**place, "arm": "nontrain"})
    asker = asker_words(place["tier"])
    sentences = [f"Asked by {asker}, {figure_words(mean, interval=True)} of an answer is the patient’s own text."]
    if half is not None:
        sentences.append(f"More than half of the answer: {count_text(half)} patients.")
    if never is not None:
        sentences.append(f"Patients never seen: {figure_words(never, interval=True)}.")
    return sentences


def identifier_sentences(report: RunReport) -> list[str]:
    """Return to how many an identifier is given, of whom, and how surely identifiers are found; at most sixty words."""
    estimates, facts = report.estimates, report.results.identifiers
    place = shown_place(report, "own_identifiers", "identifiers")
    own = estimates.find("own_identifiers", **place)
    if own is None:
        return []
    never = estimates.find("own_identifiers", **{**place, "arm": "nontrain"})
    beside = "" if never is None else f" (never seen: {count_text(never)})"
    asker = asker_words(place["tier"])
    sentences = [f"Asked by {asker}, it gives {count_text(own)} patients an identifier of their own{beside}."]
    other = estimates.find("other_identifiers", **place)
    if other is not None:
        sentences.append(f"It gives another patient’s to {count_text(other)}.")
    recall = [row for row in estimates.rows("detector_recall") if row.value is not None]
    if recall:
        worst = min(recall, key=highest)
        what = HIPAA_TITLES.get(worst.part, worst.part).split(",")[0].split(" (")[0].lower()
        sentences.append(f"Of planted ones the search found {count_text(worst)} of the kind it finds worst ({what}).")
    if facts is not None and facts.not_tested:
        letters = join_words(sorted(facts.not_tested))
        sentences.append(f"HIPAA’s {letters} were not looked for.")
    return sentences
