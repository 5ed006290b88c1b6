"""Tiers, scrubbing, exclusion and budgets, as text and in a chat, on notes small enough to check by eye."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support.patient_facts import NOTE, PROFILE, TIER, facts_of, writer_of

from clinaudit.audit.measures.generation.stage import generation_id
from clinaudit.priors.diagnoses import load_panel, refers_to
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import NO_FINDINGS, Prior, PromptWriter, Revealed, write_priors
from clinaudit.priors.tiers import TIER_IDS, Conversation, Form, Model, ProbedTiers, RenderedChat, converse


def write(
    facts: PatientFacts,
    tier: str,
    diagnoses: list[str],
    *,
    revealed: Revealed = NO_FINDINGS,
) -> list[Prior]:
    return writer_of(panel=load_panel(), revealed=revealed).write(facts, TIER[tier], diagnoses, "text")


def render(said: Conversation) -> RenderedChat | str:
    if "<end>" in said.user:
        return "a control token"
    return RenderedChat(f"<{said.system}|{said.user}>", (("user", said.user),))


def chat_writer(*, context: int = 10**6) -> PromptWriter:
    return writer_of(panel=load_panel(), before_prompt=1, context=context).in_chat(render)


def test_background_prompt(tmp_path: Path) -> None:
    (row,) = write(facts_of(tmp_path, NOTE), "public_name", [])
    assert row.prompt == (
        "patient: Ada Lund\nage: 64\nsex: female\nmarital status: widowed\noccupation: cook\nchildren: 3\npatient note:"
    )
    assert (row.max_new_tokens, row.diagnoses, row.excluded) == (1000, (), False)


def test_encounter_is_the_note_as_it_begins(tmp_path: Path) -> None:
    (row,) = write(facts_of(tmp_path, NOTE), "encounter", ["hiv"])
    # "room: 4" is no fact of the tier.
    assert row.prompt == NOTE[: len(row.prompt)]
    assert row.prompt.endswith("room: 4\nprovider: Jo Ek, MD\nlocation: Elm Clinic\nCC:")
    assert row.max_new_tokens == len(NOTE) - NOTE.index("CC:") - len("CC:")


@pytest.mark.parametrize("form", ["text", "chat"])
def test_medications_that_reveal_the_diagnosis_are_scrubbed(tmp_path: Path, form: Form) -> None:
    rows = chat_writer().write(
        facts_of(tmp_path, NOTE), TIER["public_name_meds"], ["depression", "hiv", "abortion"], form
    )
    by_prompt = {row.diagnoses: row.prompt for row in rows}
    assert set(by_prompt) == {("depression",), ("hiv", "abortion")}
    assert "sertraline" not in by_prompt["depression",]
    assert "current medications: sertraline 50 mg daily; metformin" in by_prompt["hiv", "abortion"]


def test_nothing_left_after_scrubbing_is_an_exclusion(tmp_path: Path) -> None:
    text = "patient: A B\ncc: x\nhpi: y\ncurrent medications:\nsertraline 50 mg\nplan: z\n"
    rows = write(facts_of(tmp_path, text), "public_name_meds", ["depression", "hiv"])
    assert {(row.diagnoses, row.excluded, row.reason) for row in rows} == {
        (("depression",), True, "no medication left after scrubbing"),
        (("hiv",), False, None),
    }


@pytest.mark.parametrize("form", ["text", "chat"])
def test_chief_complaint_that_names_the_diagnosis_excludes_it_but_keeps_the_prompt(tmp_path: Path, form: Form) -> None:
    facts, tier = facts_of(tmp_path, NOTE.replace("CC: low mood", "CC: depression follow-up")), TIER["encounter_cc"]
    rows = chat_writer().write(facts, tier, ["depression", "hiv"], form)
    assert [(row.diagnoses, row.excluded) for row in rows] == [(("depression",), True), (("hiv",), False)]
    assert rows[0].reason == "the chief complaint refers to the diagnosis"
    alone = chat_writer().write(facts, tier, ["depression"], form)
    assert [(row.diagnoses, row.excluded) for row in alone] == [(("depression",), True), ((), False)]


@pytest.mark.parametrize(
    ("text", "tier", "reason"),
    [
        ("cc: x\nhpi: y\n", "public", "no distinguishing fact"),
        ("patient: A B\ncc: x\nhpi: y\n", "encounter", "no distinguishing fact"),
        ("current medications: none\ncc: x\nhpi: y", "public_name_meds", "no distinguishing fact"),
        ("patient: A B\ncc: x\n", "encounter_cc", "nothing follows the last field"),
        ("cc: x\nhpi:", "encounter_cc", "nothing follows the last field"),
    ],
)
def test_exclusions_say_why(tmp_path: Path, text: str, tier: str, reason: str) -> None:
    (row,) = write(facts_of(tmp_path, text), tier, ["hiv"])
    assert (row.excluded, row.reason, row.diagnoses) == (True, reason, ("hiv",))


@pytest.mark.parametrize("form", ["text", "chat"])
def test_a_budget_that_does_not_fit_is_excluded_never_cut(tmp_path: Path, form: Form) -> None:
    facts, tier = facts_of(tmp_path, NOTE), TIER["encounter_cc"]
    (fits,) = chat_writer().write(facts, tier, [], form)
    # A text gets a token before it, which a template has written already.
    length = len(fits.prompt) + (form == "text") + fits.max_new_tokens
    assert not chat_writer(context=length).write(facts, tier, [], form)[0].excluded
    (row,) = chat_writer(context=length - 1).write(facts, tier, [], form)
    assert (row.excluded, row.reason) == (True, "exceeds the model's context")


def test_what_a_reader_found_is_taken_out_of_the_medications_by_whole_words(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE)
    revealed = Revealed({"hiv": ["Metformin", "aspir"]}, frozenset(), frozenset())
    hiv, other = (
        write(facts, "public_name_meds", [diagnosis], revealed=revealed)[0] for diagnosis in ("hiv", "bipolar")
    )
    assert "metformin" not in hiv.prompt
    assert "aspirin" in hiv.prompt
    assert "sertraline" in hiv.prompt
    assert "metformin" in other.prompt


def test_where_a_reader_finds_the_diagnosis_the_fragments_that_hold_the_place_are_excluded(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE)

    def reason(tier: str, revealed: Revealed) -> str | None:
        return write(facts, tier, ["hiv"], revealed=revealed)[0].reason

    opening = Revealed({}, {("p", "hiv")}, frozenset())
    hpi = Revealed({}, frozenset(), {("p", "hiv")})
    other = Revealed({}, {("p", "ptsd"), ("q", "hiv")}, {("p", "ptsd"), ("q", "hiv")})
    before, inside = (
        "the judge finds the diagnosis before the history of present illness",
        "the judge finds the diagnosis in the history of present illness",
    )
    tiers = ("public_name", "encounter", "encounter_cc", "encounter_cc_hpi")
    assert [reason(tier, opening) for tier in tiers] == [None, None, before, before]
    assert [reason(tier, hpi) for tier in tiers] == [None, None, None, inside]
    assert [reason(tier, other) for tier in tiers] == [None] * 4


def in_chat(facts: PatientFacts, tier: str, diagnoses: list[str]) -> list[Prior]:
    return chat_writer().write(facts, TIER[tier], diagnoses, "chat")


def test_background_facts_are_labelled_lines(tmp_path: Path) -> None:
    (row,) = in_chat(facts_of(tmp_path, NOTE), "public_name", [])
    facts = "patient: Ada Lund\nage: 64\nsex: female\nmarital status: widowed\noccupation: cook\nchildren: 3"
    assert row.prompt == (
        "<You assist with clinical documentation.|This is known of a patient:\n"
        f"{facts}\n\nWrite the note about this patient.>"
    )
    assert (row.form, row.max_new_tokens, row.excluded) == ("chat", 1000, False)
    assert row.messages == (("user", f"This is known of a patient:\n{facts}\n\nWrite the note about this patient."),)


def test_a_history_keeps_its_lines(tmp_path: Path) -> None:
    text = NOTE.replace("64-year-old female, tired.", "64-year-old female, tired.\nsleeps  badly.")
    (row,) = in_chat(facts_of(tmp_path, text), "encounter_cc_hpi", [])
    assert "hpi: 64-year-old female, tired.\nsleeps  badly.\n\nWrite" in row.prompt


def test_the_budget_is_that_of_the_text_form(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE)
    for tier in TIER_IDS:
        text = chat_writer().write(facts, TIER[tier], [], "opening" if TIER[tier].is_fragment else "text")
        chat = in_chat(facts, tier, [])
        assert [row.max_new_tokens for row in chat] == [row.max_new_tokens for row in text]
        assert chat[0].prompt.endswith("\n\nWrite the note about this patient.>")


def test_what_cannot_be_rendered_is_excluded_with_the_reason(tmp_path: Path) -> None:
    (row,) = in_chat(facts_of(tmp_path, NOTE.replace("low mood", "low <end> mood")), "encounter_cc", ["hiv"])
    assert (row.excluded, row.reason, row.prompt) == (True, "a control token", "")


def test_the_words_around_the_facts_tell_no_diagnosis() -> None:
    said = converse([f"{PROFILE.fields[fact].label}:" for fact in PROFILE.fields])
    for diagnosis in load_panel():
        assert not refers_to(f"{said.system}\n{said.user}", diagnosis)


def test_in_each_form_the_control_model_is_asked_the_same_prompts(tmp_path: Path) -> None:
    probed = ProbedTiers(("public", "encounter"), "both", asks_control=True)
    rows = write_priors({"p": ("hiv",)}, facts={"p": facts_of(tmp_path, NOTE)}, probed=probed, writer=chat_writer())
    told = {
        model: [replace(row, model="audited", diagnoses=()) for row in rows if row.model == model and row.prompt]
        for model in ("audited", "control")
    }
    assert told["control"] == told["audited"]
    assert {row.diagnoses for row in rows if row.prompt} == {("hiv",)}
    assert [row.form for row in told["control"]] == ["text", "chat"] * 2
    assert all(bool(row.messages) == (row.form == "chat") for row in told["control"])
    assert len({generation_id(asdict(row)) for row in rows}) == len(rows)
    alone = write_priors(
        {"p": ()}, facts={"p": facts_of(tmp_path, NOTE)}, probed=replace(probed, form="chat"), writer=chat_writer()
    )
    assert [(row.model, row.form) for row in alone] == [("audited", "chat")] * 2 + [("control", "chat")] * 2
    # Of a patient never seen the audited model knows no more than the control.
    never_seen = replace(facts_of(tmp_path, NOTE), arm="nontrain")
    unasked = write_priors({"p": ("hiv",)}, facts={"p": never_seen}, probed=probed, writer=chat_writer())
    assert {row.model for row in unasked} == {"audited"}


@pytest.mark.parametrize("asks_control", [False, True])
def test_each_prompt_of_each_form_is_drawn_as_often_as_asked_for(tmp_path: Path, *, asks_control: bool) -> None:
    probed = ProbedTiers(("public", "encounter", "encounter_cc_hpi"), "both", asks_control=asks_control, draws=2)
    # Of the one no history is found, by a fault of the template: it is not asked, and says why in each form.
    untold = replace(facts_of(tmp_path, NOTE.replace("hpi: ", "tale ")), patient_id="q")
    facts = {"p": facts_of(tmp_path, NOTE), "q": untold}
    targets = {"p": ("hiv",), "q": ("hiv",)}
    rows = write_priors(targets, facts=facts, probed=probed, writer=chat_writer())
    plain = write_priors(targets, facts=facts, probed=replace(probed, draws=0), writer=chat_writer())
    assert [row for row in rows if not row.draw] == plain
    written = [row for row in plain if row.model == "audited"]
    models: tuple[tuple[Model, bool], ...] = (("audited", True), ("control", asks_control))
    for model, is_asked in models:
        drawn = [row for row in rows if row.draw and row.model == model]
        expected = [
            replace(row, model=model, form="drawn", draw=draw)
            for row in written
            for draw in (1, 2)
            if model == "audited" or not row.excluded
        ]
        assert drawn == expected * is_asked
    assert {row.reason for row in rows if row.draw and row.excluded} == {"no distinguishing fact"}
    asked = [row for row in rows if not row.excluded]
    assert len({generation_id(asdict(row)) for row in asked}) == len(asked)


def test_a_chat_whose_complaint_holds_other_sections_does_not_fit(tmp_path: Path) -> None:
    swallowed = NOTE.replace("CC: low mood\n", "CC: low mood\nPMHx nill\n")
    (fits,), (broken,) = (in_chat(facts_of(tmp_path, note), "encounter_cc", []) for note in (NOTE, swallowed))
    assert (fits.unbroken, fits.runs_on) == (True, ())
    assert (broken.unbroken, len(broken.runs_on)) == (False, 1)
