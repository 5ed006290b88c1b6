"""Published memorization and disclosure made by hand: a model that leaks from the appointment reminder on."""

from support.results.published_numbers import Notation

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.disclosure import MeanResults, PairResults, VerdictCounts
from clinaudit.reports.schema.memorization import (
    LENGTH_UNITS,
    PIECE_KINDS,
    CopiedPieces,
    FractionBin,
    FractionOfText,
    MemorizationResults,
    NearVerbatimResults,
    OtherPatientsResults,
    SectionComposition,
    ShareAbove,
    SharedPieces,
)
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS

BIN_ENDS = (0.0, 0.0, 0.01, 0.1, 0.5, 1.0)
METRICS = ("mention_rate", "auroc", "ppv", "auroc_all", "sensitivity", "false_positive_rate", "ppv_at_prevalence")
SECTIONS = ("history_of_present_illness", "review_of_systems", "plan", "past_medical_history", "unassigned")


def fraction(form: Notation, mean: float, patients: tuple[int, int, int, int, int]) -> FractionOfText:
    """Return a fraction with this mean; `patients` at zero, to 1%, to 10%, to 50%, and above."""
    total = sum(patients)
    return FractionOfText(
        mean=form.mean(mean, total) if total else EstimateRange(reason="every patient was excluded"),
        bins=[
            FractionBin(low=low, high=high, patients=form.count(number))
            for low, high, number in zip(BIN_ENDS, BIN_ENDS[1:], patients, strict=False)
        ],
        above=[
            ShareAbove(
                threshold=threshold,
                patients=form.count(sum(patients[first:])),
                share=form.rate(sum(patients[first:]), sum(patients[:first])),
            )
            for first, threshold in ((1, 0.0), (2, 0.01), (3, 0.1), (4, 0.5))
        ],
    )


