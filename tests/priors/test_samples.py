"""Answers drawn by chance and the control model: the tiers' own prompts once more, each in a form of its own."""

from pathlib import Path

import pytest
from support.patient_facts import NOTE, facts_of, writer_of

from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.prompts import Prior, write_priors
from clinaudit.priors.renderings import ProbedTiers, view_of

TIERS = ("public", "encounter", "encounter_cc")


def priors_of(folder: Path, probed: ProbedTiers, text: str = NOTE) -> list[Prior]:
    writer = writer_of(panel=load_panel(), limit=1000, context=10**6)
    return write_priors({"p": ("depression",)}, facts={"p": facts_of(folder, text)}, probed=probed, writer=writer)


def test_each_sample_is_the_tier_s_own_prompt_and_has_a_number(tmp_path: Path) -> None:
    rows = priors_of(tmp_path, ProbedTiers(TIERS, samples=3))
    own = [row for row in rows if row.rendering != "samples"]
    drawn = [row for row in rows if row.rendering == "samples"]
    assert {row.draw for row in own} == {0}
    for row in own:
        again = [other for other in drawn if other.tier == row.tier]
        assert [other.draw for other in again] == [1, 2, 3]
        assert {(of.prompt, of.max_new_tokens, of.diagnoses, of.unbroken) for of in again} == {
            (row.prompt, row.max_new_tokens, row.diagnoses, row.unbroken)
        }


def test_what_is_excluded_is_excluded_once_more_and_not_once_for_each_sample(tmp_path: Path) -> None:
    text = NOTE.replace("CC: low mood", "CC: depression follow-up")
    rows = priors_of(tmp_path, ProbedTiers(("encounter_cc",), samples=4, asks_control=True), text)
    excluded = [(row.rendering, row.draw) for row in rows if row.excluded]
    assert excluded == [("opening", 0), ("samples", 1)]
    # Without the diagnosis the patient is asked all the same.
    assert [row.draw for row in rows if not row.excluded and row.rendering == "samples"] == [1, 2, 3, 4]


def test_the_control_model_is_asked_the_same_and_read_for_the_same_diagnoses(tmp_path: Path) -> None:
    rows = priors_of(tmp_path, ProbedTiers(TIERS, asks_control=True))
    own, control = ([row for row in rows if (row.rendering == "control") is of] for of in (False, True))
    assert [(row.tier, row.prompt) for row in control] == [(row.tier, row.prompt) for row in own]
    assert {row.diagnoses for row in (*own, *control)} == {("depression",)}


@pytest.mark.parametrize(
    ("probed", "beside"),
    [
        (ProbedTiers(TIERS), ()),
        (ProbedTiers(TIERS, samples=1), ("samples",)),
        (ProbedTiers(TIERS, "both", 8, asks_control=True), ("chat", "samples", "control")),
        (ProbedTiers(TIERS, "chat", 8), ("samples",)),
    ],
)
def test_samples_and_control_stand_beside_the_tiers_own_figures(probed: ProbedTiers, beside: tuple[str, ...]) -> None:
    assert probed.beside == beside
    assert probed.views == (None, *beside)
    assert {view_of(rendering, probed.beside) for rendering in probed.beside} == set(beside)
    assert view_of("opening", probed.beside) is None
