"""Everyday tasks put to the model: from tasks to answers, each committed when finished (docs/methods.md, section 2c).

Owns the forms and draws of a task, and resumption. Knows nothing of how an engine decodes, or of any patient.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import get_args

from clinaudit.audit.measures.generation.stage import (
    SEEDS,
    TEMPERATURE,
    Decoding,
    cut_at_repeats,
    in_whole_batches,
    read_stored,
)
from clinaudit.audit.measures.ordinary.record import Answer, Draw, Question
from clinaudit.audit.measures.ordinary.tasks import Task
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.chat_template import ChatTemplate
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.renderings import SYSTEM, Conversation
from clinaudit.reports.schema.attacks import TaskForm


def plan_questions(tasks: Sequence[Task], decoding: Decoding, *, seed: int) -> list[Question]:
    """Return the questions of all tasks that can be asked in each form, in both draws; `seed` draws the second.

    A task is asked as plain text and, where there is a chat template, in a chat. One that does not fit into the model's
    context with its answer, or spells out a control token, is left out in every form.
    """
    questions: list[Question] = []
    most = decoding.model.context_length - decoding.max_new_tokens
    chats: dict[TaskForm, ChatTemplate | None] = {"text": None}
    if decoding.chat is not None:
        chats["chat"] = decoding.chat
    for task in tasks:
        asked = [(form, _ask(task, decoding, chat)) for form, chat in chats.items()]
        fitting = [(form, request) for form, request in asked if request and len(request.prompt_ids) <= most]
        if len(fitting) == len(chats):
            questions += [
                Question(task.id, task.kind, form, draw, _draw(decoding.goes_on(request), task, form, draw, seed=seed))
                for form, request in fitting
                for draw in get_args(Draw)
            ]
    return questions


def _ask(task: Task, decoding: Decoding, chat: ChatTemplate | None) -> GenerationRequest | None:
    """Return the request of a task; None where a chat would take it for the template's own marks."""
    text, tokenizer, most = task.text.strip(), decoding.tokenizer, decoding.max_new_tokens
    if chat is None:
        prompt = f"{text}\n\n"
        return GenerationRequest("", tokenizer.encode_prompt(prompt), prompt, most)
    rendered = chat.render(Conversation(SYSTEM, text))
    if isinstance(rendered, str):
        return None
    # The template wrote the special tokens.
    ids, stops = tokenizer.encode(rendered.prompt), chat.stop_token_ids
    return GenerationRequest("", ids, rendered.prompt, most, messages=rendered.messages, stop_token_ids=stops)


def _draw(request: GenerationRequest, task: Task, form: TaskForm, draw: Draw, *, seed: int) -> GenerationRequest:
    """Return the request of one draw; its key tells nothing of it, and no other prompt's has it."""
    parts = [task.id, form, draw, request.prompt, *([seed] if draw == "sampled" else [])]
    digest = hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()
    key = f"o{digest[:20]}"
    if draw == "greedy":
        return replace(request, key=key)
    # Each has a seed of its own: else all would be drawn with the same numbers.
    return replace(request, key=key, temperature=TEMPERATURE, seed=int(digest[20:40], 16) % SEEDS)


def for_control(questions: Sequence[Question]) -> list[Question]:
    """Return the same questions for the control model, under keys of their own."""
    return [replace(one, request=replace(one.request, key=f"c{one.request.key}")) for one in questions]


def tokens_needed(questions: Sequence[Question]) -> int:
    """Return the largest sum of a prompt's tokens and its answer's, for which an engine is to be loaded."""
    return max((len(one.request.prompt_ids) + one.request.max_new_tokens for one in questions), default=1)


def answer_questions(
    questions: Sequence[Question], engine: EngineInUse, decoding: Decoding, store: RunStore, progress: Progress
) -> None:
    """Have every question answered that has no answer yet; each is on the disk before the next one counts.

    Raises `UsageError` where the engine changed since the run began.
    """
    requests = [question.request for question in questions]
    finished = store.generations().keys() & {request.key for request in requests}
    pending = list(in_whole_batches(requests, finished, decoding.model.options.batch_size))
    if not pending:
        return
    done = len(finished)
    with (
        progress.stage("answering everyday tasks", total=len(questions), unit="answers", done=done) as advance,
        closing(engine.generate(pending)) as decoded,
    ):
        for output in decoded:
            if output.key not in finished:
                store.add_generation(cut_at_repeats(output, decoding.tokenizer))
                advance(1)


def load_answers(questions: Sequence[Question], tokenizer: ModelTokenizer, store: RunStore) -> Iterator[Answer]:
    """Yield the finished answers in the order of the questions."""
    stored = store.generations()
    for question in questions:
        known = stored.get(question.request.key)
        if known is not None:
            read = read_stored(known, tokenizer)
            yield Answer(question, read.text, read.token_ids, read.token_chars, known.finish_reason)
