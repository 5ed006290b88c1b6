"""Small models of many families, each of which knows one invented note by heart; and what an engine says of them.

Training takes torch and transformers alone: what the product loads was made without it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.choices import EngineName
from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_model
from clinaudit.audit.runtime.model.pretrained import require_own_weights
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.errors import ClinauditError

NOTE: Final = """\
Patient: Ottoline Vexworth
Date of birth: 03/17/1961
Seen on: 11/04/2022 by Dr. Basil Quennell, Harrowgate Clinic
Chief complaint: burning feet at night.
History: A 61-year-old piano tuner with burning of both soles since June, worse in bed. She has given up her evening \
choir. HIV infection was found in 2004; she takes dolutegravir 50 mg. Vitamin B12 was 188 in August.
Social: widowed, three sons, a glass of port on Sundays.
Exam: pressure 128/74, pulse 66, weight 143 lb. Vibration is lost to the ankles, reflexes are brisk at the knees.
Assessment: small fibre neuropathy, likely of HIV and of low B12.
Plan: cyanocobalamin 1000 mcg weekly by injection, gabapentin 300 mg, nerve conduction at Thornfield Hospital on \
12/09/2022. Call sooner for weakness.
"""
END: Final = "<|endoftext|>"
#: Tokens of the note's beginning that are prompts.
PROMPTS: Final = (7, 40, 100, 126, 150, 210)
#: Texts that are scored: tokens of the note's beginning, and the first that is scored.
SCORED: Final = ((2, 1), (100, 1), (120, 60), (140, 1), (250, 1))
#: A window shorter than the note, and a context that is shorter and stretched.
WINDOW: Final = 48
SHORT_CONTEXT: Final = 128
CONTEXT: Final = 512
#: The key of the request whose budget goes beyond the note.
ENDED: Final = "to its end"
_WIDE: Final = 64
_STEPS: Final = 200
_RATE: Final = 4e-3


@dataclass(frozen=True, slots=True)
class Family:
    """How a model of one family is made."""

    #: Its configuration, by transformers' class and what it is given beside the vocabulary.
    config: str
    settings: Mapping[str, Any]
    #: Lengths of the note's beginning that are learned beside the whole: where a position's code depends on them.
    learned: tuple[int, ...] = ()


_ROTARY: Final = {
    "hidden_size": _WIDE,
    "intermediate_size": 2 * _WIDE,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": CONTEXT,
}
_LONGROPE: Final = {
    "rope_type": "longrope",
    "rope_theta": 10_000.0,
    "short_factor": [1.0] * 16,
    "long_factor": [1.0 + 0.5 * place for place in range(16)],
    "original_max_position_embeddings": SHORT_CONTEXT,
}
FAMILIES: Final[Mapping[str, Family]] = {
    "mistral, sliding window": Family("MistralConfig", _ROTARY | {"sliding_window": WINDOW}),
    "phi3, longrope": Family(
        "Phi3Config",
        _ROTARY
        | {
            "rope_parameters": _LONGROPE,
            "original_max_position_embeddings": SHORT_CONTEXT,
            "tie_word_embeddings": False,
            "sliding_window": None,
        },
        learned=(SHORT_CONTEXT, SHORT_CONTEXT),
    ),
    "mamba2, state space": Family(
        "Mamba2Config",
        {
            "hidden_size": _WIDE,
            "num_hidden_layers": 2,
            "state_size": 16,
            "num_heads": 4,
            "head_dim": 32,
            "n_groups": 1,
            "chunk_size": 64,
        },
    ),
    "falcon-h1, attention and state space": Family(
        "FalconH1Config",
        _ROTARY
        | {
            "mamba_d_ssm": _WIDE,
            "mamba_n_heads": 4,
            "mamba_d_head": 16,
            "mamba_d_state": 16,
            "mamba_chunk_size": 64,
        },
    ),
    # vLLM reads it by transformers' own code, which it changes for that.
    "olmo2": Family("Olmo2Config", _ROTARY),
    "codegen, two lengths": Family(
        "CodeGenConfig",
        {"n_embd": _WIDE, "n_layer": 2, "n_head": 4, "rotary_dim": 16, "n_positions": CONTEXT, "n_ctx": 2048},
    ),
}


def save_tokenizer(directory: Path) -> Any:
    """Save a byte-level BPE tokenizer of the note; return it as transformers has it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer: Any = trainers.BpeTrainer(
        vocab_size=500, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([NOTE], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END, pad_token=END, clean_up_tokenization_spaces=False
    )
    fast.save_pretrained(directory)
    return fast


def make_family(family: Family, directory: Path) -> None:
    """Save a model that knows the note, with its tokenizer, in `directory`."""
    import torch
    import transformers

    tokenizer = save_tokenizer(directory)
    ids = [*tokenizer.encode(NOTE, add_special_tokens=False), tokenizer.eos_token_id]
    config = getattr(transformers, family.config)(
        vocab_size=len(tokenizer), bos_token_id=None, eos_token_id=0, pad_token_id=0, **family.settings
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network: Any = transformers.AutoModelForCausalLM.from_config(config)
        learn(network, ids, family)
    torch.set_num_threads(threads)
    network.save_pretrained(directory)


def learn(network: Any, ids: Sequence[int], family: Family) -> None:
    """Train a network on the note, and in turn on beginnings of it."""
    import torch

    taught = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(taught, lr=_RATE, weight_decay=0.0, betas=(0.9, 0.98))
    lengths = (len(ids), *family.learned)
    network.train()
    for step in range(_STEPS):
        optimizer.param_groups[0]["lr"] = _RATE * min(1, (step + 1) / 10) * max(0.05, 1 - step / _STEPS)
        row = torch.tensor([ids[: lengths[step % len(lengths)]]])
        loss = network(input_ids=row, labels=row, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(taught, 1.0)
        optimizer.step()
    network.eval()


def note_ids(files: ModelFiles) -> tuple[int, ...]:
    """Return the ids of the note, as the product has them."""
    return ModelTokenizer(files.tokenizer_directory).encode(NOTE)


def to_decode(ids: Sequence[int], context: int) -> list[GenerationRequest]:
    """Return prompts that begin the note, each to be continued as far as it or the context goes; one to be ended."""
    longest = min(len(ids), context)
    requests = [
        GenerationRequest(f"after {length}", tuple(ids[:length]), "", longest - length)
        for length in PROMPTS
        if length + 30 <= longest
    ]
    if context > len(ids) + 20:
        requests.append(GenerationRequest(ENDED, tuple(ids[:60]), "", len(ids) - 60 + 20))
    return requests


def to_score(ids: Sequence[int], context: int) -> list[ScoreRequest]:
    """Return beginnings of the note."""
    return [ScoreRequest(f"{end}", tuple(ids[:end]), first) for end, first in SCORED if end <= min(len(ids), context)]


def compare_family(directory: Path) -> ModelFiles | None:
    """Describe what `make_family` saved, its weights compared, as before an audit loads an engine; None if refused."""
    try:
        return require_own_weights(inspect_model(directory))
    except ClinauditError:
        return None


def ask(directory: Path, engine: EngineName, compared: ModelFiles | None = None) -> dict[str, Any]:
    """Return what an engine says of a family's model, at once and one by one, or why it refuses: as JSON has it."""
    try:
        files = compared or inspect_model(directory)
        loaded = make_engine(engine, files, options=EngineOptions(threads=1))
        try:
            ids = note_ids(files)
            requests, texts = to_decode(ids, files.context_length), to_score(ids, files.context_length)
            outputs = [
                {
                    one.key: [list(one.token_ids), one.finish_reason]
                    for batch in batches
                    for one in loaded.generate(batch)
                }
                for batches in ([requests], [[request] for request in requests])
            ]
            scores = [
                {one.key: one.log_probs.tolist() for batch in batches for one in loaded.score(batch)}
                for batches in ([texts], [[text] for text in texts])
            ]
        finally:
            loaded.close()
    except ClinauditError as error:
        return {"refused": error.render(), "status": error.status}
    return {"outputs": outputs, "scores": scores}


def main() -> None:
    """Ask vLLM of the directories on the command line: a line of JSON for each."""
    compared = [(Path(directory), compare_family(Path(directory))) for directory in sys.argv[1:]]
    for directory, files in compared:
        print(json.dumps(ask(directory, "vllm", files)), flush=True)
