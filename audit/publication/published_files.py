"""The files of a finished run: evidence, published results, report, verdict, run record and, last, the manifest.

Owns which file holds what (docs/results.md, "What a run leaves"). Knows nothing of how an estimate came about.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.durable_files import write_atomically
from clinaudit.audit.run.manifest import replace_files, write_manifest
from clinaudit.errors import IntegrityError
from clinaudit.reports.exports.junit import junit_xml
from clinaudit.reports.exports.sarif import sarif_json
from clinaudit.reports.pages.pdf import render_pdf
from clinaudit.reports.pages.report import render_page
from clinaudit.reports.schema.decision import Decision
from clinaudit.reports.schema.results import Results, from_json, to_json
from clinaudit.reports.suppression.results import suppress

RESULTS = "results.json"
RUN_RECORD = "run.json"
REPORT = "report.html"
#: Only on request (`clinaudit report --pdf`).
PDF = "report.pdf"
VERDICT_FILES = ("gate.json", "junit.xml", "gate.sarif")
#: Everything beside the evidence but the manifest.
PUBLISHED = (RESULTS, RUN_RECORD, REPORT, PDF, *VERDICT_FILES)


def publish_run(run: RunDirectory, results: Results, record: Mapping[str, object]) -> Results:
    """Write everything outside the evidence tables, the manifest last; return the published (suppressed) results."""
    write_atomically(run.evidence / RESULTS, to_json(results))
    text = to_json(suppress(results))
    write_atomically(run.root / RESULTS, text)
    # The rest is made from the published files as written, so that `report` gives the same page again.
    published = from_json(text)
    provenance = json.dumps(record, indent=1, sort_keys=True) + "\n"
    write_atomically(run.root / RUN_RECORD, provenance)
    if published.decision is not None:
        write_verdict(run.root, published.decision)
    write_atomically(run.root / REPORT, render_page(published, json.loads(provenance)))
    # A PDF of an earlier audit would contradict the rest.
    (run.root / PDF).unlink(missing_ok=True)
    write_manifest(run)
    return published


def write_verdict(directory: Path, decision: Decision) -> None:
    """Write a published verdict in its three machine-readable forms; those of an earlier one are removed first."""
    for name in VERDICT_FILES:
        (directory / name).unlink(missing_ok=True)
    for name, text in zip(VERDICT_FILES, (gate_json(decision), junit_xml(decision), sarif_json(decision)), strict=True):
        write_atomically(directory / name, text)


def gate_json(decision: Decision) -> str:
    """Return the text of `gate.json`, for a decision that is already suppressed."""
    return json.dumps(decision.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def publish_decision(results: Results, decision: Decision, *, unsuppressed: bool) -> Decision:
    """Return the copy of a verdict on `results` that may be published: suppressed and rounded."""
    decided = with_decision(results, decision)
    # Rounded, as all that is published.
    return from_json(to_json(suppress(decided) if unsuppressed else decided)).decision or decision


def render_again(run: RunDirectory, *, pdf: bool = False) -> None:
    """Render the report from the published results once more; with `pdf`, as a PDF too."""
    results, record = read_results(run), read_record(run)
    files = {REPORT: render_page(results, record).encode("utf-8")}
    if pdf:
        files[PDF] = render_pdf(render_page(results, record, for_paper=True))
    replace_files(run, files)


def read_results(run: RunDirectory, *, unsuppressed: bool = False) -> Results:
    """Read a run's results: the published ones or (where the evidence still exists) the unsuppressed ones.

    Raises `IntegrityError` where the file does not follow the schema.
    """
    path = run.evidence / RESULTS if unsuppressed else run.root / RESULTS
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # pydantic's own message quotes the values.
        raise IntegrityError(f"{path.name} does not follow the results schema; run the audit again") from None


def read_record(run: RunDirectory) -> dict[str, object]:
    """Read a run's `run.json`; raises `IntegrityError` where it is not a run record."""
    try:
        record = json.loads((run.root / RUN_RECORD).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise IntegrityError(f"{RUN_RECORD} is not JSON; run the audit again") from None
    if not isinstance(record, dict):
        raise IntegrityError(f"{RUN_RECORD} is not a run record; run the audit again")
    return record


def has_unsuppressed_results(run: RunDirectory) -> bool:
    """Whether the run still has its unsuppressed results."""
    return (run.evidence / RESULTS).is_file()


def with_decision(results: Results, decision: Decision) -> Results:
    """Return the results with their verdict."""
    return results.model_copy(update={"decision": decision})
