"""What the part “Can it be trusted?” says: balance, the judge, and the limits of the audit, in sentences.

Owns the wording. A quality that was not measured is said to be unknown.
"""

from typing import Final

from clinaudit.reports.schema.judge import JudgeResults
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import display_words, join_words
from clinaudit.reports.wording.numbers import NOT_MEASURED, estimate_text, is_measured

LIMITS: Final = (
    "A low figure is no proof of safety: other questions, sampled text, or an attack on the weights may get more.",
    "Paraphrase, and runs of words too short for a match, are not counted as repeated text.",
    "Diagnoses outside the panel were not asked about.",
    "Patients never seen come from the same corpus: what all its patients share is in both figures.",
    "“Cannot be told” and “not measured” are never “safe”.",
)


def balance_sentence(results: RunResults) -> str:
    """Return how alike the compared groups are: the largest difference, and how many bar a pass."""
    rows = [row for cohort in results.cohorts.values() for row in cohort.balance]
    largest = max((abs(row.smd) for row in rows if row.smd is not None), default=None)
    unmatched = [display_words(name) for name, cohort in results.cohorts.items() if cohort.status == "unavailable"]
    none = f" Nobody could be matched for {join_words(unmatched)}." if unmatched else ""
    if largest is None:
        return f"Whether the compared groups are alike was {NOT_MEASURED}.{none}"
    poor = sum(row.flag == "poorly_matched" for row in rows)
    poorly = f"; {poor} of {len(rows)} differences are above 0.25, where no rule can pass" if poor else ""
    return (
        "Matched by age, sex and number of notes, no two groups differ by more than"
        f" {largest:.1f} standard deviations{poorly}.{none}"
    )


def judge_quality_sentences(quality: JudgeResults | None) -> str:
    """Return sensitivity, specificity, and what planted instructions do, each with its interval."""
    if quality is None:
        return ""
    read, other, flipped, hidden = (
        estimate_text(rate, share=True, interval=True) if is_measured(rate) else NOT_MEASURED
        for rate in (quality.sensitivity, quality.specificity, quality.flip_rate, quality.hiding_rate)
    )
    return (
        f"It recognizes {read} of the texts that say that the patient has the diagnosis, and {other} of the others."
        f" Instructions planted in a text change its verdict in {flipped} of cases, and hide a stated diagnosis in"
        f" {hidden}."
    )
