"""`clinaudit pii bench` from end to end: its files, that it goes on, what it refuses; no model is trained here."""

from collections import Counter
from pathlib import Path

import pytest
from support.cases import read_rows
from support.pii import identifier_server
from support.servers.fault_server import MODEL, says, status

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.systems.answers import SampleAnswers
from clinaudit.audit.pii.benchmark.systems.served_model import STRATEGIES
from clinaudit.reports.schema.pii_bench import GOLD_MASKS, PiiBench

FEW = (
    *("--samples", "3", "--subset", "single", "--subset", "multi", "--domain", "clinical", "--training-samples"),
    *("8", "--quiet"),
)


def bench(out: Path, *more: str, systems: str = "rules,gold") -> int:
    return run(["pii", "bench", "--out", str(out), *FEW, "--systems", systems, *more])


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("bench") / "run"
    assert bench(out) == 0
    return out


def predictions(out: Path, system: str | None = None) -> list[SampleAnswers]:
    rows = map(SampleAnswers.model_validate_json, (out / "predictions.jsonl").read_text().splitlines())
    return [row for row in rows if system in (None, row.system)]


def test_it_writes_samples_predictions_figures_and_a_page(finished) -> None:
    samples = [Sample.model_validate_json(line) for line in (finished / "samples.jsonl").read_text().splitlines()]
    assert [(sample.domain, sample.subset) for sample in samples] == [("clinical", "single")] * 3 + [
        ("clinical", "multi")
    ] * 3
    rows = predictions(finished)
    assert len(rows) == 3 * len(samples)
    assert all(row.subjects is not None and row.masked is not None and not row.reasons for row in rows)
    document = PiiBench.model_validate_json((finished / "bench.json").read_text())
    assert [system.id for system in document.systems] == ["rules", "gold", "gold-mask-all"]
    assert "<!doctype html>" in (finished / "bench.html").read_text().lower()
    assert all(path.stat().st_mode & 0o077 == 0 for path in finished.rglob("*"))


def test_an_oracle_that_is_told_everything_finds_everything(finished) -> None:
    document = PiiBench.model_validate_json((finished / "bench.json").read_text())
    found = {(row.system, row.task, row.group, row.metric): row.value for row in document.figures}
    for subset in ("all", "single", "multi"):
        assert found["gold", "detection", subset, "strict_f1.f1"] == 1.0
    everything = ("gold-mask-all", "masking", "all")
    assert [found[*everything, metric] for metric in ("over_masking", "leak", "strict_f1.recall")] == [1.0, 0.0, 1.0]
    rules = found["rules", "detection", "all", "ent_f1.f1"]
    assert rules is not None
    assert 0 < rules < 1


def test_task_3_is_task_1_less_task_2(finished) -> None:
    for row in predictions(finished, "rules"):
        named = {entity.text for subject in row.subjects or () for entity in subject.entities}
        needed = set(row.query_related or ())
        assert set(row.masked or ()) == named - needed
        assert needed <= named


def test_the_predictions_score_elsewhere_as_they_did_here(finished, tmp_path) -> None:
    files = [str(finished / name) for name in ("samples.jsonl", "predictions.jsonl")]
    assert run(["pii", "score", *files, "--out", str(tmp_path / "scores.json")]) == 0
    here, there = (
        PiiBench.model_validate_json(path.read_bytes()) for path in (finished / "bench.json", tmp_path / "scores.json")
    )
    assert there.figures == [figure for figure in here.figures if figure.grouping == "subset"]


