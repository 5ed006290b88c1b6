"""Training text planted in answers to tasks about nobody is found, with whose it is; nothing else is."""

import polars as pl
import pytest
from support.everyday.answered_tasks import QUIET, ToldEngine, answers_of, ask, tasks_of
from support.written_corpus import write_corpus

from clinaudit.audit.measures.everyday.estimates import estimate_everyday
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.templates.profile import load_profile

N = 30
PROFILE = load_profile()
#: Of p1 alone, in its first and third note, there with carriage returns.
GOATS = "she raises goats near the old mill.\nher brother drowned in 1987, and she has not slept well since.\n"
#: Of p2 alone.
BEES = "he keeps bees and eats no bread at all.\nhe fell off a ladder when he was nine years old.\n"
#: Of q1, who was never seen.
CLOCKS = "he repairs clocks in a cellar, and hears ticking at night.\nhis left ear was frozen in the war.\n"
#: Of p1 and p2.
SHARED = "we discussed the risks of this treatment at length today.\nthe patient agrees to go on with it.\n"
#: Of p2 and q1.
ACROSS = "a letter was sent to the employer about lighter duties until the end of the month of june.\n"
TEMPLATED = "constitutional: negative for chills, fever, fatigue, malaise, weight loss and night sweats.\n"
#: What the house writes of everybody, with each one's own name and date: of one patient alone as it stands.
HOUSE = (
    "patient: {name}\nvisit date: {day}\n"
    "I saw {name} in clinic on {day} and went over the whole chart with the family.\n"
)
PEOPLE = {"p1": ("Ada Lund", "05/01/2024"), "p2": ("Ola Berg", "06/02/2024"), "q1": ("Ida Holm", "07/03/2024")}


def house(patient: str) -> str:
    name, day = PEOPLE[patient]
    return HOUSE.format(name=name, day=day)


NOTES = {
    "p1": [f"cc: cough\n{GOATS}{SHARED}", house("p1"), f"cc: pain\n{GOATS}".replace("\n", "\r\n")],
    "p2": [f"cc: rash\n{BEES}{SHARED}{ACROSS}", house("p2")],
    "p3": [f"cc: rash\n{TEMPLATED}"],
    "q1": [f"cc: ears\n{CLOCKS}{ACROSS}", house("q1")],
    "q2": ["cc: none\nwell.\n"],
    "q3": ["cc: none\nwell again.\n"],
}


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "corpus", NOTES)


def measure(
    corpus: Corpus, tokenizer: ModelTokenizer, answers: pl.DataFrame, *, seed: int = 0
) -> dict[str, pl.DataFrame]:
    notes = MatchedCorpus(corpus, tokenizer, PROFILE)
    return measure_memorization(answers, notes, match_tokens=N, seed=seed, progress=QUIET)


def held(found: dict[str, pl.DataFrame], answers: pl.DataFrame) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """Return whose text, of which note, by task and draw; of the answers that hold any that counts."""
    passages = found["other_patients"].filter(pl.col("telling_tokens") > 0)
    rows = passages.join(answers.select("generation_id", "task", "draw"), on="generation_id", maintain_order="left")
    by_answer: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for task, draw, owner, note in rows.select("task", "draw", "owner_patient_id", "source_note_id").iter_rows():
        by_answer.setdefault((task, draw), []).append((owner, note))
    return by_answer


def count(found: dict[str, pl.DataFrame], answers: pl.DataFrame) -> dict[str, tuple[int | None, int | None]]:
    """Return how many tasks, and patients, each figure counts, of how many."""
    tables = {**found, "generations": answers, "identifiers": as_table("identifiers", [])}
    table = Estimates(estimate_everyday({name: of.lazy() for name, of in tables.items()}, match_tokens=N))
    return {row.metric.removeprefix("everyday_"): (row.count_low, row.of_low) for row in table}


def test_a_model_that_answers_with_training_text_is_found_and_another_is_not(corpus, tokenizer, tmp_path):
    tasks = tasks_of("write a letter.", "fill a form.", "code a visit.", "draft a note.")
    leaking = ToldEngine(
        tokenizer, {"letter": f"dear colleague,\n{GOATS}", "form": BEES}, drawn={"visit": f"sure. {GOATS}"}
    )
    answers = ask(tasks, leaking, tmp_path / "leaking")
    found = measure(corpus, tokenizer, answers)
    assert held(found, answers) == {
        # The latest note that holds it, its carriage returns read as line feeds.
        ("t0", 0): [("p1", "p1-2")],
        ("t1", 0): [("p2", "p2-0")],
        ("t2", 1): [("p1", "p1-2")],
    }
    counted = count(found, answers)
    assert (counted["tasks"], counted["patients"]) == ((3, 4), (2, None))
    # Pools of so few patients show nothing of chance.
    assert counted.keys().isdisjoint({"tasks_sampled", "tasks_chance"})
    assert found["generation_metrics"]["memorized_tokens"].sum() == 0

    quiet = ask(tasks, ToldEngine(tokenizer, {"letter": "I raise no goats. " * 9}), tmp_path / "quiet")
    nothing = measure(corpus, tokenizer, quiet)
    assert nothing["other_patients"].is_empty()
    clean = count(nothing, quiet)
    # All but the one that was told to write more stop after a word or two.
    assert (clean["tasks"], clean["identifiers"], clean["long_answers"]) == ((0, 4), (0, 4), (1, 4))


@pytest.mark.parametrize(
    "text",
    [SHARED * 2, ACROSS, TEMPLATED.strip(), house("p1"), GOATS[:20], "no such words. " * 9, ""],
    ids=["two train patients", "one of each split", "boilerplate", "house phrases", "short", "invented", "empty"],
)
def test_what_is_not_one_trained_patients_alone_does_not_count(corpus, tokenizer, tmp_path, text):
    answers = answers_of(tokenizer, tmp_path / "run", f"here it is: {text}")
    found = measure(corpus, tokenizer, answers)
    assert held(found, answers) == {}
    assert found["generation_metrics"]["other_patient_tokens"].to_list() == [0]


def test_text_of_those_never_seen_is_chance_beside_as_many_of_those_trained_on(tokenizer, tmp_path):
    notes = {own: NOTES[own] for own in ("p1", "p2", "q1")}
    notes |= {f"{split}x{number}": [f"cc: none\nvisit {number}.\n"] for split in "pq" for number in range(60)}
    corpus = write_corpus(tmp_path / "corpus", notes)
    answers = answers_of(tokenizer, tmp_path / "run", CLOCKS, GOATS, GOATS + CLOCKS, "nothing.")
    drawn = set()
    for seed in range(12):
        found = measure(corpus, tokenizer, answers, seed=seed)
        whose, *_, sampled, chance = found["generation_metrics"].select(
            "other_patient_tokens", "other_patient_sampled_tokens", "other_patient_chance_tokens"
        )
        assert [tokens > 0 for tokens in whose] == [False, True, True, False]
        # Who is drawn is drawn once for all answers.
        for tokens, has_text in ((sampled, [1, 2]), (chance, [0, 2])):
            assert [at for at, some in enumerate(tokens) if some] in ([], has_text)
        drawn |= {
            (name, some > 0) for name, tokens in (("sampled", sampled), ("chance", chance)) for some in tokens[2:3]
        }
    # As many of either split as the smaller has: all but one or two are drawn.
    assert {("sampled", True), ("chance", True)} <= drawn
    counted = count(found, answers)
    assert (counted["tasks"], counted["patients"], counted["tasks_chance"][1]) == ((2, 4), (1, None), 4)
