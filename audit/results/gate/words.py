"""Why a rule passes, fails or stays open, and what closes it (docs/policy.md).

Owns every reason and every action that the gate gives (`words.toml`), so that page, JUnit and terminal say the same.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from clinaudit.reports.estimates.frame import RuleKind
from clinaudit.reports.schema.run_results import Narrowing, Rule, RuleStatus
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import counted


class Decided(NamedTuple):
    """A rule's status, why it has it, and what closes it where it is open."""

    status: RuleStatus
    reason: str
    action: str = ""
    #: Whether more patients close it: then how many are, where they can be told, is added to the action.
    takes_patients: bool = False


_FILE: Final = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_ACTIONS: Final[Mapping[str, str]] = _FILE.pop("actions")


def _read(said: Mapping[str, Any]) -> Decided:
    action = said.get("action", "")
    return Decided(**{"status": "inconclusive", **said, "action": _ACTIONS.get(action, action)})


DECIDED: Final[Mapping[str, Decided]] = {name: _read(said) for name, said in _FILE.items()}


def decided(name: str, **said: str) -> Decided:
    """Return a status with its words by its name in the file; `said`: the words of its reason that stand in braces.

    Example::

        decided("too_many_unjudged", most="10%").reason  # "More than 10% of the texts have no verdict."
    """
    found = DECIDED[name]
    return found._replace(reason=found.reason.format(**said)) if said else found


#: Why there is no figure, where nobody looked for one.
NOT_AUDITED: Final = "this was not audited"


def of_rule(found: Decided, kind: RuleKind, arm: str, *, silent_control: bool = False) -> Decided:
    """Return what was decided of a share in the words of its rule: of tasks, of patients never seen, of the control."""
    if kind == "everyday" and found.takes_patients:
        return found._replace(action=_ACTIONS["more_tasks"])
    if found != decided("chance_not_known"):
        return found
    if arm == "nontrain":
        # The control model is asked about nobody never seen.
        return found._replace(action=_ACTIONS["hold_out"])
    return decided("control_says_nothing") if silent_control else found


def audit_more(number: int, of: str, *, holds_fewer: bool = False) -> str:
    """Return the action with how many patients decide the rule, and of whom, as every output has it.

    Example::

        audit_more(1200, " a group")  # "Audit more patients: about 1,200 a group."
    """
    return f"{_ACTIONS['more'].rstrip('.')}: about {number:,}{of}.{' This corpus holds fewer.' if holds_fewer else ''}"


def ask_more_tasks(number: int) -> str:
    """Return the action with how many tasks decide the rule."""
    return f"{_ACTIONS['more_tasks'].rstrip('.')}: about {number:,}."


def of_given_answers(rule: Rule) -> Rule:
    """Return a rule on answers that were given (`analyze`), with the one advice that can be followed there.

    Nobody knows there how the prompts fit the notes, so that no rule of a tier passes whatever is given besides.
    """
    return rule.model_copy(update={"action": _ACTIONS["audit_it"]}) if rule.status == "inconclusive" else rule


_NARROWED: Final[Mapping[Narrowing, str]] = {
    "diagnosis": "some diagnoses (--diagnosis)",
    "prompt_form": "plain text or the chat (--prompt-form)",
}


def not_asked_sentence(not_asked: Mapping[str, int], *, given: bool = False) -> str:
    """Return what is said of the rules of tiers that were not asked: how many, and that nothing decides them."""
    number = sum(not_asked.values())
    askers = f"{counted(len(not_asked), 'kind')} of asker {'was' if len(not_asked) == 1 else 'were'}"
    why = "(no answer was given)" if given else "(left out by --tier, or nobody has a prompt)"
    return f"{counted(number, 'rule')} {'is' if number == 1 else 'are'} not decided: {askers} not asked {why}."


def narrowed_sentence(narrowed: Sequence[Narrowing]) -> str:
    """Return which options left out of the audit what the policy asks about."""
    return f"Left out of the audit: {join_words([_NARROWED[option] for option in narrowed])}."
