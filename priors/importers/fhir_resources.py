"""The resources of a FHIR export, one by one, and what an import reads of them: elements, versions, references.

Owns where resources stand (lines of NDJSON files, entries of Bundles, single resources), elements by their paths, which
version counts, and what references point at; one out of the export is never followed. Whole resources are not checked:
`fhir.resources`, which does so, speaks R4B and R5, weighs 27 MB, and refuses a note for a fault in an element that no
corpus holds.
"""

import codecs
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import ijson

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus import files
from clinaudit.priors.corpus.files import PACKED, Compression, DataFile, Format, printable
from clinaudit.priors.corpus.records import parse_json
from clinaudit.priors.importers.corpus_writer import Place, RecordError
from clinaudit.priors.importers.tables import files_below, located

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
        files.stat_input(source, shown)
    except BadInputError as error:
        raise BadInputError(f"{shown} {error.message}; give the folder or the file of the export") from None
    if not source.is_dir():
        return [files.find_given_file(source, "the export", _ENDINGS)]
    # Archives of macOS hold beside each file another of its name after "._", with what the system keeps of it.
    found = sorted(path for path in files_below(source, shown) if not path.is_dir() and not path.name.startswith("._"))
    ours = [path for path in found if path.name.lower().endswith(tuple(_ENDINGS))]
    # A server writes an empty file for a type of which there is no resource; nothing but empty files is no export.
    paths = [path for path in ours if not path.is_file() or path.stat().st_size] or ours
    bundles = [path for path in paths if path.name.lower().endswith(_BUNDLE)]
    names = {path: f"bundle file {number} of {len(bundles)}" for number, path in enumerate(bundles, start=1)}
    named = [(path, names.get(path, printable(str(path.relative_to(source))))) for path in paths]
    found_files = [files.find_given_file(path, "the file", _ENDINGS, name=name) for path, name in named]
    if not found_files:
        raise BadInputError(f"{shown} holds no FHIR export: no file ends in {', '.join(_ENDINGS)}")
    return found_files


def files_not_read(source: Path, read: Collection[Path]) -> Counter[str]:
    """Return how many files of a folder were not read, by their ending: their names may be those of patients."""
    unread: Counter[str] = Counter()
    for path in files_below(source, printable(str(source))) if source.is_dir() else ():
        if path.is_dir():
            unread["folders that are links: not followed"] += 1
        if not path.is_file() or path.name.startswith("._") or path.resolve() in read:
            continue
        ending = path.suffix.lower()
        known = ending if _NAMED_ENDING.fullmatch(ending) else "another ending"
        unread["empty files" if not path.stat().st_size else f"files that were not read ({known})"] += 1
    return unread


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
        answer = entry.get("response")
        when = answer.get("lastModified") if isinstance(answer, dict) else None
        yield Found(place, str(request.get("url")), {"resourceType": DELETED, "meta": {"lastUpdated": when}})


def _no_resource(place: Place) -> BadInputError:
    return BadInputError(f"{place.unit} {place.number}: is no FHIR resource (an object with a resourceType)")


