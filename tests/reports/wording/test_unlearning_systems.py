"""The rows of an unlearning evaluation: what a row is, what it is called, and which one others are compared with."""

from support.unlearning.filled_evaluation import filled_evaluation, model_figures

from clinaudit.reports.schema.unlearning import UnlearningEvaluation
from clinaudit.reports.schema.unlearning_evaluation import EvaluatedModel
from clinaudit.reports.wording.unlearning import find_before, leakage_marks, list_systems

SPLIT = "cancer:5"


def evaluation() -> UnlearningEvaluation:
    """The model before and one that forgot, on one split."""
    figures = {SPLIT: {"tuned": model_figures(0.9, 0.9, 0.1, 0.0), "forgot": model_figures(0.9, 0.9, 0.5, 0.0)}}
    models = [
        EvaluatedModel(name="tuned", kind="baseline", split=None, digest="d"),
        EvaluatedModel(name="forgot", kind="unlearned", split=SPLIT, digest="d", method="rmu"),
    ]
    filled = filled_evaluation()
    splits = [split for split in filled.splits if split.name == SPLIT]
    return filled.model_copy(update={"models": models, "splits": splits, "figures": figures})


def test_two_models_of_one_method_and_split_have_a_row_each() -> None:
    found = evaluation()
    again = EvaluatedModel(name="faster", kind="unlearned", split=SPLIT, digest="d", method="rmu")
    figures = {SPLIT: {**found.figures[SPLIT], "faster": model_figures(0.9, 0.9, 0.6, 0.0)}}
    both = found.model_copy(update={"models": [*found.models, again], "figures": figures})
    labels = [system.label for system in list_systems(both)]
    assert labels == ["Before unlearning", "RMU (faster)", "RMU (forgot)"]
    assert leakage_marks(both, SPLIT, "factual") == {"faster": "lowest", "forgot": "highest"}


def test_a_model_made_elsewhere_may_be_what_others_are_compared_with() -> None:
    found = evaluation()
    models = [EvaluatedModel(name="tuned", kind="foreign", split=None, digest="d"), *found.models[1:]]
    other = found.model_copy(update={"models": models})
    before = find_before(other)
    assert before is not None
    assert before.label == "tuned"
    # One method alone is neither the lowest nor the highest.
    assert leakage_marks(other, SPLIT, "factual") == {}
