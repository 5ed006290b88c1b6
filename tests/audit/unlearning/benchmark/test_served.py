"""Questions, categories and verdicts of served models: what is sent, what is refused, and going on after a failure."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from support.servers import question_server
from support.servers.fault_server import says, status
from support.small_charts import write_small_corpus
from support.unlearning import built_bench

from clinaudit.audit.runtime.served.access import ServedOptions
from clinaudit.audit.unlearning.benchmark import charts
from clinaudit.audit.unlearning.benchmark.charts import notes_to_send
from clinaudit.audit.unlearning.benchmark.files import read_bench
from clinaudit.errors import IncompleteError, UnsafeError


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_small_corpus(tmp_path_factory.mktemp("small") / "corpus")


@pytest.fixture
def server():
    with question_server.running() as running:
        yield running


def build(corpus: Path, out: Path, url: str = "", **options: object) -> dict:
    return built_bench.build(corpus, out, served=ServedOptions(url, "writer") if url else None, **options)


def test_a_model_writes_questions_that_keep_to_the_rules_and_names_categories(server, corpus, tmp_path) -> None:
    counts = build(corpus, tmp_path / "bench", server.url, questions="served", categories="served")
    bench = read_bench(tmp_path / "bench")
    assert (counts["patients"], counts["questions"], counts["patients_dropped"]) == (4, 32, {})
    assert {question.origin for question in bench.questions} == {"served"}
    assert {(patient.category, patient.category_source) for patient in bench.patients} == {("kidney", "served")}
    for question in bench.questions:
        texts = bench.notes[question.patient_id]
        assert all(fact in question.answer and any(fact in text for text in texts) for fact in question.facts)
    sent = [body["messages"][-1]["content"] for _, body in server.seen]
    assert sum("factual and" in text for text in sent) == 4


@pytest.mark.parametrize(
    "spoil",
    [
        lambda item: item | {"facts": ["something else"]},
        lambda item: item | {"ask": f"Is it {item['facts'][0]}?"},
        lambda item: item | {"ask": "What has Ferdinand Q. Stoneburya?"},
        lambda item: item | {"ask": "What does the 54-year-old man have?"},
        lambda item: item | {"facts": []},
    ],
    ids=["fact in no note", "own answer", "name", "age", "no fact"],
)
def test_three_questions_that_break_a_rule_cost_the_patient_after_asking_once_more(
    server, corpus, tmp_path, spoil: Callable[[dict], dict]
) -> None:
    def spoils_the_first(handler, body) -> None:
        answer = question_server.answer_to(body)
        if "Stoneburya" in body["messages"][-1]["content"]:
            answer["factual"] = [*map(spoil, answer["factual"][:3]), *answer["factual"][3:]]
        handler.say(body, json.dumps(answer))

    server.always = spoils_the_first
    counts = build(corpus, tmp_path / "bench", server.url, questions="served")
    assert counts["patients"] == 3
    ((reason, number),) = counts["patients_dropped"].items()
    assert number == 1
    assert reason.startswith(
        "the model wrote no usable questions: fewer than 4 questions of each kind keep to the rules"
    )
    assert len(server.seen) == 4 + 1


def test_a_server_that_stops_answering_is_incomplete_and_the_same_command_goes_on(server, corpus, tmp_path) -> None:
    build(corpus, tmp_path / "whole", server.url, questions="served")
    asked = len(server.seen)

    def fails_on_the_last(handler, body) -> None:
        is_last = "Stoneburyd" in body["messages"][-1]["content"]
        (status(503) if is_last else question_server.answers_by_rule)(handler, body)

    server.always = fails_on_the_last
    with pytest.raises(IncompleteError, match="1 question got no answer"):
        build(corpus, tmp_path / "bench", server.url, questions="served")
    server.always = question_server.answers_by_rule
    server.seen.clear()
    build(corpus, tmp_path / "bench", server.url, questions="served")
    assert len(server.seen) == 1 < asked
    for name in ("bench.json", "evidence/qa.parquet", "evidence/splits.parquet"):
        assert (tmp_path / "bench" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_notes_go_to_no_host_that_was_not_approved(corpus, tmp_path) -> None:
    with pytest.raises(UnsafeError, match="neither this machine nor approved"):
        build(corpus, tmp_path / "bench", "http://models.example.org/v1", questions="served")


def panel(directory: Path, url: str) -> Path:
    path = directory / "judges.toml"
    tables = (f"[[judge]]\nname='{name}'\nurl='{url}'\nmodel='{name}'\n" for name in ("mild", "medium", "strict"))
    path.write_text("".join(tables))
    return path


def test_three_judges_give_verdicts_and_a_majority(server, corpus, tmp_path) -> None:
    judges = panel(tmp_path, server.url)
    counts = build(corpus, tmp_path / "bench", panel=judges)
    titles, questions = counts["panel"]
    # All patients are of one category; nine titles of three categories are three of it.
    assert (titles["items"], questions["items"]) == (3, 8)
    assert titles["verdicts"]["mild"] == {"supported": 3, "unsupported": 0, "ambiguous": 0, "unknown": 0}
    assert titles["verdicts"]["Majority"]["supported"] == 3
    assert set(titles["pairs"]) == {"mild and medium", "mild and strict", "medium and strict"}
    rows = pl.read_parquet(tmp_path / "bench" / "evidence" / "panel.parquet")
    assert rows.columns == ["item_id", "task", "judge", "verdict", "reason"]
    assert rows.height == 3 * (3 + 8)
    bench = read_bench(tmp_path / "bench")
    by_id = {question.qa_id: question for question in bench.questions}
    judged = [by_id[item] for item in rows.filter(pl.col("task") == "question")["item_id"].unique(maintain_order=True)]
    assert {question.use for question in judged} == {"train"}
    assert [question.kind for question in judged] == ["factual", "reasoning"] * 4


def test_a_judge_without_a_usable_answer_is_unknown(server, corpus, tmp_path) -> None:
    def mumbles(handler, body) -> None:
        (says("well") if body["model"] == "medium" else question_server.answers_by_rule)(handler, body)

    server.always = mumbles
    judges = panel(tmp_path, server.url)
    titles, _ = build(corpus, tmp_path / "bench", panel=judges)["panel"]
    assert titles["verdicts"]["medium"]["unknown"] == titles["items"] == 3


NOTES = ["gout 1", "lupus 22", "gout 333", "cough 4444"]


@pytest.mark.parametrize(
    ("room", "facts", "sent"),
    [
        (100, (), NOTES),
        (18, (), ["gout 333", "cough 4444"]),
        (17, (), ["cough 4444"]),
        # What holds a fact comes first, the latest of them before the others.
        (18, ("gout",), ["gout 1", "gout 333"]),
        (16, ("lupus",), ["lupus 22"]),
        (18, ("lupus",), ["lupus 22", "cough 4444"]),
        (4, ("gout",), ["gout"]),
        (4, (), ["coug"]),
    ],
)
def test_notes_that_hold_the_facts_come_first_then_the_latest_in_their_order(monkeypatch, room, facts, sent) -> None:
    monkeypatch.setattr(charts, "MOST_NOTE_CHARS", room)
    assert notes_to_send(NOTES, facts=facts) == sent


def test_a_chart_of_any_length_fits_a_question() -> None:
    assert sum(map(len, notes_to_send(["x" * 70_000] * 9, facts=["y"]))) <= charts.MOST_NOTE_CHARS
