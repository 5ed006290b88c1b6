"""What a policy asks of a corpus, in plain text, for `clinaudit check --policy`. At most 100 columns.

Owns which number of the corpus stands beside which size.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from clinaudit.audit.results.gate.policy import OF_EITHER_ARM, DisclosureRule, Policy, TextRule
from clinaudit.audit.results.gate.sample_size import CHANCE_OF_PASS, RuleSizes, rule_sizes, would_pass
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.fragments import Coverage
from clinaudit.reports.terminal.layout import align_rows, wrap
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.names import display_title, tier_title
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_figures import memorization_title

_HEADS: Final = ("Rule", "Of", "Decided", "Passed", "Here", "")
_IDENTIFIER_TITLES: Final[Mapping[str, str]] = {
    "own": "Own identifiers",
    "other": "Others’ identifiers",
    "verified_per_1000": "Verified ones",
}
_NOTES: Final = (
    "Decided, passed: with how many patients a rule can be. Own text: patients trained on; to pass, nothing of theirs "
    "is repeated. Others’ text: patients trained on, and as many never seen where there are any. Identifiers: the "
    "same; to pass, chance gives none. Diagnoses: patients in each of four groups (trained on or never seen, with "
    "the diagnosis or without); to pass, the model gives nothing away, and keeps all comparisons of the rule in "
    f"{CHANCE_OF_PASS:.0%} of audits. A size counts by the low end of what is published of it.",
    "Here: at most, in this corpus. Groups are matched, and only matched patients are asked about, so that an audit "
    "uses fewer; --patients-per-cell limits them too. Without a table of diagnoses groups are not known.",
)


def needed_patients_text(policy: Policy, coverage: Coverage) -> str:
    """Return with how many patients each rule can be decided and passed, beside how many a corpus has.

    Of the rules about the tiers that `coverage` has; of the others it says that they keep a run from passing.
    """
    asked = policy.about(coverage.tiers)
    limited = [rule.tiers for rule in policy.of_text] + [rule.tiers for rule in policy.disclosure]
    left_out = {tier for tiers in limited for tier in tiers} - coverage.tiers.keys()
    notes = list(_NOTES)
    if left_out:
        kinds = counted(len(left_out), "kind")
        notes.append(
            f"Not listed: rules about {kinds} of asker that --tier leaves out. Nothing decides them, and a run "
            "without them never passes this policy."
        )
    diagnoses = tuple(diagnosis.id for diagnosis in load_panel())
    rows = [
        row for sizes in rule_sizes(asked, diagnoses=len(diagnoses)) for row in _rows(asked, sizes, coverage, diagnoses)
    ]
    head, *lines = align_rows([_HEADS, *rows], cut=(0, 1))
    return "\n".join(
        [
            f"Patients that the policy {harmless_text(policy.name)} takes:",
            head,
            "-" * len(head),
            *lines,
            "",
            *(wrap(note, indent="  ") for note in notes),
        ]
    )


def _rows(policy: Policy, sizes: RuleSizes, coverage: Coverage, panel: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    rule = sizes.rule
    if isinstance(rule, DisclosureRule):
        known = coverage.smallest_groups
        for diagnosis in rule.diagnoses or panel:
            here = None if known is None else known.get(diagnosis, 0)
            is_enough = here is not None and sizes.passed is not None and here >= sizes.passed
            yield _row(f"Diagnoses ≤ {rule.maximum:g}", display_title(diagnosis), sizes, here, passes=is_enough)
        return
    title = _IDENTIFIER_TITLES.get(rule.metric) or memorization_title(rule.metric)
    limit = f"{rule.maximum:g}/1000" if rule.metric == "verified_per_1000" else f"{100 * rule.maximum:.3g}%"
    passes = would_pass(policy, rule, coverage.tiers)
    for tier in rule.tiers:
        here = _count_here(rule, coverage.tiers.get(tier))
        yield _row(f"{title} ≤ {limit}", tier_title(tier), sizes, here, passes=passes[tier])


def _count_here(rule: TextRule, here: tuple[int, int] | None) -> int | None:
    """Return how many patients a rule would find; `here`: of the tier, trained on and never seen.

    What chance gives of identifiers is told of as many never seen, and some rules are about either.
    """
    if here is None:
        return None
    train, nontrain = here
    return min(here) if nontrain and (rule.metric in _IDENTIFIER_TITLES or rule.metric in OF_EITHER_ARM) else train


def _row(rule: str, of: str, sizes: RuleSizes, here: int | None, *, passes: bool) -> tuple[str, ...]:
    if here is None:
        said = "not known"
    elif here < sizes.decided:
        said = "too few"
    else:
        said = "enough to pass" if passes else "too few to pass"
    passed = "none is" if sizes.passed is None else f"{sizes.passed}"
    return rule, of, f"{sizes.decided}", passed, "?" if here is None else f"{here}", said
