"""The tally of memorization of one arm at one tier, consistent in itself."""

from typing import get_args

from support.results.planted_disclosure import wilson

from clinaudit.audit.measures.memorization.summary import fraction_by_patient
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.audit.statistics.patient_distribution import describe_distribution
from clinaudit.reports.schema.memorization import (
    PIECE_KINDS,
    SECTION_KINDS,
    CopyForwardBin,
    GuardEvidence,
    KBin,
    LengthSummary,
    MemorizationEvidence,
    NearVerbatimEvidence,
    OtherPatientsEvidence,
    PaperView,
    SectionTokens,
    TextBasis,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.tally.leaves import (
    Count,
    CountWithPart,
    Fraction,
    Inside,
    OfText,
    Partition,
    Setting,
    SharesOfText,
)
from clinaudit.reports.tally.tally import GuardTally, MemorizationTally, NearVerbatimTally, OtherPatientsTally

_SECTIONS = (
    "review_of_systems",
    "history_of_present_illness",
    "physical_exam",
    "plan",
    "past_medical_history",
    "social_history",
    "assessment",
    "medications",
    "preamble",
    "vitals",
    "allergies",
    "unassigned",
)


def fractions_of(n: int, touched: int, mean: float) -> dict[str, list[float]]:
    """Return fractions of `n` patients, of whom `touched` have some, spread evenly; `mean` is of all."""
    highest = min(1.0, 2 * mean * n / (touched + 1)) if touched else 0.0
    return {f"p{i:03d}": [highest * (i + 1) / touched if i < touched else 0.0] for i in range(n)}


def fraction_of(n: int, touched: int, mean: float, *, sum_of: tuple[Fraction, ...] = ()) -> Fraction:
    """Return the same as a leaf."""
    return fraction_by_patient(fractions_of(n, touched, mean), sum_of=sum_of)


def halves(some: int, patients: int) -> Partition:
    return Partition.halves("any", some, patients, rest="none")


def mean_of(value: float, n: int = 150, half: float = 0.03) -> Estimate:
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=n)


