"""What a benchmark holds: patients, questions and lengths by category (AMNESIA, Tables 1, 4 and 5); and its plain text.

Lengths are in words: a token is of one model, and the paper does not say of which.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, BenchPatient, Question, Split
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER, name_of, taxonomy
from clinaudit.reports.schema.unlearning_bench import BenchCounts, CategoryCounts, SplitCounts, WordCounts
from clinaudit.reports.terminal.layout import align_columns


def count_bench(
    patients: Sequence[BenchPatient],
    questions: Sequence[Question],
    splits: Sequence[Split],
    notes: Mapping[str, Sequence[str]],
    **others: Any,
) -> BenchCounts:
    """Return the counts of a benchmark; its notes by patient id. They are PHI, being exact.

    `others` are what was left out of it, field by field.
    """
    own = [question for question in questions if question.use != "rephrased"]
    return BenchCounts(
        patients=len(patients),
        patients_trained_on=sum(patient.is_trained for patient in patients),
        questions=len(own),
        holdout_questions=sum(question.use == "holdout" for question in own),
        rephrased_questions=len(questions) - len(own),
        categories=[
            _of_category(category, patients, own, notes)
            for category in (*taxonomy(), OTHER)
            if any(patient.category == category for patient in patients)
        ],
        splits=[_of_split(split, own) for split in splits],
        **others,
    )


def _of_category(
    category: str, patients: Sequence[BenchPatient], questions: Sequence[Question], notes: Mapping[str, Sequence[str]]
) -> CategoryCounts:
    members = {patient.patient_id for patient in patients if patient.category == category}
    asked = [question for question in questions if question.patient_id in members]
    lengths = [len(text.split()) for patient_id in sorted(members) for text in notes[patient_id]]
    means = {
        f"{kind}_{part}_words": _mean([len(getattr(one, part).split()) for one in asked if one.kind == kind])
        for kind in QUESTION_KINDS
        for part in ("question", "answer")
    }
    return CategoryCounts(
        category=category,
        patients=len(members),
        share=round(len(members) / len(patients), 4),
        questions=len(asked),
        note_words=WordCounts(min=min(lengths), mean=_mean(lengths), max=max(lengths)),
        **means,
    )


def _of_split(split: Split, questions: Sequence[Question]) -> SplitCounts:
    trained = Counter(question.patient_id for question in questions if question.use == "train")
    return SplitCounts(
        split=split.name,
        forget_patients=len(split.forget),
        forget_questions=sum(trained[patient] for patient in split.forget),
        retain_patients=len(split.retain),
        retain_questions=sum(trained[patient] for patient in split.retain),
    )


def _mean(lengths: Sequence[int]) -> float | None:
    return round(sum(lengths) / len(lengths), 1) if lengths else None


def bench_text(counts: BenchCounts) -> str:
    """Return the counts of a benchmark as they are printed."""
    tables = [align_columns(list(table(counts))) for table in (_sizes, _lengths)]
    return "\n".join([*_overview(counts), "", tables[0], "", tables[1], "", *_splits(counts), *_panel(counts)])


def _overview(counts: BenchCounts) -> Iterator[str]:
    yield (
        f"patients: {counts.patients:,}, trained on: {counts.patients_trained_on:,}; "
        f"questions: {counts.questions:,}, withheld: {counts.holdout_questions:,}; "
        f"rephrasings: {counts.rephrased_questions:,}; keywords: {counts.keywords:,}"
    )
    for reason, number in counts.patients_dropped.items():
        yield f"patients left out: {number:,}: {reason}"
    for reason, number in counts.questions_refused.items():
        yield f"questions not asked: {number:,}: {reason}"
    if counts.questions_that_fit_others:
        yield f"questions whose description fits other patients too: {counts.questions_that_fit_others:,}"
    if counts.holdout_questions_told_in_training:
        yield (
            "withheld questions with a fact that a question of the training set has too: "
            f"{counts.holdout_questions_told_in_training:,}"
        )


def _sizes(counts: BenchCounts) -> Iterator[tuple[str, ...]]:
    yield "category", "patients", "share", "questions", "words a note: min", "mean", "max"
    for row in counts.categories:
        words = (row.note_words.min, row.note_words.mean, row.note_words.max)
        share = f"{100 * row.share:.1f}%"
        yield name_of(row.category), f"{row.patients:,}", share, f"{row.questions:,}", *(f"{one:,}" for one in words)


def _lengths(counts: BenchCounts) -> Iterator[tuple[str, ...]]:
    """Mean words of questions and answers, by kind."""
    words: tuple[Literal["question", "answer"], ...] = ("question", "answer")
    parts = [(kind, part) for part in words for kind in QUESTION_KINDS]
    yield "mean words of", *(f"{kind} {part}" for kind, part in parts)
    for row in counts.categories:
        means = [row.words(kind, part) for kind, part in parts]
        yield name_of(row.category), *("-" if mean is None else f"{mean:.1f}" for mean in means)


def _splits(counts: BenchCounts) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("split", "forget", "questions", "retain", "questions")]
    for row in counts.splits:
        name, *numbers = dict(row).values()
        rows.append((name, *(f"{number:,}" for number in numbers)))
    yield align_columns(rows)
    missing: dict[str, list[str]] = {}
    for one in counts.splits_unavailable:
        missing.setdefault(f"{name_of(one.category)}: {one.reason}", []).append(f"{one.percent}%")
    for what, percents in missing.items():
        yield f"not available: {', '.join(percents)} of {what}"


def _panel(counts: BenchCounts) -> Iterator[str]:
    """What the judges say, task by task (Tables 8 to 10, 12 and 13)."""
    for figures in counts.judged():
        judges = list(figures.verdicts)
        yield ""
        yield align_columns(
            [
                (f"{figures.task}s: {figures.items:,}", *judges, "panel"),
                *(
                    (verdict, *(f"{figures.verdicts[judge].get(verdict, 0):,}" for judge in judges), f"{number:,}")
                    for verdict, number in figures.panel.items()
                ),
            ]
        )
        yield figures.reading
