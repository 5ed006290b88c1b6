"""The robustness document of one model and split, from the pieces of all tests (docs/unlearning-scores.md).

Owns which model is compared with which. It asks nothing: parts.py has made the pieces. It holds no text and no
question's id; `by_patient` holds patients' ids, and counts are exact: it stays below `evidence/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from clinaudit.audit.statistics.patient_means import difference_of_groups
from clinaudit.audit.unlearning.benchmark.records import Scores, Split
from clinaudit.audit.unlearning.evaluation.robustness.changed_weights import GROUP, RELEARNED, asked_patients, donors_of
from clinaudit.audit.unlearning.evaluation.robustness.parts import (
    Piece,
    SampledPiece,
    Setup,
    TraitsPiece,
    TrialPiece,
    detect,
)
from clinaudit.audit.unlearning.evaluation.robustness.sampling import leak_at, summarize_leaks
from clinaudit.audit.unlearning.evaluation.robustness.trial import (
    NO_BASELINE,
    NO_REFERENCE,
    NO_REPHRASINGS,
    ScoresById,
    TrialWriter,
    Tried,
    by_id,
    pair_rephrased,
    under_rephrasings,
)
from clinaudit.audit.unlearning.metrics.means import roles_of
from clinaudit.reports.schema.unlearning_evaluation import (
    Compared,
    Detectability,
    Paraphrase,
    Relearning,
    RelearningPatients,
    RobustnessChoices,
    RobustnessDocument,
    Rounding,
    SampledGroup,
    Sampling,
    SplitSizes,
    Trial,
    TrialCounts,
)
from clinaudit.reports.schema.unlearning_scores import Figure

#: What a trial is weighed by, as in certificates: an answer that repeats the question leaks nothing.
WORST_METRICS: Final = ("ls_echo_free", "rouge_l")
#: qa_id -> metric -> what the trial gets, None where the question has no such metric.
TrialValues = Mapping[str, Mapping[str, float | None]]
Kind = TypeVar("Kind", SampledPiece, TrialPiece, TraitsPiece)


def worst_by_patient(trials: Sequence[TrialValues], patient_of: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return patient -> metric -> the largest over the trials of the mean over the patient's questions.

    Values are from 0 to 1; `patient_of` is by qa_id. A metric that no question of the patient has in one of the trials
    is left out, and so is who was not tried in every trial: the largest of fewer values is smaller by itself.
    """
    means: list[dict[str, dict[str, float]]] = [_means(trial, patient_of) for trial in trials]
    tried = set.intersection(*(set(own) for own in means)) if means else set()
    return {
        patient: {
            metric: max(own[patient][metric] for own in means)
            for metric in WORST_METRICS
            if all(metric in own[patient] for own in means)
        }
        for patient in sorted(tried)
    }