def other_patients_of(mean: float, touched: int, n: int = 150) -> OtherPatientsTally:
    """Return other patients' text in the answers about `touched` of `n`, twice as much as by chance."""
    shown, is_public = fraction_of(n, touched, mean), n > 20
    return OtherPatientsTally(
        fraction=shown,
        sampled_fraction=Inside(shown, is_public),
        chance=Inside(fraction_of(n, touched, mean / 2), is_public),
        patients=halves(touched, n),
        others=Count.of(touched // 2),
        evidence=Inside(
            OtherPatientsEvidence(
                fraction=mean_of(mean, n, half=0.4 * mean),
                sampled_fraction=mean_of(mean, n, half=0.4 * mean),
                chance=mean_of(mean / 2, n, half=0.2 * mean),
                rate=wilson(touched, n),
            )
        ),
    )


def evidence_of(memorized: float, attributable: float, hits: int, n: int) -> MemorizationEvidence:
    spread = describe_distribution(fractions_of(n, hits, attributable), seed=0)
    return MemorizationEvidence(
        generations=n,
        empty=0,
        shorter_than_ngram=0,
        memorized_fraction=mean_of(memorized),
        memorized_fraction_without_echo=mean_of(memorized * 0.97),
        attributable_fraction=mean_of(attributable, half=0.4 * attributable),
        attributable_fraction_unmasked=mean_of(attributable * 1.1, half=0.4 * attributable),
        near_verbatim_attributable_fraction=mean_of(attributable * 1.02, half=0.4 * attributable),
        hit_rate=wilson(hits, n),
        source_notes_mean=Estimate(value=2.81, low=2.5, high=3.1, n=hits),
        source_notes_any=Estimate(value=4.25, low=4.0, high=4.5, n=hits),
        source_notes_min=Estimate(value=2.14, low=2.0, high=2.3, n=hits),
        stitched_share=Estimate(value=0.287, low=0.25, high=0.32, n=500),
        templated_share=mean_of(0.36),
        multi_patient_share=Estimate(value=0.45, low=0.41, high=0.49, n=700),
        region_length={
            "tokens": LengthSummary(mean=61.5, median=48.0, p90=120.0, max=412),
            "characters": LengthSummary(mean=311.5, median=248.0, p90=620.0, max=2412),
            "words": LengthSummary(mean=50.8, median=40.0, p90=98.0, max=391),
        },
        piece_length={
            kind: {
                unit: LengthSummary(mean=mean, median=mean - 5, p90=2 * mean, max=412)
                for unit, mean in (("tokens", 58.5), ("characters", 301.5), ("words", 47.5))
            }
            for kind in PIECE_KINDS
        },
        k_distribution=[
            KBin(k=k, pieces=pieces, patients=patients)
            for k, pieces, patients in (("1", 385, 100), ("2-10", 120, 40), ("11-100", 150, 50), ("101-1000", 45, 15))
        ],
        sections=[
            SectionTokens(
                section=section,
                revealing_single=round(3000 * attributable / (order + 1)),
                revealing_shared=90 + 10 * order,
                templated_single=20,
                templated_shared=900 // (order + 1),
                patients=dict.fromkeys(SECTION_KINDS, 20),
            )
            for order, section in enumerate(_SECTIONS)
        ],
        copy_forward=[
            CopyForwardBin(notes=notes, pieces=pieces, patients=patients)
            for notes, pieces, patients in (("1", 240, 80), ("2", 80, 26), ("3-5", 50, 16), (">5", 15, 12))
        ],
        dropped_tokens=3,
        paper_view=PaperView(rows=1200, memorized_fraction=mean_of(memorized), hit_rate=wilson(hits * 8, 1200)),
        deciles=spread.deciles,
        worst_tenth=spread.worst_tenth,
        behind=dict.fromkeys(get_args(TextBasis), hits),
    )


def memorization_of(
    memorized: float, attributable: float, hits: int, n: int = 150, *, others: float = 0.004, short: int = 0
) -> MemorizationTally:
    """Return the tally of `n` patients, of whom `hits` have matches; `short` of them have short answers."""
    evidence = evidence_of(memorized, attributable, hits, n)
    of_memorized = fraction_of(n, hits, memorized)
    extra = fraction_of(n, hits, memorized * 0.1)
    return MemorizationTally(
        fractions={
            "memorized_fraction": of_memorized,
            "memorized_fraction_without_echo": fraction_of(n, hits, memorized * 0.97),
            "attributable_fraction": fraction_of(n, hits, attributable),
            "attributable_fraction_unmasked": fraction_of(n, hits, attributable * 1.1),
            "near_verbatim_attributable_fraction": fraction_of(n, hits, attributable * 1.02),
        },
        hits=halves(hits, n),
        attributable=halves(hits, n),
        short=CountWithPart.of(short, 0),
        text={
            name: OfText(value, (hits,))
            for name, value in (
                ("source_notes_mean", 2.81),
                ("source_notes_any", 4.25),
                ("source_notes_min", 2.14),
                ("stitched_share", 0.287),
                ("templated_share", 0.36),
                ("multi_patient_share", 0.45),
                ("region_tokens", 61.5),
                ("region_characters", 311.5),
                ("region_words", 50.8),
            )
        },
        piece_length={
            kind: {unit: OfText(length.mean, (hits,)) for unit, length in lengths.items()}
            for kind, lengths in evidence.piece_length.items()
        },
        k_distribution=SharesOfText.of({row.k: (row.pieces, row.patients) for row in evidence.k_distribution}),
        sections=SharesOfText.of(
            {
                f"{kind} {row.section}": (getattr(row, kind), row.patients[kind])
                for row in evidence.sections
                for kind in SECTION_KINDS
            }
        ),
        copy_forward=SharesOfText.of({row.notes: (row.pieces, row.patients) for row in evidence.copy_forward}),
        evidence=Inside(evidence),
        near_verbatim=NearVerbatimTally(
            window=Setting(30),
            edit_budget=Setting(3),
            fraction=fraction_of(n, hits, memorized * 1.1, sum_of=(of_memorized, extra)),
            extra_fraction=extra,
            patients=halves(hits, n),
            extra_patients=halves(hits, n),
            longest_region=OfText(212.5 * memorized, (hits,)),
            evidence=Inside(
                NearVerbatimEvidence(
                    fraction=mean_of(memorized * 1.1, n=n),
                    extra_fraction=mean_of(memorized * 0.1, n=n, half=0.01 * memorized),
                    longest_region=Estimate(value=212.5 * memorized, low=190 * memorized, high=230 * memorized, n=n),
                    longest_region_length=LengthSummary(mean=212.5 * memorized, median=80.0, p90=300.0, max=644),
                )
            ),
        ),
        guard=GuardTally(
            repeating=halves(n // 2, n),
            ended=Partition.of({"spared": n // 4, "cut": n // 3 - n // 4, "none": n - n // 3}),
            recitation_tokens_cut=OfText(41.5, (n // 3, n - n // 3)),
            evidence=Inside(
                GuardEvidence(
                    ended_generations=n // 3,
                    spared_generations=n // 4,
                    recitation_tokens_cut=Estimate(value=41.5, low=30.5, high=52.5, n=n),
                    recitation_cut_patients=n // 3,
                    unguarded_memorized_fraction=mean_of(memorized),
                    unguarded_attributable_fraction=mean_of(attributable),
                    unguarded_hit_rate=wilson(hits, n),
                    unguarded_hit_patients=hits,
                    unguarded_hit_patients_share=clopper_pearson(hits, n),
                    by_patient={
                        "unguarded_memorized_fraction": {"mean": mean_of(memorized), "bins": []},
                        "unguarded_attributable_fraction": {"mean": mean_of(attributable), "bins": []},
                    },
                )
            ),
        ),
        other_patients=other_patients_of(others, n // 10, n),
    )
