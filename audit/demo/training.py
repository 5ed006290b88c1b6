"""Trains the demo's model: a small Llama and its own byte-level BPE, on the train split's notes as they are.

Owns the tokenizer, the training loop, its log and the cache that spares a second demo the training. Knows nothing of
what the notes say; nothing is prepended, repeated or weighted to make the model leak. Training is real, and bit for
bit the same for equal corpus, plan, library versions and kind of processor.
"""

import csv
import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinaudit.audit.demo.corpus import NOTES_FILE, PATIENTS_FILE
from clinaudit.audit.progress import Progress
from clinaudit.templates.errors import BadInputError, StorageError, UsageError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

END_OF_TEXT = "<|endoftext|>"
RECORD_FILE = "training.json"
LOG_FILE = "training-log.jsonl"
#: Target of positions that pad a batch; the loss of transformers and torch leaves it out.
IGNORED = -100
_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy")


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Everything that decides what the trained model is, but the corpus and the seed."""

    vocabulary: int = 2048
    layers: int = 4
    width: int = 128
    heads: int = 4
    #: Width of the feed-forward layers.
    hidden: int = 384
    #: Context length in tokens; holds a background prompt and the 1,000 tokens of Appendix A.
    positions: int = 2048
    tied_embeddings: bool = True
    epochs: int = 30
    #: Notes a step.
    batch: int = 8
    learning_rate: float = 4e-3
    weight_decay: float = 0.0
    #: Share of the steps over which the learning rate rises.
    warmup: float = 0.05
    gradient_norm: float = 1.0
    #: Nontrain notes that the validation loss is measured on.
    validation_notes: int = 48
    threads: int = 2


DEFAULT_PLAN = TrainingPlan()


def train_demo_model(
    corpus: Path, model: Path, *, seed: int, progress: Progress, plan: TrainingPlan = DEFAULT_PLAN
) -> bool:
    """Train on the train split of a corpus written by `write_demo_corpus`; True when the model is there already.

    `model` gets safetensors (float32), tokenizer, `training-log.jsonl` and `training.json`, all at once by a rename: a
    killed training leaves no model. Raises `UsageError` where `model` holds something else, `StorageError` on disk
    trouble and `BadInputError` where the corpus has no note to train on.
    """
    try:
        recipe = _describe(corpus, seed=seed, plan=plan)
        if _is_trained(model, recipe):
            return True
        if model.exists() and (not model.is_dir() or any(model.iterdir())) and not _is_ours(model):
            raise UsageError(f"{model} holds files that the demo did not make; give the demo another folder")
        model.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(model)
        with tempfile.TemporaryDirectory(prefix=_leftover_prefix(model), dir=model.parent) as directory:
            draft = Path(directory) / "model"
            draft.mkdir()
            _train(draft, corpus, seed=seed, plan=plan, progress=progress)
            files = {path.name: _digest(path) for path in sorted(draft.iterdir())}
            record = json.dumps({"recipe": recipe, "files": files}, indent=1) + "\n"
            (draft / RECORD_FILE).write_text(record, encoding="utf-8")
            _put_in_place(draft, model)
    except OSError as error:
        raise StorageError(
            f"cannot train the demo model in {model} ({error.strerror}); make room or give another folder"
        ) from error
    return False


def _describe(corpus: Path, *, seed: int, plan: TrainingPlan) -> dict[str, object]:
    """Return what must be equal for a trained model to be used again."""
    return {
        "notes": _digest(corpus / NOTES_FILE),
        "patients": _digest(corpus / PATIENTS_FILE),
        "seed": seed,
        "plan": asdict(plan),
        "bfloat16": _has_fast_bfloat16(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _has_fast_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself; elsewhere it is slower than float32."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def _read_record(model: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((model / RECORD_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and "recipe" in record and "files" in record else None


def _is_ours(model: Path) -> bool:
    return _read_record(model) is not None


def _is_trained(model: Path, recipe: Mapping[str, object]) -> bool:
    record = _read_record(model)
    return (
        record is not None
        and record["recipe"] == recipe
        and all(
            (model / name).is_file() and _digest(model / name) == digest for name, digest in record["files"].items()
        )
    )


def _leftover_prefix(model: Path) -> str:
    return f".{model.name}-training-"


def _remove_leftovers(model: Path) -> None:
    for leftover in model.parent.glob(f"{_leftover_prefix(model)}*"):
        shutil.rmtree(leftover)


def _put_in_place(draft: Path, model: Path) -> None:
    """Move a finished model to where it belongs; an older one of ours makes way first."""
    if model.exists():
        model.rename(draft.parent / "replaced")
    draft.rename(model)


def _read_notes(corpus: Path) -> dict[str, list[str]]:
    """Return note texts by split, in file order."""
    with (corpus / PATIENTS_FILE).open(encoding="utf-8", newline="") as file:
        splits = {row["patient_id"]: row["split"] for row in csv.DictReader(file)}
    notes: dict[str, list[str]] = {"train": [], "nontrain": []}
    with (corpus / NOTES_FILE).open(encoding="utf-8") as file:
        for line in file:
            note = json.loads(line)
            notes[splits[note["patient_id"]]].append(note["text"])
    if not notes["train"]:
        raise BadInputError(f"{corpus} holds no note of the train split; write the demo corpus again")
    return notes


def train_tokenizer(texts: Sequence[str], *, vocabulary: int) -> "PreTrainedTokenizerFast":
    """Train a byte-level BPE whose one special token, `<|endoftext|>`, it never adds by itself."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT],
        # The alphabet is a set in an order of its own; sorted, ids do not depend on it.
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        clean_up_tokenization_spaces=False,
    )


