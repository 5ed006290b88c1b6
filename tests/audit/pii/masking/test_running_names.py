"""Names in running text: by lists, by what a model names (a stub here), and by what stands beside."""

from collections.abc import Sequence

import pytest
from support.cases import read_cases
from support.pii.found_spans import found_by
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.detectors.word_lists import is_first_name, is_last_name, is_plain_word, is_sure_name
from clinaudit.audit.pii.masking.running_names import RunningNames
from clinaudit.audit.pii.taxonomy import EntitySpan

CASES = read_cases("pii/running_names.txt")


def named(marked: str) -> tuple[str, RunningNames]:
    """Return a text, and the detector by a model that names what is marked in it: `category text [named] text`."""
    category, _, rest = marked.partition(" ")
    before, _, rest = rest.partition("[")
    written, _, after = rest.partition("]")
    span = EntitySpan(len(before), len(before) + len(written), category, "a stub")
    return f"{before}{written}{after}", RunningNames((), lambda pieces: [[span] for _ in pieces])


@pytest.mark.parametrize(("text", "name"), CASES["listed"])
def test_names_of_the_lists_are_found_and_words_and_scores_are_not(text: str, name: str | None) -> None:
    assert [written for _, written in found_by(RunningNames(()), text)] == ([] if name is None else name.split(" | "))


@pytest.mark.parametrize(("marked", "name"), CASES["with a model"])
def test_a_person_of_the_model_counts_unless_all_its_words_are_words(marked: str, name: str | None) -> None:
    text, detector = named(marked)
    assert {written for _, written in found_by(detector, text)} == (set() if name is None else {name})


@pytest.mark.parametrize(("marked", "agreed"), CASES["agreed"])
def test_the_context_decides(marked: str, agreed: str | None) -> None:
    text, detector = named(marked)
    assert {category for category, _ in found_by(detector, text)} == (set() if agreed is None else {agreed})


def test_what_other_detectors_know_is_theirs() -> None:
    known = PatternDetector({"city": "Keturah"})
    assert found_by(RunningNames([known]), "from Keturah with Beatrix") == [("full_name", "Beatrix")]


def test_the_model_is_asked_only_of_sentences_that_can_hold_a_name_and_once_of_each() -> None:
    asked: list[str] = []

    def names(pieces: Sequence[str]) -> list[list[EntitySpan]]:
        asked.extend(pieces)
        return [[] for _ in pieces]

    detector = RunningNames((), names)
    for _ in range(2):
        detector.detect("Lungs are clear. Hypertension and Metformin reviewed.\nThen Beatrix left. The wound heals.")
    assert asked == ["Then Beatrix left."]


def test_a_word_can_stand_in_several_lists() -> None:
    words = ("keturah", "Villanueva-Cruz", "Mary", "White", "metformin", "Ñáñez", "Quexborough", "")
    lists = [(is_plain_word(one), is_first_name(one), is_last_name(one), is_sure_name(one)) for one in words]
    assert dict(zip(words, lists, strict=True)) == {
        "keturah": (False, True, False, True),
        "Villanueva-Cruz": (False, False, True, True),
        "Mary": (True, True, True, False),
        "White": (True, True, True, False),
        "metformin": (True, False, False, False),
        "Ñáñez": (False, False, True, True),
        "Quexborough": (False, False, False, False),
        "": (True, False, False, False),
    }
