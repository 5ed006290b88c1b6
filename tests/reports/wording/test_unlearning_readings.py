"""How the figures of an unlearning evaluation read: what forgot, what broke, what others lost; and the rows' names."""

from typing import Any

import pytest
from support.unlearning.filled_evaluation import bare_evaluation, filled_evaluation, model_figures, robustness_figures

from clinaudit.audit.unlearning.evaluation.readings import read_each_model
from clinaudit.reports.schema.unlearning import ModelFigures, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_evaluation import EvaluatedModel, Paraphrase, RobustnessDocument
from clinaudit.reports.wording.unlearning import (
    cost_sentences,
    find_before,
    headline,
    leakage_marks,
    list_systems,
    reading_sentences,
)

SPLIT = "cancer:5"


def evaluation(
    forgot: ModelFigures, *, others: dict[str, ModelFigures] | None = None, before: str | None = "tuned"
) -> UnlearningEvaluation:
    """One model on one split, and what else is there by its kind."""
    held = {"tuned": model_figures(0.9, 0.9, 0.1, 0.0), "forgot": forgot, **(others or {})}
    kinds: dict[str, Any] = {"tuned": "baseline", "forgot": "unlearned"}
    models = [
        EvaluatedModel(
            name=name,
            kind=kinds.get(name, "retrained"),
            split=None if name == "tuned" else SPLIT,
            digest="d",
            method="rmu" if name == "forgot" else None,
        )
        for name in held
    ]
    filled = filled_evaluation()
    splits = [split for split in filled.splits if split.name == SPLIT]
    changes = {"before": before, "models": models, "splits": splits, "figures": {SPLIT: held}}
    return filled.model_copy(update=changes)


@pytest.mark.parametrize(
    ("mu", "same", "afe", "ds", "reading"),
    [
        # AFE in the mean of both kinds is 0.02 more: 0.12 before, 0.82 of patients never trained on, half way 0.47.
        (0.9, 0.9, 0.46, 0.0, "forgot"),
        (0.9, 0.9, 0.44, 0.0, "knows"),
        # MU in the mean is 0.02 less: it was 0.88, of which nine tenths are 0.79, and half 0.44.
        (0.82, 0.82, 0.46, 0.0, "forgot"),
        (0.80, 0.80, 0.46, 0.0, "forgot_at_cost"),
        (0.9, 0.80, 0.46, 0.0, "forgot_at_cost"),
        (0.47, 0.9, 0.46, 0.0, "forgot_at_cost"),
        (0.45, 0.9, 0.9, 0.0, "broken"),
        (0.9, 0.9, 0.9, 0.09, "forgot"),
        (0.9, 0.9, 0.9, 0.10, "broken"),
    ],
)
def test_a_model_reads_as_its_figures_are(mu: float, same: float, afe: float, ds: float, reading: str) -> None:
    assert [one.reading for one in read_each_model(evaluation(model_figures(mu, same, afe, ds)))] == [reading]


def test_a_retrained_model_says_how_high_afe_would_be() -> None:
    found = evaluation(model_figures(0.9, 0.9, 0.45, 0.0), others={"gold": model_figures(0.9, 0.9, 0.9, 0.0)})
    (read,) = read_each_model(found)
    assert read.afe.target == pytest.approx(0.92)
    assert read.reading == "knows"


def test_without_a_model_before_or_anything_that_was_known_nothing_is_claimed() -> None:
    forgot = model_figures(0.9, 0.9, 0.9, 0.0)
    # A model before that knew no more of these patients than of others.
    ignorant = {"tuned": model_figures(0.9, 0.9, 0.8, 0.0)}
    found = [evaluation(forgot, before=None), evaluation(forgot, others=ignorant), bare_evaluation()]
    read = [one for each in found for one in read_each_model(each)]
    assert [one.reading for one in read] == ["open"] * 3
    nobody = "nobody was asked who knew them, or who never saw them"
    hardly = "the model before knew hardly more of them than one that never saw them"
    assert [one.reason for one in read] == [nobody, hardly, nobody]
    # What it says itself is told all the same, exact memorization included where it is known.
    assert (read[0].afe.after, read[0].afe.is_without_em) == (pytest.approx(0.92), False)
    assert (read[2].afe.after, read[2].afe.is_without_em) == (pytest.approx(0.49), True)
    assert headline(read_each_model(bare_evaluation())) == "Whether elsewhere forgot anybody cannot be told."
    assert headline([]) == "No unlearned model was asked: nothing can be said of forgetting."


def test_harmonic_means_without_exact_memorization_are_compared_with_their_like() -> None:
    """0.01 apart: a model with it is not compared with one without."""
    (read,) = read_each_model(evaluation(model_figures(0.9, 0.9, 0.45, 0.0, has_em=False)))
    assert read.mu.before == pytest.approx(0.89)
    assert read.mu.gain == pytest.approx(0.0)


