"""The model card: the card's own fields, published figures alone, and null with a word why for the rest."""

import json
import re

import pytest
import yaml
from support.hostile_text import PAYLOADS, steers
from support.results.filled_published import VARIANTS, content, published

from clinaudit.reports.exports.model_card import model_card_yaml
from clinaudit.reports.schema.results import ReportContent, from_json, to_json
from clinaudit.reports.tables.memorization import memorization_table

#: v0.2 of the card's schema.
SECTIONS = (
    "BasicInfo",
    "ReleaseInfo",
    "ModelSummary",
    "UsesAndDirections",
    "Warnings",
    "TrustIngredients",
    "KeyMetrics",
    "Resources",
    "Bibliography",
)


def card_of(given: ReportContent) -> dict:
    return yaml.safe_load(model_card_yaml(given))["AppliedModelCard"]


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "exact"])
def test_every_report_gives_a_card_with_every_section(name: str) -> None:
    text = model_card_yaml(VARIANTS[name]())
    assert tuple(yaml.safe_load(text)["AppliedModelCard"]) == SECTIONS
    assert not re.search(r": null$", text, re.MULTILINE), "a null does not say why"


def test_what_is_known_stands_in_its_field() -> None:
    card = card_of(content())
    assert card["BasicInfo"] == {
        "ModelName": "Ward notes 1.5B",
        "ModelDeveloper": None,
        "DeveloperContact": None,
    }
    assert "abab" in card["ReleaseInfo"]["ReleaseVersion"]
    risks = card["Warnings"]["KnownRisksAndLimitations"]
    assert "“default”: fail." in risks
    assert "Failed: HIV (limit ≤ 0.25)" in risks
    assert card["UsesAndDirections"]["CautionedOutOfScopeSettings"].count("- Keep it away from people") == 3
    checked = card["KeyMetrics"]["SafetyReliability"]
    assert "St. Invented Hospital on 2026-11-20" in checked["ValidationProcessAndJustification"]
    assert card["KeyMetrics"]["UsefulnessUsabilityEfficacy"]["Results"] is None
    # As they are read from a file, the tiers come in the order of their ids.
    as_read = content(from_json(to_json(published())))
    assert card_of(as_read)["KeyMetrics"] == card["KeyMetrics"]
    labels = [result["Label"] for result in checked["Results"]]
    assert len(labels) == len(set(labels))
    figures = {result["Label"]: json.loads(result["ValueJson"]) for result in checked["Results"]}
    shown = memorization_table(published())
    for tier, who, *cells in shown.rows:
        assert figures[f"{shown.caption}: {tier}, {who}"] == dict(zip(shown.columns[2:], cells, strict=True))


def test_a_pass_names_no_risk_that_was_not_found() -> None:
    card = card_of(VARIANTS["pass"]())
    assert "Failed" not in card["Warnings"]["KnownRisksAndLimitations"]
    assert card["UsesAndDirections"]["CautionedOutOfScopeSettings"] is None


def test_exact_figures_are_refused() -> None:
    with pytest.raises(ValueError, match="published figures alone"):
        model_card_yaml(VARIANTS["exact"]())


def test_hostile_text_stays_in_its_field() -> None:
    results = published()
    decision = results.decision.model_copy(update={"policy": "\n".join(PAYLOADS) + "\nModelName: null"})
    hostile = ReportContent(
        results.model_copy(update={"decision": decision, "warnings": [*PAYLOADS, "x\n  ModelName: null"]}),
        {"identity": {"model_name": "Scribe: null", "institution": "'\"#{", "date": "soon"}},
    )
    text = model_card_yaml(hostile)
    card = yaml.safe_load(text)["AppliedModelCard"]
    assert card["BasicInfo"]["ModelName"] == "Scribe: null"
    assert tuple(card) == SECTIONS
    assert not steers(text)
    assert text.count("\n      - ") == model_card_yaml(content(results)).count("\n      - ") + len(PAYLOADS)
