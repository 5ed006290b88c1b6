"""The audited model's own tokenizer: the ids of a text, and the characters of each token (offset mapping).

The ids of a text are those of `tokenizer.json`, the file that the model was trained with, whatever class
`tokenizer_config.json` names. A token's characters are those to which its bytes contribute when the bytes of all tokens
are concatenated (docs/methods.md, section 2, "Text of a region"). Imports no torch.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.model.model_directory import TOKENIZER_FILES, optional_json, present
from clinaudit.audit.runtime.run.directory import sha256_of
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

TOKENIZER_CONFIG: Final = "tokenizer_config.json"
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
    named = [file.get(name) for file in sources for name in _MORE]
    lists = (list(of.values()) if isinstance(of, dict) else of for of in named if isinstance(of, dict | list))
    more = dict.fromkeys(text for tokens in lists for one in tokens if (text := _spelled(one)))
    file = directory / "chat_template.jinja"
    if file.is_file():
        template: object = file.read_text(encoding="utf-8", errors="replace")
    else:
        # Models that also see images keep theirs in a JSON of its own.
        template = config.get("chat_template") or optional_json(directory, "chat_template.json").get("chat_template")
        if isinstance(template, list):
            template = {str(one.get("name")): one.get("template") for one in template if isinstance(one, dict)}
        if isinstance(template, dict):
            template = template.get("default") or ""
    chat_template = template if isinstance(template, str) else None
    return TokenizerSettings(str(config.get("tokenizer_class") or ""), roles, tuple(more), chat_template)


def _spelled(token: object) -> str:
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else ""


def end_of_text_ids(directory: Path) -> set[int]:
    """Return the id of the tokenizer's own end of sequence, as a set of none or one; raises as `load_rules`."""
    eos = read_settings(directory).roles.get("eos_token")
    number = load_rules(directory).token_to_id(eos) if eos else None
    return set() if number is None else {number}


def load_rules(directory: Path) -> Any:
    """Return the rules of a directory, with all that changes from call to call off; `BadInputError` where none are."""
    from tokenizers import Tokenizer

    file = directory / "tokenizer.json"
    if not file.is_file():
        # What another program makes of a slow tokenizer's files may cut texts otherwise than training did.
        raise BadInputError(
            f"the tokenizer in {directory.name} has no tokenizer.json, which alone says how texts are cut; give that "
            "of training, or have transformers save it as a fast tokenizer (AutoTokenizer, save_pretrained)"
        )
    try:
        rules: Any = Tokenizer.from_file(str(file))
    except Exception as error:  # noqa: BLE001 (the library raises plain `Exception`)
        raise BadInputError(
            f"the tokenizer in {directory.name} cannot be loaded: tokenizer.json is not as the tokenizers library "
            f"reads it ({type(error).__name__}); save the tokenizer again, or download it again"
        ) from None
    rules.no_padding()
    rules.no_truncation()
    if getattr(rules.model, "dropout", None):
        # For training: the same text would get other ids at every call.
        rules.model.dropout = None
    if rules.decoder is None:
        rules.decoder = _lost_decoder(json.loads(rules.to_str()))
    return rules


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


