"""Everyday tasks put to a model that was really trained, by the engine that all stages of a run share."""

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from support.ordinary.answered_tasks import QUIET
from support.runs.tiny_demo import TinyDemo

from clinaudit.audit.measures.generation.stage import Decoding
from clinaudit.audit.measures.ordinary.asking import answer_questions, load_answers, plan_questions, tokens_needed
from clinaudit.audit.measures.ordinary.record import Answer
from clinaudit.audit.measures.ordinary.tasks import load_tasks
from clinaudit.audit.runtime.model.audited_model import find_model
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import GenerationOutput, open_store


@pytest.mark.slow
def test_draws_are_others_than_the_greedy_answer_and_the_same_again_where_a_run_was_killed(
    tiny_demo: TinyDemo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = find_model(
        str(tiny_demo.model),
        engine="transformers",
        tokenizer=None,
        context_length=None,
        approved_hosts=(),
        options=EngineOptions(max_batch=8, threads=1),
    )
    tokenizer = ModelTokenizer(model.tokenizer_directory)
    decoding = Decoding(model, tokenizer, 40)

    def ask(name: str, seed: int, killed_after: int | None = None) -> dict[tuple[str, str], Answer]:
        questions = plan_questions(load_tasks().tasks[:12], decoding, seed=seed)
        with open_store(RunDirectory(tmp_path / name)) as store, closing(EngineInUse(model, None, store)) as engine:
            engine.require(tokens_needed(questions))

            given = engine.generate

            def generate(requests: Sequence[GenerationRequest]) -> Generator[GenerationOutput]:
                for number, output in enumerate(given(requests)):
                    if number == killed_after:
                        raise KeyboardInterrupt
                    yield output

            monkeypatch.setattr(engine, "generate", generate)
            answer_questions(questions, engine, decoding, store, QUIET)
            found = list(load_answers(questions, tokenizer, store))
        return {(answer.question.task_id, answer.question.draw): answer for answer in found}

    whole = ask("whole", 1)
    assert len(whole) == 24
    greedy, drawn = ([whole[key].text for key in whole if key[1] == draw] for draw in ("greedy", "sampled"))
    assert greedy != drawn
    assert len(set(drawn)) > 10
    with pytest.raises(KeyboardInterrupt):
        ask("killed", 1, killed_after=11)
    assert ask("killed", 1) == whole
    other = ask("other", 2)
    assert [other[key].text for key in other if key[1] == "greedy"] == greedy
    assert [other[key].text for key in other if key[1] == "sampled"] != drawn
