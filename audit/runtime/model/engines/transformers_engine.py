"""Decoding and scoring with transformers: works wherever torch does, slower than vLLM.

It has its own decoding loop over the key-value cache, rather than `generate()`: a row stops at its end of sequence or
repeat, leaves the batch and is yielded at once.
"""

import os
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from clinaudit.audit.runtime.console.streams import first_line, quiet_stderr
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import (
    Decoding,
    GenerationOutput,
    GenerationRequest,
    ScoreRequest,
    require_fitting,
    require_scorable,
)
from clinaudit.audit.runtime.model.engines.sampling import draw_tokens
from clinaudit.audit.runtime.model.engines.token_scores import score_texts
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS, load_pretrained
from clinaudit.audit.runtime.run.store import TokenScores
from clinaudit.errors import BadInputError, ClinauditError

if TYPE_CHECKING:
    from torch import Tensor


class TransformersEngine:
    """A causal language model of transformers, float32 on a CPU, the checkpoint's own dtype on a GPU."""

    name = "transformers"

    def __init__(self, model: ModelFiles, *, context_length: int, threads: int, options: EngineOptions) -> None:
        """Load the model; raises `BadInputError` where transformers cannot."""
        os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
        with quiet_stderr():
            import torch

            self._torch = torch
            self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            self._threads_before = torch.get_num_threads()
            torch.set_num_threads(threads)
            try:
                loaded = load_pretrained(model, dtype=torch.float32 if self._device.type == "cpu" else "auto")
                self._model: Any = loaded.to(self._device).eval()
            except ClinauditError:
                torch.set_num_threads(self._threads_before)
                raise
            except LOAD_ERRORS as error:
                torch.set_num_threads(self._threads_before)
                raise BadInputError(
                    f"transformers cannot load the model in {model.directory} "
                    f"({type(error).__name__}: {first_line(error)}); save it again with save_pretrained"
                ) from error
        self.context_length = self.longest_scored = context_length
        self._batch_size = options.batch_size
        self._threads = threads
        self._stop_token_ids = model.stop_token_ids

    def identity(self) -> dict[str, str]:
        """Return engine, versions, dtype, device and threads; on a GPU the batch size, too: it may change results."""
        cuda = self._device.type == "cuda"
        return {
            "engine": self.name,
            "transformers": version("transformers"),
            "torch": self._torch.__version__,
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "device": self._torch.cuda.get_device_name() if cuda else "cpu",
            "threads": str(self._threads),
            **({"batch_size": str(self._batch_size)} if cuda else {}),
        }

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        """Yield each generation as soon as it is finished; raises `ValueError` for requests that do not fit."""
        require_fitting(requests, context_length=self.context_length)
        # Longest first, so that a batch's prompts have similar lengths, and a memory shortage shows at once.
        ordered = sorted(requests, key=lambda request: (-len(request.prompt_ids), request.key))
        for start in range(0, len(ordered), self._batch_size):
            batch = ordered[start : start + self._batch_size]
            yield from self._decode([Decoding(request, self._stop_token_ids) for request in batch])

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores of each text, with mean and deviation; raises `ValueError` for texts that do not fit."""
        require_scorable(requests, longest=self.longest_scored)
        yield from score_texts(self._model, requests, batch_size=self._batch_size)

    def close(self) -> None:
        """Free the model and restore torch's number of threads."""
        del self._model
        self._torch.set_num_threads(self._threads_before)

    def _decode(self, rows: list[Decoding]) -> Iterator[GenerationOutput]:
        """Decode one batch, left-padded; finished rows leave it, so that later steps cost less."""
        torch = self._torch
        longest = max(len(row.request.prompt_ids) for row in rows)
        # Padding is masked, so that its id means nothing: 0 is in every vocabulary.
        pads = [longest - len(row.request.prompt_ids) for row in rows]
        token_ids = torch.tensor(
            [[0] * pad + list(row.request.prompt_ids) for pad, row in zip(pads, rows, strict=True)], device=self._device
        )  # (rows, longest)
        mask = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in pads], device=self._device)
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        cache = None
        while rows:
            # no_grad ends before the yield: the caller's code must not run under it.
            with torch.no_grad():
                step = self._model(
                    input_ids=token_ids,
                    attention_mask=mask,
                    position_ids=positions,
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=1,
                )
                cache = step.past_key_values
                chosen = _choose(step.logits[:, -1], rows)  # (rows,)
            finishes = [row.take(token) for row, token in zip(rows, chosen.tolist(), strict=True)]
            for row, finish in zip(rows, finishes, strict=True):
                if finish is not None:
                    yield row.output(finish)
            going = [index for index, finish in enumerate(finishes) if finish is None]
            if len(going) < len(rows):
                rows = [rows[index] for index in going]
                kept = torch.tensor(going, device=self._device, dtype=torch.long)
                chosen, mask, positions = chosen[kept], mask[kept], positions[kept]
                if rows:
                    cache.batch_select_indices(kept)
            token_ids = chosen[:, None]
            positions = positions[:, -1:] + 1
            mask = torch.cat([mask, mask.new_ones((len(rows), 1))], dim=1)


def _choose(logits: "Tensor", rows: Sequence[Decoding]) -> "Tensor":
    """Return the next token of each row (b,); where ends are barred, the choice among the other tokens.

    What a row would have chosen is noted there. The logits (b, v) are changed in place.
    """
    chosen = _pick(logits, rows)
    barring = [index for index, row in enumerate(rows) if row.bars_ends]
    for index in barring:
        rows[index].note_wanted(int(chosen[index]))
        logits[index, rows[index].barred] = float("-inf")
    if barring:
        chosen[barring] = _pick(logits[barring], [rows[index] for index in barring])
    return chosen


def _pick(logits: "Tensor", rows: Sequence[Decoding]) -> "Tensor":
    """Return the next token of each row (b,): the likeliest, or one drawn where the row has a temperature."""
    chosen = logits.argmax(dim=-1)
    drawn = [index for index, row in enumerate(rows) if row.request.temperature]
    if drawn:
        chosen[drawn] = draw_tokens(
            logits[drawn],
            [rows[index].number for index in drawn],
            temperatures=[rows[index].request.temperature for index in drawn],
        )
    return chosen
