"""The generator's tables: every slot can be filled, every fact can be told and asked, no fixed word is an entity."""

import re

import pytest

from clinaudit.audit.pii.benchmark.generator.catalog import (
    encounters,
    facts,
    question_frames,
    scenarios,
    scenes,
    threads,
    turns,
    vocabulary,
)
from clinaudit.audit.pii.benchmark.sample_file import occurrences
from clinaudit.audit.pii.taxonomy import categories

DOMAINS = ("general", "clinical")
RELATIONS = ("intersection", "hierarchy", "none")
GRAMMAR = {"x", "I", "my", "me", "s", "es", "ies", "have", "am", "was", "a"}


def clauses() -> list[str]:
    return [clause for fact in facts().values() for clause in (*fact.said, *fact.formal, *fact.casual, *fact.clinician)]


def fixed_texts() -> list[str]:
    """Everything that stands in a description and is no entity."""
    texts = clauses()
    for domain in DOMAINS:
        for scene in scenes(domain):
            texts += [*scene.openings, *scene.fillers, *scene.closings, scene.noun]
        for relation in RELATIONS:
            for encounter in encounters(domain, relation):
                texts += [*encounter.settings, *encounter.tags]
    for thread in threads():
        texts += [*thread.openings, *thread.tags, *thread.remarks]
    words = turns()
    frames = [frame for frames in words["frames"].values() for frame in frames]
    return [*texts, *words["named"], *words["leads"], *words["links"], *words["replies"], *frames]


def closed_values() -> set[str]:
    """The values that are single words or phrases of a list, and so could stand in a text by chance."""
    words = vocabulary()
    demographic = {value for values in words["demographics"].values() for value in values}
    jobs = {name for group in words["occupation"] for name in group["names"]}
    taught = {value for row in words["education"] for column in ("levels", "degrees") for value in row[column]}
    taught |= {value for row in words["education"] for value in row.get("clinicians", [])}
    health = {*words["health"]["conditions"], *words["health"]["disabilities"], *words["health"]["drugs"]}
    return demographic | jobs | taught | health | set(words["words"]["nicknames"])


def test_every_clause_tells_its_fact_once_in_the_small_grammar() -> None:
    for clause in clauses():
        slots = re.findall(r"\{(\w+)\}", clause)
        assert slots.count("x") == 1
        assert set(slots) <= GRAMMAR


def test_every_category_of_the_paper_is_told_and_asked() -> None:
    told = {fact.category for fact in facts().values()} | {"full_name", "nickname", "social_handle"}
    assert told >= {category.id for category in categories().values() if category.source == "paper"}
    for fact in facts().values():
        assert {fact.category, fact.clinical} <= set(categories())
        assert len(fact.said + fact.formal) >= 2
        assert len(fact.said + fact.casual) >= 2
        assert len(fact.asked) >= 2
        assert all("{p}" in words for words in fact.asked)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_fact_has_a_scenario_and_every_scenario_known_facts(domain: str) -> None:
    asked = {key for scenario in scenarios(domain) for key in scenario.facts}
    assert asked <= set(facts())
    assert {key for key, fact in facts().items() if domain in fact.domains} <= asked
    for scenario in scenarios(domain):
        assert len(scenario.wordings) >= 6
        assert all(wording.count("{needs}") == 1 for wording in scenario.wordings)


def test_there_are_as_many_scenes_and_wordings_as_are_promised() -> None:
    assert len(scenes("general")) >= 8
    clinical = {
        "referral_letter", "portal_message", "discharge_call", "prior_authorization", "sick_note", "family_history"
    }  # fmt: skip
    assert {scene.id for scene in scenes("clinical")} == clinical
    assert {e.id for relation in RELATIONS for e in encounters("clinical", relation)} == clinical
    assert sum(len(encounters("general", relation)) for relation in RELATIONS) >= 8
    for domain in DOMAINS:
        for scene in scenes(domain):
            assert min(len(scene.openings), len(scene.fillers), len(scene.closings)) >= 6
            assert all(opening.count("{per}") == 1 for opening in scene.openings)
        for relation in RELATIONS:
            assert encounters(domain, relation)
            assert all(len(encounter.settings) >= 6 for encounter in encounters(domain, relation))
    assert len(threads()) == 3
    assert all("{member}" in words for place in ("begins", "goes_on") for words in question_frames()[place])


def test_no_fixed_word_is_a_value_that_could_be_drawn() -> None:
    text = "\n".join(fixed_texts())
    assert [value for value in sorted(closed_values()) if occurrences(value, text)] == []


def test_no_fixed_text_holds_a_number() -> None:
    assert [text for text in fixed_texts() if re.search(r"\d", text)] == []
