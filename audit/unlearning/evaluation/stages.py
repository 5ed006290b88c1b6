"""What one model of an evaluation goes through: questions, scores, trials.

What is finished is kept piece by piece (PHI), so that a stopped evaluation goes on with the same bytes; the network is
loaded only for what is not there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import polars as pl

from clinaudit.audit.runtime.model.engines.memory import GIB, float32_shortage
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.pretrained import deterministic
from clinaudit.audit.runtime.run.directory import make_private_directory
from clinaudit.audit.unlearning.benchmark.files import Answer, Question, Split, write_frame
from clinaudit.audit.unlearning.evaluation.asked_model import ANSWERED_AT_ONCE, MOST_ANSWER_TOKENS, AskedModel
from clinaudit.audit.unlearning.evaluation.given_models import GivenModel
from clinaudit.audit.unlearning.evaluation.trials import TRIALS, Setup, Tried
from clinaudit.audit.unlearning.metrics.answer_scores import SCORES, score_answers
from clinaudit.audit.unlearning.metrics.means import PATIENT_FIGURES
from clinaudit.errors import BadInputError, IntegrityError

#: What a model wrote, and the same with exact memorization.
WRITTEN: Final = {"qa_id": pl.String(), "text": pl.String(), "token_ids": pl.List(pl.Int64())}
ANSWERS: Final = {**WRITTEN, "em": pl.Float64()}
#: Questions of a piece: what a stopped evaluation asks again at most.
PIECE_QUESTIONS: Final = 512
#: How often relearning holds the weights: themselves, those to be put back, their gradients, and both of AdamW's means
#: (docs/unlearning.md, "Relearning").
_HELD_IN_TRAINING: Final = 5


def require_memory(files: ModelFiles, *, has_trials: bool) -> None:
    """Raise `BadInputError`, with numbers, where the model does not fit, asked alone or tried as well."""
    length = min(files.context_length, MOST_ANSWER_TOKENS)
    copies = _HELD_IN_TRAINING if has_trials else 1
    short = float32_shortage(files, copies=copies, rows=ANSWERED_AT_ONCE, context_length=length)
    if short is None:
        return
    how = f", {_HELD_IN_TRAINING} times its weights without --no-robustness" if has_trials else ""
    raise BadInputError(
        f"the model in {files.directory} does not fit into {short.free.what}: evaluated as float32 it needs about "
        f"{short.needed / GIB:.1f} GiB{how}, and {short.free.size / GIB:.1f} GiB are free; take one with more memory"
    )


@dataclass(kw_only=True)
class ModelStages:
    """One model's stages; the caller holds the lock of the evaluation."""

    model: GivenModel
    setup: Setup
    #: The folder of the pieces of all models.
    pieces: Path
    #: Which model it is, in fixed words.
    title: str

    @cached_property
    def asked(self) -> AskedModel:
        """The loaded model; raises `BadInputError` where there is not enough memory for it."""
        require_memory(self.model.files, has_trials=self.setup.trials is not None)
        return AskedModel.load(self.model.name, self.model.files)

    def _path(self, stage: str) -> Path:
        # What a model answers depends on its files, not on its name.
        return self.pieces / self.model.files.digest[:16] / f"{stage}.parquet"

    def _piece(
        self,
        stage: str,
        schema: Mapping[str, pl.DataType],
        make: Callable[[], pl.DataFrame],
        *,
        asked: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """Return a kept piece, else what `make` returns, which is then kept.

        Raises `IntegrityError` where it is damaged, or not of all questions `asked`, in their order.
        """
        path = self._path(stage)
        if not path.is_file():
            for folder in (self.pieces, path.parent):
                make_private_directory(folder)
            write_frame(path, make())
        try:
            piece = pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError):
            # polars quotes what it could not read.
            piece = pl.DataFrame()
        if piece.schema != schema or (
            asked is not None and piece["qa_id"].unique(maintain_order=True).to_list() != [*asked]
        ):
            raise IntegrityError(
                f"a kept piece of the evaluation is damaged ({path.parent.name}/{path.name} of the work folder's "
                "pieces); remove it, and run the same command again"
            )
        return piece

    def answers(self) -> pl.DataFrame:
        """Return `ANSWERS`, greedy ones, to all questions in their order, piece by piece."""
        setup, questions = self.setup, self.setup.bench.questions
        starts = range(0, len(questions), PIECE_QUESTIONS)
        parts = {
            f"answers-{place:04}": questions[start : start + PIECE_QUESTIONS] for place, start in enumerate(starts)
        }
        done = sum(len(part) for name, part in parts.items() if self._path(name).is_file())
        title = f"{self.title}, answers"
        with setup.progress.stage(title, total=len(questions), unit="questions", done=done) as advance:

            def ask(part: Sequence[Question]) -> pl.DataFrame:
                answers = self.asked.answer(part, setup.form, advance=advance)
                em = self.asked.exact_memorization(part, setup.form)
                rows = [(one.qa_id, one.text, list(one.token_ids or ()), em[one.qa_id]) for one in answers]
                return pl.DataFrame(rows, schema=ANSWERS, orient="row")

            return pl.concat(
                self._piece(name, ANSWERS, partial(ask, part), asked=[one.qa_id for one in part])
                for name, part in parts.items()
            )

    def scores(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Return `SCORES` of the answers, in their order."""
        setup = self.setup

        def make() -> pl.DataFrame:
            # One thread an operation: the last digits of an embedding depend on how many there are.
            with (
                setup.progress.stage(f"{self.title}, scores", total=len(answers), unit="answers") as advance,
                deterministic(seed=0),
            ):
                return score_answers(
                    setup.bench.questions,
                    setup.bench.keywords,
                    as_answers(self.model.name, answers),
                    scorers=setup.scorers,
                    em=dict(answers.select("qa_id", "em").iter_rows()),
                    form=setup.form,
                    advance=advance,
                )

        return self._piece("scores", SCORES, make, asked=answers["qa_id"].to_list())

    def trials(self, split: Split) -> list[pl.DataFrame]:
        """Return the `PATIENT_FIGURES` of each trial on a split; none where nothing is to be tried."""
        options = self.setup.trials
        if options is None:
            return []
        stages = {name: f"{split.name.replace(':', '-')}-{name}" for name in TRIALS}
        if not all(self._path(stage).is_file() for stage in stages.values()):
            self.setup.progress.say(f"{self.title}: trials on {split.name}")

        def make(name: str) -> pl.DataFrame:
            with deterministic(seed=self.setup.seed):
                return TRIALS[name](Tried(setup=self.setup, options=options, split=split, model=self.asked))

        found = (self._piece(stage, PATIENT_FIGURES, partial(make, name)) for name, stage in stages.items())
        # The same files may have been tried under another name.
        return [piece.with_columns(model=pl.lit(self.model.name)) for piece in found]


def as_answers(model: str, answers: pl.DataFrame) -> list[Answer]:
    """Return the rows of `ANSWERS` as a model's answers."""
    return [Answer(model, qa_id, text, tuple(token_ids)) for qa_id, text, token_ids, _ in answers.iter_rows()]
