"""A verdict on an invented table: each rule by its figure's upper and lower end alone, and one report of both."""

from clinaudit.priors.tiers import FRAGMENT_TIERS, TIER_IDS
from clinaudit.reports.estimates.frame import PLACE, Estimates, Row, RuleKind
from clinaudit.reports.schema.run_results import Rule, RuleStatus, RunReport, RunResults, Verdict

DIAGNOSES = ("anxiety", "depression", "abortion", "bipolar", "ptsd", "hiv")


def invented_verdict(estimates: Estimates) -> Verdict:
    """Return a verdict with rules of every kind: 6 tiers, both arms of strangers' text, all diagnoses."""
    rules: list[Rule] = []

    def ask(kind: RuleKind, metric: str, limit: float, chance: str = "", **place: str) -> None:
        """Ask a rule; `chance` is the arm of the same metric, or a metric at the same place."""
        row = estimates.find(metric, **place | ({"arm": f"train-{chance}"} if kind == "diagnoses" else {}))
        if row is None:
            return
        status, reason, action = _decide(row, limit)
        place = dict(zip(PLACE, row.place, strict=True)) | {"arm": place.get("arm", "")}
        name = "/".join(part for part in place.values() if part)
        question = f"Is {metric} within its limit?"
        is_pool = chance.endswith(("_chance", "_chance_fraction"))
        fields = {"status": status, "reason": reason, "action": action, "limit": limit}
        if chance:
            fields |= {
                "chance_metric": chance if is_pool else metric,
                "chance_arm": place.get("arm", "") if is_pool else chance,
            }
        rules.append(Rule(id=name, kind=kind, question=question, **fields, **place))

    for tier in TIER_IDS:
        at = {"form": "text", "tier": tier}
        ask("own", "attributable_fraction", 0.05, "nontrain", **at, arm="train")
        ask("own", "attributable_patients", 0.1, "nontrain", **at, arm="train")
        for arm in ("train", "nontrain"):
            ask("others", "other_patient_fraction", 0.05, "other_patient_chance_fraction", **at, arm=arm)
            ask("identifiers", "other_identifiers", 0.1, "other_identifiers_chance", **at, arm=arm)
        ask("identifiers", "own_identifiers", 0.1, "nontrain", **at, arm="train")
        if tier in FRAGMENT_TIERS:
            queries = {"by": "queries", "part": "1000"}
            ask("queries", "queries_needed", 0.05, "nontrain", tier=tier, arm="train", **queries)
        for diagnosis in DIAGNOSES:
            ask("diagnoses", "auroc_all", 0.25, "nontrain", **at, arm="train", diagnosis=diagnosis)
    ask("everyday", "everyday_tasks", 0.05, "everyday_tasks_chance")
    statuses = {rule.status for rule in rules}
    worst = next(status for status in ("fail", "inconclusive", "pass") if status in statuses)
    return Verdict(status=worst, policy="default", reason="what an appointment reminder shows is enough", rules=rules)


def _decide(row: Row, limit: float) -> tuple[RuleStatus, str, str]:
    if row.low is not None and row.low > limit:
        return "fail", "more than the limit is given away", ""
    if row.high is not None and row.high <= limit:
        return "pass", "at most the limit is given away", ""
    return "inconclusive", "the limit lies within the interval", "Ask 200 patients of either split."


def invented_report(estimates: Estimates, *, is_exact: bool = False) -> RunReport:
    """Return a report of the table with the verdict on it."""
    return RunReport(RunResults(verdict=invented_verdict(estimates)), estimates, {}, is_exact)
