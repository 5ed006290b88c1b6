"""`clinaudit demo`: its folder, and its model, a small Llama with its own byte-level BPE.

The model learns the train split's notes as they are: nothing is prepended, repeated or weighted to make it leak.
Training is reproducible bit for bit for equal corpus, plan, library versions and kind of processor.
"""

import json
import math
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from clinaudit.audit.demo.corpus import NOTES_FILE, PATIENTS_FILE, write_demo_corpus
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.pretrained import deterministic
from clinaudit.audit.runtime.run.directory import making_folder, sha256_of, take_libraries_offline, write_atomically
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.schema.identity import INVENTED

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

_MARK = "demo.json"


def run_demo(directory: Path, *, seed: int, quiet: bool) -> AuditSettings:
    """Write the corpus and train the model, unless both stand already; return the settings to audit them with."""
    corpus, model, base = directory / "corpus", directory / "model", directory / "base"
    take_libraries_offline()
    # The folder is marked as this demo's.
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory.name} is not a folder; give the demo another name")
    mark, content = directory / _MARK, json.dumps({"seed": seed})
    if not mark.is_file():
        if directory.is_dir() and any(directory.iterdir()):
            raise UsageError(f"{directory.name} holds other things; give the demo an empty folder")
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(mark, f"{content}\n")
    elif mark.read_bytes().strip() != content.encode():
        raise UsageError(f"{directory.name} holds the demo of another seed; give another folder or that seed")
    write_demo_corpus(corpus, seed=seed)
    Progress(quiet=quiet).say("The patients of the demo and their notes are invented; the model learns half of them.")
    train_demo_model(corpus, model, seed=seed, progress=Progress(quiet=quiet), base=base)
    return AuditSettings(
        model=str(model),
        corpus=corpus,
        out=directory / "run",
        seed=seed,
        training_log=model / "training-log.jsonl",
        model_name="Demo model (invented patients)",
        institution="Demo hospital (invented)",
        date=INVENTED,
        intended_use="None: it shows what an audit finds",
        quiet=quiet,
    )


_END_OF_TEXT = "<|endoftext|>"
_RECORD_FILE = "training.json"
#: Threads, each of which takes its share of a batch; a fixed number, since the sum's order depends on it.
_WORKERS = 2
#: Share of the steps over which the learning rate rises.
_WARMUP = 0.05
#: Target of positions that pad a batch; torch's loss leaves it out.
_IGNORED = -100
_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy")


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
    epochs: int = 24
    #: Notes a step.
    batch: int = 8
    learning_rate: float = 4e-3
    #: Nontrain notes that the validation loss is measured on.
    validation_notes: int = 32


PLAN = TrainingPlan()


