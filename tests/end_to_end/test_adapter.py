"""An adapter really trained with peft on the demo's notes: audited with its base, it is the merged model."""

import json
import shutil
from importlib.util import find_spec

import polars as pl
import pytest
from support.models.tiny_models import peft_merged
from support.runs.command_line import command, run_command
from support.runs.tables import exact_of
from support.runs.tiny_demo import TinyDemo

from clinaudit.reports.estimates.frame import PLACE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("peft") is None, reason="peft is not installed: no adapter can be trained"),
]
OPTIONS = ["--tier", "encounter", "--diagnosis", "hiv", "--max-new-tokens", "60"]
OPTIONS += ["--ngram", "10", "--engine", "transformers", "--no-everyday"]
OTHER_BATCHES = ["--max-batch", "7"]
STEPS = 25


def train_adapter(tiny, directory):
    """Tune an adapter on notes of patients whom the base has not seen."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    rows = [json.loads(line) for line in (tiny.corpus / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    tokenizer = AutoTokenizer.from_pretrained(tiny.model)
    base = AutoModelForCausalLM.from_pretrained(tiny.model, dtype=torch.float32)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        settings = LoraConfig(r=8, lora_alpha=32, target_modules="all-linear", use_rslora=True, task_type="CAUSAL_LM")
        model = get_peft_model(base, settings)
        optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=3e-3)
        for row in rows[:STEPS]:
            ids = torch.tensor([tokenizer.encode(row["text"])[:200]])
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    model.save_pretrained(directory)


@pytest.fixture(scope="module")
def models(tiny_demo, tmp_path_factory):
    import torch

    room = tmp_path_factory.mktemp("adapted")
    train_adapter(tiny_demo, room / "adapter")
    peft_merged(tiny_demo.model, room / "adapter", dtype=torch.float32).save_pretrained(room / "merged")
    for file in tiny_demo.model.glob("tokenizer*"):
        shutil.copy(file, room / "merged")
    # What trainers leave beside the weights; nothing opens it.
    (room / "adapter" / "optimizer.pt").write_bytes(b"\x80\x04not a pickle of anything.")
    return room


def line(tiny_demo, model, run, *options):
    return command(TinyDemo(tiny_demo.corpus, model), run, *OPTIONS, *options)


@pytest.fixture(scope="module")
def runs(tiny_demo, models, tmp_path_factory):
    """The adapter with its base, and the merged model in batches of another size."""
    folder = tmp_path_factory.mktemp("adapter-runs")
    of_adapter = run_command(
        line(tiny_demo, models / "adapter", folder / "adapter", "--base-model", str(tiny_demo.model))
    )
    of_merged = run_command(line(tiny_demo, models / "merged", folder / "merged", *OTHER_BATCHES))
    for done, names_optimizer in ((of_adapter, True), (of_merged, False)):
        assert done.returncode in (1, 8), done.stderr
        assert ("optimizer.pt" in done.stderr) is names_optimizer
    return folder


def read(place):
    return json.loads(place.read_text(encoding="utf-8"))


def test_an_adapter_is_audited_as_the_merged_model_generation_for_generation(tiny_demo, runs):
    of_both, of_merged = (
        pl.read_parquet(runs / name / "evidence" / "generations.parquet").sort("generation_id")
        for name in ("adapter", "merged")
    )
    # The base, without being named, is the control, and is asked about those trained on; the merged model has none.
    of_control = of_both.filter(model="control")
    of_adapter = of_both.filter(model="audited")
    assert of_control["prompt"].sort().equals(of_adapter.filter(arm="train")["prompt"].sort())
    assert not of_adapter.filter(arm="nontrain").is_empty()
    assert set(of_control["text"]).isdisjoint(of_adapter["text"])
    assert of_adapter.height > 20
    # In float32 on a CPU no result depends on the batch.
    assert of_adapter.equals(of_merged)
    adapter, merged = (exact_of(runs / name).frame for name in ("adapter", "merged"))
    # So do figures of the control, and those that are measured against it; the control's scores are a score more.
    by_control = pl.col("arm").str.contains("control") | pl.col("metric").str.starts_with("membership")
    assert adapter.filter(pl.col("arm") == "control")["metric"].n_unique() > 10
    assert merged.filter(pl.col("arm").str.contains("control")).is_empty()
    counted = pl.col("metric").is_in(["planned", "missing", "judged"])
    ours, theirs = (table.filter(~by_control & ~counted) for table in (adapter, merged))
    assert ours.sort(list(PLACE)).equals(theirs.sort(list(PLACE)))

    # The adapter changed the model: not what the base would give.
    record, other = (read(runs / name / "run.json") for name in ("adapter", "merged"))
    assert (record["ignored files"], other["ignored files"]) == (["optimizer.pt"], [])
    digests = record["digests"]
    assert len({digests["model"], digests["base model"], digests["adapter"]}) == 3
    assert record["settings"]["--base-model"] == digests["base model"]
    assert "adapter" not in other["digests"]
