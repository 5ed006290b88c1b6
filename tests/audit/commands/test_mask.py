"""`clinaudit mask` and `unmask`: what they write, print and refuse, of a table of prompts and of one text."""

import csv
import json

import pytest

from clinaudit.audit.commands.main import run

PLANTED = ("Ada Lund", "00482913", "03/04/1950", "217-555-0143", "ada.lund@example.org", "219-09-9999")
TEXT = (
    "Patient: Ada Lund, DOB 03/04/1950, MRN: 00482913.\r\nSeen 01/02/2024. Phone 217-555-0143,\tada.lund@example.org. "
    "SSN 219-09-9999. 73-year-old with asthma 🩺 on albuterol. Return 01/16/2024. <DATE_1>"
)


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def prompts(tmp_path):
    return write_rows(
        tmp_path / "prompts.jsonl",
        [
            {"id": "a", "text": TEXT, "query": "What dose of albuterol suits her at her age?"},
            {"id": 2, "text": "Metformin 500 mg for diabetes, A1c 7.2%."},
            {"id": "c", "text": ""},
        ],
    )


def test_masks_and_unmasks(prompts, tmp_path, capsys):
    out, back = tmp_path / "masked.jsonl", tmp_path / "back.jsonl"
    assert run(["mask", str(prompts), "--out", str(out)]) == 0
    rows = read_rows(out)
    assert [row["id"] for row in rows] == ["a", 2, "c"]
    assert [set(row) for row in rows] == [{"id", "text", "tags", "kept"}] * 3
    assert rows[0]["text"] == (
        "Patient: <PATIENT_1>, DOB <BIRTH_DATE_1>, MRN: <MRN_1>.\r\nSeen <DATE_1>. Phone <PHONE_1>,\t<EMAIL_1>. "
        "SSN <SSN_1>. 73-year-old with asthma 🩺 on albuterol. Return <DATE_2+14d>. <TAG_1>"
    )
    assert rows[0]["tags"] == 9
    assert rows[1:] == [
        {"id": 2, "text": "Metformin 500 mg for diabetes, A1c 7.2%.", "tags": 0, "kept": 0},
        {"id": "c", "text": "", "tags": 0, "kept": 0},
    ]
    map_file = tmp_path / "masked.jsonl.evidence" / "map.jsonl"
    assert map_file.stat().st_mode & 0o777 == 0o600
    assert map_file.parent.stat().st_mode & 0o777 == 0o700
    assert out.stat().st_mode & 0o777 == 0o600
    assert run(["unmask", str(out), "--map", str(map_file), "--out", str(back)]) == 0
    assert [row["text"] for row in read_rows(back)] == [row["text"] for row in read_rows(prompts)]
    assert back.stat().st_mode & 0o777 == 0o600
    printed = capsys.readouterr()
    for word in (*PLANTED, "Lund", "albuterol"):
        assert word not in printed.out + printed.err + out.read_text().replace("on albuterol", "")
    assert "3 of 3 prompts" in printed.out
    assert "2 prompts ask nothing (2 without the key, 0 with a blank one)" in printed.out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("back.jsonl", "masked.jsonl", "masked.jsonl.evidence", "prompts.jsonl")
    ]
    assert [path.name for path in map_file.parent.iterdir()] == ["map.jsonl"]


def test_a_table_of_csv_is_masked_and_read_back(tmp_path):
    prompts, out, back = tmp_path / "prompts.csv", tmp_path / "masked.csv", tmp_path / "back.csv"
    text = 'Patient: Ada Lund,\r\nsaid "well"; 73-year-old.'
    with prompts.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "Text", "query"], ["a", text, "How old is she?"], ["b", "asthma", ""]])
    assert run(["mask", str(prompts), "--out", str(out), "--with-query", "--quiet"]) == 0
    with out.open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["id", "text", "tags", "kept", "query"],
            ["a", 'Patient: <PERSON_1>,\r\nsaid "well"; 73-year-old.', "1", "1", "How old is she?"],
            ["b", "asthma", "0", "0", ""],
        ]
    map_file = tmp_path / "masked.csv.evidence" / "map.jsonl"
    assert run(["unmask", str(out), "--map", str(map_file), "--out", str(back), "--quiet"]) == 0
    with back.open(newline="") as file:
        assert list(csv.reader(file)) == [["id", "text"], ["a", text], ["b", "asthma"]]


def test_an_empty_cell_is_told_as_an_answer_without_a_text(tmp_path, capsys):
    prompts, answers = tmp_path / "prompts.csv", tmp_path / "answers.csv"
    prompts.write_text("id,text\na,asthma\n")
    answers.write_text("id,text\na,\n")
    assert run(["mask", str(prompts), "--out", str(tmp_path / "out.csv"), "--rules-only"]) == 0
    map_file = tmp_path / "out.csv.evidence" / "map.jsonl"
    assert run(["unmask", str(answers), "--map", str(map_file), "--out", str(tmp_path / "back.csv")]) == 0
    assert "1 answer without a text" in capsys.readouterr().out
    assert run(["mask", str(prompts), "--out", str(tmp_path / "other.jsonl"), "--quiet"]) == 2


