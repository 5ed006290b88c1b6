"""Two runs compared: the order of the steps, and nothing else (docs/comparing-runs.md).

What is published is made of both runs' published tables alone. The exact comparison pairs the patients whom both asked,
on the evidence; it stays there.
"""

from clinaudit.audit.results.comparison.pairs import compare_evidence
from clinaudit.audit.results.comparison.run_pair import RunPair
from clinaudit.audit.results.comparison.tables import compare_tables, move_rules, replace_paired
from clinaudit.audit.results.publication.published_files import read_exact
from clinaudit.reports.schema.comparison import Change, Comparison, FiguresRead
from clinaudit.reports.schema.forgetting import Forgetting
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.wording.comparison import conclusion_sentence


def compare_runs(pair: RunPair, *, forgetting: Forgetting | None = None) -> Comparison:
    """Return what may be published of the comparison."""
    changes = compare_tables(pair.a.published.estimates, pair.b.published.estimates)
    return _compare(pair, "published", changes, forgetting)


def compare_exactly(pair: RunPair, *, forgetting: Forgetting | None = None) -> Comparison:
    """Return the exact comparison (PHI); both runs must have their evidence."""
    a, b = (read_exact(run.run).estimates for run in (pair.a, pair.b))
    paired = compare_evidence(pair.a.run.evidence, pair.b.run.evidence, match_tokens=pair.b.ngram)
    return _compare(pair, "exact", replace_paired(compare_tables(a, b), paired), forgetting)


def _compare(pair: RunPair, figures: FiguresRead, changes: list[Change], forgetting: Forgetting | None) -> Comparison:
    comparison = Comparison(
        figures=figures,
        date=read_identity(pair.b.record).date,
        differences=list(pair.differences),
        warnings=list(pair.warnings),
        changes=changes,
        forgetting=forgetting,
        rules=move_rules(pair.a.published.results.verdict, pair.b.published.results.verdict),
    )
    return comparison.model_copy(update={"conclusion": conclusion_sentence(comparison)})
