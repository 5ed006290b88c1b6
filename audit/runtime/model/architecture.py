"""What config.json says of a network: whether it continues texts, and how their length matters. Reads no weights."""

from pathlib import Path
from typing import Any, Final

import re2

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

#: Names of the limit beside `max_position_embeddings`.
_CONTEXT: Final = r"n_positions|n_ctx|max_target_positions|context_length|(max_)?seq(uence)?_len(gth)?"
#: Tokens where neither the configuration nor the tokenizer says a limit (ALiBi, state-space): more than any note.
_NO_LIMIT: Final = 1 << 17
#: Kinds with a causal class that looks ahead unless `is_decoder` is true: those of transformers 5.19 with a masked one.
_ENCODERS: Final = (
    "bert|big_bird|camembert|data2vec-text|electra|ernie|megatron-bert|rembert|roberta|roberta-prelayernorm|roc_bert|"
    "roformer|xlm-roberta|xlm-roberta-xl|xmod"
)
#: Kinds whose state transformers 5.19 puts into no cache that a loop over tokens can go on with: each was tried.
NOT_BY_TRANSFORMERS: Final = frozenset(
    ("falcon_mamba", "mamba", "mamba2", "openai-gpt", "recurrent_gemma", "reformer", "rwkv", "xlm", "xlnet", "xlstm")
)


def require_causal(config: dict[str, Any], directory: Path) -> None:
    """Raise `BadInputError` for a model that cannot continue a text (`BertForMaskedLM`); unknown kinds may pass."""
    kind, named = str(config.get("model_type")), config.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    if config.get("is_encoder_decoder") is True:
        why = "an encoder-decoder, which answers a text and does not continue it"
    elif "MaskedLM" in architecture or (re2.fullmatch(_ENCODERS, kind) and not config.get("is_decoder")):
        why = "a masked language model or another encoder, which looks at both sides of a token"
    elif re2.search("Classification|QuestionAnswering|MultipleChoice|Reward|Regression", architecture):
        why = "a network whose head scores texts and writes none"
    elif not re2.search("ForCausalLM|LMHeadModel", architecture) and not _has_causal_class(kind, architecture):
        why = "of a kind that has no causal language model in transformers (an encoder, or of images or sound)"
    else:
        return
    raise BadInputError(
        f"the model in {directory} is no causal language model: {printable(architecture or kind)} is {why}; "
        "give a model that continues texts, saved with the head that writes them (such as LlamaForCausalLM)"
    )


def _has_causal_class(kind: str, architecture: str) -> bool:
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    causal = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
    # A network saved without its head (`LlamaModel`) is loaded by its kind: the head may be the embeddings.
    by_kind = causal is not None and (not architecture or architecture.endswith("Model"))
    return by_kind or architecture == causal or kind not in CONFIG_MAPPING


def context_length_of(text: dict[str, Any], tokenizer: dict[str, Any]) -> int:
    """Return the tokens that prompt and generation may hold, by the configuration, else by the tokenizer's."""
    others = [value for name, value in text.items() if re2.fullmatch(_CONTEXT, name)]
    # A configuration may say two, of which one is a training's: the smaller leaves out what might fit, and says so.
    for limits in ([text.get("max_position_embeddings")], others, [tokenizer.get("model_max_length")]):
        # Where there is no limit, transformers writes 10^30 into the tokenizer's.
        known = [limit for limit in limits if type(limit) is int and 0 < limit < 1 << 32]
        if known:
            return min(known)
    return _NO_LIMIT


def long_rope_above(text: dict[str, Any]) -> int | None:
    """Return above how many tokens a text is read with other rotary frequencies (longrope); None where never."""
    settings = text.get("rope_parameters") or text.get("rope_scaling")
    # Kinds of layers may have their own. Dynamic NTK changes above `max_position_embeddings`, which no text here is.
    nested = settings.values() if isinstance(settings, dict) else ()
    for rope in (settings, *nested):
        if isinstance(rope, dict) and {rope.get("rope_type"), rope.get("type")} & {"longrope", "su"}:
            return int(rope.get("original_max_position_embeddings") or text.get("original_max_position_embeddings", 0))
    return None
