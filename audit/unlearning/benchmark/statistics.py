"""What a benchmark holds: patients, questions and lengths by category (AMNESIA, Tables 1, 4 and 5); and its plain text.

Lengths are in words: a token is of one model, and the paper does not say of which.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clinaudit.audit.unlearning.benchmark.panel.agreement import PANEL_TASKS
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, BenchPatient, Question, Split
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER, name_of, taxonomy
from clinaudit.reports.terminal.layout import align_columns


def describe_bench(
    patients: Sequence[BenchPatient],
    questions: Sequence[Question],
    splits: Sequence[Split],
    notes: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the counts of a benchmark; its notes by patient id. `bench.json` keeps them: they are PHI, being exact."""
    own = [question for question in questions if question.use != "rephrased"]
    return {
        "patients": len(patients),
        "patients_trained_on": sum(patient.is_trained for patient in patients),
        "questions": len(own),
        "holdout_questions": sum(question.use == "holdout" for question in own),
        "rephrased_questions": len(questions) - len(own),
        "categories": [
            _of_category(category, patients, own, notes)
            for category in (*taxonomy(), OTHER)
            if any(patient.category == category for patient in patients)
        ],
        "splits": [_of_split(split, own) for split in splits],
    }


def _of_category(
    category: str, patients: Sequence[BenchPatient], questions: Sequence[Question], notes: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    members = {patient.patient_id for patient in patients if patient.category == category}
    asked = [question for question in questions if question.patient_id in members]
    lengths = [len(text.split()) for patient_id in sorted(members) for text in notes[patient_id]]
    row: dict[str, Any] = {
        "category": category,
        "patients": len(members),
        "share": round(len(members) / len(patients), 4),
        "questions": len(asked),
        "note_words": {"min": min(lengths), "mean": _mean(lengths), "max": max(lengths)},
    }
    for kind in QUESTION_KINDS:
        of_kind = [question for question in asked if question.kind == kind]
        row[f"{kind}_question_words"] = _mean([len(question.question.split()) for question in of_kind])
        row[f"{kind}_answer_words"] = _mean([len(question.answer.split()) for question in of_kind])
    return row


def _of_split(split: Split, questions: Sequence[Question]) -> dict[str, Any]:
    forget = set(split.forget)
    trained = [question.patient_id in forget for question in questions if question.use == "train"]
    retained = set(split.retain)
    of_retain = sum(question.patient_id in retained for question in questions if question.use == "train")
    return {
        "split": split.name,
        "forget_patients": len(split.forget),
        "forget_questions": sum(trained),
        "retain_patients": len(split.retain),
        "retain_questions": of_retain,
    }


def _mean(lengths: Sequence[int]) -> float | None:
    return round(sum(lengths) / len(lengths), 1) if lengths else None


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
                    (verdict, *(f"{figures['verdicts'][judge].get(verdict, 0):,}" for judge in judges), f"{number:,}")
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
