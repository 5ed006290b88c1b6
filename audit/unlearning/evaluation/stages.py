"""What one model of an evaluation goes through: greedy answers, exact memorization, scores, robustness tests.

What is finished is kept piece by piece in the `pieces` of the work folder, so that a stopped evaluation goes on with
the same bytes; the network is loaded only for what is not there. PHI: a piece may hold answers.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from clinaudit.audit.runtime.model.engines.memory import GIB, Shortage, float32_shortage
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.pretrained import deterministic
from clinaudit.audit.runtime.run.durable_files import make_private_directory, write_atomically
from clinaudit.audit.unlearning.benchmark.records import Answer, Question, Scores, Split
from clinaudit.audit.unlearning.evaluation.asked_model import ANSWERED_AT_ONCE, MOST_ANSWER_TOKENS, Advance, AskedModel
from clinaudit.audit.unlearning.evaluation.given_models import GivenModel
from clinaudit.audit.unlearning.evaluation.robustness.parts import (
    PARTS,
    PIECE_TYPES,
    ModelUnderTest,
    Piece,
    Setup,
    TrialPiece,
)
from clinaudit.audit.unlearning.metrics.answer_scores import score_answers
from clinaudit.audit.unlearning.metrics.given_answers import counted
from clinaudit.errors import BadInputError, IntegrityError

Held = TypeVar("Held")


class Pieces:
    """The finished pieces of an evaluation, in a directory that is locked by the caller."""

    def __init__(self, directory: Path) -> None:
        make_private_directory(directory)
        self._directory = directory

    def has(self, owner: str, stage: str) -> bool:
        """Whether a piece is finished. `owner` and `stage` stand in the file's name: digests and fixed words."""
        return self._path(owner, stage).is_file()

    def get(self, owner: str, stage: str, kind: Any, make: Callable[[], Held]) -> Held:
        """Return a piece: the kept one, else what `make` returns, which is then kept; `kind` is the piece's type.

        Raises `IntegrityError` where the kept one is damaged.
        """
        path, adapter = self._path(owner, stage), TypeAdapter[Held](kind)
        if not path.is_file():
            make_private_directory(path.parent)
            write_atomically(path, json.dumps(adapter.dump_python(make()), allow_nan=False))
        try:
            return adapter.validate_json(path.read_bytes())
        except ValidationError:
            # pydantic quotes what it could not read.
            raise self.damaged(owner, stage) from None

    def damaged(self, owner: str, stage: str) -> IntegrityError:
        """Return the error of a piece that is not what was kept."""
        path = self._path(owner, stage)
        return IntegrityError(
            f"a kept piece of the evaluation is damaged ({path.parent.name}/{path.name} of the work folder's pieces); "
            "remove it, and run the same command again"
        )

    def _path(self, owner: str, stage: str) -> Path:
        return self._directory / owner / f"{stage}.json"


#: How often relearning holds the weights: themselves, those to be put back, their gradients, and both of AdamW's means
#: (docs/unlearning.md, "Relearning").
_HELD_IN_TRAINING: Final = 5


def require_memory(files: ModelFiles, *, has_robustness: bool) -> None:
    """Raise `BadInputError`, with numbers, where the model does not fit.

    `has_robustness`: the robustness tests are run as well. The prompts' part of the cache is not counted: a little
    more may be needed.
    """
    short = _shortage(files, has_robustness=has_robustness)
    if short is None:
        return
    how = f" (relearning holds its weights {_HELD_IN_TRAINING} times)" if has_robustness else ""
    advice = "use a machine with more memory"
    if has_robustness and _shortage(files, has_robustness=False) is None:
        advice = "leave the trials out with --no-robustness, or use a machine with more memory"
    raise BadInputError(
        f"the model in {files.directory} does not fit into {short.free.what}: evaluated as float32 it needs about "
        f"{short.needed / GIB:.1f} GiB{how}, and {short.free.size / GIB:.1f} GiB are free; {advice}"
    )


def _shortage(files: ModelFiles, *, has_robustness: bool) -> Shortage | None:
    return float32_shortage(
        files,
        copies=_HELD_IN_TRAINING if has_robustness else 1,
        rows=ANSWERED_AT_ONCE,
        context_length=min(files.context_length, MOST_ANSWER_TOKENS),
    )


