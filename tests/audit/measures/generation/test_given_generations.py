"""Generations made elsewhere: what is taken and what is refused."""

import gzip
import json
import os

import polars as pl
import pytest
from support.patient_facts import corpus_of, note_rows

from clinaudit.audit.measures.generation.answers import find_changed
from clinaudit.audit.measures.generation.given_generations import (
    COLUMNS,
    read_given_generations,
    tokenize_generations,
)
from clinaudit.errors import BadInputError

SOUND: dict[str, object] = {"generation_id": "g1", "patient_id": "a", "tier": "public", "text": "Zebulon\0 \r\n"}
FULL = SOUND | {"generation_id": 2, "text": "", "prompt": "", "token_ids": [0, 5, 2**31 - 1], "diagnoses": ["hiv"]}
SECOND_ID = {"generation_id": "3", "patient_id": "b2", "tier": "public", "text": ""}
EXPECTED = [
    dict(zip(COLUMNS, ("g1", "a", "public", "Zebulon\0 \r\n", None, None, ()), strict=True)),
    dict(zip(COLUMNS, ("2", "a", "public", "", "", (0, 5, 2**31 - 1), ("hiv",)), strict=True)),
]


def read(path):
    known = {"a": "a", "b": "b", "b2": "b"}
    return list(read_given_generations(path, known_patients=known, tiers=("public", "encounter")))


def problems_of(path):
    with pytest.raises(BadInputError) as caught:
        read(path)
    assert "Zebulon" not in caught.value.render()
    return list(caught.value.problems)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_jsonl_and_gz_are_read_exactly(tmp_path):
    write_jsonl(tmp_path / "g.jsonl", [SOUND, FULL])
    assert read(tmp_path / "g.jsonl") == EXPECTED
    (tmp_path / "g.jsonl.gz").write_bytes(gzip.compress((tmp_path / "g.jsonl").read_bytes()))
    assert read(tmp_path / "g.jsonl.gz") == EXPECTED


def test_another_id_of_a_person_means_the_person(tmp_path):
    write_jsonl(tmp_path / "g.jsonl", [SECOND_ID])
    assert [one["patient_id"] for one in read(tmp_path / "g.jsonl")] == ["b"]


def test_parquet_is_read_exactly(tmp_path):
    rows = [SOUND | {"prompt": None, "token_ids": None, "diagnoses": None}, FULL | {"generation_id": "2"}]
    pl.DataFrame(rows, schema_overrides={"token_ids": pl.List(pl.Int64)}).write_parquet(tmp_path / "g.parquet")
    assert read(tmp_path / "g.parquet") == EXPECTED


NO_OBJECT = "is not a JSON object on one line (a line a record, no list around them)"


def test_wrong_cells_are_reported_by_row_and_column(tmp_path):
    faults: list[dict[str, object]] = [
        {},
        {},
        {"generation_id": " "},
        {"generation_id": "Zebulon ", "patient_id": "Zebulon"},
        {"tier": "Zebulon", "text": None},
        {"text": 5, "prompt": ["Zebulon"]},
        {"token_ids": [-1]},
        {"token_ids": [1.0]},
        {"token_ids": [True]},
        {"token_ids": [2**31]},
        {"token_ids": [10**100]},
        {"token_ids": "1 2"},
        {"token_ids": [[1]]},
        {"diagnoses": "hiv"},
        {"diagnoses": ["hiv", ""]},
        {"diagnoses": ["hiv", "hiv"]},
        {"text": "Zebulon \ud800"},
    ]
    rows = [SOUND | {"generation_id": f"g{max(n, 1)}"} | fault for n, fault in enumerate(faults)]
    write_jsonl(tmp_path / "g.jsonl", rows)
    expected = [
        "row 2, column generation_id: stood in row 1 already",
        "row 3, column generation_id: is blank",
        "row 4, column generation_id: has blanks around it",
        "row 4, column patient_id: has no notes in the corpus",
        "column text, in 2 rows (5, 6): is not text",
        "row 5, column tier: is not one of encounter, public",
        "row 6, column prompt: is not text",
        "column token_ids, in 7 rows (7, 8, 9, 10, 11, ...): is not a list of whole numbers from 0 to 2147483647",
        "row 14, column diagnoses: is not a list of diagnoses",
        "row 15, column diagnoses: is blank",
        "row 16, column diagnoses: names one diagnosis twice",
        "row 17, column text: holds half a surrogate pair, which is not Unicode text",
    ]
    assert problems_of(tmp_path / "g.jsonl") == [f"g.jsonl, {line}" for line in expected]


