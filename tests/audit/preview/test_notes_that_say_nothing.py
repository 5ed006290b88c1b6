"""Notes of other forms, as sites have them: prompts that are about nobody are named, and let no rule pass."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.results.decided_results import POLICY, Run, decide

from clinaudit.audit.preview.prompt_fit import PromptCount
from clinaudit.audit.preview.survey import Survey, survey_corpus
from clinaudit.audit.preview.survey_text import survey_text
from clinaudit.audit.results.gate import reasons
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.settings import AuditSettings

PEOPLE = 24
#: The same policy, of a tier that quotes a note.
OF_NOTES = replace(
    POLICY,
    **{
        part: tuple(replace(rule, tiers=("encounter",)) for rule in getattr(POLICY, part))
        for part in ("memorization", "disclosure", "identifiers")
    },
)
BANNER = (
    "patient: {name}\ndob: 02/{day:02}/1960\nvisit date: 05/{day:02}/2024\nprovider: Jo Ek, MD\nlocation: Elm Clinic\n"
)
BODY = "cc: cough number {n}\nhpi: tired since the {n}th of May and short of breath on stairs\nros:\nnone\n"
ADDENDUM = "addendum\nThe result came back and was discussed by telephone.\n"
DISCHARGE = (
    " \nName:  ___                     Unit No:   ___\n \nAdmission Date:  ___              Discharge Date:   ___\n \n"
    "Date of Birth:  ___             Sex:   F\n \nService: MEDICINE\n \nAllergies: \nNo Known Allergies\n \n"
    "Attending: ___.\n \n"
    "Chief Complaint:\nfall\n \nMajor Surgical or Invasive Procedure:\nnone\n\nHistory of Present Illness:\n"
    "___ yo with a fall from {n} stairs.\n\nPast Medical History:\nnone\n"
)


def named(number: int) -> str:
    return BANNER.format(name=f"Ada{chr(97 + number)} Lund", day=number + 1)


def survey(directory: Path, notes_of: Callable[[int], list[str]], template: str = "soap") -> tuple[Survey, str]:
    corpus = directory / "corpus"
    corpus.mkdir()
    rows = [
        {"patient_id": f"p{n:02}", "note_id": f"p{n:02}/{place}", "text": text, "visit_date": f"2024-01-{place + 1:02}"}
        for n in range(PEOPLE)
        for place, text in enumerate(notes_of(n))
    ]
    (corpus / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = AuditSettings(model="", corpus=corpus, out=directory, template=Path(template))
    found = survey_corpus(settings, Progress(quiet=True))
    return found, survey_text(found, template=settings.template, minimum_unbroken_share=0.9)


def of_tier(found: Survey, tier: str) -> PromptCount:
    return next(count for count in found.prompts if (count.tier, count.rendering) == (tier, "opening"))


def status_at(found: Survey, tier: str) -> tuple[str, str]:
    """Return what the gate says of a model that gives nothing away, and why, at a tier with these prompts."""
    arm = of_tier(found, tier).arms["train"]
    if not arm.made:
        return decide(OF_NOTES, Run(train=None, tiers=("encounter",))).status, ""
    prompts = arm.fitting, arm.made + arm.missed - arm.fitting
    rule, *_ = decide(OF_NOTES, Run(prompts=prompts, own=arm.own, tiers=("encounter",))).rules
    return rule.status, rule.reason


def test_discharge_summaries_with_underscores_are_one_prompt_for_everybody(tmp_path: Path) -> None:
    found, text = survey(tmp_path, lambda n: [DISCHARGE.format(n=n)], "mimic-discharge")
    arm = of_tier(found, "encounter").arms["train"]
    assert (arm.made, arm.own) == (PEOPLE, 0)
    assert "CANNOT BE DECIDED (fewer than half of the prompts are one patient's own)" in text
    assert status_at(found, "encounter") == ("inconclusive", reasons.PROMPTS_SHARED)
    # What the prompt really holds is a service and a sex, which all of them share.
    assert found.unique["encounter"] == (0.0, 0.0, 0.0)


def test_fully_de_identified_notes_have_no_prompt_of_a_tier_that_is_about_names_and_days(tmp_path: Path) -> None:
    banner = "patient: ___\ndob: [**1960**]\nvisit date: <DATE>\nprovider: [NAME]\nlocation: XXXX\n"
    found, text = survey(tmp_path, lambda _: [banner + BODY.format(n=7)])
    assert of_tier(found, "encounter").arms["train"].made == 0
    assert "CANNOT BE AUDITED" in text
    assert status_at(found, "encounter")[0] == "inconclusive"
    # At the next tier everybody has one complaint, and so one prompt.
    assert status_at(found, "encounter_cc") == ("inconclusive", reasons.PROMPTS_SHARED)


def test_an_addendum_that_comes_last_is_passed_over(tmp_path: Path) -> None:
    found, text = survey(tmp_path, lambda n: [named(n) + BODY.format(n=n), ADDENDUM])
    for tier in ("encounter", "encounter_cc", "encounter_cc_hpi"):
        arm = of_tier(found, tier).arms["train"]
        assert (arm.made, arm.fitting, arm.own, arm.earlier) == (PEOPLE, PEOPLE, PEOPLE, PEOPLE)
        assert status_at(found, tier)[0] == "pass"
    assert f"of an earlier note {PEOPLE} / 0" in text


def test_notes_without_headers_are_no_prompts(tmp_path: Path) -> None:
    found, text = survey(tmp_path, lambda n: [f"Seen for the {n}th time with a cough. Rest and fluids were advised."])
    assert all(not of_tier(found, tier).arms["train"].made for tier in ("encounter", "encounter_cc"))
    assert "CANNOT BE AUDITED" in text


def test_ten_notes_of_a_day_are_one_prompt_each_patient(tmp_path: Path) -> None:
    found, _ = survey(tmp_path, lambda n: [named(n) + BODY.format(n=f"{n}{place}") for place in range(10)])
    arm = of_tier(found, "encounter").arms["train"]
    assert (arm.made, arm.fitting, arm.own, arm.earlier) == (PEOPLE, PEOPLE, PEOPLE, 0)


def test_a_note_without_a_complaint_leaves_the_tier_of_the_others_to_be_decided(tmp_path: Path) -> None:
    """Of eight patients no complaint is written down: a third, so that the template is not at fault."""

    def note(n: int) -> list[str]:
        text = named(n) + BODY.format(n=n)
        return [text.replace(f"cc: cough number {n}\n", "") if n % 3 == 0 else text]

    found, text = survey(tmp_path, note)
    count = of_tier(found, "encounter_cc")
    assert (count.arms["train"].made, count.arms["train"].missed) == (16, 0)
    assert sum(count.excluded.values()) == 8
    assert "8 excluded: not found: chief_complaint" in " ".join(text.split())
    assert status_at(found, "encounter_cc_hpi")[0] == "pass"


@pytest.mark.parametrize(("own", "status"), [(24, "pass"), (12, "inconclusive"), (0, "inconclusive")])
def test_a_rule_passes_only_where_most_prompts_are_one_patients_own(own: int, status: str) -> None:
    decision = decide(OF_NOTES, Run(prompts=(24, 0), own=own, tiers=("encounter",)))
    assert {rule.status for rule in decision.rules} == {status}
    # Demographics fit several patients by their nature.
    assert decide(POLICY, Run(prompts=(24, 0), own=own)).status == "pass"
