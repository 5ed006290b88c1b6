"""Charts of the benchmark of filters, as tables of bars: what each leaves, what masking costs, what is guessed.

Owns which numbers a chart shows. Knows nothing of curves.
"""

from collections.abc import Sequence

from clinaudit.reports.figures.bars import (
    SHARES,
    BarFigure,
    BarRow,
    Cell,
    Scale,
    Series,
    Swatch,
    fitting_scale,
    share_bar,
)
from clinaudit.reports.schema.pii_bench import (
    BenchDomain,
    BenchEstimate,
    GroupRecall,
    MaskingStrategy,
    PiiBench,
    PrivacyUtility,
    ResidualInference,
)
from clinaudit.reports.tables.pii_bench_privacy import PAPER_TABLE_8, system_name
from clinaudit.reports.wording.numbers import number_text
from clinaudit.reports.wording.pii_bench import (
    DOMAINS,
    FROM_PAPER,
    MASKINGS,
    ORIGINS,
    deployable,
    find_result,
    measured_domains,
    published,
    score_text,
    share_text,
)

_KEY = "Thin line: 95% interval."
#: In Figure 1: who misses nothing, and the best system. Of the guesses: categories, before the table takes over.
_DRAWN = 2
_CATEGORIES_DRAWN = 12


def missed_figure(bench: PiiBench) -> BarFigure:
    """Return what each filter leaves that could go, and what it takes that the question needs."""
    columns = [(name, domain) for domain in measured_domains(bench) for name in ("leak", "over_masking")]
    shares = {
        (system.id, name, domain): _share(bench, system.id, name, domain)
        for system in bench.systems
        for name, domain in columns
    }
    scale = fitting_scale(map(published, shares.values()), limit=None)
    systems = [*deployable(bench), *(system for system in bench.systems if system.kind == "oracle")]
    rows = [
        BarRow(
            system.name,
            tuple(_bar(shares[system.id, *column], _leak_series(column[0]), scale) for column in columns),
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
            rows += [_privacy_row(each) for each in here if each.system == system]
    if rows:
        rows.append(BarRow(f"GPT-4o, {FROM_PAPER} (Table 8)", ()))
        rows += [_paper_row(*row) for row in PAPER_TABLE_8]
    return BarFigure(
        "strategies",
        "What masking protects, and what it costs",
        "" if rows else "Privacy and utility were not measured.",
        ("What is masked", "Privacy P", "Utility U", "Balance, both alike"),
        tuple(rows),
        _KEY if rows else "",
    )


def residual_figure(bench: PiiBench) -> BarFigure:
    """Return the share of masked identifiers guessed from the rest, beside the share guessed without it."""
    found = [each for each in bench.residual if each.system is None] or list(bench.residual)
    rows: list[BarRow] = []
    for domain in measured_domains(bench):
        here = [each for each in found if each.domain == domain]
        ranked = sorted((each for each in here if each.category), key=_gain, reverse=True)[:_CATEGORIES_DRAWN]
        shown = [each for each in here if each.category is None] + ranked
        if shown:
            rows.append(BarRow(f"{DOMAINS[domain].capitalize()} texts", ()))
        rows += [_residual_row(each) for each in shown]
    return BarFigure(
        "residual",
        "What is masked, and guessed from the rest all the same",
        "" if rows else "Guessing was not tried.",
        ("Category", "Share of the masked identifiers that are guessed"),
        tuple(rows),
        f"The categories in which the text gives most away; all are in the table below. {_KEY}" if rows else "",
        swatches=(Swatch("trained", "from what is left in the text"), Swatch("never", "without it")) if rows else (),
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
            BarRow(
                ORIGINS.get(each.group, each.group), (_bar(each.recall, "never", SHARES),), f"{each.entities:,} names"
            )
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


def _leak_series(name: str) -> Series:
    return "trained" if name == "leak" else "never"


def _bar(estimate: BenchEstimate | None, series: Series, scale: Scale) -> Cell:
    if estimate is None or estimate.value is None:
        return Cell((), share_text(estimate))
    return Cell((share_bar(published(estimate), series=series, text=share_text(estimate), scale=scale),))


def _score_bar(estimate: BenchEstimate, series: Series) -> Cell:
    if estimate.value is None:
        return Cell((), score_text(estimate))
    return Cell((share_bar(published(estimate), series=series, text=score_text(estimate)),))


def _privacy_row(each: PrivacyUtility) -> BarRow:
    cells = (
        _score_bar(each.privacy, "never"),
        _score_bar(each.utility, "trained"),
        _score_bar(each.balance, "plain"),
    )
    return BarRow(MASKINGS[each.masking], cells)


def _paper_row(masking: MaskingStrategy, privacy: float, utility: float, balance: float) -> BarRow:
    pairs: Sequence[tuple[float, Series]] = ((privacy, "never"), (utility, "trained"), (balance, "plain"))
    cells = (
        Cell((share_bar(published(BenchEstimate(value=value)), series=series, text=number_text(value)),))
        for value, series in pairs
    )
    return BarRow(MASKINGS[masking], tuple(cells), FROM_PAPER)


def _residual_row(each: ResidualInference) -> BarRow:
    pairs: Sequence[tuple[BenchEstimate, Series]] = ((each.recovered, "trained"), (each.prior, "never"))
    bars = (share_bar(published(estimate), series=series, text=share_text(estimate)) for estimate, series in pairs)
    return BarRow(each.category or "All together", (Cell(tuple(bars)),), f"{each.masked:,} masked")


def _gain(each: ResidualInference) -> float:
    return each.above_prior.value if each.above_prior.value is not None else -2.0
