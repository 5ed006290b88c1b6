"""How far the judges of a panel agree, and what that is worth (AMNESIA, Tables 8, 10, 12 and 13).

Owns the figures and the sentence that reads them: where almost all items get one verdict, kappa is low although the
judges hardly ever differ, since chance alone would make them agree. Fleiss' kappa is statsmodels'. Knows nothing of
what was judged.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from clinaudit.audit.unlearning.benchmark.panel.verdicts import JUDGES, NO_MAJORITY, VERDICTS, PanelTask, majority

#: From where agreement is called high, and below which kappa low [choice]; Table 13 has 93.9% and 0.216.
_HIGH_AGREEMENT = 0.9
_LOW_KAPPA = 0.4
#: Names of kappa's ranges (Landis and Koch 1977), by their upper ends.
_RANGES = (
    (0.0, "poor"),
    (0.2, "slight"),
    (0.4, "fair"),
    (0.6, "moderate"),
    (0.8, "substantial"),
    (1.0, "almost perfect"),
)


@dataclass(frozen=True, slots=True)
class PanelAgreement:
    """What a panel said of the items of one task, and how far it agreed."""

    task: PanelTask
    items: int
    #: Judge -> verdict -> items.
    verdicts: Mapping[str, Mapping[str, int]]
    #: Of the majority; `disagree` or `split` where there is none.
    panel: Mapping[str, int]
    #: (judge, judge) -> share of the items on which both give one verdict.
    pairs: Mapping[tuple[str, str], float]
    #: Mean of the pairs.
    agreement: float | None
    #: Fleiss' kappa of the first verdict against all others merged; None where it is not defined.
    kappa: float | None
    #: Both figures read together.
    reading: str


def measure_panel(task: PanelTask, verdicts: Mapping[str, Sequence[str]], judges: Sequence[str]) -> PanelAgreement:
    """Return the agreement on the items of a task; `verdicts` holds those of each item, in the order of the judges."""
    rows = list(verdicts.values())
    known = VERDICTS[task]
    together = Counter(majority(task, row) for row in rows)
    pairs = {
        (judges[one], judges[other]): sum(row[one] == row[other] for row in rows) / len(rows)
        for one, other in combinations(range(JUDGES), 2)
        if rows
    }
    agreement = sum(pairs.values()) / len(pairs) if pairs else None
    kappa = merged_kappa(task, rows)
    return PanelAgreement(
        task=task,
        items=len(rows),
        verdicts={
            judge: {verdict: sum(row[place] == verdict for row in rows) for verdict in known}
            for place, judge in enumerate(judges)
        },
        panel={verdict: together[verdict] for verdict in (*known, NO_MAJORITY[task])},
        pairs=pairs,
        agreement=agreement,
        kappa=kappa,
        reading=read_agreement(agreement, kappa),
    )


def merged_kappa(task: PanelTask, rows: Sequence[Sequence[str]]) -> float | None:
    """Return Fleiss' kappa (1971) of the task's first verdict against all others; None where it is not defined.

    It is not where there are no items, or all verdicts are alike: chance agreement is 1 then.
    """
    from statsmodels.stats.inter_rater import fleiss_kappa

    first = VERDICTS[task][0]
    table = [row.count(first) for row in rows]
    if not table or (len({*table}) == 1 and table[0] in (0, JUDGES)):
        return None
    kappa = float(fleiss_kappa([(count, JUDGES - count) for count in table], method="fleiss"))
    return None if math.isnan(kappa) else kappa


def read_agreement(agreement: float | None, kappa: float | None) -> str:
    """Return what both figures say together, in a sentence."""
    if agreement is None:
        return "nothing was judged"
    said = f"two judges give the same verdict on {100 * agreement:.1f}% of the items"
    if kappa is None:
        return f"{said}; kappa is not defined, since all verdicts are alike"
    name = next(name for end, name in _RANGES if kappa <= end)
    said += f"; Fleiss' kappa is {kappa:.3f} ({name})"
    if agreement >= _HIGH_AGREEMENT and kappa <= _LOW_KAPPA:
        said += (
            ": low although the judges agree, because almost all items get one verdict, and judges who gave it blindly "
            "would agree nearly as often; it is no sign of dispute, and tells nothing of how well rare faults are found"
        )
    return said
