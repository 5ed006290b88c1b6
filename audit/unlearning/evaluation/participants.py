"""Who takes part in an evaluation: the answers, scores and robustness tests of each, piece by piece.

A network is loaded once and only where a piece is missing: a filter is tried together with the model behind it. The
filter refuses questions that name forgotten patients, which is cheap beside what unlearns; the model is as it was: who
asks it in other words, or holds its weights, gets what it remembers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from clinaudit.audit.runtime.model.pretrained import deterministic
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.questions.rows import name_in
from clinaudit.audit.unlearning.benchmark.records import Answer, Scores, Split
from clinaudit.audit.unlearning.evaluation.asked_model import REFUSAL, Answerer, AskedModel, FilteredModel, NameFilter
from clinaudit.audit.unlearning.evaluation.given_models import GivenModel
from clinaudit.audit.unlearning.evaluation.robustness.parts import (
    PARTS,
    PIECE_TYPES,
    ModelUnderTest,
    Piece,
    Setup,
    TrialPiece,
)
from clinaudit.audit.unlearning.evaluation.stages import ModelStages, Pieces
from clinaudit.audit.unlearning.metrics.answer_scores import score_answers
from clinaudit.audit.unlearning.metrics.given_answers import counted
from clinaudit.reports.schema.unlearning_scores import ModelKind


def filter_name(split: Split) -> str:
    """Return what the filter of a split's forgotten patients is called."""
    return f"prompt filter {split.name}"


def forgotten_names(bench: Bench, split: Split) -> frozenset[str]:
    """Return the names of forgotten patients that stand in the addresses of their questions."""
    forgotten = set(split.forget)
    named = (name_in(question.address) for question in bench.questions if question.patient_id in forgotten)
    return frozenset(name for name in named if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A model that has been asked, or a filter before one."""

    name: str
    kind: ModelKind
    #: Of a filter: the one before which it stands.
    model: GivenModel
    #: None: it takes part in every split.
    split: Split | None
    answers: Sequence[Answer]
    scores: Sequence[Scores]
    #: Split's name -> robustness test -> what it found; empty with `--no-robustness`.
    robustness: Mapping[str, Mapping[str, Piece]]


def take_part(
    models: Sequence[GivenModel],
    setup: Setup,
    *,
    splits: Sequence[Split],
    pieces: Pieces,
    before: GivenModel | None,
    filtered: bool,
) -> list[Participant]:
    """Return all participants, in the order of the models; behind `before` its filters where they are asked for.

    `before` is asked first, since the others are compared with it.
    """
    found: dict[str, list[Participant]] = {}
    compared: _Asked | None = None
    for model in sorted(models, key=lambda one: one is not before):
        title = f"model {len(found) + 1} of {len(models)}"
        # Whatever holds the network ends with the call: two at once may not fit.
        stages = ModelStages(model=model, setup=setup, pieces=pieces, title=title)
        asked, found[model.name] = _ask(stages, splits, compared, filtered=filtered and model is before)
        if model is before:
            compared = asked
    return [one for model in models for one in found[model.name]]


#: Whose pieces they are, and the answers that others are compared with.
_Asked = tuple[str, Sequence[Answer]]


def _ask(
    stages: ModelStages, splits: Sequence[Split], compared: _Asked | None, *, filtered: bool
) -> tuple[_Asked, list[Participant]]:
    """Return what others are compared with where it is that, and a model's participants, itself first."""
    setup, model = stages.setup, stages.model
    answers = stages.answers()
    asked = stages.owner, answers
    em = stages.exact_memorization()
    scored = _Scored(stages, compared, stages.owner, splits if model.split is None else [model.split])
    participants = [scored.participant(model.name, answers, em, lambda: stages.asked)]
    for split in splits if filtered else ():
        name = filter_name(split)
        names = NameFilter(name, forgotten_names(setup.bench, split), refusal_ids=stages.tokenizer.encode(REFUSAL))
        through = _Scored(stages, asked, f"{stages.owner}-filter-{split.name.replace(':', '-')}", [split])
        # Its answers follow from the model's; who asks through a filter sees no probabilities.
        come_through = names.filter_answers(answers, setup.bench.questions, setup.form)
        behind = partial(lambda own: FilteredModel(stages.asked, own), names)
        participants.append(through.participant(name, come_through, None, behind))
    return asked, participants


class _Scored:
    """Scores one participant and tests it, while its network is at hand; its pieces are of its `owner`."""

    def __init__(self, stages: ModelStages, before: _Asked | None, owner: str, splits: Sequence[Split]) -> None:
        self._setup = stages.setup
        self._stages = stages
        self._before = before
        self._owner = owner
        self._splits = splits

    def participant(
        self,
        name: str,
        answers: Sequence[Answer],
        em: Mapping[str, float] | None,
        load: Callable[[], Answerer],
    ) -> Participant:
        """Return the model itself, or what stands before it: then without exact memorization."""
        scores, model = self._scores(answers, em), self._stages.model
        return Participant(
            name=name,
            kind="filter" if em is None else model.kind,
            model=model,
            split=self._splits[0] if em is None else model.split,
            answers=answers,
            scores=scores,
            robustness=self._test_robustness(scores, load),
        )

    def _scores(self, answers: Sequence[Answer], em: Mapping[str, float] | None) -> list[Scores]:
        owner, pieces = self._owner, self._stages.pieces
        stage = "scores" if self._before is None else f"scores-beside-{self._before[0]}"
        held: list[Scores] = pieces.get(owner, stage, list[Scores], lambda: self._make_scores(answers, em))
        if [score.qa_id for score in held] != [answer.qa_id for answer in answers]:
            raise pieces.damaged(owner, stage)
        return [replace(score, model=answer.model) for score, answer in zip(held, answers, strict=True)]

    def _make_scores(self, answers: Sequence[Answer], em: Mapping[str, float] | None) -> list[Scores]:
        setup = self._setup
        # One thread an operation: the last digits of an embedding depend on how many there are.
        with (
            setup.progress.stage(f"{self._stages.title}, scores", total=len(answers), unit="answers") as advance,
            deterministic(seed=0),
        ):
            return score_answers(
                setup.bench.questions,
                setup.bench.keywords,
                counted(answers, advance),
                embedder=setup.embedder,
                entailment=setup.entailment,
                em=em,
                form=setup.form,
            )

    def _test_robustness(self, scores: Sequence[Scores], load: Callable[[], Answerer]) -> dict[str, dict[str, Piece]]:
        setup = self._setup
        if not setup.has_robustness:
            return {}
        found: dict[str, dict[str, Piece]] = {}
        for split in self._splits:
            own = found[split.name] = {}
            stages = {part: f"{split.name.replace(':', '-')}-{part}" for part in PARTS}
            if not all(self._stages.pieces.has(self._owner, stage) for stage in stages.values()):
                setup.progress.say(f"{self._stages.title}: robustness tests on {split.name}")
            for part, test in PARTS.items():
                make = partial(self._run_test, test, split, scores, load)
                own[part] = self._stages.pieces.get(self._owner, stages[part], PIECE_TYPES.get(part, TrialPiece), make)
        return found

    def _run_test(
        self,
        test: Callable[[ModelUnderTest], Piece],
        split: Split,
        scores: Sequence[Scores],
        load: Callable[[], Answerer],
    ) -> Piece:
        setup, answerer = self._setup, load()
        tested = ModelUnderTest(
            setup=setup,
            split=split,
            answerer=answerer,
            # Behind a filter, nobody has the weights.
            model=answerer if isinstance(answerer, AskedModel) else None,
            scores=scores,
        )
        with deterministic(seed=setup.seed):
            return test(tested)