def digest_tokenizer(directory: Path) -> str:
    """Return the SHA-256 over the tokenizer's files, by name: the same where training loaded and saved it."""
    digests = {file.name: sha256_of(file) for file in present(directory, sorted(TOKENIZER_FILES))}
    if TOKENIZER_CONFIG in digests:
        # What transformers writes of how the tokenizer was loaded changes no token.
        of_loading = ("is_local", "local_files_only", "name_or_path")
        config = optional_json(directory, TOKENIZER_CONFIG).items()
        kept = json.dumps({name: value for name, value in config if name not in of_loading}, sort_keys=True)
        digests[TOKENIZER_CONFIG] = hashlib.sha256(kept.encode()).hexdigest()
    lines = (f"{name} {digest}\n" for name, digest in digests.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


#: Where each token stands in a text: starts and ends in characters, `(tokens, 2)`.
Places = npt.NDArray[np.int64]
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>\Z")
#: Decoders to which a token's text depends on the token before it: pieces and ends of words, repeated characters.
_BY_NEIGHBOURS: Final = frozenset({"WordPiece", "BPEDecoder", "CTC"})


#: The byte each character of a byte-level BPE vocabulary stands for (as in GPT-2's `bytes_to_unicode`).
_PLAIN_BYTES: Final = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
_BYTE_LEVEL: Final = {chr(byte): byte for byte in _PLAIN_BYTES} | {
    chr(256 + rank): byte for rank, byte in enumerate(byte for byte in range(256) if byte not in _PLAIN_BYTES)
}


def decode_with_spans(pieces: Sequence[bytes]) -> tuple[str, Places]:
    """Concatenate the tokens' bytes; return the text and each token's characters.

    Bytes that are no UTF-8 become U+FFFD, one for each maximal ill-formed part, as `bytes.decode(errors="replace")`
    does. A character split over tokens belongs to each of them; a token without bytes has zero width.
    """
    whole = b"".join(pieces)
    lengths = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
    ends = np.cumsum(lengths)
    if whole.isascii():
        return whole.decode("ascii"), np.stack([ends - lengths, ends], axis=1)
    begins = (np.frombuffer(whole, dtype=np.uint8) & 0xC0) != 0x80
    position = 0
    while position < len(whole):
        try:
            whole[position:].decode("utf-8")
            break
        except UnicodeDecodeError as error:
            begins[position + error.start : position + error.end] = False
            begins[position + error.start] = True
            position += error.end
    # Characters that have begun before each byte, and before the end.
    begun = np.concatenate([[0], np.cumsum(begins)])
    # A token that begins within a character holds it, too.
    starts = np.where(lengths, begun[np.minimum(ends - lengths + 1, len(whole))] - 1, begun[ends])
    return whole.decode("utf-8", errors="replace"), np.stack([starts, begun[ends]], axis=1)


def _without_gaps(spans: Sequence[tuple[int, int]], text: str) -> Places:
    # A tokenizer may trim its offsets: blanks of no token go to that after them, and other characters (an accent that
    # was composed with its letter) to the one before them.
    widened: list[list[int]] = []
    before = 0
    for start, end in spans:
        if before < start:
            blanks_begin = before + len(text[before:start].rstrip())
            if widened:
                widened[-1][1] = max(widened[-1][1], blanks_begin)
                start = blanks_begin
            elif blanks_begin == before:
                start = before
        widened.append([start, end])
        before = max(before, end)
    return np.array(widened, dtype=np.int64).reshape(-1, 2)


class ModelTokenizer:
    """A model's tokenizer, loaded from its directory without network or remote code."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: Roles, chat template and class, as the files beside the rules name them.
        self.settings = read_settings(directory)
        self._backend: Any = load_rules(directory)
        rules = json.loads(self._backend.to_str())
        # The decoder shows how a vocabulary entry spells text.
        decoder = parts_of(rules, "decoder")
        kinds = {str(part.get("type")) for part in decoder}
        #: What stands for other text in tokens, mostly a mark for a blank.
        self._replaced = [
            (part["replacement"], " ") if "replacement" in part else (part["pattern"]["String"], part["content"])
            for part in decoder
            if "replacement" in part or "String" in (part.get("pattern") or {})
        ]
        self._alphabet = _BYTE_LEVEL if "ByteLevel" in kinds else None
        self._has_byte_tokens = "ByteFallback" in kinds
        self._is_spelled_alone = bool(kinds) and kinds.isdisjoint(_BY_NEIGHBOURS)
        added = self._backend.get_added_tokens_decoder()
        named = map(self._backend.token_to_id, (*self.settings.roles.values(), *self.settings.more_special))
        #: Ids of the control tokens, which have no text.
        self.special_ids = frozenset(token_id for token_id in named if token_id is not None) | {
            token_id for token_id, token in added.items() if token.special
        }
        self._added = {token_id: token.content for token_id, token in added.items()}
        #: Ids of the vocabulary, added tokens included.
        self.size = self._backend.get_vocab_size(with_added_tokens=True)

    def __getstate__(self) -> dict[str, Any]:
        # Another machine has caches of its own.
        return {name: held for name, held in vars(self).items() if name not in ("bytes_of", "_bytes_after")}

    @cached_property
    def bytes_of(self) -> Callable[[int], bytes]:
        """What returns the bytes of a token that is spelled alone; none for a special token."""
        return lru_cache(maxsize=None)(self._spell)

    @cached_property
    def _bytes_after(self) -> Callable[[int | None, int], bytes]:
        """The same of a token whose text depends on the token before it; None: it is the first."""
        return lru_cache(maxsize=1 << 18)(self._decode_after)

    @property
    def eos_id(self) -> int | None:
        """The end-of-sequence token's id, if there is one."""
        return self.id_of(self.settings.roles.get("eos_token", ""))

    @property
    def unknown_token(self) -> str:
        """How a word without a token is spelled, where it is spelled at all."""
        return str(getattr(self._backend.model, "unk_token", None) or "")

    @property
    def has_chat_template(self) -> bool:
        """Whether the tokenizer's files hold a chat template."""
        return self.settings.chat_template is not None

    @property
    def special_tokens(self) -> frozenset[str]:
        """How the control tokens are spelled in a prompt."""
        return frozenset(map(self._backend.id_to_token, self.special_ids))

    def id_of(self, token: str) -> int | None:
        """Return the id of a token as the vocabulary spells it; None where it has no such token."""
        return cast("int | None", self._backend.token_to_id(token))

    def require_embedded(self, embeddings: int) -> None:
        """Raise `BadInputError` where a token has an id for which a model with so many embeddings has none.

        A control token that neither prompts nor chats can hold (padding, a mark of images) is no token any more: texts
        that spell it out are read as text, and no engine is told its id.
        """
        beyond = {token_id: token for token, token_id in self._backend.get_vocab().items() if token_id >= embeddings}
        if not beyond:
            return
        # Control tokens beside the vocabulary may go that stand in no prompt: no beginning, end or turn.
        roles = {token for role, token in self.settings.roles.items() if role not in ("pad_token", "mask_token")}
        kept = {*roles, *self._backend.get_vocab(with_added_tokens=False), *self._backend.encode("").tokens}
        template = self.settings.chat_template or ""
        is_written = any(one in kept or one in template for one in beyond.values())
        if self.special_ids >= beyond.keys() and not is_written:
            rules = json.loads(self._backend.to_str())
            rules["added_tokens"] = [token for token in rules["added_tokens"] if token["id"] not in beyond]
            self._backend = type(self._backend).from_str(json.dumps(rules))
            self.special_ids = self.special_ids.difference(beyond)
            self._added = {token_id: token for token_id, token in self._added.items() if token_id not in beyond}
            self.size = self._backend.get_vocab_size(with_added_tokens=True)
        else:
            token_id, token = min(beyond.items())
            more = f", and {len(beyond) - 1} more" if len(beyond) > 1 else ""
            raise BadInputError(
                f"the tokenizer in {self.directory.name} has a token for which the model has no embedding: "
                f"{printable(token)[:40]} is number {token_id}{more}, and the model has {embeddings} embeddings, "
                "counted from 0; give the tokenizer that the model was trained with, or save the model with as many "
                "embeddings as its tokenizer has tokens"
            )

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text alone, without special tokens (docs/methods.md, section 2)."""
        return tuple(self._backend.encode(text, add_special_tokens=False).ids)

    def encode_many(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """Return the ids of each text as `encode` does, on all processors; each of shape (tokens,)."""
        # Without offsets, which take more time and memory than the ids.
        encoded = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(one.ids, dtype=np.uint32) for one in encoded]

    def encode_prompt(self, text: str) -> tuple[int, ...]:
        """Return the ids of a prompt, with the special tokens before it; after those behind it another text begins."""
        encoded = self._backend.encode(text)
        behind = sum(1 for _ in takewhile(bool, reversed(encoded.special_tokens_mask)))
        return tuple(encoded.ids[: len(encoded.ids) - behind])

    def decode_with_spans(self, token_ids: Iterable[int]) -> tuple[str, Places]:
        """Return the text of generated ids and the characters of each, `(tokens, 2)`."""
        if self._is_spelled_alone:
            return decode_with_spans(list(map(self.bytes_of, token_ids)))
        pieces, before = [], None
        for token_id in token_ids:
            if token_id in self.special_ids:
                pieces.append(b"")
                continue
            pieces.append(self._bytes_after(before, token_id))
            before = token_id
        return decode_with_spans(pieces)

    def encode_with_spans(self, text: str) -> tuple[tuple[int, ...], Places]:
        """Return the ids of a text without ids of its own, and the characters of each, `(tokens, 2)`."""
        ids = self.encode(text)
        laid, spans = self.decode_with_spans(ids)
        if laid == text:
            return ids, spans
        is_special = np.array([token_id in self.special_ids for token_id in ids], dtype=np.bool_)
        # Where the text spells out a special token, its bytes count for the layout, but the token has zero width.
        if self._is_spelled_alone:
            laid, spans = decode_with_spans(
                [self._added.get(one, "").encode() if one in self.special_ids else self.bytes_of(one) for one in ids]
            )
        if laid != text:
            # A tokenizer that rewrites text (case, accents, unknown characters): its bytes do not give the text back.
            spans = _without_gaps(self._backend.encode(text, add_special_tokens=False).offsets, text)
        spans[is_special, 1] = spans[is_special, 0]
        return ids, spans

    def place_tokens(self, token_ids: npt.NDArray[np.uint32], text: str) -> Places:
        """Return the characters of each token of a text as `encode_with_spans` does."""
        laid, spans = self.decode_with_spans(token_ids.tolist())
        return spans if laid == text else self.encode_with_spans(text)[1]

    def place_generated(self, token_ids: Sequence[int], text: str) -> Places:
        """Return the characters of each token of a generated text, which may lack the blank that its ids begin with."""
        laid, spans = self.decode_with_spans(token_ids)
        # Some tokenizers leave out the first blank when they decode.
        if laid == f" {text}":
            return np.maximum(spans - 1, 0)
        return spans if laid == text else self.encode_with_spans(text)[1]

    def _spell(self, token_id: int) -> bytes:
        if token_id in self._added and token_id not in self.special_ids:
            return str(self._added[token_id]).encode("utf-8")
        token = self._backend.id_to_token(token_id)
        # An id beyond the vocabulary (padding of the embedding matrix): the model can emit it, it has no text.
        if token is None or token_id in self.special_ids:
            return b""
        if self._alphabet is not None and all(char in self._alphabet for char in token):
            return bytes([self._alphabet[char] for char in token])
        if self._has_byte_tokens and (match := _BYTE_TOKEN.match(token)):
            return bytes.fromhex(match[1])
        for mark, text in self._replaced:
            token = token.replace(mark, text)
        return str(token).encode("utf-8")

    def _decode_after(self, before: int | None, token_id: int) -> bytes:
        # What the library's own decoder adds for the token to the text of the token before it.
        ids = [[token_id]] if before is None else [[token_id], [before], [before, token_id]]
        alone, *both = (str(self._backend.decode(some, skip_special_tokens=False)) for some in ids)
        added = both[1].removeprefix(both[0]) if both and both[1].startswith(both[0]) else alone
        return added.encode("utf-8")
