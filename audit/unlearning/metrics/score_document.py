"""From the scores of some models to the document that `clinaudit unlearn score` and `unlearn evaluate` write.

It holds the ids of questions and patients, the names of models, and no text (docs/unlearning.md).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from clinaudit.audit.statistics.intervals import RESAMPLES
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Answer, Question, QuestionForm, Scores, Split
from clinaudit.audit.unlearning.metrics.answer_collapse import check_answers, has_collapsed
from clinaudit.audit.unlearning.metrics.means import (
    HARMONIC,
    MEANS,
    GroupKey,
    groups_of,
    roles_of,
    summarize,
    summarize_changes,
)
from clinaudit.reports.schema.unlearning_scores import (
    AnswerFigures,
    AnswerGroup,
    ByGroup,
    Collapse,
    GroupCounts,
    GroupScores,
    ModelScores,
    PatientRole,
    RolePatient,
    ScoredAnswer,
    ScoresDocument,
)

#: Figures that the document has only where the model itself was at hand.
_NEED_EM: Final = ("em", "mu", "afe")
_COUNTS: Final = {*GroupCounts.model_fields}
_SIDES: Final = ("same", "others")
Held = TypeVar("Held")


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What the scores of a document were made with."""

    split: Split
    form: QuestionForm
    #: `es_rules` or `es`.
    entailment_metric: str
    #: Metric -> model, rules or library, in words.
    made_with: Mapping[str, str]
    #: Of the bootstrap.
    seed: int
    #: Retained patients by whom a model's learning rate was chosen: no mean counts them.
    set_aside: tuple[str, ...] = ()
    #: Which model was not yet unlearned, and all models' answers by name: the others' are compared with its own.
    before: str | None = None
    answers: Mapping[str, Sequence[Answer]] | None = None

    def written(self, metric: str) -> str:
        """Return the name of a metric in the document: entailment has that of its method."""
        return self.entailment_metric if metric == "es" else metric


def describe_scores(scores: Mapping[str, Sequence[Scores]], bench: Bench, making: Making) -> ScoresDocument:
    """Return the document of the scores of some models, by model's name.

    Where `making` has answers, it says whether they still read as before, too.
    """
    questions = {question.qa_id: question for question in bench.questions}
    roles = roles_of(bench, making.split, set_aside=making.set_aside)
    collapse = _check_collapse(making, questions, roles)
    groups = groups_of(bench, making.split, set_aside=making.set_aside)
    return ScoresDocument(
        format=1,
        bench=bench.digest,
        split=making.split.name,
        form=making.form,
        seed=making.seed,
        resamples=RESAMPLES,
        made_with={making.written(metric): what for metric, what in making.made_with.items()},
        question_count=len(bench.questions),
        set_aside_patients=len(making.set_aside),
        models={
            model: _describe_model(
                own, None if model == making.before else scores.get(making.before or ""), bench, making, groups
            ).model_copy(update=collapse.get(model, {}))
            for model, own in scores.items()
        },
        patients={
            patient.patient_id: RolePatient(role=roles[patient.patient_id], category=patient.category)
            for patient in bench.patients
        },
        items=[item for own in scores.values() for item in _describe_items(own, questions, roles, making)],
    )


def _given(scores: Sequence[Scores], metrics: Sequence[str]) -> list[str]:
    """Return the metrics that some of a model's answers can have at all."""
    has_em = any(score.em is not None for score in scores)
    return [metric for metric in metrics if has_em or metric not in _NEED_EM]


def _describe_model(
    scores: Sequence[Scores],
    before: Sequence[Scores] | None,
    bench: Bench,
    making: Making,
    groups: Mapping[AnswerGroup, Collection[str]],
) -> ModelScores:
    summaries = summarize(scores, bench, groups, seed=making.seed)
    by_side, by_role = (
        _describe_groups(scores, {key: own for key, own in summaries.items() if (key[0] in _SIDES) is is_side}, making)
        for is_side in (True, False)
    )
    described = ModelScores(**by_role, same_category=GroupScores(**by_side))
    if before is None:
        return described
    changes = summarize_changes(scores, before, bench, groups, seed=making.seed)
    metrics = dict.fromkeys(metric for own in changes.values() for metric, one in own.items() if one.value is not None)
    change = {making.written(metric): _nested({key: own[metric] for key, own in changes.items()}) for metric in metrics}
    return described.model_copy(update={"change": GroupScores.model_validate(change)})


def _check_collapse(
    making: Making, questions: Mapping[str, Question], roles: Mapping[str, PatientRole]
) -> dict[str, dict[str, Collapse]]:
    if making.before is None or making.answers is None:
        return {}
    role_of = {
        qa_id: roles[question.patient_id]
        for qa_id, question in questions.items()
        if roles[question.patient_id] != "set_aside"
    }
    before, found = making.answers[making.before], {}
    for model, own in making.answers.items():
        if model != making.before:
            checks = check_answers(own, before, role_of)
            found[model] = {"collapse": Collapse(collapsed=has_collapsed(checks), checks=checks)}
    return found


def _describe_groups(
    scores: Sequence[Scores], summaries: Mapping[GroupKey, AnswerFigures], making: Making
) -> dict[str, Any]:
    """Return the fields of `GroupScores`; none where nobody of these groups was asked about."""
    if not summaries:
        return {}
    metrics = _given(scores, list(next(iter(summaries.values())).metrics))
    # Of a group of few answers, a metric may be there in others and not in it.
    parts = {
        name: _nested(
            {key: list(map(making.written, own.parts[name])) for key, own in summaries.items() if name in own.parts}
        )
        for name in _given(scores, list(HARMONIC))
    }
    return {
        **{
            making.written(metric): _nested({key: own.metrics[metric] for key, own in summaries.items()})
            for metric in metrics
        },
        "parts": parts,
        "counts": _nested({key: GroupCounts(**own.model_dump(include=_COUNTS)) for key, own in summaries.items()}),
    }


def _nested(by_group: Mapping[GroupKey, Held]) -> ByGroup[Held]:
    nested: ByGroup[Held] = {}
    for (role, kind, use), described in by_group.items():
        nested.setdefault(role, {}).setdefault(kind, {})[use] = described
    return nested


def _describe_items(
    scores: Sequence[Scores], questions: Mapping[str, Question], roles: Mapping[str, PatientRole], making: Making
) -> list[ScoredAnswer]:
    given = _given(scores, MEANS)
    return [
        ScoredAnswer.model_validate(
            {
                "model": score.model,
                "qa_id": score.qa_id,
                "patient_id": (question := questions[score.qa_id]).patient_id,
                "role": roles[question.patient_id],
                "kind": question.kind,
                "use": question.use,
                **{making.written(metric): getattr(score, metric) for metric in given},
                "reasons": {making.written(metric): why for metric, why in score.reasons.items() if metric in given},
            }
        )
        for score in scores
    ]
