"""An unlearning evaluation with something in every part, by hand: four methods, two levels, two sizes; and a bare one.

What each method does is as the paper has it: two hardly forget, two break down; of a disease, others who have it lose.
"""

from collections.abc import Mapping

from clinaudit.reports.schema.unlearning import EvaluatedSplit, ModelFigures, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_bench import (
    BenchCounts,
    CategoryCounts,
    PanelCounts,
    PanelFigures,
    WordCounts,
)
from clinaudit.reports.schema.unlearning_evaluation import LEAK_METRICS, EvaluatedModel, RobustnessDocument
from clinaudit.reports.schema.unlearning_scores import (
    KINDS,
    USES,
    AnswerFigures,
    AnswerGroup,
    Figure,
    QuestionKind,
    QuestionUse,
)
from clinaudit.reports.wording.unlearning import TRAITS

TRAINING = {"epochs": "3", "learning_rate": "2e-05", "warmup": "0.03", "weight_decay": "0", "gradient_norm": "1"} | {
    "micro_batch": "4", "micro_batches": "2", "max_tokens": "2048", "form": "addressed",
}  # fmt: skip
#: Method -> split -> MU of others, MU of those with the disease, AFE, DS.
METHODS: Mapping[str, Mapping[str, tuple[float, float, float, float]]] = {
    "sim_npo": {
        "random:5": (0.90, 0.90, 0.12, 0.0), "random:10": (0.89, 0.89, 0.15, 0.0),
        "cancer:5": (0.90, 0.80, 0.40, 0.0), "cancer:10": (0.89, 0.37, 0.60, 0.0),
    },
    "rmu": {
        "random:5": (0.90, 0.90, 0.11, 0.0), "random:10": (0.90, 0.90, 0.70, 0.0),
        "cancer:5": (0.91, 0.84, 0.30, 0.0), "cancer:10": (0.90, 0.40, 0.58, 0.01),
    },
    "grad_diff": {
        "random:5": (0.88, 0.88, 0.20, 0.02), "random:10": (0.04, 0.04, 0.95, 0.90),
        "cancer:5": (0.60, 0.05, 0.93, 0.76), "cancer:10": (0.50, 0.02, 0.96, 0.94),
    },
    "kl_min": {
        "random:5": (0.03, 0.02, 0.94, 0.64), "random:10": (0.01, 0.0, 0.97, 0.98),
        "cancer:5": (0.55, 0.04, 0.92, 0.86), "cancer:10": (0.45, 0.01, 0.95, 0.91),
    },
}  # fmt: skip
SPLITS = ("random:5", "random:10", "cancer:5", "cancer:10")


def figure(value: float, width: float = 0.04) -> Figure:
    value = round(min(1.0, max(0.0, value)), 4)
    low, high = round(max(0.0, value - width), 4), round(min(1.0, value + width), 4)
    return Figure(value=value, low=low, high=high)


def none(reason: str) -> Figure:
    return Figure(reason=reason)


def answers(mu: float, afe: float, *, ls: float = 0.1, ds: float = 0.0, patients: int = 6) -> AnswerFigures:
    """Means of the answers of a group; parts are near the harmonic means."""
    return AnswerFigures(
        patients=patients,
        answers=2 * patients,
        empty_or_single=0,
        without_keywords=1,
        metrics={
            "mu": figure(mu), "afe": figure(afe), "rouge_l": figure(mu), "em": figure(mu), "cs": figure(mu),
            "es": figure(mu), "te": figure(1 - ds), "ls": figure(ls), "ds": figure(ds), "ls_echo_free": figure(ls / 2),
            "ls_reference": figure(0.4),
        },
    )  # fmt: skip


def model_figures(
    mu: float, same: float, afe: float, ds: float, *, robustness: RobustnessDocument | None = None
) -> ModelFigures:
    """Reasoning is worse than factual by 0.04, withheld questions know 0.3 less."""

    def of_group(group: AnswerGroup, kind: QuestionKind, use: QuestionUse) -> AnswerFigures:
        less = (0.04 if kind == "reasoning" else 0.0) + (0.3 if use == "holdout" else 0.0)
        kept = {"forget": 1 - afe, "retain": mu, "same": same, "others": mu, "never_trained": 0.2}[group]
        missing = 0.8 if group == "never_trained" else afe if group == "forget" else 1 - kept
        leaked = 0.02 if group == "never_trained" else 0.15 * (1 - afe)
        lost = ds if group == "forget" else 0.0
        return answers(kept - less, min(0.98, missing + less), ls=leaked, ds=lost, patients=3)

    groups: tuple[AnswerGroup, ...] = ("forget", "retain", "never_trained", "same", "others")
    return ModelFigures(
        answers={
            group: {
                kind: {
                    use: of_group(group, kind, use)
                    for use in USES
                    if use != "rephrased" or group in ("forget", "never_trained")
                }
                for kind in KINDS
            }
            for group in groups
        },
        robustness=robustness,
    )


