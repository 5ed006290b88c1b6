"""Evaluation from end to end with models that were really trained: what it says, keeps and refuses; names of models."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.unlearning.evaluated_models import TRAINED, save_bench, save_models
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import BENCH_FILE, read_bench, write_frame
from clinaudit.audit.unlearning.certificate.bench_result import read_bench_result
from clinaudit.audit.unlearning.evaluation import asked_model, evaluate, stages
from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
from clinaudit.audit.unlearning.evaluation.given_models import ModelPlace, parse_model
from clinaudit.audit.unlearning.evaluation.trials import TRIALS, RelearningPlan, TrialOptions
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.reports.schema.unlearning import CHECKS, FIGURES
from clinaudit.reports.wording.unlearning import Evaluation

pytestmark = pytest.mark.slow
QUICK = TrialOptions(samples=2, relearning=RelearningPlan(steps=1))


class _Killed(BaseException):
    """Stands for a kill: no handler of ours catches it."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The directories of a benchmark and of models by name."""
    root = tmp_path_factory.mktemp("made")
    bench = save_bench(root)
    return {"bench": bench, **save_models(root, read_bench(bench))}


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    """Short answers, and embeddings that are nothing to load."""
    with _made_quick():
        yield


@contextmanager
def _made_quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "load_embedder", lambda _directory: SharedWords())
        patch.setattr(asked_model, "MOST_ANSWER_TOKENS", 6)
        yield


