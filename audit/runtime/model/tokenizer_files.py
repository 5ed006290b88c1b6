"""What the files of a tokenizer say: its rules as the `tokenizers` library reads them, its roles, its chat template.

Owns that the ids of a text are those of `tokenizer.json`, the file that the model was trained with, whatever class
`tokenizer_config.json` names. Imports no torch; knows nothing of texts.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.model.model_directory import optional_json
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

TOKENIZER_CONFIG: Final = "tokenizer_config.json"
_TEMPLATE: Final = "chat_template.jinja"
#: As transformers names them; each may be a text or a record with `content`.
_ROLES: Final = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_MORE: Final = ("additional_special_tokens", "extra_special_tokens")


@dataclass(frozen=True, slots=True)
class TokenizerSettings:
    """What a tokenizer's files say beside its rules: the class of transformers, and what follows."""

    class_name: str
    #: The tokens with a role, such as `eos_token`, by role.
    roles: Mapping[str, str]
    #: Further tokens that are said to be no text.
    more_special: tuple[str, ...]
    #: None: there is none; empty: there are several, and none is the default.
    chat_template: str | None


def read_settings(directory: Path) -> TokenizerSettings:
    """Read what stands beside `tokenizer.json`; raises `BadInputError` for a file that is no JSON object."""
    config = optional_json(directory, TOKENIZER_CONFIG)
    # `special_tokens_map.json` is older, and alone in some folders.
    sources = (optional_json(directory, "special_tokens_map.json"), config)
    roles = {role: text for file in sources for role in _ROLES if (text := _spelled(file.get(role)))}
    more = [text for file in sources for name in _MORE for one in _values(file.get(name)) if (text := _spelled(one))]
    named = str(config.get("tokenizer_class") or "")
    return TokenizerSettings(named, roles, tuple(dict.fromkeys(more)), _chat_template(directory, config))


def _spelled(token: object) -> str:
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else ""


def _values(tokens: object) -> list[Any]:
    return list(tokens.values()) if isinstance(tokens, dict) else tokens if isinstance(tokens, list) else []


def _chat_template(directory: Path, config: Mapping[str, Any]) -> str | None:
    file = directory / _TEMPLATE
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace")
    template = config.get("chat_template")
    if isinstance(template, list):
        template = {str(one.get("name")): one.get("template") for one in template if isinstance(one, dict)}
    if isinstance(template, dict):
        template = template.get("default") or ""
    return template if isinstance(template, str) else None


def end_of_text_ids(directory: Path) -> set[int]:
    """Return the id of the tokenizer's own end of sequence, as a set of none or one; raises as `load_rules`."""
    eos = read_settings(directory).roles.get("eos_token")
    number = load_rules(directory).token_to_id(eos) if eos else None
    return set() if number is None else {number}


def load_rules(directory: Path) -> Any:
    """Return the `tokenizers.Tokenizer` of a directory, with all that changes from call to call or batch to batch off.

    Raises `BadInputError` where there is none.
    """
    from tokenizers import Tokenizer

    file = directory / "tokenizer.json"
    if file.is_file():
        try:
            rules: Any = Tokenizer.from_file(str(file))
        except Exception as error:  # noqa: BLE001 (the library raises plain `Exception`)
            raise BadInputError(
                f"the tokenizer in {directory.name} cannot be loaded: tokenizer.json is not as the tokenizers library "
                f"reads it ({type(error).__name__}); save the tokenizer again, or download it again"
            ) from None
    else:
        rules = _convert(directory)
    rules.no_padding()
    rules.no_truncation()
    if getattr(rules.model, "dropout", None):
        # For training: the same text would get other ids at every call.
        rules.model.dropout = None
    if rules.decoder is None:
        rules.decoder = _lost_decoder(json.loads(rules.to_str()))
    return rules


def _convert(directory: Path) -> Any:
    """Return the rules that transformers makes of older files, where it can."""
    import transformers
    from tokenizers import Tokenizer

    named = printable(read_settings(directory).class_name)[:80] or "unnamed"
    quieten: Any = transformers.utils.logging.set_verbosity_error
    quieten()
    why = ""
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
        if (backend := getattr(loaded, "backend_tokenizer", None)) is not None:
            return Tokenizer.from_str(backend.to_str())
    except Exception as error:  # noqa: BLE001 (the tokenizers library raises plain `Exception`)
        lacks = f"; {error.name} is not installed" if isinstance(error, ImportError) and error.name else ""
        why = f", {type(error).__name__}{lacks}"
    raise BadInputError(
        f"the tokenizer in {directory.name} cannot be loaded: it has no tokenizer.json, and of its other files "
        f"transformers makes none (class {named}{why}); slow tokenizers (Python code) are not read; save it as a fast "
        "tokenizer"
    )


def parts_of(rules: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a part of the rules (`decoder`, `pre_tokenizer`, `normalizer`) and those inside it, in their order."""

    def inside(part: object) -> Iterator[dict[str, Any]]:
        if isinstance(part, dict):
            yield part
            for value in part.values():
                for inner in value if isinstance(value, list) else ():
                    yield from inside(inner)

    return list(inside(rules.get(name)))


def _lost_decoder(rules: Mapping[str, Any]) -> Any:
    """Return the decoder that belongs to the rules, of a tokenizer that was saved without; None: tokens are words."""
    from tokenizers import decoders

    model = rules["model"]
    before = {part.get("type"): part for name in ("normalizer", "pre_tokenizer") for part in parts_of(rules, name)}
    if "ByteLevel" in before:
        return decoders.ByteLevel()
    if "Metaspace" in before:
        return decoders.Metaspace(replacement=before["Metaspace"]["replacement"])
    if prefix := model.get("continuing_subword_prefix"):
        return decoders.WordPiece(prefix)
    if suffix := model.get("end_of_word_suffix"):
        return decoders.BPEDecoder(suffix)
    return None
