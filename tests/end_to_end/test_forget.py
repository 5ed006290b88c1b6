"""`clinaudit forget` on the small demo: from the ids to a certificate, stopped, gone on with, and refused."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from clinaudit.audit import deletion_requests as door
from clinaudit.audit.commands.forget import forget as command
from clinaudit.audit.commands.main import run as clinaudit
from clinaudit.audit.deletion_requests import enter_request, read_register
from clinaudit.errors import BadInputError, UsageError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tiny_demo, tmp_path_factory) -> Path:
    """The small demo's model as it was before it learned anything."""
    from transformers import AutoConfig, AutoTokenizer, LlamaForCausalLM

    from clinaudit.audit.runtime.model.pretrained import deterministic

    folder = tmp_path_factory.mktemp("base")
    with deterministic(seed=3):
        LlamaForCausalLM(AutoConfig.from_pretrained(tiny_demo.model)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_demo.model).save_pretrained(folder)
    return folder


def test_a_request_ends_in_a_certificate(tiny_demo, base: Path, tmp_path: Path, monkeypatch) -> None:
    config, ids, out, corpus = (tmp_path / name for name in ("audit.toml", "ids.txt", "request", "corpus"))
    config.write_text('engine = "transformers"\ndiagnosis = ["hiv"]\neveryday = false\nmax-new-tokens = 40\n')
    # One patient chose a checkpoint, and one stands under a second id. Of those trained on ten are enough; of those
    # never seen the test needs 19.
    shutil.copytree(tiny_demo.corpus, corpus)
    patients = pl.read_csv(corpus / "patients.csv")
    patients = pl.concat([patients.filter(split="train")[:10], patients.filter(split="nontrain")])
    diagnoses = pl.read_csv(corpus / "diagnoses.csv")
    diagnoses.join(patients, on="patient_id", how="semi").write_csv(corpus / "diagnoses.csv")
    *trained, held = patients.filter(split="train")["patient_id"]
    split = pl.when(pl.col("patient_id") == held).then(pl.lit("validation")).otherwise("split").alias("split")
    again = patients.filter(patient_id=trained[0]).with_columns(patient_id=pl.lit("second"))
    pl.concat([patients.with_columns(split), again]).write_csv(corpus / "patients.csv")
    notes = pl.read_ndjson(corpus / "notes.jsonl").join(patients, on="patient_id", how="semi", maintain_order="left")
    copies = notes.filter(patient_id=trained[0])
    copies = copies.with_columns(patient_id=pl.lit("second"), note_id="second " + pl.col("note_id"))
    pl.concat([notes, copies]).write_ndjson(corpus / "notes.jsonl")
    ids.write_text(f"{trained[0]}\n{held}\n")

    def run(*options: str | Path, out: Path = out) -> tuple[int, str]:
        given = [tiny_demo.model, corpus, ids, "--out", out, "--config", config, "--train", "all"]
        given += ["--epochs", "12", "--learning-rate", "4e-3", *options]
        ended = CliRunner().invoke(command, list(map(str, given)), standalone_mode=False)
        if ended.exception is not None:
            raise ended.exception
        return ended.return_value, ended.stdout

    with pytest.raises(UsageError, match="--base-model"):
        run()
    with pytest.raises(UsageError, match="exclude"):
        run("--base-model", base, "--new-model", tiny_demo.model)
    with pytest.raises(UsageError, match="--training-record"):
        run("--base-model", base, "--training-record", ids)
    ids.write_text(f"{trained[0]}\nnobody\n")
    with pytest.raises(BadInputError, match="cannot be probed") as error:
        run("--base-model", base)
    assert error.value.problems == ("ids.txt line 2: no patient with notes has this id",)
    assert not out.exists()

    ids.write_text(f"{held}\n")
    with pytest.raises(BadInputError, match="request 1 is entered"):
        run("--base-model", base, out=tmp_path / "of validation")
    ids.write_text(f"{trained[0]}\n{held}\n")
    with monkeypatch.context() as patch:
        patch.setattr(door, "certify_runs", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run("--base-model", base)
    weights = (out / "model" / "model.safetensors").stat()
    ids.write_text(f"second\n{held}\n")
    status, said = run("--base-model", base)
    assert (out / "model" / "model.safetensors").stat().st_mtime_ns == weights.st_mtime_ns
    record = json.loads((out / "model" / "evidence" / "training-record.json").read_text())
    assert set(record["trained_on"]) == {*trained} - {trained[0]}
    certificate = json.loads((out / "certificate" / "evidence" / "certificate.json").read_text())
    assert (status, certificate["verdict"]) == (0, "never trained on")
    assert [one["patient_id"] for one in certificate["patients"]] == [trained[0]]
    entered = read_register(tmp_path / "deletion-register").select("request", "patient_id").rows()
    assert entered == [(1, held), (2, trained[0]), (2, held)]
    assert "May the patient be told that it is done? Yes" in said
    assert [one["group"] for one in certificate["price"]] == ["retained", "controls"]
    outside = [path for path in out.rglob("*") if path.is_file() and "evidence" not in path.parts]
    assert not any(trained[0].encode() in path.read_bytes() for path in outside)

    # An unchanged model still leaks, by the same test.
    runs = ["compare", out / "before", out / "before", "--forgotten", ids, "--out", tmp_path / "unchanged"]
    assert clinaudit(list(map(str, runs))) == 1
    unchanged = json.loads((tmp_path / "unchanged" / "evidence" / "certificate.json").read_text())
    assert unchanged["verdict"] == "still leaks"

    # An audit of before that cannot be compared is refused before anything is trained.
    with pytest.raises(BadInputError, match="did not ask about 1 of 2"):
        door._require_asked(out / "before", [trained[0], "absent"])
    other = tmp_path / "other.toml"
    other.write_text(config.read_text().replace("= 40", "= 41"))
    with pytest.raises(BadInputError, match="--max-new-tokens"):
        run("--base-model", base, "--before", out / "before", "--config", other, out=tmp_path / "second")
    # What would end with hours of work for nothing is refused before the request is entered.
    for options, said in (
        (("--new-model", tiny_demo.model), "is MODEL itself"),
        (("--base-model", tiny_demo.model), "is MODEL itself"),
        (("--base-model", out / "model"), "was trained here"),
        (("--new-model", out / "model", "--training-record", tmp_path / "none.json"), "no such file"),
    ):
        with pytest.raises(BadInputError, match=said):
            run(*options, out=tmp_path / "third")
    with pytest.raises(UsageError, match="lies in"):
        run("--base-model", base, out=corpus / "within")
    assert not (tmp_path / "third").exists()
    # Whoever asked since then may have been learned: a finished request says so, and changes nothing.
    enter_request(tmp_path / "fourth", [trained[2]], tmp_path / "deletion-register")
    with pytest.raises(UsageError, match="asked to be forgotten after"):
        run("--base-model", base)
