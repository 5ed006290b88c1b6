"""All masked values are looked for at once: the same places as one search after another finds."""

import random

from clinaudit.audit.pii.masking.repeated import FoldedText, find_values, fold_value
from clinaudit.audit.pii.masking.tags import Hidden

LETTERS = "ab1 -\né"


def places_one_by_one(text: str, hidden: list[Hidden], values: list[str]) -> set[tuple[int, int]]:
    """Every stretch between hidden ones that folds to a value and is of whole words."""
    covered = {place for one in hidden for place in range(one.start, one.end)}
    wanted = {fold_value(value) for value in values}
    found = set()
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            stretch = text[start:end]
            if covered & set(range(start, end)) or not (stretch[0].isalnum() and stretch[-1].isalnum()):
                continue
            edges = text[start - 1 : start] + text[end : end + 1]
            if fold_value(stretch) in wanted and not any(map(str.isalnum, edges)):
                found.add((start, end))
    return found


def test_one_pass_finds_what_one_search_a_value_does() -> None:
    rng = random.Random(7)
    some = 0
    for _ in range(300):
        text = "".join(rng.choice(LETTERS) for _ in range(30))
        at = rng.randrange(28)
        hidden = [Hidden(at, at + 2, "mrn")]
        values = ["".join(rng.choice("ab1") for _ in range(rng.randint(4, 6))) for _ in range(30)]
        found = find_values(FoldedText(text, hidden), [(value, Hidden(0, 1, "school")) for value in values])
        long_enough = [value for value in values if len(value) >= (5 if value.isdecimal() else 4)]
        assert {(one.start, one.end) for one in found} == places_one_by_one(text, hidden, long_enough)
        some += bool(found)
    assert some > 20


def test_the_text_is_read_once_however_many_values_there_are(monkeypatch) -> None:
    import ahocorasick

    made = []
    real = ahocorasick.Automaton

    def counted(*arguments):
        made.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(ahocorasick, "Automaton", counted)
    values = [(f"Name{number:04d}x", Hidden(0, 1, "school")) for number in range(2000)]
    found = find_values(FoldedText("of Name1234x and Name0007x"), values)
    assert len(found) == 2
    assert len(made) == 1
