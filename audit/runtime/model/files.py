"""The files of a model directory, checked before anything loads them (README.md, "PHI and safety"), and its digest.

Models that would run foreign code (pickle weights, `auto_map`), and damaged or missing weights are refused. Reads JSON
and safetensors headers only.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import re2

from clinaudit.audit.runtime.model import model_directory
from clinaudit.audit.runtime.model.adapter import AdapterFiles, base_name_text, inspect_adapter, is_adapter
from clinaudit.audit.runtime.model.model_directory import TOKENIZER_FILES, FileStates, TensorHeader
from clinaudit.audit.runtime.model.tokenizer import TOKENIZER_CONFIG, end_of_text_ids
from clinaudit.errors import BadInputError, StorageError, UnsafeError
from clinaudit.priors.corpus.files import printable

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_CONFIG_FILES = ("config.json", "generation_config.json")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model directory that was found safe and complete."""

    directory: Path
    safetensors: tuple[Path, ...]
    tokenizer: tuple[Path, ...]
    #: SHA-256 over name and content digest of config, weights and tokenizer files, in name order.
    digest: str
    #: Tokens that prompt and generation together may hold.
    context_length: int
    #: Rows of the output layer; the tokenizer may use fewer.
    vocab_size: int
    tensors: tuple[TensorHeader, ...]
    #: How the checkpoint is quantized, e.g. `gptq`; None where it is not.
    quantization: str | None
    #: Ids that end a generation: of `generation_config.json`, of `config.json`, and the tokenizer's end of sequence.
    stop_token_ids: frozenset[int]
    #: Bytes of key-value cache one token takes in float32; None where the config does not say.
    kv_bytes_per_token: int | None
    #: Names of files of weights beside its own and its adapter's that are never opened: pickles, what no index names.
    ignored: tuple[str, ...]
    #: `model_type` of its configuration.
    kind: str = ""
    #: Tokens above which a text is read with other rotary frequencies (longrope); None where it never is.
    long_rope_above: int | None = None
    #: An adapter that is merged into these weights when they are loaded, and the digest of its base alone.
    adapter: AdapterFiles | None = None
    base_digest: str | None = None
    #: Of each file as it was when the digest was taken.
    states: FileStates = field(default_factory=dict)
    #: Whether the weights were found to be those of the network (`pretrained.require_own_weights`).
    is_compared: bool = False

    @property
    def tokenizer_directory(self) -> Path:
        """Where the tokenizer's files lie."""
        return self.tokenizer[0].parent


def inspect_model(path: Path) -> ModelFiles:
    """Check and describe a model directory; `BadInputError` where it is not whole, `UnsafeError` for code."""
    directory = model_directory.existing_directory(path)
    if is_adapter(directory):
        raise BadInputError(
            f"an adapter, not a whole model: {directory}; give it as MODEL with --base-model DIR, the directory of the "
            f"model that it was trained on{base_name_text(directory)}"
        )
    config = model_directory.read_json(directory / "config.json")
    require_causal(config, directory)
    if config.get("transformers_weights"):  # vLLM does not know it
        raise BadInputError(f"config.json in {directory} names weights (transformers_weights); save the model again")
    headers = _read_weights(directory)
    if not model_directory.has_tokenizer(directory):
        raise BadInputError(
            f"no tokenizer in {directory}: none of tokenizer.json, vocab.json with merges.txt, tokenizer.model; "
            "save the model's tokenizer beside its weights"
        )
    settings = model_directory.optional_json(directory, TOKENIZER_CONFIG)
    text = _text_settings(config, directory)
    if type(text.get("vocab_size")) is not int or text["vocab_size"] < 1:
        raise BadInputError(f"config.json in {directory} gives no vocab_size; add it, or save the model again")
    weights, tokenizer = tuple(headers), model_directory.present(directory, TOKENIZER_FILES)
    files = [*model_directory.present(directory, (*_CONFIG_FILES, _INDEX)), *weights, *tokenizer]
    # Before the digest, which takes a while.
    states = model_directory.states_of(files)
    return ModelFiles(
        directory=directory,
        safetensors=weights,
        tokenizer=tokenizer,
        digest=model_directory.digest_files(files),
        context_length=context_length_of(text, settings),
        vocab_size=text["vocab_size"],
        tensors=tuple(tensor for of_file in headers.values() for tensor in of_file.values()),
        quantization=_quantization(config, text),
        stop_token_ids=_stop_token_ids(directory, config, text),
        kv_bytes_per_token=_kv_bytes_per_token(text),
        ignored=model_directory.ignored_weights(directory, weights),
        kind=str(config.get("model_type")),
        long_rope_above=long_rope_above(text),
        states=states,
    )


def require_unchanged(files: ModelFiles) -> None:
    """Raise `StorageError` where a file is not the one whose digest was taken: a run may load its models days later."""
    for file, state in files.states.items():
        try:
            if model_directory.states_of([file])[file] == state:
                continue
            what = "changed"
        except OSError as error:
            what = f"cannot be read any more ({error.strerror})"
        raise StorageError(
            f"{printable(file.name)} of the model in {file.parent} {what} after it was checked; bring back what was "
            "there and run the same command again, or audit the new model in another --out"
        )


