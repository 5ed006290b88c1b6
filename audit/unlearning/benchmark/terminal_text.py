"""What a built benchmark holds, in plain text for its owner (AMNESIA, Tables 1, 4 and 5).

Owns the layout; computes nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from clinaudit.audit.unlearning.benchmark.categories.taxonomy import name_of
from clinaudit.audit.unlearning.benchmark.panel.verdicts import PANEL_TASKS
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS
from clinaudit.reports.terminal.layout import align_columns


def bench_text(counts: Mapping[str, Any]) -> str:
    """Return the counts of a benchmark as they are printed."""
    tables = [align_columns(list(table(counts))) for table in (_sizes, _lengths)]
    return "\n".join([*_overview(counts), "", tables[0], "", tables[1], "", *_splits(counts), *_panel(counts)])


def _overview(counts: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"patients: {counts['patients']:,}, trained on: {counts['patients_trained_on']:,}; "
        f"questions: {counts['questions']:,}, withheld: {counts['holdout_questions']:,}; "
        f"rephrasings: {counts['rephrased_questions']:,}; keywords: {counts.get('keywords', 0):,}"
    )
    for reason, number in counts["patients_dropped"].items():
        yield f"patients left out: {number:,}: {reason}"
    for reason, number in counts["questions_refused"].items():
        yield f"questions not asked: {number:,}: {reason}"
    if counts["questions_that_fit_others"]:
        yield f"questions whose description fits other patients too: {counts['questions_that_fit_others']:,}"
    if counts["holdout_questions_told_in_training"]:
        yield (
            "withheld questions with a fact that a question of the training set has too: "
            f"{counts['holdout_questions_told_in_training']:,}"
        )


def _sizes(counts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    yield "category", "patients", "share", "questions", "words a note: min", "mean", "max"
    for row in counts["categories"]:
        words = row["note_words"]
        yield (
            name_of(row["category"]),
            f"{row['patients']:,}",
            f"{100 * row['share']:.1f}%",
            f"{row['questions']:,}",
            *(f"{words[name]:,}" for name in ("min", "mean", "max")),
        )


def _lengths(counts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Mean words of questions and answers, by kind."""
    parts = ("question", "answer")
    yield "mean words of", *(f"{kind} {part}" for part in parts for kind in QUESTION_KINDS)
    for row in counts["categories"]:
        means = [row[f"{kind}_{part}_words"] for part in parts for kind in QUESTION_KINDS]
        yield name_of(row["category"]), *("-" if mean is None else f"{mean:.1f}" for mean in means)


def _splits(counts: Mapping[str, Any]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("split", "forget", "questions", "retain", "questions")]
    rows += [
        (
            row["split"],
            f"{row['forget_patients']:,}",
            f"{row['forget_questions']:,}",
            f"{row['retain_patients']:,}",
            f"{row['retain_questions']:,}",
        )
        for row in counts["splits"]
    ]
    yield align_columns(rows)
    missing: dict[str, list[str]] = {}
    for row in counts["splits_unavailable"]:
        missing.setdefault(f"{name_of(row['category'])}: {row['reason']}", []).append(f"{row['percent']}%")
    for what, percents in missing.items():
        yield f"not available: {', '.join(percents)} of {what}"


def _panel(counts: Mapping[str, Any]) -> Iterator[str]:
    """What the judges say, task by task, and how the person compares (Tables 8 to 13)."""
    panel = counts.get("panel")
    if panel is None:
        return
    for task in PANEL_TASKS:
        figures = panel[task]
        judges = list(figures["verdicts"])
        yield ""
        yield align_columns(
            [
                (f"{task}s: {figures['items']:,}", *judges, "panel"),
                *(
                    (
                        verdict,
                        *(f"{figures['verdicts'][judge].get(verdict, 0):,}" for judge in judges),
                        f"{number:,}",
                    )
                    for verdict, number in figures["panel"].items()
                ),
            ]
        )
        yield figures["reading"]
    if "human" in panel:
        yield ""
        yield f"a person says of titles: yes {panel['human']['yes']:,}, no {panel['human']['no']:,}"
        columns = ("both_supported", "human_only", "judge_only", "neither", "left_out")
        rows = [("against the person", "both yes", "person only", "judge only", "both no", "left out")]
        rows += [
            (name, *(f"{held[column]:,}" for column in columns)) for name, held in panel["human"]["judges"].items()
        ]
        yield align_columns(rows)
