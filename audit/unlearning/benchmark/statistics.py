"""What a benchmark holds: patients, questions and lengths by category (AMNESIA, Tables 1, 4 and 5); and its plain text.

Lengths are in words: a token is of one model, and the paper does not say of which.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, BenchPatient, Question, Split
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER, name_of, taxonomy
from clinaudit.reports.schema.unlearning import BenchCounts, CategoryCounts, SplitCounts
from clinaudit.reports.tables.unlearning_bench import corpus_table, lengths_table, panel_tables, splits_table
from clinaudit.reports.terminal.layout import table_text


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
    categories = []
    for category in (*taxonomy(), OTHER):
        members = {patient.patient_id for patient in patients if patient.category == category}
        asked = [question for question in questions if question.patient_id in members]
        lengths = [len(text.split()) for patient_id in sorted(members) for text in notes[patient_id]]
        words = {
            f"{kind} {part}": [len(getattr(one, part).split()) for one in asked if one.kind == kind]
            for kind in QUESTION_KINDS
            for part in ("question", "answer")
        }
        if lengths:
            categories.append(
                CategoryCounts(
                    category=name_of(category),
                    patients=len(members),
                    questions=len(asked),
                    shortest_note=min(lengths),
                    mean_note=round(fmean(lengths), 1),
                    longest_note=max(lengths),
                    words={name: round(fmean(own), 1) for name, own in words.items() if own},
                )
            )
    return BenchCounts(
        patients=len(patients),
        patients_trained_on=sum(patient.is_trained for patient in patients),
        questions=len(questions),
        holdout_questions=sum(question.use == "holdout" for question in questions),
        categories=categories,
        splits=[describe_split(split, questions) for split in in_order(splits)],
        **others,
    )


def describe_split(split: Split, questions: Iterable[Question]) -> SplitCounts:
    """Return whom a split forgets and retains, in numbers."""
    trained = Counter(question.patient_id for question in questions if question.use == "train")
    return SplitCounts(
        split=split.name,
        level=split.level.capitalize() if split.category is None else name_of(split.category),
        is_disease=split.category is not None,
        percent=split.percent,
        forget_patients=len(split.forget),
        forget_questions=sum(trained[patient] for patient in split.forget),
        retain_patients=len(split.retain),
        retain_questions=sum(trained[patient] for patient in split.retain),
    )


def in_order(splits: Iterable[Split]) -> list[Split]:
    """Return splits by level and size: at random, of a request, of a disease."""
    levels, categories = ["random", "request", "category"], list(taxonomy())

    def place(split: Split) -> tuple[int, int, int]:
        return levels.index(split.level), categories.index(split.category) if split.category else 0, split.percent

    return sorted(splits, key=place)


def bench_text(counts: BenchCounts) -> str:
    """Return the counts of a benchmark as they are printed: the tables of the page, and what was left out."""
    tables = [
        corpus_table(counts),
        lengths_table(counts),
        splits_table(counts.splits),
        *panel_tables(counts),
    ]
    texts = [table_text(table) for table in tables]
    return "\n\n".join(["\n".join([texts[0], *_left_out(counts)]), *texts[1:]])


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
    for what, percents in counts.splits_unavailable.items():
        yield f"not available: {', '.join(f'{percent}%' for percent in percents)} of {what}"
