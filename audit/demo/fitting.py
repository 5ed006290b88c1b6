"""Training loop of the demo's network, on rows of token ids; reproducible bit for bit on one kind of processor."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinaudit.audit.runtime.console.progress import Progress

if TYPE_CHECKING:
    import torch

#: Target of positions that pad a batch; torch's loss leaves it out.
IGNORED = -100


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Everything that decides what the trained model is, but the corpus and the seed."""

    vocabulary: int = 2048
    layers: int = 4
    width: int = 128
    heads: int = 2
    #: Width of the feed-forward layers.
    hidden: int = 384
    #: Context length in tokens; holds a background prompt and the 1,000 tokens of Appendix A.
    positions: int = 2048
    tied_embeddings: bool = True
    epochs: int = 24
    #: Notes a step.
    batch: int = 8
    learning_rate: float = 4e-3
    weight_decay: float = 0.0
    #: Share of the steps over which the learning rate rises.
    warmup: float = 0.05
    gradient_norm: float = 1.0
    #: Nontrain notes that the validation loss is measured on.
    validation_notes: int = 32
    #: Threads, each of which takes its share of a batch; part of the recipe, since the sum's order depends on it.
    workers: int = 2


def has_fast_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself; elsewhere it is slower than float32."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def fit(
    network: Any, rows: list[list[int]], held_out: list[list[int]], *, plan: TrainingPlan, seed: int, progress: Progress
) -> list[dict[str, float | int | None]]:
    """Train in place; returns one row an epoch, losses in nats a token."""
    import torch

    rng = torch.Generator().manual_seed(seed)
    steps = plan.epochs * math.ceil(len(rows) / plan.batch)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=plan.weight_decay, fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps, plan.warmup))
    log: list[dict[str, float | int | None]] = []
    with (
        ThreadPoolExecutor(plan.workers) as pool,
        progress.stage("training the demo model", total=steps, unit="steps") as advance,
    ):
        parameters = list(network.parameters())
        for epoch in range(1, plan.epochs + 1):
            total, tokens = 0.0, 0
            for batch in _batches(rows, plan.batch, rng):
                shares = [batch[worker :: plan.workers] for worker in range(min(plan.workers, len(batch)))]
                results = list(pool.map(lambda share: _differentiate(network, parameters, share), shares))
                loss, counted = (sum(of) for of in zip(*((loss, tokens) for loss, tokens, _ in results), strict=True))
                # In the order of the shares: a sum depends on it.
                for parameter, *gradients in zip(parameters, *(of for _, _, of in results), strict=True):
                    parameter.grad = sum(gradients[1:], start=gradients[0]) / counted
                torch.nn.utils.clip_grad_norm_(parameters, plan.gradient_norm)
                optimizer.step()
                schedule.step()
                total, tokens = total + loss, tokens + counted
                advance(1)
            unseen = _measure(network, held_out, plan.batch)
            log.append({"epoch": epoch, "train_loss": round(total / tokens, 6), "validation_loss": unseen})
    return log


def _differentiate(
    network: Any, parameters: "list[torch.nn.Parameter]", share: list[list[int]]
) -> "tuple[float, int, tuple[torch.Tensor, ...]]":
    """Return the summed loss of a share of a batch, its tokens, and the gradients; threads share the network."""
    import torch

    loss, counted = _loss(network, share)
    return loss.item(), counted, torch.autograd.grad(loss, parameters)


def _measure(network: Any, rows: list[list[int]], batch: int) -> float | None:
    """Return the mean loss a token over `rows`, None where there are none."""
    import torch

    if not rows:
        return None
    with torch.no_grad():
        parts = [_loss(network, rows[at : at + batch]) for at in range(0, len(rows), batch)]
    return round(sum(loss.item() for loss, _ in parts) / sum(tokens for _, tokens in parts), 6)


def _rate(step: int, steps: int, warmup: float) -> float:
    """Linear rise, then half a cosine down to a hundredth, as a share of the learning rate."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    return 0.01 + 0.99 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising))) / 2


def _batches(rows: list[list[int]], size: int, rng: "torch.Generator") -> list[list[list[int]]]:
    """Shuffle notes into batches of similar length, so that little of a batch is padding."""
    import torch

    jitter = torch.rand(len(rows), generator=rng).tolist()
    order = sorted(range(len(rows)), key=lambda row: len(rows[row]) * (1 + 0.3 * jitter[row]))
    batches = [[rows[row] for row in order[start : start + size]] for start in range(0, len(order), size)]
    return [batches[index] for index in torch.randperm(len(batches), generator=rng).tolist()]


def _loss(network: Any, batch: list[list[int]]) -> tuple["torch.Tensor", int]:
    """Return the summed loss of a padded batch and the number of tokens predicted."""
    import torch

    longest, device = max(map(len, batch)), network.device
    inputs = torch.tensor([row + [0] * (longest - len(row)) for row in batch], device=device)
    targets = torch.tensor([row[1:] + [IGNORED] * (longest - len(row)) for row in batch], device=device)
    is_fast = device.type != "cpu" or has_fast_bfloat16()
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_fast):
        # Padding stands to the right, where a causal model's real tokens never see it: no mask is needed.
        logits = network(input_ids=inputs[:, :-1], use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return loss, sum(map(len, batch)) - len(batch)
