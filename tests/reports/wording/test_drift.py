"""Sentences on drift: published as a word, exact as counts."""

from clinaudit.reports.exact.results import Drift, Results
from clinaudit.reports.schema.report_content import DriftCounts
from clinaudit.reports.schema.results import PublishedDrift
from clinaudit.reports.suppression.coarse import coarsen
from clinaudit.reports.wording.drift import drift_sentence


def test_a_word_is_published_and_counts_are_exact() -> None:
    some, none = (PublishedDrift(differing=word, tokens=64) for word in ("some", "none"))
    checked = "Drift: some prompts were decoded alone, too (64 tokens)"
    assert drift_sentence(some) == f"{checked}; not all gave the same text."
    assert drift_sentence(none) == f"{checked}; all gave the same text."
    counts = DriftCounts(prompts=32, differing=3, equal_leading_share=0.96)
    assert drift_sentence(some, counts) == (
        f"{checked}. Of 32, 3 gave another text than in the batch; the mean share of equal leading tokens is 96%."
    )


def test_any_count_above_zero_is_published_alike() -> None:
    def published(differing: int) -> PublishedDrift | None:
        drift = Drift(
            prompts=32,
            patients=31,
            differing=differing,
            differing_patients=differing,
            equal_leading_share=1 - differing / 64,
            tokens=64,
        )
        return coarsen(Results(drift=drift)).drift

    assert published(1) == published(31) == PublishedDrift(differing="some", tokens=64)
    assert published(0) == PublishedDrift(differing="none", tokens=64)
    assert coarsen(Results()).drift is None
