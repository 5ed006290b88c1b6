"""What notes repeat, and how much of a perfect recitation that costs (docs/methods.md, section 1)."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.patient_facts import PROFILE
from support.repeating_notes import PLAIN, QUIET, REPEATING, corpus_with, plan

from clinaudit.audit.measures.generation.own_repeats import count_repeats, find_own_repeats, measure_recitations
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.facts import read_facts


def brute_force(ids: list[int], n: int) -> dict[tuple[int, ...], int]:
    counts = Counter(tuple(ids[first : first + n]) for first in range(len(ids) - n + 1))
    return {ngram: count for ngram, count in counts.items() if count > 1}


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 5))
def test_repeats_equal_brute_force(ids: list[int], n: int) -> None:
    assert count_repeats(np.array(ids, dtype=np.uint32), n) == brute_force(ids, n)


def test_repeats_by_hand() -> None:
    period = np.array([5, 6] * 12, dtype=np.uint32)
    assert count_repeats(period) == {(5, 6) * 10: 3, (6, 5) * 10: 2}
    assert count_repeats(period[:20]) == {}
    assert count_repeats(np.arange(200, dtype=np.uint32)) == {}
    # Vocabularies end below 2^31; an id may be as large as that.
    assert count_repeats(np.array([2**31 - 1] * 21, dtype=np.uint32)) == {(2**31 - 1,) * 20: 2}


def test_a_repeat_counts_within_one_note_alone(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    notes = {"within": [PLAIN, REPEATING], "over": [PLAIN, PLAIN], "none": [PLAIN], "returns": [REPEATING]}
    notes["returns"] = [REPEATING.replace("\n", "\r\n")]
    # Equal notes would make one person of several.
    notes = {patient: [f"{text}\n{patient}" for text in texts] for patient, texts in notes.items()}
    corpus = corpus_with(tmp_path / "corpus", notes)
    found = find_own_repeats(notes, corpus, tokenizer.encode_many, QUIET)
    assert found.repeating == {"within", "returns"}
    assert found.allowed("over") == {}
    assert set(found.allowed("within").values()) == {2}
    # Of a note with carriage returns both readings count.
    unix = brute_force(list(tokenizer.encode(REPEATING)), 20)
    assert unix == found.allowed("within")
    assert unix.items() <= found.allowed("returns").items()


def test_a_background_prompt_has_no_recitation(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    corpus = corpus_with(tmp_path / "corpus", {"p": [REPEATING]})
    priors, _ = plan(corpus, tokenizer)
    own = find_own_repeats("p", corpus, tokenizer.encode_many, QUIET)
    facts = read_facts(corpus, PROFILE, "p")
    background = [replace(priors[0], tier="public_name"), replace(priors[0], excluded=True)]
    assert measure_recitations(background, own, facts=facts, tokenizer=tokenizer).cuts == {}
    # Within a short budget nothing is repeated yet.
    short = [replace(priors[0], max_new_tokens=30)]
    assert measure_recitations(short, own, facts=facts, tokenizer=tokenizer).cuts == {("p", "encounter_cc"): 0}