def test_the_same_command_writes_the_same_again_and_other_settings_are_refused(finished, capsys) -> None:
    def figures() -> PiiBench:
        document = PiiBench.model_validate_json((finished / "bench.json").read_text())
        return document.model_copy(
            update={"systems": [one.model_copy(update={"seconds": None}) for one in document.systems]}
        )

    before = figures()
    assert bench(finished) == 0
    assert figures() == before
    capsys.readouterr()
    assert bench(finished, "--seed", "1") == 2
    assert "begun with other settings (seed)" in capsys.readouterr().err
    assert bench(finished, "--training-samples", "9") == 0  # of no system that was run


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [*read_rows("pii/rows.txt")["what of a benchmark is refused"], (["--samples", "9" * 5000], 2, "a number from 1")],
)
def test_what_does_not_go_together_is_refused(more, code, said, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["pii", "bench", "--out", "out", *FEW[:-1], *more]) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_trained_system_without_its_library_says_what_to_install(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("clinaudit.audit.pii.benchmark.run.find_spec", lambda _name: None)
    assert bench(tmp_path / "out", systems="rules,bilstm_crf") == 3
    assert "pytorch-crf, which is not installed: install clinaudit[pii]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_directory_of_other_things_is_refused(tmp_path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    assert bench(tmp_path, systems="rules") == 2


def served(out: Path, url: str, *more: str) -> int:
    endpoint = ("--served-url", url, "--served-model", MODEL)
    return bench(out, *endpoint, *more, systems="served")


def test_every_strategy_is_run_and_unread_answers_score_nothing(tmp_path, capsys) -> None:
    with identifier_server.running() as server:
        assert served(tmp_path / "out", server.url) == 0
        asked = len(server.seen)
        document = PiiBench.model_validate_json((tmp_path / "out" / "bench.json").read_text())
        assert [system.strategy for system in document.systems] == list(STRATEGIES)
        assert [system.kind for system in document.systems] == ["model", "oracle", *["model"] * 4]
        names = Counter(body["response_format"]["json_schema"]["name"] for _, body in server.seen)
        # Entities once a sample, what is needed once a sample and strategy; three prompts a sample, and one rating.
        assert names["entities"] == names["ratings"] == 6
        assert sum(count for name, count in names.items() if name.startswith("needed")) == 6 * len(STRATEGIES)
        assert names["answer"] == 6 * 3
        assert served(tmp_path / "out", server.url) == 0
        assert len(server.seen) == asked
        server.always = says("I cannot say.")
        assert served(tmp_path / "other", server.url, "--strategy", "naive") == 0
    # It rates the first 10 and the second 1, whichever that is: by turns, so that both get the mean, 0.5. All answers
    # are one text, alike by 1 but for the rounding of 32-bit numbers.
    of_gold = {(row.group, row.metric): row.value for row in document.figures if row.system == GOLD_MASKS}
    assert [of_gold[masking, "utility"] for masking in ("all", "query_unrelated")] == pytest.approx([0.75, 0.75])
    assert of_gold["all", "balance"] == pytest.approx(0.875)
    printed = capsys.readouterr().out
    assert "0.59 for 3 billion" in " ".join(printed.split())
    document = PiiBench.model_validate_json((tmp_path / "other" / "bench.json").read_text())
    scores = {(row.metric, row.value) for row in document.figures if row.metric in ("unparsed", "strict_f1.f1")}
    assert scores == {("unparsed", 1.0), ("strict_f1.f1", 0.0)}
    assert {reason for row in predictions(tmp_path / "other") for reason in row.reasons.values()} == {
        "the answer is not one JSON object"
    }


def test_a_server_that_fails_leaves_what_it_answered_for_the_next_run(tmp_path) -> None:
    with identifier_server.running() as server:
        good, answered = server.always, []

        def breaks_down(handler, body) -> None:
            if len(answered) < 4:
                answered.append(body)
                good(handler, body)
            else:
                status(500)(handler, body)

        server.always = breaks_down
        assert served(tmp_path / "out", server.url, "--strategy", "naive") == 4
        server.always = good
        before = len(server.seen)
        assert served(tmp_path / "out", server.url, "--strategy", "naive") == 0
        # Entities and what is needed, less the four answered; three prompts and a rating.
        assert len(server.seen) - before == 6 * 2 - 4 + 6 * 4
