"""What is masked of notes in which a reader marked what identifies somebody, and of names that look clinical."""

import json

import pytest
from support.aci_bench import ACI_BENCH
from support.cases import read_cases
from support.pii.marked_notes import YEAR, Mark, kinds_of, left_of, read_marks, wrong_of

from clinaudit.audit.pii.masking import PromptMasker, filter_detectors
from clinaudit.audit.pii.taxonomy import categories

MASKERS = {by: PromptMasker(filter_detectors(rules_only=by == "rules")) for by in ("rules", "default")}
by_rules_and_by_default = pytest.mark.parametrize("masker", MASKERS.values(), ids=MASKERS)
MOST_WRONG_A_NOTE = 0.1
MOST_QUASI_LEFT = 0.1


def hidden_in(masker: PromptMasker, text: str) -> list[tuple[int, int]]:
    return [(hidden.start, hidden.end) for hidden in masker.hidden_in(text)]


def test_marks_are_compared_with_what_is_hidden() -> None:
    text = "Ada Lund, 34, has asthma since 2018."
    marks = [Mark(0, 8, "patient_name"), Mark(10, 12, "age"), Mark(31, 35, YEAR)]
    # "Lund" alone is hidden, the age is, and so is "asthma", which nobody marked.
    hidden = [(4, 8), (10, 12), (18, 24)]
    assert left_of(text, marks, hidden) == [marks[0], marks[2]]
    assert wrong_of(marks, hidden) == [(18, 24)]
    assert left_of(text, marks, [(0, 3), (4, 8), (10, 12), (31, 35)]) == []


def test_the_marks_are_of_known_kinds() -> None:
    marks = read_marks()
    assert len(marks) == 45
    assert kinds_of(marks) - {YEAR} <= set(categories())


@by_rules_and_by_default
@pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")
def test_nothing_direct_is_left_of_marked_notes_and_little_is_masked_wrongly(masker: PromptMasker) -> None:
    rows = map(json.loads, (ACI_BENCH / "notes.jsonl").read_text(encoding="utf-8").splitlines())
    texts = {row["note_id"]: row["text"] for row in rows}
    left: list[Mark] = []
    wrong = known = 0
    marks = read_marks()
    for note_id, of_note in marks.items():
        hidden = hidden_in(masker, texts[note_id])
        # A text that is withheld would leave nothing.
        assert hidden != [(0, len(texts[note_id]))]
        looked_for = [mark for mark in of_note if mark.kind != YEAR]
        left += left_of(texts[note_id], looked_for, hidden)
        known += sum(not categories()[mark.kind].direct for mark in looked_for)
        wrong += len(wrong_of(of_note, hidden))
    assert [mark.kind for mark in left if categories()[mark.kind].direct] == []
    assert len(left) <= MOST_QUASI_LEFT * known
    assert wrong <= MOST_WRONG_A_NOTE * len(marks)


@by_rules_and_by_default
@pytest.mark.parametrize(("text", "name"), read_cases("pii/masked_cases.txt")["names"])
def test_names_that_look_like_clinical_words_are_masked(text: str, name: str, masker: PromptMasker) -> None:
    start = text.index(name)
    assert left_of(text, [Mark(start, start + len(name), "full_name")], hidden_in(masker, text)) == []
