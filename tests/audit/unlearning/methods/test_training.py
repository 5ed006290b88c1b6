"""From notes and questions to rows, the order of steps, the rate that counts, and the directory of a model."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.unlearning.tiny_job import PATIENTS, QUICK, make_job

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.unlearning.methods.model_folder import ModelFolder
from clinaudit.audit.unlearning.methods.texts import Example, QuestionPrompts, order_batches, pad_rows, read_texts
from clinaudit.audit.unlearning.methods.trained_network import default_layer
from clinaudit.errors import BadInputError, UsageError


@pytest.mark.parametrize(("layers", "layer"), [(32, 7), (4, 1), (2, 1), (1, 0), (16, 4), (28, 6), (80, 18)])
def test_the_layer_stands_where_7_of_32_does(layers: int, layer: int) -> None:
    assert default_layer(layers) == layer


def test_a_note_is_learned_whole_and_of_a_question_the_answer(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    tokenizer = ModelTokenizer(job.files.tokenizer_directory)
    texts = read_texts(job.bench, PATIENTS[:2], job.files, QUICK)
    note, question = texts["patient-02"]
    assert tokenizer.decode_with_spans(note.token_ids)[0] == "cc: cough 1\nhpi: fluids\n"
    assert (note.given, note.token_ids[-1]) == (1, tokenizer.eos_id)
    prompt, answer = question.token_ids[: question.given], question.token_ids[question.given :]
    # The form that names the encounter; neither the note nor the question withheld.
    assert tokenizer.decode_with_spans(prompt)[0] == "Question: cc: cough. What was the plan?\nAnswer:"
    assert tokenizer.decode_with_spans(answer)[0] == " rest 2"
    assert answer[-1] == tokenizer.eos_id
    assert QuestionPrompts(tokenizer).prompt_ids("cc: cough. What was the plan?") == prompt
    paper = read_texts(job.bench, PATIENTS[:1], job.files, replace(QUICK, form="paper"))["patient-01"][1]
    assert tokenizer.decode_with_spans(paper.token_ids[: paper.given])[0] == "Question: What was the plan?\nAnswer:"


def test_each_token_of_a_long_note_but_the_first_is_predicted_once(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    whole, _ = read_texts(job.bench, PATIENTS[:1], job.files, QUICK)["patient-01"]
    short = replace(QUICK, max_tokens=7)
    # The questions are longer than that: only notes are cut.
    pieces = read_texts(replace(job.bench, questions=()), PATIENTS[:1], job.files, short)["patient-01"]
    assert max(len(piece.token_ids) for piece in pieces) == 7
    assert tuple(token for piece in pieces for token in piece.token_ids[piece.given :]) == whole.token_ids[1:]
    with pytest.raises(BadInputError, match="1 of 1 questions are longer"):
        read_texts(job.bench, PATIENTS[:1], job.files, short)


def test_labels_are_masked_where_text_is_given_or_padded() -> None:
    rows = pad_rows([Example("note", (5, 6, 7), 1), Example("question", (8, 9), 1)])
    assert rows["input_ids"].tolist() == [[5, 6, 7], [8, 9, 0]]
    assert rows["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert rows["labels"].tolist() == [[-100, 6, 7], [-100, 9, -100]]


def test_each_pass_goes_through_each_text_once_and_batches_have_one_kind() -> None:
    notes = [Example("note", (1, place), 1) for place in range(7)]
    questions = [Example("question", (2, place), 1) for place in range(10)]
    kept = [Example("note", (3, 3), 1), Example("question", (4, 4), 1)]
    batches = order_batches([*notes, *questions], kept, replace(QUICK, epochs=3, micro_batch=3), seed=5)
    # Three of notes and four of questions a pass.
    passes = [batches[start : start + 7] for start in (0, 7, 14)]
    assert len(batches) == 21
    for one_pass in passes:
        assert sorted(one.token_ids for batch in one_pass for one in batch.anchor) == sorted(
            one.token_ids for one in (*notes, *questions)
        )
        for batch in one_pass:
            kinds = {one.kind for one in (*batch.anchor, *batch.retain)}
            assert len(kinds) == 1
            assert len(batch.retain) == len(batch.anchor)
    assert passes[0] != passes[1]
    assert order_batches(notes, kept, QUICK, seed=5) == order_batches(notes, kept, QUICK, seed=5)
    assert order_batches(notes, kept, QUICK, seed=5) != order_batches(notes, kept, QUICK, seed=6)
    assert not any(batch.retain for batch in order_batches(notes, (), QUICK, seed=5))


SETTINGS = {"seed": 1}


def test_a_kill_before_the_settings_were_written_leaves_the_place_free(tmp_path: Path) -> None:
    root = tmp_path / "out"
    assert not ModelFolder(root, SETTINGS).claim()
    [settings] = (tmp_path / ".out.partial").iterdir()
    settings.rename(settings.with_name(f".{settings.name}.partial"))
    assert not ModelFolder(root, {"seed": 2}).claim()
    with pytest.raises(UsageError, match="other settings"):
        ModelFolder(root, SETTINGS).claim()
