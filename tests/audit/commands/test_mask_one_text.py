"""`clinaudit mask` and `unmask` of one text file: what they write and refuse."""

from clinaudit.audit.commands.main import run

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
    def fail(_self: object, _text: str) -> list[object]:
        raise ValueError("Ada Lund")

    monkeypatch.setattr("clinaudit.audit.pii.detectors.rules.SuspectedDetector.detect", fail)
    prompt, out = tmp_path / "prompt.txt", tmp_path / "masked.txt"
    prompt.write_text(ONE)
    assert run(["mask", str(prompt), "--out", str(out), "--quiet"]) == 1
    assert out.read_bytes() == b""
    shown = capsys.readouterr()
    assert "withheld: 1" in shown.out
    assert "Lund" not in shown.out + shown.err