def _iter_lines(file: DataFile, at: Callable[[int], None] | None) -> Iterator[tuple[Place, object]]:
    for number, line in enumerate(files.iter_lines(file, at=at), start=1):
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
    """Yield the resources of a Bundle as they come, or those of a file that is none.

    ijson reads it as a stream, so that one of gigabytes takes no more memory than its largest resource.
    """
    number = bytes_in_entry = 0
    has_next_page = False

    def watched() -> Iterator[bytes]:
        nonlocal bytes_in_entry, has_next_page
        end = b""  # of the block before, in which a link may begin
        for place, block in enumerate(files.iter_bytes(file, at=at)):
            bytes_in_entry += len(block)
            if bytes_in_entry > files.MAX_LINE_BYTES:
                raise BadInputError(f"entry {number + 1}: has more than {files.MAX_LINE_BYTES} bytes")
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
            content = parse_json(b"".join(files.iter_bytes(file)).decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise BadInputError(
                "is no JSON that can be read: nested too deeply, a key given twice, or no UTF-8"
            ) from None
        found = content if isinstance(content, list) else [content]
        yield from _resources_among((Place(file.name, "entry", at), one) for at, one in enumerate(found, start=1))


Element = Mapping[str, Any]


def elements(resource: Element, *paths: str) -> list[Element]:
    """Return the elements at paths, over all lists on them: `content.attachment`; raises `RecordError` for a value."""
    return [element for path in paths for element in _at(resource, path, dict)]


def texts(resource: Element, path: str) -> list[str]:
    """Return the texts at a path, empty ones left out; raises `RecordError` where something else stands there."""
    return [text for text in _at(resource, path, str) if text]


def text_at(resource: Element, *paths: str) -> str | None:
    """Return the first text at the first of the paths that has one."""
    return next((text for path in paths for text in texts(resource, path)), None)


def _at(resource: Element, path: str, last: type) -> list[Any]:
    found: list[Any] = [resource]
    names = path.split(".")
    for place, name in enumerate(names, start=1):
        values = (one.get(name) for one in found)
        listed = (value if isinstance(value, list) else [value] for value in values)
        found = [one for value in listed for one in value if one is not None]
        if not all(isinstance(one, dict if place < len(names) else last) for one in found):
            # Never what it holds.
            kind = resource.get("resourceType")
            raise RecordError(f"{f'{kind}.' if kind else ''}{path} is not as FHIR R4 defines it")
    return found


def words_of(concept: Element) -> str | None:
    """Return a meaning in words: the text, or the first code's display or code."""
    return text_at(concept, "text", "coding.display", "coding.code")


def id_of(found: Found) -> str:
    """Return the id of a resource; an entry to be posted has none, and is known by its full URL."""
    identifier = text_at(found.resource, "id")
    if identifier is None and found.full_url is not None:
        identifier = found.full_url.rpartition(":")[2].rpartition("/")[2]
    if not identifier:
        raise RecordError(f"{found.kind}.id is missing")
    return identifier


#: Of a resource among those of its id; "newer" than one that was read before it.
Standing = Literal["newest", "newer", "older", "alike"]


class _Version(NamedTuple):
    #: The server that has it, where a Bundle gives its address.
    full_url: str | None
    updated: datetime | None
    number: int | None
    digest: bytes


class Versions:
    """The newest version of each resource, by key."""

    def __init__(self) -> None:
        self._newest: dict[str, _Version] = {}
        #: Of which several resources were met, none can be said to be the newest, or the newest was read.
        self._several: set[str] = set()
        self._unclear: set[str] = set()
        self._taken: set[str] = set()

    def add(self, key: str, found: Found) -> Standing:
        """Add a resource; raises `RecordError` where another version is known and neither says that it is newer."""
        version = _version_of(found)
        known = self._newest.setdefault(key, version)
        if known is version:
            return "newest"
        self._several.add(key)
        if known.digest == version.digest:
            return "alike"
        for mine, its in ((version.updated, known.updated), (version.number, known.number)):
            if mine is not None and its is not None and mine != its and version.full_url == known.full_url:
                is_newer = mine > its  # type: ignore[operator]
                if is_newer:
                    self._newest[key] = version
                return "newer" if is_newer else "older"
        self._unclear.add(key)
        raise RecordError(
            "another version of it is in the export, and meta.lastUpdated and meta.versionId do not say which is newer"
        )

    def full_url(self, key: str) -> str | None:
        """Return the address that a resource has on its server, None where the export does not give it."""
        return self._newest[key].full_url if key in self._newest else None

    def is_newer(self, key: str, moment: datetime | None) -> bool:
        """Whether the newest version is surely newer than a moment."""
        updated = self._newest[key].updated if key in self._newest else None
        return moment is not None and updated is not None and updated > moment

    def take(self, key: str, found: Found) -> Standing:
        """Say of a resource, when all are known, whether it is to be read ("newest"); raises as `add` does."""
        if key in self._unclear:
            raise RecordError("another version of it is in the export, and nothing says which is newer")
        if key not in self._several:
            if key not in self._newest:
                _version_of(found)  # raises, as when it was added
            return "newest"
        if self._newest[key].digest != _digest(found.resource):
            return "older"
        standing: Standing = "alike" if key in self._taken else "newest"
        self._taken.add(key)
        return standing


def _version_of(found: Found) -> _Version:
    number = text_at(found.resource, "meta.versionId")
    # Servers have different patients under one id; addresses made for a Bundle (urn:uuid) say nothing of the server.
    url = found.full_url if found.full_url and found.full_url.startswith("http") else None
    return _Version(
        full_url=url and url.partition("/_history/")[0],
        updated=moment_of(found),
        number=int(number) if number is not None and number.isdecimal() and len(number) < 20 else None,
        digest=_digest(found.resource),
    )


def moment_of(found: Found) -> datetime | None:
    """Return when a resource was last written, None where it does not say when, or in which zone."""
    try:
        moment = datetime.fromisoformat(text_at(found.resource, "meta.lastUpdated") or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _digest(resource: Element) -> bytes:
    try:
        return hashlib.blake2b(json.dumps(resource, sort_keys=True).encode(), digest_size=16).digest()
    except RecursionError:
        raise RecordError("it nests too deeply for FHIR") from None


class Visit(NamedTuple):
    """An encounter."""

    start: str | None = None
    #: The name of its organization, or else what its reference points at.
    place_name: str | None = None
    place: str | None = None
    #: What points at its patient.
    subject: str | None = None


#: What references may point at by an identifier.
_IDENTIFIED = ("Patient", "Practitioner", "Organization")


def address_of(kind: str, identifier: Element) -> str:
    """Return the address of a resource by its identifier: `Patient?identifier=urn:mrn|77`."""
    return f"{kind}?identifier={text_at(identifier, 'system') or ''}|{text_at(identifier, 'value') or ''}"


class ReferenceIndex:
    """The resources that others point at, by `Type/id`."""

    def __init__(self) -> None:
        self.patients: dict[str, str] = {}
        self.names: dict[str, str] = {}
        #: Of a practitioner's role: the practitioner.
        self.roles: dict[str, str] = {}
        self.visits: dict[str, Visit] = {}
        #: `#id` of what the resource at hand contains, to its key.
        self.contained: dict[str, str] = {}
        #: `urn:uuid:...` or another full URL of a Bundle's entry, or `Type?identifier=system|value`, to `Type/id`.
        self._aliases: dict[str, str] = {}
        #: Addresses by an identifier that several patients have.
        self.shared: set[str] = set()

    def add(self, key: str, found: Found) -> None:
        """Remember the other addresses of a resource."""
        if found.full_url is not None and key_of(found.full_url) != key:
            self._aliases[found.full_url] = key
        for identifier in elements(found.resource, "identifier") if found.kind in _IDENTIFIED else ():
            # What two have says nothing.
            address = address_of(found.kind, identifier)
            if self._aliases.setdefault(address, key) != key:
                self._aliases[address] = ""
                if found.kind == "Patient" and text_at(identifier, "value"):
                    self.shared.add(address)

    def key(self, reference: Element | str | None) -> str | None:
        """Return the key that a reference or an address points at, None where it has none."""
        address = reference if isinstance(reference, str) or reference is None else text_at(reference, "reference")
        if not address or address.startswith("#"):
            return self.contained.get(address or "")
        return self._aliases.get(address) or key_of(address)

    def visit(self, encounters: list[Element]) -> Visit:
        """Return the first visit that references point at; nothing is known of one that is not in the export."""
        return next((self.visits[key] for key in map(self.key, encounters) if key in self.visits), Visit())

    def place(self, visit: Visit) -> str | None:
        """Return the name of the organization of a visit."""
        return visit.place_name or self.names.get(self.key(visit.place) or "")

    def name(self, reference: Element) -> str | None:
        """Return the name that a reference gives, or that of what it points at."""
        key = self.key(reference) or ""
        return text_at(reference, "display") or self.names.get(self.roles.get(key, key))


def key_of(address: str) -> str:
    """Return `Type/id` of a relative or absolute address, less its version; another address as it stands."""
    path = address.partition("/_history/")[0].partition("?")[0]
    parts = path.rstrip("/").split("/")
    return "/".join(parts[-2:]) if len(parts) > 1 else address


class Binaries:
    """The bytes of documents, by key, in a nameless file on the disk that the corpus is written to."""

    def __init__(self, directory: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 (closed by `close`)
        self._places: dict[str, tuple[int, int, str | None]] = {}

    def add(self, key: str, content: bytes, content_type: str | None) -> None:
        """Keep a document."""
        self._places[key] = (self._file.seek(0, 2), len(content), content_type)
        self._file.write(content)

    def get(self, key: str) -> tuple[bytes, str | None] | None:
        """Return a document's bytes and type, None where it is not in the export."""
        place = self._places.get(key)
        if place is None:
            return None
        self._file.seek(place[0])
        return self._file.read(place[1]), place[2]

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
