"""`clinaudit unlearn run` and `finetune`: from a benchmark on the disk to a model, and what is refused."""

import json

import pytest
from support.models.tiny_models import save_llama
from support.unlearning.tiny_job import PATIENTS, make_bench

from clinaudit.audit.commands.main import run
from clinaudit.audit.unlearning.benchmark.files import Bench, write_bench
from clinaudit.priors.corpus.corpus import read_corpus

_TRAINING = ("--epochs", "1", "--quiet")


@pytest.fixture
def place(tmp_path):
    """A corpus, a benchmark and a tiny model."""
    corpus, model = tmp_path / "corpus", tmp_path / "model"
    corpus.mkdir()
    model.mkdir()
    bench = make_bench()
    rows = ["patient_id,split,age,sex", *(f"{patient},train,50,female" for patient in PATIENTS)]
    (corpus / "patients.csv").write_text("\n".join(rows) + "\n")
    notes = [
        {"patient_id": patient, "note_id": f"{patient}-1", "text": texts[0]} for patient, texts in bench.notes.items()
    ]
    (corpus / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    made = Bench.of(read_corpus(corpus), patients=bench.patients, questions=bench.questions, splits=bench.splits)
    write_bench(tmp_path / "bench", made, corpus_path=corpus)
    save_llama(model)
    return tmp_path


def test_a_model_is_tuned_and_forgets(place, capsys):
    model, bench, tuned, forgot = (str(place / name) for name in ("model", "bench", "tuned", "forgot"))
    assert run(["unlearn", "finetune", model, bench, "--out", tuned, "--learning-rate", "1e-3", *_TRAINING]) == 0
    assert (place / "tuned" / "model.safetensors").is_file()
    command = ["unlearn", "run", tuned, bench, "--method", "kl_min", "--forget", "random:15", "--out", forgot]
    assert run([*command, "--layer", "0", *_TRAINING]) == 0
    printed = capsys.readouterr().out
    assert f"{forgot}: the new model" in printed
    assert "\n\nThis is an interim measure (kl_min, layer)" in printed
    record = json.loads((place / "forgot" / "unlearn.json").read_text())
    plan = record["settings"]["plan"]
    training = plan["training"]
    assert (plan["method"], plan["split"], training["layer"], training["scope"]) == ("kl_min", "random:15", 0, "layer")
    assert plan["objective"] == {"gamma": 1.0, "alpha": 1.0}
    assert training["learning_rate"] == 2e-5
    assert (training["micro_batch"], training["micro_batches"]) == (4, 2)
    # Other settings in the same place.
    assert run([*command, *_TRAINING]) == 2
    assert "plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--forget", "random:50"], 3, "it has: random:15"),
        (["--forget", "random:15", "--learning-rate", "0"], 2, "--learning-rate"),
        (["--forget", "random:15", "--layer", "2"], 3, "2 layers, 0 to 1"),
    ],
)
def test_what_is_refused_leaves_nothing(place, capsys, options, status, said):
    model, bench, out = (str(place / name) for name in ("model", "bench", "out"))
    command = ["unlearn", "run", model, bench, "--method", "sim_npo", "--out", out, *_TRAINING]
    assert run([*command, *options]) == status
    error = capsys.readouterr().err
    assert said in error
    assert not any(patient in error for patient in PATIENTS)
    assert not (place / "out").exists()
