"""MU and AFE by size of the split, as a table of bars (AMNESIA, Figure 2).

Owns which numbers the chart shows. Solid bars are of questions trained on, hatched ones of those withheld; the dashed
line is the model before unlearning. Knows nothing of traces.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.reports.figures.bars import SHARES, Bar, BarFigure, BarRow, Cell, Mark, Series, Swatch
from clinaudit.reports.schema.unlearning import (
    AnswerGroup,
    EvaluatedSplit,
    QuestionKind,
    QuestionUse,
    UnlearningEvaluation,
)
from clinaudit.reports.wording.numbers import NOT_MEASURED, counted, number_text
from clinaudit.reports.wording.unlearning import (
    NONE,
    WITHOUT_EM,
    WITHOUT_EM_NOTE,
    System,
    find_answers,
    find_before,
    find_mean,
    kinds_asked,
    list_systems,
)

#: Harmonic mean -> whose answers, and the colour.
_MEANS: Final[Mapping[str, tuple[AnswerGroup, Series]]] = {"mu": ("retain", "never"), "afe": ("forget", "trained")}
_USES: Final[tuple[QuestionUse, ...]] = ("train", "holdout")
_SWATCHES: Final = (
    Swatch("solid-bar", "questions trained on"),
    Swatch("hatched-bar", "questions withheld"),
    Swatch("before-line", "before unlearning"),
)


def sizes_figure(
    evaluation: UnlearningEvaluation, level: str, splits: Sequence[EvaluatedSplit], *, place: int
) -> BarFigure:
    """Return MU of retained and AFE of forgotten patients by split, a row a model; `place` numbers the levels."""
    before = find_before(evaluation)
    columns = [(mean, kind) for mean in _MEANS for kind in kinds_asked(evaluation)]
    rows: list[BarRow] = []
    for split in splits:
        here = [system for system in list_systems(evaluation) if split.name in system.models]
        rows.append(BarRow(f"{split.percent}%: {counted(split.forget_patients, 'patient')} forgotten", ()))
        # Its lines stand in all other rows.
        shown = [system for system in here if system != before] or here
        rows += [
            BarRow(system.label, tuple(_cell(evaluation, split.name, system, before, *column) for column in columns))
            for system in shown
        ]
    has_stars = any(WITHOUT_EM in bar.text for row in rows for cell in row.cells for bar in cell.bars)
    heads = (f"{mean.upper()}, {kind}" for mean, kind in columns)
    return BarFigure(
        f"sizes-{place}",
        f"{level}: what is left of others (MU), and what is gone of the forgotten (AFE)",
        "Both are best at 1. High AFE beside low MU is no forgetting, but a broken model.",
        ("Model", *heads),
        tuple(rows),
        f"Thin line: 95% interval. {WITHOUT_EM_NOTE if has_stars else ''}".strip(),
        _SWATCHES if before is not None else _SWATCHES[:2],
    )


def _cell(
    evaluation: UnlearningEvaluation,
    split: str,
    system: System,
    before: System | None,
    mean: str,
    kind: QuestionKind,
) -> Cell:
    group, series = _MEANS[mean]
    bars: list[Bar] = []
    reasons: list[str] = []
    for use in _USES:
        estimate, is_without = find_mean(find_answers(evaluation, split, system, group, kind, use), mean)
        if estimate is None or estimate.value is None:
            reasons += [] if estimate is None or estimate.reason is None else [estimate.reason]
            bars.append(Bar(series, (), NONE))
            continue
        value = estimate.value
        marks = [Mark("solid" if use == "train" else "hatched", 0.0, SHARES.place(value))]
        if estimate.confidence_low is not None and estimate.confidence_high is not None:
            start = SHARES.place(estimate.confidence_low)
            marks.append(Mark("chance", start, round(SHARES.place(estimate.confidence_high) - start, 2)))
        compared, _ = find_mean(find_answers(evaluation, split, before, group, kind, use), mean)
        if compared is not None and compared.value is not None and system != before:
            marks.append(Mark("before", SHARES.place(compared.value)))
        bars.append(Bar(series, tuple(marks), number_text(value) + (WITHOUT_EM if is_without else "")))
    if not any(bar.marks for bar in bars):
        return Cell((), f"{NOT_MEASURED}: {reasons[0]}" if reasons else NOT_MEASURED)
    return Cell(tuple(bars))
