"""The tally of memorization of one arm at one tier, consistent in itself."""

from support.results.filled_evidence import fill_record

from clinaudit.audit.measures.memorization.summary import fraction_by_patient
from clinaudit.audit.statistics.patient_distribution import describe_distribution
from clinaudit.reports.schema.memorization import (
    PIECE_KINDS,
    SECTION_KINDS,
    CopyForwardBin,
    KBin,
    LengthSummary,
    MemorizationEvidence,
    NearVerbatimEvidence,
    OtherPatientsEvidence,
    SectionTokens,
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
from clinaudit.reports.tally.tally import MemorizationTally, NearVerbatimTally, OtherPatientsTally

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


_K = (("1", 385, 100), ("2-10", 120, 40), ("11-100", 150, 50), ("101-1000", 45, 15))
_COPIES = (("1", 240, 80), ("2", 80, 26), ("3-5", 50, 16), (">5", 15, 12))


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
        evidence=Inside(fill_record(OtherPatientsEvidence, n)),
    )


def evidence_of(attributable: float, hits: int, n: int) -> MemorizationEvidence:
    spread = describe_distribution(fractions_of(n, hits, attributable), seed=0)
    lengths = {"tokens": 58.5, "characters": 301.5, "words": 47.5}
    sections = [
        {
            "section": section,
            "revealing_single": round(3000 * attributable / (order + 1)),
            "revealing_shared": 90 + 10 * order,
            "templated_single": 20,
            "templated_shared": 900 // (order + 1),
            "patients": dict.fromkeys(SECTION_KINDS, 20),
        }
        for order, section in enumerate(_SECTIONS)
    ]
    changes = {
        "piece_length": {
            kind: {
                unit: LengthSummary(mean=mean, median=mean - 5, p90=2 * mean, max=412) for unit, mean in lengths.items()
            }
            for kind in PIECE_KINDS
        },
        "k_distribution": [KBin(k=k, pieces=pieces, patients=of) for k, pieces, of in _K],
        "sections": [SectionTokens.model_validate(section) for section in sections],
        "copy_forward": [CopyForwardBin(notes=notes, pieces=pieces, patients=of) for notes, pieces, of in _COPIES],
        "deciles": spread.deciles,
        "worst_tenth": spread.worst_tenth,
    }
    return fill_record(MemorizationEvidence, n).model_copy(update=changes)


def memorization_of(
    memorized: float, attributable: float, hits: int, n: int = 150, *, others: float = 0.004, short: int = 0
) -> MemorizationTally:
    """Return the tally of `n` patients, of whom `hits` have matches; `short` of them have short answers."""
    evidence = evidence_of(attributable, hits, n)
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
            evidence=Inside(fill_record(NearVerbatimEvidence, n)),
        ),
        other_patients=other_patients_of(others, n // 10, n),
    )