def inspect_adapted(path: Path, *, base: Path) -> ModelFiles:
    """Describe an adapter and its base as one model, with its own tokenizer if any; else as `inspect_model`."""
    adapter, model = inspect_adapter(path), inspect_model(base)
    if model.quantization is not None:
        raise BadInputError(
            f"the base model in {model.directory} is quantized ({model.quantization}), and an adapter cannot be merged "
            "into it; give the same model before it was quantized"
        )
    place = adapter.directory if model_directory.has_tokenizer(adapter.directory) else model.directory
    tokenizer = model_directory.present(place, TOKENIZER_FILES)
    both = f"{model.digest}\0{adapter.digest}\0{model_directory.digest_files(tokenizer)}"
    return replace(
        model,
        tokenizer=tokenizer,
        digest=hashlib.sha256(both.encode("ascii")).hexdigest(),
        stop_token_ids=model.stop_token_ids | end_of_text_ids(place),
        ignored=tuple(sorted({*model.ignored, *model_directory.ignored_weights(adapter.directory, [adapter.weights])})),
        adapter=adapter,
        base_digest=model.digest,
        states={**model.states, **adapter.states, **model_directory.states_of(tokenizer)},
    )


def _text_settings(config: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Return the settings of the language model; models that also see images keep them apart."""
    nested = config.get("text_config")
    if not isinstance(nested, dict):
        return config
    if "vocab_size" in nested or not _has_causal_class(str(config.get("model_type")), ""):
        return nested
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig

    # Older releases of transformers saved what differs from the kind's own settings alone.
    try:
        whole: Any = AutoConfig.from_pretrained(str(directory), trust_remote_code=False, local_files_only=True)
        return dict(whole.get_text_config(decoder=True).to_dict())
    except (ValueError, TypeError, AttributeError, LookupError, OSError, StrictDataclassError):
        return nested


def _read_weights(directory: Path) -> dict[Path, dict[str, TensorHeader]]:
    """Return the tensors of each file of weights."""
    index = directory / _INDEX
    if not index.is_file():
        files = sorted(directory.glob("*.safetensors"))
        if not files:
            model_directory.refuse_without_safetensors(directory)
        # vLLM loads every *.safetensors where there is no index, transformers only this one: they must be the same.
        if others := [file.name for file in files if file.name != _SINGLE]:
            advice = "save the model again" if len(others) == len(files) else f"remove {printable(others[0])}"
            raise BadInputError(f"without {_INDEX} the weights must be one file, {_SINGLE}, in {directory}; {advice}")
        return {files[0]: model_directory.read_header(files[0])}
    weight_map = model_directory.read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise BadInputError(f"no weight_map in {index}; download or save the model again")
    names = sorted({str(name) for name in weight_map.values()})
    if foreign := [name for name in names if Path(name).name != name or not name.endswith(".safetensors")]:
        raise UnsafeError(
            f"{index} names {printable(foreign[0])}, which is no safetensors file beside it; save the model again"
        )
    if _SINGLE not in names and (directory / _SINGLE).is_file():
        # transformers reads the single file, vLLM what the index names.
        raise BadInputError(
            f"two sets of weights in {directory}, of which one is left over: remove {_INDEX} if {_SINGLE} is the "
            f"model, else {_SINGLE}"
        )
    if missing := [f"missing: {name}" for name in names if not (directory / name).is_file()]:
        raise BadInputError(f"weights named by {index} are missing; download the model again", missing)
    headers = {directory / name: model_directory.read_header(directory / name) for name in names}
    if elsewhere := sorted({name for tensor, name in weight_map.items() if tensor not in headers[directory / name]}):
        problems = [f"lacks weights that the index expects in it: {name}" for name in elsewhere]
        raise BadInputError(f"{index} belongs to other files; download or save the model again", problems)
    counts = Counter(tensor for of_file in headers.values() for tensor in of_file)
    if twice := [f"in two files: {printable(tensor)}" for tensor, count in counts.items() if count > 1]:
        raise BadInputError(f"weights are in several files named by {index}; save the model again", twice)
    return headers


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


def _stop_token_ids(directory: Path, config: dict[str, Any], text: dict[str, Any]) -> frozenset[int]:
    ids = end_of_text_ids(directory)
    for source in (model_directory.optional_json(directory, "generation_config.json"), config, text):
        value = source.get("eos_token_id")
        ids.update(item for item in (value if isinstance(value, list) else [value]) if type(item) is int)
    # One beyond the output layer ends nothing, and cannot be barred.
    return frozenset(end for end in ids if 0 <= end < text["vocab_size"])


def _quantization(config: dict[str, Any], text: dict[str, Any]) -> str | None:
    for settings in (of.get(name) for of in (config, text) for name in ("quantization_config", "compression_config")):
        if isinstance(settings, dict):
            return printable(str(settings.get("quant_method") or settings.get("format") or "unknown method"))
    return None


def _kv_bytes_per_token(text: dict[str, Any]) -> int | None:
    """Return the bytes of all layers' keys and values of one token in float32; an upper bound for mixed attention."""
    layers, heads, hidden = (text.get(name) for name in ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    if not (type(layers) is int and type(heads) is int and type(hidden) is int and heads > 0):
        return None
    kept, width = text.get("num_key_value_heads"), text.get("head_dim")
    return 8 * layers * (kept if type(kept) is int else heads) * (width if type(width) is int else hidden // heads)


def digest_of_listed(files: Mapping[str, str]) -> str:
    """Return the digest of the model whose files have these SHA-256, by name; what else is listed is left out."""
    read = {*_CONFIG_FILES, *TOKENIZER_FILES, _INDEX}
    return model_directory.digest_contents(
        {name: digest for name, digest in files.items() if name in read or name.endswith(".safetensors")}
    )
