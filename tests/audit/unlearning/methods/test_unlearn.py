"""Unlearning from end to end on a tiny model: what changes, what comes back after a kill, what is refused."""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from support.models.tiny_models import save_adapter, save_gpt2, save_llama
from support.simulations import first_of
from support.unlearning.tiny_job import PATIENTS, QUICK, SPLIT, make_job

from clinaudit.audit.runtime.choices import UnlearningMethod
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.files import digest_of_listed, inspect_adapted, inspect_model
from clinaudit.audit.runtime.model.pretrained import load_pretrained
from clinaudit.audit.unlearning.certificate.training_record import TrainingRecord
from clinaudit.audit.unlearning.methods import unlearn as door
from clinaudit.audit.unlearning.methods.model_folder import CURVE_FILE, EXACT_RECORD_FILE, RECORD_FILE
from clinaudit.audit.unlearning.methods.texts import TrainingPlan
from clinaudit.audit.unlearning.methods.trained_network import Device
from clinaudit.audit.unlearning.methods.unlearn import UnlearningPlan, finetune, plan_unlearning, train_again, unlearn
from clinaudit.errors import BadInputError, IntegrityError, UsageError

pytestmark = pytest.mark.slow
_LINEAR = r".*(proj|c_attn|c_fc)\.weight$"
_METHODS: tuple[UnlearningMethod, ...] = ("kl_min", "rmu", "grad_diff", "sim_npo")


def _plan(method: UnlearningMethod = "grad_diff", *, layer: int | None = None, **settings: Any) -> UnlearningPlan:
    return plan_unlearning(method, seed=1, training=replace(settings.pop("training", QUICK), layer=layer), **settings)


def _bytes(directory: Path) -> dict[str, bytes]:
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def _tensors(directory: Path) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in load_file(directory / "model.safetensors").items()}


def _changed(job: Any) -> set[str]:
    before, after = _tensors(job.files.directory), _tensors(job.out)
    assert before.keys() == after.keys()
    return {name for name, value in before.items() if after[name] != value}


@pytest.mark.parametrize(
    ("save", "plan", "prefix"),
    [
        (save_llama, _plan(), "model.layers.1."),
        (save_llama, _plan(layer=0), "model.layers.0."),
        (save_llama, _plan(scope="all"), ""),
        # LoRA's factors are merged; neither head, nor embeddings, nor norms have any.
        *((save, _plan("kl_min", scope="lora"), _LINEAR) for save in (save_llama, save_gpt2)),
        (save_gpt2, _plan("sim_npo"), "transformer.h.1."),
    ],
)
def test_only_what_is_in_scope_changes(tmp_path, save, plan, prefix) -> None:
    (tmp_path / "model").mkdir()
    save(tmp_path / "model")
    job = make_job(tmp_path)
    unlearn(job, SPLIT, plan)
    in_scope = {name for name in _tensors(job.out) if re.match(prefix, name)}
    assert _changed(job) == in_scope if save is save_llama else _changed(job) <= in_scope
    assert _changed(job)


