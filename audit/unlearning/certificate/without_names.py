"""The deletion certificate without names: exact (PHI), and what of it may be published (docs/forgetting.md).

Of 1 to 10 named patients nothing but the verdict over all is published: whoever asked for them to be forgotten may know
how many they are, and a known total gives a small cell away. Of more, a count is published where neither it nor the
rest is 1 to 10.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.audit.unlearning.certificate.verdict import OF_THE_RUNS
from clinaudit.reports.schema.certificate import Certificate
from clinaudit.reports.schema.forgetting import NOT_PUBLISHED, Forgetting, HealthCheck
from clinaudit.reports.wording.figures import count_words, is_hidden

#: What is weighed beside the two audits, in words.
ANSWERS: Final = "answers to a benchmark's questions"
TRAINED_AGAIN: Final = "the training record of the model after"
_SIDES: Final = ("stood_out_before", "stands_out_after")


def exact_forgetting(certificate: Certificate) -> Forgetting:
    """Return the certificate without names, with its exact counts (PHI)."""
    patients = certificate.patients
    beside = {TRAINED_AGAIN: certificate.training_record, ANSWERS: certificate.bench}
    before, after = (_share_of([getattr(one, side) for one in patients]) for side in _SIDES)
    return Forgetting(
        verdict=certificate.verdict,
        named=f"{len(patients):,}",
        before=before,
        after=after,
        collapsed=certificate.collapsed,
        is_trained_again=certificate.training_record is not None,
        health=certificate.health,
        reasons=sorted({*certificate.reasons, *(reason for patient in patients for reason in patient.reasons)}),
        beside=[words for words, given in beside.items() if given is not None],
    )


def published_forgetting(certificate: Certificate, group_sizes: Mapping[str, int]) -> Forgetting:
    """Return what may be published; `group_sizes` are the patients that each health check rests on."""
    exact, named = exact_forgetting(certificate), len(certificate.patients)
    is_few = is_hidden(named)
    before, after = (sum(map(bool, (getattr(one, side) for one in certificate.patients))) for side in _SIDES)
    return exact.model_copy(
        update={
            "named": count_words(named),
            # ">1 of 12" would be 11 of them, since 10 and fewer are "<11".
            "before": None if is_few or is_hidden(before, named) else exact.before,
            "after": None if is_few or is_hidden(after, named) else exact.after,
            "health": [_publish_check(check, group_sizes.get(check.group, 0)) for check in exact.health],
            # A reason is shown where somebody has it, or of how many are named: of few that is a count.
            "reasons": [reason for reason in exact.reasons if reason in OF_THE_RUNS or not is_few],
        }
    )


def _share_of(found: Sequence[bool | None]) -> str | None:
    """Return how many of those named were found; None where the test could find nobody."""
    return f"{sum(map(bool, found)):,} of {len(found):,}" if any(one is not None for one in found) else None


def _publish_check(check: HealthCheck, patients: int) -> HealthCheck:
    """Give measured values of text to two digits where more than ten patients stand behind them.

    A share of generations is a function of how many patients have one such generation: it is never given.
    """
    if check.unit == "tokens" and patients and not is_hidden(patients):
        values = {name: getattr(check, name) for name in ("a", "b", "limit")}
        return check.model_copy(
            update={name: None if of is None else float(f"{of:.2g}") for name, of in values.items()}
        )
    withheld = check.a is not None or check.b is not None
    reason = check.reason or (NOT_PUBLISHED if withheld else None)
    return check.model_copy(update={"a": None, "b": None, "limit": None, "reason": reason})
