"""The audited model's own tokenizer: the ids of a text, and the characters of each token (offset mapping).

Owns the way from ids to characters (docs/methods.md, section 2, "Text of a region"): a token's characters are those to
which its bytes contribute when the bytes of all tokens are concatenated. Knows nothing of notes or matches.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.model.files import digest_tokenizer
from clinaudit.errors import BadInputError
from clinaudit.templates.spans import Span


class TokenSpans(Sequence[Span]):
    """Spans by token, packed, read as a sequence of `Span`; a slice shares their memory."""

    __slots__ = ("_bounds",)

    def __init__(self, bounds: npt.NDArray[np.int32]) -> None:
        #: Starts and ends, shape (tokens, 2).
        self._bounds = bounds

    @classmethod
    def of(cls, spans: Iterable[Span]) -> "TokenSpans":
        """Pack spans."""
        return cls(np.array(list(spans), dtype=np.int32).reshape(-1, 2))

    def __len__(self) -> int:
        return len(self._bounds)

    @overload
    def __getitem__(self, index: int) -> Span: ...

    @overload
    def __getitem__(self, index: slice) -> "TokenSpans": ...

    def __getitem__(self, index: int | slice) -> "Span | TokenSpans":
        if isinstance(index, slice):
            return TokenSpans(self._bounds[index])
        start, end = self._bounds[index].tolist()
        return Span(start, end)

    def __iter__(self) -> Iterator[Span]:
        return (Span(start, end) for start, end in self._bounds.tolist())

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> npt.NDArray[np.generic]:
        """Return starts and ends, shape (tokens, 2), without a `Span` for each."""
        return np.array(self._bounds, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._bounds.tobytes())


_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>\Z")
#: SentencePiece's mark for a blank.
_BLANK = "\u2581"


def _byte_level_alphabet() -> dict[str, int]:
    """Return the byte each character of a byte-level BPE vocabulary stands for (as in GPT-2's `bytes_to_unicode`)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + rank): byte for rank, byte in enumerate(others)}


def decode_with_spans(pieces: Sequence[bytes]) -> tuple[str, TokenSpans]:
    """Concatenate the tokens' bytes; return the text and each token's span of characters.

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
    bounds = np.stack([starts, begun[ends]], axis=1).astype(np.int32)
    return whole.decode("utf-8", errors="replace"), TokenSpans(bounds)


def _without_gaps(spans: Sequence[Span], text: str) -> list[Span]:
    """Assign the characters of no token to one: blanks to the token after them (a tokenizer may trim its offsets).

    Other characters (an accent that was composed with its letter) go to the token before them.
    """
    widened: list[Span] = []
    before = 0
    for start, end in spans:
        if before < start:
            blanks_begin = before + len(text[before:start].rstrip())
            if widened:
                widened[-1] = Span(widened[-1].start, max(widened[-1].end, blanks_begin))
                start = blanks_begin
            elif blanks_begin == before:
                start = before
        widened.append(Span(start, end))
        before = max(before, end)
    return widened


class ModelTokenizer:
    """A model's tokenizer, loaded from its directory without network or remote code."""

    def __init__(self, directory: Path) -> None:
        import transformers

        self.directory = directory
        quieten: Any = transformers.utils.logging.set_verbosity_error
        quieten()
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                directory, local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # noqa: BLE001 (the tokenizers library raises plain `Exception`)
            raise BadInputError(
                f"the tokenizer in {directory.name} cannot be loaded ({type(error).__name__}); "
                "give the directory of a Hugging Face model with its tokenizer files"
            ) from None
        if not self._tokenizer.is_fast:
            raise BadInputError(
                f"the tokenizer in {directory.name} has no tokenizer.json; save it with a fast tokenizer first"
            )
        # For whole corpora: without offsets, which take more time and memory than the ids. Padding and truncation,
        # which a tokenizer.json may ask for, are for the batches of a model.
        self._backend: Any = self._tokenizer.backend_tokenizer
        self._backend.no_padding()
        self._backend.no_truncation()
        # The decoder shows how a vocabulary entry spells bytes.
        decoder = json.loads(self._backend.to_str()).get("decoder") or {}
        kinds = {decoder.get("type"), *(part.get("type") for part in decoder.get("decoders", []))}
        self._alphabet = _byte_level_alphabet() if "ByteLevel" in kinds else None
        self._has_byte_tokens = "ByteFallback" in kinds
        added = self._tokenizer.added_tokens_decoder
        self._special_ids = frozenset(self._tokenizer.all_special_ids) | {
            token_id for token_id, token in added.items() if token.special
        }
        self._added = {token_id: token.content for token_id, token in added.items()}
        #: Returns the bytes of a token; none for a special token.
        self.bytes_of: Callable[[int], bytes] = lru_cache(maxsize=None)(self._spell)
        self.size = len(self._tokenizer)

    def __reduce__(self) -> tuple[Callable[[Path, str], "ModelTokenizer"], tuple[Path, str]]:
        directory = self.directory.resolve()
        return _load_same, (directory, digest_tokenizer(directory))

    @property
    def eos_id(self) -> int | None:
        """The end-of-sequence token's id, if there is one."""
        value: int | None = self._tokenizer.eos_token_id
        return value

    @property
    def pretrained(self) -> Any:
        """The tokenizer as transformers loaded it."""
        return self._tokenizer

    @property
    def has_chat_template(self) -> bool:
        """Whether the tokenizer's files hold a chat template."""
        return bool(self._tokenizer.chat_template)

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the control tokens, which have no text."""
        return self._special_ids

    @property
    def special_tokens(self) -> frozenset[str]:
        """How the control tokens are spelled in a prompt."""
        return frozenset(self._tokenizer.convert_ids_to_tokens(sorted(self._special_ids)))

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text alone, without special tokens (docs/methods.md, section 2)."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False, verbose=False))

    def encode_many(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """Return the ids of each text as `encode` does, on all processors; each of shape (tokens,)."""
        encoded = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(one.ids, dtype=np.uint32) for one in encoded]

    def encode_prompt(self, text: str) -> tuple[int, ...]:
        """Return the ids of a prompt as the model is given it: with the special tokens that the tokenizer adds."""
        return tuple(self._tokenizer.encode(text, verbose=False))

    def decode_with_spans(self, token_ids: Iterable[int]) -> tuple[str, TokenSpans]:
        """Return the text of generated ids and the span of characters of each."""
        return decode_with_spans(list(map(self.bytes_of, token_ids)))

    def encode_with_spans(self, text: str) -> tuple[tuple[int, ...], TokenSpans]:
        """Return the ids of a text without ids of its own, and the span of characters of each in that text."""
        return self.encode_many_with_spans([text])[0]

    def encode_many_with_spans(self, texts: Sequence[str]) -> list[tuple[tuple[int, ...], TokenSpans]]:
        """Return the same of each text; the ids are found on all processors."""
        encoded = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [self._with_spans(text, tuple(one.ids)) for text, one in zip(texts, encoded, strict=True)]

    def _with_spans(self, text: str, ids: tuple[int, ...]) -> tuple[tuple[int, ...], TokenSpans]:
        laid, spans = self.decode_with_spans(ids)
        if laid == text:
            return ids, spans
        is_special = np.array([token_id in self._special_ids for token_id in ids], dtype=np.bool_)
        # Where the text spells out a special token, its bytes count for the layout, but the token has zero width.
        laid, spans = decode_with_spans(
            [
                self._added.get(token_id, "").encode() if token_id in self._special_ids else self.bytes_of(token_id)
                for token_id in ids
            ]
        )
        if laid != text:
            # A tokenizer that rewrites text (case, accents, unknown characters): its bytes do not give the text back.
            encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            spans = TokenSpans.of(_without_gaps([Span(*offsets) for offsets in encoded["offset_mapping"]], text))
        bounds = np.array(spans, dtype=np.int32)
        bounds[is_special, 1] = bounds[is_special, 0]
        return ids, TokenSpans(bounds)

    def place_tokens(self, token_ids: npt.NDArray[np.uint32], text: str) -> npt.NDArray[np.int64]:
        """Return the characters of each token of a text as `encode_with_spans` does, shape (tokens, 2)."""
        laid, spans = self.decode_with_spans(token_ids.tolist())
        return np.array(spans if laid == text else self.encode_with_spans(text)[1], dtype=np.int64)

    def _spell(self, token_id: int) -> bytes:
        if token_id in self._special_ids:
            return b""
        if token_id in self._added:
            return self._added[token_id].encode("utf-8")
        token = self._tokenizer.convert_ids_to_tokens(token_id)
        if token is None:
            # An id beyond the vocabulary (padding of the embedding matrix): the model can emit it, it has no text.
            return b""
        if self._alphabet is not None:
            return bytes(self._alphabet[char] for char in token)
        if self._has_byte_tokens and (match := _BYTE_TOKEN.match(token)):
            return bytes.fromhex(match[1])
        return str(token).replace(_BLANK, " ").encode("utf-8")


@lru_cache(maxsize=1)
def _load_same(directory: Path, digest: str) -> ModelTokenizer:
    """Load the tokenizer that another machine has; raises `BadInputError` where this one lacks it."""
    if not directory.is_dir() or digest_tokenizer(directory) != digest:
        raise BadInputError(
            f"a node of the cluster lacks the tokenizer, or has another one, at {directory}; "
            "put the model's directory at the same path on every node"
        )
    return ModelTokenizer(directory)
