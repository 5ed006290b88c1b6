"""Everyday tasks put to a model that was really trained, by the engine that all stages of a run share."""

from pathlib import Path

import pytest
from support.ordinary.answered_tasks import QUIET
from support.runs.tiny_demo import TinyDemo

from clinaudit.audit.measures.generation.stage import Decoding
from clinaudit.audit.measures.ordinary.asking import answer_questions, load_answers, plan_questions, tokens_needed
from clinaudit.audit.measures.ordinary.record import Answer
from clinaudit.audit.measures.ordinary.tasks import load_tasks
from clinaudit.audit.runtime.model.audited_model import find_model
from clinaudit.audit.runtime.model.engine_in_use import open_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import open_store


@pytest.mark.slow
def test_draws_are_others_than_the_greedy_answer_and_the_same_again(tiny_demo: TinyDemo, tmp_path: Path) -> None:
    model = find_model(
        str(tiny_demo.model),
        engine="transformers",
        tokenizer=None,
        context_length=None,
        approved_hosts=(),
        options=EngineOptions(threads=1),
    )
    tokenizer = ModelTokenizer(model.tokenizer_directory)

    def ask(name: str, seed: int, tasks: int) -> dict[tuple[str, str], Answer]:
        questions = plan_questions(load_tasks().tasks[:tasks], Decoding(model, tokenizer, 40), seed=seed)
        with open_store(RunDirectory(tmp_path / name)) as store, open_engine(model, None) as engine:
            engine.require(tokens_needed(questions))
            answer_questions(questions, engine.generate, tokenizer, store, QUIET)
            found = list(load_answers(questions, tokenizer, store))
        return {(answer.question.task_id, answer.question.draw): answer for answer in found}

    whole = ask("whole", 1, 6)
    assert len(whole) == 12
    greedy, drawn = ([whole[key] for key in whole if key[1] == draw] for draw in ("greedy", "sampled"))
    assert [one.text for one in greedy] != [one.text for one in drawn]
    assert len({one.text for one in drawn}) > 1
    # In two parts, by another batch each: the same.
    ask("parts", 1, 3)
    assert ask("parts", 1, 6) == whole
    other = ask("other", 2, 6)
    assert [other[key].text for key in other if key[1] == "greedy"] == [one.text for one in greedy]
    assert [other[key].text for key in other if key[1] == "sampled"] != [one.text for one in drawn]