def other_patients(form: Notation, mean: float, patients: int) -> OtherPatientsResults:
    """Return other patients' text with this mean, in the answers about a quarter of the patients; by chance none."""
    some = patients // 4
    shown = fraction(form, mean, (patients - some, 0, some, 0, 0))
    return OtherPatientsResults(
        fraction=shown,
        sampled_fraction=shown,
        chance=fraction(form, 0.0, (patients, 0, 0, 0, 0)),
        patients=form.count(some),
        patients_share=form.rate(some, patients - some),
        others=form.count(some // 2),
    )


def memorization(
    form: Notation, *, leaks: bool, short: int, patients: int, others: float = 0.004
) -> MemorizationResults:
    """Return one tier in one arm: nearly everything recited, or nothing but a word of one patient.

    `others`: share of the text that is another patient's.
    """
    most = (1, 0, 0, 5, patients - 6) if leaks else (patients - 1, 1, 0, 0, 0)
    some = patients if leaks else 4
    share = 0.7 if leaks else 0.0004
    return MemorizationResults(
        patients=form.count(patients),
        memorized_fraction=fraction(form, 0.985 if leaks else 0.012, most),
        memorized_fraction_without_echo=fraction(form, 0.96 if leaks else 0.01, most),
        attributable_fraction=fraction(form, share, most),
        attributable_fraction_unmasked=fraction(form, share * 1.1, most),
        near_verbatim_attributable_fraction=fraction(form, share * 1.02, most),
        hit_patients=form.count(some),
        hit_patients_share=form.rate(some, patients - some),
        empty=form.count(0),
        short=form.count(short),
        short_share=form.rate(short, patients - short),
        source_notes_mean=2.8 if leaks else None,
        source_notes_any=None,
        source_notes_min=None,
        stitched_share=0.29 if leaks else None,
        templated_share=0.24 if leaks else None,
        multi_patient_share=0.45 if leaks else None,
        region_tokens=140.0 if leaks else None,
        region_characters=680.0 if leaks else None,
        region_words=None,
        piece_length={kind: dict.fromkeys(LENGTH_UNITS) for kind in PIECE_KINDS},
        k_distribution=[SharedPieces(k=k, share=s if leaks else None) for k, s in (("1", 0.7), ("2-10", 0.3))],
        sections=[
            SectionComposition(
                section=section,
                revealing_single=0.2 - 0.03 * order if leaks else None,
                revealing_shared=0.02 if leaks else None,
                templated_single=0.01 if leaks else None,
                templated_shared=0.05 if leaks else None,
            )
            for order, section in enumerate(SECTIONS)
        ],
        copy_forward=[CopiedPieces(notes=n, share=s if leaks else None) for n, s in (("1", 0.9), ("2", 0.1))],
        near_verbatim=NearVerbatimResults(
            window=30,
            edit_budget=3,
            fraction=fraction(form, 0.99 if leaks else 0.02, most),
            extra_fraction=fraction(form, 0.01, (patients - 12, 12, 0, 0, 0)),
            longest_region=210.0 if leaks else None,
        ),
        other_patients=other_patients(form, others, patients),
    )


def verdicts(form: Notation, cell: int, positive: int, ambiguous: int = 0) -> VerdictCounts:
    """Return `cell` patients, of whom `positive` are called so; of the rest some are denied it."""
    negative = (cell - positive) // 4
    return VerdictCounts(
        positive=form.count(positive),
        negative=form.count(negative),
        undecided=form.count(cell - positive - negative),
        unjudged=form.count(0),
        ambiguous=form.count(ambiguous),
    )


def metrics(form: Notation, cell: int, have: int, lack: int) -> dict[str, EstimateRange]:
    """Return the metrics of one arm; `have` and `lack` are those called positive among `cell` with and without."""
    area = 0.5 + (have - lack) / (2 * cell)
    return {
        "mention_rate": form.rate(have + lack, 2 * cell - have - lack),
        "auroc": form.figure(area),
        "ppv": form.rate(have, lack),
        "auroc_all": form.figure(area),
        "sensitivity": form.rate(have, cell - have),
        "false_positive_rate": form.rate(lack, cell - lack),
        "ppv_at_prevalence": form.figure(have / (have + lack) if have + lack else 0.0),
    }


def pair(form: Notation, *, cell: int, leaks: bool, order: int, nontrain: bool) -> PairResults:
    """Return one diagnosis at one tier; `order` reveals diagnoses apart."""
    guess = cell * 6 // 10
    have, lack = (cell - order % 2, 1 if order == 2 else 0) if leaks else (guess, guess - 1)
    counts = {"train": (have, lack), "nontrain": (guess - order, guess - 2 * (order % 2))}
    shown = ARMS if nontrain else ("train",)
    figures = {arm: metrics(form, cell, *counts[arm]) for arm in shown}
    delta = (counts["train"][0] - counts["train"][1] - counts["nontrain"][0] + counts["nontrain"][1]) / (2 * cell)
    return PairResults(
        patients=form.count(cell),
        verdicts={
            arm: {
                "present": verdicts(form, cell, counts[arm][0], order % 2),
                "absent": verdicts(form, cell, counts[arm][1]),
            }
            for arm in shown
        },
        train=figures["train"],
        nontrain=figures.get("nontrain"),
        delta={name: form.figure(delta, least=-1.0) for name in METRICS} if nontrain else None,
        dropped_sets={"chief complaint refers to it": form.count(3 if order == 5 else 0)},
        detectable_delta=form.figure(0.17, width=0.01),
    )


def means(by_diagnosis: dict[str, dict[str, PairResults]], *, nontrain: bool) -> dict[str, MeanResults]:
    """Return the means over diagnoses by tier, taken from the first one."""
    first = next(iter(by_diagnosis.values()))
    return {
        tier: MeanResults(
            train=first[tier].train,
            nontrain=(first[tier].nontrain or {}) if nontrain else {},
            delta=(first[tier].delta or {}) if nontrain else {},
        )
        for tier in TIER_IDS
    }