#: Questions of a piece: what a stopped evaluation asks again at most.
PIECE_QUESTIONS: Final = 512
#: An answer's text and token ids.
Written = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What one model answers, and how it is scored and tested."""

    model: GivenModel
    answers: Sequence[Answer]
    scores: Sequence[Scores]
    #: Split's name -> robustness test -> what it found; empty with `--no-robustness`.
    robustness: Mapping[str, Mapping[str, Piece]]


@dataclass(kw_only=True)
class ModelStages:
    """One model's stages."""

    model: GivenModel
    #: With the questions, and whether relearning will train it.
    setup: Setup
    pieces: Pieces
    #: Which model it is, in fixed words.
    title: str

    def run(self, splits: Sequence[Split]) -> Evaluated:
        """Ask, score and test the model: on its own split, or on all of the evaluation's (`splits`)."""
        answers = self.answers()
        scores = self._scores(answers, self._exact_memorization())
        tested = splits if self.model.split is None else [self.model.split]
        return Evaluated(
            model=self.model,
            answers=answers,
            scores=scores,
            robustness={split.name: self._test(split, scores) for split in tested} if self.setup.has_robustness else {},
        )

    @property
    def owner(self) -> str:
        """Whose pieces they are: what a model answers depends on its files, not on its name."""
        return self.model.files.digest[:16]

    @cached_property
    def asked(self) -> AskedModel:
        """The loaded model; raises `BadInputError` where there is not enough memory for it."""
        require_memory(self.model.files, has_robustness=self.setup.has_robustness)
        return AskedModel.load(self.model.name, self.model.files)

    def answers(self) -> list[Answer]:
        """Return the greedy answer to each question."""

        def ask(questions: Sequence[Question], advance: Advance) -> dict[str, Written]:
            answers = self.asked.answer(questions, self.setup.form, advance=advance)
            return {answer.qa_id: (answer.text, answer.token_ids or ()) for answer in answers}

        held = self._in_pieces("answers", dict[str, Written], ask)
        return [Answer(self.model.name, qa_id, text, token_ids) for qa_id, (text, token_ids) in held.items()]

    def _exact_memorization(self) -> dict[str, float]:
        def ask(questions: Sequence[Question], advance: Advance) -> dict[str, float]:
            return self.asked.exact_memorization(questions, self.setup.form, advance=advance)

        return self._in_pieces("exact memorization", dict[str, float], ask)

    def _in_pieces(
        self, stage: str, kind: type[dict[str, Held]], ask: Callable[[Sequence[Question], Advance], dict[str, Held]]
    ) -> dict[str, Held]:
        """Return what `ask` says of all questions, by qa_id, piece by piece."""
        questions = self.setup.bench.questions
        parts = {
            f"{stage.replace(' ', '-')}-{place:04}": questions[start : start + PIECE_QUESTIONS]
            for place, start in enumerate(range(0, len(questions), PIECE_QUESTIONS))
        }
        done = sum(len(part) for name, part in parts.items() if self.pieces.has(self.owner, name))
        held: dict[str, Held] = {}
        title = f"{self.title}, {stage}"
        with self.setup.progress.stage(title, total=len(questions), unit="questions", done=done) as advance:
            for name, part in parts.items():
                own = self.pieces.get(self.owner, name, kind, partial(ask, part, advance))
                if list(own) != [question.qa_id for question in part]:
                    raise self.pieces.damaged(self.owner, name)
                held.update(own)
        return held

    def _scores(self, answers: Sequence[Answer], em: Mapping[str, float]) -> list[Scores]:
        """Return the scores of the answers, in their order."""

        def make() -> list[Scores]:
            setup = self.setup
            # One thread an operation: the last digits of an embedding depend on how many there are.
            with (
                setup.progress.stage(f"{self.title}, scores", total=len(answers), unit="answers") as advance,
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

        held: list[Scores] = self.pieces.get(self.owner, "scores", list[Scores], make)
        if [score.qa_id for score in held] != [answer.qa_id for answer in answers]:
            raise self.pieces.damaged(self.owner, "scores")
        # The same files may have been evaluated under another name.
        return [replace(score, model=self.model.name) for score in held]

    def _test(self, split: Split, scores: Sequence[Scores]) -> dict[str, Piece]:
        """Return what each robustness test finds on a split."""

        def make(part: str) -> Piece:
            tested = ModelUnderTest(setup=self.setup, split=split, model=self.asked, scores=scores)
            with deterministic(seed=self.setup.seed):
                return PARTS[part](tested)

        stages = {part: f"{split.name.replace(':', '-')}-{part}" for part in PARTS}
        if not all(self.pieces.has(self.owner, stage) for stage in stages.values()):
            self.setup.progress.say(f"{self.title}: robustness tests on {split.name}")
        return {
            part: self.pieces.get(self.owner, stage, PIECE_TYPES.get(part, TrialPiece), partial(make, part))
            for part, stage in stages.items()
        }
