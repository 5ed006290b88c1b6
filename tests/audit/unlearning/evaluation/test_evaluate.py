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
from support.pages import Page
from support.unlearning.evaluated_models import TRAINED, save_bench, save_models
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.unlearning.benchmark.files import BENCH_FILE, read_bench
from clinaudit.audit.unlearning.certificate.bench_result import read_bench_result
from clinaudit.audit.unlearning.evaluation import asked_model, evaluate, result_files, stages
from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
from clinaudit.audit.unlearning.evaluation.given_models import ModelPlace, parse_model
from clinaudit.audit.unlearning.evaluation.robustness.parts import PARTS, RobustnessOptions
from clinaudit.audit.unlearning.evaluation.robustness.relearning import RelearningPlan
from clinaudit.errors import BadInputError, IntegrityError, UsageError

QUICK = RobustnessOptions(samples=2, leak_at=(1, 2), relearning=RelearningPlan(steps=1))


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
    return _request(made, out, "forgot", "tuned", "retrained", has_robustness=True)


def _request(made: dict[str, Path], out: Path, *names: str, **options: Any) -> EvaluationRequest:
    return EvaluationRequest(
        models=tuple(ModelPlace(name, made[name]) for name in names),
        bench=made["bench"],
        out=out,
        **{"has_robustness": False, "robustness": QUICK, **options},
    )


def _evaluate(request: EvaluationRequest) -> dict[str, Any]:
    scores = evaluate.evaluate(request, Progress(quiet=True))
    return {split: document.model_dump(exclude_unset=True) for split, document in scores.items()}


def _bytes(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(files)}


def _mean(items: list[dict[str, Any]], metric: str) -> float:
    values = [item[metric] for item in items]
    return sum(values) / len(values)


def test_what_stands_in_the_result(finished: Path) -> None:
    document = json.loads((finished / "evidence" / "scores-random-22.json").read_text(encoding="utf-8"))
    assert list(document["models"]) == ["forgot", "tuned", "retrained"]
    forgot = document["models"]["forgot"]
    assert forgot["em"]["forget"]["factual"]["train"]["answers"] == 2
    assert forgot["mu"]["retain"]["factual"]["train"]["value"] is not None
    assert forgot["change"]["cs"]["forget"]["factual"]["train"]["answers"] == 2
    assert not {"change", "collapse"} & document["models"]["tuned"].keys()
    assert [one["group"] for one in forgot["collapse"]["checks"][::5]] == ["forget", "never_trained", "retain"]
    # The group of the retained with a forgotten one's disease, by hand from the items: a patient of no disease that the
    # taxonomy has shares it with nobody, although one such is forgotten.
    items = [one for one in document["items"] if one["model"] == "tuned" and one["kind"] == "factual"]
    train = [one for one in items if one["use"] == "train" and one["role"] == "retain"]
    same = [one for one in train if one["qa_id"][:3] in ("P02", "P03", "P04")]
    for side, own in (("same", same), ("others", [one for one in train if one not in same])):
        described = document["models"]["tuned"]["same_category"]
        assert described["em"][side]["factual"]["train"]["value"] == pytest.approx(_mean(own, "em"))
        assert described["counts"][side]["factual"]["train"]["patients"] == {"same": 3, "others": 4}[side]
    answers = pl.read_parquet(finished / "evidence" / "answers.parquet").to_dicts()
    assert len(answers) == 3 * 60
    scores = pl.read_parquet(finished / "evidence" / "scores.parquet").to_dicts()
    assert [(one["model"], one["qa_id"]) for one in scores] == [(one["model"], one["qa_id"]) for one in answers]
    assert {flag for one in scores for flag in one["flags"]} >= {"ls: the question has no keywords"}


