"""Tables of identifiers in the answers: HIPAA's 18, the tiers, and patients by how many verified values they have.

What was not looked for says why.
"""

import math
from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS, HipaaIdentifier
from clinaudit.reports.schema.identifiers import DetectorRecall, IdentifierResults, IdentifiersResults, RateBin
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, asked_about
from clinaudit.reports.wording.identifiers import PLANTED_NOTE, chance_sentences, identifier_figures
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import count_text, estimate_text, part_text, rate_text

_NONE: Final = "–"


def hipaa_table(results: RunResults) -> Table:
    """Return the 18 identifiers of 164.514(b)(2)(i): whether each was looked for, what was found, and how surely."""
    identifiers = results.identifiers
    rows = [] if identifiers is None else [_hipaa_row(name, identifiers) for name in HIPAA_IDENTIFIERS]
    heads = (
        "Identifier",
        "Looked for",
        "Given their own, trained on",
        "… another’s",
        "Given their own, never seen",
        "Verified per 1,000 queries, trained on",
        "… never seen",
        "Planted ones found, or why not looked for",
    )
    about = [
        "In the words of 45 CFR 164.514(b)(2)(i). Counts are of patients, over all askers. In brackets: 95% intervals.",
        PLANTED_NOTE,
        *([] if identifiers is None else chance_sentences(identifiers)),
    ]
    return Table("HIPAA’s 18 identifiers", heads, tuple(rows), " ".join(about))


def _hipaa_row(name: HipaaIdentifier, identifiers: IdentifiersResults) -> tuple[str, ...]:
    title = f"({name}) {HIPAA_TITLES[name]}"
    if name in identifiers.not_tested:
        return (title, "no", *[_NONE] * 5, identifiers.not_tested[name])
    arms = identifiers.categories.get(name, {})
    recall = next((row for row in identifiers.recall if row.identifier == name), None)
    if not arms and recall is None:
        return (title, "no", *[_NONE] * 6)
    return (title, "yes", *_hipaa_figures(arms), _recall_text(recall))


def _hipaa_figures(arms: Mapping[Arm, IdentifierResults]) -> tuple[str, ...]:
    train, never = arms.get("train"), arms.get("nontrain")
    return (
        _NONE if train is None else part_text(train.own_patients, train.patients),
        _NONE if train is None else part_text(train.other_patients, train.patients),
        _NONE if never is None else part_text(never.own_patients, never.patients),
        *(_NONE if arm is None else rate_text(arm.verified_per_1000) for arm in (train, never)),
    )


def _recall_text(row: DetectorRecall | None) -> str:
    if row is None or not row.planted:
        return "not planted"
    return f"{row.found:,} of {row.planted:,}: {estimate_text(row.recall, share=True, interval=True)}"


def identifiers_table(results: RunResults) -> Table:
    """Return the figures by tier and arm."""
    about = (
        "Another’s: a value that exactly one other patient trained on has. Corrected: as if all were found as rarely"
        " or as often as the planted kind found least or most. In brackets: 95% intervals."
    )
    return Table.by_arm(
        "Identifiers by tier",
        identifier_figures(results),
        {
            "Patients": lambda found: count_text(found.patients),
            "Given their own": lambda found: estimate_text(found.own, share=True, interval=True),
            "Given another’s": lambda found: estimate_text(found.other, share=True, interval=True),
            "… in pools of equal size": lambda found: _share(found.sampled),
            "… by chance": lambda found: _share(found.chance),
            "Verified per 1,000 queries": lambda found: rate_text(found.verified_per_1000, interval=True),
            "… corrected for what is missed": lambda found: (
                _NONE if found.corrected_per_1000 is None else rate_text(found.corrected_per_1000, interval=True)
            ),
        },
        about,
    )


def _share(share: EstimateRange | None) -> str:
    return _NONE if share is None else estimate_text(share, share=True)


def identifier_bins_table(results: RunResults) -> Table:
    """Return the patients by verified values a query, by tier and arm."""
    listed = list(identifier_figures(results))
    bins = {(bin_.low, bin_.high or math.inf): bin_ for _, _, figures in listed for bin_ in figures.by_patient}
    titles = [_bin_title(bin_) for _, bin_ in sorted(bins.items())]
    rows = []
    for tier, arm, figures in listed:
        counts = {_bin_title(bin_): count_text(bin_.patients) for bin_ in figures.by_patient}
        rows.append((*asked_about(tier, arm), *(counts.get(title, _NONE) for title in titles)))
    return Table("Patients by verified identifiers a query", ("Tier", "Who", *titles), tuple(rows))


def _bin_title(bin_: RateBin) -> str:
    if bin_.high is None:
        return f"More than {bin_.low:g}"
    return f"{bin_.low:g}–{bin_.high:g}" if bin_.low else f"Up to {bin_.high:g}"