def test_what_is_there_is_not_overwritten(prompts, tmp_path, capsys):
    out = tmp_path / "masked.jsonl"
    arguments = ["mask", str(prompts), "--out", str(out), "--quiet"]
    assert run(arguments) == 0
    before = out.read_bytes()
    assert run(arguments) == 2
    assert "masked.jsonl exists, and is not overwritten; name a new file with --out" in capsys.readouterr().err
    assert out.read_bytes() == before
    # The answers to what it held may come yet.
    out.unlink()
    assert run(arguments) == 2
    assert "map.jsonl exists, and is not overwritten; name a new file with --map" in capsys.readouterr().err


def test_bad_input_is_named_by_row_without_content(tmp_path, capsys):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(
        '{"id": "a", "text": "Ada Lund"}\n{"id": "a", "text": "Ada Lund"}\n{"id": "Ada Lund"}\n{"text": 5, "id": "d"}\n'
        '{"id": "e", "text": null}\nAda Lund\n{"id": "g", "text": "\\ud800 Ada"}\n{"id": "h", "text": "", "query": 1}\n'
        '{"id": "", "text": "x"}\n'
    )
    out = tmp_path / "masked.jsonl"
    assert run(["mask", str(prompts), "--out", str(out)]) == 3
    errors = capsys.readouterr().err
    for place in (
        "row 2, column id: stood in row 1 already",
        "row 3, column text: is missing",
        "column text, in 2 rows (4, 5): is not text",
        "row 6: is not a JSON object",
        "row 7, column text: holds half a surrogate pair",
        "row 8, column query: is not text",
        "row 9, column id: is blank",
    ):
        assert place in errors
    assert "Ada" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["prompts.jsonl"]
    (tmp_path / "empty.jsonl").write_text("\n")
    for name in ("empty.jsonl", "none.jsonl", "notes.parquet"):
        assert run(["mask", str(tmp_path / name), "--out", str(out)]) == 3


def test_options_that_do_not_go_together_are_refused(prompts, tmp_path):
    arguments = ["mask", str(prompts), "--out", str(tmp_path / "m.jsonl"), "--quiet"]
    assert run([*arguments, "--template", "soap"]) == 2
    assert run([*arguments, "--query-field", "text"]) == 2
    assert run([*arguments, "--query-field", "asked"]) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["prompts.jsonl"]


def test_unmask_refuses_what_is_no_map_or_not_of_these_prompts(prompts, tmp_path, capsys):
    masked, out = tmp_path / "masked.jsonl", tmp_path / "back.jsonl"
    map_file = tmp_path / "map.jsonl"
    assert run(["mask", str(prompts), "--out", str(masked), "--map", str(map_file), "--quiet"]) == 0
    assert map_file.stat().st_mode & 0o777 == 0o600
    answers = write_rows(
        tmp_path / "answers.jsonl", [{"id": "a", "text": "<PATIENT_1>, <X_7>"}, {"id": "z", "text": ""}]
    )
    capsys.readouterr()
    assert run(["unmask", str(answers), "--map", str(map_file), "--out", str(out)]) == 3
    assert "row 2, column id: is not in the map" in capsys.readouterr().err
    assert run(["unmask", str(masked), "--map", str(prompts), "--out", str(out)]) == 3
    assert run(["unmask", str(masked), "--map", str(tmp_path / "none"), "--out", str(out)]) == 3
    assert not out.exists()
    write_rows(answers, [{"id": "a", "text": "<PATIENT_1>, <X_7>", "model": "m"}, {"id": 2, "text": None}])
    capsys.readouterr()
    assert run(["unmask", str(answers), "--map", str(map_file), "--out", str(out), "--quiet"]) == 0
    assert read_rows(out) == [{"id": "a", "text": "Ada Lund, <X_7>"}, {"id": 2, "text": None}]
    printed = capsys.readouterr().out
    assert "1 tag is of no prompt" in printed
    assert "model" in printed
    assert "Ada" not in printed
    assert run(["unmask", str(answers), "--map", str(map_file), "--out", str(out)]) == 2


