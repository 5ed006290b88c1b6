"""The files of a finished run: evidence, published results, reports, verdict, run record and, last, the manifest.

Owns which file holds what (docs/results.md, "What a run leaves").
"""

import json
from collections.abc import Mapping
from pathlib import Path

from clinaudit.audit.results.publication.run_verdict import require_told
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.run.manifest import replace_files, verify, write_manifest
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.reports.exports.verdict_files import gate_json, junit_xml
from clinaudit.reports.pages.report import render_report
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.identity import Identity, read_identity
from clinaudit.reports.schema.results import ReportContent, RunResults, from_json, holds_evidence, to_json
from clinaudit.reports.tally.tally import Tally, publishable

RESULTS = "results.json"
RUN_RECORD = "run.json"
REPORT = "report.html"
GATE = "gate.json"
JUNIT = "junit.xml"
#: Everything beside the evidence but the manifest.
PUBLISHED = (RESULTS, RUN_RECORD, REPORT, GATE, JUNIT)
_OLDER = "of another version of clinaudit: read and render it with that version, or audit again in a new directory"


def publish_run(run: RunDirectory, tally: Tally, record: Mapping[str, object]) -> RunResults:
    """Write everything outside the evidence tables, the manifest last; return the published results."""
    write_atomically(run.evidence / RESULTS, to_json(derive(tally)))
    shown = derive(publishable(tally))
    if holds_evidence(shown):
        raise ValueError("published results hold evidence")
    write_atomically(run.root / RESULTS, to_json(shown))
    write_atomically(run.root / RUN_RECORD, _record_text(record))
    # The rest is made from the files as written, so that `report` gives the same pages again.
    provenance, results = read_record(run), read_published(run)
    if results.decision is not None:
        write_verdict(run.root, results.decision)
    write_atomically(run.root / REPORT, render_report(ReportContent(results, provenance)))
    inside = ReportContent(read_exact(run), provenance, is_exact=True)
    write_atomically(run.evidence / REPORT, render_report(inside))
    write_manifest(run)
    return results


def require_same_verdict(run: RunDirectory, decision: GateDecision) -> None:
    """Raise `IntegrityError` where `gate.json` is not the verdict of `results.json`, which is given.

    The page and `junit.xml` are renderings, in words that another build may change.
    """
    if not (run.root / GATE).exists():
        # Whether it should be there the manifest says.
        return
    try:
        is_same = json.loads(_read_text(run.root / GATE, GATE)) == json.loads(gate_json(decision))
    except ValueError:
        is_same = False
    if not is_same:
        raise IntegrityError(f"{GATE} is not the verdict of {RESULTS}; run the audit again")


def write_verdict(directory: Path, decision: GateDecision) -> None:
    """Write a published verdict in its two machine-readable forms; those of an earlier one are removed first."""
    for name in (GATE, JUNIT):
        (directory / name).unlink(missing_ok=True)
    for name, text in verdict_texts(decision).items():
        write_atomically(directory / name, text)


def verdict_texts(decision: GateDecision) -> dict[str, str]:
    """Return the texts of a verdict's machine-readable forms by their names."""
    return {GATE: gate_json(decision), JUNIT: junit_xml(decision)}


def render_again(run: RunDirectory, given: Identity) -> None:
    """Verify the run but for its reports, and render these once more from its other files.

    What is `given` of the identity replaces what `run.json` holds of it. The exact report is rendered where the
    evidence is there. Raises `IntegrityError` where a file is not what the audit wrote, or the verdict is not what its
    figures make of it. The caller holds the run's lock.
    """
    inside = f"{run.evidence.name}/{REPORT}"
    # The new manifest must not list a file that somebody changed.
    verify(run, but=(REPORT, inside))
    results, record = read_published(run), read_record(run)
    require_told(results)
    files: dict[str, str] = {}
    if given != Identity():
        record = {**record, "identity": read_identity(record).updated(given).as_record()}
        files[RUN_RECORD] = _record_text(record)
    files[REPORT] = render_report(ReportContent(results, record))
    if has_evidence(run):
        files[inside] = render_report(ReportContent(read_exact(run), record, is_exact=True))
    replace_files(run, {name: text.encode("utf-8") for name, text in files.items()})


def _record_text(record: Mapping[str, object]) -> str:
    return json.dumps(record, indent=1, sort_keys=True) + "\n"


def kept_identity(run: RunDirectory) -> Identity:
    """Return the identity in a run's `run.json`; an empty one where there is none to read."""
    if not (run.root / RUN_RECORD).is_file():
        return Identity()
    try:
        return read_identity(read_record(run))
    except IntegrityError:
        # The audit that runs now replaces the damaged file.
        return Identity()


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
    if isinstance(version, str) and version != RunResults.model_fields["schema_version"].default:
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