def test_the_page_and_its_tables_show_the_documents_figures(finished: Path) -> None:
    document = json.loads((finished / "evidence" / "scores-random-22.json").read_text(encoding="utf-8"))
    tables = finished / "tables"
    assert {path.name for path in tables.iterdir()} == {
        "scores.csv",
        *("table2_leakage.csv", "collapse.csv"),
        "robustness.csv",
        "detectability.csv",
        "table1_table4_corpus.csv",
        "table5_splits.csv",
        "table6_training.csv",
    }
    shown = pl.read_csv(tables / "scores.csv", infer_schema_length=None)
    place = {"model": "forgot", "patients_are": "same", "kind": "factual", "use": "train", "metric": "mu"}
    (row,) = shown.filter(**place).to_dicts()
    figure = document["models"]["forgot"]["same_category"]["mu"]["same"]["factual"]["train"]
    assert row["value"] == pytest.approx(figure["value"])
    assert [row["value_ci_low"], row["value_ci_high"]] == pytest.approx(figure["interval"])
    page = Page((finished / "report.html").read_text(encoding="utf-8")).words
    assert "Contains PHI: exact figures of few patients" in page
    # How they were trained is as in their own records.
    trained = {one["model"]: one for one in pl.read_csv(tables / "table6_training.csv").to_dicts()}
    assert (trained["tuned"]["epochs"], trained["forgot"]["epochs"]) == (4, 1)


def test_outside_of_evidence_stands_no_id(finished: Path) -> None:
    outside = {"evaluate.json", "evidence", "report.html", "tables"}
    assert {path.name for path in finished.iterdir()} == outside
    for path in (finished / "evaluate.json", finished / "report.html", *(finished / "tables").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert not any(patient in text for patient in TRAINED)
    said = json.loads((finished / "evaluate.json").read_text(encoding="utf-8"))
    assert said["before"] == "tuned"
    assert [(one["name"], one["kind"], one["split"], one["method"]) for one in said["models"]] == [
        ("forgot", "unlearned", "random:22", "grad_diff"),
        ("tuned", "baseline", None, None),
        ("retrained", "retrained", "random:22", None),
    ]
    assert said["models"][0]["made_from"] == said["models"][1]["digest"]
    files = {"scores": "scores-random-22.json", "robustness": "robustness-random-22.json"}
    assert said["documents"] == {"random:22": files}
    assert all((finished / "evidence" / file).is_file() for file in files.values())
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in finished.rglob("*")}
    assert modes == {True: 0o700, False: 0o600}


def test_a_certificate_reads_what_was_written(made: dict[str, Path], result: Path) -> None:
    forgot = inspect_model(made["forgot"]).digest
    tried = read_bench_result(result, model=None, digest=forgot, corpus_digest=None)
    assert (tried.model, tried.split, len(tried.after), len(tried.before)) == ("forgot", "random:22", 60, 60)
    # The pieces are there already: nothing is asked again.
    _evaluate(_request(made, result, "forgot", "tuned"))
    untried = read_bench_result(result, model=None, digest=forgot, corpus_digest=None)
    assert untried == tried


def test_killed_at_every_stage_and_gone_on_with_it_writes_the_same_bytes(made, finished, tmp_path, monkeypatch) -> None:
    def write_and_die(*arguments: Any) -> None:
        write_atomically(*arguments)
        raise _Killed

    # Each command dies of the first piece that it makes.
    monkeypatch.setattr(stages, "write_atomically", write_and_die)
    deaths = 0
    while not (tmp_path / "result" / "evaluate.json").exists():
        try:
            _evaluate(_everything(made, tmp_path / "result"))
        except _Killed:
            deaths += 1
    # Answers, exact memorization and scores of three models, and what each withstands.
    assert deaths == 3 * (3 + len(PARTS))
    assert _bytes(tmp_path / "result") == _bytes(finished)