def test_rmu_changes_what_its_layer_is_made_from_alone(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    unlearn(job, SPLIT, _plan("rmu", layer=0))
    changed = _changed(job)
    # All parameters are trained, but none after the layer bears on its activations.
    assert {name.rpartition("layers.")[2][:1] for name in changed if "layers." in name} == {"0"}
    assert "model.embed_tokens.weight" in changed
    assert "lm_head.weight" not in changed
    with pytest.raises(BadInputError, match="2 layers"):
        unlearn(make_job(tmp_path, out=tmp_path / "third"), SPLIT, _plan(layer=2))
    assert not (tmp_path / "third").exists()


class _Killed(BaseException):
    """Stands for a kill: no handler of ours catches it."""


def _killed_after(monkeypatch: pytest.MonkeyPatch, checkpoints: int) -> None:
    """Let a training be killed as soon as it has written so many checkpoints."""
    from clinaudit.audit.unlearning.methods.training import LossTrainer

    save, written = LossTrainer._save_checkpoint, []

    def save_and_die(trainer: Any, *given: Any) -> None:
        save(trainer, *given)
        written.append(trainer.state.global_step)
        if len(written) == checkpoints:
            raise _Killed

    monkeypatch.setattr(LossTrainer, "_save_checkpoint", save_and_die)


@pytest.mark.parametrize("place", first_of(len(_METHODS), always=1))
def test_killed_at_each_checkpoint_and_resumed_it_has_equal_bytes(tmp_path, monkeypatch, place) -> None:
    method = _METHODS[place]
    whole = make_job(tmp_path, out=tmp_path / "whole")
    unlearn(whole, SPLIT, _plan(method))
    # A checkpoint after each step, the last before the files are written.
    resumed = make_job(tmp_path, out=tmp_path / "resumed")
    steps = json.loads((whole.out / EXACT_RECORD_FILE).read_text())["steps"]
    assert steps == 3
    for _ in range(steps):
        with monkeypatch.context() as patch:
            _killed_after(patch, 1)
            with pytest.raises(_Killed):
                unlearn(resumed, SPLIT, _plan(method))
        assert not resumed.out.exists()
        assert (tmp_path / ".resumed.partial").stat().st_mode & 0o777 == 0o700
    unlearn(resumed, SPLIT, _plan(method))
    assert _bytes(resumed.out) == _bytes(whole.out)
    # The same seed, the same bytes; another one has others.
    other = make_job(tmp_path, out=tmp_path / "other", seed=2)
    unlearn(other, SPLIT, _plan(method))
    assert _tensors(other.out) != _tensors(whole.out)


@pytest.mark.parametrize("held", ["[]", '""', "[[1, 2]]", "{"])
def test_a_damaged_record_is_no_record_of_other_settings(tmp_path: Path, held: str) -> None:
    job = make_job(tmp_path)
    job.out.mkdir()
    (job.out / RECORD_FILE).write_text(held)
    with pytest.raises(IntegrityError, match=f"{RECORD_FILE} in {job.out.name} is damaged"):
        unlearn(job, SPLIT, _plan())


def test_killed_while_files_are_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clinaudit.audit.unlearning.methods import model_folder

    whole, resumed = make_job(tmp_path, out=tmp_path / "whole"), make_job(tmp_path, out=tmp_path / "resumed")
    unlearn(whole, SPLIT, _plan())
    files = ["model.safetensors", "config.json", RECORD_FILE]

    def killed_at(name: str, act: Any) -> Any:
        def put(*paths: Any) -> None:
            if files and Path(paths[-1] if name == "put_in_place" else paths[0]).name == files[0]:
                raise _Killed
            act(*paths)

        return put

    # One after the other, each time gone on with.
    for name in ("put_in_place", "write_atomically"):
        monkeypatch.setattr(model_folder, name, killed_at(name, getattr(model_folder, name)))
    while files:
        with pytest.raises(_Killed):
            unlearn(resumed, SPLIT, _plan())
        assert not resumed.out.exists()
        del files[0]
    unlearn(resumed, SPLIT, _plan())
    assert _bytes(resumed.out) == _bytes(whole.out)
    assert not (tmp_path / ".resumed.partial").exists()


def test_finetuning_leaves_out_whom_a_split_forgets(tmp_path: Path) -> None:
    everyone, some = make_job(tmp_path, out=tmp_path / "all"), make_job(tmp_path, out=tmp_path / "some")
    finetune(everyone, QUICK)
    finetune(some, QUICK, without=SPLIT)
    records = [json.loads((job.out / EXACT_RECORD_FILE).read_text()) for job in (everyone, some)]
    assert [record["patients"]["learned"] for record in records] == [14, 12]
    # A note and a question of each: the question withheld is never trained on.
    assert [record["texts"]["learned"] for record in records] == [28, 24]
    losses = [json.loads(line)["loss"] for line in (everyone.out / CURVE_FILE).read_text().splitlines()]
    assert losses[-1] < losses[0]


def test_the_record_says_what_the_weights_come_from_and_names_nobody(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    unlearn(job, SPLIT, _plan("rmu"))
    text = (job.out / RECORD_FILE).read_text()
    record = json.loads(text)
    settings = record["settings"]
    assert settings["plan"]["method"] == "rmu"
    assert settings["plan"]["split"] == "random:15"
    assert settings["plan"]["objective"] == {"gamma": 1.0, "alpha": 1.0, "steering": 2.0, "seed": 1}
    assert settings["plan"]["training"]["learning_rate"] == 1e-3
    assert settings["plan"]["training"]["scope"] == record["trained"]["scope"] == "all"
    assert settings["model_digest"] == job.files.digest
    assert (settings["bench_digest"], settings["corpus_digest"]) == ("b" * 64, "c" * 64)
    assert {"torch", "transformers", "peft", "accelerate"} <= settings["libraries"].keys()
    assert record["trained"]["layer"] == 1
    assert not any(patient in text for patient in PATIENTS)
    exact = json.loads((job.out / EXACT_RECORD_FILE).read_text())
    assert exact["patients"] == {"forget": 2, "retain": 12}
    assert exact["texts"] == {"forget": 4, "retain": 24}
    assert exact["steps"] == len((job.out / CURVE_FILE).read_text().splitlines())
    beside = {path for path in job.out.iterdir() if path.name not in (RECORD_FILE, "evidence")}
    assert sorted(record["files"]) == sorted(path.name for path in beside)
    assert {path.parent.name for path in job.out.rglob("*") if path.name.endswith("jsonl")} == {"evidence"}
    assert {oct(path.stat().st_mode & 0o777) for path in job.out.rglob("*") if path.is_file()} == {"0o600"}
    assert oct((job.out / "evidence").stat().st_mode & 0o777) == "0o700"
    assert oct(job.out.stat().st_mode & 0o777) == "0o700"
    # It is a model like any other.
    assert inspect_model(job.out).tensors == job.files.tensors


def test_the_record_beside_the_weights_counts_nobody_and_confirms_no_guess(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    unlearn(job, replace(SPLIT, level="request", percent=14), _plan())
    record = json.loads((job.out / RECORD_FILE).read_text())
    settings = record["settings"]
    assert record.keys() == {"settings", "trained", "files"}
    # The percentage of a request tells how many it names.
    assert settings["plan"]["split"] == "request"
    # No digest but those of everything: one of ids would confirm a guess.
    assert {name for name in settings if "digest" in name} == {
        *("model_digest", "base_model_digest", "bench_digest", "corpus_digest")
    }
    assert settings.keys().isdisjoint({"patients", "texts"})


def test_a_directory_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    before = _bytes(job.files.directory)
    with pytest.raises(UsageError, match="other things"):
        unlearn(replace(job, out=job.files.directory), SPLIT, _plan())
    assert _bytes(job.files.directory) == before
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="not a directory"):
        unlearn(replace(job, out=tmp_path / "file"), SPLIT, _plan())


def test_a_finished_model_stays_and_other_settings_are_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    unlearn(job, SPLIT, _plan())
    before = {path: path.stat().st_mtime_ns for path in job.out.iterdir()}
    unlearn(job, SPLIT, _plan())
    assert {path: path.stat().st_mtime_ns for path in job.out.iterdir()} == before
    with pytest.raises(UsageError, match="plan"):
        unlearn(job, SPLIT, _plan("rmu"))
    with pytest.raises(UsageError, match="seed"):
        unlearn(replace(job, seed=7), SPLIT, _plan())
    with (job.out / "config.json").open("a") as file:
        file.write(" ")
    with pytest.raises(IntegrityError, match=r"config\.json"):
        unlearn(job, SPLIT, _plan())


def test_settings_that_changed_part_way_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    with monkeypatch.context() as patch:
        _killed_after(patch, 1)
        with pytest.raises(_Killed):
            unlearn(job, SPLIT, _plan())
    with pytest.raises(UsageError, match="plan"):
        unlearn(job, SPLIT, _plan(training=replace(QUICK, epochs=5)))


@pytest.mark.parametrize("rate", [1e30, float("inf")])
def test_a_training_that_diverges_leaves_nothing(tmp_path: Path, rate: float) -> None:
    job = make_job(tmp_path)
    wild = TrainingPlan(epochs=3, learning_rate=rate, micro_batch=2, micro_batches=1)
    with pytest.raises(BadInputError, match=r"diverged at step \d+.*--learning-rate"):
        unlearn(job, SPLIT, _plan(training=wild))
    assert not job.out.exists()
    # So that a lower rate may be tried in the same place.
    unlearn(job, SPLIT, _plan())
    assert (job.out / RECORD_FILE).is_file()


def test_an_error_before_the_first_checkpoint_leaves_the_place_free(tmp_path, monkeypatch) -> None:
    job = make_job(tmp_path)

    def no_memory(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(door, "load_network", no_memory)
        with pytest.raises(RuntimeError, match="out of memory"):
            unlearn(job, SPLIT, _plan())
    assert not job.out.exists()
    unlearn(job, SPLIT, _plan(training=replace(QUICK, micro_batch=1)))
    assert (job.out / RECORD_FILE).is_file()


def test_an_adapter_is_merged_first(tmp_path: Path) -> None:
    base, adapter, whole = tmp_path / "base", tmp_path / "adapter", tmp_path / "whole"
    base.mkdir()
    save_llama(base)
    save_adapter(base, adapter, r=2, target_modules=["q_proj"])
    files = inspect_adapted(adapter, base=base)
    job = make_job(tmp_path, files=files)
    unlearn(job, SPLIT, _plan())
    load_pretrained(files, dtype="auto").save_pretrained(whole)
    merged, made = _tensors(whole), _tensors(job.out)
    kept = {name for name, value in merged.items() if made[name] == value}
    assert kept == {name for name in merged if not name.startswith("model.layers.1.")}
    query = "model.layers.0.self_attn.q_proj.weight"
    assert _tensors(base)[query] != made[query]


def test_weights_are_written_in_the_type_they_were_stored_in(tmp_path: Path) -> None:
    import torch

    model = tmp_path / "model"
    model.mkdir()
    save_llama(model).to(torch.bfloat16).save_pretrained(model)
    job = make_job(tmp_path)
    unlearn(job, SPLIT, _plan())
    before, after = (load_file(path / "model.safetensors") for path in (model, job.out))
    assert {value.dtype for value in after.values()} == {torch.bfloat16}
    changed = {name for name, value in before.items() if not value.equal(after[name])}
    assert changed
    assert all(name.startswith("model.layers.1.") for name in changed)


_NOTES = {patient: (f"cc: cough {place}\n", f"hpi: rest {place}\n") for place, patient in enumerate(PATIENTS)}


# All weights are trained again in tests/end_to_end/test_forget.py, too.
@pytest.mark.parametrize("scope", ["lora", pytest.param("all", marks=pytest.mark.simulation)])
def test_a_base_is_trained_again_on_those_who_stay_and_its_record_says_so(tmp_path: Path, monkeypatch, scope) -> None:
    base, plan = tmp_path / "base", replace(QUICK, scope=scope, learning_rate=1e-2)
    base.mkdir()
    save_llama(base)
    stay = {patient: texts for patient, texts in _NOTES.items() if patient not in SPLIT.forget}
    again = partial(train_again, base, settings=plan, seed=3, progress=Progress(quiet=True))
    out = again(stay, tmp_path / "out")
    record = TrainingRecord.model_validate_json((out / "evidence" / "training-record.json").read_text())
    assert set(record.trained_on) == set(SPLIT.retain)
    assert record.started_from == inspect_model(base).digest
    assert digest_of_listed(record.files) == inspect_model(out).digest
    exact = json.loads((out / EXACT_RECORD_FILE).read_text())
    assert (exact["patients"], exact["texts"]) == ({"learned": 12}, {"learned": 24})
    losses = [json.loads(line)["loss"] for line in (out / CURVE_FILE).read_text().splitlines()]
    assert losses[-1] < losses[0]
    assert not any(patient in (out / RECORD_FILE).read_text() for patient in PATIENTS)
    # Killed and given again, it ends the same; of other notes it is another model.
    with monkeypatch.context() as patch:
        _killed_after(patch, 1)
        with pytest.raises(_Killed):
            again(stay, tmp_path / "resumed")
    again(stay, tmp_path / "resumed")
    assert _bytes(tmp_path / "resumed") == _bytes(out)
    with pytest.raises(UsageError, match="notes_digest"):
        again(_NOTES, out)
    with pytest.raises(BadInputError, match="no text"):
        again({}, tmp_path / "nobody")


class _Gpu(Device):
    """A processor on which is computed as on a GPU: in bfloat16, and activations twice."""

    @property
    def has_checkpoints(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("method", "scope"),
    [("kl_min", "lora"), ("rmu", "all"), pytest.param("sim_npo", "layer", marks=pytest.mark.simulation)],
)
def test_computed_as_on_a_gpu_it_goes_the_same_way(tmp_path: Path, monkeypatch, method, scope) -> None:
    plan = _plan(method, scope=scope, training=replace(QUICK, learning_rate=1e-2, epochs=2))
    jobs = [make_job(tmp_path, out=tmp_path / name) for name in ("float32", "half")]
    unlearn(jobs[0], SPLIT, plan)
    monkeypatch.setattr(Device, "find", lambda: _Gpu(0, is_half=True))
    unlearn(jobs[1], SPLIT, plan)
    # The weights were stored as float32: what is not trained keeps its bytes although it was held in bfloat16.
    assert _changed(jobs[1]) == _changed(jobs[0])
    curves = [[json.loads(line) for line in (job.out / CURVE_FILE).read_text().splitlines()] for job in jobs]
    for exact, half in zip(*curves, strict=True):
        assert half["loss"] == pytest.approx(exact["loss"], abs=0.05)
    assert curves[0] != curves[1]
