"""Longitudinal coverage of a split: how long and how often its patients were seen (the paper's Appendix E).

Owns spans and rates from visit dates. A patient of whom some note has no date, or whose dates are more
than a century apart, is unknown: nothing is guessed.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note
from clinaudit.reports.schema.corpus import FOLLOW_UP_UNKNOWN, FOLLOW_UP_YEARS, FollowUpEvidence, Quantiles
from clinaudit.reports.tally.classes import Interval
from clinaudit.reports.tally.leaves import Inside, PartitionWithMean
from clinaudit.reports.tally.tally import FollowUpTally

ONE, SHORT, LONG = FOLLOW_UP_YEARS
_YEAR_DAYS: Final = 365.25
_LONG_YEARS, _MOST_YEARS = FOLLOW_UP_YEARS[LONG]
#: A rate is of patients who were followed for longer than this.
_RATED_DAYS: Final = 30


def describe_follow_up(patient_ids: Sequence[str], corpus: Corpus) -> FollowUpTally:
    """Describe how long a group of patients was followed; an encounter is a day with a note."""
    spans: list[float] = []
    rates: list[float] = []
    cells = dict.fromkeys((ONE, SHORT, LONG, FOLLOW_UP_UNKNOWN), 0)
    for patient_id in patient_ids:
        notes = corpus.notes_of(patient_id)
        days = _span_days(notes)
        if days is None:
            cells[FOLLOW_UP_UNKNOWN] += 1
            continue
        years = days / _YEAR_DAYS
        spans.append(years)
        if days > _RATED_DAYS:
            rates.append(len(notes) / years)
        cells[ONE if not days else LONG if years >= _LONG_YEARS else SHORT] += 1
    evidence = FollowUpEvidence(span_years=_quantiles(spans), notes_per_year=_quantiles(rates))
    edges = {name: Interval(*years) for name, years in FOLLOW_UP_YEARS.items()}
    return FollowUpTally(PartitionWithMean.of(cells, edges, evidence.span_years.mean), Inside(evidence))


def _span_days(notes: Sequence[Note]) -> int | None:
    dates = [note.visit_date for note in notes]
    known = [date for date in dates if date is not None]
    if not known or len(known) < len(dates):
        return None
    days = (max(known) - min(known)).days
    # A date such as 1900-01-01 stands for none. The bins of the published mean end here, too.
    return days if days <= _MOST_YEARS * _YEAR_DAYS else None


def _quantiles(values: Sequence[float]) -> Quantiles:
    if not values:
        return Quantiles(mean=None, p25=None, median=None, p75=None, p95=None)
    p25, median, p75, p95 = (float(value) for value in np.quantile(values, (0.25, 0.5, 0.75, 0.95)))
    return Quantiles(mean=float(np.mean(values)), p25=p25, median=median, p75=p75, p95=p95)
