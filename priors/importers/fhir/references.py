"""What references of a FHIR export point at: names of people and places, visits, and the bytes of documents.

Owns how a reference is matched to a resource. A reference out of the export is never followed. The bytes of documents
lie in a file without a name, on the disk that the corpus is written to.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from clinaudit.priors.importers.fhir.resources import Reference


@dataclass(frozen=True, slots=True)
class Visit:
    """An encounter."""

    start: str | None = None
    #: The name of its organization, or else what its reference points at.
    place_name: str | None = None
    place: str | None = None


class ReferenceIndex:
    """The resources that others point at, by `Type/id`."""

    def __init__(self) -> None:
        self.patients: dict[str, str] = {}
        self.names: dict[str, str] = {}
        #: Of a practitioner's role: the practitioner.
        self.roles: dict[str, str] = {}
        self.visits: dict[str, Visit] = {}
        #: `urn:uuid:...` or another full URL of a Bundle's entry, to `Type/id`.
        self._aliases: dict[str, str] = {}

    def add(self, kind: str, identifier: str, full_url: str | None) -> str:
        """Return the key of a resource, and remember its other address."""
        key = f"{kind}/{identifier}"
        if full_url is not None and key_of(full_url) != key:
            self._aliases[full_url] = key
        return key

    def key(self, reference: Reference | None) -> str | None:
        """Return the key that a reference points at, None where it has none."""
        if reference is None or not reference.reference:
            return None
        return self._key(reference.reference)

    def _key(self, address: str) -> str:
        return self._aliases.get(address) or key_of(address)

    def visit(self, encounter: Reference | None) -> Visit:
        """Return the visit that a reference points at; nothing is known of one that is not in the export."""
        return self.visits.get(self.key(encounter) or "", Visit())

    def place(self, visit: Visit) -> str | None:
        """Return the name of the organization of a visit."""
        return visit.place_name or (self.names.get(self._key(visit.place)) if visit.place else None)

    def name(self, reference: Reference | None) -> str | None:
        """Return the name that a reference gives, or that of what it points at."""
        if reference is None:
            return None
        if reference.display:
            return reference.display
        key = self.key(reference)
        return None if key is None else self.names.get(self.roles.get(key, key))


def key_of(address: str) -> str:
    """Return `Type/id` of a relative or absolute address, less its version; another address as it stands."""
    path = address.partition("/_history/")[0].partition("?")[0]
    parts = path.rstrip("/").split("/")
    return "/".join(parts[-2:]) if len(parts) > 1 else address


class Binaries:
    """The bytes of documents, by key, in a nameless file."""

    def __init__(self, directory: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 (closed by `close`)
        self._places: dict[str, tuple[int, int, str]] = {}

    def add(self, key: str, content: bytes, content_type: str) -> None:
        """Keep a document."""
        self._places[key] = (self._file.seek(0, 2), len(content), content_type)
        self._file.write(content)

    def get(self, key: str) -> tuple[bytes, str] | None:
        """Return a document's bytes and type, None where it is not in the export."""
        place = self._places.get(key)
        if place is None:
            return None
        self._file.seek(place[0])
        return self._file.read(place[1]), place[2]

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
