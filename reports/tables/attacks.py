"""The table of attacks: what was run, what access it assumes, what it found, and what regulators call it."""

from typing import Final, NamedTuple

from clinaudit.reports.schema.attacks import AttackName, Release
from clinaudit.reports.schema.decision import DecidedRule, RuleStatus
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import IDENTIFIER_METRICS, ORDINARY_TEXT, QUERIES_NEEDED
from clinaudit.reports.wording.numbers import counted

_EDPB: Final = "EDPB Opinion 28/2024, para 55"


class _Words(NamedTuple):
    """What a reader is told of one class of attack."""

    title: str
    access: str
    reference: str
    #: Which rules decide about it: those on greedy answers to plain text that read one of these.
    metrics: tuple[str, ...] = ()


_PROMPTS = "asks once, greedy answers"
_AGAIN = "asks as often as they like, or holds the weights"
_WEIGHTS = "holds the weights"
_WORDS: Final[dict[AttackName, _Words]] = {
    "continuation": _Words(
        "Continuation of what is known of a patient, six levels",
        _PROMPTS,
        f"{_EDPB}; NIST AI 100-2, training-data extraction",
        ("attributable_fraction", "near_verbatim_attributable_fraction", "memorized_fraction", "hit_rate"),
    ),
    "other_patients_text": _Words("Text of patients nobody asked about", _PROMPTS, _EDPB, ("other_patient_fraction",)),
    "identifiers": _Words(
        "Identifiers, and whose they are", _PROMPTS, "45 CFR 164.514(b)(2)(i); OWASP AISVS C11", IDENTIFIER_METRICS
    ),
    "queries_needed": _Words(
        "Queries needed, by the probabilities of the notes",
        _AGAIN,
        f"{_EDPB}; NIST AI 100-2, extraction",
        (QUERIES_NEEDED,),
    ),
    "sampling": _Words("Drawn answers", _AGAIN, _EDPB),
    "chat": _Words("The same questions in a chat", _PROMPTS, _EDPB),
    "control": _Words("The same questions to the model before training", "none: a control", "NIST SP 800-226"),
    "attribute_inference": _Words(
        "Sensitive diagnoses, less those of patients never seen or by the control",
        _PROMPTS,
        f"{_EDPB}; NIST AI 100-2, property and attribute inference",
        ("auroc_all",),
    ),
    "membership": _Words(
        "Membership: whose notes were trained on", "sees probabilities", f"{_EDPB}; NIST AI 100-2, membership"
    ),
    "ordinary_use": _Words("Everyday tasks about nobody", "works with the model", _EDPB, (ORDINARY_TEXT,)),
    "canaries": _Words("Canaries planted before training", "trains the model", "NIST SP 800-226"),
    "fine_tuning": _Words("Further training that brings text back", _WEIGHTS, "NIST AI 100-2; OWASP AISVS C11"),
    "gradients": _Words("Reconstruction from gradients", "sees training", "NIST AI 100-2, data reconstruction"),
    "optimised_prompts": _Words("Prompts optimised by a search", _AGAIN, "NIST AI 100-2; OWASP AISVS C11"),
    "poisoning": _Words("Poisoned training data", "writes to the corpus", "NIST AI 100-2, poisoning"),
}
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
