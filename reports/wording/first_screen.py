"""The words of the first screen: the verdict, who could ask and what they get, what to do, what closes an open rule.

Owns, too, what is said of own text, of identifiers and how surely they are found, of training and of membership. Reads
the status of rules, and prints rows of the table of estimates. No number of patients is computed here.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from clinaudit.reports.estimates.frame import METRICS, Estimates, Row, RuleKind, at
from clinaudit.reports.schema.run_results import Rule, RunReport, TrainingLoss, Verdict
from clinaudit.reports.wording.figures import count_text, counted_text, counts_text, figure_words, highest, row_text
from clinaudit.reports.wording.names import (
    HIPAA_TITLES,
    MEMBERSHIP_SCORE_NAMES,
    asker_words,
    display_words,
    join_words,
    order_tiers,
)
from clinaudit.reports.wording.numbers import counted, percent_text
from clinaudit.reports.wording.rule_rows import (
    KINDS,
    SHORT_ARMS,
    comparable,
    how_words,
    in_order,
    is_of_strangers,
    rule_rows,
    subject_words,
)


def _failing(report: RunReport, kind: RuleKind) -> Rule | None:
    """Return the rule of least knowledge that fails, whose figure is told; of several the policy's first."""
    rules = in_order(rule for rule in failed(report.rules) if rule.tier and rule.kind == kind)
    return rules[0] if rules else None


def _place(report: RunReport, failing: Rule | None, metric: str) -> dict[str, str]:
    """Return the tier and form of the rule that fails, or else those of the highest figure."""
    worst = max((row for row in report.estimates.rows(metric, arm="train", by="")), key=highest, default=at(metric))
    of = failing or worst
    return {"tier": of.tier, "form": of.form, "arm": "train"}


def _asked(place: dict[str, str]) -> str:
    return f"Asked by {asker_words(place['tier'])}{how_words(place['form'])}"


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
    sentences = [f"{_asked(place)}, {METRICS[metric].told.format(title=METRICS[metric].title, figure=said)}."]
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


SIGNS: Final = {"pass": "✓", "fail": "✗", "incomplete": "…", "inconclusive": "?", "": "–"}
#: What an undecided rule is to whoever approves.
UNDECIDED: Final = (
    "Undecided is not a pass: these limits are neither shown to be broken nor shown to be kept. Who approves all the "
    "same accepts an unknown risk, and should write down why. A wider limit has to be chosen before figures are seen."
)
NO_PROOF: Final = "That is no proof of privacy: other prompts may get more."
#: Words of the first screen that may say what closes open rules.
_CLOSING_WORDS: Final = 35
_NUMBER: Final = re.compile(r"\d[\d,]*")
_CLAIMS: Final[dict[RuleKind, str]] = {
    "own": "recites patients’ notes",
    "others": "puts others’ notes into its answers",
    "identifiers": "gives out identifiers",
    "queries": "gives notes away to whoever asks often",
    "diagnoses": "reveals diagnoses",
    "everyday": "drops patients’ text into everyday answers",
    "membership": "tells whose notes it was trained on",
}


