"""The robustness block of one model and split: one document of all tests (docs/unlearning-scores.md).

Owns the document's shape, and which model is compared with which. It asks nothing: parts.py has made the pieces. It
holds no text and no question's id; `by_patient` holds patients' ids, and counts are exact: it stays below `evidence/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from clinaudit.audit.statistics.paired_differences import difference_of_estimates
from clinaudit.audit.unlearning.benchmark.records import Question, Scores, Split
from clinaudit.audit.unlearning.evaluation.robustness.changed_weights import GROUP, RELEARNED, asked_patients, donors_of
from clinaudit.audit.unlearning.evaluation.robustness.parts import Piece, Setup, detect
from clinaudit.audit.unlearning.evaluation.robustness.sampling import SampledLeaks, leak_at, summarize_leaks
from clinaudit.audit.unlearning.evaluation.robustness.trial import (
    NO_BASELINE,
    NO_REFERENCE,
    NO_REPHRASINGS,
    ScoresById,
    Trial,
    by_id,
    describe_above,
    describe_trial,
    largest_leaks,
    pair_rephrased,
    scores_of_rows,
    under_rephrasings,
)
from clinaudit.audit.unlearning.metrics.means import roles_of
from clinaudit.audit.unlearning.metrics.score_document import Json, describe_estimate

#: What a trial is weighed by, as in certificates: an answer that repeats the question leaks nothing.
WORST_METRICS: Final = ("ls_echo_free", "rouge_l")
#: qa_id -> metric -> what the trial gets, None where the question has no such metric.
TrialValues = Mapping[str, Mapping[str, float | None]]


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


_FORMAT: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known of one model: its pieces by part, and the scores of its greedy answers."""

    pieces: Mapping[str, Piece]
    scores: Sequence[Scores]


def describe_block(
    model: str, own: Findings, setup: Setup, split: Split, *, baseline: Findings | None, reference: Findings | None
) -> Json:
    """Return the document of one model.

    `baseline` is the model that knew everybody, before unlearning: without it there is no recovery. `reference` is one
    retrained without the forgotten patients. Parts that `own` lacks are left out.
    """
    block = _Block(own, setup, split, baseline, reference)
    made = {part.partition("-")[0] for part in own.pieces}
    described = {
        "sampling": block.sampling,
        "quantization": block.quantization,
        "relearning": block.relearning,
        "paraphrase": block.paraphrase,
        "detectability": block.detectability,
    }
    return {
        "format": _FORMAT,
        "bench": setup.bench.digest,
        "split": split.name,
        "model": model,
        "form": setup.form,
        "seed": setup.seed,
        "options": asdict(setup.options),
        "patients": {"forget": len(split.forget), "retain": len(split.retain)},
        "compared": {
            "baseline": None if baseline is not None else NO_BASELINE,
            "reference": None if reference is not None else NO_REFERENCE,
        },
        **{name: describe() for name, describe in described.items() if name in made},
        "by_patient": block.by_patient(),
    }


