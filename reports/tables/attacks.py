"""The tables of attacks: what was run and what it found, queries needed, membership, and everyday tasks."""

import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from clinaudit.reports.schema.attacks import (
    ATTACKS,
    QUERY_CELLS,
    QUERY_LIMITS,
    AttackName,
    LeakFigures,
    LeakName,
    LeakResults,
    MembershipResults,
    OrdinaryResults,
    Release,
)
from clinaudit.reports.schema.decision import DecidedRule, RuleStatus
from clinaudit.reports.schema.numbers import EstimateRange, exact_estimate
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, asked_about
from clinaudit.reports.wording.attacks import SCORE_TITLES, difference_text
from clinaudit.reports.wording.names import BEFORE_TRAINING, LEAK_TITLES, order_tiers
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, counted, estimate_text, p_text


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
    # Whatever they read, rules on answers in a chat are about an attack of their own.
    if rule.rendering == "chat":
        return attack == "chat"
    return rule.metric in _WORDS[attack].metrics


def _result(statuses: list[RuleStatus]) -> str:
    if not statuses:
        return "–"
    failed, open_ones = statuses.count("fail"), statuses.count("inconclusive")
    said = [f"{failed} of {counted(len(statuses), 'rule')} fail"] if failed else []
    said += [f"{open_ones} open"] if open_ones else []
    return ", ".join(said) or f"all {len(statuses)} pass"


#: Of `QUERY_CELLS`.
_QUERIES_HEADS: Final = (
    "1 query",
    *(f"{before + 1:,}–{most:,}" for before, most in pairwise(QUERY_LIMITS)),
    "More",
    "Nothing that counts follows",
)
_QUERIES_NOTE: Final = (
    "Queries at temperature 1 for an even chance of the first text of the patient’s own after the note’s own "
    "beginning, word for word. Fewer may do for some other text of the patient’s."
)


def queries_table(results: RunResults) -> Table:
    """Return patients by queries needed."""
    rows = []
    for tier in order_tiers(results.queries):
        for arm in (arm for arm in ARMS if arm in results.queries[tier]):
            own = results.queries[tier][arm]
            place, who = asked_about(tier, arm)
            before = f"{who}, the model {BEFORE_TRAINING}"
            for whose, cells in ((who, own.by_queries), (before, own.control_by_queries)):
                if cells is not None:
                    counts = (own.patients, *(cells[name] for name in QUERY_CELLS))
                    rows.append((place, whose, *map(count_text, counts)))
    heads = ("Tier", "Who", "Patients", *_QUERIES_HEADS)
    return Table("Queries needed", heads, tuple(rows), _QUERIES_NOTE if rows else "")


_CHANCE: Final = 0.5


def membership_table(results: MembershipResults) -> Table:
    """Return the figures, a row each."""
    blind = NOT_MEASURED if results.is_interpretable is None else difference_text(results)
    if results.evidence is not None and results.evidence.blind is not None:
        area = results.evidence.blind.auroc
        # Where a feature is matched, a fold learns the opposite of what the fold left out shows (docs/methods.md).
        alike = "; they are more alike than groups drawn at random" if (area.high or 1.0) < _CHANCE else ""
        blind = f"{estimate_text(exact_estimate(area), interval=True)}: {blind}{alike}"
    rows: tuple[tuple[str, str], ...] = (("Trained on and never seen told apart", estimate_text(results.auroc)),)
    if results.trained:
        rows = (
            ("Trained on and never seen told apart (AUROC)", estimate_text(results.auroc, interval=True)),
            ("Trained on found, at 10% of never seen wrongly found", _share(results.found_at_10)),
            ("Trained on found, at 1% of never seen wrongly found", _share(results.found_at_1)),
            ("Could the difference over the whole split be chance? (p, one-sided)", _p_value(results.p_value)),
        )
    about = (
        f"{'' if results.score is None else f'By {SCORE_TITLES[results.score]}. '}Figures are of all patients together"
        " and say nothing of one. In brackets: 95% intervals."
    )
    return Table("Membership", ("Figure", "Result"), (*rows, ("Blind baseline", blind)), about)


def _share(estimate: EstimateRange) -> str:
    return estimate_text(estimate, share=True, interval=True)


def _p_value(estimate: EstimateRange) -> str:
    text = p_text(1.0 if estimate.high is None else estimate.high)
    return text if estimate.value is not None or text.startswith("below") else f"at most {text}"


_NONE: Final = "–"


def ordinary_table(ordinary: OrdinaryResults) -> Table:
    """Return what everyday tasks brought back, of whom, and what chance gives."""
    heads = (
        "What",
        "Tasks answered with it",
        "Share of tasks",
        "Patients trained on whose it is",
        "Tasks, in pools of equal size",
        "Patients",
        "Tasks, by chance: never seen",
        "Patients never seen",
    )
    leaks: dict[LeakName, LeakResults | None] = {"text": ordinary.text, "identifiers": ordinary.identifiers}
    rows = [(LEAK_TITLES[name], *_leak_cells(of)) for name, of in leaks.items() if of is not None]
    forms = "plain text and in a chat" if "chat" in ordinary.forms else "plain text"
    about = (
        f"{counted(ordinary.tasks, 'task')}, asked as {forms}, twice each: the likeliest answer, and one drawn."
        " A task counts if any of its answers does. In brackets: 95% intervals."
    )
    if ordinary.left_out:
        about += f" {counted(ordinary.left_out, 'task')} did not fit into the model’s context."
    if ordinary.short:
        about += f" {counted(ordinary.short, 'task')} got no answer long enough to hold text of a note."
    return Table("Everyday tasks about nobody", heads, tuple(rows), about)


def _leak_cells(leak: LeakResults) -> tuple[str, ...]:
    share = estimate_text(leak.share, share=True, interval=True)
    pools = [text for pool in (leak.sampled, leak.chance) for text in _pool_cells(pool)]
    return (count_text(leak.tasks), share, count_text(leak.patients), *pools)


def _pool_cells(pool: LeakFigures | None) -> tuple[str, str]:
    return (_NONE, _NONE) if pool is None else (count_text(pool.tasks), count_text(pool.patients))
