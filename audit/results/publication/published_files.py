"""The files of a finished run: evidence, published results, reports, verdict, run record and, last, the manifest.

Owns which file holds what (docs/results.md, "What a run leaves").
"""

import json
from collections.abc import Mapping
from pathlib import Path

from clinaudit.audit.results.publication.run_verdict import require_told
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import make_private_directory, write_atomically
from clinaudit.audit.runtime.run.manifest import replace_files, write_manifest
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.reports.exports.paper import FILE_NAMES, FOLDER, paper_files
from clinaudit.reports.exports.verdict_files import gate_json, junit_xml, sarif_json
from clinaudit.reports.pages.html import render_pdf
from clinaudit.reports.pages.report import render_report, render_summary
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.identity import Identity, read_identity
from clinaudit.reports.schema.results import ReportContent, RunResults, from_json, holds_evidence, to_json
from clinaudit.reports.tally.tally import Tally, publishable


def kept_identity(run: RunDirectory) -> Identity:
    """Return the identity in a run's `run.json`; an empty one where there is none to read."""
    if not (run.root / RUN_RECORD).is_file():
        return Identity()
    try:
        return read_identity(read_record(run))
    except IntegrityError:
        # The audit that runs now replaces the damaged file; `report` has verified it.
        return Identity()


RESULTS = "results.json"
RUN_RECORD = "run.json"
REPORT = "report.html"
#: Only on request (`clinaudit report`).
PDF = "report.pdf"
SUMMARY = "summary.pdf"
VERDICT_FILES = ("gate.json", "junit.xml", "gate.sarif")
#: Everything beside the evidence but the manifest.
PUBLISHED = (RESULTS, RUN_RECORD, REPORT, PDF, SUMMARY, *VERDICT_FILES, *FILE_NAMES)
_ON_REQUEST = (PDF, SUMMARY)
_EARLIER_VERSIONS = ("1.0", "2.0", "3.0")
_OLDER = "of an earlier version of clinaudit: read and render it with that version, or audit again in a new directory"


def publish_run(run: RunDirectory, tally: Tally, record: Mapping[str, object]) -> RunResults:
    """Write everything outside the evidence tables, the manifest last; return the published results."""
    write_atomically(run.evidence / RESULTS, to_json(derive(tally)))
    shown = derive(publishable(tally))
    if holds_evidence(shown):
        raise ValueError("published results hold evidence")
    text = to_json(shown)
    write_atomically(run.root / RESULTS, text)
    # The rest is made from the files as written, so that `report` gives the same pages again.
    provenance = json.dumps(record, indent=1, sort_keys=True) + "\n"
    write_atomically(run.root / RUN_RECORD, provenance)
    content = published(run)
    if content.results.decision is not None:
        write_verdict(run.root, content.results.decision)
    write_atomically(run.root / REPORT, render_report(content))
    inside = exact(run)
    write_atomically(run.evidence / REPORT, render_report(inside))
    # What was made on request of an earlier audit would contradict the rest, and so would a table that is empty now.
    for name in (*_ON_REQUEST, *FILE_NAMES, *(f"{run.evidence.name}/{name}" for name in FILE_NAMES)):
        (run.root / name).unlink(missing_ok=True)
    for folder, tables in ((run.root, paper_files(content)), (run.evidence, paper_files(inside))):
        make_private_directory(folder / FOLDER)
        for name, csv in tables.items():
            write_atomically(folder / name, csv)
    write_manifest(run)
    return content.results


def published(run: RunDirectory) -> ReportContent:
    """Return the content of the report for those who may not see PHI, from the published files."""
    return ReportContent(results=read_published(run), provenance=read_record(run))


def exact(run: RunDirectory) -> ReportContent:
    """Return the content of the exact report (PHI), from the evidence."""
    return ReportContent(results=read_exact(run), provenance=read_record(run), is_exact=True)


def require_same_verdict(run: RunDirectory) -> None:
    """Raise `IntegrityError` where `gate.json` is not the verdict of `results.json`.

    The pages and the other exports are renderings, in words that another build may change: who must rely on them signs
    the run.
    """
    decision = read_published(run).decision
    name = VERDICT_FILES[0]
    if not (run.root / name).exists():
        # Whether it should be there the manifest says.
        return
    try:
        is_same = decision is None or json.loads(_read_text(run.root / name, name)) == json.loads(gate_json(decision))
    except ValueError:
        is_same = False
    if not is_same:
        raise IntegrityError(f"{name} is not the verdict of {RESULTS}; run the audit again")