def test_the_first_words_count_and_name_the_models() -> None:
    models = read_each_model(filled_evaluation())
    assert headline(models) == (
        "Of 16 unlearned models 1 forgot and spared the others, 2 forgot at others’ cost, 6 still know and 7 broke"
        " down."
    )
    sentences = reading_sentences(models)
    assert sentences[0] == "Forgot, others kept their answers: RMU (Random 10%)."
    assert sentences[1] == "Forgot, others lost: RMU (Cancer 10%) and SimNPO (Cancer 10%)."
    assert sentences[3] == (
        "Broke down: KL-Min (Random 5%, 10%; Cancer 5%, 10%) and GradDiff (Random 10%; Cancer 5%, 10%)."
    )


def test_one_model_gets_a_sentence_of_its_own() -> None:
    assert headline(read_each_model(evaluation(model_figures(0.9, 0.9, 0.12, 0.0)))) == (
        "RMU still knows whom it was to forget."
    )


def test_what_others_lost_and_what_comes_back_is_said() -> None:
    found = filled_evaluation()
    disease, back, told = cost_sentences(found, read_each_model(found))
    # Not GradDiff, of which those with the disease lose more: it broke down.
    assert disease == (
        "Those who share a disease with a forgotten patient lose most by SimNPO (Cancer 10%): their MU goes from 0.89"
        " to 0.35, that of others from 0.89 to 0.87."
    )
    assert back == (
        "Half or more of what was lost comes back when tried: SimNPO (Random 5%, 10%; Cancer 5%, 10%) by 4-bit weights,"
        " learning one question again, learning notes of others, rephrasing and asking in the other form."
    )
    assert told == "A reader of the model can tell who was forgotten: RMU (Random 5%, 10%; Cancer 5%, 10%)."
    # Half of little is anything, and is not named.
    unsure = robustness_figures(0.9, comes_back=0.7)
    wide = {
        name: one.model_copy(update={"confidence_low": -0.3})
        for name, one in unsure.trials()["rephrased"].recovery.items()
    }
    alone = Paraphrase(rephrased=unsure.trials()["rephrased"].model_copy(update={"recovery": wide}))
    tried = RobustnessDocument(paraphrase=alone)
    few = evaluation(model_figures(0.9, 0.9, 0.12, 0.0, robustness=tried))
    assert cost_sentences(few, read_each_model(few)) == []
    harmless = evaluation(model_figures(0.9, 0.9, 0.12, 0.0, robustness=robustness_figures(0.9, comes_back=0.49)))
    assert cost_sentences(harmless, read_each_model(harmless)) == []


def test_questions_forgotten_rather_than_notes_are_told_of() -> None:
    # Withheld questions: AFE 0.42 before and 0.98, the most there is, after; trained on ones: 0.12 and 0.70.
    whole = evaluation(model_figures(0.9, 0.9, 0.68, 0.0))
    assert cost_sentences(whole, read_each_model(whole)) == []
    forgot = model_figures(0.9, 0.9, 0.68, 0.0)
    kinds = model_figures(0.9, 0.9, 0.15, 0.0).answers["forget"]
    mixed = {kind: {**uses, "holdout": kinds[kind]["holdout"]} for kind, uses in forgot.answers["forget"].items()}
    own = evaluation(forgot.model_copy(update={"answers": {**forgot.answers, "forget": mixed}}))
    (said,) = cost_sentences(own, read_each_model(own))
    assert said.startswith("AFE of withheld questions rises less than half as much")


def test_a_method_is_one_row_over_all_splits() -> None:
    systems = list_systems(filled_evaluation())
    assert [system.label for system in systems] == [
        "Before unlearning", "GradDiff", "KL-Min", "RMU", "SimNPO", "Retrained without them", "Filter of names",
    ]  # fmt: skip
    assert [len(system.models) for system in systems] == [4] * 7
    assert [system.label for system in systems if system.was_to_forget] == ["GradDiff", "KL-Min", "RMU", "SimNPO"]


def test_two_models_of_one_method_and_split_have_a_row_each() -> None:
    found = evaluation(model_figures(0.9, 0.9, 0.5, 0.0))
    again = EvaluatedModel(name="faster", kind="unlearned", split=SPLIT, digest="d", method="rmu")
    figures = {SPLIT: {**found.figures[SPLIT], "faster": model_figures(0.9, 0.9, 0.6, 0.0)}}
    both = found.model_copy(update={"models": [*found.models, again], "figures": figures})
    labels = [system.label for system in list_systems(both)]
    assert labels == ["Before unlearning", "RMU (faster)", "RMU (forgot)"]
    assert leakage_marks(both, SPLIT, "factual") == {"faster": "lowest", "forgot": "highest"}


def test_a_model_made_elsewhere_may_be_what_others_are_compared_with() -> None:
    found = evaluation(model_figures(0.9, 0.9, 0.5, 0.0))
    models = [EvaluatedModel(name="tuned", kind="foreign", split=None, digest="d"), *found.models[1:]]
    other = found.model_copy(update={"models": models})
    before = find_before(other)
    assert before is not None
    assert before.label == "tuned"
    assert [read.label for read in read_each_model(other)] == ["RMU"]
    # One method alone is neither the lowest nor the highest.
    assert leakage_marks(other, SPLIT, "factual") == {}