class _Block:
    """The tests of one model, each as a part of the document."""

    def __init__(
        self, own: Findings, setup: Setup, split: Split, baseline: Findings | None, reference: Findings | None
    ) -> None:
        self._own = own
        self._setup = setup
        self._split = split
        self._reference = reference
        self._questions: dict[str, Question] = {one.qa_id: one for one in setup.bench.questions}
        self._roles = roles_of(setup.bench, split)
        self._scores = by_id(own.scores)
        self._baseline = None if baseline is None else by_id(baseline.scores)

    def sampling(self) -> Json:
        """leak@k of forgotten patients, of never-trained ones, and the difference: what is above the floor."""
        piece = self._own.pieces["sampling"]
        options, groups = self._setup.options, {}
        patient_of = {qa_id: one.patient_id for qa_id, one in self._questions.items()}
        described: Json = {"samples": options.samples}
        for group in ("forget", "never_trained"):
            leaks = [_leaks(row) for row in piece[group]]
            asked = {one.qa_id for one in leaks}
            groups[group] = summarize_leaks(leaks, patient_of, ks=options.leak_at, seed=self._setup.seed)
            described[group] = {
                "counts": {"patients": len({patient_of[one] for one in asked}), "questions": len(asked)},
                **{
                    metric: {str(k): describe_estimate(estimate) for k, estimate in at.items()}
                    for metric, at in groups[group].items()
                },
            }
        described["above_never_trained"] = {
            metric: {
                str(k): describe_estimate(difference_of_estimates(estimate, groups["never_trained"][metric][k]))
                for k, estimate in at.items()
            }
            for metric, at in groups["forget"].items()
        }
        return described

    def quantization(self) -> Json:
        """The scores with 4-bit weights beside those with the model's own, of forgotten, never-trained and retained."""
        piece = self._own.pieces["quantization"]
        if "reason" in piece:
            return {"reason": piece["reason"]}
        after = by_id(scores_of_rows(piece["scores"]))
        forgotten = self._of_role("forget", after)
        return {
            "bits": 4,
            "group": GROUP,
            "quantized": piece["quantized"],
            "numbers": piece["numbers"],
            "forget": self._trial(forgotten, reference=self._reference_trial("quantization")),
            **self._floor(forgotten, after),
            # What is lost of retained patients says whether the model is still of use at 4 bits.
            "retain": self._trial(self._of_role("retain", after), recovers=False),
        }

    def relearning(self) -> Json:
        """The scores after a few steps of training, by what was trained on."""
        split, plan = self._split, self._setup.options.relearning
        found: Json = {
            "steps": plan.steps,
            "learning_rate": plan.learning_rate,
            "texts_a_step": plan.texts,
            "patients": {"trained_on": len(donors_of(split)), "asked": len(asked_patients(split))},
        }
        for what in RELEARNED:
            part = f"relearning-{what.replace('_', '-')}"
            piece = self._own.pieces.get(part)
            if piece is None:
                continue
            if "reason" in piece:
                found[what] = {"reason": piece["reason"]}
                continue
            trial = Trial(self._scores, by_id(scores_of_rows(piece["scores"])))
            described = self._trial(trial, reference=self._reference_trial(part))
            found[what] = {"texts": piece["texts"], **described}
        return found

    def paraphrase(self) -> Json:
        """Rephrased questions beside their originals, and questions in the other form beside their own."""
        piece = self._own.pieces["paraphrase"]
        rephrased = [
            one
            for one in self._setup.bench.questions
            if one.use == "rephrased" and self._roles[one.patient_id] == "forget"
        ]
        trial = pair_rephrased(rephrased, self._scores)
        knew = None if self._baseline is None else under_rephrasings(rephrased, self._baseline)
        other = by_id(scores_of_rows(piece["scores"]))
        otherwise = self._of_role("forget", other)
        return {
            "rephrased": {
                **self._trial(trial, baseline=knew),
                "largest": {
                    metric: describe_estimate(estimate)
                    for metric, estimate in largest_leaks(rephrased, trial, seed=self._setup.seed).items()
                },
            }
            if trial.after
            else {"reason": NO_REPHRASINGS},
            "other_form": {
                "form": piece["form"],
                **self._trial(otherwise, reference=self._reference_trial("paraphrase")),
                **self._floor(otherwise, other),
            },
        }

    def detectability(self) -> Json:
        """Whether each trait distinguishes forgotten from never-trained patients."""
        piece = self._own.pieces["detectability"]
        traits = detect(piece["forget"], piece["never_trained"])
        answers = [one.is_told_apart for one in traits.values()]
        return {
            "compared_with": piece["compared_with"],
            # One trait that distinguishes them is enough; where none does, one that could not be tested leaves it open.
            "told_apart": True if True in answers else (None if not answers or None in answers else False),
            "traits": {
                trait: {
                    "auroc": describe_estimate(one.auroc, counted="patients"),
                    "patients": {"forget": one.forgotten, "never_trained": one.never_trained},
                    "p_value": one.p_value,
                    "told_apart": one.is_told_apart,
                }
                for trait, one in traits.items()
            },
        }

    def by_patient(self) -> Json:
        """The most that any trial gets of each forgotten and each never-trained patient."""
        patient_of = {qa_id: one.patient_id for qa_id, one in self._questions.items()}
        worst = worst_by_patient(self._tried(), patient_of)
        return {
            role: {patient: own for patient, own in worst.items() if self._roles[patient] == role}
            for role in ("forget", "never_trained")
        }

    def _tried(self) -> list[TrialValues]:
        """Return what each trial that both groups were put to gets of every question."""
        pieces = self._own.pieces
        trials: list[TrialValues] = []
        if "sampling" in pieces:
            most = max(self._setup.options.leak_at)
            leaks = [_leaks(row) for group in ("forget", "never_trained") for row in pieces["sampling"][group]]
            trials.append(
                {one.qa_id: {metric: leak_at(values, most) for metric, values in one.values.items()} for one in leaks}
            )
        for part in ("quantization", "paraphrase"):
            rows = pieces.get(part, {}).get("scores", [])
            if rows:
                trials.append({row["qa_id"]: {metric: row[metric] for metric in WORST_METRICS} for row in rows})
        return trials

    def _trial(
        self, trial: Trial, *, baseline: ScoresById | None = None, reference: Trial | None = None, recovers: bool = True
    ) -> Json:
        knew = self._baseline if baseline is None else baseline
        return describe_trial(
            trial,
            self._questions,
            entailment_metric=self._setup.entailment.metric,
            seed=self._setup.seed,
            baseline=knew if recovers else None,
            reference=reference if recovers else None,
        )

    def _floor(self, forgotten: Trial, after: ScoresById) -> Json:
        """Return what the same trial gets of never-trained patients, and what of forgotten ones is above that."""
        floor = self._of_role("never_trained", after)
        return {
            "never_trained": self._trial(floor, recovers=False),
            "above_never_trained": describe_above(
                forgotten,
                floor,
                self._questions,
                entailment_metric=self._setup.entailment.metric,
                seed=self._setup.seed,
            ),
        }

    def _of_role(self, role: str, after: ScoresById) -> Trial:
        asked = {qa_id: one for qa_id, one in after.items() if self._roles[self._questions[qa_id].patient_id] == role}
        return Trial(self._scores, asked)

    def _reference_trial(self, part: str) -> Trial | None:
        """Return the same trial of the reference; None where there is none, or it has no result."""
        if self._reference is None or "scores" not in self._reference.pieces.get(part, {}):
            return None
        after = by_id(scores_of_rows(self._reference.pieces[part]["scores"]))
        return Trial(by_id(self._reference.scores), after)


def _leaks(row: Mapping[str, Any]) -> SampledLeaks:
    return SampledLeaks(row["qa_id"], {metric: tuple(values) for metric, values in row["values"].items()})
