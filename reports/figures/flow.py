"""The flow of numbers: from the patients of the corpus to the answers that were judged (after CONSORT).

Works on what is published: sums and differences of classes are ranges again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from clinaudit.reports.schema.numbers import NOBODY, CountRange, add
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import ARM_WORDS
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step: its name, how many, and who left before it."""

    title: str
    counts: tuple[str, ...]
    note: str = ""


def flow_steps(results: RunResults) -> list[FlowStep]:
    """Return the steps in their order; one that was not measured says so."""
    return [_in_corpus(results), _eligible(results), _matched(results), _probed(results), _judged(results)]


def _in_corpus(results: RunResults) -> FlowStep:
    splits = {} if results.corpus is None else results.corpus.splits
    counts = tuple(f"{count_text(splits[arm].patients)} {ARM_WORDS[arm]}" for arm in ARMS if arm in splits)
    return FlowStep("In the corpus", counts or (NOT_MEASURED,))


def _eligible(results: RunResults) -> FlowStep:
    known = {} if results.corpus is None else results.corpus.splits
    splits = [known[arm] for arm in ARMS if arm in known]
    if not splits or not results.cohorts:
        return FlowStep("Eligible", (NOT_MEASURED,))
    everyone = add(population.patients for population in splits)
    eligible = _hull(_less(everyone, add(cohort.excluded.values())) for cohort in results.cohorts.values())
    excluded: dict[str, list[CountRange]] = {}
    for cohort in results.cohorts.values():
        for reason, count in cohort.excluded.items():
            excluded.setdefault(reason, []).append(count)
    reasons = "; ".join(
        f"{reason}, {count_text(_hull(counts))}" for reason, counts in excluded.items() if _hull(counts).high
    )
    return FlowStep(
        "Eligible", (f"{count_text(eligible)} patients for each diagnosis",), f"Left out: {reasons}." if reasons else ""
    )


def _matched(results: RunResults) -> FlowStep:
    matched = {name: cohort for name, cohort in results.cohorts.items() if cohort.sets.high}
    if not matched:
        return FlowStep("Matched", (NOT_MEASURED,))
    sets = _hull(cohort.sets for cohort in matched.values())
    groups = 4 if results.corpus is None or results.corpus.counterfactual else 2
    unmatched = len(results.cohorts) - len(matched)
    note = "With and without the diagnosis, alike in age, sex and number of notes."
    if unmatched:
        note += f" Nobody could be matched for {unmatched} of the diagnoses."
    return FlowStep("Matched", (f"{groups} groups of {count_text(sets)} patients for each diagnosis",), note)


def _probed(results: RunResults) -> FlowStep:
    counts = []
    for arm in ARMS:
        patients = [arms[arm].patients for arms in results.memorization.values() if arm in arms]
        if patients:
            most = max(patients, key=lambda count: (count.high, count.low))
            counts.append(f"{count_text(most)} {ARM_WORDS[arm]}")
    if not counts:
        return FlowStep("Asked about", (NOT_MEASURED,))
    return FlowStep("Asked about", tuple(counts), _left_out(results, "priors"))


def _judged(results: RunResults) -> FlowStep:
    stage = results.completeness.get("judgements")
    if stage is None or not results.disclosure.by_diagnosis:
        return FlowStep("Judged", (NOT_MEASURED,))
    unjudged = add(
        counts.unjudged
        for tiers in results.disclosure.by_diagnosis.values()
        for pair in tiers.values()
        for statuses in pair.verdicts.values()
        for counts in statuses.values()
    )
    lost = "every one has a verdict" if not unjudged.high else f"{count_text(unjudged)} without a usable verdict"
    return FlowStep(
        "Judged", (f"{count_text(stage.planned)} readings",), f"Each answer is read once for each diagnosis; {lost}."
    )


def _left_out(results: RunResults, stage: str) -> str:
    planned = results.completeness.get(stage)
    count = add(planned.excluded.values()) if planned is not None else NOBODY
    return f"At most; {count_text(count)} questions could not be asked (annex)." if count.high else "At most, by tier."


def _less(whole: CountRange, part: CountRange) -> CountRange:
    return CountRange(low=max(0, whole.low - part.high), high=max(0, whole.high - part.low))


def _hull(counts: Iterable[CountRange]) -> CountRange:
    listed = list(counts)
    return CountRange(low=min(count.low for count in listed), high=max(count.high for count in listed))