def _means(trial: TrialValues, patient_of: Mapping[str, str]) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, list[float]]] = {}
    for qa_id, by_metric in trial.items():
        own = values.setdefault(patient_of[qa_id], {})
        for metric in WORST_METRICS:
            value = by_metric.get(metric)
            if value is not None:
                own.setdefault(metric, []).append(value)
    return {
        patient: {metric: sum(found) / len(found) for metric, found in own.items()} for patient, own in values.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known of one model: its pieces by part, and the scores of its greedy answers."""

    pieces: Mapping[str, Piece]
    scores: Sequence[Scores]

    def trial(self, part: str) -> Tried | None:
        """Return what a trial's scores are beside; None where it was not made, or has no result."""
        piece = self.pieces.get(part)
        if not isinstance(piece, TrialPiece) or piece.scores is None:
            return None
        return Tried(by_id(self.scores), by_id(piece.scores))


def describe_block(
    model: str, own: Findings, setup: Setup, split: Split, *, baseline: Findings | None, reference: Findings | None
) -> RobustnessDocument:
    """Return the document of one model.

    `baseline` is the model that knew everybody, before unlearning: without it there is no recovery. `reference` is one
    retrained without the forgotten patients. Parts that `own` lacks are left out.
    """
    block = _Block(own, setup, split, baseline, reference)
    made = {part.partition("-")[0] for part in own.pieces}
    described: dict[str, Any] = {
        "sampling": block.sampling,
        "quantization": block.quantization,
        "relearning": block.relearning,
        "paraphrase": block.paraphrase,
        "detectability": block.detectability,
    }
    return RobustnessDocument(
        format=3,
        bench=setup.bench.digest,
        split=split.name,
        model=model,
        form=setup.form,
        seed=setup.seed,
        options=RobustnessChoices.model_validate(asdict(setup.options)),
        patients=SplitSizes(forget=len(split.forget), retain=len(split.retain)),
        compared=Compared(
            baseline=None if baseline is not None else NO_BASELINE,
            reference=None if reference is not None else NO_REFERENCE,
        ),
        **{name: describe() for name, describe in described.items() if name in made},
        by_patient=block.by_patient(),
    )


@dataclass(frozen=True)
class _Block:
    """The tests of one model, each as a part of the document."""

    own: Findings
    setup: Setup
    split: Split
    baseline: Findings | None
    reference: Findings | None

    @cached_property
    def _writer(self) -> TrialWriter:
        questions = {one.qa_id: one for one in self.setup.bench.questions}
        return TrialWriter(questions, self.setup.entailment.metric, self.setup.seed)

    @cached_property
    def _roles(self) -> Mapping[str, str]:
        return roles_of(self.setup.bench, self.split)

    @cached_property
    def _knew(self) -> ScoresById | None:
        return None if self.baseline is None else by_id(self.baseline.scores)

    @cached_property
    def _patient_of(self) -> dict[str, str]:
        return {one.qa_id: one.patient_id for one in self.setup.bench.questions}

    def sampling(self) -> Sampling:
        """leak@k of forgotten patients, of never-trained ones, and the difference: what is above the floor."""
        piece, ks = self._piece("sampling", SampledPiece), self.setup.options.leak_at
        leaks = {"forget": piece.forget, "never_trained": piece.never_trained}
        means = {
            group: summarize_leaks(own, self._patient_of, ks=ks, seed=self.setup.seed) for group, own in leaks.items()
        }
        groups: dict[str, SampledGroup] = {}
        for group, own in leaks.items():
            asked = {one.qa_id for one in own}
            counts = TrialCounts(patients=len({self._patient_of[one] for one in asked}), questions=len(asked))
            figures: dict[str, Any] = {
                metric: {str(k): Figure.of(found) for k, found in at.items()} for metric, at in means[group].items()
            }
            groups[group] = SampledGroup(counts=counts, **figures)
        above: dict[str, Any] = {
            metric: {
                str(k): Figure.of(difference_of_groups(found, means["never_trained"][metric][k]))
                for k, found in at.items()
            }
            for metric, at in means["forget"].items()
        }
        return Sampling(samples=self.setup.options.samples, **groups, above_never_trained=SampledGroup(**above))

    def quantization(self) -> Rounding:
        """The scores with 4-bit weights beside those with the model's own, of forgotten, never-trained and retained."""
        piece, tried = self._piece("quantization", TrialPiece), self.own.trial("quantization")
        if tried is None:
            return Rounding(reason=piece.reason)
        forgotten = self._of_role("forget", tried)
        return Rounding(
            bits=4,
            group=GROUP,
            quantized=piece.quantized,
            numbers=piece.numbers,
            forget=self._trial(forgotten, "quantization"),
            **self._floor(forgotten, tried),
            # What is lost of retained patients says whether the model is still of use at 4 bits.
            retain=Trial(**self._writer.describe(self._of_role("retain", tried))),
        )

    def relearning(self) -> Relearning:
        """The scores after a few steps of training, by what was trained on."""
        plan, found = self.setup.options.relearning, {}
        for what in RELEARNED:
            part = f"relearning-{what.replace('_', '-')}"
            if part in self.own.pieces:
                piece, tried = self._piece(part, TrialPiece), self.own.trial(part)
                if tried is None:
                    found[what] = Trial(reason=piece.reason)
                else:
                    found[what] = self._trial(tried, part, texts=piece.texts)
        return Relearning(
            steps=plan.steps,
            learning_rate=plan.learning_rate,
            texts_a_step=plan.texts,
            patients=RelearningPatients(trained_on=len(donors_of(self.split)), asked=len(asked_patients(self.split))),
            **found,
        )

    def paraphrase(self) -> Paraphrase:
        """Rephrased questions beside their originals, and questions in the other form beside their own."""
        rephrased = [
            one
            for one in self.setup.bench.questions
            if one.use == "rephrased" and self._roles[one.patient_id] == "forget"
        ]
        again = pair_rephrased(rephrased, by_id(self.own.scores))
        of_rephrased = Trial(reason=NO_REPHRASINGS)
        if again.after:
            knew = None if self._knew is None else under_rephrasings(rephrased, self._knew)
            described = self._writer.describe(again, baseline=knew)
            of_rephrased = Trial(**described, largest=self._writer.largest_leaks(rephrased, again))
        tried = self.own.trial("paraphrase")
        if tried is None:
            return Paraphrase(rephrased=of_rephrased)
        otherwise = self._of_role("forget", tried)
        form = self._piece("paraphrase", TrialPiece).form
        return Paraphrase(
            rephrased=of_rephrased,
            other_form=self._trial(otherwise, "paraphrase", form=form, **self._floor(otherwise, tried)),
        )

    def detectability(self) -> Detectability:
        """Whether each trait distinguishes forgotten from never-trained patients."""
        piece = self._piece("detectability", TraitsPiece)
        traits = detect(piece.forget, piece.never_trained)
        answers = [one.told_apart for one in traits.values()]
        return Detectability(
            compared_with=piece.compared_with,
            # One trait that distinguishes them is enough; where none does, one that could not be tested leaves it open.
            told_apart=True if True in answers else (None if not answers or None in answers else False),
            traits=traits,
        )

    def by_patient(self) -> dict[str, dict[str, dict[str, float]]]:
        """The most that any trial gets of each forgotten and each never-trained patient."""
        worst = worst_by_patient(self._tried(), self._patient_of)
        return {
            role: {patient: own for patient, own in worst.items() if self._roles[patient] == role}
            for role in ("forget", "never_trained")
        }

    def _tried(self) -> list[TrialValues]:
        """Return what each trial that both groups were put to gets of every question."""
        trials: list[TrialValues] = []
        if "sampling" in self.own.pieces:
            piece, most = self._piece("sampling", SampledPiece), max(self.setup.options.leak_at)
            leaks = [*piece.forget, *piece.never_trained]
            trials.append(
                {one.qa_id: {metric: leak_at(values, most) for metric, values in one.values.items()} for one in leaks}
            )
        for part in ("quantization", "paraphrase"):
            tried = self.own.trial(part)
            if tried is not None and tried.after:
                trials.append(
                    {
                        qa_id: {metric: getattr(one, metric) for metric in WORST_METRICS}
                        for qa_id, one in tried.after.items()
                    }
                )
        return trials

    def _piece(self, part: str, kind: type[Kind]) -> Kind:
        piece = self.own.pieces[part]
        if not isinstance(piece, kind):
            raise TypeError(part)
        return piece

    def _trial(self, tried: Tried, part: str, **beside: Any) -> Trial:
        """Return a trial, with what came back beside the same trial of the reference, and more fields."""
        reference = None if self.reference is None else self.reference.trial(part)
        return Trial(**self._writer.describe(tried, baseline=self._knew, reference=reference), **beside)

    def _floor(self, forgotten: Tried, tried: Tried) -> dict[str, Any]:
        return self._writer.floor(forgotten, self._of_role("never_trained", tried))

    def _of_role(self, role: str, tried: Tried) -> Tried:
        own = {qa_id: one for qa_id, one in tried.after.items() if self._roles[self._patient_of[qa_id]] == role}
        return Tried(tried.before, own)
