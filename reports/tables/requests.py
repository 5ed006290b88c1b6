"""Tables of several deletion requests, a row or two a request, for their page and for the terminal alike.

Owns what stands in which column. Adds nothing up: who is named in two requests, or lost by two, would count twice.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from clinaudit.reports.schema.certificate import TRIGGER_WORDS, Trigger
from clinaudit.reports.schema.comparison import COLLATERAL_CHANGES, FORGETTING_VERDICTS, ForgettingVerdict
from clinaudit.reports.schema.numbers import NOBODY
from clinaudit.reports.schema.requests import CertifiedRequest
from clinaudit.reports.tables.comparison import COLLATERAL_GROUPS, VERDICTS, above_text
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, counted, estimate_text

NOT_GIVEN: Final = "not given"
_STILL_WRITES: Final[dict[bool | None, str]] = {True: "✗ no", False: "✓ yes", None: "? not checked"}


def verdict_text(verdict: ForgettingVerdict) -> str:
    """Return a verdict with its sign."""
    word, sign = VERDICTS[verdict]
    return f"{sign} {word}"


def verdicts_sentence(requests: Sequence[CertifiedRequest]) -> str:
    """Return how many requests have which verdict, the worst first; of patients it says nothing."""
    counts = Counter(request.forgetting.verdict for request in requests)
    found = [f"{VERDICTS[verdict][0].lower()} {counts[verdict]}" for verdict in FORGETTING_VERDICTS if counts[verdict]]
    return f"{counted(len(requests), 'deletion request')}: {', '.join(found)}."


def requests_table(requests: Sequence[CertifiedRequest], triggers: Mapping[str, Trigger | None] | None = None) -> Table:
    """Return the requests with their verdicts; `triggers`, by name, are PHI and have a column where they are given."""
    columns = ["Request", "Audit after", "Model before", "Model after", "Patients at once", "Verdict"]
    columns += ["Still writes as before", "Never seen who would not pass either"]
    rows = []
    for request in requests:
        forgetting, model = request.forgetting, request.model
        row = [
            request.name,
            request.date or NOT_GIVEN,
            "the same" if model is None else model.a,
            "the same" if model is None else model.b,
            count_text(forgetting.named),
            verdict_text(forgetting.verdict),
            _STILL_WRITES[forgetting.collapsed],
            estimate_text(forgetting.controls_above_level, share=True, interval=True),
        ]
        if triggers is not None:
            trigger = triggers.get(request.name)
            row.append(NOT_GIVEN if trigger is None else TRIGGER_WORDS[trigger])
        rows.append(tuple(row))
    if triggers is not None:
        columns.append("Why it was asked for, as the site states it")
    return Table("Requests, in the order given", tuple(columns), tuple(rows))


def patients_table(requests: Sequence[CertifiedRequest]) -> Table:
    """Return the named patients by verdict, of the requests that name more than ten."""
    words = tuple(VERDICTS[verdict][0] for verdict in FORGETTING_VERDICTS)
    return Table(
        "Named patients by verdict",
        ("Request", *words, "Above the level of the never seen before forgetting"),
        tuple(
            (
                request.name,
                *(count_text(request.forgetting.patients.get(verdict, NOBODY)) for verdict in FORGETTING_VERDICTS),
                NOT_MEASURED if request.forgetting.before is None else above_text(request.forgetting.before),
            )
            for request in requests
            if request.forgetting.patients
        ),
        note="Of a request that names 1 to 10 patients nothing but the verdict over all of them is published.",
    )


def costs_table(requests: Sequence[CertifiedRequest]) -> Table:
    """Return how answers on retained patients changed, by request and by whether they share a named one's disease."""
    bins = _in_order(
        COLLATERAL_CHANGES,
        (name for request in requests for one in request.forgetting.collateral.values() for name in one),
    )
    without = [request.name for request in requests if not request.forgetting.collateral]
    return Table(
        "Retained patients by how answers on them changed",
        ("Request", "Patients at once", "Whose", *bins),
        tuple(
            (
                request.name,
                count_text(request.forgetting.named),
                COLLATERAL_GROUPS.get(group, group),
                *(count_text(request.forgetting.collateral[group].get(name, NOBODY)) for name in bins),
            )
            for request in requests
            for group in _in_order(COLLATERAL_GROUPS, request.forgetting.collateral)
        ),
        note=f"Not measured, or not published since 1 to 10 patients are named: {join_words(without)}."
        if without
        else "",
    )


def _in_order(known: Collection[str], found: Iterable[str]) -> list[str]:
    """Return the names that were found, those known first, in their order."""
    names = dict.fromkeys(found)
    return [*(name for name in known if name in names), *(name for name in names if name not in known)]


def reasons_table(requests: Sequence[CertifiedRequest]) -> Table:
    """Return why not all named patients are forgotten, and what was weighed beside the audits."""
    return Table(
        "Why not all are forgotten, and what was weighed",
        ("Request", "Why not", "Weighed beside the two audits"),
        tuple(
            (
                request.name,
                "; ".join(request.forgetting.reasons) or "–",
                join_words(request.forgetting.beside) if request.forgetting.beside else "nothing",
            )
            for request in requests
        ),
    )
