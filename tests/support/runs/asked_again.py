"""A small audit that asks beyond the prompts of its tiers: a control model, and everyday tasks of a site's own."""

import csv
import json
from pathlib import Path
from typing import Final

from support.runs.tiny_demo import TinyDemo

#: So few tokens that what takes long are not the tasks that ship.
_SHORT: Final = ["--quiet", "--engine", "transformers", "--max-new-tokens", "24", "--ngram", "10", "--max-batch", "16"]
_ASKED: Final = ["--tier", "encounter", "--patients-per-cell", "3"]


def few_patients(tiny_demo: TinyDemo, folder: Path, *, each: int = 10) -> TinyDemo:
    """Write the corpus of the first patients of either split, beside the same model."""
    folder.mkdir()
    with (tiny_demo.corpus / "patients.csv").open(encoding="utf-8", newline="") as file:
        splits = {row["patient_id"]: row["split"] for row in csv.DictReader(file)}
    kept = {name for split in ("train", "nontrain") for name in [own for own in splits if splits[own] == split][:each]}
    for table in ("patients.csv", "diagnoses.csv"):
        head, *rows = (tiny_demo.corpus / table).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / table).write_text(head + "".join(row for row in rows if row.split(",")[0] in kept), encoding="utf-8")
    notes = (tiny_demo.corpus / "notes.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    own_notes = [line for line in notes if json.loads(line)["patient_id"] in kept]
    (folder / "notes.jsonl").write_text("".join(own_notes), encoding="utf-8")
    return TinyDemo(folder, tiny_demo.model)


def save_untrained(model: Path, directory: Path) -> Path:
    """Save a model of the same shape and tokenizer, with random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    with torch.random.fork_rng():
        torch.manual_seed(1)
        AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model)).save_pretrained(directory)
    AutoTokenizer.from_pretrained(model).save_pretrained(directory)
    return directory


def options_asked_again(model: Path, folder: Path) -> list[str]:
    """Write a control model and everyday tasks into a folder; return the options of the audit."""
    control, tasks = save_untrained(model, folder / "control"), folder / "tasks.jsonl"
    rows = [{"id": f"ours-{n}", "text": f"Write letter {n} about a cough."} for n in range(3)]
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return [*_SHORT, *_ASKED, "--control-model", str(control), "--tasks", str(tasks)]
