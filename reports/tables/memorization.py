"""Tables of memorization for the annex: by tier and arm, its regions, K, near-verbatim text, patients by fraction.

A number that is not there is given in words; a table of these alone is left out.
"""

from collections.abc import Sequence

from clinaudit.reports.schema.memorization import (
    LENGTH_UNITS,
    PIECE_KINDS,
    SECTION_KINDS,
    FractionBin,
    FractionOfText,
    MemorizationResults,
)
from clinaudit.reports.schema.numbers import exact_estimate
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, asked_about, memorization_summaries
from clinaudit.reports.wording.captions import KIND_TITLES, shown_tier
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import count_text, estimate_text, is_measured, number_text, percent_text

FEW_PATIENTS = "few patients"
_FRACTIONS = (
    ("Memorized", "memorized_fraction"),
    ("Without prompt echo", "memorized_fraction_without_echo"),
    ("Own text", "attributable_fraction"),
    ("… values not masked", "attributable_fraction_unmasked"),
)


def memorization_table(results: RunResults) -> Table:
    """Return the mean fractions and the patients with a match by tier and arm, with 95% intervals (Figures 2 and 8)."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        means = (getattr(summary, name).mean for _, name in _FRACTIONS)
        shares = [estimate_text(mean, share=True, interval=True) for mean in (*means, summary.hit_patients_share)]
        rows.append((*asked_about(tier, arm), count_text(summary.patients), *shares))
    heads = ("Tier", "Who", "Patients", *(title for title, _ in _FRACTIONS), "Patients with a match")
    return Table("Verbatim memorization by tier", heads, tuple(rows), "In brackets: 95% intervals.")


def short_texts_table(results: RunResults) -> Table:
    """Return how many patients have a text that is empty, or too short to hold a match."""
    return Table.by_arm(
        "Empty and short texts",
        memorization_summaries(results),
        {
            "Patients with an empty text": lambda summary: count_text(summary.empty),
            "With one too short for a match": lambda summary: count_text(summary.short),
            "Their share": lambda summary: estimate_text(summary.short_share, share=True),
        },
    )


def bins_table(results: RunResults) -> Table:
    """Return patients by their attributable fraction; a bin in which nobody is at any tier has no column."""
    summaries = [(tier, arm, item.attributable_fraction) for tier, arm, item in memorization_summaries(results)]
    bins = {(bin_.low, bin_.high): bin_ for _, _, fraction in summaries for bin_ in fraction.bins if bin_.patients.high}
    ends = sorted(bins)
    rows = []
    for tier, arm, fraction in summaries:
        if fraction.bins:
            found = {(bin_.low, bin_.high): count_text(bin_.patients) for bin_ in fraction.bins}
            rows.append((*asked_about(tier, arm), *(found.get(end, "0") for end in ends)))
    heads = ("Tier", "Who", *(_bin_title(bins[end]) for end in ends))
    return Table("Patients by own text", heads, tuple(rows))


def memorization_zeros_table(results: RunResults) -> Table:
    """Return the tiers and arms where nothing attributable was found, with what that leaves possible."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        mean = summary.attributable_fraction.mean
        high = mean.confidence_high
        if mean.value == 0 and high is not None:
            bound = f"at most {percent_text(high)}"
            rows.append((*asked_about(tier, arm), count_text(summary.patients), bound))
    heads = ("Tier", "Who", "Patients", "The true mean may still be")
    note = "“At most” is the upper end of the two-sided 95% interval."
    return Table("Where no own text was found", heads, tuple(rows), note)


def above_table(results: RunResults) -> Table:
    """Return the share of patients above each threshold; a threshold that says the same as the last is left out."""
    summaries = [(t, arm, summary.attributable_fraction) for t, arm, summary in memorization_summaries(results)]
    thresholds = sorted({item.threshold for _, _, fraction in summaries for item in fraction.above})
    columns: list[tuple[float, list[str]]] = []
    for threshold in thresholds:
        cells = [_share_above(fraction, threshold) for _, _, fraction in summaries]
        if not columns or columns[-1][1] != cells:
            columns.append((threshold, cells))
    rows = tuple(
        (*asked_about(tier, arm), *(cells[place] for _, cells in columns))
        for place, (tier, arm, _) in enumerate(summaries)
    )
    heads = ("Tier", "Who", *("Any" if not t else f"Above {_percent(t)}" for t, _ in columns))
    return Table("Share of patients whose own text exceeds", heads, rows if columns else ())


def _share_above(fraction: FractionOfText, threshold: float) -> str:
    return next(
        (estimate_text(a.share, share=True, interval=True) for a in fraction.above if a.threshold == threshold), "–"
    )


