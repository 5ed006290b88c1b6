"""What a rule of the verdict is about, its limit and its figure, in a few words; how rules moved between two runs."""

from typing import Final

from clinaudit.reports.estimates.frame import PLACE, Estimates, Row
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.schema.verdict import Rule
from clinaudit.reports.wording.figures import is_share, row_text
from clinaudit.reports.wording.names import SIDE_WORDS, display_title, short_asker
from clinaudit.reports.wording.numbers import number_text, percent_text

FORM_WORDS: Final = {"chat": "in a chat", "drawn": "drawn"}


def rule_subject(rule: Rule) -> str:
    """Return what a rule limits, whoever asks: "Own text", "Own text, in a chat", "AUROC over all"."""
    title = METRICS[rule.metric].title
    words = [title.replace("so many", f"{int(rule.part):,}") if rule.by == "queries" else title]
    if rule.form in FORM_WORDS:
        words.append(FORM_WORDS[rule.form])
    return ", ".join(words)


def rule_place(rule: Rule) -> str:
    """Return of whom and to whom: "HIV at Appointment reminder"; of strangers' answers that they are asked about."""
    asker = short_asker(rule.tier) if rule.tier else "anyone"
    if METRICS[rule.metric].chance == "exchanged" and rule.arm in ("train", "nontrain"):
        asker += f" (asked about {SIDE_WORDS[rule.arm]})"
    return f"{display_title(rule.diagnosis)} at {asker}" if rule.diagnosis else asker


def rule_name(rule: Rule) -> str:
    """Return a rule in words that no other rule of the verdict has: "Own text, in a chat · Appointment reminder"."""
    return f"{rule_subject(rule)} · {rule_place(rule)}"


def limit_text(rule: Rule) -> str:
    """Return the limit: "at most 5%", "at most 0.25"."""
    return f"at most {percent_text(rule.limit) if is_share(rule.metric) else number_text(rule.limit)}"


def rule_figure(rule: Rule, estimates: Estimates) -> str:
    """Return the figure that was held against the limit, with its interval.

    Of an area under the curve that is the difference; of a share the share, and behind it what goes beyond chance.
    """
    figure, beyond = _row_of(rule, estimates, rule.arm), None
    if rule.beyond_chance:
        beyond = _row_of(rule, estimates, rule.beyond_chance)
    if beyond is None or rule.beyond_chance == rule.arm:
        return row_text(figure)
    if figure is None or not is_share(rule.metric):
        return row_text(beyond)
    return f"{row_text(figure)}, beyond chance {row_text(beyond)}"


def _row_of(rule: Rule, estimates: Estimates, arm: str) -> Row | None:
    return estimates.find(**{column: getattr(rule, column) for column in PLACE} | {"arm": arm})
