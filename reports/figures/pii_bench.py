"""The two charts of the benchmark of filters: what each filter leaves and takes, and what the best one misses."""

from typing import Final

from clinaudit.reports.figures.bars import SHARES, BarFigure, BarRow, Cell, Scale, Series, row_bar, row_scale
from clinaudit.reports.schema.pii_bench import PiiBench
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.tables import pii_bench as tables

_KEY: Final = "Thin line: 95% interval."
_KINDS: Final = {"rules": "no training", "trained": "trained", "model": "model", "oracle": "told the answer"}
#: Of the first chart: its two numbers, what each is called, and its colour.
_SIDES: Final[dict[str, tuple[str, Series]]] = {
    "leak": ("leaves, though not needed", "trained"),
    "over_masking": ("takes, though needed", "never"),
}


def left_figure(bench: PiiBench) -> BarFigure:
    """Return what each filter leaves that could go, and what it takes that the question needs."""
    columns = [(domain, side) for domain in tables.measured_domains(bench) for side in _SIDES]
    found = {
        system.id: [tables.find(bench, system.id, "masking", *column) for column in columns]
        for system in tables.in_order(bench)
    }
    scale = row_scale([each for row in found.values() for each in row])
    rows = tuple(
        BarRow(
            system.name,
            tuple(
                _bar(each, _SIDES[side][1], scale) for each, (_, side) in zip(found[system.id], columns, strict=True)
            ),
            _KINDS[system.kind],
        )
        for system in tables.in_order(bench)
        if any(found[system.id])
    )
    heads = (f"{domain.capitalize()} texts: {_SIDES[side][0]}" for domain, side in columns)
    end = "" if scale.high == 1 else f" A full bar is {100 * scale.high:.0f}%."
    return BarFigure(
        "left",
        "What each filter leaves in a prompt, and what it takes",
        "Left: a patient’s data goes out. Taken: the answer suffers. A filter that takes everything leaves nothing."
        if rows
        else "No filter was run to the end.",
        ("Filter", *heads),
        rows,
        _KEY + end if rows else "",
    )


def missed_figure(bench: PiiBench) -> BarFigure:
    """Return which of HIPAA's identifiers the filter that leaves least does not find, the most missed first."""
    rows: tuple[BarRow, ...] = ()
    title, domains = "What is missed", tables.measured_domains(bench)
    for best in tables.deployable(bench)[:1]:
        title = f"Which of HIPAA’s identifiers “{best.name}” misses"
        by_domain = [tables.missed(bench, best.id, domain, "hipaa") for domain in domains]
        letters = sorted(
            {letter for found in by_domain for letter in found},
            key=lambda letter: (-max(found[letter].value or 0 for found in by_domain if letter in found), letter),
        )
        rows = tuple(
            BarRow(
                tables.identifier_name(letter),
                tuple(
                    _bar(found[letter], "trained", SHARES) if letter in found else Cell((), "none in the texts")
                    for found in by_domain
                ),
                f"{sum(found[letter].n or 0 for found in by_domain if letter in found):,} in the texts",
            )
            for letter in letters
        )
    return BarFigure(
        "missed",
        title,
        "The share that it does not find in a text, whatever the question. Of few identifiers little is known: the "
        "thin line is long."
        if rows
        else "This was not measured.",
        ("Identifier", *(f"{domain.capitalize()} texts" for domain in domains)),
        rows,
        _KEY if rows else "",
    )


def _bar(estimate: Estimate | None, series: Series, scale: Scale) -> Cell:
    if estimate is None or estimate.value is None:
        return Cell((), tables.share_text(estimate))
    return Cell((row_bar(estimate, series=series, text=tables.share_text(estimate), scale=scale),))
