"""How each model of an evaluation reads: which forgot, broke down, or still know (docs/unlearning.md, "The page").

The figures alone are read, and hardly their intervals: it is no verdict, which is the certificate's. Averages are over
factual and reasoning questions alike, as in AMNESIA, Figure 4.
"""

from dataclasses import dataclass
from typing import Final

from clinaudit.reports.schema.unlearning import Change, EvaluatedSplit, ModelReading, Reading, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_scores import AnswerGroup, QuestionUse
from clinaudit.reports.wording.unlearning import (
    System,
    find_answers,
    find_before,
    kinds_asked,
    list_systems,
    mean_over_kinds,
)

#: Of all answers, how many more than before may be empty or one token over and over [choice].
_BROKEN_SHARE: Final = 0.1
#: What is left of others' MU below which a model broke down, and below which others lost [choice].
_BROKEN_UTILITY: Final = 0.5
_KEPT_UTILITY: Final = 0.9
#: The part of the way to a model that never saw them that counts as forgetting [choice].
_HALF: Final = 0.5
#: The least difference of AFE between a model that knew them and one that never saw them [choice].
_NOTED: Final = 0.05


def read_each_model(evaluation: UnlearningEvaluation) -> list[ModelReading]:
    """Return how each system reads that was to forget somebody, by split."""
    systems = [system for system in list_systems(evaluation) if system.was_to_forget]
    before = find_before(evaluation)
    return [
        _Read(evaluation, split, system, before).reading()
        for split in evaluation.splits
        for system in systems
        if split.name in system.models and system != before
    ]


@dataclass(frozen=True)
class _Read:
    """One system on one split, beside what it is compared with."""

    evaluation: UnlearningEvaluation
    split: EvaluatedSplit
    system: System
    before: System | None

    def reading(self) -> ModelReading:
        """Return how it reads, with the averages that say so."""
        model = self.system.models[self.split.name]
        afe, mu, same = self._forgetting(), self._change("mu", "retain"), self._change("mu", "same")
        degenerate = self._degenerate("forget")
        is_broken = (
            any(_is_degenerate(one) for one in (degenerate, self._degenerate("retain")))
            or _is_below(mu, _BROKEN_UTILITY)
            or any(check.passed is False for check in self.evaluation.figures[self.split.name][model].collapse)
        )
        reading, reason = _decide(afe, mu, same, is_broken=is_broken)
        return ModelReading(
            label=self.system.label,
            model=model,
            split=self.split,
            reading=reading,
            reason=reason,
            afe=afe,
            afe_withheld=self._change("afe", "forget", "holdout"),
            mu=mu,
            same=same,
            others=self._change("mu", "others"),
            degenerate=degenerate,
        )

    def _forgetting(self) -> Change:
        """Return AFE of questions trained on.

        The target is AFE of a model that was retrained without the forgotten patients, else that of patients whom the
        model before unlearning was never trained on.
        """
        retrained = next((one for one in list_systems(self.evaluation) if one.kind == "retrained"), None)
        for metric in ("afe", "afe_without_em"):
            known = (self._average(one, metric, "forget") for one in (self.before, self.system))
            target = self._average(retrained, metric, "forget")
            if target is None:
                target = self._average(self.before, metric, "never_trained")
            before, after = known
            if before is not None and after is not None and target is not None:
                return Change(before=before, after=after, target=target, is_without_em=metric != "afe")
        return self._change("afe", "forget")

    def _change(self, metric: str, group: AnswerGroup, use: QuestionUse = "train") -> Change:
        """Return a harmonic mean before and after, without exact memorization where one of both lacks that."""
        found = [
            Change(
                before=self._average(self.before, name, group, use),
                after=self._average(self.system, name, group, use),
                is_without_em=name != metric,
            )
            for name in (metric, f"{metric}_without_em")
        ]
        known = [one for one in found if one.gain is not None] or [one for one in found if one.after is not None]
        return (known or found)[0]

    def _degenerate(self, group: AnswerGroup) -> Change:
        """Return the share of the answers that are empty, or one token over and over."""
        return Change(
            before=self._degenerate_share(self.before, group), after=self._degenerate_share(self.system, group)
        )

    def _degenerate_share(self, system: System | None, group: AnswerGroup) -> float | None:
        shares: list[float] = []
        for kind in kinds_asked(self.evaluation):
            answers = find_answers(self.evaluation, self.split.name, system, group, kind)
            if answers is not None and (degraded := answers.metrics["ds"].value) is not None:
                shares.append(degraded + answers.empty_or_single / answers.answers)
        return sum(shares) / len(shares) if shares else None

    def _average(
        self, system: System | None, metric: str, group: AnswerGroup, use: QuestionUse = "train"
    ) -> float | None:
        return mean_over_kinds(self.evaluation, self.split.name, system, group, metric, use)


def _decide(afe: Change, mu: Change, same: Change, *, is_broken: bool) -> tuple[Reading, str | None]:
    if is_broken:
        return "broken", None
    if afe.before is None or afe.after is None or afe.target is None:
        return "open", "nobody was asked who knew them, or who never saw them"
    if afe.target - afe.before < _NOTED:
        return "open", "the model before knew hardly more of them than one that never saw them"
    if afe.after - afe.before < _HALF * (afe.target - afe.before):
        return "knows", None
    if mu.gain is None:
        return "open", "MU of retained patients is not known"
    return ("forgot_at_cost" if _is_below(mu, _KEPT_UTILITY) or _is_below(same, _KEPT_UTILITY) else "forgot"), None


def _is_degenerate(share: Change) -> bool:
    return share.after is not None and share.after - (share.before or 0.0) >= _BROKEN_SHARE


def _is_below(change: Change, share: float) -> bool:
    return change.before is not None and change.after is not None and change.after < share * change.before