@pytest.fixture(scope="module")
def finished(made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of everything at once; not to be changed."""
    out = tmp_path_factory.mktemp("finished") / "result"
    with _made_quick():
        _evaluate(_everything(made, out))
    return out


@pytest.fixture
def result(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "result"))


def _everything(made: dict[str, Path], out: Path) -> EvaluationRequest:
    return _request(made, out, "forgot", "tuned", "retrained", has_trials=True)


def _request(made: dict[str, Path], out: Path, *names: str, **options: Any) -> EvaluationRequest:
    return EvaluationRequest(
        models=tuple(ModelPlace(name, made[name]) for name in names),
        bench=made["bench"],
        out=out,
        **{"has_trials": False, "trials": QUICK, **options},
    )


def _evaluate(request: EvaluationRequest) -> Evaluation:
    return evaluate.evaluate(request, Progress(quiet=True))


def _bytes(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(files)}


def _figures(directory: Path) -> pl.DataFrame:
    return pl.read_csv(directory / "figures.csv", schema=FIGURES)


def _value(figures: pl.DataFrame, **place: str) -> float:
    (value,) = figures.filter(kind="factual", use="train", **place)["value"]
    return float(value)


def test_what_stands_in_the_result(finished: Path) -> None:
    figures = _figures(finished)
    assert figures["model"].unique(maintain_order=True).to_list() == ["forgot", "tuned", "retrained"]
    assert 0 <= _value(figures, model="forgot", group="retain", metric="mu") <= 1
    assert _value(figures, model="forgot", group="forget", metric="cs_change") < 1
    assert figures.filter(pl.col("metric").str.ends_with("_change"), model="tuned", use="train").is_empty()
    checks = pl.read_csv(finished / "collapse.csv", schema=CHECKS)
    assert checks.filter(model="forgot")["group"].unique(maintain_order=True).to_list() == [
        "forget", "never_trained", "retain",
    ]  # fmt: skip
    assert "tuned" not in checks["model"]
    # The group of the retained with a forgotten one's disease, by hand from the scores: a patient of no disease that
    # the taxonomy has shares it with nobody, although one such is forgotten.
    roles = pl.read_parquet(finished / "evidence" / "roles.parquet")
    retained = roles.filter(role="retain")["patient_id"].to_list()
    scores = pl.read_parquet(finished / "evidence" / "scores.parquet").filter(model="tuned", metric="em")
    # The first of a patient's questions is a factual one that is trained on.
    em = {qa_id[:3]: value for qa_id, value in scores.select("qa_id", "value").iter_rows() if qa_id.endswith("-0")}
    same = ["P02", "P03", "P04"]
    for group, members in (("same", same), ("others", [one for one in retained if one not in same])):
        (row,) = figures.filter(model="tuned", group=group, metric="em", kind="factual", use="train").to_dicts()
        assert row["value"] == pytest.approx(sum(em[one] for one in members) / len(members))
        assert row["n"] == {"same": 3, "others": 4}[group]
    answers = pl.read_parquet(finished / "evidence" / "answers.parquet")
    assert len(answers) == 3 * 48
    of_patients = pl.read_parquet(finished / "evidence" / "patient_figures.parquet")
    assert of_patients.filter(model="tuned", patient_id="P02", kind="factual", use="train", metric="em")[
        "value"
    ].to_list() == [em["P02"]]


def test_outside_of_evidence_stands_no_id(finished: Path) -> None:
    outside = {"evaluate.json", "report.html", "figures.csv", "collapse.csv"}
    assert {path.name for path in finished.iterdir()} == {*outside, "evidence"}
    for name in outside:
        text = (finished / name).read_text(encoding="utf-8")
        assert not any(patient in text for patient in TRAINED)
    said = json.loads((finished / "evaluate.json").read_text(encoding="utf-8"))
    assert said["before"] == "tuned"
    assert [(one["name"], one["kind"], one["split"], one["method"]) for one in said["models"]] == [
        ("forgot", "unlearned", "random:22", "grad_diff"),
        ("tuned", "baseline", None, None),
        ("retrained", "retrained", "random:22", None),
    ]
    assert said["models"][0]["made_from"] == said["models"][1]["digest"]
    assert [split["split"] for split in said["splits"]] == ["random:22"]
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in finished.rglob("*")}
    assert modes == {True: 0o700, False: 0o600}


def test_a_certificate_reads_what_was_written(made: dict[str, Path], result: Path) -> None:
    forgot = inspect_model(made["forgot"]).digest
    tried = read_bench_result(result, model=None, digest=forgot, corpus_digest=None)
    assert tried.before is not None
    places = [len(of.unique(["patient_id", "kind", "use"])) for of in (tried.after, tried.before)]
    assert (tried.model, tried.split, places) == ("forgot", "random:22", [48, 48])
    # The pieces are there already: nothing is asked again.
    _evaluate(_request(made, result, "forgot", "tuned"))
    untried = read_bench_result(result, model=None, digest=forgot, corpus_digest=None)
    assert untried.before is not None
    assert untried.after.equals(tried.after)
    assert untried.before.equals(tried.before)
    assert (untried.roles, untried.health) == (tried.roles, tried.health)


def test_killed_at_every_stage_and_gone_on_with_it_writes_the_same_bytes(made, finished, tmp_path, monkeypatch) -> None:
    def write_and_die(*arguments: Any) -> None:
        write_frame(*arguments)
        raise _Killed

    # Each command dies of the first piece that it makes: answers, scores and trials of a model, and the next one's.
    with monkeypatch.context() as patch:
        patch.setattr(stages, "write_frame", write_and_die)
        for _ in range(2 + len(TRIALS) + 1):
            with pytest.raises(_Killed):
                _evaluate(_everything(made, tmp_path / "result"))
    _evaluate(_everything(made, tmp_path / "result"))
    assert _bytes(tmp_path / "result") == _bytes(finished)


def test_killed_between_the_last_files_there_is_no_result(made, finished, result, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "write_frame", _kill)
        with pytest.raises(_Killed):
            _evaluate(_everything(made, result))
    assert not (result / "evaluate.json").exists()
    assert not (result / "report.html").exists()
    _evaluate(_everything(made, result))
    assert _bytes(result) == _bytes(finished)


def _kill(*_arguments: Any) -> None:
    raise _Killed


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models whose networks are loaded, as they are."""
    names: list[str] = []
    load = asked_model.AskedModel.load

    def note(name: str, files: Any) -> Any:
        names.append(name)
        return load(name, files)

    monkeypatch.setattr("clinaudit.audit.unlearning.evaluation.stages.AskedModel.load", note)
    return names


def test_a_model_more_is_asked_and_nothing_twice(made, finished, result, loaded) -> None:
    shutil.rmtree(result / "evidence" / "work" / "pieces" / inspect_model(made["retrained"]).digest[:16])
    first = _evaluate(_request(made, result, "forgot", "tuned")).figures
    assert loaded == []
    assert set(first["use"]) == {"train", "holdout"}
    # One more, in another order, and one under another name.
    models = (
        ModelPlace("retrained", made["retrained"]),
        ModelPlace("tuned", made["tuned"]),
        ModelPlace("other", made["forgot"]),
    )
    second = _evaluate(replace(_request(made, result), models=models)).figures
    assert loaded == ["retrained"]
    assert second["model"].unique(maintain_order=True).to_list() == ["retrained", "tuned", "other"]
    assert second.filter(model="tuned").equals(first.filter(model="tuned"))
    assert second.filter(model="other").drop("model").equals(first.filter(model="forgot").drop("model"))
    untried = pl.col("use").is_in(["train", "holdout"])
    assert second.filter(model="retrained").equals(_figures(finished).filter(untried, model="retrained"))


def _measured(evaluation: Evaluation) -> dict[str, list[str]]:
    """Which models were measured by which split."""
    pairs = evaluation.figures.select("split", "model").unique(maintain_order=True)
    return dict(pairs.group_by("split", maintain_order=True).agg("model").iter_rows())


def test_models_made_elsewhere(made: dict[str, Path], tmp_path: Path) -> None:
    found = _evaluate(
        _request(made, tmp_path / "result", "elsewhere", "tuned", split_name="cancer:22", before="elsewhere")
    )
    # The one that is compared with, and the baseline, take part in every split; the option's is the only one.
    assert _measured(found) == {"cancer:22": ["elsewhere", "tuned"]}
    assert not found.figures.filter(model="tuned", metric="rouge_l_change").is_empty()
    both = _evaluate(
        _request(made, tmp_path / "both", "tuned", "forgot", "elsewhere", split_name="cancer:22", form="paper")
    )
    assert _measured(both) == {"random:22": ["tuned", "forgot"], "cancer:22": ["tuned", "elsewhere"]}


@pytest.mark.parametrize(
    ("names", "options", "error", "said"),
    [
        (("elsewhere",), {}, UsageError, "--split"),
        (("tuned",), {}, UsageError, "who was to be forgotten"),
        (("tuned", "forgot"), {"before": "nobody"}, UsageError, "--before"),
        (("tuned",), {"split_name": "kidney:5"}, BadInputError, "it has: random:22"),
    ],
)
def test_what_is_refused_leaves_nothing(made, tmp_path, names, options, error, said) -> None:
    with pytest.raises(error, match=said):
        _evaluate(_request(made, tmp_path / "result", *names, **options))
    assert not (tmp_path / "result").exists()


def test_a_model_that_is_not_what_its_record_says_is_refused(made: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made["forgot"], copy)
    given = {**made, "copy": copy}
    record = json.loads((copy / "unlearn.json").read_text())

    def refused(error: type[Exception], said: str, **settings: Any) -> None:
        changed = {**record, "settings": {**record["settings"], **settings}}
        (copy / "unlearn.json").write_text(json.dumps(changed))
        with pytest.raises(error, match=said):
            _evaluate(_request(given, tmp_path / "result", "tuned", "copy"))

    refused(BadInputError, "another benchmark", bench_digest="0" * 64)
    refused(IntegrityError, "damaged", plan={})
    refused(UsageError, "made elsewhere", task="retrain", bench_digest=None)
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    refused(IntegrityError, "not as it was written")
    shutil.rmtree(copy)
    (tmp_path / ".copy.partial").mkdir()
    (tmp_path / ".copy.partial" / "settings.json").write_text("{}")
    with pytest.raises(BadInputError, match="not finished"):
        _evaluate(_request(given, tmp_path / "result", "tuned", "copy"))


def test_a_place_of_something_else_is_refused(made: dict[str, Path], result: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    shutil.copytree(made["bench"], bench)
    with pytest.raises(UsageError, match="holds other things"):
        _evaluate(_request(made, bench, "tuned", "forgot"))
    assert (bench / BENCH_FILE).is_file()
    with pytest.raises(UsageError, match=r"begun with other settings \(form\)"):
        _evaluate(_request(made, result, "tuned", "forgot", form="paper"))


def test_a_damaged_piece_is_told_of(made: dict[str, Path], result: Path) -> None:
    directory = result / "evidence" / "work" / "pieces" / inspect_model(made["tuned"]).digest[:16]
    for name in ("answers-0000", "scores", "random-22-sampled"):
        piece = directory / f"{name}.parquet"
        whole = piece.read_bytes()
        frame = pl.read_parquet(piece)
        damages = [frame.drop(frame.columns[-1])]
        # Of a trial nobody knows whom it is of.
        damages += [] if "sampled" in name else [frame.slice(12)]
        for damage in (None, *damages):
            piece.write_bytes(whole[:-9]) if damage is None else damage.write_parquet(piece)
            with pytest.raises(IntegrityError, match=rf"{name}\.parquet"):
                _evaluate(_everything(made, result))
        piece.write_bytes(whole)


def test_names_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b").mkdir()
    assert parse_model("models/tuned/") == ModelPlace("tuned", Path("models/tuned"))
    assert parse_model("npo=models/tuned") == ModelPlace("npo", Path("models/tuned"))
    assert parse_model("a=b") == ModelPlace("a=b", Path("a=b"))
    assert parse_model(".") == ModelPlace(tmp_path.name, Path())
    for wrong in ("", "name=", "=dir", f"{'n' * 201}=dir", "a\nb=dir", "-sum=dir", "@name=dir"):
        with pytest.raises(UsageError):
            parse_model(wrong)
