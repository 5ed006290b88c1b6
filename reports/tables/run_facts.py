"""Tables of what a reader asks before signing: what was run, how the figures came about, and the sign-off sheet.

Owns attacks run and not run, cohorts in words, the training log and provenance; sentences on patients, split, test,
chance, judge, guards and power; and what the audit says of the factors of a breach assessment: facts, no legal advice.
Figures are printed rows of the table of estimates. What a policy asks of guards, and why its limits are what they are,
is in `reports/wording/page.toml`.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from clinaudit.reports.estimates.frame import METRICS, Estimates, Row
from clinaudit.reports.schema.identity import Identity
from clinaudit.reports.schema.run_results import Rule, RunReport, RunResults
from clinaudit.reports.tables.estimates import Table
from clinaudit.reports.wording import names
from clinaudit.reports.wording.annex import judge_sentences, labels_sentence, patients_sentence
from clinaudit.reports.wording.figures import figure_words, highest
from clinaudit.reports.wording.first_screen import membership_sentence, training_sentence
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, counted, number_text, percent_text
from clinaudit.reports.wording.rule_rows import KINDS, SHORT_ARMS, in_order, is_of_pools, limit_text, place_words

WORDS: Final[dict[str, Any]] = tomllib.loads(
    (Path(names.__file__).with_name("page.toml")).read_text(encoding="utf-8"),
)
_WHOSE_CHANCE: Final = {"nontrain": "patients never seen", "control": "the control model"}
_OF_POOLS: Final = {
    "other_patient_fraction": "others’ text",
    "other_identifiers": "others’ identifiers",
    "everyday_tasks": "everyday tasks",
}


def measured_items(report: RunReport) -> list[tuple[str, str]]:
    """Return term and sentence, in the order in which a reader of statistics asks; what is not known is left out."""
    results, estimates = report.results, report.estimates
    items = [
        ("Patients", patients_sentence(report)),
        ("Split", _split_sentences(report)),
        ("Groups compared", _groups_sentence(report)),
        ("Test", _test_sentence(report)),
        ("Chance", _chance_sentence(report)),
        ("Numbers", _basis_sentence(report)),
        ("Judge", judge_sentences(report)),
        ("Membership", membership_sentence(report)),
        ("Training", training_sentence(results.training)),
        ("Not run", _not_run_sentence(report)),
        ("Not complete", _missing_sentence(estimates)),
    ]
    return [(term, text) for term, text in items if text]


def _split_sentences(report: RunReport) -> str:
    corpus = report.results.corpus
    if corpus is None:
        return ""
    both = report.estimates.find("in_both_arms")
    if not corpus.counterfactual:
        return "Nobody was held out of training. A control model, where one was asked, shows chance."
    doubles = "" if both is None else f" In both splits by ids, name and birth date, or notes: {figure_words(both)}."
    return f"The site held patients out before training; its patients table says who.{doubles}"


def _groups_sentence(report: RunReport) -> str:
    estimates, results = report.estimates, report.results
    sets = [row.value for row in estimates.rows("cohort_sets", tier="") if row.value]
    if not sets:
        return ""
    size = f"{min(sets):,.0f}" if min(sets) == max(sets) else f"{min(sets):,.0f} to {max(sets):,.0f}"
    balance = [abs(row.value) for row in estimates.rows("smd") if row.value is not None and "before" not in row.part]
    worst = f"; largest standardized difference {number_text(max(balance))}" if balance else ""
    return (
        f"With and without each of {counted(len(sets), 'diagnosis', 'diagnoses')}, matched in age, sex and number of "
        f"notes: {size} patients a group{worst}. {labels_sentence(results)}".rstrip()
    )


def _test_sentence(report: RunReport) -> str:
    tests = sum(rule.metric == "auroc_all" for rule in report.rules)
    if not report.rules:
        return ""
    of_diagnoses = WORDS["test_of_diagnoses"].format(tests=counted(tests, "comparison"))
    return f"{WORDS['test']} {of_diagnoses}" if tests else WORDS["test"]


def _chance_sentence(report: RunReport) -> str:
    rules = report.rules
    arms = dict.fromkeys(rule.chance_arm for rule in rules if rule.chance_metric and not is_of_pools(rule))
    who = " or ".join(_WHOSE_CHANCE.get(arm, arm) for arm in arms)
    what = [
        words for metric, words in _OF_POOLS.items() if any(of.metric == metric and is_of_pools(of) for of in rules)
    ]
    said = [f"Taken off: the figure of {who}."] if who else []
    if what:
        subject = names.join_words(what)
        said.append(f"Of {subject}: what the same answers hold with the splits exchanged, in equal pools.")
    return " ".join(said)


def _basis_sentence(report: RunReport) -> str:
    if report.is_exact:
        return "Exact, as the rules were decided. This page is PHI."
    return "All rules were decided on exact numbers. No count of 1 to 10 patients is printed: such a figure is a bound."


def _not_run_sentence(report: RunReport) -> str:
    titles = [_ATTACKS[attack.name]["title"] for attack in report.results.attacks if attack.status == "not run"]
    left_out = [title[:1].lower() + title[1:] for title in titles]
    cohorts = [names.display_words(name) for name, of in report.results.cohorts.items() if of.status == "not_asked"]
    said = f"Attacks: {'; '.join(left_out)}. Each may succeed." if left_out else ""
    return f"{said}{f' Diagnoses not asked: {names.join_words(cohorts)}.' if cohorts else ''}".strip()


def _missing_sentence(estimates: Estimates) -> str:
    some = [row for row in estimates.rows("missing") if row.count_high]
    if not some:
        return ""
    stages = names.join_words(list(dict.fromkeys(row.part for row in some)))
    return f"Planned and not done, at some levels: {stages}. The annex says how many."


def guards_table(estimates: Estimates) -> Table:
    """Return a row a guard: what is asked for, and the worst that was found, where."""
    rows = []
    for guard in WORDS["guards"]:
        metric, least, most = guard["metric"], guard.get("least"), guard.get("most")
        found = [row for row in estimates.rows(metric, by="") if row.diagnosis != "mean" and highest(row) >= 0]
        if metric != "judged":
            # Of the control's answers no more is asked before a pass: one that says nothing shows no chance.
            found = [row for row in found if row.arm != "control"]
        if found:
            worst = (min if most is None else max)(found, key=highest)
            asked = f"at least {percent_text(least)}" if most is None else f"at most {percent_text(most)}"
            rows.append((METRICS[metric].title, asked, figure_words(worst), _place(worst), guard["stops"]))
    heads = ("Guard", "Asked for (as shipped)", "Worst found", "Where", "Without it, none passes of")
    return Table("Guards of a pass: one a measure; none makes a rule fail", heads, tuple(rows))


def _place(row: Row) -> str:
    who = [place_words(row.tier, row.form)] if row.tier else []
    who += [SHORT_ARMS.get(row.arm, row.arm)] if row.arm else []
    who += [names.display_words(row.diagnosis)] if row.diagnosis else []
    return ", ".join(who) or "all"


def limits_table(report: RunReport) -> Table:
    """Return what the policy limits, by how much, and why."""
    limits: dict[str, dict[str, None]] = {}
    for rule in in_order(report.rules):
        limits.setdefault(KINDS[rule.kind], {})[limit_text(rule)] = None
    rows = tuple((kind, ", ".join(of), WORDS["reasons"][kind]) for kind, of in limits.items())
    return Table("Limits, and why", ("Kind of leak", "Limit", "Why (as shipped)"), rows)


def power_table(audits: Iterable[Mapping[str, Any]] | None = None) -> Table:
    """Return with how many patients simulated audits pass a clean model and fail a leaking one; no rows without any."""
    if audits is None:
        audits = tomllib.loads(Path(__file__).with_name("power.toml").read_text(encoding="utf-8"))["audits"]
    rows = tuple(
        (
            *(str(audit[key]) for key in ("model", "rules", "patients")),
            f"{percent_text(audit['share'])} {audit['outcome']}",
        )
        for audit in audits
    )
    heads = ("A model that …", "Rules", "Patients asked", "Of audits")
    return Table("Power: of simulated audits under the default policy", heads, rows)


_ATTACKS: Final = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text(encoding="utf-8"))
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
        statuses = [rule.status for rule in rules if _is_about(rule, attack.name, words.get("kind"))]
        fared = [f"{statuses.count(status)} {word}" for status, word in _FARED.items() if status in statuses]
        rows.append((words["title"], attack.status, words["access"], ", ".join(fared) or "–", words["reference"]))
    heads = ("Attack", "In this audit", "Who could", "Rules of the policy", "Described in")
    release = WORDS["releases"][results.release or "unknown"]
    note = (
        "An attack that was not run may succeed. References name where the class is described; they say nothing of "
        f"this model. {release}, which decides who could run what (EDPB Opinion 28/2024, para 46)."
    )
    return Table("Attacks run, and not run", heads, tuple(rows), note)


_FARED: Final = {"fail": "failed", "inconclusive": "undecided", "pass": "passed"}


def _is_about(rule: Rule, attack: str, kind: str | None) -> bool:
    # Whatever they limit, rules on chats and on drawn answers are about attacks of their own.
    by_form = {"chat": "chat", "drawn": "sampling"}.get(rule.form)
    return attack == by_form if by_form else rule.kind == kind


def cohorts_table(results: RunResults) -> Table:
    """Return what became of each diagnosis' cohort, in words."""
    rows = tuple(
        (display_title(name), _COHORTS[cohort.status], cohort.reason or "") for name, cohort in results.cohorts.items()
    )
    return Table("Cohorts", ("Diagnosis", "Cohort", "Why"), rows)


