"""The summary of near-verbatim text over the generations of one tier and arm (docs/methods.md, section 2a).

Owns means and lengths of what near_verbatim.py finds. They stand beside the verbatim summary, in a block of their own:
no other metric, rule or limit is made from them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clinaudit.audit.measures.memorization.near_verbatim import NearVerbatimText, edit_budget
from clinaudit.audit.measures.memorization.summary import (
    GenerationMetrics,
    fraction_by_patient,
    ratio_over_patients,
)
from clinaudit.audit.measures.memorization.text_lengths import summarize_lengths
from clinaudit.reports.schema.memorization import NearVerbatimEvidence
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.tally.leaves import Fraction, Inside, OfText, Partition, Setting
from clinaudit.reports.tally.tally import NearVerbatimTally


@dataclass(frozen=True, slots=True)
class NearVerbatimCounts:
    """The counts of one generation from which a summary is made, in tokens."""

    patient_id: str
    tokens: int
    near_tokens: int
    #: Near-verbatim, and in no verbatim match.
    extra_tokens: int
    #: Length of the longest region; 0 where there is none.
    longest_region: int


def measure_near_verbatim(text: NearVerbatimText, metrics: GenerationMetrics) -> NearVerbatimCounts:
    """Reduce one generation to its counts. Every memorized token is near-verbatim too: it needs zero edits."""
    return NearVerbatimCounts(
        patient_id=metrics.patient_id,
        tokens=metrics.tokens,
        near_tokens=text.tokens,
        extra_tokens=text.tokens - metrics.memorized_tokens,
        longest_region=max((len(range(*span)) for span, _ in text.longest), default=0),
    )


def summarize_near_verbatim(
    counts: Sequence[NearVerbatimCounts], *, memorized: Fraction, match_tokens: int, seed: int
) -> NearVerbatimTally:
    """Return the tally of one tier and arm; raises `ValueError` without a generation.

    `memorized` is the memorized fraction of the same generations: with what is near-verbatim alone it adds up to all
    that is. `match_tokens` is n, the length of a match in tokens; `seed` is that of the bootstrap over patients.
    """
    if not counts:
        raise ValueError("no generation to summarize")

    def mean(tokens: Callable[[NearVerbatimCounts], int]) -> Estimate:
        return ratio_over_patients(((row.patient_id, _fraction(tokens(row), row), 1) for row in counts), seed=seed)

    near, extra = (
        len({row.patient_id for row in counts if row.near_tokens}),
        len({row.patient_id for row in counts if row.extra_tokens}),
    )
    patients = len({row.patient_id for row in counts})
    longest = ratio_over_patients(
        ((row.patient_id, row.longest_region, int(row.longest_region > 0)) for row in counts), seed=seed
    )
    extra_fraction = fraction_by_patient(_by_patient(counts, lambda row: row.extra_tokens))
    return NearVerbatimTally(
        window=Setting(match_tokens),
        edit_budget=Setting(edit_budget(match_tokens)),
        fraction=fraction_by_patient(
            _by_patient(counts, lambda row: row.near_tokens), sum_of=(memorized, extra_fraction)
        ),
        extra_fraction=extra_fraction,
        patients=Partition.halves("any", near, patients, rest="none"),
        extra_patients=Partition.halves("any", extra, patients, rest="none"),
        longest_region=OfText(longest.value, (near,)),
        evidence=Inside(
            NearVerbatimEvidence(
                fraction=mean(lambda row: row.near_tokens),
                extra_fraction=mean(lambda row: row.extra_tokens),
                longest_region=longest,
                longest_region_length=summarize_lengths([row.longest_region for row in counts]),
            )
        ),
    )


def _fraction(tokens: int, row: NearVerbatimCounts) -> float:
    return tokens / row.tokens if row.tokens else 0.0


def _by_patient(
    counts: Sequence[NearVerbatimCounts], tokens: Callable[[NearVerbatimCounts], int]
) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for row in counts:
        values.setdefault(row.patient_id, []).append(_fraction(tokens(row), row))
    return values
