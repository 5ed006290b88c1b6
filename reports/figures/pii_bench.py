"""Charts of the benchmark of filters: what each leaves, and what masking costs, as tables of bars.

And curves as inline SVG: F1 by what makes a text hard (Figure 4), balance over alpha. Lines differ in colour, dashes
and mark, so that none needs its colour. Colours come from the style sheet by class; the attributes stand for what reads
no style sheet.
"""

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.reports.figures.bars import (
    SHARES,
    BarFigure,
    BarRow,
    Cell,
    Panel,
    Scale,
    Series,
)
from clinaudit.reports.figures.row_bars import row_bar, row_scale
from clinaudit.reports.schema.pii_bench import (
    BENCH_FACTORS,
    BenchDomain,
    BenchEstimate,
    BenchPoint,
    BenchTask,
    GroupRecall,
    MaskingStrategy,
    PiiBench,
)
from clinaudit.reports.tables.pii_bench import PAPER_TABLE_8, system_name
from clinaudit.reports.wording.pii_bench import (
    DOMAINS,
    FROM_PAPER,
    MASKINGS,
    ORIGINS,
    TASKS,
    deployable,
    find_result,
    measured_domains,
    score_text,
    share_text,
)

_KEY = "Thin line: 95% interval."
#: In Figure 1: who misses nothing, and the best system.
_DRAWN = 2


def missed_figure(bench: PiiBench) -> BarFigure:
    """Return what each filter leaves that could go, and what it takes that the question needs."""
    columns = [(name, domain) for domain in measured_domains(bench) for name in ("leak", "over_masking")]
    shares = {
        (system.id, name, domain): _share(bench, system.id, name, domain)
        for system in bench.systems
        for name, domain in columns
    }
    scale = row_scale(shares.values())
    systems = [*deployable(bench), *(system for system in bench.systems if system.kind == "oracle")]
    rows = [
        BarRow(
            system.name,
            tuple(
                _bar(shares[system.id, *column], "trained" if column[0] == "leak" else "never", scale)
                for column in columns
            ),
            {"rules": "no training", "trained": "trained", "model": "model", "oracle": "told the answer"}[system.kind],
        )
        for system in systems
        if any(shares[system.id, *column] is not None for column in columns)
    ]
    words = {"leak": "leaves, though not needed", "over_masking": "takes, though needed"}
    heads = (f"{DOMAINS[domain].capitalize()} texts: {words[name]}" for name, domain in columns)
    end = "" if scale.high == 1 else f" A full bar is {100 * scale.high:.0f}%."
    return BarFigure(
        "missed",
        "What each filter leaves in a prompt, and what it takes",
        "Left: a patient’s data goes out. Taken: the answer suffers. A filter that takes everything leaves nothing."
        if rows
        else "No filter was run to the end.",
        ("Filter", *heads),
        tuple(rows),
        _KEY + end if rows else "",
    )


def strategies_figure(bench: PiiBench) -> BarFigure:
    """Return privacy, utility and balance by what is masked (Figure 1), the paper's last."""
    rows: list[BarRow] = []
    order: list[str | None] = [None, *(system.id for system in deployable(bench))]
    for domain in measured_domains(bench):
        here = [each for each in bench.privacy if each.domain == domain]
        masked_by = [system for system in order if any(each.system == system for each in here)]
        for system in masked_by[:_DRAWN]:
            rows.append(BarRow(f"{DOMAINS[domain].capitalize()} texts, masked by {system_name(bench, system)}", ()))
            rows += [
                _privacy_row(each.masking, (each.privacy, each.utility, each.balance))
                for each in here
                if each.system == system
            ]
    if rows:
        rows.append(BarRow(f"GPT-4o, {FROM_PAPER} (Table 8)", ()))
        rows += [
            _privacy_row(masking, (BenchEstimate(value=number) for number in numbers), is_paper=True)
            for masking, *numbers in PAPER_TABLE_8
        ]
    return BarFigure(
        "strategies",
        "What masking protects, and what it costs",
        "" if rows else "Privacy and utility were not measured.",
        ("What is masked", "Privacy P", "Utility U", "Balance, both alike"),
        tuple(rows),
        _KEY if rows else "",
    )


