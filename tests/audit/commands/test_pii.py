"""`clinaudit pii samples` and `pii score`: what they write and print, and what they refuse."""

import json
import stat

import pytest
from support.pii.marked_samples import prediction_of, sample_of

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.benchmark.sample import iter_samples
from clinaudit.reports.schema.pii_bench import BENCH_TASKS, BenchFigure, BenchTask, PiiBench
from clinaudit.reports.tables.pii_bench import find

SAMPLE = sample_of("[A full_name|Ann Lee], [A age*|41], lives in [A city|Oslo].", key="q1").model_dump(mode="json")
RIGHT = prediction_of(
    [("Ann Lee", "PER"), ("41", "DEM"), ("Oslo", "LOC")],
    sample="q1",
    system="right",
    query_related=["41"],
    masked=["Ann Lee", "Oslo"],
).model_dump(mode="json")
NAMELESS = {"subjects": [{"entities": [{"text": "Ann", "type": "NAME"}]}]}


def write_rows(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def scored(tmp_path, samples, predictions):
    """What the command writes for these rows."""
    out = tmp_path / "scores.json"
    given, made = write_rows(tmp_path / "s.jsonl", *samples), write_rows(tmp_path / "p.jsonl", *predictions)
    assert run(["pii", "score", str(given), str(made), "--out", str(out)]) == 0
    assert out.stat().st_mode & 0o077 == 0
    return PiiBench.model_validate_json(out.read_bytes())


def figure(scores: PiiBench, system: str, task: BenchTask, metric: str, subset: str = "all") -> BenchFigure | None:
    return find(scores, system, task, "clinical", metric, subset)


def value(scores: PiiBench, system: str, task: BenchTask, metric: str, subset: str = "all") -> float | None:
    found = figure(scores, system, task, metric, subset)
    assert found is not None
    return found.value


def test_the_scores_of_each_system_and_sample(tmp_path, capsys):
    half = {"sample": "q1", "system": "half", "subjects": [{"entities": [{"text": "41", "type": "DATETIME"}]}]}
    scores = scored(tmp_path, [SAMPLE, SAMPLE | {"id": "q2"}], [RIGHT, RIGHT | {"sample": "q2"}, half])
    for task in BENCH_TASKS:
        for metric in ("strict_f1", "ent_f1", "rouge_l_f"):
            assert {value(scores, "right", task, f"{metric}.{part}") for part in ("precision", "recall", "f1")} == {1}
    # On q1 no type is right and one of three texts is; q2 has no prediction.
    found = {metric: value(scores, "half", "detection", metric) for metric in ("strict_f1.f1", "given", "missing")}
    assert found == {"strict_f1.f1": 0, "given": 0.5, "missing": 0.5}
    assert [value(scores, "half", "detection", f"ent_f1.{part}") for part in ("precision", "recall", "f1")] == (
        pytest.approx([0.5, 1 / 6, 0.25])
    )
    assert figure(scores, "half", "masking", "strict_f1.f1") is None
    rows = {(row.system, row.sample, row.task): row for row in scores.by_sample}
    assert rows["half", "q1", "detection"].scores["ent_f1.recall"] == pytest.approx(1 / 3)
    assert rows["half", "q2", "detection"].answer == "missing"
    assert rows["right", "q2", "masking"].scores["leak"] == 0
    printed = capsys.readouterr().out
    assert "half (50% unanswered)" in printed
    assert "Clinical texts, all (2)" in printed
    written = (tmp_path / "scores.json").read_text()
    assert "Ann" not in written + printed
    assert "Oslo" not in written + printed


def test_the_same_command_writes_the_same_bytes_and_its_interval_holds_the_mean(tmp_path):
    samples = [SAMPLE | {"id": f"q{number}"} for number in range(30)]
    made = [RIGHT | {"sample": f"q{number}", "masked": ["Ann Lee"] * (number % 3)} for number in range(30)]
    scores = scored(tmp_path, samples, made)
    masking = figure(scores, "right", "masking", "strict_f1.f1")
    assert masking is not None
    assert masking.value == pytest.approx(4 / 9)  # 0 or 2/3, a third and two thirds of the samples
    assert 0.3 < (masking.low or 0) < 4 / 9 - 0.08 < 4 / 9 + 0.08 < (masking.high or 0) < 0.7
    # All right: no bootstrap has a width, the interval has.
    detection = figure(scores, "right", "detection", "strict_f1.f1")
    assert detection is not None
    assert (detection.low, detection.high) == (pytest.approx(0.884, abs=1e-3), 1)
    assert scored(tmp_path, samples, made) == scores


@pytest.mark.parametrize(
    ("samples", "predictions", "expected"),
    [
        ([SAMPLE], [RIGHT, RIGHT], "p.jsonl, row 2: is of the same system and sample as row 1; keep one of them"),
        ([SAMPLE], [RIGHT | {"sample": "Ann"}], "p.jsonl, row 1, column sample: is not the id of any sample"),
        ([SAMPLE], [RIGHT | {"masked": "Ann"}], "p.jsonl, row 1, column masked: is not a list"),
        ([SAMPLE], [RIGHT | {"masked": ["Ann", 3]}], "p.jsonl, row 1, column masked: masked[1] is not text"),
        ([SAMPLE], [RIGHT | {"system": " "}], "p.jsonl, row 1, column system: is blank"),
        ([SAMPLE], [{"sample": "q1"}], "p.jsonl, row 1, column system: is missing"),
        ([SAMPLE], [RIGHT | {"subjects": [{"text": "Ann"}]}], "column subjects: subjects[0].entities is missing"),
        ([SAMPLE], [RIGHT | NAMELESS], "column subjects: subjects[0].entities[0].type is none of 'PER', 'CODE',"),
        ([SAMPLE], [RIGHT | {"Sample": "Ann"}], "p.jsonl, row 1, column sample: is given more than once"),
        ([SAMPLE], ["Ann"], "p.jsonl, row 1: is not a JSON object"),
        ([SAMPLE], [], "p.jsonl: is empty"),
        # What else is wrong with samples: `test_sample_file`.
        ([{"id": "q1", "subjects": []}], [RIGHT], "s.jsonl, row 1, column query_related: is missing"),
    ],
)
def test_bad_input_is_named_by_row_and_field_and_never_quoted(tmp_path, capsys, samples, predictions, expected):
    given, made = write_rows(tmp_path / "s.jsonl", *samples), write_rows(tmp_path / "p.jsonl", *predictions)
    assert run(["pii", "score", str(given), str(made), "--out", str(tmp_path / "o.json")]) == 3
    error = capsys.readouterr().err
    assert expected in error
    assert "Ann" not in error
    assert not (tmp_path / "o.json").exists()


def make(out, *options):
    return run(["pii", "samples", "--out", str(out), *options])


def test_it_writes_samples_that_read_back_and_prints_the_papers_rows(tmp_path, capsys):
    out = tmp_path / "samples.jsonl"
    assert make(out, "--samples", "6", "--seed", "4") == 0
    subsets = [sample.subset for sample in iter_samples(out)]
    assert [subsets.count(name) for name in ("single", "multi", "hard", "distract")] == [6] * 4
    printed = capsys.readouterr().out.splitlines()
    assert printed[3].split()[:6] == ["single:", "one", "person,", "general", "6", "1.00"]
    assert printed[4].split() == ["from", "the", "paper", "1,214", "1.00", "893.48", "7.67", "211.21", "1.95"]
    types = printed.index("Identifiers by type")
    assert printed[types + 1].split()[1:] == ["PER", "DEM", "CODE", "ORG", "LOC", "DATETIME", "QUANTITY"]
    # Table 10, PII-single.
    assert printed[types + 4].split()[3:] == ["13.0%", "13.1%", "15.7%", "17.1%", "11.3%", "14.7%", "15.0%"]
    assert printed[-1] == f"samples: {out}"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
