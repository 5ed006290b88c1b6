"""Two runs compared: their tables of estimates joined, how the rules moved, and the files of `clinaudit compare`.

Owns which figures are compared (docs/for-ml-engineers.md), and which file is written where: what may be published in
`--out DIR`, PHI under its `evidence/`. What is published of a comparison is made of the two published tables alone; an
exact one pairs the patients whom both asked, on the evidence, and stays there.
"""

from pathlib import Path
from typing import Final

from clinaudit.audit.results.comparison.run_pair import RunPair, compare_evidence
from clinaudit.audit.results.publication.published_files import read_exact
from clinaudit.audit.runtime.run.directory import make_private_directory, write_atomically
from clinaudit.audit.runtime.run.manifest import is_run
from clinaudit.audit.statistics.estimates import difference_row
from clinaudit.errors import UsageError
from clinaudit.reports.estimates.frame import METRICS, Estimates, Row
from clinaudit.reports.pages.certificate import comparison_json, render_certificate, render_comparison
from clinaudit.reports.schema.certificate import Certificate, Forgetting
from clinaudit.reports.schema.comparison import Change, Comparison, MovedRules
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.run_results import Rule, Verdict
from clinaudit.reports.wording.certificate import conclusion_sentence
from clinaudit.reports.wording.rule_rows import rule_name

#: Compared beside what a policy may limit.
_BESIDE: Final = ("sensitivity", "false_positive_rate", "mention_rate", "membership_found", "everyday_identifiers")
#: Figures of diagnoses, which are compared as trained on minus the others: what training adds.
_OF_DIAGNOSES: Final = ("auroc_all", "sensitivity", "false_positive_rate", "mention_rate")


def compare_tables(a: Estimates, b: Estimates) -> list[Change]:
    """Return each compared figure that both tables hold at one place.

    The interval is that of independent patients. Where the runs asked the same patients, whose answers go together, it
    is wider than it need be.
    """
    others = {row.place: row for row in b}
    return [compare_rows(row, others[row.place]) for row in a if is_compared(row) and row.place in others]


def is_compared(row: Row) -> bool:
    """Whether a figure of this place is compared: subgroups, parts and means over diagnoses are not."""
    if not (METRICS[row.metric].may_be_limited or row.metric in _BESIDE) or row.by not in ("", "queries"):
        return False
    if row.metric in _OF_DIAGNOSES:
        return "-" in row.arm and row.diagnosis != "mean"
    # Of the arms themselves; the control is the same model in both runs.
    return row.arm in ("", "train", "nontrain")


def compare_rows(a: Row, b: Row) -> Change:
    """Return B minus A of two rows of one place; of bounds, from the near end of one to the far end of the other."""
    difference = difference_row(b, a, a.arm)
    if difference.value is None and not (a.low is None or a.high is None or b.low is None or b.high is None):
        difference = difference._replace(low=b.low - a.high, high=b.high - a.low, reason="")
    return Change.of(a, b, difference)


def move_rules(a: Verdict | None, b: Verdict | None) -> MovedRules | None:
    """Return both verdicts, and what became of B's rules; None where neither run has a verdict."""
    if a is None and b is None:
        return None
    before, after = ([] if verdict is None else verdict.rules for verdict in (a, b))
    failed = {_key(rule) for rule in before if rule.status == "fail"}
    named: dict[str, list[str]] = {"mended": [], "new": [], "failing": [], "open": []}
    for rule in after:
        is_old = _key(rule) in failed
        kinds = {"pass": "mended" if is_old else "", "fail": "failing" if is_old else "new", "inconclusive": "open"}
        if kinds[rule.status]:
            named[kinds[rule.status]].append(rule_name(rule))
    asked = set(map(_key, after))
    named["gone"] = [rule_name(rule) for rule in before if rule.status == "fail" and _key(rule) not in asked]
    statuses = [None if verdict is None else verdict.status for verdict in (a, b)]
    return MovedRules(a=statuses[0], b=statuses[1], **named)


