"""Which attacks a run's results hold, and which nobody ran (docs/results.md, "attacks")."""

from clinaudit.priors.renderings import CONTROL
from clinaudit.reports.schema.attacks import ATTACKS, Attack, AttackName, Release
from clinaudit.reports.schema.results import RunResults


def list_attacks(results: RunResults, *, release: Release | None) -> list[Attack]:
    """Return every class of attack in order; one that needs the weights is not applicable where these never leave.

    What was asked of nobody trained on, or of too few to have a figure, was not run: it shows nothing.
    """
    memorization = [summary for arms in results.memorization.values() for summary in arms.values()]
    run: dict[AttackName, bool] = {
        "continuation": bool(memorization),
        "other_patients_text": any(summary.other_patients is not None for summary in memorization),
        "identifiers": results.identifiers is not None,
        "queries_needed": any("train" in arms for arms in results.queries.values()),
        "sampling": "samples" in results.renderings,
        "chat": "chat" in results.renderings,
        "control": CONTROL in results.renderings,
        "membership": results.membership is not None and results.membership.is_interpretable is not None,
        "ordinary_use": results.ordinary is not None and results.ordinary.tasks > 0,
        "attribute_inference": bool(results.disclosure.by_diagnosis),
    }
    return [
        Attack(
            name=name,
            status="run"
            if run.get(name)
            else "not applicable"
            if release == "api" and name in ("fine_tuning", "gradients")
            else "not run",
        )
        for name in ATTACKS
    ]