def origins_figure(bench: PiiBench, domain: BenchDomain) -> BarFigure:
    """Return the share of names found by their origin, the worst of each system first."""
    rows: list[BarRow] = []
    for system in deployable(bench):
        found = [
            each
            for each in bench.groups
            if (each.grouping, each.domain, each.system) == ("name_origin", domain, system.id)
        ]
        if found:
            rows.append(BarRow(system.name, ()))
        rows += [
            BarRow(ORIGINS.get(each.group, each.group), (_bar(each.recall, "never"),), f"{each.entities:,} names")
            for each in sorted(found, key=_found_least_first)
        ]
    title = f"Names found, by where they come from ({DOMAINS[domain]} texts)"
    caption = "" if rows else "Names were not told apart."
    return BarFigure(f"origins-{domain}", title, caption, ("Names, how many", "Share found"), tuple(rows), _KEY)


def _found_least_first(each: GroupRecall) -> tuple[float, str]:
    return (2.0 if each.recall.value is None else each.recall.value), each.group


def _share(bench: PiiBench, system: str, name: str, domain: BenchDomain) -> BenchEstimate | None:
    result = find_result(bench, system, "masking", domain)
    return None if result is None else result.leak if name == "leak" else result.over_masking


def _bar(
    estimate: BenchEstimate | None,
    series: Series,
    scale: Scale = SHARES,
    *,
    write: Callable[[BenchEstimate | None], str] = share_text,
) -> Cell:
    if estimate is None or estimate.value is None:
        return Cell((), write(estimate))
    return Cell((row_bar(estimate, series=series, text=write(estimate), scale=scale),))


def _privacy_row(masking: MaskingStrategy, numbers: Iterable[BenchEstimate], *, is_paper: bool = False) -> BarRow:
    """Return privacy, utility and their balance; the paper's have no interval."""
    series: tuple[Series, ...] = ("never", "trained", "plain")
    cells = tuple(_bar(each, of, write=score_text) for each, of in zip(numbers, series, strict=True))
    return BarRow(MASKINGS[masking], cells, FROM_PAPER if is_paper else "")


_WIDTH: Final = 260
_HEIGHT: Final = 150
_LEFT: Final = 28
_BOTTOM: Final = 30
_COLOURS: Final = ("#a53f00", "#3a6ea5", "#1d6b3a", "#7a3e9d")
_DASHES: Final = ("none", "6 3", "2 3", "8 3 2 3")
_FACTORS: Final = {
    "subjects": "persons in the text",
    "entities": "identifiers in the text",
    "description_chars": "characters of the text",
    "needed_entities": "identifiers that the question needs",
}