def _key(rule: Rule) -> tuple[str, float]:
    # Under two policies a rule of one id may have two limits: that one was not mended.
    return rule.id, rule.limit


def compare_runs(pair: RunPair, *, exact: bool = False, forgetting: Forgetting | None = None) -> Comparison:
    """Return what may be published of the comparison; `exact`: the exact one (PHI), of the evidence of both runs."""
    a, b = (read_exact(run.run).estimates if exact else run.published.estimates for run in (pair.a, pair.b))
    changes = compare_tables(a, b)
    if exact:
        found = compare_evidence(pair.a.run.evidence, pair.b.run.evidence, match_tokens=pair.b.ngram)
        paired = {change.place: change for change in found}
        changes = [paired.get(change.place, change) for change in changes]
    comparison = Comparison(
        figures="exact" if exact else "published",
        date=read_identity(pair.b.record).date,
        differences=list(pair.differences),
        warnings=list(pair.warnings),
        changes=changes,
        forgetting=forgetting,
        rules=move_rules(pair.a.published.results.verdict, pair.b.published.results.verdict),
    )
    return comparison.model_copy(update={"conclusion": conclusion_sentence(comparison)})


COMPARISON: Final = "compare.json"
PAGE: Final = "compare.html"
CERTIFICATE: Final = "certificate.json"
CERTIFICATE_PAGE: Final = "certificate.html"
_PUBLISHED: Final = (COMPARISON, PAGE)
_EVIDENCE: Final = (COMPARISON, PAGE, CERTIFICATE, CERTIFICATE_PAGE)
_HINT: Final = "name a new or an earlier comparison's"


def prepare_directory(out: Path, *, exact: bool) -> None:
    """Raise `UsageError` where `out` lies in a run, is no directory, or holds files of something else.

    An exact comparison writes under `evidence/` alone: it neither replaces a published one nor stands beside one, which
    may be of other runs.
    """
    if any(map(is_run, (out.resolve(), *out.resolve().parents))):
        raise UsageError("--out lies in a run, whose files are fixed; name a directory of its own")
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out names something that is not a directory; {_HINT}")
    if out.is_dir() and any(not _is_ours(path) for path in out.iterdir()):
        raise UsageError(f"--out names a directory that holds other things; {_HINT}")
    if exact and any((out / name).exists() for name in _PUBLISHED):
        raise UsageError("--out holds a published comparison; name another directory for the exact one")


def write_comparison(out: Path, comparison: Comparison, certificate: Certificate | None) -> None:
    """Write what may be published in `out`; an exact comparison, and the certificate where there is one, are PHI."""
    is_exact = comparison.figures == "exact"
    if not is_exact and any(change.pairs is not None for change in comparison.changes):
        raise ValueError("a published comparison holds exact figures")
    make_private_directory(out)
    evidence = out / "evidence"
    # First: after a kill, no file of an earlier comparison stands beside files of this one.
    for path in (*(out / name for name in _PUBLISHED), *(evidence / name for name in _EVIDENCE)):
        path.unlink(missing_ok=True)
    if is_exact or certificate is not None:
        make_private_directory(evidence)
    if certificate is not None:
        write_atomically(evidence / CERTIFICATE, comparison_json(certificate))
        write_atomically(evidence / CERTIFICATE_PAGE, render_certificate(certificate))
    place = evidence if is_exact else out
    write_atomically(place / PAGE, render_comparison(comparison))
    write_atomically(place / COMPARISON, comparison_json(comparison))


def _is_ours(path: Path) -> bool:
    """Whether this file or folder is a comparison's, or one that was stopped while it was written."""
    if path.name == "evidence" and path.is_dir() and not path.is_symlink():
        return all(_without_partial(child) in _EVIDENCE for child in path.iterdir())
    return _without_partial(path) in _PUBLISHED


def _without_partial(path: Path) -> str:
    return path.name.removeprefix(".").removesuffix(".partial")
