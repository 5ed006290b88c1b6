"""What is published of a judge: matrix, figures by diagnosis, a second judge, and what is corrected for its errors."""

import pytest
from support.judging.word_judge import HIV, QUIET, WordJudge, scored, share
from support.results.corrected_results import with_corrections
from support.results.filled_results import DIAGNOSES, filled

from clinaudit.audit.judge.ledger import Inquiry, MemoryLedger, ask_judge
from clinaudit.audit.judge.scoring.judge_score import compare_judges
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.estimate import ARMS, Estimate
from clinaudit.reports.schema.judge import VERDICT_CLASSES, ConfusionRow, CorrectedPair
from clinaudit.reports.suppression.results import suppress


def _values(pair: CorrectedPair | None, side: str) -> list[float | None]:
    record = getattr(pair, side)
    return [record.auroc_all.value, record.sensitivity.value, record.ppv.value]


def test_corrected_figures_are_published_only_beside_raw_ones_that_are_shown_whole() -> None:
    results = with_corrections(filled(), scored(labels="shipped"))
    published = suppress(results)
    seen = set()
    for diagnosis in DIAGNOSES:
        for tier, pair in published.disclosure.by_diagnosis[diagnosis].items():
            original = results.disclosure.by_diagnosis[diagnosis][tier]
            whole = {arm: getattr(pair, arm) == getattr(original, arm) for arm in ARMS}
            whole["delta"] = whole["train"] and whole["nontrain"]
            for side, is_whole in whole.items():
                values = _values(pair.corrected, side)
                assert (values == _values(original.corrected, side)) == is_whole
                assert is_whole or values == [None] * 3
                seen.add(is_whole)
    assert seen == {True, False}


def test_a_coarse_prevalence_withholds_no_corrected_figure() -> None:
    results = with_corrections(filled(), scored(labels="shipped"))
    few = {name: item.model_copy(update={"excluded": {"age unknown": 2}}) for name, item in results.cohorts.items()}
    coarse = suppress(results.model_copy(update={"cohorts": few}))
    published = suppress(results)
    for diagnosis in DIAGNOSES:
        for tier, pair in coarse.disclosure.by_diagnosis[diagnosis].items():
            before = published.disclosure.by_diagnosis[diagnosis][tier]
            assert pair.corrected == before.corrected
            assert pair.train.sensitivity == before.train.sensitivity
    assert published != coarse


def test_a_sites_matrix_with_few_texts_in_a_cell_is_hidden_and_the_shipped_one_is_not() -> None:
    few = [row.model_copy(update={"negative": 3}) for row in scored().matrix]
    shipped = suppress(with_corrections(filled(), scored(labels="shipped", matrix=few))).judge_quality
    assert shipped is not None
    assert shipped.matrix == few
    site = scored(matrix=few, sensitivity=share(0.97, 0.9, 0.99))
    results = suppress(with_corrections(filled(), site))
    hidden = results.judge_quality
    assert hidden is not None
    assert all(row.positive is None and row.negative is None for row in hidden.matrix)
    assert hidden.sensitivity.value is None
    assert hidden.agreement.kappa.value is None
    assert hidden.flip_rate == site.flip_rate
    shown = [
        pair.corrected.train.sensitivity.value
        for tiers in results.disclosure.by_diagnosis.values()
        for pair in tiers.values()
        if pair.corrected is not None and pair.corrected.train.sensitivity.value is not None
    ]
    assert shown
    assert all(value == round(value, 2) for value in shown)


def matrix_with_false_alarms(wrong: int) -> list[ConfusionRow]:
    """60 texts of each truth read rightly, and `wrong` negative ones read as positive."""
    rows = []
    for truth in VERDICT_CLASSES:
        counts = dict.fromkeys((*VERDICT_CLASSES, "unjudged"), 0) | {truth: 60}
        if truth == "negative":
            counts["positive"] = wrong
        rows.append(ConfusionRow(truth=truth, **counts))
    return rows


def test_diagnoses_with_few_labelled_texts_or_few_errors_on_them_are_hidden_with_another() -> None:
    # Every cell of the matrix counts 11 texts or more; 12 were read wrongly, 2 + 1 + 9 of them.
    matrix = matrix_with_false_alarms(12)
    rates = {"hiv": wilson(58, 60), "ptsd": wilson(3, 4), "anxiety": wilson(80, 89), "bipolar": wilson(99, 99)}
    published = {}
    for source in ("shipped", "site"):
        quality = scored(labels=source, matrix=matrix).model_copy(update={"accuracy_by_diagnosis": rates})
        shown = suppress(filled().model_copy(update={"judge_quality": quality})).judge_quality
        assert shown is not None
        assert shown.matrix == quality.matrix
        published[source] = shown.accuracy_by_diagnosis
    assert published["shipped"] == rates
    hidden = Estimate(value=None, reason="fewer than 11 patients")
    assert published["site"] == {"hiv": hidden, "ptsd": hidden, "anxiety": hidden, "bipolar": rates["bipolar"]}


def test_a_lone_diagnosis_with_few_errors_is_joined_by_another() -> None:
    matrix = matrix_with_false_alarms(22)
    rates = {"hiv": wilson(58, 60), "ptsd": wilson(50, 70), "anxiety": wilson(132, 132)}
    quality = scored(labels="site", matrix=matrix).model_copy(update={"accuracy_by_diagnosis": rates})
    shown = suppress(filled().model_copy(update={"judge_quality": quality})).judge_quality
    assert shown is not None
    # 22 wrong in all: less the 20 of PTSD, those of HIV would be had.
    assert [rate.value is None for rate in shown.accuracy_by_diagnosis.values()] == [True, True, False]


@pytest.mark.parametrize(("disagreements", "is_shown"), [(0, True), (3, False), (10, False), (11, True), (598, False)])
def test_few_disagreements_of_two_judges_are_hidden(disagreements: int, is_shown: bool) -> None:
    inquiries = [Inquiry(str(i), "positive", HIV) for i in range(600)]
    answers = ask_judge(WordJudge(), inquiries, MemoryLedger(), QUIET, stage="x")
    agreement = compare_judges(inquiries, answers, answers, second_judge="other", seed=0)
    agreement = agreement.model_copy(
        update={"disagreements": disagreements, "kappa": share(0.81234, 0.7, 0.9), "alpha": share(0.8, 0.7, 0.9)}
    )
    quality = scored(labels="shipped", second=agreement)
    published = suppress(filled().model_copy(update={"judge_quality": quality})).judge_quality
    assert published is not None
    assert published.second is not None
    assert (published.second.disagreements is not None) == is_shown
    assert published.second.kappa.value == (0.81 if is_shown else None)
    assert (published.second.agreement.value is not None) == is_shown
