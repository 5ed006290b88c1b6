"""Everyday tasks: those that ship and a site's, prompts, formulas by hand, and training text planted in answers."""

import json

import polars as pl
import pytest
from support.everyday.answered_tasks import QUIET, ToldEngine, answers_of, ask, decoding_of, tasks_of
from support.evidence_frames import evidence
from support.written_corpus import write_corpus

from clinaudit.audit.measures.everyday.estimates import estimate_everyday
from clinaudit.audit.measures.everyday.tasks import MOST_CHARS, TaskSet, load_tasks, plan_tasks
from clinaudit.audit.measures.generation.estimates import estimate_completeness
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.errors import BadInputError
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.templates.profile import load_profile


def answers(rows, task, *found, owners=(), tokens=40, model="audited", verified=False):
    """Add the answers to a task, each with its tokens that count, and those by chance."""
    for number, (counted, chance) in enumerate(found):
        name = f"{model} {task} {number}"
        asked = {"generation_id": name, "role": "nobody", "model": model, "tier": "everyday"}
        rows["generations"].append({**asked, "task": task})
        sampled = None if chance is None else counted
        rows["generation_metrics"].append(
            {
                **asked,
                "tokens": tokens,
                "other_patient_tokens": counted,
                "other_patient_sampled_tokens": sampled,
                "other_patient_chance_tokens": chance,
            }
        )
        rows["other_patients"] += [
            {"generation_id": name, "owner_patient_id": own, "telling_tokens": 5} for own in owners
        ]
        rows["identifiers"] += [{"generation_id": name, "verified": verified}]


def none():
    return {name: [] for name in ("generations", "generation_metrics", "other_patients", "identifiers")}


def estimate(rows):
    return Estimates(estimate_everyday(evidence(**rows), match_tokens=30))


def count(table, metric, arm=""):
    row = table.find(metric, arm=arm)
    return row.count_low, row.of_low


def test_a_task_counts_with_the_tokens_of_all_its_answers():
    rows = none()
    answers(rows, "whole", (30, 0), (0, 0), owners=("a",))
    answers(rows, "together", (10, 30), (20, 0), owners=("a", "b"))
    answers(rows, "little", (10, 0), (19, 0), owners=("c",))
    answers(rows, "short", (0, 0), (0, 0), tokens=29, verified=True)
    # Of which an answer is missing: not counted at all.
    answers(rows, "stopped", (90, 90), owners=("d",))
    answers(rows, "whole", (0, 0), (0, 0), model="control")
    # A target's text is no task's.
    rows["generations"].append({"generation_id": "g", "role": "target", "patient_id": "p"})
    rows["generation_metrics"].append({"generation_id": "g", "role": "target", "other_patient_tokens": 90})
    table = estimate(rows)
    assert count(table, "everyday_tasks") == (2, 4)
    assert count(table, "everyday_tasks_sampled") == (2, 4)
    assert count(table, "everyday_tasks_chance") == (1, 4)
    assert count(table, "everyday_identifiers") == (1, 4)
    assert count(table, "everyday_long_answers") == (3, 4)
    # Of the one task that holds less than a match, c is none.
    assert count(table, "everyday_patients") == (2, None)
    assert count(table, "everyday_tasks", "control") == (0, 1)


def test_what_does_not_fit_or_spells_a_control_token_is_excluded_in_every_form(chat_tokenizer):
    long = "write a letter about this. " * 30
    tasks = tasks_of("write a letter.", long, "explain <|im_end|> to me.")
    decoding = decoding_of(chat_tokenizer, chat=True, context_length=600, max_new_tokens=400)
    prompts = plan_tasks(tasks, decoding, asks_control=True)
    assert set(prompts.filter(~pl.col("excluded"))["task"]) == {"t0"}
    left_out = prompts.filter("excluded").select("task", "form", "model", "draw", "reason", "max_new_tokens").rows()
    too_long, control = "exceeds the model's context", "a fact spells out a control token of the model"
    assert left_out == [
        (task, form, "audited", 0, reason, 0)
        for task, reason in (("t1", too_long), ("t2", control))
        for form in ("text", "chat")
    ]
    table = Estimates(estimate_completeness(evidence(generations=[]) | {"priors": prompts.lazy()}))
    found = [(row.form, row.part, row.count_low, row.of_low) for row in table.rows("excluded", tier="everyday", arm="")]
    assert found == [(form, reason, 1, 3) for form in ("chat", "text") for reason in sorted((too_long, control))]
    # Just long enough: in text it would fit, and in a chat not.
    in_chat = prompts.filter(model="audited", form="chat", task="t0")["prompt"].item()
    length = len(chat_tokenizer.encode(in_chat)) + 400
    first = TaskSet(tasks.tasks[:1], "")
    for context, count in ((length, 4), (length - 1, 0)):
        decoding = decoding_of(chat_tokenizer, chat=True, context_length=context, max_new_tokens=400)
        prompts = plan_tasks(first, decoding, asks_control=False)
        assert len(prompts.filter(~pl.col("excluded"))) == count


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


