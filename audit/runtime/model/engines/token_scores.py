"""How likely a model of transformers holds the tokens of given texts (docs/methods.md, section 1, "Scores").

Texts of similar length go through the model together, padded on the right, and in steps over the key-value cache: each
token once, and the logits of few at a time in memory. The model's own head makes them, whatever it does beside a
product with its weights.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from clinaudit.audit.runtime.model.engines.protocol import ScoreRequest
from clinaudit.audit.runtime.run.store import TokenScores

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
    """Yield the scores of each text, the longest first: `batch_size` read together at most, or each alone `at_once`."""
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
    """Return whether the model goes on over its cache with several tokens at once.

    Layers of attention do. Some others (recurrent ones, convolutions) begin anew in silence: such a model reads each
    text alone and at once.
    """
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