def write_verdict(directory: Path, decision: GateDecision) -> None:
    """Write a published verdict in its three machine-readable forms; those of an earlier one are removed first."""
    for name in VERDICT_FILES:
        (directory / name).unlink(missing_ok=True)
    for name, text in zip(VERDICT_FILES, (gate_json(decision), junit_xml(decision), sarif_json(decision)), strict=True):
        write_atomically(directory / name, text)


def render_again(
    run: RunDirectory,
    *,
    pdf: bool = False,
    one_page: bool = False,
    identity: Mapping[str, str | None] | None = None,
) -> None:
    """Render the reports once more from the files of the run, and what is asked for besides.

    With `identity`, `run.json` is given these names first. The exact report is rendered where the evidence is there.
    Raises `IntegrityError` where the verdict is not what its figures make of it.
    """
    files: dict[str, bytes] = {}
    content = published(run)
    require_told(content.results)
    if identity is not None:
        record = {**content.provenance, "identity": dict(identity)}
        files[RUN_RECORD] = (json.dumps(record, indent=1, sort_keys=True) + "\n").encode("utf-8")
        content = ReportContent(results=content.results, provenance=record)
    files[REPORT] = render_report(content).encode("utf-8")
    files |= _in_folder(run, run.root, content)
    if has_evidence(run):
        inside = exact(run)
        inside = ReportContent(results=inside.results, provenance=content.provenance, is_exact=True)
        files[f"{run.evidence.name}/{REPORT}"] = render_report(inside).encode("utf-8")
        files |= _in_folder(run, run.evidence, inside)
    if pdf:
        files[PDF] = render_pdf(render_report(content, for_paper=True))
    if one_page:
        files[SUMMARY] = render_pdf(render_summary(content))
    replace_files(run, files)


def rendered_files(run: RunDirectory) -> tuple[str, ...]:
    """Return the names of the files that `render_again` always writes, as the manifest has them."""
    names = (REPORT, *FILE_NAMES)
    return (*names, *(f"{run.evidence.name}/{name}" for name in names))


def _in_folder(run: RunDirectory, folder: Path, content: ReportContent) -> dict[str, bytes]:
    """Return the paper's tables by their names in the run, and make the folder that they go to."""
    make_private_directory(folder / FOLDER)
    place = folder.relative_to(run.root)
    return {str(place / name): csv.encode("utf-8") for name, csv in paper_files(content).items()}


def read_published(run: RunDirectory) -> RunResults:
    """Read a run's published results.

    Raises `IntegrityError` where the file does not follow the schema, or holds what only the evidence may.
    """
    results = _read_results(run.root / RESULTS, f"{run.root.name}/{RESULTS}")
    if holds_evidence(results):
        raise IntegrityError(f"{RESULTS} holds what only {run.evidence.name} may; run the audit again")
    return results


def read_exact(run: RunDirectory) -> RunResults:
    """Read a run's exact results (PHI).

    Raises `BadInputError` where the evidence was purged, `IntegrityError` where the file does not follow the schema.
    """
    if not has_evidence(run):
        raise BadInputError("this run has no evidence: it was purged; leave --exact out to read what is published")
    return _read_results(run.evidence / RESULTS, f"{run.root.name}/{run.evidence.name}/{RESULTS}")


def _read_results(path: Path, name: str) -> RunResults:
    text = _read_text(path, name)
    try:
        return from_json(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # pydantic's own message quotes the values.
        raise _unreadable(text, name) from None


def _read_text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise IntegrityError(f"{name} is missing; restore it or run the audit again") from None
    except UnicodeDecodeError:
        raise IntegrityError(f"{name} is not UTF-8; run the audit again") from None


def _unreadable(text: str, name: str) -> IntegrityError | BadInputError:
    try:
        version = json.loads(text).get("schema_version")
    except (ValueError, AttributeError, RecursionError):
        version = None
    if version in _EARLIER_VERSIONS:
        return BadInputError(f"{name} is {_OLDER}")
    return IntegrityError(f"{name} does not follow the results schema; run the audit again")


def read_record(run: RunDirectory) -> dict[str, object]:
    """Read a run's `run.json`; raises `IntegrityError` where it is not a run record."""
    try:
        record = json.loads(_read_text(run.root / RUN_RECORD, RUN_RECORD))
    except (ValueError, RecursionError):
        raise IntegrityError(f"{RUN_RECORD} is not JSON; run the audit again") from None
    if not isinstance(record, dict):
        raise IntegrityError(f"{RUN_RECORD} is not a run record; run the audit again")
    return record


def has_evidence(run: RunDirectory) -> bool:
    """Whether the run still has its exact results."""
    return (run.evidence / RESULTS).is_file()
