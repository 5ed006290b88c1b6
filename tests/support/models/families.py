"""Small models of many families with random weights, and what an engine says of each; vLLM in a process of its own."""

import json
import random
import sys
from pathlib import Path
from typing import Any, Final

from support.models.score_twin import texts_to_score
from support.models.tiny_models import LONG_ABOVE

from clinaudit.audit.runtime.choices import EngineName
from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_model
from clinaudit.audit.runtime.model.pretrained import require_own_weights
from clinaudit.errors import ClinauditError

CONTEXT: Final = 128
#: vLLM's kernels for a CPU hold heads of 32 numbers.
_HEADS: Final = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32}
_MAMBA: Final = {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_chunk_size": 64}
_LONGROPE: Final = {
    "rope_type": "longrope",
    "rope_theta": 10_000.0,
    "short_factor": [1.0] * 16,
    "long_factor": [1.0 + 0.5 * place for place in range(16)],
    "original_max_position_embeddings": LONG_ABOVE,
}
#: What makes a model of a kind small, and that kind.
FAMILIES: Final[dict[str, dict[str, Any]]] = {
    "mistral": _HEADS | {"sliding_window": 16},
    "phi3": _HEADS | {"rope_parameters": _LONGROPE, "original_max_position_embeddings": LONG_ABOVE},
    "mamba2": {"state_size": 16, "num_heads": 4, "head_dim": 32, "n_groups": 1, "chunk_size": 64},
    "falcon_h1": _HEADS | _MAMBA,
    # vLLM reads it by transformers' own code, which it changes for that.
    "olmo2": _HEADS,
    "codegen": {"n_head": 4, "rotary_dim": 16, "n_ctx": 2048},
}


def prompts() -> list[GenerationRequest]:
    """Prompts of 3 to 40 tokens, with budgets of their own, so that rows leave a batch one by one."""
    rng = random.Random(1)
    lengths = (27, 9, 3, 40, 16)
    return [
        GenerationRequest(f"k{place}", tuple(rng.randrange(1, 300) for _ in range(length)), "", 30 - 4 * place)
        for place, length in enumerate(lengths)
    ]


def compare_family(directory: Path) -> ModelFiles | None:
    """Describe a saved model, its weights compared, as before an audit loads an engine; None if refused."""
    try:
        return require_own_weights(inspect_model(directory))
    except ClinauditError:
        return None


def ask(directory: Path, engine: EngineName, compared: ModelFiles | None = None) -> dict[str, Any]:
    """Return what an engine says of a model, at once and one by one, or why it refuses: as JSON has it."""
    try:
        files = compared or inspect_model(directory)
        loaded = make_engine(engine, files, context_length=CONTEXT, options=EngineOptions(threads=1))
        try:
            requests, texts = prompts(), texts_to_score(files.vocab_size, CONTEXT)
            outputs = [
                {one.key: list(one.token_ids) for batch in batches for one in loaded.generate(batch)}
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
