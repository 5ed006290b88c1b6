"""The certificates of several deletion requests, read from the folders of their comparisons, and their one page.

Owns what is believed of such a folder, and which files are written (docs/comparing-runs.md, "Many requests"). Computes
no figure: what stands on the page stands in the certificates. The legal trigger is read from a certificate's evidence,
and goes into evidence alone.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from pydantic import ValidationError

from clinaudit.audit.comparison.files import CERTIFICATE, COMPARISON, require_own_directory
from clinaudit.audit.run.durable_files import make_private_directory, write_atomically
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.pages.comparison import comparison_json
from clinaudit.reports.pages.requests import render_requests
from clinaudit.reports.schema.certificate import Certificate, Trigger
from clinaudit.reports.schema.comparison import PublishedComparison
from clinaudit.reports.schema.identity import MAX_IDENTITY_CHARS, identity_problem
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.requests import CertifiedRequest, CertifiedRequests
from clinaudit.templates.text_file import read_text_file

REQUESTS: Final = "requests.json"
PAGE: Final = "requests.html"
_PUBLISHED: Final = (REQUESTS, PAGE)
_EVIDENCE: Final = (PAGE,)
_EVIDENCE_FOLDER: Final = "evidence"
#: Settings of a comparison that say which model wrote.
_MODELS: Final = ("MODEL", "GENERATIONS")
Read = TypeVar("Read", bound=Record)


@dataclass(frozen=True, slots=True)
class NamedComparison:
    """A comparison as the command names it."""

    name: str
    folder: Path


@dataclass(frozen=True, slots=True)
class GivenRequests:
    """What the certificates publish, and the legal triggers by name of the request (PHI)."""

    published: CertifiedRequests
    triggers: dict[str, Trigger | None]

    @property
    def has_triggers(self) -> bool:
        """Whether a site stated any."""
        return any(trigger is not None for trigger in self.triggers.values())


def parse_comparison(value: str) -> NamedComparison:
    """Return the comparison of `DIR` or `NAME=DIR`; a folder whose own name holds the sign is a folder.

    Raises `UsageError` for a name that cannot stand on a page.
    """
    name, sign, folder = value.partition("=")
    if not sign or Path(value).is_dir():
        folder, name = value, Path(value).absolute().name
    if not folder or identity_problem("name", name) is not None:
        raise UsageError(
            f"a comparison's path is empty, or its name is not one line of 1 to {MAX_IDENTITY_CHARS} printable "
            "characters; give it as NAME=DIR"
        )
    return NamedComparison(name, Path(folder))


def read_requests(places: Sequence[NamedComparison]) -> GivenRequests:
    """Return what the certificates say, in the order given.

    Raises `UsageError` where two requests have one name or one folder, and `BadInputError` naming every folder that
    holds no certificate of this version.
    """
    # Not `resolve`, which fails on a link that leads to itself.
    for which, found in (
        ("name; name them apart, as NAME=DIR", [place.name for place in places]),
        ("folder; name each comparison once", [realpath(place.folder) for place in places]),
    ):
        if len(set(found)) < len(found):
            raise UsageError(f"two requests have the same {which}")
    requests, triggers, problems = [], {}, []
    for place in places:
        try:
            request, trigger = _read_request(place)
        except BadInputError as error:
            problems.append(f"{place.name}: {error.message}")
            continue
        requests.append(request)
        triggers[place.name] = trigger
    if problems:
        raise BadInputError(f"{len(problems)} of {len(places)} folders hold no certificate to show", problems)
    return GivenRequests(CertifiedRequests(requests=requests), triggers)


def prepare_directory(out: Path) -> None:
    """Raise `UsageError` where `out` lies in a run, is no directory, or holds files of something else."""
    require_own_directory(
        out, published=_PUBLISHED, evidence=_EVIDENCE, hint="name a new directory, or an earlier page's"
    )


def write_requests(out: Path, given: GivenRequests) -> None:
    """Write what may be published in `out`, and with the triggers, where there are any, under `evidence/` (PHI)."""
    make_private_directory(out)
    evidence = out / _EVIDENCE_FOLDER
    # The files of an earlier page go first: none of them may stand beside one of this.
    for path in (*(out / name for name in _PUBLISHED), *(evidence / name for name in _EVIDENCE)):
        path.unlink(missing_ok=True)
    if given.has_triggers:
        make_private_directory(evidence)
        write_atomically(evidence / PAGE, render_requests(given.published, given.triggers))
    write_atomically(out / PAGE, render_requests(given.published))
    write_atomically(out / REQUESTS, comparison_json(given.published))


def _read_request(place: NamedComparison) -> tuple[CertifiedRequest, Trigger | None]:
    """Raises `BadInputError` (what is wrong alone) where the folder does not hold a published certificate."""
    folder = place.folder
    if not folder.is_dir():
        raise BadInputError("there is no such folder; give what `clinaudit compare --out` wrote")
    if not (folder / COMPARISON).exists():
        if (folder / _EVIDENCE_FOLDER / COMPARISON).exists():
            raise BadInputError("it holds exact figures alone (PHI); compare again without --exact, in another --out")
        raise BadInputError(f"it is no comparison ({COMPARISON} is missing); give what `clinaudit compare --out` wrote")
    comparison = _parse(PublishedComparison, folder / COMPARISON)
    if comparison.figures != "published":
        raise BadInputError("it holds exact figures (PHI); compare again without --exact, in another --out")
    if comparison.forgetting is None:
        raise BadInputError("it has no deletion certificate; compare again with --forgotten IDS")
    trigger = None
    if (folder / _EVIDENCE_FOLDER / CERTIFICATE).exists():
        certificate = _parse(Certificate, folder / _EVIDENCE_FOLDER / CERTIFICATE)
        if certificate.verdict != comparison.forgetting.verdict:
            raise BadInputError("its certificate and its comparison are not of one run of `compare`; compare again")
        trigger = certificate.trigger
    model = next((one for one in comparison.differences if one.name in _MODELS), None)
    request = CertifiedRequest(name=place.name, date=comparison.date, model=model, forgetting=comparison.forgetting)
    return request, trigger


def _parse(kind: type[Read], path: Path) -> Read:
    """Raises `BadInputError` for a file that is damaged or of another version; nothing of it is quoted."""
    text = read_text_file(path, role="the file")
    try:
        held: Any = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BadInputError(f"{path.name} is damaged; compare again") from None
    version = kind.model_fields["schema_version"].default
    if not isinstance(held, dict) or held.get("schema_version") != version:
        raise BadInputError(f"{path.name} is of another version of clinaudit; compare again with this one")
    try:
        return kind.model_validate(held)
    except ValidationError:
        # pydantic quotes what it could not read.
        raise BadInputError(f"{printable(path.name)} is not as clinaudit writes it now; compare again") from None


def _refuse(constant: str) -> NoReturn:
    # JSON has no such number.
    raise ValueError(constant)
