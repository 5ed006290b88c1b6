"""The sentence on membership: what the model tells and by which score, or why nothing is said."""

from clinaudit.audit.statistics.estimates import share_row
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates, at
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.wording.first_screen import membership_sentence


def sentence(rows: list[Row], *, not_scored: str | None = None) -> str:
    return membership_sentence(RunReport(RunResults(not_scored=not_scored), Estimates(as_estimates(rows)), {}))


def test_the_score_that_counts_is_named() -> None:
    auroc = at("membership_auroc")._replace(value=0.9, low=0.8, high=0.95)
    parts = [auroc._replace(by="score", part=part) for part in ("min_k_plus_plus", "loss", "zlib")]
    said = sentence([auroc, share_row("membership_found", 60, 130), *parts])
    assert said.startswith("The model tells whose notes it was trained on (AUROC 0.90 (0.80 to 0.95) by Min-K%++; ")
    assert "at 1% false positives it finds 46% (37 to 56) of those trained on" in said
    assert "by the likelihood;" in sentence([auroc._replace(low=0.4), *parts[1:]])
    assert sentence([auroc._replace(low=0.4), *parts[1:]]).startswith("The model is not shown to tell")


def test_where_there_is_no_figure_the_reason_is_said() -> None:
    known = [at(name)._replace(reason="the arms differ") for name in ("membership_auroc", "membership_found")]
    assert sentence(known).endswith("was not measured: the arms differ.")
    assert sentence([], not_scored="notes were not scored").endswith("was not measured: notes were not scored.")
