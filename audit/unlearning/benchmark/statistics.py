"""What a benchmark holds, by category and split (AMNESIA, Tables 1 and 5), and its plain text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from clinaudit.audit.unlearning.benchmark.categories import OTHER, name_of, taxonomy
from clinaudit.audit.unlearning.benchmark.files import BenchPatient, Question, Split
from clinaudit.reports.schema.unlearning import BenchCounts, CategoryCounts, SplitCounts
from clinaudit.reports.tables.unlearning import corpus_table, panel_tables, splits_table
from clinaudit.reports.terminal import table_text


def count_bench(
    patients: Sequence[BenchPatient], questions: Sequence[Question], splits: Sequence[Split], **others: Any
) -> BenchCounts:
    """Return the counts of a benchmark (PHI, being exact); `others` are what was left out of it, field by field."""
    category_of = {patient.patient_id: patient.category for patient in patients}
    members, asked = Counter(category_of.values()), Counter(category_of[one.patient_id] for one in questions)
    categories = [
        CategoryCounts(category=name_of(one), patients=members[one], questions=asked[one])
        for one in (*taxonomy(), OTHER)
        if members[one]
    ]
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
    corpus, *others = map(table_text, (corpus_table(counts), splits_table(counts.splits), *panel_tables(counts)))
    return "\n\n".join(["\n".join([corpus, *_left_out(counts)]), *others])


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
