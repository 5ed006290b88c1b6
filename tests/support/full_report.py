"""A whole `RunReport` of a run that never was, with all that a page may say of one."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_verdict

from clinaudit.reports.estimates.frame import Estimates, as_estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.attacks import ATTACKS, Attack
from clinaudit.reports.schema.run_results import (
    CohortFacts,
    CorpusFacts,
    IdentifierFacts,
    Rule,
    RunReport,
    RunResults,
    Settings,
    TrainingLoss,
    Verdict,
)

MORE_PATIENTS = "Ask 200 patients of either split."


@cache
def full_report(
    status: str = "", *, seed: int = 0, forms: Sequence[str] = ("text",), nontrain: int = 130, is_exact: bool = False
) -> RunReport:
    """Return a report, published or exact; with `status` "pass" every rule passes, with "inconclusive" none fails."""
    exact = invented_estimates(seed, nontrain=nontrain, forms=forms)
    estimates = Estimates(exact if is_exact else publish(exact))
    found = invented_verdict(Estimates(exact))
    rules = [_as_wished(rule, status) for form in forms for rule in _asked_as(form, found.rules)]
    verdict = Verdict(
        status=next(one for one in ("fail", "inconclusive", "pass") if one in {rule.status for rule in rules}),
        policy="default",
        reason=found.reason,
        rules=rules,
        remarks=["The model tells whose notes it was trained on."],
    )
    results = RunResults(
        verdict=verdict,
        settings=Settings(match_tokens=30, max_new_tokens=600, forms=[*forms], sampled=True, seed=7),
        corpus=CorpusFacts(counterfactual=nontrain > 0, labels="table", warnings=["Half of the notes hold tags."]),
        cohorts={"hiv": CohortFacts(status="matched"), "copd": CohortFacts(status="not_asked")},
        identifiers=IdentifierFacts(not_tested={"P": "no text", "Q": "no text"}),
        judge="lexicon",
        judge_labels="shipped",
        warnings=["The control model was not asked."],
        training=[
            TrainingLoss(epoch=epoch, train_loss=None, validation_loss=abs(epoch - 8) + 1.0, perplexity=None)
            for epoch in (1, 8, 24)
        ],
        attacks=[Attack(name=name, status="not run" if place > 9 else "run") for place, name in enumerate(ATTACKS)],
    )
    identity = {
        "model_name": "Invented notes 7B",
        "institution": "Invented Hospital",
        "date": "2026-11-28",
        "intended_use": "Drafts visit notes that clinicians edit",
    }
    provenance = {"clinaudit": "0.9.0", "identity": identity, "digests": {"model": "9b0cecd75fee00112233"}}
    return RunReport(results, estimates, provenance, is_exact=is_exact)


def _asked_as(form: str, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules of plain text, or the same of another form, as far as they are about one."""
    if form == "text":
        return [*rules]
    return [
        rule.model_copy(update={"form": form, "id": f"{rule.id}/{form}"})
        for rule in rules
        if rule.tier and rule.kind != "queries"
    ]


def _as_wished(rule: Rule, status: str) -> Rule:
    if status == "pass" or (status == "inconclusive" and rule.status == "fail"):
        return rule.model_copy(update={"status": status, "action": "" if status == "pass" else MORE_PATIENTS})
    return rule


_EMPTY = partial(RunReport, RunResults(), Estimates(as_estimates([])), {})
_FORMS = ("text", "chat")
#: Every kind of report.
REPORTS: dict[str, Callable[[], RunReport]] = {
    "full": partial(full_report, forms=_FORMS),
    "pass": partial(full_report, "pass"),
    "undecided": partial(full_report, "inconclusive", seed=1),
    "train-only": partial(full_report, nontrain=0),
    "empty": _EMPTY,
    "exact": partial(full_report, forms=_FORMS, is_exact=True),
    "exact-empty": partial(_EMPTY, is_exact=True),
}
