"""The audited model's own tokenizer: the ids of a text, and the characters of each token (offset mapping).

Owns the way from ids to characters (docs/methods.md, section 2, "Text of a region"): a token's characters are those to
which its bytes contribute when the bytes of all tokens are concatenated. Knows nothing of notes or matches.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.model.files import digest_tokenizer
from clinaudit.audit.runtime.model.tokenizer_files import load_rules, parts_of, read_settings
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

#: Where each token stands in a text: starts and ends in characters, `(tokens, 2)`.
Places = npt.NDArray[np.int64]
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>\Z")
#: Decoders to which a token's text depends on the token before it: pieces and ends of words, repeated characters.
_BY_NEIGHBOURS: Final = frozenset({"WordPiece", "BPEDecoder", "CTC"})


def _byte_level_alphabet() -> dict[str, int]:
    """Return the byte each character of a byte-level BPE vocabulary stands for (as in GPT-2's `bytes_to_unicode`)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + rank): byte for rank, byte in enumerate(others)}


def decode_with_spans(pieces: Sequence[bytes]) -> tuple[str, Places]:
    """Concatenate the tokens' bytes; return the text and each token's characters.

    Bytes that are no UTF-8 become U+FFFD, one for each maximal ill-formed part, as `bytes.decode(errors="replace")`
    does. A character split over tokens belongs to each of them; a token without bytes has zero width.
    """
    whole = b"".join(pieces)
    begins = (np.frombuffer(whole, dtype=np.uint8) & 0xC0) != 0x80
    position = len(whole) if whole.isascii() else 0
    while position < len(whole):
        try:
            whole[position:].decode("utf-8")
            break
        except UnicodeDecodeError as error:
            begins[position + error.start : position + error.end] = False
            begins[position + error.start] = True
            position += error.end
    lengths = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
    ends = np.cumsum(lengths)
    # Characters that have begun before each byte, and before the end.
    begun = np.concatenate([[0], np.cumsum(begins)])
    # A token that begins within a character holds it, too.
    starts = np.where(lengths, begun[np.minimum(ends - lengths + 1, len(whole))] - 1, begun[ends])
    return whole.decode("utf-8", errors="replace"), np.stack([starts, begun[ends]], axis=1)


def _without_gaps(spans: Sequence[tuple[int, int]], text: str) -> Places:
    """Assign the characters of no token to one: blanks to the token after them (a tokenizer may trim its offsets).

    Other characters (an accent that was composed with its letter) go to the token before them.
    """
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
        self._alphabet = _byte_level_alphabet() if "ByteLevel" in kinds else None
        self._has_byte_tokens = "ByteFallback" in kinds
        self._is_spelled_alone = bool(kinds) and kinds.isdisjoint(_BY_NEIGHBOURS)
        added = self._backend.get_added_tokens_decoder()
        named = map(self._backend.token_to_id, (*self.settings.roles.values(), *self.settings.more_special))
        #: Ids of the control tokens, which have no text.
        self.special_ids = frozenset(token_id for token_id in named if token_id is not None) | {
            token_id for token_id, token in added.items() if token.special
        }
        self._added = {token_id: token.content for token_id, token in added.items()}
        #: Returns the bytes of a token that is spelled alone; none for a special token.
        self.bytes_of: Callable[[int], bytes] = lru_cache(maxsize=None)(self._spell)
        #: The same of a token whose text depends on the token before it; None: it is the first.
        self._bytes_after: Callable[[int | None, int], bytes] = lru_cache(maxsize=1 << 18)(self._decode_after)
        #: Ids of the vocabulary, added tokens included.
        self.size = self._backend.get_vocab_size(with_added_tokens=True)

    def __reduce__(self) -> tuple[Callable[[Path, str], "ModelTokenizer"], tuple[Path, str]]:
        directory = self.directory.resolve()
        return _load_same, (directory, digest_tokenizer(directory))

    @property
    def eos_id(self) -> int | None:
        """The end-of-sequence token's id, if there is one."""
        return self.id_of(self.settings.roles.get("eos_token", ""))

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
        """Raise `BadInputError` where a token has an id for which a model with so many embeddings has none."""
        beyond = [(token_id, token) for token, token_id in self._backend.get_vocab().items() if token_id >= embeddings]
        if beyond:
            token_id, token = min(beyond)
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
        """Return the ids of a prompt as the model is given it: with the special tokens written before it.

        Those written behind a text (an end of text, a separator) are left out: after them another text begins.
        """
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
        if laid == text:
            return spans
        # Some tokenizers leave out the first blank when they decode.
        return np.maximum(spans - 1, 0) if laid == f" {text}" else self.encode_with_spans(text)[1]

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
        """Return what the library's own decoder adds for a token to the text of the token before it."""
        ids = [[token_id]] if before is None else [[token_id], [before], [before, token_id]]
        alone, *both = (str(self._backend.decode(some, skip_special_tokens=False)) for some in ids)
        added = both[1].removeprefix(both[0]) if both and both[1].startswith(both[0]) else alone
        return added.encode("utf-8")


@lru_cache(maxsize=1)
def _load_same(directory: Path, digest: str) -> ModelTokenizer:
    """Load the tokenizer that another machine has; raises `BadInputError` where this one lacks it."""
    if not directory.is_dir() or digest_tokenizer(directory) != digest:
        raise BadInputError(
            f"a node of the cluster lacks the tokenizer, or has another one, at {directory}; "
            "put the model's directory at the same path on every node"
        )
    return ModelTokenizer(directory)
