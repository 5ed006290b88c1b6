"""The search for holders beside one that looks for every text in every note."""

import numpy as np

from clinaudit.audit.measures.memorization import text_holders
from clinaudit.audit.measures.memorization.text_holders import number_texts


def test_equal_texts_have_one_number_and_texts_of_one_hash_have_two(monkeypatch):
    text = np.frombuffer(b"she raises goats. she raises goats! he keeps bees.", dtype=np.uint8)
    begins, ends = np.array([0, 18, 0, 36]), np.array([16, 34, 17, 50])
    for told in (hash, lambda _: 7):
        monkeypatch.setattr(text_holders, "hash", told, raising=False)
        distinct, numbers = number_texts(text, begins, ends)
        assert [
            bytes(text[distinct.begins[number] :][: distinct.lengths[number]]).decode() for number in numbers.tolist()
        ] == ["she raises goats", "she raises goats", "she raises goats.", "he keeps bees."]
        assert len(set(numbers.tolist())) == 3
