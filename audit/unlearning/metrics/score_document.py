"""The document that `clinaudit unlearn score` and `unlearn evaluate` write (docs/unlearning-scores.md).

Owns its shape; computes nothing. It holds the ids of questions and patients, the names of models, and no text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.statistics.intervals import RESAMPLES
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Answer, Question, QuestionForm, Scores, Split
from clinaudit.audit.unlearning.metrics.answer_collapse import check_answers, has_collapsed
from clinaudit.audit.unlearning.metrics.means import (
    CATEGORY_SIDES,
    MEANS,
    SUMMARY_ROLES,
    CategorySide,
    GroupKey,
    GroupSummary,
    SummaryRole,
    roles_of,
    sides_of,
    summarize,
)
from clinaudit.reports.schema.numbers import Estimate

_FORMAT: Final = 1
#: Figures that the document has only where the model itself was at hand, or its answers before unlearning.
_WHERE_GIVEN: Final = ("em", "mu", "afe", "cs_before", "es_reverse")
_NEEDS: Final = {"mu": "em", "afe": "em"}
Json = dict[str, object]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideBefore:
    """The models' answers, and which model was not yet unlearned: the others' answers are held against its own."""

    before: str
    #: By model's name.
    answers: Mapping[str, Sequence[Answer]]


def describe_scores(
    scores: Mapping[str, Sequence[Scores]], bench: Bench, making: Making, *, beside: BesideBefore | None = None
) -> Json:
    """Return the document of the scores of some models, by model's name.

    With `beside`, it holds whether answers still read as before, too.
    """
    questions = {question.qa_id: question for question in bench.questions}
    roles = roles_of(bench, making.split, set_aside=making.set_aside)
    role_of = {
        qa_id: roles[question.patient_id]
        for qa_id, question in questions.items()
        if roles[question.patient_id] in SUMMARY_ROLES
    }
    collapse = {} if beside is None else _describe_collapse(beside, role_of)
    rename = {"es": making.entailment_metric, "es_reverse": f"{making.entailment_metric}_reverse"}
    return {
        "format": _FORMAT,
        "bench": bench.digest,
        "split": making.split.name,
        "form": making.form,
        "seed": making.seed,
        "resamples": RESAMPLES,
        "made_with": {rename.get(metric, metric): what for metric, what in making.made_with.items()},
        "question_count": len(bench.questions),
        "set_aside_patients": len(making.set_aside),
        "models": {
            model: {**_describe_model(own, bench, making, rename), **collapse.get(model, {})}
            for model, own in scores.items()
        },
        "patients": {
            patient.patient_id: {"role": roles[patient.patient_id], "category": patient.category}
            for patient in bench.patients
        },
        "items": _describe_items(scores, questions, roles, rename),
    }


def _is_given(metric: str, scores: Sequence[Scores]) -> bool:
    return any(getattr(score, _NEEDS.get(metric, metric)) is not None for score in scores)


def _describe_model(scores: Sequence[Scores], bench: Bench, making: Making, rename: Mapping[str, str]) -> Json:
    has = {metric for metric in _WHERE_GIVEN if _is_given(metric, scores)}

    def describe(group_of: Mapping[str, str], names: Sequence[SummaryRole | CategorySide]) -> Json:
        summaries = summarize(scores, bench, group_of, names, seed=making.seed)
        return _describe_groups(summaries, has=has, rename=rename) if summaries else {}

    roles = roles_of(bench, making.split, set_aside=making.set_aside)
    sides = sides_of(bench, making.split, set_aside=making.set_aside)
    return {**describe(roles, SUMMARY_ROLES), "same_category": describe(sides, CATEGORY_SIDES)}


def _describe_collapse(beside: BesideBefore, role_of: Mapping[str, str]) -> dict[str, Json]:
    before = beside.answers[beside.before]
    found: dict[str, Json] = {}
    for model, own in beside.answers.items():
        if model != beside.before:
            checks = check_answers(own, before, role_of)
            held = {"collapsed": has_collapsed(checks), "checks": [check.model_dump() for check in checks]}
            found[model] = {"collapse": held}
    return found


def _describe_groups(summaries: Mapping[GroupKey, GroupSummary], *, has: set[str], rename: Mapping[str, str]) -> Json:
    described: Json = {}
    for metric in next(iter(summaries.values())).metrics:
        if metric in has or metric not in _WHERE_GIVEN:
            by_group = {key: describe_estimate(group.metrics[metric]) for key, group in summaries.items()}
            described[rename.get(metric, metric)] = _nested(by_group)
    # Of a group of few answers, a metric may be there in others and not in it.
    described["parts"] = {
        name: _nested(
            {
                key: [rename.get(part, part) for part in group.parts[name]]
                for key, group in summaries.items()
                if name in group.parts
            }
        )
        for name in ("mu", "afe", "mu_without_em", "afe_without_em")
        if name in has or name not in _WHERE_GIVEN
    }
    described["counts"] = _nested(
        {
            key: {
                "patients": group.patients,
                "answers": group.answers,
                "empty_or_single": group.empty_or_single,
                "without_keywords": group.without_keywords,
            }
            for key, group in summaries.items()
        }
    )
    return described


def describe_estimate(estimate: Estimate, *, counted: str = "answers") -> Json:
    """Return a figure as documents of scores hold it; `counted` is what it is a mean over."""
    described: Json = {"value": estimate.value, "interval": [estimate.low, estimate.high], counted: estimate.n}
    return described if estimate.reason is None else {**described, "reason": estimate.reason}


def _nested(by_group: Mapping[GroupKey, object]) -> Json:
    """Return role -> kind -> use -> what is said of the group."""
    nested: dict[str, dict[str, dict[str, object]]] = {}
    for (role, kind, use), described in by_group.items():
        nested.setdefault(role, {}).setdefault(kind, {})[use] = described
    return dict(nested)


def _describe_items(
    scores: Mapping[str, Sequence[Scores]],
    questions: Mapping[str, Question],
    roles: Mapping[str, str],
    rename: Mapping[str, str],
) -> list[Json]:
    items: list[Json] = []
    for model, own in scores.items():
        given = [metric for metric in MEANS if metric not in _WHERE_GIVEN or _is_given(metric, own)]
        for score in own:
            question = questions[score.qa_id]
            items.append(
                {
                    "model": model,
                    "qa_id": score.qa_id,
                    "patient_id": question.patient_id,
                    "role": roles[question.patient_id],
                    "kind": question.kind,
                    "use": question.use,
                    **{rename.get(metric, metric): getattr(score, metric) for metric in given},
                    "reasons": {
                        rename.get(metric, metric): reason
                        for metric, reason in score.reasons.items()
                        if metric in given
                    },
                }
            )
    return items
