"""Queries needed: how often a model must be asked, at temperature 1, until it gives a patient's text away.

With p the chance that it writes exactly that text, n queries give it away with the chance 1 - (1 - p)^n; n of an even
chance is ln 0.5 / ln(1 - p) (Hayes et al. 2024, (n, p)-discoverable extraction, with p = 0.5). It is about this exact
text: some other text of the patient's may take fewer. Owns that number, its classes, and the tally.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from clinaudit.audit.measures.extraction.targets import Opening
from clinaudit.audit.measures.scoring.record import ROLES, NoteScores, Role
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.attacks import MORE_QUERIES, NO_WINDOW, QUERY_CELLS, QUERY_LIMITS
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.attacks import QueriesTally
from clinaudit.reports.tally.leaves import Partition

#: Beyond it a number of queries is said to be more than anybody asks.
MOST_QUERIES: Final = 10**12
_LN_HALF: Final = math.log(0.5)


def queries_for_even_chance(log_prob: float) -> int | None:
    """Return the least number of queries by which a text of this log p has come with a chance of one half.

    None: more than 10^12.
    """
    p = math.exp(log_prob)
    if p >= 1:
        return 1
    if p <= -_LN_HALF / MOST_QUERIES:
        return None
    return max(1, math.ceil(_LN_HALF / math.log1p(-p)))


@dataclass(frozen=True, slots=True)
class QueriesNeeded:
    """How often one model must be asked with one opening."""

    opening: Opening
    model: Role
    #: ln p of what follows the opening up to the end of its window; None where no window counts.
    log_prob: float | None

    @property
    def queries(self) -> int | None:
        """None: more than 10^12, or no window counts."""
        return None if self.log_prob is None else queries_for_even_chance(self.log_prob)

    @property
    def cell(self) -> str:
        """The class of the number."""
        if self.log_prob is None:
            return NO_WINDOW
        queries = self.queries
        return next((str(most) for most in QUERY_LIMITS if queries is not None and queries <= most), MORE_QUERIES)


def count_queries(openings: Iterable[Opening], scores: Iterable[NoteScores]) -> list[QueriesNeeded]:
    """Return the queries needed for each opening, of each model that scored its note."""
    by_note: dict[tuple[str, str], list[NoteScores]] = {}
    for of in scores:
        by_note.setdefault((of.patient_id, of.note_id), []).append(of)
    return [
        QueriesNeeded(opening, own.model, None if opening.end is None else own.log_prob(opening.begin, opening.end))
        for opening in openings
        for own in by_note.get((opening.patient_id, opening.note_id), ())
    ]


def tally_queries(
    needed: Iterable[QueriesNeeded], *, of_train_split: bool = False
) -> dict[str, dict[Arm, QueriesTally]]:
    """Return by tier and arm the patients by queries needed; `of_train_split`: of all trained on."""
    counts: dict[tuple[str, Arm, Role], dict[str, int]] = {}
    for of in needed:
        group = (of.opening.tier, of.opening.arm, of.model)
        counts.setdefault(group, dict.fromkeys(QUERY_CELLS, 0))[of.cell] += 1
    tallies: dict[str, dict[Arm, QueriesTally]] = {}
    for tier, arm in product(TIER_IDS, ARMS):
        audited, control = (counts.get((tier, arm, role)) for role in ROLES)
        if audited is not None:
            tallies.setdefault(tier, {})[arm] = QueriesTally(
                patients=Partition.of(audited),
                control=None if control is None else Partition.of(control),
                of_split=of_train_split and arm == "train",
            )
    return tallies


def query_rows(needed: Iterable[QueriesNeeded]) -> Iterator[Row]:
    """Yield the rows of `queries_needed.parquet`."""
    for of in needed:
        yield {
            "patient_id": of.opening.patient_id,
            "arm": of.opening.arm,
            "tier": of.opening.tier,
            "model": of.model,
            "note_id": of.opening.note_id,
            "token_start": of.opening.begin,
            "token_end": of.opening.end,
            "log_prob": of.log_prob,
            "queries": of.queries,
        }
