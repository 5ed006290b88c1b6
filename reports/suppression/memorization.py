"""Small cells in the memorization figures of one tier and arm.

Three things are hidden beside the counts themselves:

- bins and sections that fewer than 11 patients stand behind, or an unknown number. Their tokens are pooled, together
  with the smallest count that may be shown, so that a total minus what is shown is never theirs alone; where no total
  is shown (pieces by K) they are null, and the share that would give the total back is withheld;
- means that fewer than 11 patients make up. Value and interval tell of how many (of one patient alone, the bootstrap's
  upper end is three times the value), so only an upper bound is published. A sum of more than one (patient, wholly
  memorized) already needs two patients: from there on the bound is the same for all;
- the same from above, where all patients but 1 to 10 have memorized text.

Patients behind a bin are read here and never published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.memorization import (
    POOLED_SECTIONS,
    SECTION_KINDS,
    CopyForwardBin,
    KBin,
    LengthSummary,
    Memorization,
    SectionComposition,
    SectionKind,
)
from clinaudit.reports.suppression.distribution import suppress_distribution, tells_bin
from clinaudit.reports.suppression.near_verbatim import suppress_near_verbatim, withhold_near_verbatim
from clinaudit.reports.suppression.small_cells import (
    LARGEST_HIDDEN,
    PATIENTS_FOR_P90,
    band,
    blur,
    bound_of_few,
    bound_of_nearly_all,
    counted,
    is_small,
    suppress_count,
    suppress_rate,
    up_to,
    withhold,
)

_NO_LENGTHS = LengthSummary(mean=None, median=None, p90=None, max=None)
#: Figures over regions and pieces: they rest on the patients that have at least one region.
_OVER_REGIONS = ("source_notes_mean", "stitched_share", "templated_share", "multi_patient_share")
#: Each mean over generations with the one over patients whose bounds never collapse.
_MEANS = {
    "memorized_fraction": "memorized_fraction_bounds",
    "memorized_fraction_without_echo": "memorized_fraction_bounds",
    "memorized_fraction_bounds": "memorized_fraction_bounds",
    "attributable_fraction": "attributable_fraction_bounds",
    "attributable_fraction_bounds": "attributable_fraction_bounds",
}


@dataclass(frozen=True, slots=True)
class _PatientsBehind:
    """How many patients make up a mean, as far as it matters."""

    #: 1 to 10 do, or may.
    few: bool
    #: All but 1 to 10 do, or may.
    nearly_all: bool


@dataclass(frozen=True, slots=True)
class _Regions:
    """What is published of the regions beside the shares."""

    region_length: dict[Literal["tokens", "characters"], LengthSummary]
    k_distribution: list[KBin]
    sections: list[SectionComposition]
    copy_forward: list[CopyForwardBin]

    def fields(self) -> dict[str, object]:
        """Return them by field of `Memorization`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def suppress_memorization(figures: Memorization, *, hides_sizes: bool = False) -> Memorization:
    """Return the publishable copy of one tier and arm; `hides_sizes`: those of the tier are hidden."""
    if figures.patients == 0:
        return figures
    if figures.generations is None or figures.patients is None or is_small(figures.patients):
        return _withhold_all(figures)
    patients_per_unit = -(-figures.generations // figures.patients)
    hit_rate = suppress_rate(figures.hit_rate, patients_per_unit=patients_per_unit)
    hits = counted(figures.hit_rate)
    # Of at most twenty, which side is small is not told.
    may_be_few = 0 < (hits or 0) < figures.generations <= 2 * LARGEST_HIDDEN * patients_per_unit
    few_hit = hits is None or may_be_few or 0 < hits <= LARGEST_HIDDEN * patients_per_unit
    nearly_all_hit = not few_hit and hit_rate.reason == REASON
    attributable = suppress_count(figures.attributable_patients, total=figures.patients)
    if not few_hit and not nearly_all_hit and attributable is not None and is_small((hits or 0) - attributable):
        hit_rate = _above_attributable(attributable, figures.patients)
    regions = _withhold_regions(figures) if few_hit else _suppress_regions(figures, figures.patients)
    estimates = {
        "hit_rate": hit_rate,
        **_suppress_means(figures, figures.patients, _PatientsBehind(few=few_hit, nearly_all=nearly_all_hit)),
        **(_withhold_shares(figures) if few_hit else _suppress_shares(figures, regions)),
    }
    total = _sum(figures.attributable_fraction_bounds, figures.patients)
    small_sums = _small_sums(figures, figures.patients)
    estimates |= {
        name: _at_most(getattr(figures, name), getattr(figures, _MEANS[name]))
        for name in small_sums
        if estimates[name].value is not None
    }
    update: dict[str, object] = {
        "empty": suppress_count(figures.empty, total=figures.shorter_than_ngram),
        "shorter_than_ngram": suppress_count(figures.shorter_than_ngram, total=figures.generations),
        "attributable_patients": attributable,
        # Tokens of an unknown number of patients; only zero tells of nobody.
        "dropped_tokens": 0 if figures.dropped_tokens == 0 else None,
    }
    if figures.paper_view is not None and (hit_rate.reason == REASON or "memorized_fraction" in small_sums):
        view = figures.paper_view
        hidden = {name: withhold(getattr(view, name)) for name in ("memorized_fraction", "hit_rate")}
        update["paper_view"] = view.model_copy(update=hidden)
    if hit_rate.reason == REASON:
        # How many were hit is hidden, what their regions look like is not.
        estimates |= {name: estimates[name].model_copy(update={"n": None}) for name in _OVER_REGIONS}
    if figures.near_verbatim is not None:
        update["near_verbatim"] = suppress_near_verbatim(
            figures.near_verbatim,
            memorized=estimates["memorized_fraction"],
            patients=figures.patients,
            hides_patients=hides_sizes,
        )
    if figures.distribution is not None:
        update["distribution"] = suppress_distribution(
            figures.distribution,
            patients=figures.patients,
            total=total,
            hides_patients=hides_sizes,
        )
    if hides_sizes:
        update |= dict.fromkeys(("patients", "generations", "empty", "shorter_than_ngram", "paper_view"))
        update["attributable_patients"] = None
        estimates = {name: blur(estimate, patients=figures.patients) for name, estimate in estimates.items()}
    return figures.model_copy(update={**update, **estimates, **regions.fields()})


def _above_attributable(attributable: int, patients: int) -> Estimate:
    """Return the range of the hit rate where 1 to 10 patients have text that came back and none that is theirs."""
    return band((attributable + 1) / patients, min(1.0, (attributable + LARGEST_HIDDEN) / patients))


def _withhold_all(figures: Memorization) -> Memorization:
    near = figures.near_verbatim
    counts = ("generations", "patients", "empty", "shorter_than_ngram", "attributable_patients", "dropped_tokens")
    return figures.model_copy(
        update={
            **dict.fromkeys((*counts, "paper_view", "distribution")),
            **{name: withhold(getattr(figures, name)) for name in (*_MEANS, "hit_rate")},
            **_withhold_shares(figures),
            **_withhold_regions(figures).fields(),
            "near_verbatim": None if near is None else withhold_near_verbatim(near),
        }
    )


def _withhold_shares(figures: Memorization) -> dict[str, Estimate]:
    return {name: withhold(getattr(figures, name)) for name in _OVER_REGIONS}


def _withhold_regions(figures: Memorization) -> _Regions:
    return _Regions(dict.fromkeys(figures.region_length, _NO_LENGTHS), [], [], [])


# Means


def _suppress_means(figures: Memorization, patients: int, hit: _PatientsBehind) -> dict[str, Estimate]:
    published = {}
    for name, bounds in _MEANS.items():
        mean, behind = getattr(figures, name), _behind(name, figures, patients, hit)
        if behind is None:
            published[name] = _without_interval(mean)
        else:
            published[name] = _suppress_mean(mean, getattr(figures, bounds), patients, behind)
    return published


def _behind(name: str, figures: Memorization, patients: int, hit: _PatientsBehind) -> _PatientsBehind | None:
    """Return how many patients make up a mean; None where it is not known whether they are few."""
    if name.startswith("attributable"):
        known = figures.attributable_patients
        if known is not None:
            return _PatientsBehind(few=is_small(known), nearly_all=is_small(patients - known))
        total = max(_sum(figures.attributable_fraction, patients), _sum(figures.attributable_fraction_bounds, patients))
        return _PatientsBehind(few=total <= LARGEST_HIDDEN, nearly_all=patients - total <= LARGEST_HIDDEN)
    is_same = figures.memorized_fraction_without_echo.value == figures.memorized_fraction.value
    if name == "memorized_fraction_without_echo" and not is_same and not hit.few and not hit.nearly_all:
        total = _sum(figures.memorized_fraction_without_echo, patients)
        if total <= 1:
            return _PatientsBehind(few=True, nearly_all=False)
        return None if min(total, patients - total) <= LARGEST_HIDDEN else hit
    return hit


def _sum(mean: Estimate, patients: int) -> float:
    return (mean.value or 0.0) * patients


def _suppress_mean(mean: Estimate, bounds: Estimate, patients: int, behind: _PatientsBehind) -> Estimate:
    if mean.value is None or mean.value == 0:
        return mean
    most = max(_sum(mean, patients), _sum(bounds, patients))
    if behind.few:
        return _at_most(mean, bounds) if most <= 1 and bounds.high is not None else bound_of_few(patients)
    if behind.nearly_all and patients - most < LARGEST_HIDDEN:
        return bound_of_nearly_all(patients)
    return mean


def _small_sums(figures: Memorization, patients: int) -> list[str]:
    """Return the means whose sum over patients would tell how few can be in a bin of the distribution."""
    spread = figures.distribution
    if spread is None or not tells_small_sum(figures):
        return []
    return [name for name in _MEANS if tells_bin(spread, _sum(getattr(figures, name), patients))]


def tells_small_sum(figures: Memorization) -> bool:
    """Whether the attributable fractions are so small together that they tell how few have much."""
    total = _sum(figures.attributable_fraction_bounds, figures.patients or 0)
    return figures.distribution is not None and tells_bin(figures.distribution, total)


def _at_most(mean: Estimate, bounds: Estimate) -> Estimate:
    """Give the upper bound alone of a mean so small that it would tell how few patients have how much."""
    if not mean.value:
        return mean
    return withhold(mean) if bounds.high is None else band(0.0, up_to(bounds.high))


def _without_interval(mean: Estimate) -> Estimate:
    """Give the value to two decimals alone: its interval would tell of how many patients it rests on."""
    if mean.value is None:
        return mean
    return Estimate(value=round(mean.value, 2), reason=f"it may rest on {REASON}")


# Bins and sections


def _suppress_regions(figures: Memorization, patients: int) -> _Regions:
    hidden = _with_second(figures.copy_forward, _thin(figures.copy_forward))
    shows_p90 = patients >= PATIENTS_FOR_P90
    return _Regions(
        region_length={
            unit: lengths.model_copy(update={"max": None, "p90": lengths.p90 if shows_p90 else None})
            for unit, lengths in figures.region_length.items()
        },
        k_distribution=_suppress_k(figures.k_distribution),
        sections=suppress_sections(figures.sections),
        copy_forward=[
            CopyForwardBin(notes=bin_.notes, pieces=None if is_hidden else bin_.pieces)
            for bin_, is_hidden in zip(figures.copy_forward, hidden, strict=True)
        ],
    )


def _suppress_shares(figures: Memorization, regions: _Regions) -> dict[str, Estimate]:
    """Withhold the shares that would give a hidden bin or kind back beside those that are shown."""
    hides_a_k = any(bin_.pieces is None for bin_ in regions.k_distribution)
    hides_a_kind = any(getattr(row, kind) is None for row in regions.sections[-1:] for kind in SECTION_KINDS)
    return {
        "source_notes_mean": figures.source_notes_mean,
        "stitched_share": suppress_rate(figures.stitched_share),
        "multi_patient_share": withhold(figures.multi_patient_share) if hides_a_k else figures.multi_patient_share,
        "templated_share": withhold(figures.templated_share) if hides_a_kind else figures.templated_share,
    }


def _is_thin(units: int | None, patients: int | None) -> bool:
    """Whether a count of pieces or tokens rests on fewer than 11 patients, or may."""
    return units != 0 and (patients is None or patients <= LARGEST_HIDDEN)


def _thin(bins: Sequence[KBin] | Sequence[CopyForwardBin]) -> list[bool]:
    return [_is_thin(bin_.pieces, bin_.patients) for bin_ in bins]


def _with_second(bins: Sequence[CopyForwardBin], hidden: Sequence[bool]) -> list[bool]:
    """Hide the smallest shown bin beside the hidden ones: pieces with K = 1 bound what the bins hold together."""
    shown = [(bin_.pieces, place) for place, bin_ in enumerate(bins) if bin_.pieces and not hidden[place]]
    if not any(hidden) or not shown:
        return list(hidden)
    _, second = min(shown)
    return [is_hidden or place == second for place, is_hidden in enumerate(hidden)]


def _suppress_k(bins: Sequence[KBin]) -> list[KBin]:
    """Pool exact K from 2 to 10 (it is a number of patients that share a text), then hide the thin bins."""
    pooled: dict[str, KBin] = {}
    for bin_ in bins:
        is_exact = bin_.k.isdecimal() and 1 < int(bin_.k) <= LARGEST_HIDDEN
        name = f"2-{LARGEST_HIDDEN}" if is_exact else bin_.k
        before = pooled.get(name, KBin(k=name, pieces=0, patients=0))
        # Together they rest on at least as many patients as either.
        pieces = None if bin_.pieces is None or before.pieces is None else before.pieces + bin_.pieces
        pooled[name] = KBin(k=name, pieces=pieces, patients=max(before.patients or 0, bin_.patients or 0))
    hidden = _thin(list(pooled.values()))
    return [
        KBin(k=bin_.k, pieces=None if is_hidden else bin_.pieces)
        for bin_, is_hidden in zip(pooled.values(), hidden, strict=True)
    ]


def suppress_sections(sections: Sequence[SectionComposition]) -> list[SectionComposition]:
    """Return the composition with the counts that rest on few patients pooled, kind by kind, in a last row.

    The pooled count holds the smallest count that could be shown besides, so it rests on at least 11 patients; where
    there is none it is null. A section of which nothing is left to show has no row.
    """
    pools = {kind: _pool(kind, sections) for kind in SECTION_KINDS}
    rows = []
    for section in sections:
        counts = {kind: None if section.section in pools[kind] else getattr(section, kind) for kind in SECTION_KINDS}
        if any(counts.values()) or all(count == 0 for count in counts.values()):
            rows.append(_composition(section.section, counts))
    # The order of the unsuppressed rows tells of their sizes.
    rows.sort(key=lambda row: (-sum(getattr(row, kind) or 0 for kind in SECTION_KINDS), row.section))
    if any(pools.values()):
        rows.append(_composition(POOLED_SECTIONS, {kind: _pooled(pool) for kind, pool in pools.items()}))
    return rows


@dataclass(frozen=True, slots=True)
class _Pool:
    """Counts of one kind that are hidden, by section."""

    counts: Mapping[str, int | None]
    #: Whether they rest on at least 11 patients together.
    shown: bool

    def __contains__(self, section: str) -> bool:
        return section in self.counts

    def __bool__(self) -> bool:
        return bool(self.counts)


def _pool(kind: SectionKind, sections: Sequence[SectionComposition]) -> _Pool:
    hidden: dict[str, int | None] = {}
    shown: list[tuple[int, str]] = []
    for section in sections:
        tokens: int | None = getattr(section, kind)
        patients = None if section.patients is None else section.patients.get(kind)
        if _is_thin(tokens, patients):
            hidden[section.section] = tokens
        elif tokens:
            shown.append((tokens, section.section))
    if hidden and shown:
        tokens, name = min(shown)
        hidden[name] = tokens
    return _Pool(counts=hidden, shown=bool(shown))


def _pooled(pool: _Pool) -> int | None:
    if not pool:
        return 0
    counts = list(pool.counts.values())
    return sum(count or 0 for count in counts) if pool.shown and None not in counts else None


def _composition(section: str, counts: Mapping[SectionKind, int | None]) -> SectionComposition:
    return SectionComposition(
        section=section,
        revealing_single=counts["revealing_single"],
        revealing_shared=counts["revealing_shared"],
        templated_single=counts["templated_single"],
        templated_shared=counts["templated_shared"],
    )