def training_table(results: RunResults) -> Table:
    """Return the training log (the paper's Table 8)."""
    losses = [
        (f"{row.epoch:g}", *(NOT_MEASURED if value is None else f"{value:.4f}" for value in values))
        for row in results.training or ()
        for values in [(row.train_loss, row.validation_loss, row.perplexity)]
    ]
    heads = ("Epoch", "Train loss", "Validation loss", "Perplexity")
    return Table("Training log", heads, tuple(losses), "In the paper: Table 8.")


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


def breach_factors_table(found: Sequence[str]) -> Table:
    """Return the four factors of 45 CFR 164.402(2), and where this audit bears on each; `found`: what comes out."""
    factors = WORDS["breach_factors"].items()
    rows = tuple((factor, words.format(found=" ".join(found))) for factor, words in factors)
    return Table("The four factors", ("Factor", "What this audit says of it"), rows)


def subject_table(identity: Identity, digest: str | None, *, version: str, verdict: str, policy: str) -> Table:
    """Return what is signed, filled in with what is known; the rest is written by hand."""
    rows = (
        ("Institution", identity.institution or ""),
        ("Model", " ".join(filter(None, (identity.model_name, f"(digest {digest})" if digest else "")))),
        ("Intended use", identity.intended_use or ""),
        ("Date of the audit", identity.date or ""),
        ("Tool and policy", f"clinaudit {version}, policy {policy}"),
        ("Verdict", verdict),
    )
    return Table("What is signed", ("Subject", "Entry"), rows)


def signatures_table() -> Table:
    """Return the empty lines to sign on."""
    heads = ("Role", "Name", "Signature", "Date")
    return Table("Signatures", heads, tuple((role, "", "", "") for role in WORDS["roles"]))
