"""What one model's forgetting withstands on one split, from the pieces of all tests (docs/unlearning.md).

Owns what is said of a trial, which is the scores of the same questions before and after the model was trained a little
or asked otherwise: both means, and the change by question. Rephrased questions, which no method trained on, are a trial
too. It asks nothing: parts.py has made the pieces. A document holds no text and no id; counts are exact.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np

from clinaudit.audit.statistics.patient_means import (
    NOT_SCORED,
    Places,
    Values,
    change_of_answers,
    difference_of_groups,
    mean_of_answers,
    places_of,
    values_of,
)
from clinaudit.audit.unlearning.benchmark.records import Question, Scores, Split
from clinaudit.audit.unlearning.evaluation.robustness.parts import (
    Piece,
    SampledPiece,
    Setup,
    TraitsPiece,
    TrialPiece,
    detect,
)
from clinaudit.audit.unlearning.evaluation.robustness.relearning import RELEARNED, asked_patients, donors_of
from clinaudit.audit.unlearning.evaluation.robustness.sampling import summarize_leaks
from clinaudit.audit.unlearning.metrics.means import roles_of, summarize_group
from clinaudit.reports.schema.numbers import PatientEstimate
from clinaudit.reports.schema.unlearning_evaluation import (
    LEAK_METRICS,
    Detectability,
    Paraphrase,
    Relearning,
    RelearningPatients,
    RobustnessDocument,
    SampledGroup,
    Sampling,
    Trial,
    TrialCounts,
)
from clinaudit.reports.schema.unlearning_scores import Figure, Figures

NO_QUESTIONS: Final = "no question was asked both times"
NO_REPHRASINGS: Final = "no question of these patients was rephrased"
#: What an answer keeps of a patient, each from 0 to 1: of these the change is reported.
_KEPT_METRICS: Final = ("ls", "ls_echo_free", "rouge_l", "em", "cs", "es")
#: Of which the means before and after are reported.
_MEAN_METRICS: Final = (*_KEPT_METRICS, "te", "ds", "mu", "afe")
ScoresById = Mapping[str, Scores]
Kind = TypeVar("Kind", SampledPiece, TrialPiece, TraitsPiece)


def describe_robustness(
    pieces: Mapping[str, Piece], scores: Sequence[Scores], setup: Setup, split: Split
) -> RobustnessDocument:
    """Return what the tests of one model say, from the pieces of all `PARTS`.

    `scores` are those of its greedy answers. Questions without scores, such as those of patients who were set aside,
    count nowhere.
    """
    own = _Described(pieces, by_id(scores), setup, split)
    return RobustnessDocument(
        sampling=own.sampling(),
        relearning=own.relearning(),
        paraphrase=own.paraphrase(),
        detectability=own.detectability(),
    )


class _Described:
    """The tests of one model, each as a part of the document."""

    def __init__(self, pieces: Mapping[str, Piece], scores: ScoresById, setup: Setup, split: Split) -> None:
        self._pieces = pieces
        self._scores = scores
        self._setup = setup
        self._split = split
        questions = {one.qa_id: one for one in setup.bench.questions}
        self._patient_of = {qa_id: one.patient_id for qa_id, one in questions.items()}
        self._role_of = roles_of(setup.bench, split)
        self._writer = TrialWriter(questions, setup.entailment.metric, setup.seed)

    def sampling(self) -> Sampling:
        """leak@k of forgotten patients, of never-trained ones, and the difference: what is above the floor."""
        piece, options = self._piece("sampling", SampledPiece), self._setup.options
        leaks = {"forget": piece.forget, "never_trained": piece.never_trained}
        means = {
            group: summarize_leaks(own, self._patient_of, ks=options.leak_at, seed=self._setup.seed)
            for group, own in leaks.items()
        }
        above = {
            metric: {k: difference_of_groups(found, means["never_trained"][metric][k]) for k, found in at.items()}
            for metric, at in means["forget"].items()
        }
        groups = {}
        for group, own in leaks.items():
            patients = {self._patient_of[one.qa_id] for one in own}
            counts = TrialCounts(patients=len(patients), questions=len(own))
            groups[group] = SampledGroup(counts=counts, **_figures(means[group]))
        return Sampling(samples=options.samples, **groups, above_never_trained=SampledGroup(**_figures(above)))

    def relearning(self) -> Relearning:
        """The scores after a few steps of training, by what was trained on."""
        plan, found = self._setup.options.relearning, {}
        for what in RELEARNED:
            piece = self._piece(f"relearning-{what.replace('_', '-')}", TrialPiece)
            if piece.scores is None:
                found[what] = Trial(reason=piece.reason)
            else:
                described = self._writer.describe(self._scores, by_id(piece.scores))
                found[what] = Trial(**described, texts=piece.texts)
        return Relearning(
            steps=plan.steps,
            learning_rate=plan.learning_rate,
            texts_a_step=plan.texts,
            patients=RelearningPatients(trained_on=len(donors_of(self._split)), asked=len(asked_patients(self._split))),
            **found,
        )

    def paraphrase(self) -> Paraphrase:
        """Rephrased questions beside their originals, and questions in the other form beside their own."""
        rephrased = [
            one
            for one in self._setup.bench.questions
            if one.use == "rephrased" and self._role_of[one.patient_id] == "forget"
        ]
        before, after = pair_rephrased(rephrased, self._scores)
        of_rephrased = Trial(reason=NO_REPHRASINGS)
        if after:
            largest = self._writer.largest_leaks(rephrased, before, after)
            of_rephrased = Trial(**self._writer.describe(before, after), largest=largest)
        piece = self._piece("paraphrase", TrialPiece)
        asked = by_id(piece.scores or ())
        own, floor = (self._of_role(role, asked) for role in ("forget", "never_trained"))
        other_form = Trial(
            **self._writer.describe(self._scores, own),
            form=piece.form,
            never_trained=Trial(**self._writer.describe(self._scores, floor)),
            above_never_trained=self._writer.above(own, floor),
        )
        return Paraphrase(rephrased=of_rephrased, other_form=other_form)

    def detectability(self) -> Detectability:
        """Whether each trait distinguishes forgotten from never-trained patients."""
        piece = self._piece("detectability", TraitsPiece)
        traits = detect(piece.forget, piece.never_trained)
        answers = [one.told_apart for one in traits.values()]
        return Detectability(
            compared_with=piece.compared_with,
            # One trait that distinguishes them is enough; where none does, one that could not be tested leaves it open.
            told_apart=True if True in answers else None if None in answers else False,
            traits=traits,
        )

    def _piece(self, part: str, kind: type[Kind]) -> Kind:
        piece = self._pieces[part]
        if not isinstance(piece, kind):
            raise TypeError(part)
        return piece

    def _of_role(self, role: str, scores: ScoresById) -> ScoresById:
        """Return the scores of the patients of a role, of questions that were asked before the trial, too."""
        return {
            qa_id: one
            for qa_id, one in scores.items()
            if qa_id in self._scores and self._role_of[self._patient_of[qa_id]] == role
        }


def _figures(by_metric: Mapping[str, Mapping[int, PatientEstimate]]) -> dict[str, Any]:
    return {metric: {str(k): Figure.of(found) for k, found in at.items()} for metric, at in by_metric.items()}


def by_id(scores: Sequence[Scores]) -> dict[str, Scores]:
    """Return scores of one answer a question by their questions."""
    return {one.qa_id: one for one in scores}


def pair_rephrased(questions: Sequence[Question], scores: ScoresById) -> tuple[ScoresById, ScoresById]:
    """Return the scores of the questions that were rephrased, and of their rephrasings, both by the rephrasings' ids.

    `questions` and `scores` hold both; a rephrasing without scores, or of a question without, is left out.
    """
    before = {
        one.qa_id: replace(original, qa_id=one.qa_id)
        for one in questions
        if one.qa_id in scores and (original := scores.get(one.rephrased_from or "")) is not None
    }
    return before, {qa_id: scores[qa_id] for qa_id in before}


@dataclass(frozen=True, slots=True)
class TrialWriter:
    """Describes trials of a benchmark's questions, which are by qa_id; what was not asked both times counts nowhere."""

    questions: Mapping[str, Question]
    #: How the document calls entailment.
    entailment_metric: str
    seed: int

    def describe(self, before: ScoresById, after: ScoresById) -> dict[str, Any]:
        """Return the fields of a `Trial`: both means, and the change."""
        asked = [qa_id for qa_id in before if qa_id in after]
        if not asked:
            return {"reason": NO_QUESTIONS}
        patients = self._patients(asked)
        first, second = (_columns(scores, asked) for scores in (before, after))
        return {
            "counts": TrialCounts(patients=int(patients.max()) + 1, questions=len(asked)),
            "before": self._means([before[one] for one in asked]),
            "after": self._means([after[one] for one in asked]),
            "change": self._by_metric(
                lambda metric: change_of_answers(first[metric], second[metric], patients, seed=self.seed)
            ),
        }

    def above(self, after: ScoresById, floor: ScoresById) -> Figures:
        """Return by metric how much more is kept of patients than of never-trained ones in the same trial (`floor`).

        With Newcombe's interval of a difference between independent means.
        """
        sides = [(_columns(own, list(own)), self._patients(list(own))) for own in (after, floor)]

        def difference(metric: str) -> PatientEstimate:
            means = (
                mean_of_answers(own[metric], patients, seed=self.seed, reason=NOT_SCORED) for own, patients in sides
            )
            return difference_of_groups(*means)

        return self._by_metric(difference)

    def largest_leaks(self, rephrased: Sequence[Question], before: ScoresById, after: ScoresById) -> Figures:
        """Return metric -> the mean over questions of the largest leak among a question and its rephrasings.

        That is what somebody gets who asks in several ways and keeps the best; each counts questions.
        """
        wordings: dict[str, list[Scores]] = {}
        patient_of: dict[str, str] = {}
        for question in rephrased:
            if question.qa_id in after and question.rephrased_from is not None:
                patient_of[question.rephrased_from] = question.patient_id
                own = wordings.setdefault(question.rephrased_from, [before[question.qa_id]])
                own.append(after[question.qa_id])
        patients = places_of([patient_of[qa_id] for qa_id in wordings])

        def largest(metric: str) -> PatientEstimate:
            values = [values_of(getattr(one, metric) for one in own) for own in wordings.values()]
            most = np.array([np.nanmax(own) if np.isfinite(own).any() else np.nan for own in values])
            return mean_of_answers(most, patients, seed=self.seed, reason=NO_REPHRASINGS)

        return {metric: Figure.of(largest(metric)) for metric in LEAK_METRICS}

    def _by_metric(self, measure: Callable[[str], PatientEstimate]) -> Figures:
        return {self._written(metric): Figure.of(measure(metric)) for metric in _KEPT_METRICS}

    def _means(self, scores: Sequence[Scores]) -> Figures:
        means = summarize_group(scores, self.questions, seed=self.seed).metrics
        return {self._written(metric): means[metric] for metric in _MEAN_METRICS}

    def _patients(self, asked: Sequence[str]) -> Places:
        return places_of([self.questions[qa_id].patient_id for qa_id in asked])

    def _written(self, metric: str) -> str:
        return self.entailment_metric if metric == "es" else metric


def _columns(scores: ScoresById, asked: Sequence[str]) -> dict[str, Values]:
    """Return the values of each metric over some questions, not a number where a question has none."""
    return {metric: values_of(getattr(scores[qa_id], metric) for qa_id in asked) for metric in _KEPT_METRICS}
