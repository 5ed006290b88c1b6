"""Tables of the run: rules of the policy, completeness, training log, provenance."""

from collections.abc import Mapping

from clinaudit.reports.schema.decision import Decision, RuleOutcome
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table, numbered_tier_title
from clinaudit.reports.wording.names import STATUSES, display_title, tier_title
from clinaudit.reports.wording.numbers import (
    NOT_MEASURED,
    SUPPRESSED,
    count_text,
    estimate_text,
    number_text,
    percent_text,
)

_RULE_HEADS = ("Rule", "Tier", "Status", "Question", "Observed", "Limit", "Why")


def rules_table(decision: Decision) -> Table:
    """Return the policy rule by rule."""
    rows = []
    for rule in decision.rules:
        word, sign = STATUSES[rule.status]
        share = "fraction" in rule.metric or "rate" in rule.metric or "share" in rule.metric
        limits = [
            f"{name} {percent_text(value) if share else number_text(value)}"
            for name, value in (("at most", rule.limit.max), ("at least", rule.limit.min))
            if value is not None
        ]
        rows.append(
            (
                rule.id,
                numbered_tier_title(rule.tier) if rule.tier else "all",
                f"{sign} {word}",
                rule.question,
                estimate_text(rule.observed, share=share) + _decided_on(rule),
                " and ".join(limits) or "no limit",
                rule.reason,
            )
        )
    return Table("The policy, rule by rule", _RULE_HEADS, tuple(rows))


def _decided_on(rule: RuleOutcome) -> str:
    """Say why a rule passes although the published range of its estimate reaches beyond the limit."""
    low, high, limit = rule.observed.low, rule.observed.high, rule.limit
    is_beyond = (high is not None and limit.max is not None and high > limit.max) or (
        low is not None and limit.min is not None and low < limit.min
    )
    if rule.status != "pass" or not is_beyond:
        return ""
    return ". The rule was decided on the exact figure, which keeps the limit; only this published range is wider"


def completeness_table(results: Results) -> Table:
    """Return the ledger of planned, done, failed and excluded units."""
    rows = []
    is_hidden = False
    for stage, units in results.completeness.items():
        excluded = (
            "; ".join(f"{_with_title(reason)}: {count_text(n)}" for reason, n in units.excluded.items()) or "none"
        )
        sizes = (count_text(units.planned), count_text(units.done), f"{units.failed:,}")
        if units.planned is None or units.done is None:
            is_hidden = True
            missing = units.missing
        else:
            missing = units.planned - units.done - units.failed
        rows.append((display_title(stage), *sizes, NOT_MEASURED if missing is None else f"{missing:,}", excluded))
    note = "“Missing” is what was planned and is neither done nor failed; what is excluded was not planned."
    if is_hidden:
        note += (
            f" How many were planned and done is {SUPPRESSED} where, with other tables, it would give back a number of"
            " patients that is hidden: 0 failed and 0 missing say that all was done."
        )
    heads = ("Stage", "Planned", "Done", "Failed", "Missing", "Excluded")
    return Table("Units of work by stage", heads, tuple(rows), note if rows else "")


def _with_title(reason: str) -> str:
    """Return a reason that opens with a tier's id with its title instead."""
    tier, colon, why = reason.partition(": ")
    return f"{tier_title(tier)}: {why}" if colon else reason


def training_table(results: Results) -> Table:
    """Return the paper's Table 8."""

    def cell(value: float | None) -> str:
        return NOT_MEASURED if value is None else f"{value:.4f}"

    rows = tuple(
        (f"{row.epoch:g}", cell(row.train_loss), cell(row.validation_loss), cell(row.perplexity))
        for row in results.training or ()
    )
    return Table("Training log", ("Epoch", "Train loss", "Validation loss", "Perplexity"), rows)


def provenance_table(provenance: Mapping[str, object], *, has_shipped_labels: bool = False) -> Table:
    """Return settings, versions and digests, nested keys joined by dots.

    `has_shipped_labels`: the judge was scored on the set that ships, whose digest names no file of the site.
    """
    rows = tuple(
        (item, f"shipped set ({value})" if has_shipped_labels and item == "settings.--judge-labels" else value)
        for item, value in _flatten("", provenance)
    )
    return Table("Settings, versions and digests of this run", ("Item", "Value"), rows)


def _flatten(prefix: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        rows = []
        for key in value:
            rows += _flatten(f"{prefix}.{key}" if prefix else str(key), value[key])
        return rows
    if isinstance(value, (list, tuple)):
        return [(prefix, ", ".join(str(item) for item in value) or "none")]
    if value is None or value == {}:
        return [(prefix, "not given")]
    return [(prefix, str(value).lower() if isinstance(value, bool) else str(value))]