def regions_table(results: RunResults) -> Table:
    """Return what the memorized regions are made of, by tier and arm."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        shares = (summary.stitched_share, summary.templated_share, summary.multi_patient_share)
        numbers = (summary.region_tokens, summary.region_characters, summary.region_words)
        if any(value is not None for value in (*shares, *numbers)):
            cells = [*map(_share, shares), *map(_two_digits, numbers)]
            rows.append((*asked_about(tier, arm), *cells))
    heads = (
        "Tier",
        "Who",
        "Stitched regions",
        "Templated tokens",
        "Pieces in several patients' notes",
        "Region length, tokens",
        "Characters",
        "Words",
    )
    return Table("Memorized regions", heads, tuple(rows), few_note(rows))


def shared_table(results: RunResults) -> Table:
    """Return K (in how many patients' notes a piece stands) as shares of the pieces, by tier and arm."""
    summaries = [item for item in memorization_summaries(results) if any(b.share for b in item[2].k_distribution)]
    names = list(dict.fromkeys(bin_.k for _, _, summary in summaries for bin_ in summary.k_distribution))
    rows = [
        (*asked_about(tier, arm), *(_share(found.get(name, 0.0)) for name in names))
        for tier, arm, summary in summaries
        for found in [{bin_.k: bin_.share for bin_ in summary.k_distribution}]
    ]
    heads = ("Tier", "Who", *(f"K {name}" for name in names))
    return Table("Pieces by K, the number of patients whose notes hold them", heads, tuple(rows), few_note(rows))


def sections_table(results: RunResults) -> Table:
    """Return the sections' shares by kind of text at the headline tier, trained on (the paper's Figure 4)."""
    tier = shown_tier(results.memorization)
    summary: MemorizationResults | None = None if tier is None else results.memorization[tier].get("train")
    rows = [
        (display_title(section.section), *(_share(getattr(section, kind)) for kind in SECTION_KINDS))
        for section in (summary.sections if summary else ())
        if any(getattr(section, kind) for kind in SECTION_KINDS)
    ]
    heads = ("Section", *(KIND_TITLES[kind][:1].upper() + KIND_TITLES[kind][1:] for kind in SECTION_KINDS))
    return Table("Repeated text by note section and kind", heads, tuple(rows), few_note(rows))


def near_verbatim_table(results: RunResults) -> Table:
    """Return near-verbatim text by tier and arm."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        near = summary.near_verbatim
        if near is not None and is_measured(near.fraction.mean):
            fractions = (near.fraction, near.extra_fraction, summary.near_verbatim_attributable_fraction)
            shares = [estimate_text(fraction.mean, share=True, interval=True) for fraction in fractions]
            longest = _two_digits(near.longest_region)
            windows = f"{near.edit_budget} of {near.window}"
            rows.append((*asked_about(tier, arm), windows, *shares, longest))
    measured = ("Near-verbatim", "Beyond verbatim", "Own text, edits allowed")
    heads = ("Tier", "Who", "Edits allowed a window", *measured, "Longest region, tokens")
    return Table("Near-verbatim text (counted separately)", heads, tuple(rows))


def others_table(results: RunResults) -> Table:
    """Return other patients' text by tier and arm, beside what chance gives among as many patients of either split."""
    measured = [
        (tier, arm, (summary.patients, others))
        for tier, arm, summary in memorization_summaries(results)
        if (others := summary.other_patients) is not None and is_measured(others.fraction.mean)
    ]
    about = (
        "Clinically revealing text that appears in the notes of exactly one training patient other than the one asked"
        " about. Chance: the same with the splits exchanged, which a model cannot have learned; to be compared with the"
        " column before it. In brackets: 95% intervals."
    )
    return Table.by_arm(
        "Other patients' text by tier",
        measured,
        {
            "Patients": lambda found: count_text(found[0]),
            "Others' text": lambda found: _mean(found[1].fraction),
            "… in pools of equal size": lambda found: _mean(found[1].sampled_fraction),
            "Chance: text of one never-seen patient there": lambda found: _mean(found[1].chance),
            "Patients with any in an answer": lambda found: estimate_text(found[1].patients_share, share=True),
            "Others whose text it is": lambda found: count_text(found[1].others),
        },
        about,
    )


def _mean(fraction: FractionOfText | None) -> str:
    return "–" if fraction is None else estimate_text(fraction.mean, share=True, interval=True)


def spread_table(results: RunResults) -> Table:
    """Return deciles and worst tenth of the attributable fraction over patients; of exact results alone."""
    listed = [
        (tier, arm, summary.evidence, summary.evidence.worst_tenth)
        for tier, arm, summary in memorization_summaries(results)
        if summary.evidence is not None and summary.evidence.worst_tenth is not None
    ]
    shares = sorted({decile.share for _, _, found, _ in listed for decile in found.deciles})
    rows = [
        (
            *asked_about(tier, arm),
            *(_percent_or_dash(deciles.get(share)) for share in shares),
            estimate_text(exact_estimate(worst), share=True, interval=True),
        )
        for tier, arm, found, worst in listed
        for deciles in [{decile.share: decile.fraction for decile in found.deciles}]
    ]
    heads = ("Tier", "Who", *(f"{_percent(share)} have at most" for share in shares), "Mean of the worst-off tenth")
    return Table("Own text, patient by patient", heads, tuple(rows))


def composition_tables(results: RunResults) -> list[Table]:
    """Return for each tier and arm the sections' shares by kind, and what of a section is template text (Figure 4)."""
    tables = []
    for tier, arm, summary in memorization_summaries(results):
        rows = [
            (
                display_title(section.section),
                *(_rounded(getattr(section, kind)) for kind in SECTION_KINDS),
                "–" if section.templated_share is None else estimate_text(section.templated_share, share=True),
            )
            for section in summary.sections
            if any(getattr(section, kind) for kind in SECTION_KINDS)
        ]
        heads = ("Section", *(KIND_TITLES[kind] for kind in SECTION_KINDS), "template text of the section")
        caption = f"Repeated text by note section and kind: {', '.join(asked_about(tier, arm))}"
        tables.append(Table(caption, heads, tuple(rows), few_note(rows)))
    return tables


def copy_forward_tables(results: RunResults) -> list[Table]:
    """Return for each tier and arm the K = 1 revealing pieces by how many of the patient's notes hold them."""
    tables = []
    for tier, arm, summary in memorization_summaries(results):
        is_shown = any(bin_.share for bin_ in summary.copy_forward)
        rows = [(bin_.notes, _rounded(bin_.share)) for bin_ in summary.copy_forward] if is_shown else []
        where = ", ".join(asked_about(tier, arm))
        caption = f"Patient-specific pieces by the patient's notes that hold them: {where}"
        tables.append(Table(caption, ("Notes", "Share of the pieces"), tuple(rows), few_note(rows)))
    return tables


def source_notes_table(results: RunResults) -> Table:
    """Return how many notes a generation was copied from: the latest of each piece, at most and at least."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        found = (summary.source_notes_mean, summary.source_notes_any, summary.source_notes_min)
        if any(value is not None for value in found):
            rows.append((*asked_about(tier, arm), *map(_number, found)))
    heads = ("Tier", "Who", "Latest note of each piece", "All notes that hold a piece", "Fewest that hold every piece")
    return Table("Source notes of a generation that repeats anything, mean", heads, tuple(rows), few_note(rows))


def piece_lengths_table(results: RunResults) -> Table:
    """Return the mean length of a piece in one patient's notes alone, and of one in several patients'."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        lengths = [summary.piece_length[kind][unit] for kind in PIECE_KINDS for unit in LENGTH_UNITS]
        if any(value is not None for value in lengths):
            rows.append((*asked_about(tier, arm), *map(_number, lengths)))
    heads = ("Tier", "Who", *(f"{kind}, {unit}" for kind in ("K = 1", "K > 1") for unit in LENGTH_UNITS))
    return Table("Mean length of a piece by K", heads, tuple(rows), few_note(rows))


def _bin_title(bin_: FractionBin) -> str:
    if bin_.high == 0:
        return "None"
    return f"{_percent(bin_.low)}–{_percent(bin_.high)}" if bin_.low else f"Up to {_percent(bin_.high)}"


def _percent(share: float) -> str:
    return percent_text(share).replace(".0%", "%")


def _percent_or_dash(share: float | None) -> str:
    return "–" if share is None else percent_text(share)


def _share(share: float | None) -> str:
    return FEW_PATIENTS if share is None else percent_text(share)


def _rounded(share: float | None) -> str:
    return FEW_PATIENTS if share is None else percent_text(round(share, 2))


def _number(value: float | None) -> str:
    return FEW_PATIENTS if value is None else number_text(value)


def _two_digits(number: float | None) -> str:
    """Return a number of text as it is published, to two significant digits: "1.1", "1,400"."""
    if number is None:
        return FEW_PATIENTS
    return f"{number:,.0f}" if number >= 10 else number_text(number)


def few_note(rows: Sequence[Sequence[str]]) -> str:
    """Return what “few patients” stands for, where a row says so."""
    if not any(FEW_PATIENTS in row for row in rows):
        return ""
    return f"“{FEW_PATIENTS.capitalize()}”: the figure, or what it leaves out, rests on 1 to 20 patients."