def test_files_that_are_no_generations_are_refused(tmp_path):
    assert problems_of(tmp_path / "none.jsonl") == ["none.jsonl: does not exist"]
    (tmp_path / "g.csv").write_text("generation_id\n1\n")
    assert problems_of(tmp_path / "g.csv")[0].startswith("g.csv: generations are read from .jsonl or .parquet")
    (tmp_path / "empty.jsonl").touch()
    assert problems_of(tmp_path / "empty.jsonl") == ["empty.jsonl: is empty"]
    (tmp_path / "blank.jsonl").write_text("\n")
    assert problems_of(tmp_path / "blank.jsonl") == ["blank.jsonl: has no rows"]
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert problems_of(tmp_path / "pipe.jsonl") == ["pipe.jsonl: is not a regular file"]
    assert problems_of(tmp_path) == [f"{tmp_path.name}: is not a regular file"]
    (tmp_path / "broken.jsonl").write_text('{"generation_id": "Zebulon"')
    assert problems_of(tmp_path / "broken.jsonl") == [f"broken.jsonl, row 1: {NO_OBJECT}"]
    (tmp_path / "bad.parquet").write_text("Zebulon")
    assert problems_of(tmp_path / "bad.parquet") == ["bad.parquet: is not a Parquet file that can be read"]


def test_missing_columns_are_reported_once(tmp_path):
    rows: list[dict[str, object]] = [{"generation_id": str(n), "text": "x"} for n in range(3)]
    write_jsonl(tmp_path / "g.jsonl", rows)
    assert problems_of(tmp_path / "g.jsonl") == [
        "g.jsonl, column patient_id: is missing",
        "g.jsonl, column tier: is missing",
    ]


def test_control_tokens_around_an_answer_are_none_of_it(tmp_path, tokenizer):
    text = "plan: rest"
    ids = list(tokenizer.encode(text))
    end = tokenizer.eos_id
    rows = [
        {"text": text, "token_ids": [end, end, *ids, end, end, end]},
        {"text": f"{text}<|endoftext|><|endoftext|>", "token_ids": [*ids, end, end]},
        {"text": f"<|endoftext|>{text}<|endoftext|>"},
        {"text": "<|endoftext|>", "token_ids": [end]},
        # Within an answer they are what the model wrote.
        {"text": f"{text}{text}", "token_ids": [*ids, end, *ids]},
    ]
    write_jsonl(tmp_path / "g.jsonl", [SOUND | {"generation_id": str(place), **row} for place, row in enumerate(rows)])
    corpus = corpus_of(tmp_path / "corpus", note_rows([("a", text)]))
    table = tokenize_generations(iter(read(tmp_path / "g.jsonl")), corpus, tokenizer, name="g.jsonl")
    assert table["token_ids"].to_list() == [ids, ids, ids, [], [*ids, end, *ids]]
    assert table["text"].to_list() == [text, text, text, "", text + text]


def test_prompts_given_back_and_rewritten_or_shared_text_are_named(tmp_path):
    notes = [f"patient: Ada Lund {days}\ncc: cough for {days} days\nplan: rest\n" for days in range(20, 60)]
    corpus = corpus_of(tmp_path / "corpus", note_rows((f"p{place}", note) for place, note in enumerate(notes)))

    def named(change):
        asked = {"form": "text", "model": "audited", "role": "target"}
        rows = [
            asked | {"patient_id": f"p{place}", "prompt": note[:21], "text": change(note)}
            for place, note in enumerate(notes)
        ]
        # Tasks about nobody are compared with nobody's notes.
        rows += [asked | {"role": "nobody", "patient_id": None, "prompt": "x", "text": "x"}] * 90
        return [sentence.split(":")[0] for sentence in find_changed(pl.DataFrame(rows), corpus)]

    assert named(lambda note: note[21:]) == []
    (back,) = named(lambda note: note)
    assert back == "Most answers begin with their own prompts"
    (rewritten,) = named(lambda note: note[21:].replace("\n", "\\n"))
    assert "escapes" in rewritten
    assert named(lambda note: notes[int(note[18:20]) % 36][21:]) == []
    (shared,) = named(lambda note: notes[int(note[18:20]) % 10][21:])
    assert shared.startswith("Many different prompts got the same answers")
