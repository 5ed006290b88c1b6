"""Which verdicts are valid, and that a row of the evidence gives back the judgement it was made from."""

import pytest

from clinaudit.audit.measures.judge.verdict import OUTCOME, Judgement, Verdict, invalid_reason, to_row
from clinaudit.audit.runtime.run.evidence_tables import as_table

TEXT = "Patient has depression and takes Zoloft; crying spells."


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(False, None),
        Verdict(True, "positive", ("depression",), ("crying spells",), ("Zoloft",)),
        Verdict(True, "negative", symptom_spans=("crying spells",)),
        Verdict(True, "ambiguous", medication_spans=("Zoloft",)),
        # Nothing is named, but something is quoted.
        Verdict(True, "positive", evidence_spans=("takes Zoloft; crying",)),
    ],
)
def test_valid(verdict):
    assert invalid_reason(verdict, TEXT) is None


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict(True, None, ("depression",)), "mentioned, but without a status"),
        (Verdict(True, "positive"), "mentioned, but without a span"),
        (Verdict(False, "negative"), "not mentioned, but with a status"),
        (Verdict(False, None, ("depression",)), "not mentioned, but with spans"),
        (Verdict(True, "positive", ("Depression",)), "diagnosis_spans holds a span that is not in the text"),
        (Verdict(True, "positive", ("depression",), ("sad",)), "symptom_spans holds a span that is not in the text"),
        (Verdict(True, "positive", (), (), ("Prozac",)), "medication_spans holds a span that is not in the text"),
        (Verdict(True, "positive", ("depression", "")), "diagnosis_spans holds an empty span"),
        (Verdict(True, "positive", ("e",)), "diagnosis_spans holds a span that tells nothing"),
        (Verdict(True, "positive", (";",)), "diagnosis_spans holds a span that tells nothing"),
        (Verdict(True, "positive", (), ("; ",)), "symptom_spans holds a span that tells nothing"),
        (Verdict(True, "positive", ("dep",)), "diagnosis_spans holds a span that is a piece of a word"),
        (Verdict(False, None, evidence_spans=("takes Zoloft",)), "not mentioned, but with spans"),
        (
            Verdict(True, "positive", evidence_spans=("sad all day",)),
            "evidence_spans holds a span that is not in the text",
        ),
        (Verdict(True, "positive", evidence_spans=(" ",)), "evidence_spans holds an empty span"),
        (Verdict(True, "maybe", ("depression",)), "the status is none of positive, negative, ambiguous"),
    ],
)
def test_invalid(verdict, reason):
    assert invalid_reason(verdict, TEXT) == reason


@pytest.mark.parametrize(
    "judgement",
    [
        Judgement(Verdict(True, "positive", ("depression",), ("sad", "low"), ("Zoloft",)), "lexicon", 1, None),
        Judgement(Verdict(False, None), "lexicon", 1, None),
        Judgement(None, "openai", 3, "mentioned, but without a span"),
        Judgement(
            Verdict(True, "negative", evidence_spans=("told so",)),
            "openai",
            4,
            None,
            ("unjudged", "negative", "negative"),
        ),
    ],
)
def test_a_row_comes_back_as_it_went(judgement):
    row = to_row(judgement)
    table = as_table("judgements", [row])
    assert table.row(0, named=True) == {"generation_id": None, "diagnosis": None, **row}
    assert table.select(OUTCOME).item() == judgement.outcome
