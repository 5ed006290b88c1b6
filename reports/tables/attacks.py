"""The table of attacks: what was run, what access it assumes, what it found, and what regulators call it."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from clinaudit.reports.schema.attacks import ATTACKS, AttackName, Release
from clinaudit.reports.schema.decision import DecidedRule, RuleStatus
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import counted


class _Words(NamedTuple):
    """What a reader is told of one class of attack."""

    title: str
    access: str
    reference: str
    #: Which rules decide about it: those on greedy answers to plain text that read one of these.
    metrics: Sequence[str] = ()


_TABLE: Final = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text(encoding="utf-8"))
_WORDS: Final[dict[AttackName, _Words]] = {name: _Words(**_TABLE[name]) for name in ATTACKS}
_NOTE: Final = (
    "An attack that was not run may succeed. References name where the class is described; they say nothing of this "
    "model. {release}, which decides who could run what (EDPB Opinion 28/2024, para 46)."
)
_RELEASES: Final[dict[Release | None, str]] = {
    "api": "The site says that the model is asked from outside, and its weights stay",
    "weights": "The site says that the model's weights leave the building",
    "internal": "The site says that the model is used inside alone",
    None: "The site did not say how the model gets out (--release)",
}


#: Whatever they read, rules on answers in these forms are about an attack of their own.
_FORMS: Final[dict[str | None, AttackName]] = {"samples": "sampling", "chat": "chat"}


def attacks_table(results: RunResults) -> Table:
    """Return one row a class of attack."""
    rules = [] if results.decision is None else results.decision.rules
    rows = []
    for attack in results.attacks:
        words = _WORDS[attack.name]
        statuses = [rule.status for rule in rules if _is_about(rule, attack.name)]
        rows.append((words.title, attack.status, words.access, _result(statuses), words.reference))
    heads = ("Attack", "In this audit", "Who could", "Rules of the policy", "Described in")
    note = _NOTE.format(release=_RELEASES[results.release]) if rows else ""
    return Table("Attacks run, and not run", heads, tuple(rows), note)


def _is_about(rule: DecidedRule, attack: AttackName) -> bool:
    if rule.rendering in _FORMS:
        return _FORMS[rule.rendering] == attack
    return rule.metric in _WORDS[attack].metrics


def _result(statuses: list[RuleStatus]) -> str:
    if not statuses:
        return "–"
    failed, open_ones = statuses.count("fail"), statuses.count("inconclusive")
    said = [f"{failed} of {counted(len(statuses), 'rule')} fail"] if failed else []
    said += [f"{open_ones} open"] if open_ones else []
    return ", ".join(said) or f"all {len(statuses)} pass"
