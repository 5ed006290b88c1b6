"""Training by transformers' Trainer: the losses of this room as its `compute_loss`, resumed from its checkpoints.

The one module that imports Trainer; imported late. A checkpoint may stand there half written after a kill: it counts
once Trainer has written its state, which it writes last.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.utils import logging

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.unlearning.methods.losses import DivergedError, Objective
from clinaudit.audit.unlearning.methods.texts import MicroBatch, Rows, TrainingPlan, pad_rows
from clinaudit.audit.unlearning.methods.trained_network import TrainedNetwork
from clinaudit.errors import StorageError

#: Decimals of a loss in the curve.
_DECIMALS: Final = 6
#: One row a step: `step`, `learning_rate`, `loss`, and its parts `anchor` and, where the loss has it, `retain`.
CurveRow = dict[str, float]


class LossTrainer(Trainer):
    """transformers' Trainer over micro-batches in their order, with one of the losses of this room."""

    def __init__(
        self, network: TrainedNetwork, objective: Objective, batches: Sequence[MicroBatch], args: TrainingArguments
    ) -> None:
        super().__init__(model=network.model, args=args, train_dataset=list(batches), data_collator=_pad)
        # A loss is the mean of its micro-batch; Trainer divides by the number of them in a step.
        self.model_accepts_loss_kwargs = False
        self._network, self._objective = network, objective
        self._parts: dict[str, list[float]] = {}
        self.remove_callback(PrinterCallback)

    def compute_loss(
        self,
        model: Any,  # noqa: ARG002 (the network holds it)
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,  # noqa: ARG002
    ) -> Any:
        """Return the loss of a micro-batch, as Trainer asks for it. Raises `DivergedError`."""
        loss = self._objective.loss(self._network, inputs["anchor"], inputs["retain"])
        if not loss.total.isfinite():
            raise DivergedError(self.state.global_step + 1)
        for name, part in (("anchor", loss.anchor), ("retain", loss.retain)):
            if part is not None:
                self._parts.setdefault(name, []).append(part.item())
        return (loss.total, {}) if return_outputs else loss.total

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the loss's parts to what Trainer keeps of a step."""
        parts = {name: sum(values) / len(values) for name, values in self._parts.items()}
        self._parts.clear()
        super().log({**logs, **parts}, start_time)


def _pad(batches: Sequence[MicroBatch]) -> dict[str, Rows]:
    [batch] = batches
    return {"anchor": pad_rows(batch.anchor), "retain": pad_rows(batch.retain)}


class _Steps(TrainerCallback):
    """Says how far the training is."""

    def __init__(self, advance: Callable[[float], None]) -> None:
        self._advance = advance

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        self._advance(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        self._advance(1)


def train(
    network: TrainedNetwork,
    objective: Objective,
    batches: Sequence[MicroBatch],
    plan: TrainingPlan,
    *,
    seed: int,
    stage: tuple[Progress, str],
    work: Path | None = None,
) -> list[CurveRow]:
    """Train the network in place, from the last checkpoint in `work` where there is one; return the loss curve.

    A training that had ended is loaded, not repeated. Without `work` no state is kept. `stage` is where progress is
    shown, and its title. Raises `DivergedError`, and `StorageError` on a full disk.
    """
    # Their warnings would stand among our own progress.
    quieten: Any = logging
    quieten.set_verbosity_error()
    steps = -(-len(batches) // plan.micro_batches)
    progress, title = stage
    with TemporaryDirectory() as nowhere, progress.stage(title, total=steps, unit="steps") as advance:
        args = TrainingArguments(
            output_dir=str(work or nowhere),
            # The passes are in the list of batches: a step may join the end of one pass and the beginning of the next.
            num_train_epochs=1,
            train_sampling_strategy="sequential",
            per_device_train_batch_size=1,
            gradient_accumulation_steps=plan.micro_batches,
            learning_rate=plan.learning_rate,
            lr_scheduler_type="cosine",
            warmup_steps=plan.warmup,
            weight_decay=plan.weight_decay,
            max_grad_norm=plan.gradient_norm,
            gradient_checkpointing=network.device.has_checkpoints,
            gradient_checkpointing_kwargs={"use_reentrant": False},
            use_cpu=not network.device.gpus,
            save_strategy="no" if work is None else "steps",
            save_steps=max(1, steps // plan.epochs),
            save_total_limit=1,
            logging_steps=1,
            logging_nan_inf_filter=False,
            remove_unused_columns=False,
            dataloader_pin_memory=False,
            disable_tqdm=True,
            report_to="none",
            seed=seed,
        )
        trainer = LossTrainer(network, objective, batches, args)
        trainer.add_callback(_Steps(advance))
        try:
            trainer.train(resume_from_checkpoint=None if work is None else last_checkpoint(work))
        except OSError as error:
            raise StorageError(
                "a checkpoint cannot be written or read; make room on the disk and run the same command again"
            ) from error
    network.model.eval()
    if not network.is_finite():
        raise DivergedError(steps)
    names = ("loss", "anchor", "retain")
    return [
        {"step": row["step"], "learning_rate": row["learning_rate"]}
        | {name: round(row[name], _DECIMALS) for name in names if name in row}
        for row in trainer.state.log_history
        if "loss" in row
    ]


def last_checkpoint(work: Path) -> str | None:
    """Return the directory of the last checkpoint that is whole; None where there is nothing to go on from."""
    for path in sorted(work.glob("checkpoint-*/trainer_state.json"), key=lambda path: -int(path.parent.name[11:])):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        return str(path.parent)
    return None
