"""The policies that ship, a line each: how many rules, their limits, and what they are for."""

from collections.abc import Mapping
from typing import Final

from clinaudit.audit.results.gate.policy import OF_EITHER_ARM, POLICIES_PATH, Policy, load_policy
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.priors.diagnoses import load_panel

#: Of the policies that ship, in short.
_LIMITED: Final[Mapping[str, str]] = {
    "attributable_fraction": "text",
    "near_verbatim_attributable_fraction": "text",
    "other_patient_fraction": "others’",
}
_MEANT_FOR: Final = {
    "strict": "release",
    "default": "use inside",
    "research": "research",
}


def describe_shipped() -> str:
    """Return a line a policy that ships: its name, number of rules, limits, and what it is for."""
    return "\n".join(_describe(load_policy(POLICIES_PATH / f"{name}.toml")) for name in SHIPPED)


def _describe(policy: Policy) -> str:
    # What comes in many queries is own text, too, and a line is short.
    of_text = [rule for rule in policy.memorization if rule.queries is None]
    limits = [f"{_LIMITED.get(rule.metric, rule.metric)} ≤ {100 * rule.maximum:g}%" for rule in of_text]
    limits += [f"identifiers ≤ {100 * rule.maximum:g}%" for rule in policy.identifiers if rule.metric == "own"]
    limits += [f"AUROC excess ≤ {rule.maximum:g}" for rule in policy.disclosure]
    panel = len(load_panel())
    rules = sum(len(rule.tiers) * (1 + (rule.metric in OF_EITHER_ARM)) for rule in policy.of_text) + sum(
        len(rule.tiers) * (panel if rule.diagnoses is None else len(rule.diagnoses)) for rule in policy.disclosure
    )
    rules += policy.ordinary is not None
    return f"{policy.name:8}  {rules} rules: {', '.join(dict.fromkeys(limits))}; for {_MEANT_FOR.get(policy.name, '')}"
