"""`show --worst`: the texts with most own text, the note it stands in, and that it is said to be PHI."""

import json

import pytest
from support.runs.tables import evidence_row

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.results.publication.evidence_page import find_worst_texts
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.errors import BadInputError
from clinaudit.reports.estimates.frame import as_estimates
from clinaudit.reports.exports import write_csv
from clinaudit.reports.terminal import worst_texts

#: Generation -> own tokens (of g7 edited ones), model, form, role.
OWN = {
    "g1": (5, "audited", "text", "target"),
    "g2": (0, "audited", "text", "target"),
    "g3": (20, "audited", "chat", "target"),
    "g4": (30, "control", "text", "target"),
    "g5": (20, "audited", "text", "target"),
    "g6": (40, "audited", "text", "included"),
    "g7": (3, "audited", "text", "target"),
}


_PLACE = {"arm": "train", "tier": "public"}


def _piece(generation, note, tokens, holders=1):
    counts = {"patient_count": holders, "masked_patient_count": holders}
    return evidence_row(
        "regions", generation_id=generation, source_note_id=note, token_start=2, token_end=2 + tokens, **counts
    )


@pytest.fixture
def run(tmp_path):
    run = RunDirectory(tmp_path / "a run")
    run.create()
    head = [
        {"generation_id": name, "model": model, "form": form, "role": role, "patient_id": f"p-{name}", **_PLACE}
        for name, (_, model, form, role) in OWN.items()
    ]
    texts = [evidence_row("generations", **row, prompt="age: 40", text="one\ntwo \x1b[2J") for row in head]
    write_table(run.evidence, "generations", texts)
    metrics = [
        evidence_row(
            "generation_metrics",
            **row,
            tokens=40,
            attributable_tokens=OWN[row["generation_id"]][0] * (row["generation_id"] != "g7"),
            near_verbatim_attributable_tokens=OWN[row["generation_id"]][0],
        )
        for row in head
    ]
    write_table(run.evidence, "generation_metrics", metrics)
    pieces = [_piece("g3", "n1", 12), _piece("g3", "n2", 7), _piece("g3", "n2", 7), _piece("g3", "n9", 99, holders=2)]
    write_table(run.evidence, "regions", [*pieces, _piece("g1", "n5", 5)])
    edited = {"generation_id": "g7", "source_note_id": "n8", "token_start": 4, "token_end": 7}
    write_table(run.evidence, "near_attributable", [evidence_row("near_attributable", **edited)])
    for name in ("results.json", "run.json"):
        (run.root / name).write_text("{}")
    (run.root / "results.csv").write_text(write_csv(as_estimates(())))
    write_manifest(run)
    return run


def test_the_worst_stand_first_with_the_note_that_most_stands_in(run):
    found = find_worst_texts(run, 10)
    assert [(text["generation_id"], text["form"], text["note_id"]) for text in found] == [
        ("g3", "chat", "n2"),
        ("g5", "text", ""),
        ("g1", "text", "n5"),
        ("g7", "text", "n8"),
    ]
    assert [text["generation_id"] for text in find_worst_texts(run, 1)] == ["g3"]
    assert [found[0][name] for name in ("patient_id", "attributable_tokens", "tokens")] == ["p-g3", 20, 40]


def test_no_text_and_no_evidence_are_not_the_same(run):
    assert "No text holds own text" in worst_texts([], run.root)
    (run.evidence / "generations.parquet").unlink()
    with pytest.raises(BadInputError, match="purged"):
        find_worst_texts(run, 1)


def test_the_terminal_is_told_that_it_is_phi_and_how_a_text_is_made_again(run, capsys):
    assert run_command(["show", str(run.root), "--worst", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("PHI:")
    assert "1. 20 of 40 tokens (50%) are the own text of patient p-g3, from note n2\n" in printed
    assert "prompt g3 · 1 Public facts · In a chat · trained on\n" in printed
    assert f"clinaudit again '{run.root}' g3 MODEL\n" in printed
    assert "   | one\n   | two \ufffd[2J\n" in printed
    assert run_command(["show", str(run.root), "--worst", "4"]) == 0
    edited = "4. 3 of 40 tokens (7.5%) are the own text of patient p-g7, from note n8; 3 of them are near-verbatim\n"
    assert edited in capsys.readouterr().out
    assert run_command(["show", str(run.root), "--worst", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["generation_id"] for row in rows] == ["g3", "g5"]
    assert rows[0]["again"] == f"clinaudit again '{run.root}' g3 MODEL"
    assert rows[0]["prompt"] == "age: 40"