def failed(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules that failed."""
    return [rule for rule in rules if rule.status == "fail"]


def verdict_title(verdict: Verdict | None) -> str:
    """Return the verdict as a sentence."""
    if verdict is None:
        return "No verdict: no policy was applied"
    if verdict.status == "fail":
        kinds = {rule.kind for rule in failed(verdict.rules)}
        return f"Fail: this model {join_words([words for kind, words in _CLAIMS.items() if kind in kinds])}"
    if verdict.status == "inconclusive":
        number = sum(rule.status == "inconclusive" for rule in verdict.rules)
        if verdict.doubts and not number:
            return "Undecided: the model may not be as it was trained"
        if not number:
            return "Undecided: part of what the policy asks about was left out"
        return (
            f"Undecided: no limit is shown to be broken, and {number} of {counted(len(verdict.rules), 'rule')} are open"
        )
    return {
        "pass": "Pass: this model keeps every limit of the policy",
        "incomplete": "Incomplete: the audit has not done all that was planned",
    }[verdict.status]


def found_sentences(report: RunReport) -> list[str]:
    """Return who could ask and what they get, a sentence each; where no rule failed, the highest figures."""
    verdict, estimates = report.results.verdict, report.estimates
    if verdict is None:
        return ["The measurements are below; no limit was applied to them."]
    rules = failed(verdict.rules)
    sentences = _leak_sentences(rules, estimates) if rules else [_most_sentence(verdict.rules, estimates)]
    if not rules and verdict.status == "pass":
        sentences.append(NO_PROOF)
    return [sentence for sentence in [*verdict.doubts, *sentences, *verdict.remarks] if sentence]


def _leak_sentences(rules: Sequence[Rule], estimates: Estimates) -> list[str]:
    """Return what leaks, each kind at the least knowledge that suffices."""
    about = [rule for rule in rules if rule.tier and not is_of_strangers(rule)]
    tiers = order_tiers({rule.tier for rule in about})
    leaks: dict[str, list[str]] = {}
    own_tier: str | None = None
    for kind in KINDS:
        here = [rule for rule in about if rule.kind == kind]
        if here:
            tier = min((rule.tier for rule in here), key=tiers.index)
            if kind == "queries" and own_tier is not None and tiers.index(own_tier) <= tiers.index(tier):
                # Who gets it in one answer need not ask often.
                continue
            own_tier = tier if kind == "own" else own_tier
            same = comparable([rule for rule in here if rule.tier == tier])
            if words := _leak_words(kind, same, estimates):
                leaks.setdefault(tier, []).append(words)
    sentences = []
    for tier, said in leaks.items():
        asker = asker_words(tier)
        sentences.append(f"{asker[:1].upper()}{asker[1:]} gets {join_words(said)}.")
    strangers = [rule for rule in rules if is_of_strangers(rule)]
    if strangers:
        # A mean over answers and a share of patients do not compare: each kind has its own figure.
        kinds = dict.fromkeys(rule.kind for rule in strangers)
        given = [_of_strangers([rule for rule in strangers if rule.kind == kind], estimates) for kind in kinds]
        sentences.append(f"Asked about a stranger, it gives other patients’ {join_words(given)}.")
    for rule in rules:
        if rule.kind == "everyday":
            sentences.append(f"Everyday tasks answered with a patient’s text: {counted_text(_row(rule, estimates))}.")
    return sentences


def _of_strangers(rules: Sequence[Rule], estimates: Estimates) -> str:
    """Return what others' data answers about strangers hold, by the worst of rules of one kind."""
    worst = max(rules, key=lambda rule: highest(_row(rule, estimates)))
    figure = counted_text(_row(worst, estimates))
    figure = f"{figure} patients" if " of " in figure else f"up to {figure} of an answer"
    return f"{'identifiers' if worst.kind == 'identifiers' else 'text'} ({figure}{how_words(worst.form)})"


def _leak_words(kind: RuleKind, rules: Sequence[Rule], estimates: Estimates) -> str:
    rule = max(rules, key=lambda rule: highest(_row(rule, estimates)))
    rows = rule_rows(rule, estimates)
    if kind == "diagnoses":
        return _diagnoses_words(rules, estimates)
    figure = counted_text(rows.figure)
    chance = ""
    if rows.chance is not None:
        pooled, by_chance = (
            row and (counts_text(row) or row_text(row, interval=False)) for row in (rows.pooled, rows.chance)
        )
        # Chance is of a pool, and the figure of all who were trained on.
        chance = f" ({SHORT_ARMS.get(rows.chance.arm, 'by chance')}: {by_chance})"
        chance = f" (in equal pools {pooled}, by chance {by_chance})" if pooled else chance
    unit = f"of {figure} patients" if " of " in figure else f"as {figure} of an answer"
    what = {
        "own": "the patient’s clinical text,",
        "others": "other patients’ text",
        "identifiers": "identifiers",
        "queries": f"own text within {int(rule.part or 1000):,} queries",
        "membership": "who was trained on",
    }.get(kind, "")
    return f"{what} {unit}{how_words(rule.form)}{chance}"


def _diagnoses_words(rules: Sequence[Rule], estimates: Estimates) -> str:
    """Return the diagnoses that are told, with how often the worst is said rightly and wrongly."""

    def named(rule: Rule, metric: str) -> Row | None:
        return estimates.find(metric, form=rule.form, tier=rule.tier, arm="train", diagnosis=rule.diagnosis)

    def distance(rule: Rule) -> float:
        return highest(named(rule, "sensitivity")) - highest(named(rule, "false_positive_rate"))

    worst = max(rules, key=distance)
    right, wrong = named(worst, "sensitivity"), named(worst, "false_positive_rate")
    number = len({rule.diagnosis for rule in rules})
    # Where few were not asked, a count is not published, and the share is.
    who = f"{figure_words(right)} of" if right is None or not counts_text(right) else count_text(right)
    said = f"{who} patients with {display_words(worst.diagnosis)}, and of {counted_text(wrong)} without"
    return f"{counted(number, 'diagnosis', 'diagnoses')}{how_words(worst.form)} (it says so of {said})"


def _most_sentence(rules: Sequence[Rule], estimates: Estimates) -> str:
    """Return the highest figure of every kind of leak beside its limit."""
    said = []
    for kind in KINDS:
        here = [rule for rule in rules if rule.kind == kind and kind != "diagnoses"]
        if here:
            rule = max(comparable(here), key=lambda rule: highest(_row(rule, estimates)))
            words = subject_words(rule)[:1].lower() + subject_words(rule)[1:]
            said.append(f"{words} {figure_words(_row(rule, estimates))} (limit {percent_text(rule.limit)})")
    return f"The most that came out, whoever asks: {join_words(said)}." if said else ""


def less_knowledge_sentence(verdict: Verdict | None) -> str:
    """Return what is known of askers who know less than those for whom rules fail; empty where nobody knows less."""
    rules = [rule for rule in verdict.rules if rule.tier] if verdict else []
    tiers = order_tiers({*(rule.tier for rule in rules), *(verdict.not_asked if verdict else ())})
    first = next((tier for tier in tiers if any(r.status == "fail" and r.tier == tier for r in rules)), None)
    less = [] if first is None else tiers[: tiers.index(first)]
    if not less or verdict is None:
        return ""
    below = [rule for rule in rules if rule.tier in less]
    number = sum(rule.status == "inconclusive" for rule in below) + sum(verdict.not_asked.get(tier, 0) for tier in less)
    if not number:
        return "Asked about a patient by people who know less, it keeps every limit."
    return (
        f"Asked about a patient by people who know less, it broke no limit, but {counted(number, 'rule')} "
        f"{'is' if number == 1 else 'are'} open: it is not shown to be safe with them."
    )


def _row(rule: Rule, estimates: Estimates) -> Row | None:
    return rule_rows(rule, estimates).figure


def next_steps(report: RunReport) -> list[tuple[str, str]]:
    """Return what to do, by the verdict: a sentence, and the part of the page that says more of it, or nothing."""
    verdict = report.results.verdict
    status = verdict.status if verdict else ""
    training = "fewer epochs" if best_epoch(report.results.training) is None else "stop training earlier"
    return {
        "fail": [
            ("Do not deploy or share the model.", ""),
            ("Find out who had access, and assess a breach.", "institution"),
            (f"Mitigate ({training}, de‑identify notes), audit again, compare.", ""),
        ],
        "inconclusive": [
            ("Do not deploy yet: treat the model as one that may leak.", ""),
            ("Close the open rules and audit again, or accept them in writing.", "open"),
        ],
        "incomplete": [
            ("Run the same command again; it resumes where it stopped.", ""),
            ("Until then treat the model as one that may leak.", ""),
        ],
        "pass": [
            ("This policy does not bar deployment for the intended use.", ""),
            ("Read what the audit does not see.", "measured"),
            ("Audit again when model, notes or users change.", ""),
        ],
        "": [
            ("Choose a policy before you read the figures, and run clinaudit gate.", ""),
            ("Until then treat the model as one that may leak.", ""),
        ],
    }[status]


def closing(verdict: Verdict | None) -> list[tuple[int, str]]:
    """Return what closes open rules, and how many each, the most first; what there is no room for is counted last."""
    groups = by_action(rule for rule in (verdict.rules if verdict else ()) if rule.status == "inconclusive")
    shown: list[tuple[int, str]] = []
    room = _CLOSING_WORDS
    for action, rules in groups:
        room -= len(action.split())
        if shown and room < 0:
            break
        shown.append((len(rules), action))
    rest = sum(len(rules) for _, rules in groups[len(shown) :])
    return [*shown, *([(rest, "See “Rules”.")] if rest else [])]


def by_action(rules: Iterable[Rule]) -> list[tuple[str, list[Rule]]]:
    """Return open rules by what closes them, the most first.

    Actions that differ in a number alone, or in what is said after a colon, are one: that which takes most closes all.
    """
    groups: dict[str, list[Rule]] = {}
    for rule in rules:
        groups.setdefault(_NUMBER.sub("", action_of(rule)).partition(":")[0].rstrip("."), []).append(rule)
    found = [(max(map(action_of, own), key=_size_of_action), own) for own in groups.values()]
    return sorted(found, key=lambda item: -len(item[1]))


def _size_of_action(action: str) -> tuple[list[int], int, str]:
    """Return what actions are ordered by: their numbers, then how much they say."""
    return [int(number.replace(",", "")) for number in _NUMBER.findall(action)], len(action), action


def action_of(rule: Rule) -> str:
    """Return what closes an open rule, or else why it is open."""
    return rule.action or rule.reason


def best_epoch(training: Sequence[TrainingLoss] | None) -> tuple[float, float] | None:
    """Return the epoch of the lowest validation loss and the last epoch; None where it is the last, or not known."""
    known = [(row.validation_loss, row.epoch) for row in training or () if row.validation_loss is not None]
    if not known:
        return None
    (_, best), last = min(known), max(epoch for _, epoch in known)
    return (best, last) if best < last else None


def training_sentence(training: Sequence[TrainingLoss] | None) -> str:
    """Return what the training log shows; empty without one."""
    if not any(row.validation_loss is not None for row in training or ()):
        return ""
    if (found := best_epoch(training)) is None:
        return "Validation loss was lowest at the last epoch: no sign of training for too long."
    best, last = found
    return f"Validation loss was lowest at epoch {best:g} of {last:g}, and rose from there: stop there."


def membership_sentence(report: RunReport) -> str:
    """Return whether the model tells whose notes it was trained on, and by which score that was asked."""
    area, found = (report.estimates.find(metric) for metric in ("membership_auroc", "membership_found"))
    if area is None or area.value is None:
        why = report.results.not_scored or (area.reason if area else None)
        return f"Whether it tells whose notes it was trained on was not measured{f': {why}' if why else ''}."
    scores = report.estimates.values_of("part", "membership_auroc", by="score")
    by = "".join(f" by {words}" for score, words in MEMBERSHIP_SCORE_NAMES.items() if score in scores[:1])
    said = f"AUROC {figure_words(area, interval=True)}{by}; 0.5 is a coin’s toss"
    if found is not None:
        said += f"; at 1% false positives it finds {figure_words(found, interval=True)} of those trained on"
    tells = area.low is not None and area.low > 0.5
    return f"{'The model tells' if tells else 'The model is not shown to tell'} whose notes it was trained on ({said})."
