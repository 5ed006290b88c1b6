"""Sentences on drift: published as a word, exact as counts."""

from clinaudit.audit.results.ranges.results import derive
from clinaudit.reports.schema.results import DriftEvidence, DriftResults
from clinaudit.reports.tally.leaves import Inside, Setting
from clinaudit.reports.tally.tally import DriftTally, Tally, publishable
from clinaudit.reports.wording.captions import drift_sentence

SOME = DriftEvidence(prompts=32, patients=31, differing=3, differing_patients=3, equal_leading_share=0.96)


def test_a_word_is_published_and_counts_are_exact() -> None:
    some, none = (DriftResults(differing=word, tokens=64) for word in ("some", "none"))
    checked = "Drift: some prompts were also decoded alone (64 tokens)"
    assert drift_sentence(some) == f"{checked}; not all gave the same text."
    assert drift_sentence(none) == f"{checked}; all gave the same text."
    assert drift_sentence(some.model_copy(update={"evidence": SOME})) == (
        f"{checked}. Of 32, 3 gave a different text than in the batch; the mean share of equal leading tokens is 96%."
    )


def test_any_count_above_zero_is_published_alike() -> None:
    tally = Tally(drift=DriftTally("some", Setting(64), Inside(SOME)))
    assert derive(tally).drift == DriftResults(differing="some", tokens=64, evidence=SOME)
    assert derive(publishable(tally)).drift == DriftResults(differing="some", tokens=64)
    assert derive(publishable(Tally())).drift is None