@dataclass(frozen=True, slots=True)
class Curves:
    """Panels that share their lines; `lines`: names in the order of the classes `line-0`, `line-1`, ..."""

    lines: tuple[str, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """Places from 0 to 1 across and up, with the ends of the interval where there is one."""

    place: int
    points: tuple[tuple[float, float, float | None, float | None], ...]


def factor_curves(bench: PiiBench, task: BenchTask, domain: BenchDomain) -> Curves:
    """Return a panel a factor, with up to four systems: those that leave least of all that are measured."""
    here = [point for point in bench.points if (point.task, point.domain) == (task, domain)]
    systems = [system for system in deployable(bench) if any(point.system == system.id for point in here)]
    systems = systems[: len(_COLOURS)]
    panels = []
    for factor in BENCH_FACTORS:
        bins = sorted({(point.low, point.high) for point in here if point.factor == factor})
        if len(bins) < 2:
            continue
        lines = [
            _Line(at, _places([point for point in here if (point.factor, point.system) == (factor, system.id)], bins))
            for at, system in enumerate(systems)
        ]
        title = f"By {_FACTORS[factor]}"
        label = f"{TASKS[task]}, {DOMAINS[domain]} texts: F1 {title.lower()}; the numbers stand in the table below"
        marks = [
            (_across(at, len(bins)), f"{low:g}" if low == high else f"{low:g}–{high:g}")
            for at, (low, high) in enumerate(bins)
        ]
        panels.append(Panel(title, _draw(lines, marks, name=_FACTORS[factor], label=label)))
    return Curves(tuple(system.name for system in systems), tuple(panels))


def balance_curves(bench: PiiBench) -> Curves:
    """Return B = alpha P + (1 - alpha) U over alpha, a panel for each system and domain, the right answer first."""
    order: list[str | None] = [None, *(system.id for system in deployable(bench))]
    panels = []
    for domain in measured_domains(bench):
        for system in order:
            found = {
                each.masking: each.curve
                for each in bench.privacy
                if (each.system, each.domain) == (system, domain) and each.curve
            }
            lines = [
                _Line(at, tuple((point.alpha, point.balance, None, None) for point in found[masking]))
                for at, masking in enumerate(MASKINGS)
                if masking in found
            ]
            if lines:
                title = f"{DOMAINS[domain].capitalize()} texts, masked by {system_name(bench, system)}"
                label = f"Balance of privacy and utility over alpha: {title}"
                marks = [(share, f"{share:g}") for share in (0.0, 0.5, 1.0)]
                panels.append(Panel(title, _draw(lines, marks, name="α: weight of privacy", label=label)))
    return Curves(tuple(MASKINGS.values()), tuple(panels))


def factor_domains(bench: PiiBench) -> list[tuple[BenchTask, BenchDomain]]:
    """Return the tasks and domains of which there are points, masking first."""
    order: tuple[BenchTask, ...] = ("masking", "detection", "query_related")
    present = {(point.task, point.domain) for point in bench.points}
    return [(task, domain) for task in order for domain in DOMAINS if (task, domain) in present]


def _places(
    points: Sequence[BenchPoint], bins: Sequence[tuple[float, float]]
) -> tuple[tuple[float, float, float | None, float | None], ...]:
    by_bin = {(point.low, point.high): point.f1 for point in points}
    return tuple(
        (_across(at, len(bins)), f1.value, f1.low, f1.high)
        for at, each in enumerate(bins)
        if (f1 := by_bin.get(each)) is not None and f1.value is not None
    )


def _across(at: int, count: int) -> float:
    return (at + 0.5) / count


def _draw(lines: Sequence[_Line], marks: Sequence[tuple[float, str]], *, name: str, label: str) -> str:
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        parts.append(f'<path class="axis" d="M{_LEFT} {y}H{_WIDTH}" stroke="#8a949c" stroke-width="0.6"/>')
        parts.append(_text(_LEFT - 4, y + 3, f"{share:g}", "end"))
    for share, words in marks:
        parts.append(_text(_x(share), _HEIGHT - _BOTTOM + 12, words, "middle"))
    parts.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 4, name, "middle"))
    for line in lines:
        colour, dash = _COLOURS[line.place], _DASHES[line.place]
        for across, _, low, high in line.points:
            if low is not None and high is not None:
                x = _x(across) + 2.5 * (line.place - 1.5)
                parts.append(
                    f'<path class="line-{line.place} interval" d="M{x:g} {_y(low)}V{_y(high)}" stroke="{colour}"/>'
                )
        corners = " ".join(f"{_x(across)},{_y(up)}" for across, up, _, _ in line.points)
        parts.append(
            f'<polyline class="line-{line.place}" points="{corners}" fill="none" stroke="{colour}" stroke-width="1.8"'
            f' stroke-dasharray="{dash}"/>'
        )
    aria = html.escape(label, quote=True)
    return f'<svg role="img" aria-label="{aria}" viewBox="0 0 {_WIDTH + 10} {_HEIGHT}">{"".join(parts)}</svg>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="9">{html.escape(words)}</text>'


def _x(share: float) -> float:
    return round(_LEFT + share * (_WIDTH - _LEFT), 1)


def _y(share: float) -> float:
    return round(8 + (1 - min(1.0, max(0.0, share))) * (_HEIGHT - _BOTTOM - 8), 1)