def house(patient):
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


def measure(corpus, tokenizer, answers, *, seed=0):
    notes = MatchedCorpus(corpus, tokenizer, PROFILE)
    return measure_memorization(answers, notes, match_tokens=N, seed=seed, progress=QUIET)


def held(found, answers):
    """Return whose text, of which note, by task and draw; of the answers that hold any that counts."""
    passages = found["other_patients"].filter(pl.col("telling_tokens") > 0)
    rows = passages.join(answers.select("generation_id", "task", "draw"), on="generation_id", maintain_order="left")
    by_answer: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for task, draw, owner, note in rows.select("task", "draw", "owner_patient_id", "source_note_id").iter_rows():
        by_answer.setdefault((task, draw), []).append((owner, note))
    return by_answer


def count_found(found, answers):
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
    counted = count_found(found, answers)
    assert (counted["tasks"], counted["patients"]) == ((3, 4), (2, None))
    # Pools of so few patients show nothing of chance.
    assert counted.keys().isdisjoint({"tasks_sampled", "tasks_chance"})
    assert found["generation_metrics"]["memorized_tokens"].sum() == 0

    quiet = ask(tasks, ToldEngine(tokenizer, {"letter": "I raise no goats. " * 9}), tmp_path / "quiet")
    nothing = measure(corpus, tokenizer, quiet)
    assert nothing["other_patients"].is_empty()
    clean = count_found(nothing, quiet)
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


def write(folder, *rows):
    path = folder / "ours.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_a_sites_tasks_stand_after_those_that_ship(tmp_path):
    shipped = load_tasks()
    path = write(tmp_path, {"id": "ours", "text": "Fill our form."}, "", {"id": "b", "text": "x\n", "kind": "form"})
    found = load_tasks(path)
    assert found.tasks[: len(shipped.tasks)] == shipped.tasks
    assert [(task.id, task.kind, task.text) for task in found.tasks[len(shipped.tasks) :]] == [
        ("ours", "site", "Fill our form."),
        ("b", "form", "x\n"),
    ]
    assert (shipped.own, found.own) == ((), found.tasks[-2:])
    assert shipped.digest != found.digest
    assert found.digest == load_tasks(path).digest


def test_tasks_that_name_a_patient_are_counted_whatever_the_case_and_order_of_the_name(tmp_path):
    rows = [
        {"id": "a", "text": "Write to JOSÉ Ruiz-Lee about his cough."},
        {"id": "b", "text": "A letter for Ruiz-Lee, Jose."},
        # One word of a name is many people's, and so are words that stand apart.
        {"id": "c", "text": "Jose asks; another is called Ruiz-Lee. In May."},
    ]
    found = load_tasks(write(tmp_path, *rows))
    assert found.count_naming(["jose ruiz-lee", "May"]) == 2
    assert found.count_naming(["Ann Lee"]) == 0
    # Whom the shipped tasks name is invented.
    named = next(task.text for task in load_tasks().tasks if len(task.text.split()) > 3)
    assert load_tasks().count_naming([" ".join(named.split()[:2])]) == 0


GOOD = {"id": "a", "text": "secret words"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([GOOD, "{secret words"], "row 2: is not JSON"),
        ([GOOD, '{"id": "b", "text": "x", "text": "secret words"}'], "row 2: gives one key twice"),
        ([["a", "secret words"]], "row 1: must be an object with id and text"),
        ([{"text": "secret words"}], "row 1: must be an object with id and text"),
        ([{**GOOD, "prompt": "secret words"}], "row 1: must be an object with id and text"),
        ([{**GOOD, "id": 3}], "row 1: id must be a text"),
        ([{**GOOD, "text": None}], "row 1: text must be a text"),
        ([{**GOOD, "text": " \n"}], "row 1: text is empty"),
        ([{**GOOD, "id": ""}], "row 1: id is empty"),
        ([{**GOOD, "text": "secret words " * MOST_CHARS}], "row 1: text has 260,000 characters; 20,000 at most"),
        ([{**GOOD, "id": "a" * 101}], "row 1: id has 101 characters; 100 at most"),
        (['{"id": "a", "text": "\\ud800 secret words"}'], "row 1: text holds half a surrogate pair"),
        ([GOOD, {**GOOD, "text": "other secret words"}], "row 2: its id stands in another row"),
        ([{**GOOD, "id": "referral-01"}], "row 1: its id ships"),
    ],
)
def test_what_is_no_task_is_refused_by_its_row_and_never_quoted(tmp_path, rows, said):
    with pytest.raises(BadInputError) as caught:
        load_tasks(write(tmp_path, *rows))
    message = caught.value.render()
    assert said in message
    assert "ours.jsonl" in message
    assert "secret" not in message