def train_demo_model(
    corpus: Path, model: Path, *, seed: int, progress: Progress, plan: TrainingPlan = PLAN, base: Path | None = None
) -> bool:
    """Train on the train split of a corpus written by `write_demo_corpus`; True when the model is there already.

    `base` gets the model as it was before it learned anything. `model` gets safetensors (float32), tokenizer,
    `training-log.jsonl` and `training.json`, all at once by a rename. Raises `UsageError` where it holds something
    else, and `BadInputError` where the corpus has no note to train on.
    """
    recipe = {
        "notes": sha256_of(corpus / NOTES_FILE),
        "patients": sha256_of(corpus / PATIENTS_FILE),
        "seed": seed,
        "plan": asdict(plan),
        "bfloat16": _has_fast_bfloat16(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }
    try:
        record = json.loads((model / _RECORD_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = None
    if isinstance(record, dict) and record.keys() >= {"recipe", "files"}:
        if record["recipe"] == recipe and record["files"].items() <= _digests(model).items():
            return True
        shutil.rmtree(model)
    elif model.exists() and any(model.iterdir()):
        raise UsageError(f"{model} holds files that the demo did not make; give the demo another folder")
    progress.say("Some minutes; if this is stopped before the model is whole, it is trained anew the next time.")
    with making_folder(model) as draft:
        _train(draft, corpus, seed=seed, plan=plan, progress=progress, base=base)
        document = json.dumps({"recipe": recipe, "files": _digests(draft)}, indent=1) + "\n"
        (draft / _RECORD_FILE).write_text(document, encoding="utf-8")
    return False


def _digests(model: Path) -> dict[str, str]:
    return {path.name: sha256_of(path) for path in sorted(model.iterdir()) if path.is_file()}


def _read_notes(corpus: Path, split: str) -> list[str]:
    """Return the texts of a split's notes, in file order."""
    patients = pl.read_csv(corpus / PATIENTS_FILE, infer_schema=False).filter(split=split)
    notes = pl.read_ndjson(corpus / NOTES_FILE).join(patients, on="patient_id", how="semi", maintain_order="left")
    return notes["text"].to_list()


def train_tokenizer(texts: Sequence[str], *, vocabulary: int) -> "PreTrainedTokenizerFast":
    """Train a byte-level BPE whose one special token, `<|endoftext|>`, it never adds by itself."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[_END_OF_TEXT],
        # The alphabet is a set in an order of its own; sorted, ids do not depend on it.
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    make_tokenizer: Any = PreTrainedTokenizerFast
    return make_tokenizer(  # type: ignore[no-any-return]
        tokenizer_object=tokenizer, eos_token=_END_OF_TEXT, pad_token=_END_OF_TEXT, clean_up_tokenization_spaces=False
    )


def _train(draft: Path, corpus: Path, *, seed: int, plan: TrainingPlan, progress: Progress, base: Path | None) -> None:
    import torch
    import transformers

    # Their bars and warnings would stand among our own progress.
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    make_network: Any = transformers.LlamaForCausalLM
    notes = _read_notes(corpus, "train")
    if not notes:
        raise BadInputError(f"{corpus} holds no note of the train split; write the demo corpus again")
    words = train_tokenizer(notes, vocabulary=plan.vocabulary)
    words.model_max_length = plan.positions
    unseen = _encode(words, _read_notes(corpus, "nontrain"), plan)
    held_out = unseen[:: max(1, len(unseen) // max(1, plan.validation_notes))][: plan.validation_notes]
    shape = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=plan.width,
        intermediate_size=plan.hidden,
        num_hidden_layers=plan.layers,
        num_attention_heads=plan.heads,
        num_key_value_heads=plan.heads,
        max_position_embeddings=plan.positions,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        attention_dropout=0.0,
        dtype="float32",
    )
    with deterministic(seed=seed):
        network = make_network(shape)
        if base is not None:
            shutil.rmtree(base, ignore_errors=True)
            with making_folder(base) as folder:
                network.save_pretrained(folder)
                words.save_pretrained(folder)
        log = _fit(network, _encode(words, notes, plan), held_out, plan=plan, seed=seed, progress=progress)
        network.to(torch.float32).save_pretrained(draft)
    words.save_pretrained(draft)
    (draft / "training-log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in log), encoding="utf-8")


def _encode(tokenizer: "PreTrainedTokenizerFast", texts: Sequence[str], plan: TrainingPlan) -> list[list[int]]:
    """Return each note's ids with the end of text; a note longer than the context is cut to it."""
    end = [tokenizer.eos_token_id]
    encoded = tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
    return [(ids + end)[: plan.positions] for ids in encoded]


def _has_fast_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself; elsewhere it is slower than float32."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def _fit(
    network: Any, rows: list[list[int]], held_out: list[list[int]], *, plan: TrainingPlan, seed: int, progress: Progress
) -> list[dict[str, float | int | None]]:
    """Train in place; returns one row an epoch, losses in nats a token."""
    import torch

    rng = torch.Generator().manual_seed(seed)
    steps = plan.epochs * math.ceil(len(rows) / plan.batch)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    log: list[dict[str, float | int | None]] = []
    with (
        ThreadPoolExecutor(_WORKERS) as pool,
        progress.stage("training the demo model", total=steps, unit="steps") as advance,
    ):
        parameters = list(network.parameters())

        def differentiate(share: list[list[int]]) -> "tuple[float, int, tuple[torch.Tensor, ...]]":
            # Threads share the network.
            loss, counted = _loss(network, share)
            return loss.item(), counted, torch.autograd.grad(loss, parameters)

        for epoch in range(1, plan.epochs + 1):
            total, tokens = 0.0, 0
            for batch in _batches(rows, plan.batch, rng):
                shares = [batch[worker::_WORKERS] for worker in range(min(_WORKERS, len(batch)))]
                results = list(pool.map(differentiate, shares))
                loss, counted = (sum(of) for of in zip(*((loss, tokens) for loss, tokens, _ in results), strict=True))
                # In the order of the shares: a sum depends on it.
                for parameter, *gradients in zip(parameters, *(of for _, _, of in results), strict=True):
                    parameter.grad = sum(gradients[1:], start=gradients[0]) / counted
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
                schedule.step()
                total, tokens = total + loss, tokens + counted
                advance(1)
            with torch.no_grad():
                parts = [_loss(network, held_out[at : at + plan.batch]) for at in range(0, len(held_out), plan.batch)]
            of_unseen = sum(loss.item() for loss, _ in parts), sum(tokens for _, tokens in parts)
            unseen = round(of_unseen[0] / of_unseen[1], 6) if parts else None
            log.append({"epoch": epoch, "train_loss": round(total / tokens, 6), "validation_loss": unseen})
    return log


def _rate(step: int, steps: int) -> float:
    """Linear rise, then half a cosine down to a hundredth, as a share of the learning rate."""
    rising = max(1, round(_WARMUP * steps))
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
    targets = torch.tensor([row[1:] + [_IGNORED] * (longest - len(row)) for row in batch], device=device)
    is_fast = device.type != "cpu" or _has_fast_bfloat16()
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_fast):
        # Padding stands to the right, where a causal model's real tokens never see it: no mask is needed.
        logits = network(input_ids=inputs[:, :-1], use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=_IGNORED, reduction="sum"
    )
    return loss, sum(map(len, batch)) - len(batch)
