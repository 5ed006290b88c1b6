"""From notes and questions to rows, and the order of steps."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.unlearning.tiny_job import PATIENTS, QUICK, make_job

from clinaudit.audit.model.tokenizer import ModelTokenizer
from clinaudit.audit.unlearning.methods.batches import Example, order_steps, pad_rows
from clinaudit.audit.unlearning.methods.examples import QuestionPrompts, flatten, read_examples
from clinaudit.audit.unlearning.methods.trained_network import default_layer
from clinaudit.audit.unlearning.methods.training import rate_share
from clinaudit.errors import BadInputError


@pytest.mark.parametrize(("layers", "layer"), [(32, 7), (4, 1), (2, 1), (1, 0), (16, 4), (28, 6), (80, 18)])
def test_the_layer_stands_where_7_of_32_does(layers: int, layer: int) -> None:
    assert default_layer(layers) == layer


def test_the_rate_rises_and_falls() -> None:
    shares = [rate_share(step, 10, 0.2) for step in range(10)]
    assert shares[:3] == [0.5, 1.0, 1.0]
    assert shares[6] == pytest.approx(0.5)
    assert shares == sorted(shares[:2]) + sorted(shares[2:], reverse=True)
    assert shares[-1] > 0
    assert [rate_share(step, 2, 0.0) for step in range(2)] == [1.0, 0.5]


def test_a_note_is_learned_whole_and_of_a_question_the_answer(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    tokenizer = ModelTokenizer(job.files.tokenizer_directory)
    texts = read_examples(job, PATIENTS[:2], QUICK)
    note, question = texts["patient-02"]
    assert tokenizer.decode_with_spans(note.token_ids)[0] == "cc: cough 1\nhpi: fluids\n"
    assert (note.given, note.token_ids[-1]) == (1, tokenizer.eos_id)
    prompt, answer = question.token_ids[: question.given], question.token_ids[question.given :]
    # The form that names the encounter; neither the note nor the question withheld.
    assert tokenizer.decode_with_spans(prompt)[0] == "Question: cc: cough. What was the plan?\nAnswer:"
    assert tokenizer.decode_with_spans(answer)[0] == " rest 2"
    assert answer[-1] == tokenizer.eos_id
    assert QuestionPrompts(tokenizer).prompt_ids("cc: cough. What was the plan?") == prompt
    assert len(flatten(texts, PATIENTS[:2])) == 4
    paper = read_examples(job, PATIENTS[:1], replace(QUICK, form="paper"))["patient-01"][1]
    assert tokenizer.decode_with_spans(paper.token_ids[: paper.given])[0] == "Question: What was the plan?\nAnswer:"


def test_each_token_of_a_long_note_but_the_first_is_predicted_once(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    whole, _ = read_examples(job, PATIENTS[:1], QUICK)["patient-01"]
    short = replace(QUICK, max_tokens=7)
    # The questions are longer than that: only notes are cut.
    quiet = replace(job, bench=replace(job.bench, questions=()))
    pieces = read_examples(quiet, PATIENTS[:1], short)["patient-01"]
    assert max(len(piece.token_ids) for piece in pieces) == 7
    assert tuple(token for piece in pieces for token in piece.token_ids[piece.given :]) == whole.token_ids[1:]
    with pytest.raises(BadInputError, match="1 of 1 questions are longer"):
        read_examples(job, PATIENTS[:1], short)


def test_labels_are_masked_where_text_is_given_or_padded() -> None:
    rows = pad_rows([Example("note", (5, 6, 7), 1), Example("question", (8, 9), 1)], device="cpu")
    assert rows.token_ids.tolist() == [[5, 6, 7], [8, 9, 0]]
    assert rows.is_text.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert rows.labels.tolist() == [[-100, 6, 7], [-100, 9, -100]]


def test_each_epoch_goes_through_each_text_once_and_batches_have_one_kind() -> None:
    notes = [Example("note", (1, place), 1) for place in range(7)]
    questions = [Example("question", (2, place), 1) for place in range(10)]
    kept = [Example("note", (3, 3), 1), Example("question", (4, 4), 1)]
    epochs = order_steps([*notes, *questions], kept, replace(QUICK, epochs=3, micro_batch=3), seed=5)
    assert len(epochs) == 3
    for steps in epochs:
        batches = [batch for step in steps for batch in step]
        assert sorted(one.token_ids for batch in batches for one in batch.anchor) == sorted(
            one.token_ids for one in (*notes, *questions)
        )
        for batch in batches:
            kinds = {one.kind for one in (*batch.anchor, *batch.retain)}
            assert len(kinds) == 1
            assert len(batch.retain) == len(batch.anchor)
    assert epochs[0] != epochs[1]
    assert order_steps(notes, kept, QUICK, seed=5) == order_steps(notes, kept, QUICK, seed=5)
    assert order_steps(notes, kept, QUICK, seed=5) != order_steps(notes, kept, QUICK, seed=6)
    assert not any(batch.retain for step in order_steps(notes, (), QUICK, seed=5)[0] for batch in step)
