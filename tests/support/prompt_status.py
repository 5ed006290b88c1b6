"""What the gate makes of prompts that do not fit the notes, where a model gives nothing away."""

from support.planted_runs import planted

from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.gate.power import Design, Model
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.statistics.estimates import share_row


def prompt_status(tier: str, *, fitting: int, own: int, asked: int) -> tuple[str, str]:
    """Return the one status of all rules of a tier, and why none passes; of `asked` prompts some fit, or are own."""
    place = {"form": "text", "tier": tier, "arm": "train"}
    shares = [share_row("prompt_unbroken", fitting, asked, **place), share_row("prompt_own", own, asked, **place)]
    run = planted(Model(chance=0.0), Design(train=300, nontrain=300), *shares)
    rules = [rule for rule in decide(load_policy(), *run).rules if rule.tier == tier]
    (found,) = {(rule.status, "" if rule.status == "pass" else rule.reason) for rule in rules}
    return found
