"""The resources of a FHIR export, one by one: lines of NDJSON files, entries of Bundles.

Bundles are read by ijson as a stream, so that one of gigabytes takes no more memory than its largest resource. What is
not JSON is an error with file and line or entry.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ijson
from ijson.common import ObjectBuilder

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import (
    MAX_LINE_BYTES,
    Compression,
    DataFile,
    Format,
    iter_lines,
    open_stream,
    printable,
    stat_input,
)
from clinaudit.priors.corpus.records import parse_json
from clinaudit.priors.importers.ledger import Place
from clinaudit.priors.importers.tables import data_file, located

_BUNDLE: dict[str, tuple[Format, Compression | None]] = {
    ".json": ("json", None),
    ".json.gz": ("json", "gz"),
    ".json.zst": ("json", "zst"),
}
_ENDINGS: dict[str, tuple[Format, Compression | None]] = {
    ".ndjson": ("jsonl", None),
    ".ndjson.gz": ("jsonl", "gz"),
    ".ndjson.zst": ("jsonl", "zst"),
    **_BUNDLE,
}
#: FHIR resources nest some ten levels.
_MAX_DEPTH = 100
_NOT_JSON = "is not JSON from here on"


@dataclass(frozen=True, slots=True)
class Found:
    """One resource of an export."""

    place: Place
    #: Of an entry of a Bundle, where it gives one.
    full_url: str | None
    resource: Mapping[str, Any]


def find_fhir(source: Path) -> list[DataFile]:
    """Return the files of an export, a folder or one file, in the order of their names.

    Bundles of a folder are named by number in messages: their own names often hold those of patients.
    """
    shown = printable(str(source))
    try:
        stat_input(source, shown)
    except BadInputError as error:
        raise BadInputError(f"{shown} {error.message}; give the folder or the file of the export") from None
    if not source.is_dir():
        return [data_file(source, printable(source.name), _ENDINGS)]
    paths = [
        path for path in sorted(source.rglob("*")) if not path.is_dir() and path.name.lower().endswith(tuple(_ENDINGS))
    ]
    bundles = [path for path in paths if path.name.lower().endswith(tuple(_BUNDLE))]
    names = {path: f"bundle file {number} of {len(bundles)}" for number, path in enumerate(bundles, start=1)}
    files = [data_file(path, names.get(path, printable(str(path.relative_to(source)))), _ENDINGS) for path in paths]
    if not files:
        raise BadInputError(f"{shown} holds no FHIR export: no file ends in {', '.join(_ENDINGS)}")
    return files


def iter_resources(file: DataFile, at: Callable[[int], None]) -> Iterator[Found]:
    """Yield the resources of a file; raises `BadInputError`, with file and line or entry, where it is no FHIR JSON."""
    with located(file):
        yield from _iter_lines(file, at) if file.format == "jsonl" else _iter_entries(file, at)


def _iter_lines(file: DataFile, at: Callable[[int], None]) -> Iterator[Found]:
    for number, line in enumerate(iter_lines(file, at=at), start=1):
        if not line.strip():
            continue
        try:
            resource = parse_json(line.decode("utf-8"))
        except UnicodeDecodeError:
            raise BadInputError(f"line {number}: is not UTF-8") from None
        except (ValueError, RecursionError):
            raise BadInputError(f"line {number}: is not a JSON object on one line") from None
        yield Found(Place(file.name, "line", number), None, _checked(resource, f"line {number}"))


def _checked(resource: object, where: str) -> Mapping[str, Any]:
    if not isinstance(resource, dict) or not isinstance(resource.get("resourceType"), str):
        raise BadInputError(f"{where}: is no FHIR resource (an object with a resourceType)")
    return resource


def _iter_entries(file: DataFile, at: Callable[[int], None]) -> Iterator[Found]:
    number = 0
    reader = _BundleReader()
    with open_stream(file, at=at) as read:
        try:
            for event, value in ijson.basic_parse(_Source(read, reader), use_float=True):
                entry = reader.take(event, value)
                if entry is None:
                    continue
                number += 1
                resource = entry.get("resource")
                if resource is None:  # the answer to a request, or a search's outcome: an entry that holds none
                    continue
                url = entry.get("fullUrl")
                checked = _checked(resource, f"entry {number}")
                yield Found(Place(file.name, "entry", number), url if isinstance(url, str) else None, checked)
        except ijson.JSONError:
            raise BadInputError(f"entry {number + 1}: {_NOT_JSON}") from None
        except _TooDeepError:
            raise BadInputError(f"entry {number + 1}: nests too deeply for FHIR") from None
        except _TooLargeError:
            raise BadInputError(f"entry {number + 1}: has more than {MAX_LINE_BYTES} bytes") from None
    if reader.kind != "Bundle":
        raise BadInputError("is no FHIR Bundle; one resource a line goes into a file that ends in .ndjson")


class _TooDeepError(ValueError):
    """The JSON nests deeper than any resource."""


class _TooLargeError(ValueError):
    """One entry is larger than any resource."""


class _Source:
    """What ijson reads from; counts the bytes since the last entry ended."""

    def __init__(self, read: Callable[[int], bytes], reader: "_BundleReader") -> None:
        self._read = read
        self._reader = reader

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        self._reader.bytes_in_entry += max(size, 0)
        if self._reader.bytes_in_entry > MAX_LINE_BYTES:
            raise _TooLargeError
        return self._read(size)


class _BundleReader:
    """Puts the events of a Bundle's JSON together to its entries."""

    def __init__(self) -> None:
        self.kind: object = None
        self.bytes_in_entry = 0
        self._depth = 0
        self._key: object = None
        self._builder: ObjectBuilder | None = None

    def take(self, event: str, value: Any) -> dict[str, Any] | None:
        """Take one event; return an entry where it ends one."""
        if event == "map_key" and self._depth == 1:
            self._key = value
        elif self._depth == 1 and self._key == "resourceType":
            self.kind = value
        if event in ("start_map", "start_array"):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise _TooDeepError
            if self._depth == 3 and self._key == "entry" and event == "start_map":
                self._builder = ObjectBuilder()
        if self._builder is not None:
            self._builder.event(event, value)
        if event in ("end_map", "end_array"):
            self._depth -= 1
            if self._depth == 2 and self._builder is not None:
                entry: dict[str, Any] = self._builder.value
                self._builder = None
                self.bytes_in_entry = 0
                return entry
        return None
