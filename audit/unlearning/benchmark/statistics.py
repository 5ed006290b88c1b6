"""What a benchmark holds: patients, questions and lengths by category (AMNESIA, Tables 1, 4 and 5); and its plain text.

Lengths are in words: a token is of one model, and the paper does not say of which.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, BenchPatient, Question, Split
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER, name_of, taxonomy
from clinaudit.reports.schema.unlearning_bench import BenchCounts, CategoryCounts, SplitCounts, WordCounts
from clinaudit.reports.tables.unlearning_bench import corpus_table, lengths_table, panel_tables
from clinaudit.reports.terminal.layout import align_columns, table_text


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


def with_names(counts: BenchCounts) -> BenchCounts:
    """Return the counts with the names of the categories in place of their ids, as pages and terminals show them."""
    categories = [row.model_copy(update={"category": name_of(row.category)}) for row in counts.categories]
    panel = counts.panel
    if panel is not None:
        verdicts = {name_of(category): own for category, own in panel.title.panel_by_category.items()}
        title = panel.title.model_copy(update={"panel_by_category": verdicts})
        panel = panel.model_copy(update={"title": title})
    return counts.model_copy(update={"categories": categories, "panel": panel})


def bench_text(counts: BenchCounts) -> str:
    """Return the counts of a benchmark as they are printed: the tables of the page, and what was left out."""
    named = with_names(counts)
    tables = [table_text(table) for table in (corpus_table(named), lengths_table(named), *panel_tables(named))]
    return "\n\n".join(["\n".join([tables[0], *_left_out(counts)]), tables[1], "\n".join(_splits(counts)), *tables[2:]])


def _left_out(counts: BenchCounts) -> Iterator[str]:
    yield f"keywords: {counts.keywords:,}"
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
