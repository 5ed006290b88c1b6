"""How everyday tasks are put to a model: forms, draws, what does not fit, and a run that was killed."""

from collections import Counter
from pathlib import Path

import pytest
from support.ordinary.answered_tasks import ToldEngine, ask, decoding_of, tasks_of

from clinaudit.audit.measures.ordinary.asking import plan_questions, tokens_needed
from clinaudit.audit.measures.ordinary.record import answer_rows
from clinaudit.audit.measures.ordinary.tasks import load_tasks
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.errors import UsageError

TASKS = tasks_of("write a letter.", "fill a form.", "code a visit.")


def test_without_a_chat_template_each_task_is_asked_twice_as_text(tokenizer: ModelTokenizer) -> None:
    questions = plan_questions(TASKS, decoding_of(tokenizer), seed=5)
    assert [(own.task_id, own.form, own.draw) for own in questions] == [
        (task.id, "text", draw) for task in TASKS for draw in ("greedy", "sampled")
    ]
    greedy, drawn = questions[0].request, questions[1].request
    assert greedy.prompt == drawn.prompt == "write a letter.\n\n"
    assert greedy.prompt_ids == drawn.prompt_ids == tokenizer.encode_prompt("write a letter.\n\n")
    assert (greedy.temperature, drawn.temperature) == (0.0, 1.0)
    assert len({own.request.key for own in questions}) == len(questions)
    # No two are drawn with the same numbers, and another seed draws others, to be kept apart.
    seeds = [own.request.seed for own in questions if own.draw == "sampled"]
    assert len(set(seeds)) == len(TASKS)
    others = plan_questions(TASKS, decoding_of(tokenizer), seed=6)
    same = {own.request.key for own in questions} & {own.request.key for own in others}
    assert same == {own.request.key for own in questions if own.draw == "greedy"}
    assert not set(seeds) & {own.request.seed for own in others if own.draw == "sampled"}


def test_with_a_chat_template_each_task_is_asked_in_a_chat_as_well(chat_tokenizer: ModelTokenizer) -> None:
    decoding = decoding_of(chat_tokenizer, chat=True)
    questions = plan_questions(TASKS, decoding, seed=0)
    assert Counter((own.form, own.draw) for own in questions) == dict.fromkeys(
        [("text", "greedy"), ("text", "sampled"), ("chat", "greedy"), ("chat", "sampled")], 3
    )
    chat = next(own.request for own in questions if own.form == "chat")
    assert chat.messages[-1] == ("user", "write a letter.")
    assert "<|im_start|>user\nwrite a letter.<|im_end|>" in chat.prompt
    assert chat.stop_token_ids == frozenset(chat_tokenizer.encode("<|im_end|>"))
    start = chat_tokenizer.id_of("<s>")
    assert start not in chat.prompt_ids
    assert questions[0].request.prompt_ids[0] == start


def test_what_does_not_fit_or_spells_a_control_token_is_left_out_in_every_form(chat_tokenizer: ModelTokenizer) -> None:
    long = "write a letter about this. " * 30
    tasks = tasks_of("write a letter.", long, "explain <|im_end|> to me.")
    asked = plan_questions(
        tasks, decoding_of(chat_tokenizer, chat=True, context_length=600, max_new_tokens=400), seed=0
    )
    assert {own.task_id for own in asked} == {"t0"}
    # Just long enough: in text it would fit, and in a chat not.
    length = max(len(own.request.prompt_ids) for own in asked) + 400
    for context, count in ((length, 4), (length - 1, 0)):
        decoding = decoding_of(chat_tokenizer, chat=True, context_length=context, max_new_tokens=400)
        assert len(plan_questions(tasks[:1], decoding, seed=0)) == count
    assert tokens_needed(asked) == length
    assert tokens_needed([]) == 1


def test_the_shipped_tasks_are_all_asked_of_a_model_with_a_usual_context(tokenizer: ModelTokenizer) -> None:
    tasks = load_tasks().tasks
    assert len(plan_questions(tasks, decoding_of(tokenizer, context_length=2048), seed=0)) == 2 * len(tasks)


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    questions = plan_questions(TASKS, decoding_of(tokenizer), seed=0)
    told = {"letter": "dear colleague, I write.", "form": "", "visit": "code it by time."}
    drawn = {"letter": "to whom it may concern."}
    first = ToldEngine(tokenizer, told, drawn=drawn, killed_after=3)
    with pytest.raises(KeyboardInterrupt):
        ask(questions, first, tmp_path / "killed", batch=2)
    resumed = ToldEngine(tokenizer, told, drawn=drawn)
    answers = ask(questions, resumed, tmp_path / "killed", batch=2)
    undisturbed = ToldEngine(tokenizer, told, drawn=drawn)
    whole = ask(questions, undisturbed, tmp_path / "whole", batch=2)
    # The batch that was stopped is decoded again as it was, and so are those after it.
    assert first.requests == undisturbed.requests[:3]
    assert resumed.requests == undisturbed.requests[2:]
    lengths = [len(request.prompt_ids) for request in undisturbed.requests]
    assert lengths == sorted(lengths, reverse=True)
    assert answers == whole
    texts = {(own.question.task_id, own.question.draw): own.text for own in whole}
    assert texts["t1", "greedy"] == ""
    assert texts["t0", "sampled"] == "to whom it may concern."
    for name, found in (("killed", answers), ("whole", whole)):
        write_table(tmp_path / name, "ordinary", answer_rows(found, [[] for _ in found], None))
    assert (tmp_path / "killed" / "ordinary.parquet").read_bytes() == (
        tmp_path / "whole" / "ordinary.parquet"
    ).read_bytes()
    # Nothing is asked where all is answered.
    idle = ToldEngine(tokenizer, told)
    assert ask(questions, idle, tmp_path / "whole") == whole
    assert idle.requests == []


def test_a_served_models_answer_that_goes_in_circles_is_cut_as_a_generation_is(
    tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    questions = plan_questions(TASKS[:1], decoding_of(tokenizer), seed=0)
    told = "dear colleague, " * 40
    (answer, _) = ask(questions, ToldEngine(tokenizer, {"letter": told}, is_served=True), tmp_path / "run")
    assert answer.finish_reason == "repetition"
    assert told.startswith(answer.text)
    assert 0 < len(answer.text) < len(told)
    assert answer.token_ids == tokenizer.encode(answer.text)


def test_another_engine_does_not_go_on_with_a_run(tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    questions = plan_questions(TASKS, decoding_of(tokenizer), seed=0)
    with pytest.raises(KeyboardInterrupt):
        ask(questions, ToldEngine(tokenizer, {}, killed_after=1), tmp_path / "run")
    with pytest.raises(UsageError, match="engine identity"):
        ask(questions, ToldEngine(tokenizer, {}, name="another"), tmp_path / "run")