def test_names_of_the_corpus_are_found_wherever_they_stand(tmp_path, capsys):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "patients.csv").write_text("patient_id,name,dob\np-4711,Quilla Vandermoor,1950-03-04\n")
    (corpus / "notes.csv").write_text("patient_id,note_id,text\np-4711,n1,seen for asthma\n")
    rows: list[dict[str, object]] = [{"id": 1, "text": "we told quilla vandermoor; V\u200bandermoor agreed, asthma"}]
    prompts, out = write_rows(tmp_path / "prompts.jsonl", rows), tmp_path / "masked.jsonl"
    assert run(["mask", str(prompts), "--out", str(out), "--corpus", str(corpus), "--quiet"]) == 0
    assert read_rows(out)[0]["text"] == "we told <PATIENT_1>; <PATIENT_1> agreed, asthma"
    assert "without --corpus" not in capsys.readouterr().out
    other = ["mask", str(prompts), "--out", str(tmp_path / "other.jsonl"), "--quiet"]
    assert run(other) == 0
    assert "without --corpus" in capsys.readouterr().out
    assert run([*other[:3], str(tmp_path / "third.jsonl"), "--corpus", str(tmp_path / "none")]) == 3


@pytest.mark.parametrize(
    ("arguments", "by", "warned"), [([], "rules, a small language model", 0), (["--rules-only"], "rules", 1)]
)
def test_a_language_model_is_used_unless_rules_alone_are_asked_for(arguments, by, warned, tmp_path, capsys):
    prompts = write_rows(tmp_path / "prompts.jsonl", [{"id": 1, "text": "asthma"}])
    assert run(["mask", str(prompts), "--out", str(tmp_path / "masked.jsonl"), *arguments]) == 0
    shown = capsys.readouterr()
    assert f"identifiers are looked for by {by}\n" in shown.err
    assert shown.out.count("with --rules-only, up to 3 times") == warned


ONE = "Ada Lund, DOB 03/04/1950,\r\nhas asthma. Seen 01/02/2024.\n"


def test_a_text_file_is_one_prompt(tmp_path, capsys):
    prompt, out, map_file = (
        tmp_path / "prompt.txt",
        tmp_path / "masked.txt",
        tmp_path / "masked.txt.evidence/map.jsonl",
    )
    prompt.write_bytes(ONE.encode())
    assert run(["mask", str(prompt), "--out", str(out), "--quiet"]) == 0
    assert out.read_bytes() == b"<PATIENT_1>, DOB <BIRTH_DATE_1>,\r\nhas asthma. Seen <DATE_1>.\n"
    assert "1 of 1 prompt" in capsys.readouterr().out
    answer, read = tmp_path / "answer.txt", tmp_path / "answer-read.txt"
    answer.write_text("Call <PATIENT_1> before <DATE_1>; <PHONE_1>.\n")
    assert run(["unmask", str(answer), "--map", str(map_file), "--out", str(read), "--quiet"]) == 0
    assert read.read_text() == "Call Ada Lund before 01/02/2024; <PHONE_1>.\n"
    assert "1 tag is of no prompt" in capsys.readouterr().out
    assert run(["unmask", str(out), "--map", str(map_file), "--out", str(tmp_path / "back.txt"), "--quiet"]) == 0
    assert (tmp_path / "back.txt").read_bytes() == ONE.encode()


def test_of_a_text_file_that_is_withheld_nothing_is_given_out(tmp_path, monkeypatch, capsys):
    def fail(_self, _text):
        raise ValueError("Ada Lund")

    monkeypatch.setattr("clinaudit.audit.pii.detectors.rules.SuspectedDetector.detect", fail)
    prompt, out = tmp_path / "prompt.txt", tmp_path / "masked.txt"
    prompt.write_text(ONE)
    assert run(["mask", str(prompt), "--out", str(out), "--quiet"]) == 1
    assert out.read_bytes() == b""
    shown = capsys.readouterr()
    assert "withheld: 1" in shown.out
    assert "Lund" not in shown.out + shown.err


def test_one_line_tells_what_was_done_and_explain_tells_by_what(tmp_path, capsys):
    text = "Mr. Lund, 58, has asthma. Mr. Quexdrive agreed."
    prompts = write_rows(tmp_path / "prompts.jsonl", [{"id": 1, "text": text, "query": "How old is he?"}])
    (tmp_path / "keep.txt").write_text("\nquexdrive \n")
    arguments = ["mask", str(prompts), "--out", str(tmp_path / "m.jsonl"), "--quiet", "--explain"]
    assert run([*arguments, "--keep", str(tmp_path / "keep.txt")]) == 0
    (row,) = read_rows(tmp_path / "m.jsonl")
    assert "58, " in str(row["text"])
    assert "Mr. Quexdrive" in str(row["text"])
    assert row["kept"] == 2
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("1 of 1 prompt in ")
    assert "PERSON 1" in first
    assert "; left by decision: 2 (AGE 1, kept term 1); looked for by rules, a small language model" in first
    assert last.startswith("PERSON (")
    assert "names 1, places of names 1" in last
    mapped = json.loads((tmp_path / "m.jsonl.evidence" / "map.jsonl").read_text())
    assert mapped["found_by"]["PERSON_1"]["names"] == 1
