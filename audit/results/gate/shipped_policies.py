"""The policies that ship, a line each: how many rules, their limits, and what they are for."""

from collections.abc import Mapping
from typing import Final

from clinaudit.audit.results.gate.policy import OF_EITHER_ARM, POLICIES_PATH, Policy, load_policy
from clinaudit.audit.results.gate.reasons import percent
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.terminal.layout import wrap
from clinaudit.reports.wording.names import QUERIES_NEEDED

#: Of the policies that ship, in short.
_LIMITED: Final[Mapping[str, str]] = {
    "attributable_fraction": "text",
    "near_verbatim_attributable_fraction": "text",
    "other_patient_fraction": "others’",
    QUERIES_NEEDED: "queries needed",
}
_MEANT_FOR: Final = {
    "strict": "release",
    "default": "use inside",
    "research": "research",
}


def describe_shipped() -> str:
    """Return a line or two of each policy that ships: its name, number of rules, limits, and what it is for."""
    return "\n".join(_describe(load_policy(POLICIES_PATH / f"{name}.toml")) for name in SHIPPED)


def _describe(policy: Policy) -> str:
    limits: dict[str, list[str]] = {}
    for rule in policy.memorization:
        limits.setdefault(_LIMITED.get(rule.metric, rule.metric), []).append(percent(rule.maximum))
    if policy.ordinary is not None:
        limits["everyday tasks"] = [percent(policy.ordinary.maximum)]
    limits["identifiers"] = [percent(rule.maximum) for rule in policy.identifiers if rule.metric == "own"]
    limits["AUROC excess"] = [f"{rule.maximum:g}" for rule in policy.disclosure]
    panel = len(load_panel())
    rules = sum(len(rule.tiers) * (1 + (rule.metric in OF_EITHER_ARM)) for rule in policy.of_text) + sum(
        len(rule.tiers) * (panel if rule.diagnoses is None else len(rule.diagnoses)) for rule in policy.disclosure
    )
    rules += policy.ordinary is not None
    told = ", ".join(f"{title} ≤ {' or '.join(dict.fromkeys(of))}" for title, of in limits.items() if of)
    line = f"{policy.name:8}  {rules} rules: {told}; for {_MEANT_FOR.get(policy.name, '')}"
    return wrap(line, indent=" " * 10)