def robustness_figures(left: float, *, more: float, told_apart: bool | None = False) -> RobustnessDocument:
    """What each trial gets `more` of the forgotten; nobody knows the trial of five questions."""
    metrics = ("rouge_l", "ls_echo_free")
    trial = {
        name: {metric: figure(value) for metric in metrics}
        for name, value in (("before", left), ("after", left + more))
    }
    above = {metric: figure(left - 0.1) for metric in metrics}
    by_k = {"1": figure(left), "8": figure(left + 0.1), "32": figure(left + 0.2)}
    leaks = dict.fromkeys(LEAK_METRICS, by_k)
    tested = {
        "auroc": figure(0.9),
        "patients": {"forget": 6, "never_trained": 6},
        "p_value": 0.1,
        "told_apart": told_apart,
    }
    few = none("fewer than 5 patients of one of the groups have it")
    untested = {**tested, "auroc": few, "p_value": None, "told_apart": None}
    return RobustnessDocument.model_validate(
        {
            "sampling": {"samples": 32, "forget": leaks, "never_trained": leaks, "above_never_trained": leaks},
            "relearning": {
                "steps": 20,
                "learning_rate": 2e-5,
                "texts_a_step": 4,
                "patients": {"trained_on": 1, "asked": 5},
                "questions_1": trial,
                "questions_5": {"reason": "the training diverged: the loss is no finite number any more"},
                "retained_notes": trial,
            },
            "paraphrase": {"rephrased": trial, "other_form": {**trial, "above_never_trained": above}},
            "detectability": {
                "compared_with": "never-trained patients",
                "told_apart": told_apart,
                "traits": {**dict.fromkeys(TRAITS, tested), "te": untested},
            },
        }
    )


def split(name: str) -> EvaluatedSplit:
    level, percent = name.split(":")
    forgotten = 60 * int(percent) // 100
    return EvaluatedSplit(
        name=name,
        level={"random": "Random", "cancer": "Cancer"}[level],
        is_disease=level == "cancer",
        percent=int(percent),
        forget_patients=forgotten,
        forget_questions=6 * forgotten,
        retain_patients=60 - forgotten,
        retain_questions=6 * (60 - forgotten),
    )


def filled_evaluation() -> UnlearningEvaluation:
    models = [
        EvaluatedModel(name="tuned", kind="baseline", split=None, digest="d", learning_rate=2e-5, training=TRAINING)
    ]
    figures: dict[str, dict[str, ModelFigures]] = {}
    for name in SPLITS:
        here = figures[name] = {"tuned": model_figures(0.91, 0.91, 0.10, 0.0)}
        for method, by_split in METHODS.items():
            mu, same, afe, ds = by_split[name]
            model = f"{method}-{name.replace(':', '-')}"
            tried = robustness_figures(1 - afe, more=0.01, told_apart=method == "rmu")
            here[model] = model_figures(mu, same, afe, ds, robustness=tried)
            models.append(
                EvaluatedModel(
                    name=model,
                    kind="unlearned",
                    split=name,
                    digest="d",
                    method=method,
                    learning_rate=2e-5,
                    chose_rate=True,
                    training=TRAINING,
                )
            )
        here[f"retrained-{name}"] = model_figures(0.90, 0.90, 0.80, 0.0)
        models.append(
            EvaluatedModel(name=f"retrained-{name}", kind="retrained", split=name, digest="d", training=TRAINING)
        )
    return UnlearningEvaluation(
        clinaudit_version="0.0",
        libraries={"torch": "2.0"},
        device="cpu",
        seed=0,
        form="addressed",
        made_with={"cs": "all-MiniLM-L6-v2", "es": "rules"},
        before="tuned",
        models=models,
        splits=[split(name) for name in SPLITS],
        figures=figures,
        bench=bench_counts(),
        bench_splits=[split(name) for name in SPLITS],
    )


def bench_counts(*, has_panel: bool = True) -> BenchCounts:
    judges = ("MedGemma", "Qwen", "GPT-5-mini")
    titles = PanelFigures(
        task="title",
        items=900,
        verdicts={judge: {"supported": 827, "unsupported": 70, "ambiguous": 3} for judge in judges},
        panel={"supported": 826, "unsupported": 71, "ambiguous": 1, "disagree": 2},
        panel_by_category={"Cancer": {"supported": 284, "unsupported": 16}, "Kidney Disease": {"supported": 542}},
        pairs={"MedGemma and Qwen": 0.956},
        agreement=0.955,
        kappa=0.726,
        reading="two judges give the same verdict on 95.5% of the items",
    )
    valid = {"valid": 972, "invalid": 28}
    questions = titles.model_copy(
        update={"task": "question", "verdicts": dict.fromkeys(judges, valid), "panel": valid, "panel_by_category": {}}
    )
    return BenchCounts(
        patients=80,
        patients_trained_on=60,
        questions=640,
        holdout_questions=160,
        rephrased_questions=240,
        categories=[
            CategoryCounts(
                category=name,
                patients=patients,
                share=patients / 80,
                questions=8 * patients,
                note_words=WordCounts(min=55, mean=695.4, max=3920),
                factual_question_words=15.1,
                factual_answer_words=15.1,
                reasoning_question_words=23.4,
                reasoning_answer_words=23.4,
            )
            for name, patients in (("Cancer", 50), ("Kidney Disease", 30))
        ],
        splits=[],
        panel=PanelCounts(title=titles, question=questions) if has_panel else None,
    )


def bare_evaluation() -> UnlearningEvaluation:
    """One model made elsewhere, on one split, asked factual questions alone: nothing to compare with, nothing tried."""
    forgotten = answers(0.5, 0.5)
    leaks = {"ls": none("the question has no keyword"), "ds": none("the answers came without token ids")}
    forgotten = forgotten.model_copy(update={"metrics": {**forgotten.metrics, **leaks}})
    groups: dict[AnswerGroup, AnswerFigures] = {"forget": forgotten, "retain": answers(0.6, 0.4)}
    answered = ModelFigures(answers={group: {"factual": {"train": own}} for group, own in groups.items()})
    changes = {
        "before": None,
        "models": [EvaluatedModel(name="elsewhere", kind="foreign", split="random:5", digest="d")],
        "splits": [split("random:5")],
        "figures": {"random:5": {"elsewhere": answered}},
        "bench": bench_counts(has_panel=False),
    }
    return filled_evaluation().model_copy(update=changes)
