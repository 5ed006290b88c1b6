"""The files of a finished run: tables of estimates, results, pages, verdict, run record and, last, the manifest.

Owns which file holds what (docs/results.md, "What a run leaves"), which verdict on the run is meant, the recorded one
or that of another policy on the exact table (docs/policy.md), and what makes a recorded verdict unbelievable.
Everything outside `evidence/` is made of the published table and of words. Knows nothing of how a figure was measured,
or a rule decided.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from clinaudit.audit.results.gate.policy import load_policy, locate_policy
from clinaudit.audit.results.gate.verdict import conclude, decide
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.audit.runtime.run.directory import RunDirectory, sha256_of, write_atomically
from clinaudit.audit.runtime.run.manifest import replace_files, verify, write_manifest
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.reports.estimates.frame import METRICS, Estimates
from clinaudit.reports.exports import read_csv, verdict_json, verdict_junit, write_csv
from clinaudit.reports.pages.report import render_annex, render_report
from clinaudit.reports.schema.identity import Identity, read_identity
from clinaudit.reports.schema.run_results import SCHEMA_VERSION, RunReport, RunResults, Verdict, to_json

RESULTS = "results.json"
ESTIMATES = "results.csv"
RUN_RECORD = "run.json"
REPORT = "report.html"
ANNEX = "annex.html"
GATE = "gate.json"
JUNIT = "junit.xml"
#: Everything beside the evidence but the manifest.
PUBLISHED = (RESULTS, ESTIMATES, RUN_RECORD, REPORT, ANNEX, GATE, JUNIT)
#: What is rendered from the other files.
PAGES = (REPORT, ANNEX)


def publish_run(
    run: RunDirectory,
    results: RunResults,
    exact: pl.DataFrame,
    published: pl.DataFrame,
    record: Mapping[str, object],
) -> RunReport:
    """Write everything outside the evidence tables, the manifest last; return what is published.

    `exact` is the table of estimates as measured, `published` what of it may be read outside.
    """
    files = {
        f"{run.evidence.name}/{ESTIMATES}": write_csv(exact),
        ESTIMATES: write_csv(published),
        RESULTS: to_json(results),
        RUN_RECORD: _record_text(record),
    }
    for name in (GATE, JUNIT):
        (run.root / name).unlink(missing_ok=True)
    if results.verdict is not None:
        files |= {GATE: verdict_json(results.verdict), JUNIT: verdict_junit(results.verdict)}
    _write(run, files)
    # The pages are made from the files as written, so that `report` gives the same again.
    _write(run, _render(run))
    write_manifest(run)
    return read_published(run)


def _write(run: RunDirectory, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        write_atomically(run.root / name, text)


def _render(run: RunDirectory, record: Mapping[str, object] | None = None) -> dict[str, str]:
    """Return the text of each page by its place in the run; the exact ones where the evidence is there."""
    reports = {"": read_published(run)}
    if has_evidence(run):
        reports[f"{run.evidence.name}/"] = read_exact(run)
    pages = {}
    for folder, report in reports.items():
        shown = report if record is None else replace(report, provenance=record)
        pages[f"{folder}{REPORT}"] = render_report(shown)
        pages[f"{folder}{ANNEX}"] = render_annex(shown)
    return pages


def require_same_verdict(run: RunDirectory, verdict: Verdict) -> None:
    """Raise `IntegrityError` where `gate.json` is not the verdict of `results.json`, which is given.

    The pages and `junit.xml` are renderings, in words that another build may change.
    """
    if not (run.root / GATE).exists():
        # Whether it should be there the manifest says.
        return
    try:
        is_same = json.loads(_read_text(run.root / GATE, GATE)) == verdict.model_dump(mode="json")
    except ValueError:
        is_same = False
    if not is_same:
        raise IntegrityError(f"{GATE} is not the verdict of {RESULTS}; run the audit again")


def render_again(run: RunDirectory, given: Identity) -> None:
    """Verify the run but for its pages, and render these once more from its other files.

    What is `given` of the identity replaces what `run.json` holds of it. The exact pages are rendered where the
    evidence is there. Raises `IntegrityError` where a file is not what the audit wrote. The caller holds the run's
    lock.
    """
    # The new manifest must not list a file that somebody changed.
    verify(run, but=(*PAGES, *(f"{run.evidence.name}/{name}" for name in PAGES)))
    record = read_record(run)
    files: dict[str, str] = {}
    if given != Identity():
        record = {**record, "identity": read_identity(record).updated(given).as_record()}
        files[RUN_RECORD] = _record_text(record)
    files |= _render(run, record)
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


def read_published(run: RunDirectory) -> RunReport:
    """Read what a run publishes; raises `IntegrityError` where a file does not follow its schema."""
    return RunReport(_read_results(run), _read_estimates(run.root / ESTIMATES, run), read_record(run))


def read_exact(run: RunDirectory) -> RunReport:
    """Read a run with its exact table (PHI).

    Raises `BadInputError` where the evidence was purged, `IntegrityError` where a file does not follow its schema.
    """
    if not has_evidence(run):
        raise BadInputError("this run has no evidence: it was purged; leave --exact out to read what is published")
    exact = _read_estimates(run.evidence / ESTIMATES, run)
    return RunReport(_read_results(run), exact, read_record(run), is_exact=True)


def has_evidence(run: RunDirectory) -> bool:
    """Whether the run still has its exact table."""
    return (run.evidence / ESTIMATES).is_file()


def read_record(run: RunDirectory) -> dict[str, object]:
    """Read a run's `run.json`; raises `IntegrityError` where it is not a run record."""
    try:
        record = json.loads(_read_text(run.root / RUN_RECORD, RUN_RECORD))
    except (ValueError, RecursionError):
        raise IntegrityError(f"{RUN_RECORD} is not JSON; run the audit again") from None
    if not isinstance(record, dict):
        raise IntegrityError(f"{RUN_RECORD} is not a run record; run the audit again")
    return record


