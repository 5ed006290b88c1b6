"""Decoding and scoring with transformers: works wherever torch does, slower than vLLM.

It has its own decoding loop over the key-value cache, rather than `generate()`: a row stops at its end of sequence or
repeat, leaves the batch and is yielded at once.
"""

import os
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from clinaudit.audit.runtime.console.streams import first_line, quiet_stderr
from clinaudit.audit.runtime.model.adapter import is_finite
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import (
    DecodedRequest,
    GenerationRequest,
    ScoreRequest,
    require_fitting,
    require_scorable,
)
from clinaudit.audit.runtime.model.engines.sampling import draw_tokens
from clinaudit.audit.runtime.model.engines.token_scores import score_texts
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS, load_pretrained
from clinaudit.audit.runtime.run.store import GenerationOutput, TokenScores
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
                if self._device.type == "cpu":
                    _take_into_memory(self._model)
                with torch.no_grad():
                    batches = self._decodes_in_batches(model)
            except (*LOAD_ERRORS, ClinauditError) as error:
                torch.set_num_threads(self._threads_before)
                if isinstance(error, ClinauditError):
                    raise
                raise BadInputError(
                    f"transformers cannot load the model in {model.directory} "
                    f"({type(error).__name__}: {first_line(error)}); save it again with save_pretrained"
                ) from error
        self.context_length = self.longest_scored = context_length
        self._threads = threads
        self._stop_token_ids = model.stop_token_ids
        above = model.long_rope_above
        #: Tokens after which a text is read anew, with other rotary frequencies; None where no text is so long.
        self._read_anew_above = above if above is not None and context_length > above else None
        self._batch_size = options.batch_size if batches and self._read_anew_above is None else 1

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
        """Yield each generation as soon as it is finished."""
        require_fitting(requests, context_length=self.context_length)
        # Longest first, so that a batch's prompts have similar lengths, and a memory shortage shows at once.
        ordered = sorted(requests, key=lambda request: (-len(request.prompt_ids), request.key))
        for start in range(0, len(ordered), self._batch_size):
            batch = ordered[start : start + self._batch_size]
            yield from self._decode([DecodedRequest(request, self._stop_token_ids) for request in batch])

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores of each text, with mean and deviation."""
        require_scorable(requests, longest=self.longest_scored)
        at_once = self._read_anew_above is not None
        yield from score_texts(self._model, requests, batch_size=self._batch_size, at_once=at_once)

    def close(self) -> None:
        """Free the model and restore torch's number of threads."""
        del self._model
        self._torch.set_num_threads(self._threads_before)

    def _decode(self, rows: list[DecodedRequest]) -> Iterator[GenerationOutput]:
        """Decode one batch, left-padded; finished rows leave it, so that later steps cost less."""
        torch = self._torch
        texts, mask = self._padded([row.request.prompt_ids for row in rows])
        cache, token_ids = None, texts
        while rows:
            # no_grad ends before the yield: the caller's code must not run under it.
            with torch.no_grad():
                logits, cache = self._read(token_ids, mask, cache)
                chosen = _choose(logits, rows)  # (rows,)
            finishes = [row.take(token) for row, token in zip(rows, chosen.tolist(), strict=True)]
            for row, finish in zip(rows, finishes, strict=True):
                if finish is not None:
                    yield row.output(finish)
            going = [index for index, finish in enumerate(finishes) if finish is None]
            if len(going) < len(rows):
                rows = [rows[index] for index in going]
                kept = torch.tensor(going, device=self._device, dtype=torch.long)
                chosen, mask, texts = chosen[kept], mask[kept], texts[kept]
                if rows:
                    cache.batch_select_indices(kept)
            token_ids = chosen[:, None]
            texts = torch.cat([texts, token_ids], dim=1)
            mask = torch.cat([mask, mask.new_ones((len(rows), 1))], dim=1)
            if texts.shape[1] - 1 == self._read_anew_above:
                cache, token_ids = None, texts

    def _padded(self, texts: Sequence[Sequence[int]]) -> "tuple[Tensor, Tensor]":
        """Return the ids (rows, longest) of texts padded on the left, and their mask."""
        longest = max(map(len, texts))
        # Padding is masked, so that its id means nothing: 0 is in every vocabulary.
        pads = [longest - len(text) for text in texts]
        ids = [[0] * pad + list(text) for pad, text in zip(pads, texts, strict=True)]
        mask = [[0] * pad + [1] * (longest - pad) for pad in pads]
        return self._torch.tensor(ids, device=self._device), self._torch.tensor(mask, device=self._device)

    def _read(self, token_ids: "Tensor", mask: "Tensor", cache: Any) -> "tuple[Tensor, Any]":
        """Read tokens (rows, new) after those in the cache; return the logits of what follows, and the cache."""
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -token_ids.shape[1] :]
        given = {"input_ids": token_ids, "attention_mask": mask, "position_ids": positions}
        step = self._model(**given, past_key_values=cache, use_cache=True, logits_to_keep=1)
        return step.logits[:, -1], step.get("past_key_values")

    def _decodes_in_batches(self, model: ModelFiles) -> bool:
        """Whether a made-up text is read beside a longer one as alone; `BadInputError` if not even alone as at once."""
        short, long = ([number * 37 % model.vocab_size for number in range(1, count)] for count in (6, 12))
        at_once = self._model(input_ids=self._padded([short])[0], use_cache=False).logits[0, -1]
        if not is_finite(at_once):
            raise BadInputError(
                f"the model in {model.directory} computes no finite numbers in {at_once.dtype}: what it writes means "
                "nothing; look at its training, or save it in a type of a wider range (bfloat16, float32)"
            )
        if self._differs([short], at_once):
            raise BadInputError(
                f"the architecture {type(self._model).__name__} in {model.directory} is not supported by transformers, "
                "token by token; serve the model elsewhere (openai:BASE_URL#MODEL_NAME)"
            )
        return not self._differs([long, short], at_once)

    def _differs(self, texts: Sequence[Sequence[int]], at_once: "Tensor") -> bool:
        """Whether the last text has other logits (v,) over a cache, cut down to it as when other rows are finished."""
        token_ids, mask = self._padded(texts)
        try:
            _, cache = self._read(token_ids[:, :-1], mask[:, :-1], None)
            if len(texts) > 1:
                cache.batch_select_indices(self._torch.tensor([len(texts) - 1], device=self._device))
            logits = self._read(token_ids[-1:, -1:], mask[-1:], cache)[0][0]
        except LOAD_ERRORS:
            return True
        share = 0.001 if logits.element_size() >= 4 else 0.2
        return not (logits - at_once).float().norm() <= share * (at_once - at_once.mean()).float().norm()


def _take_into_memory(model: Any) -> None:
    """Copy weights that still lie in their files, mapped: a file written over meanwhile would change the model."""
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()


def _choose(logits: "Tensor", rows: Sequence[DecodedRequest]) -> "Tensor":
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


def _pick(logits: "Tensor", rows: Sequence[DecodedRequest]) -> "Tensor":
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
