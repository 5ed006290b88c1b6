"""Fragments of a note, by hand: where the opening ends, what it shows, when a prompt is unbroken; whom facts fit."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.patient_facts import NOTE, PROFILE, TIER, corpus_of, facts_of, facts_of_notes, note_rows, opening

from clinaudit.priors.facts import read_facts
from clinaudit.priors.fragments import Draft, begin_note, count_fitting, held_facts, list_facts, quote_opening
from clinaudit.priors.tiers import Fact

LABELS = {fact: PROFILE.fields[fact].label for fact in Fact}


def drafted(found: Draft | str) -> Draft:
    assert isinstance(found, Draft)
    return found


@pytest.mark.parametrize(
    ("tier", "header"), [("encounter", "CC:"), ("encounter_cc", "hpi:"), ("encounter_cc_hpi", "ros:")]
)
def test_the_opening_is_the_note_through_the_header_that_follows(tmp_path: Path, tier: str, header: str) -> None:
    found = opening(tmp_path, NOTE, tier)
    end = NOTE.index(header) + len(header)
    # "room: 4" is no fact of a tier, and stands where it stands.
    assert (found.prompt, found.rest) == (NOTE[:end], NOTE[end:])
    assert (found.unbroken, found.also_shows) == (True, ())


def test_banner_blank_lines_and_carriage_returns_stay(tmp_path: Path) -> None:
    note = "ELM CLINIC\r\n=====\r\n\r\n" + NOTE.replace("\n", "\r\n").replace("CC:", "\r\n  \r\nCC:")
    found = opening(tmp_path, note, "encounter")
    assert found.prompt == note[: note.index("CC:") + 3]
    assert found.unbroken


def test_nothing_is_cut_and_what_else_the_banner_shows_is_named(tmp_path: Path) -> None:
    note = NOTE.replace("room: 4\n", "age: 64\nsex: female   MRN: 0012345\n")
    found = opening(tmp_path, note, "encounter")
    assert found.prompt == note[: note.index("CC:") + 3]
    assert (found.unbroken, found.also_shows) == (True, ("age", "record number", "sex"))
    assert {Fact.AGE, Fact.SEX, Fact.NAME, Fact.DOB} < found.holds
    assert Fact.CHIEF_COMPLAINT not in found.holds


def test_a_record_number_is_known_by_its_label(tmp_path: Path) -> None:
    numbers = ["Medical Record No. 12345", "NHS number: 943 476 5919", "Unit No:   00123", "mrn# A-991"]
    numbers += ["Hospital ID 7", "Chart #: 5", "MR# 123"]
    others = ["MRN: ___", "room no: 4", "no known record of 3 visits", "hospital day 2"]
    for at, line in enumerate([*numbers, *others]):
        shown = opening(tmp_path / str(at), NOTE.replace("room: 4", line), "encounter").also_shows
        assert shown == ("record number",) * (line in numbers), line


def test_a_history_before_its_time_makes_the_opening_unfit(tmp_path: Path) -> None:
    note = "patient: A B\ndob: 02/03/1960\nhpi: tired for weeks\ncc: low mood\nros: none\n"
    found = opening(tmp_path, note, "encounter_cc")
    assert found.prompt == "patient: A B\ndob: 02/03/1960\nhpi: tired for weeks\ncc: low mood\nros:"
    assert (found.unbroken, found.also_shows) == (False, ("hpi",))


@pytest.mark.parametrize(("length", "unbroken"), [(200, True), (201, False)])
def test_a_stretch_of_more_than_200_characters_between_facts_is_not_fitting(
    tmp_path: Path, length: int, *, unbroken: bool
) -> None:
    note = NOTE.replace("room: 4", "x" * length)
    assert opening(tmp_path, note, "encounter").unbroken is unbroken
    assert opening(tmp_path / "padded", NOTE.replace("room: 4", "room:" + " " * 300 + "4"), "encounter").unbroken


def test_facts_at_the_end_of_free_text_are_no_opening_that_fits(tmp_path: Path) -> None:
    """Without a header the banner is the whole note: what stands before its first fact is the history."""
    history = "She was seen again for the swelling of her knee, which came on after a fall in May. " * 10
    found = opening(tmp_path, f"{history}\npatient: Ada Lund\nvisit date: 05/01/2024\n", "encounter")
    assert not found.unbroken
    letterhead = "ELM CLINIC, 4 Elm Street, Elmham. Telephone 01234 567890. " * 3
    assert opening(tmp_path / "letter", f"{letterhead}\n{NOTE}", "encounter").unbroken


@pytest.mark.parametrize("where", ["no fact", "signed"])
def test_what_is_signed_at_the_end_is_not_the_opening_that_is_looked_for(tmp_path: Path, where: str) -> None:
    """An addendum with a provider below its text alone does not stand for the note that has the banner."""
    late = "cc: result\nThe result was discussed.\n" + ("provider: Jo Ek, MD\n" if where == "signed" else "")
    facts = facts_of_notes(tmp_path, NOTE.replace("location: Elm Clinic\n", ""), late)
    assert facts.at(TIER["encounter"]).latest.note_id == "n0"


def test_an_empty_list_of_medications_is_nothing_that_a_prompt_holds(tmp_path: Path) -> None:
    note = NOTE.replace("CC: low mood\n", "current medications: none\nCC: low mood\n")
    facts = facts_of(tmp_path, note)
    assert Fact.MEDICATIONS in facts.in_note
    assert Fact.MEDICATIONS not in held_facts(facts, TIER["encounter_cc_hpi"])


def test_without_a_header_near_the_opening_ends_with_the_line_of_its_last_fact(tmp_path: Path) -> None:
    free = "She was seen again for the swelling of her knee, which came on after a fall in May. " * 3
    note = f"patient: A B\ndob: 02/03/1960   (verified)\n{free}\nhpi: tired\n"
    found = opening(tmp_path, note, "encounter")
    assert found.prompt == "patient: A B\ndob: 02/03/1960   (verified)"
    assert found.rest == note[len(found.prompt) :]
    near = f"patient: A B\ndob: 02/03/1960\n{free[:150]}\nhpi: tired\n"
    assert opening(tmp_path / "near", near, "encounter").prompt == near[: near.index(" tired")]
    headless = "patient: A B\r\ndob: 02/03/1960\r\nseen for a cough\r\n"
    assert opening(tmp_path / "headless", headless, "encounter").prompt == headless[: headless.index("\r\nseen")]


def test_a_line_that_goes_on_for_a_paragraph_is_not_shown_to_its_end(tmp_path: Path) -> None:
    note = "patient: A B dob: 02/03/1960; " + "she coughs all day and all night. " * 20 + "\nhpi: tired\n"
    found = opening(tmp_path, note, "encounter")
    assert "coughs" not in found.prompt or not found.unbroken


def test_what_a_table_alone_holds_is_not_put_in_and_the_note_wins(tmp_path: Path) -> None:
    patients = "patient_id,split,name,dob\np,train,Ida Holm,1950-01-01\n"
    note = NOTE.replace("provider: Jo Ek, MD\n", "")
    facts = facts_of(tmp_path, note, patients, provider="Jo Ek, MD")
    found = drafted(quote_opening(facts, TIER["encounter"]))
    assert found.prompt == note[: note.index("CC:") + 3]
    # The provider was not found where the template places it.
    assert not found.unbroken
    alone = drafted(list_facts(facts, TIER["encounter"], LABELS))
    assert alone.prompt.startswith("provider: Jo Ek, MD\npatient: Ada Lund\n")


def test_a_fact_that_the_layout_does_not_place_breaks_nothing(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE.replace("provider: Jo Ek, MD\n", ""))
    found = drafted(quote_opening(replace(facts, placed=facts.placed - {Fact.PROVIDER}), TIER["encounter"]))
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
    assert list_facts(late, TIER["encounter"], LABELS) == "no header follows the last field"


def test_where_no_opening_can_be_placed_the_facts_are_asked_and_break(tmp_path: Path) -> None:
    note = "patient: A B\ncc: x\nhpi: y\nros: z\n"
    known, unknown = facts_of(tmp_path, note, provider="Jo Ek"), facts_of(tmp_path / "unknown", note)
    found = drafted(begin_note(known, TIER["encounter"], LABELS))
    assert (found.prompt, found.unbroken) == ("provider: Jo Ek\npatient: A B\ncc:", False)
    assert found.rest == note[len("patient: A B\ncc:") :]
    assert held_facts(known, TIER["encounter"]) == {Fact.NAME, Fact.PROVIDER}
    # Of whom nothing but the name is known, no prompt is made.
    assert held_facts(unknown, TIER["encounter"]) == frozenset()
    roomy = facts_of(tmp_path / "room", NOTE)
    assert begin_note(roomy, TIER["encounter"], LABELS) == quote_opening(roomy, TIER["encounter"])


ADDENDUM = "patient: Ada Lund\nvisit date: 06/01/2024\nThe result came back and was discussed by telephone.\n"


def test_a_fragment_is_of_the_latest_note_that_has_the_facts_of_its_tier(tmp_path: Path) -> None:
    older = NOTE.replace("low mood", "a cough").replace("05/01/2024", "03/01/2023")
    facts = facts_of_notes(tmp_path, older, NOTE, ADDENDUM)
    assert facts.latest.note_id == "n2"
    assert {tier: facts.at(TIER[tier]).latest.note_id for tier in ("public", "encounter", "encounter_cc_hpi")} == {
        "public": "n2",
        "encounter": "n1",
        "encounter_cc_hpi": "n1",
    }
    found = drafted(quote_opening(facts, TIER["encounter_cc"]))
    assert found.prompt == NOTE[: NOTE.index("hpi:") + 4]
    assert facts.at(TIER["encounter_cc"]).values[Fact.CHIEF_COMPLAINT] == "low mood"


def test_where_no_note_has_all_of_a_tier_the_latest_with_what_it_is_about_is_quoted(tmp_path: Path) -> None:
    facts = facts_of_notes(tmp_path, "patient: A B\nhpi: tired\nros: none\n", ADDENDUM)
    assert facts.at(TIER["encounter_cc_hpi"]).latest.note_id == "n0"
    assert facts.at(TIER["encounter"]).latest.note_id == "n1"
    assert facts.at(TIER["encounter_cc"]) is facts


def test_a_note_without_the_section_of_a_tier_is_excluded_and_one_without_another_fits(tmp_path: Path) -> None:
    no_complaint = NOTE.replace("CC: low mood\n", "")
    facts = facts_of(tmp_path, no_complaint)
    assert Fact.CHIEF_COMPLAINT in facts.placed
    assert quote_opening(facts, TIER["encounter_cc"]) == "no distinguishing fact in the note's opening"
    assert opening(tmp_path / "hpi", no_complaint, "encounter_cc_hpi").unbroken
    assert not opening(tmp_path / "dob", NOTE.replace("dob: 02/03/1960\n", ""), "encounter").unbroken


def test_a_tag_of_de_identification_stands_in_the_opening_and_is_no_fact(tmp_path: Path) -> None:
    note = NOTE.replace("Ada Lund", "[**Known lastname 1**]").replace("02/03/1960", "___")
    facts = facts_of(tmp_path, note)
    assert facts.tagged == {Fact.NAME, Fact.DOB}
    assert not {Fact.NAME, Fact.DOB} & facts.values.keys()
    found = drafted(quote_opening(facts, TIER["encounter"]))
    assert (found.prompt, found.unbroken) == (note[: note.index("CC:") + 3], True)
    listed = drafted(list_facts(facts, TIER["encounter"], LABELS))
    assert "lastname" not in listed.prompt
    every = "patient: ___\ndob: ___\nvisit date: ___\nprovider: ___\nlocation: ___\ncc: cough\nhpi: tired\n"
    nothing = quote_opening(facts_of(tmp_path / "every", every), TIER["encounter"])
    assert nothing == "no distinguishing fact in the note's opening"


def test_a_tag_in_a_table_is_no_value(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, "cc: cough\nhpi: tired\n", "patient_id,name,occupation\np,[NAME],cook\n")
    assert facts.values.keys() & {Fact.NAME, Fact.OCCUPATION} == {Fact.OCCUPATION}


HEADS = "patient_id,name,age,sex,occupation\n"


def fitting(tmp_path: Path, tier: str, rows: str, texts: list[str] | None = None) -> dict[str, int]:
    ids = [row.split(",")[0] for row in rows.split()]
    notes = note_rows(zip(ids, texts or ["cc: cough\n"] * len(ids), strict=True))
    corpus = corpus_of(tmp_path, notes, HEADS + rows)
    return count_fitting(read_facts(corpus, PROFILE, corpus.patients).values(), TIER[tier])


def test_who_states_less_is_fitted_by_more(tmp_path: Path) -> None:
    # b and c agree; a has an occupation besides, which d shares but not the age; e states its age alone, which four
    # others have; f states nothing.
    rows = "a,,40,female,cook\nb,,40,female,\nc,,40,female,\nd,,41,female,Cook\ne,,40,,\nf,,,,\n"
    assert fitting(tmp_path, "public", rows) == {"a": 1, "b": 3, "c": 3, "d": 1, "e": 4}


def test_a_name_is_a_name_in_any_case_and_nobody_has_a_prior_without_one(tmp_path: Path) -> None:
    rows = "a,Ada_Lund,40,,\nb,ADA_LUND,40,,\nc,Ada_Lund,50,,\nd,,40,,\n"
    assert fitting(tmp_path, "public_name", rows) == {"a": 2, "b": 2, "c": 1}


def test_medications_are_a_set(tmp_path: Path) -> None:
    texts = [
        "cc: cough\ncurrent medications:\n- aspirin\n- metformin 500 mg\nplan: rest\n",
        "cc: cough\ncurrent medications:\n- Metformin 500 mg\n- aspirin\nplan: rest\n",
        "cc: cough\ncurrent medications:\n- aspirin\nplan: rest\n",
    ]
    rows = "a,Ann,40,,\nb,Ann,40,,\nc,Ann,40,,\n"
    assert fitting(tmp_path, "public_name_meds", rows, texts) == {"a": 2, "b": 2, "c": 1}
