"""The resources of a FHIR export, one by one: lines of NDJSON files, entries of Bundles, single resources.

Bundles are read by ijson as a stream, so that one of gigabytes takes no more memory than its largest resource. What is
not JSON is an error with file and line or entry.
"""

import codecs
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ijson

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import (
    MAX_LINE_BYTES,
    PACKED,
    Compression,
    DataFile,
    Format,
    find_given_file,
    iter_bytes,
    iter_lines,
    printable,
    stat_input,
    unreadable,
)
from clinaudit.priors.corpus.records import parse_json
from clinaudit.priors.importers.ledger import Place
from clinaudit.priors.importers.tables import located

_BUNDLE = tuple(f".json{packed}" for packed, _ in PACKED)
_ENDINGS: dict[str, tuple[Format, Compression | None]] = {
    **{f"{kind}{packed}": ("jsonl", compression) for kind in (".ndjson", ".jsonl") for packed, compression in PACKED},
    **{f".json{packed}": ("json", compression) for packed, compression in PACKED},
}
#: What an export says beside its resources, as if it were one: that a resource was deleted, that there is another page.
DELETED = "(deleted)"
NEXT_PAGE = "(next page)"
_NEXT_LINK = re.compile(rb'"relation"\s*:\s*"next"')
#: Endings that messages may name; others may be part of a patient's name.
_NAMED_ENDING = re.compile(
    r"\.(?:\d+|fhir|xml|part|tmp|bak|bz2|xz|7z|tar|zip|txt|csv|tsv|parquet|xlsx|html?|rtf|pdf|md|log)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """One resource of an export."""

    place: Place
    #: Of an entry of a Bundle, where it gives one.
    full_url: str | None
    resource: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The type of resource."""
        return str(self.resource["resourceType"])


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
        return [find_given_file(source, "the export", _ENDINGS)]
    # Archives of macOS hold beside each file another of its name after "._", with what the system keeps of it.
    found = (path for path in _files_below(source) if not path.is_dir() and not path.name.startswith("._"))
    ours = [path for path in found if path.name.lower().endswith(tuple(_ENDINGS))]
    # A server writes an empty file for a type of which there is no resource; nothing but empty files is no export.
    paths = [path for path in ours if not path.is_file() or path.stat().st_size] or ours
    bundles = [path for path in paths if path.name.lower().endswith(_BUNDLE)]
    names = {path: f"bundle file {number} of {len(bundles)}" for number, path in enumerate(bundles, start=1)}
    named = [(path, names.get(path, printable(str(path.relative_to(source))))) for path in paths]
    files = [find_given_file(path, "the file", _ENDINGS, name=name) for path, name in named]
    if not files:
        raise BadInputError(f"{shown} holds no FHIR export: no file ends in {', '.join(_ENDINGS)}")
    return files


def files_not_read(source: Path, read: Collection[Path]) -> Counter[str]:
    """Return how many files of a folder were not read, by their ending: their names may be those of patients."""
    unread: Counter[str] = Counter()
    for path in _files_below(source):
        if path.is_dir():
            unread["folders that are links: not followed"] += 1
        if not path.is_file() or path.name.startswith("._") or path.resolve() in read:
            continue
        ending = path.suffix.lower()
        known = ending if _NAMED_ENDING.fullmatch(ending) else "another ending"
        unread["empty files" if not path.stat().st_size else f"files that were not read ({known})"] += 1
    return unread


def _files_below(source: Path) -> list[Path]:
    """Return the files of a folder, none of what is no folder, and the links to folders, which are not followed."""

    def stop(error: OSError) -> None:
        raise unreadable(printable(str(source)), error)

    walked = os.walk(source, onerror=stop) if source.is_dir() else ()
    found = (Path(folder, name) for folder, folders, names in walked for name in (*folders, *names))
    return sorted(path for path in found if not path.is_dir() or path.is_symlink())


def iter_resources(file: DataFile, at: Callable[[int], None] | None = None) -> Iterator[Found]:
    """Yield the resources of a file, those of Bundles within it too; none of one that holds something else, as a log.

    Raises `BadInputError`, with file and line or entry, where it is no JSON, or holds resources and something else.
    """
    with located(file):
        if file.format == "jsonl":
            yield from _resources_among(_iter_lines(file, at))
        else:
            yield from _iter_bundle(file, at)


def _resources_among(records: Iterable[tuple[Place, object]]) -> Iterator[Found]:
    #: Whether the records so far were resources, and where the last of them stands.
    before: tuple[bool, Place] | None = None
    for place, content in records:
        is_resource = isinstance(content, dict) and "resourceType" in content
        if before is not None and before[0] != is_resource:
            raise _no_resource(place if before[0] else before[1])
        before = is_resource, place
        if is_resource:
            yield from _unfolded(place, None, content)


def _unfolded(place: Place, url: object, content: object) -> Iterator[Found]:
    """Yield a resource, or the resources of a Bundle."""
    if not isinstance(content, dict) or not isinstance(content.get("resourceType"), str):
        raise _no_resource(place)
    if content["resourceType"] != "Bundle":
        yield Found(place, url if isinstance(url, str) else None, content)
        return
    entries = content.get("entry")
    for entry in entries if isinstance(entries, list) else ():
        yield from _of_entry(place, entry)


def _of_entry(place: Place, entry: object) -> Iterator[Found]:
    if not isinstance(entry, dict):
        raise _no_resource(place)
    request = entry.get("request")
    if entry.get("resource") is not None:  # else it is the answer to a request
        yield from _unfolded(place, entry.get("fullUrl"), entry["resource"])
    elif isinstance(request, dict) and request.get("method") == "DELETE":
        yield Found(place, str(request.get("url")), {"resourceType": DELETED})


def _no_resource(place: Place) -> BadInputError:
    return BadInputError(f"{place.unit} {place.number}: is no FHIR resource (an object with a resourceType)")


def _iter_lines(file: DataFile, at: Callable[[int], None] | None) -> Iterator[tuple[Place, object]]:
    for number, line in enumerate(iter_lines(file, at=at), start=1):
        if not line.strip():
            continue
        try:
            content = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise BadInputError(f"line {number}: is not UTF-8") from None
        except (ValueError, RecursionError):
            raise BadInputError(f"line {number}: is not a JSON object on one line") from None
        yield Place(file.name, "line", number), content


def _iter_bundle(file: DataFile, at: Callable[[int], None] | None) -> Iterator[Found]:
    """Yield the resources of a Bundle as they come, or those of a file that is none."""
    number = bytes_in_entry = 0
    has_next_page = False

    def watched() -> Iterator[bytes]:
        nonlocal bytes_in_entry, has_next_page
        end = b""  # of the block before, in which a link may begin
        for place, block in enumerate(iter_bytes(file, at=at)):
            bytes_in_entry += len(block)
            if bytes_in_entry > MAX_LINE_BYTES:
                raise BadInputError(f"entry {number + 1}: has more than {MAX_LINE_BYTES} bytes")
            has_next_page |= _NEXT_LINK.search(end + block) is not None
            end = block[-100:]
            yield block if place else block.removeprefix(codecs.BOM_UTF8)

    try:
        for entry in ijson.items(ijson.from_iter(watched()), "entry.item", use_float=True):
            number += 1
            bytes_in_entry = 0
            yield from _of_entry(Place(file.name, "entry", number), entry)
    except ijson.JSONError:
        hint = "one resource a line goes into a file that ends in .ndjson"
        raise BadInputError(f"entry {number + 1}: is not JSON from here on ({hint})") from None
    if has_next_page:
        yield Found(Place(file.name, "entry", number), None, {"resourceType": NEXT_PAGE})
    if number == 0:
        try:
            content = parse_json(b"".join(iter_bytes(file)).decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise BadInputError(
                "is no JSON that can be read: nested too deeply, a key given twice, or no UTF-8"
            ) from None
        found = content if isinstance(content, list) else [content]
        yield from _resources_among((Place(file.name, "entry", at), one) for at, one in enumerate(found, start=1))
