"""Which prompts everyday tasks make: forms, draws, models, and what does not fit."""

import polars as pl
from support.everyday.answered_tasks import decoding_of, tasks_of
from support.evidence_frames import evidence

from clinaudit.audit.measures.everyday.tasks import TaskSet, load_tasks, plan_tasks
from clinaudit.audit.measures.generation.estimates import estimate_completeness
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.reports.estimates.frame import Estimates

TASKS = tasks_of("write a letter.", "fill a form.", "code a visit.")


def test_without_a_chat_template_each_task_is_asked_twice_as_text(tokenizer: ModelTokenizer) -> None:
    prompts = plan_tasks(TASKS, decoding_of(tokenizer), asks_control=False)
    assert prompts.select("form", "draw", "task").rows() == [
        (form, draw, task.id) for form, draw in (("text", 0), ("drawn", 1)) for task in TASKS.tasks
    ]
    assert set(prompts["prompt"]) == {f"{task.text}\n\n" for task in TASKS.tasks}
    assert prompts["generation_id"].n_unique() == 6
    assert set(prompts.select("role", "patient_id", "arm", "tier", "model").rows()) == {
        ("nobody", None, None, "everyday", "audited")
    }


def test_the_control_model_is_asked_the_same(tokenizer: ModelTokenizer) -> None:
    prompts = plan_tasks(TASKS, decoding_of(tokenizer), asks_control=True)
    audited, control = (prompts.filter(model=model).drop("model", "generation_id") for model in ("audited", "control"))
    assert audited.equals(control)
    assert prompts["generation_id"].n_unique() == len(prompts) == 12


def test_with_a_chat_template_each_task_is_asked_in_a_chat_as_well(chat_tokenizer: ModelTokenizer) -> None:
    prompts = plan_tasks(TASKS, decoding_of(chat_tokenizer, chat=True), asks_control=False)
    assert sorted(prompts["form"]) == ["chat"] * 3 + ["drawn"] * 6 + ["text"] * 3
    chat = prompts.filter(form="chat").row(0, named=True)
    assert chat["messages"][-1] == {"role": "user", "content": "write a letter."}
    assert "<|im_start|>user\nwrite a letter.<|im_end|>" in chat["prompt"]


def test_what_does_not_fit_or_spells_a_control_token_is_excluded_in_every_form(chat_tokenizer: ModelTokenizer) -> None:
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


def test_the_shipped_tasks_are_all_asked_of_a_model_with_a_usual_context(tokenizer: ModelTokenizer) -> None:
    tasks = load_tasks()
    prompts = plan_tasks(tasks, decoding_of(tokenizer, context_length=2048), asks_control=False)
    assert len(prompts) == 2 * len(tasks.tasks)
