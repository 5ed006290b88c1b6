"""The engine by transformers: decoding, and the scores of given texts (docs/methods.md, section 1, "Scores").

It works wherever torch does, slower than vLLM. It has its own decoding loop over the key-value cache, rather than
`generate()`: a row stops at its end of sequence or repeat, leaves the batch and is yielded at once.
"""

import os
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from clinaudit.audit.runtime.console import first_line, quiet_stderr
from clinaudit.audit.runtime.model.adapter import is_finite
from clinaudit.audit.runtime.model.engines import protocol
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import DecodedRequest, GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.model.engines.sampling import draw_tokens
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS, load_pretrained
from clinaudit.audit.runtime.run.store import GenerationOutput, TokenScores
from clinaudit.errors import BadInputError, ClinauditError

if TYPE_CHECKING:
    from torch import Tensor


#: Tokens of all rows in one step at most: more are no faster.
_STEP_TOKENS: Final = 4096
#: Logits of one step at most; three tensors of so many float32 numbers (256 MiB) stand in memory at once.
_STEP_LOGITS: Final = 1 << 26
#: Tokens of one text in a step, before a further text is read beside it.
_ROW_TOKENS: Final = 256
#: Texts this much shorter than the longest are not read beside it: padding costs as much as text.
_ALIKE: Final = 0.8


def score_texts(
    model: Any, requests: Sequence[ScoreRequest], *, batch_size: int, at_once: bool = False
) -> Iterator[TokenScores]:
    """Yield the scores of each text, the longest first: `batch_size` read together at most, or each alone `at_once`.

    Texts of similar length go through the model together, padded on the right, and in steps over the key-value cache:
    each token once, and the logits of few at a time in memory. The model's own head makes them, whatever it does beside
    a product with its weights.
    """
    ordered = sorted(requests, key=lambda request: (-len(request.token_ids), request.key))
    in_steps = bool(ordered) and not at_once and _reads_in_steps(model)
    tokens = max(1, min(_STEP_TOKENS, _STEP_LOGITS // int(model.config.get_text_config(decoder=True).vocab_size)))
    start = 0
    while start < len(ordered):
        longest = len(ordered[start].token_ids)
        rows = max(1, min(batch_size, tokens // min(longest, _ROW_TOKENS))) if in_steps else 1
        alike = (request for request in ordered[start : start + rows] if len(request.token_ids) >= _ALIKE * longest)
        batch = list(alike)
        yield from _score_batch(model, batch, step=max(1, tokens // len(batch)) if in_steps else longest)
        start += len(batch)


def _reads_in_steps(model: Any) -> bool:
    # Whether it goes on over its cache with several tokens at once. Layers of attention do; some others (recurrent,
    # convolutions) begin anew in silence: such a model reads each text alone and at once.
    import torch
    from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

    with torch.no_grad():
        token = torch.zeros((1, 1), dtype=torch.long, device=model.device)
        cache: Any = model(input_ids=token, use_cache=True, logits_to_keep=1).get("past_key_values")
    return type(cache) is DynamicCache and all(
        type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in cache.layers
    )


def _score_batch(model: Any, batch: Sequence[ScoreRequest], *, step: int) -> list[TokenScores]:
    """Score texts together, `step` tokens of each at a time; the longest is the first."""
    import torch

    longest = len(batch[0].token_ids)
    pads = [longest - len(request.token_ids) for request in batch]
    # Padding stands after all that is scored, and is masked: its id means nothing.
    token_ids = torch.tensor(
        [[*request.token_ids, *[0] * pad] for pad, request in zip(pads, batch, strict=True)], device=model.device
    )  # (rows, longest)
    mask = torch.tensor([[1] * (longest - pad) + [0] * pad for pad in pads], device=model.device)
    positions = torch.arange(longest, device=model.device).expand(len(batch), -1)
    first = min(request.first for request in batch)
    cache, parts = None, []
    with torch.no_grad():
        # Nothing is asked of what follows the last token.
        for start in range(0, longest - 1, step):
            end = min(start + step, longest - 1)
            # Position p predicts token p + 1; there is no asking for no logits at all.
            kept = min(end - start, max(1, end - first + 1))
            read = model(
                input_ids=token_ids[:, start:end],
                attention_mask=mask[:, :end],
                position_ids=positions[:, start:end],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=kept,
            )
            cache = read.get("past_key_values")
            if end >= first:
                parts.append(_measure(read.logits[:, -kept:], token_ids[:, end - kept + 1 : end + 1]).cpu())
    measured = torch.cat(parts, dim=-1).numpy()  # (3, rows, longest - first)
    return [
        TokenScores(request.key, *measured[:, row, request.first - first : len(request.token_ids) - first])
        for row, request in enumerate(batch)
    ]


def _measure(logits: "Tensor", tokens: "Tensor") -> "Tensor":
    """Return log p of the tokens (b, s), and mean and standard deviation of log p weighted by p: (3, b, s), float32.

    From logits (b, s, v); Zhang et al., *Min-K%++* (arXiv 2404.02936), section 3.
    """
    import torch

    logs = logits.log_softmax(dim=-1, dtype=torch.float32)
    log_probs = logs.gather(-1, tokens[..., None])[..., 0]
    probabilities = logs.exp()
    # In place, since these are the largest tensors. exp of less is 0; 0 times minus infinity would be no number.
    logs.clamp_(min=-1000.0)
    means = torch.linalg.vecdot(probabilities, logs)
    deviations = torch.linalg.vecdot(probabilities, logs.sub_(means[..., None]).square_()).sqrt()
    return torch.stack([log_probs, means, deviations])


class TransformersEngine:
    """A causal model in float32 on a CPU, else in its own dtype; `BadInputError` where transformers cannot load it."""

    name = "transformers"

    def __init__(self, model: ModelFiles, *, context_length: int, threads: int, options: EngineOptions) -> None:
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
                # Weights may still lie in their files, mapped: a file written over meanwhile would change the model.
                for parameter in self._model.parameters() if self._device.type == "cpu" else ():
                    parameter.data = parameter.data.clone()
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
        protocol.require_fitting(requests, context_length=self.context_length)
        # Longest first, so that a batch's prompts have similar lengths, and a memory shortage shows at once.
        ordered = sorted(requests, key=lambda request: (-len(request.prompt_ids), request.key))
        for start in range(0, len(ordered), self._batch_size):
            batch = ordered[start : start + self._batch_size]
            yield from self._decode([DecodedRequest(request, self._stop_token_ids) for request in batch])

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores of each text, with mean and deviation."""
        protocol.require_scorable(requests, longest=self.longest_scored)
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


def _choose(logits: "Tensor", rows: Sequence[DecodedRequest]) -> "Tensor":
    """Return the next token of each row (b,), where ends are barred of the others; changes the logits (b, v)."""
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
        numbers = [rows[index].number for index in drawn]
        temperatures = [rows[index].request.temperature for index in drawn]
        chosen[drawn] = draw_tokens(logits[drawn], numbers, temperatures=temperatures)
    return chosen