def _train(draft: Path, corpus: Path, *, seed: int, plan: TrainingPlan, progress: Progress) -> None:
    import torch
    from transformers import LlamaForCausalLM

    notes = _read_notes(corpus)
    tokenizer = train_tokenizer(notes["train"], vocabulary=plan.vocabulary)
    tokenizer.model_max_length = plan.positions
    rows = _encode(tokenizer, notes["train"], plan)
    held_out = _sample_evenly(_encode(tokenizer, notes["nontrain"], plan), plan.validation_notes)
    with _deterministic(seed=seed, threads=plan.threads):
        network = LlamaForCausalLM(_configure(plan, tokenizer))
        log = _fit(network, rows, held_out, plan=plan, seed=seed, progress=progress)
        network.to(torch.float32).save_pretrained(draft)
    tokenizer.save_pretrained(draft)
    lines = "".join(json.dumps(row) + "\n" for row in log)
    (draft / LOG_FILE).write_text(lines, encoding="utf-8")


def _encode(tokenizer: "PreTrainedTokenizerFast", texts: Sequence[str], plan: TrainingPlan) -> list[list[int]]:
    """Return each note's ids with the end of text; a note longer than the context is cut to it."""
    end = [tokenizer.eos_token_id]
    encoded = tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
    return [(ids + end)[: plan.positions] for ids in encoded]


def _sample_evenly(rows: list[list[int]], count: int) -> list[list[int]]:
    return rows[:: max(1, len(rows) // count)][:count] if count else []


def _configure(plan: TrainingPlan, tokenizer: "PreTrainedTokenizerFast") -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=plan.width,
        intermediate_size=plan.hidden,
        num_hidden_layers=plan.layers,
        num_attention_heads=plan.heads,
        num_key_value_heads=plan.heads,
        max_position_embeddings=plan.positions,
        tie_word_embeddings=plan.tied_embeddings,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attention_dropout=0.0,
        dtype="float32",
    )


@contextmanager
def _deterministic(*, seed: int, threads: int) -> Iterator[None]:
    """Fix torch's seed, threads and algorithms, and put back what the caller had."""
    import torch

    before = (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.get_rng_state())
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
        torch.set_rng_state(before[2])


def _fit(
    network: Any,
    rows: list[list[int]],
    held_out: list[list[int]],
    *,
    plan: TrainingPlan,
    seed: int,
    progress: Progress,
) -> list[dict[str, float | int | None]]:
    """Train in place; returns one row an epoch, losses in nats a token."""
    import torch

    rng = torch.Generator().manual_seed(seed)
    steps = plan.epochs * math.ceil(len(rows) / plan.batch)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=plan.weight_decay
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps, plan.warmup))
    log: list[dict[str, float | int | None]] = []
    network.train()
    with progress.stage("training the demo model", total=steps, unit="steps") as advance:
        for epoch in range(1, plan.epochs + 1):
            total, tokens = 0.0, 0
            for batch in _batches(rows, plan.batch, rng):
                loss, counted = _loss(network, batch)
                optimizer.zero_grad(set_to_none=True)
                (loss / counted).backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), plan.gradient_norm)
                optimizer.step()
                schedule.step()
                total, tokens = total + loss.item(), tokens + counted
                advance(1)
            log.append(
                {
                    "epoch": epoch,
                    "train_loss": round(total / tokens, 6),
                    "validation_loss": _validate(network, held_out, plan.batch),
                }
            )
    network.eval()
    return log


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

    longest = max(map(len, batch))
    inputs = torch.tensor([row + [0] * (longest - len(row)) for row in batch])
    targets = torch.tensor([row[1:] + [IGNORED] * (longest - len(row)) for row in batch])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=_has_fast_bfloat16()):
        # Padding stands to the right, where a causal model's real tokens never see it: no mask is needed.
        logits = network(input_ids=inputs[:, :-1], use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return loss, sum(map(len, batch)) - len(batch)


def _validate(network: Any, rows: list[list[int]], size: int) -> float | None:
    """Return the mean loss a token over `rows`, None where there are none."""
    import torch

    if not rows:
        return None
    total, tokens = 0.0, 0
    network.eval()
    with torch.no_grad():
        for start in range(0, len(rows), size):
            loss, counted = _loss(network, rows[start : start + size])
            total, tokens = total + loss.item(), tokens + counted
    network.train()
    return round(total / tokens, 6)