def _read_results(run: RunDirectory) -> RunResults:
    name = f"{run.root.name}/{RESULTS}"
    text = _read_text(run.root / RESULTS, name)
    try:
        document = json.loads(text)
        version = document.get("schema_version") if isinstance(document, dict) else None
        if not isinstance(version, str) or version == SCHEMA_VERSION:
            return RunResults.model_validate(document)
    except (ValueError, RecursionError):
        # pydantic's own message quotes the values.
        raise IntegrityError(f"{name} does not follow the results schema; run the audit again") from None
    raise BadInputError(
        f"{name} is of another version of clinaudit: read and render it with that version, or audit again in a new"
        " directory"
    )


def _read_estimates(path: Path, run: RunDirectory) -> Estimates:
    name = path.relative_to(run.root.parent).as_posix()
    try:
        frame = read_csv(_read_text(path, name))
    except ValueError:
        frame = None
    if frame is None or not frame["metric"].is_in(METRICS.keys()).all():
        raise IntegrityError(f"{name} is not the table that the audit wrote; run the audit again")
    return Estimates(frame)


def _read_text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise IntegrityError(f"{name} is missing; restore it or run the audit again") from None
    except UnicodeDecodeError:
        raise IntegrityError(f"{name} is not UTF-8; run the audit again") from None


_CONTRADICTED: Final = "the recorded verdict contradicts {}; run the audit again"


def find_verdict(run: RunDirectory, *, given: Path | None = None) -> tuple[Verdict, bool]:
    """Return the verdict on a run, and whether it is of the run's own policy: the recorded one.

    `given`: a policy; None for the run's own. Raises `IntegrityError` where a recorded verdict is not what its rules
    make of it, or `gate.json` would be another; `BadInputError` where another policy is given and the evidence was
    purged.
    """
    published = read_published(run)
    require_concluded(published)
    recorded = published.results.verdict
    if given is None and recorded is not None:
        return recorded, True
    policy = load_policy(given)
    if recorded is not None and given is not None and _digest(given) == _own_digest(published):
        return recorded, True
    if not has_evidence(run):
        stands = "has no recorded verdict" if recorded is None else "keeps its recorded verdict"
        raise BadInputError(f"this run was purged and {stands}: no other policy can be asked")
    exact = read_exact(run)
    return decide(policy, exact.estimates, exact.results, published=published.estimates), False


def require_concluded(published: RunReport) -> None:
    """Raise `IntegrityError` where a recorded verdict is not what its rules make of it."""
    recorded = published.results.verdict
    if recorded is None:
        return
    statuses = [rule.status for rule in recorded.rules]
    missing = [row.count_high for row in published.estimates.rows("missing")]
    # Where it is not printed how much is missing, it may be nothing.
    maybe_done = [False] if any(missing) else [True, False] if None in missing else [True]
    if recorded.status not in {
        conclude(
            statuses,
            is_done=is_done,
            not_asked=recorded.not_asked,
            narrowed=recorded.narrowed,
            doubts=recorded.doubts,
        )[0]
        for is_done in maybe_done
    }:
        raise IntegrityError(_CONTRADICTED.format("its own rules"))


def require_decided(run: RunDirectory) -> None:
    """Raise `IntegrityError` where the run's own policy decides otherwise on the exact table than was recorded.

    Asks nothing where the evidence was purged, or the policy is none that ships. Words may change between versions:
    statuses are compared.
    """
    published = read_published(run)
    recorded = published.results.verdict
    own = next((name for name in SHIPPED if _digest(Path(name)) == _own_digest(published)), None)
    if recorded is None or own is None or not has_evidence(run):
        return
    exact = read_exact(run)
    decided = decide(load_policy(Path(own)), exact.estimates, exact.results, published=published.estimates)
    if _statuses(decided) != _statuses(recorded):
        raise IntegrityError(_CONTRADICTED.format("the exact figures"))


def _statuses(verdict: Verdict) -> dict[str, str]:
    return {"": verdict.status, **{rule.id: rule.status for rule in verdict.rules}}


def _digest(given: Path) -> str:
    return sha256_of(locate_policy(given))


def _own_digest(published: RunReport) -> object:
    settings = published.provenance.get("settings")
    return settings.get("--policy") if isinstance(settings, dict) else None
