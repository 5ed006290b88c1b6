"""The chat form of the tiers: the same facts, scrubbing, exclusions and budgets as their text forms."""

from pathlib import Path
from typing import get_args

import pytest
from support.patient_facts import NOTE, PROFILE, TIER, facts_of, writer_of

from clinaudit.priors.diagnoses import load_panel, refers_to
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import BACKGROUND_ENDING, Prior, PromptWriter, write_priors
from clinaudit.priors.renderings import (
    ChatForm,
    ChatRequest,
    Conversation,
    Fragment,
    ProbedTiers,
    PromptForm,
    RenderedChat,
    Rendering,
    converse,
)
from clinaudit.priors.tiers import TIER_IDS


def render(said: Conversation) -> RenderedChat | str:
    if "<end>" in said.user:
        return "a control token"
    opening = "" if said.opening is None else said.opening
    return RenderedChat(f"<{said.system}|{said.user}>{opening}", (("user", said.user),))


def writer(request: ChatRequest = "write", *, context: int = 10**6) -> PromptWriter:
    # A text gets a token before it, which a template has written already.
    return writer_of(panel=load_panel(), before_prompt=1, context=context).in_chat(ChatForm(request, render))


def write(facts: PatientFacts, tier: str, diagnoses: list[str], request: ChatRequest = "write") -> list[Prior]:
    return writer(request).write(facts, TIER[tier], diagnoses, "chat")


def test_background_facts_are_labelled_lines(tmp_path: Path) -> None:
    (row,) = write(facts_of(tmp_path, NOTE), "public_name", [])
    facts = "patient: Ada Lund\nage: 64\nmarital status: widowed\noccupation: cook\nchildren: 3"
    assert row.prompt == (
        "<You assist with clinical documentation.|This is known of a patient:\n"
        f"{facts}\n\nWrite the note about this patient.>"
    )
    assert (row.rendering, row.max_new_tokens, row.excluded) == ("chat", 1000, False)
    assert row.messages == (("user", f"This is known of a patient:\n{facts}\n\nWrite the note about this patient."),)


def test_a_history_keeps_its_lines(tmp_path: Path) -> None:
    text = NOTE.replace("64-year-old female, tired.", "64-year-old female, tired.\nsleeps  badly.")
    (row,) = write(facts_of(tmp_path, text), "encounter_cc_hpi", [])
    assert "hpi: 64-year-old female, tired.\nsleeps  badly.\n\nWrite" in row.prompt


@pytest.mark.parametrize("request_", ["continue", "write", "ask"])
def test_the_budget_is_that_of_the_text_form(request_: ChatRequest, tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE)
    for tier in TIER_IDS:
        text = writer().write(facts, TIER[tier], [], "opening" if TIER[tier].is_fragment else "text")
        chat = write(facts, tier, [], request_)
        assert [row.max_new_tokens for row in chat] == [row.max_new_tokens for row in text]
        ending = text[0].prompt if TIER[tier].is_fragment else BACKGROUND_ENDING
        assert chat[0].prompt.endswith(f">{ending}" if request_ == "continue" else ">")


def test_a_note_that_lacks_the_fact_is_begun_with_the_facts_alone(tmp_path: Path) -> None:
    table = "patient_id,split,name,dob\np,train,Ada Lund,1960-02-03\n"
    facts = facts_of(tmp_path, "provider: Jo Ek\ncc: cough\nhpi: y\nplan: z", table, visit_date="2024-05-01")
    (row,) = write(facts, "encounter", [], "continue")
    assert row.prompt.endswith(">provider: Jo Ek\ncc:")


def test_scrubbing_and_exclusion_hold_in_a_chat(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE)
    by_diagnoses = {row.diagnoses: row.prompt for row in write(facts, "public_name_meds", ["depression", "hiv"])}
    assert set(by_diagnoses) == {("depression",), ("hiv",)}
    assert "sertraline" not in by_diagnoses["depression",]
    assert "sertraline" in by_diagnoses["hiv",]
    told = facts_of(tmp_path / "told", NOTE.replace("low mood", "depression"))
    reasons = {row.diagnoses: row.reason for row in write(told, "encounter_cc", ["depression", "hiv"])}
    assert reasons == {("depression",): "the chief complaint refers to the diagnosis", ("hiv",): None}


def test_what_cannot_be_rendered_is_excluded_with_the_reason(tmp_path: Path) -> None:
    (row,) = write(facts_of(tmp_path, NOTE.replace("low mood", "low <end> mood")), "encounter_cc", ["hiv"])
    assert (row.excluded, row.reason, row.prompt) == (True, "a control token", "")


def test_a_chat_that_does_not_fit_is_excluded_by_its_own_length(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE)
    (row,) = write(facts, "public", [])
    room = len(row.prompt) + 1000
    fits, too_long = (
        writer(context=length).write(facts, TIER["public"], [], "chat")[0].excluded for length in (room, room - 1)
    )
    assert (fits, too_long) == (False, True)


def test_the_words_around_the_facts_tell_no_diagnosis() -> None:
    requests: tuple[ChatRequest, ...] = ("continue", "write", "ask")
    labels = [f"{PROFILE.fields[fact].label}:" for fact in PROFILE.fields]
    for request in requests:
        said = converse(labels, request, opening=BACKGROUND_ENDING)
        for diagnosis in load_panel():
            assert not refers_to(f"{said.system}\n{said.user}\n{said.opening}", diagnosis)


@pytest.mark.parametrize(
    ("fragment", "form", "of_public", "of_encounter", "beside"),
    [
        ("both", "text", ["text"], ["opening", "facts"], ["facts"]),
        ("both", "both", ["text", "chat"], ["opening", "facts", "chat"], ["facts", "chat"]),
        ("opening", "both", ["text", "chat"], ["opening", "chat"], ["chat"]),
        ("both", "chat", ["chat"], ["chat"], []),
    ],
)
def test_the_renderings_of_each_form(
    fragment: Fragment, form: PromptForm, of_public: list[str], of_encounter: list[str], beside: list[str]
) -> None:
    probed = ProbedTiers(TIER_IDS, fragment, form)
    assert list(probed.renderings_of(TIER["public"])) == of_public
    assert list(probed.renderings_of(TIER["encounter"])) == of_encounter
    assert list(probed.beside) == beside


def test_a_chat_beside_does_not_bring_in_facts_that_differ_nowhere(tmp_path: Path) -> None:
    # Without the room, the note's opening is its facts.
    facts = facts_of(tmp_path, NOTE.replace("room: 4\n", ""))
    probed = ProbedTiers(("public", "encounter"), "both", "both")
    rows = write_priors({"p": ()}, facts={"p": facts}, probed=probed, writer=writer())
    asked: list[tuple[str, Rendering]] = [(row.tier, row.rendering) for row in rows]
    assert asked == [("public", "text"), ("public", "chat"), ("encounter", "opening"), ("encounter", "chat")]


def test_a_chat_whose_complaint_holds_other_sections_does_not_fit(tmp_path: Path) -> None:
    swallowed = NOTE.replace("CC: low mood\n", "CC: low mood\nPMHx nill\n")
    for request in get_args(ChatRequest):
        fits = [write(facts_of(tmp_path, note), "encounter_cc", [], request)[0].unbroken for note in (NOTE, swallowed)]
        assert fits == [True, False]
