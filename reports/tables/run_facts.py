"""Tables of what is no estimate: attacks run and not run, cohorts in words, the training log, provenance."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from clinaudit.reports.schema.run_results import RunResults
from clinaudit.reports.schema.verdict import Rule
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED

_ATTACKS: Final = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text(encoding="utf-8"))
#: How the model gets out, as the site says.
_RELEASES: Final[Mapping[str | None, str]] = {
    "api": "The site says that the model is asked from outside, and its weights stay",
    "weights": "The site says that the model's weights leave the building",
    "internal": "The site says that the model is used inside alone",
    None: "The site did not say how the model gets out (--release)",
}
_COHORTS: Final = {
    "matched": "matched",
    "poorly_matched": "matched, and not balanced",
    "unavailable": "none",
    "not_asked": "not asked",
}


def attacks_table(results: RunResults) -> Table:
    """Return one row a class of attack: whether it was run, who could, and how the rules about it fared."""
    rules = [] if results.verdict is None else results.verdict.rules
    rows = []
    for attack in results.attacks:
        words = _ATTACKS[attack.name]
        statuses = [rule.status for rule in rules if _is_about(rule, attack.name, words.get("metrics", ()))]
        fared = [f"{statuses.count(status)} {word}" for status, word in _FARED.items() if status in statuses]
        rows.append((words["title"], attack.status, words["access"], ", ".join(fared) or "–", words["reference"]))
    heads = ("Attack", "In this audit", "Who could", "Rules of the policy", "Described in")
    note = (
        "An attack that was not run may succeed. References name where the class is described; they say nothing of "
        f"this model. {_RELEASES[results.release]}, which decides who could run what (EDPB Opinion 28/2024, para 46)."
    )
    return Table("Attacks run, and not run", heads, tuple(rows), note)


_FARED: Final = {"fail": "failed", "inconclusive": "undecided", "pass": "passed"}


def _is_about(rule: Rule, attack: str, metrics: tuple[str, ...]) -> bool:
    # Whatever they limit, rules on chats and on drawn answers are about attacks of their own.
    by_form = {"chat": "chat", "drawn": "sampling"}.get(rule.form)
    return attack == by_form if by_form else rule.metric in metrics


def cohorts_table(results: RunResults) -> Table:
    """Return what became of each diagnosis' cohort, in words."""
    rows = tuple(
        (display_title(name), _COHORTS[cohort.status], cohort.reason or "") for name, cohort in results.cohorts.items()
    )
    return Table("Cohorts", ("Diagnosis", "Cohort", "Why"), rows)


def training_table(results: RunResults) -> Table:
    """Return the training log (the paper's Table 8)."""
    losses = [
        (f"{row.epoch:g}", *(_loss(value) for value in (row.train_loss, row.validation_loss, row.perplexity)))
        for row in results.training or ()
    ]
    heads = ("Epoch", "Train loss", "Validation loss", "Perplexity")
    return Table("Training log", heads, tuple(losses), "In the paper: Table 8.")


def _loss(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.4f}"


def provenance_table(provenance: Mapping[str, object]) -> Table:
    """Return settings, versions and digests of `run.json`, nested keys joined by dots."""
    rows = tuple(_flatten("", provenance)) if provenance else ()
    return Table("Settings, versions and digests of this run", ("Item", "Value"), rows)


def _flatten(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from _flatten(f"{name}.{key}" if name else str(key), below)
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(map(str, value)) or "none"
    elif value is None or value == {}:
        yield name, "not given"
    else:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)
