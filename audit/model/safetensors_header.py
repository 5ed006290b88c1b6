"""The header of a safetensors file: which tensors it holds, of which type and size. Reads no tensor.

Owns the check that header and file fit each other. Knows nothing of models.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.errors import BadInputError, StorageError

#: The format's own limit on a header (safetensors/src/tensor.rs, MAX_HEADER_SIZE).
_MAX_HEADER_BYTES: Final = 100_000_000
#: Bytes of a number, by its type in the header; of floats alone, since a quantized checkpoint's integers stay integers.
FLOAT_BYTES: Final = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}


@dataclass(frozen=True, slots=True)
class TensorHeader:
    """One tensor of a safetensors file."""

    #: As the format spells it, e.g. `BF16`.
    dtype: str
    #: Bytes in the file.
    size: int

    def bytes_as(self, float_bytes: int | None) -> int:
        """Return the bytes it takes in memory with floats of `float_bytes` each; None: as they are."""
        own = FLOAT_BYTES.get(self.dtype)
        return self.size if float_bytes is None or own is None else self.size // own * float_bytes


def read_header(file: Path) -> dict[str, TensorHeader]:
    """Read the header: eight length bytes, JSON, then the tensors.

    Raises `BadInputError` where it does not fit the file, which is then truncated or no safetensors file.
    """
    damaged = f"damaged weights: {file} is truncated or no safetensors file; copy or download it again"
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            header_bytes = int.from_bytes(stream.read(8), "little")
            if size < 8 or header_bytes > min(size - 8, _MAX_HEADER_BYTES):
                raise BadInputError(damaged)
            header = json.loads(stream.read(header_bytes))
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}; check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(damaged) from error
    if not isinstance(header, dict):
        raise BadInputError(damaged)
    tensors = {name: tensor for name, tensor in header.items() if name != "__metadata__"}
    bounds = [_bounds(tensor) for tensor in tensors.values()]
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds) or 8 + header_bytes + max(end for _, end in known) != size:
        raise BadInputError(damaged)
    return {
        name: TensorHeader(str(tensor.get("dtype")), end - begin)
        for (name, tensor), (begin, end) in zip(tensors.items(), known, strict=True)
    }


def _bounds(tensor: Any) -> tuple[int, int] | None:
    offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(offset) is int for offset in offsets):
        return None
    begin, end = offsets
    return (begin, end) if 0 <= begin <= end else None
