"""Which prompts everyday tasks make: forms, draws, models, and what does not fit."""

import polars as pl
from support.everyday.answered_tasks import decoding_of, tasks_of
from support.evidence_frames import evidence

from clinaudit.audit.measures.everyday.tasks import TaskSet, plan_tasks
from clinaudit.audit.measures.generation.estimates import estimate_completeness
from clinaudit.reports.estimates.frame import Estimates


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
