"""The generator's tables: every slot can be filled, every fact can be told and asked, no fixed word is an entity.

And that what is trained and what is scored share no sentence.
"""

import re
from collections.abc import Iterator

import pytest

from clinaudit.audit.pii.benchmark.generator.catalog import SCORED, TRAINING, Grammar, facts, scenarios, vocabulary
from clinaudit.audit.pii.benchmark.sample_file import occurrences
from clinaudit.audit.pii.taxonomy import categories

DOMAINS = ("general", "clinical")
RELATIONS = ("intersection", "hierarchy", "none")
SLOTS = {"x", "I", "my", "me", "s", "es", "ies", "have", "am", "was", "a"}
TABLES = ("clauses", "scenes", "encounters", "threads", "turns", "questions")
#: Fields that no text takes its words from.
IDS = {"id", "domain", "person", "register", "relation", "rule", "shares", "kinds"}
#: So few words in a row say nothing yet: "in the matter of", "my name is".
LONGEST_SHARED_RUN = 4
both_grammars = pytest.mark.parametrize("grammar", [SCORED, TRAINING], ids=lambda grammar: grammar.folder)


def clauses_of(grammar: Grammar) -> list[str]:
    return [text for row in grammar.clauses.values() for text in (*row.said, *row.formal, *row.casual, *row.clinician)]


def texts_in(table: object, *, without: str = "") -> Iterator[str]:
    """Every string of a table but ids, and but those of one field."""
    if isinstance(table, str):
        yield table
    elif isinstance(table, list):
        for row in table:
            yield from texts_in(row, without=without)
    elif isinstance(table, dict):
        for name, cell in table.items():
            if name not in IDS and name != without:
                yield from texts_in(cell, without=without)


def told_by(grammar: Grammar) -> list[str]:
    """Everything that stands in a description and is no entity."""
    return [text for name in TABLES[:-1] for text in texts_in(grammar.tables(name), without="asked")]


def closed_values() -> set[str]:
    """The values that are single words or phrases of a list, and so could stand in a text by chance."""
    words = vocabulary()
    demographic = {value for values in words["demographics"].values() for value in values}
    jobs = {name for group in words["occupation"] for name in group["names"]}
    taught = {value for row in words["education"] for column in ("levels", "degrees") for value in row[column]}
    taught |= {value for row in words["education"] for value in row.get("clinicians", [])}
    health = {*words["health"]["conditions"], *words["health"]["disabilities"], *words["health"]["drugs"]}
    return demographic | jobs | taught | health | set(words["words"]["nicknames"])


def frames_of(grammar: Grammar) -> set[tuple[str, ...]]:
    """The words of every sentence that a grammar holds, in small letters, without what is filled in."""
    texts = (text for name in TABLES for text in texts_in(grammar.tables(name)))
    sentences = (part for text in texts for part in re.split(r"(?<=[.!?:])\s", text))
    bare = (re.sub(r"\{\w+\}", " ", sentence).casefold() for sentence in sentences)
    return {tuple(re.findall(r"[^\W_]+", sentence)) for sentence in bare} - {()}


def test_what_is_trained_and_what_is_scored_share_no_sentence_and_no_five_words_in_a_row() -> None:
    scored, training = frames_of(SCORED), frames_of(TRAINING)
    assert min(len(scored), len(training)) > 1200
    assert scored & training == set()
    length = LONGEST_SHARED_RUN + 1
    runs = [
        {frame[at : at + length] for frame in frames for at in range(len(frame) - length + 1)}
        for frames in (scored, training)
    ]
    assert runs[0] & runs[1] == set()


@both_grammars
def test_every_clause_tells_its_fact_once_in_the_small_grammar(grammar: Grammar) -> None:
    for clause in clauses_of(grammar):
        slots = re.findall(r"\{(\w+)\}", clause)
        assert slots.count("x") == 1
        assert set(slots) <= SLOTS


@both_grammars
def test_every_fact_is_told_and_asked_in_a_category_that_there_is(grammar: Grammar) -> None:
    told = {fact.category for fact in facts().values()} | {"full_name", "nickname", "social_handle"}
    assert told >= set(list(categories())[:55])
    assert {category for fact in facts().values() for category in (fact.category, fact.clinical)} <= set(categories())
    assert list(grammar.clauses) == list(facts())
    for row in grammar.clauses.values():
        assert min(len(row.said + row.formal), len(row.said + row.casual), len(row.asked)) >= 2
        assert all("{p}" in words for words in row.asked)


@both_grammars
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_fact_has_a_scenario_and_every_scenario_known_facts(grammar: Grammar, domain: str) -> None:
    asked = {key for needs in scenarios(domain).values() for key in needs}
    assert asked <= set(facts())
    assert {key for key, fact in facts().items() if domain in fact.domains} <= asked
    for scenario in scenarios(domain):
        wordings = grammar.questions["wordings"][scenario]
        assert len(wordings) >= (6 if grammar is SCORED else 3)
        assert all(wording.count("{needs}") == 1 for wording in wordings)


@both_grammars
def test_there_are_as_many_scenes_and_wordings_as_are_promised(grammar: Grammar) -> None:
    for domain, scenes, encounters in (("general", 8, 10), ("clinical", 6, 6)):
        assert sum(scene.domain == domain for scene in grammar.scenes) == scenes
        assert sum(encounter.domain == domain for encounter in grammar.encounters) == encounters
        assert {encounter.relation for encounter in grammar.encounters if encounter.domain == domain} == set(RELATIONS)
    for scene in grammar.scenes:
        assert min(len(scene.openings), len(scene.fillers), len(scene.closings)) >= 6
        assert all(opening.count("{per}") == 1 for opening in scene.openings)
    assert all(len(encounter.settings) >= 6 for encounter in grammar.encounters)
    assert {encounter.shares for encounter in grammar.encounters} - {None} <= set(grammar.turns["shared"])
    assert len(grammar.threads) == 3
    members = grammar.questions["members"]
    assert all("{member}" in words for place in ("begins", "goes_on") for words in members[place])


@both_grammars
def test_no_fixed_word_is_a_value_that_could_be_drawn_and_none_is_a_number(grammar: Grammar) -> None:
    texts = told_by(grammar)
    assert [value for value in sorted(closed_values()) if occurrences(value, "\n".join(texts))] == []
    assert [text for text in texts if re.search(r"\d", text)] == []


def test_clinical_samples_are_told_in_the_six_scenes_that_are_promised() -> None:
    promised = {
        "referral_letter", "portal_message", "discharge_call", "prior_authorization", "sick_note", "family_history"
    }  # fmt: skip
    assert {scene.id for scene in SCORED.scenes if scene.domain == "clinical"} == promised
    assert {encounter.id for encounter in SCORED.encounters if encounter.domain == "clinical"} == promised
