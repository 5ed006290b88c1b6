"""Fragments of a note, by hand: what the opening keeps, what is cut, and when a prompt is unbroken."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.patient_facts import NOTE, PROFILE, corpus_of, facts_of

from clinaudit.priors.facts import FactReader
from clinaudit.priors.fragments import NoteFragment, list_facts, quote_opening
from clinaudit.priors.prompts import PromptWriter, write_priors
from clinaudit.priors.renderings import Fragment, ProbedTiers, view_of
from clinaudit.priors.tiers import TIERS, Fact

TIER = {tier.id: tier for tier in TIERS}
LABELS = {fact: PROFILE.fields[fact].label for fact in Fact}


def opening(tmp_path: Path, note: str, tier: str, **columns: object) -> NoteFragment:
    found = quote_opening(facts_of(tmp_path, note, **columns), TIER[tier])
    assert isinstance(found, NoteFragment)
    return found


@pytest.mark.parametrize(
    ("tier", "header"), [("encounter", "CC:"), ("encounter_cc", "hpi:"), ("encounter_cc_hpi", "ros:")]
)
def test_the_opening_is_the_note_through_the_header_that_follows(tmp_path: Path, tier: str, header: str) -> None:
    found = opening(tmp_path, NOTE, tier)
    end = NOTE.index(header) + len(header)
    # "room: 4" is no fact of a tier, and stands where it stands.
    assert (found.prompt, found.rest) == (NOTE[:end], NOTE[end:])
    assert (found.unbroken, found.cuts) == (True, 0)


def test_banner_blank_lines_and_carriage_returns_stay(tmp_path: Path) -> None:
    note = "ELM CLINIC\r\n=====\r\n\r\n" + NOTE.replace("\n", "\r\n").replace("CC:", "\r\n  \r\nCC:")
    found = opening(tmp_path, note, "encounter")
    assert found.prompt == note[: note.index("CC:") + 3]
    assert found.unbroken


def test_a_value_that_the_tier_may_not_know_is_cut_and_its_label_only_where_told(tmp_path: Path) -> None:
    note = NOTE.replace("room: 4\n", "age: 64\nsex: female\n")
    found = opening(tmp_path, note, "encounter")
    assert found.prompt == NOTE[: NOTE.index("CC:") + 3].replace("room: 4\n", "age: \nsex: \n")
    assert (found.unbroken, found.cuts) == (True, 2)
    facts = facts_of(tmp_path / "again", note)
    hidden = replace(facts, in_note={fact: replace(field, cut_label=True) for fact, field in facts.in_note.items()})
    cut = quote_opening(hidden, TIER["encounter"])
    assert isinstance(cut, NoteFragment)
    assert cut.prompt == NOTE[: NOTE.index("CC:") + 3].replace("room: 4\n", "")


def test_a_complaint_before_its_time_is_cut(tmp_path: Path) -> None:
    """The HPI stands before the chief complaint here: the tier of the complaint may not know it."""
    note = "patient: A B\ndob: 02/03/1960\nhpi: tired for weeks\ncc: low mood\nros: none\n"
    facts = facts_of(tmp_path, note)
    found = quote_opening(facts, TIER["encounter_cc"])
    assert isinstance(found, NoteFragment)
    assert found.prompt == "patient: A B\ndob: 02/03/1960\nhpi: \ncc: low mood\nros:"
    assert found.cuts == 1


def test_what_a_table_alone_holds_is_not_put_in_and_the_note_wins(tmp_path: Path) -> None:
    patients = "patient_id,split,name,dob\np,train,Ida Holm,1950-01-01\n"
    note = NOTE.replace("provider: Jo Ek, MD\n", "")
    facts = facts_of(tmp_path, note, patients, provider="Jo Ek, MD")
    found = quote_opening(facts, TIER["encounter"])
    assert isinstance(found, NoteFragment)
    assert found.prompt == note[: note.index("CC:") + 3]
    # The provider was not found where the template places it.
    assert not found.unbroken
    alone = list_facts(facts, TIER["encounter"], LABELS)
    assert isinstance(alone, NoteFragment)
    assert alone.prompt.startswith("provider: Jo Ek, MD\npatient: Ada Lund\n")


def test_a_fact_that_the_layout_does_not_place_breaks_nothing(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE.replace("provider: Jo Ek, MD\n", ""))
    found = quote_opening(replace(facts, placed=facts.placed - {Fact.PROVIDER}), TIER["encounter"])
    assert isinstance(found, NoteFragment)
    assert found.unbroken


def test_a_provider_who_signs_at_the_end_is_not_in_the_opening(tmp_path: Path) -> None:
    note = NOTE.replace("provider: Jo Ek, MD\n", "") + "provider: Jo Ek, MD\n"
    found = opening(tmp_path, note, "encounter")
    assert found.prompt == note[: note.index("CC:") + 3]
    # Found where this note holds it, and the prompt is the note's beginning all the same.
    assert found.unbroken


def test_without_a_fact_of_the_tier_there_is_no_opening(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, "patient: A B\ncc: x\nhpi: y\nros: z\n", provider="Jo Ek")
    assert quote_opening(facts, TIER["encounter"]) == "no distinguishing fact in the note's opening"
    late = facts_of(tmp_path / "late", "patient: A B\ndob: 02/03/1960\n")
    assert quote_opening(late, TIER["encounter"]) == "no header follows the last field"


def test_the_facts_alone_are_unbroken_only_where_they_are_the_beginning(tmp_path: Path) -> None:
    plain = list_facts(facts_of(tmp_path, NOTE.replace("room: 4\n", "")), TIER["encounter"], LABELS)
    with_room = list_facts(facts_of(tmp_path / "room", NOTE), TIER["encounter"], LABELS)
    assert isinstance(plain, NoteFragment)
    assert isinstance(with_room, NoteFragment)
    assert plain.unbroken
    assert not with_room.unbroken


def priors_of(tmp_path: Path, notes: dict[str, str], fragment: Fragment) -> list[tuple[str, str, str]]:
    rows = [{"patient_id": name, "note_id": name, "text": text} for name, text in notes.items()]
    corpus = corpus_of(tmp_path, rows)
    writer = PromptWriter(
        PROFILE,
        panel=[],
        count_prompt_tokens=len,
        count_note_tokens=len,
        max_new_tokens=50,
        context_length=10**6,
    )
    priors = write_priors(
        {name: [] for name in notes},
        facts={name: FactReader(PROFILE).read(corpus, name) for name in notes},
        probed=ProbedTiers(("public", "encounter", "encounter_cc"), fragment),
        writer=writer,
    )
    return [(prior.patient_id, prior.tier, prior.rendering) for prior in priors]


def test_a_tier_is_asked_twice_where_it_differs_for_someone_and_then_for_all(tmp_path: Path) -> None:
    plain, roomy = NOTE.replace("room: 4\n", ""), NOTE
    once = [(tier, rendering) for tier, rendering in (("encounter", "opening"), ("encounter_cc", "opening"))]
    twice = [(tier, form) for tier, _ in once for form in ("opening", "facts")]
    assert priors_of(tmp_path / "plain", {"a": plain, "b": plain.replace("Ada", "Ola")}, "both") == [
        (name, *asked) for name in "ab" for asked in [("public", "text"), *once]
    ]
    assert priors_of(tmp_path / "mixed", {"a": plain, "b": roomy.replace("Ada", "Ola")}, "both") == [
        (name, *asked) for name in "ab" for asked in [("public", "text"), *twice]
    ]
    assert priors_of(tmp_path / "facts", {"b": roomy}, "facts") == [
        ("b", "public", "text"),
        ("b", "encounter", "facts"),
        ("b", "encounter_cc", "facts"),
    ]


def test_the_facts_stand_beside_the_opening_only_where_both_are_asked() -> None:
    assert view_of("facts", ProbedTiers((), "both").beside) == "facts"
    assert view_of("facts", ProbedTiers((), "facts").beside) is None
    assert view_of("opening", ProbedTiers((), "both").beside) is None


def test_a_tag_of_de_identification_stands_in_the_opening_and_is_no_fact(tmp_path: Path) -> None:
    note = NOTE.replace("Ada Lund", "[**Known lastname 1**]").replace("02/03/1960", "___")
    facts = facts_of(tmp_path, note)
    assert facts.tagged == {Fact.NAME, Fact.DOB}
    assert not {Fact.NAME, Fact.DOB} & facts.values.keys()
    found = quote_opening(facts, TIER["encounter"])
    assert isinstance(found, NoteFragment)
    assert (found.prompt, found.unbroken) == (note[: note.index("CC:") + 3], True)
    listed = list_facts(facts, TIER["encounter"], LABELS)
    assert isinstance(listed, NoteFragment)
    assert "lastname" not in listed.prompt
    every = "patient: ___\ndob: ___\nvisit date: ___\nprovider: ___\nlocation: ___\ncc: cough\nhpi: tired\n"
    nothing = quote_opening(facts_of(tmp_path / "every", every), TIER["encounter"])
    assert nothing == "no distinguishing fact in the note's opening"


def test_a_tag_in_a_table_is_no_value(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, "cc: cough\nhpi: tired\n", "patient_id,name,occupation\np,[NAME],cook\n")
    assert facts.values.keys() & {Fact.NAME, Fact.OCCUPATION} == {Fact.OCCUPATION}
