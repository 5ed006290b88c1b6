"""Another patient's paragraph planted in answers at every tier: found with its owner and note, and nothing else is."""

import pytest
from support.measured_text import estimates_of, measured_rows
from support.runs.tables import value_of
from support.written_corpus import answer_of, write_corpus

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.templates.profile import load_profile

N = 30
#: Of p1 (train) alone, in the first and third of its notes; the third has carriage returns.
LEAK = "she raises goats near the old mill.\nher brother drowned in 1987, and she has not slept well since.\n"
#: Of q1 (nontrain) alone.
HELD_OUT = "he repairs clocks in a cellar, and hears ticking at night.\nhis left ear was frozen in the war.\n"
SHARED = "we discussed the risks of this treatment at length today.\nthe patient agrees to go on with it.\n"
TEMPLATED = "constitutional: negative for chills, fever, fatigue, malaise, weight loss and night sweats.\n"
OWN = "he keeps bees and eats no bread at all.\nhe fell off a ladder when he was nine years old.\n"
NOTES = {
    "p1": [f"cc: cough\n{LEAK}{SHARED}", "cc: fever\nnothing new.\n", f"cc: pain\n{LEAK}".replace("\n", "\r\n")],
    "p2": [f"cc: rash\n{OWN}{SHARED}"],
    "p3": [f"cc: rash\n{TEMPLATED}"],
    "q1": [f"cc: ears\n{HELD_OUT}{SHARED}"],
    "q2": ["cc: none\nwell.\n"],
    "q3": ["cc: none\nwell again.\n"],
}


@pytest.fixture
def measure(tokenizer_directory, tmp_path):
    tokenizer = ModelTokenizer(tokenizer_directory)

    def measured(texts, *, without=()):
        """Measure (patient, tier, text, prompt), with a corpus `without` some patients."""
        own = {patient: texts for patient, texts in NOTES.items() if patient not in without}
        generations = [
            answer_of(
                tokenizer,
                patient,
                text,
                name=f"g{place}",
                arm="train" if patient < "q" else "nontrain",
                tier=tier,
                prompt=prompt,
            )
            for place, (patient, tier, text, prompt) in enumerate(texts)
        ]
        notes = MatchedCorpus(write_corpus(tmp_path / "corpus", own), tokenizer, load_profile())
        return measured_rows(generations, notes, match_tokens=N)

    return measured


METRICS = ("other_patient_fraction", "other_patient_sampled_fraction", "other_patient_chance_fraction")


def figures(measured, tier="public"):
    """Return the share of the answers' text that is others', in equal pools, and by chance."""
    estimates = estimates_of(measured, match_tokens=N)
    (arm,) = estimates.values_of("arm", METRICS[0])
    first, second, third = (value_of(estimates, metric, form="text", tier=tier, arm=arm) for metric in METRICS)
    return first, second, third


@pytest.mark.parametrize("target", ["p2", "q2"])
def test_a_planted_paragraph_is_found_at_every_tier(measure, tokenizer_directory, target):
    answer = f"zzz. {LEAK}zzz. {SHARED}"
    measured = measure([(target, tier, answer, "a prompt") for tier in TIER_IDS])
    rows = list(measured["other_patients"])
    assert len(rows) == len(TIER_IDS)
    for row in rows:
        # The latest note that holds it, its carriage returns read as line feeds.
        assert (row["owner_patient_id"], row["source_note_id"]) == ("p1", "p1-2")
        assert row["text"] in answer
        assert LEAK.strip() in row["text"]
        assert NOTES["p1"][2].replace("\r\n", "\n")[row["note_char_start"] : row["note_char_end"]] == row["text"]
        assert row["telling_tokens"] == row["token_end"] - row["token_start"]
    length = len(ModelTokenizer(tokenizer_directory).encode(answer))
    share = pytest.approx(rows[0]["telling_tokens"] / length)
    for tier in TIER_IDS:
        assert figures(measured, tier) == (share, share, 0)


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        (SHARED * 2, "a prompt"),
        (HELD_OUT, "a prompt"),
        (LEAK, f"who is this? {LEAK}"),
        (OWN, "a prompt"),
        (TEMPLATED.strip(), "a prompt"),
        ("no such words stand in any note of anyone, not even one of them, or so we hope, at all." * 2, None),
        (LEAK[:20], None),
        ("", None),
    ],
    ids=["shared", "nontrain", "echo", "own", "templated", "invented", "short", "empty"],
)
def test_what_is_no_other_train_patients_text_does_not_count(measure, text, prompt):
    measured = measure([("p2", "public", text, prompt)])
    assert figures(measured)[0] == 0
    assert sum(row["telling_tokens"] for row in measured["other_patients"]) == 0


def test_chance_counts_nontrain_patients_text_by_the_same_rule(measure, tokenizer_directory):
    measured = measure([("p2", "public", HELD_OUT, None), ("p2", "public", "", None)])
    length = len(ModelTokenizer(tokenizer_directory).encode(HELD_OUT))
    # Two train patients are left for p2, so that two of the three nontrain patients are drawn.
    drawn = measured["generation_metrics"][0]["other_patient_chance_tokens"]
    assert drawn in (0, length)
    assert figures(measured) == (0, 0, drawn / length / 2)


def test_text_of_two_other_patients_in_one_answer_has_two_owners(measure):
    measured = measure([("p3", "public", f"{LEAK} and {OWN}", None)])
    assert [row["owner_patient_id"] for row in measured["other_patients"]] == ["p1", "p2"]