def test_killed_between_the_last_files_there_is_no_result(made, finished, result, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(result_files, "write_table", _kill)
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
    first = _evaluate(_request(made, result, "forgot", "tuned"))["random:22"]["models"]
    assert loaded == []
    assert not (result / "evidence" / "robustness-random-22.json").exists()
    assert not (result / "tables" / "robustness.csv").exists()
    # One more, in another order, and one under another name.
    models = (
        ModelPlace("retrained", made["retrained"]),
        ModelPlace("tuned", made["tuned"]),
        ModelPlace("other", made["forgot"]),
    )
    second = _evaluate(replace(_request(made, result), models=models))["random:22"]["models"]
    assert loaded == ["retrained"]
    assert list(second) == ["retrained", "tuned", "other"]
    assert (second["tuned"], second["other"]) == (first["tuned"], first["forgot"])
    document = json.loads((finished / "evidence" / "scores-random-22.json").read_text(encoding="utf-8"))
    assert second["retrained"] == document["models"]["retrained"]


def test_models_made_elsewhere(made: dict[str, Path], tmp_path: Path) -> None:
    documents = _evaluate(
        _request(made, tmp_path / "result", "elsewhere", "tuned", split_name="cancer:22", before="elsewhere")
    )
    # The one that is compared with, and the baseline, take part in every split; the option's is the only one.
    assert list(documents) == ["cancer:22"]
    assert list(documents["cancer:22"]["models"]) == ["elsewhere", "tuned"]
    assert "change" in documents["cancer:22"]["models"]["tuned"]
    both = _evaluate(
        _request(made, tmp_path / "both", "tuned", "forgot", "elsewhere", split_name="cancer:22", form="paper")
    )
    assert {split: list(document["models"]) for split, document in both.items()} == {
        "random:22": ["tuned", "forgot"],
        "cancer:22": ["tuned", "elsewhere"],
    }


def test_patients_by_whom_a_rate_was_chosen_are_in_no_mean(made, tmp_path, monkeypatch) -> None:
    copy = tmp_path / "chosen"
    shutil.copytree(made["forgot"], copy)
    record = json.loads((copy / "unlearn.json").read_text())
    record["settings"]["plan"]["rates"] = [1e-3]
    (copy / "unlearn.json").write_text(json.dumps(record))
    monkeypatch.setattr(evaluate, "tuning_patients", lambda _split: ("P05",))
    document = _evaluate(_request({**made, "chosen": copy}, tmp_path / "result", "tuned", "chosen"))["random:22"]
    assert document["set_aside_patients"] == 1
    for name in ("tuned", "chosen"):
        own = document["models"][name]
        assert own["counts"]["retain"]["factual"]["train"]["patients"] == 6
        assert own["same_category"]["counts"]["others"]["factual"]["train"]["patients"] == 3
    roles = {one["qa_id"][:3]: one["role"] for one in document["items"]}
    assert [patient for patient, role in roles.items() if role == "set_aside"] == ["P05"]


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
    for name in ("answers-0000", "exact-memorization-0000", "scores", "random-22-sampling"):
        piece = directory / f"{name}.json"
        whole = piece.read_text()
        held = json.loads(whole)
        shortened = dict(list(held.items())[1:]) if isinstance(held, dict) else held[1:]
        misshapen = {key: [1] for key in held} if isinstance(held, dict) else held[1:]
        damages = [] if "sampling" in name else [json.dumps(shortened), json.dumps(misshapen)]
        for damage in ('{"P01-0"', *damages):
            piece.write_text(damage)
            with pytest.raises(IntegrityError, match=rf"{name}\.json"):
                _evaluate(_everything(made, result))
        piece.write_text(whole)


def test_names_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b").mkdir()
    assert parse_model("models/tuned/") == ModelPlace("tuned", Path("models/tuned"))
    assert parse_model("npo=models/tuned") == ModelPlace("npo", Path("models/tuned"))
    assert parse_model("a=b") == ModelPlace("a=b", Path("a=b"))
    assert parse_model(".") == ModelPlace(tmp_path.name, Path())
    for wrong in ("", "name=", "=dir", f"{'n' * 201}=dir", "a\nb=dir"):
        with pytest.raises(UsageError):
            parse_model(wrong)
