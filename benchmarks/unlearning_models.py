"""What the benchmark of unlearning is measured on: the demo's patients, their questions, and the demo's model.

Owns who is trained on and who is not. The rest is done by the product's own commands (unlearning_steps.py).

    python benchmarks/unlearning_models.py CORPUS MODEL SEED EPOCHS       trains the demo's model on a corpus
"""

import csv
import io
import json
import random
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clinaudit.audit.demo.corpus import DIAGNOSES_FILE, NOTES_FILE, PATIENTS_FILE, TRUTH_FILE, write_demo_corpus
from clinaudit.audit.demo.training import DEFAULT_PLAN, train_demo_model
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, take_libraries_offline
from clinaudit.audit.unlearning.benchmark.files import Bench, read_bench, write_bench
from clinaudit.audit.unlearning.benchmark.records import Question
from clinaudit.priors.corpus.corpus import read_corpus

#: Questions of one kind that a patient's model is trained on; `unlearn build` asks three.
_QUESTIONS_A_KIND = 2


def write_corpus(folder: Path, *, trained: int, never_trained: int, seed: int) -> None:
    """Write the demo's corpus with so many patients trained on, and fewer never trained on."""
    with TemporaryDirectory(dir=folder.parent) as scratch:
        whole = Path(scratch) / "corpus"
        write_demo_corpus(whole, seed=seed, patients_per_arm=max(trained, never_trained))
        splits = splits_of(whole)
        kept: set[str] = set()
        for split, count in (("train", trained), ("nontrain", never_trained)):
            of_split = sorted(patient for patient, own in splits.items() if own == split)
            kept.update(random.Random(f"{seed} {split}").sample(of_split, count))
        _copy(whole, folder, kept=kept, untrained=())


def write_corpus_without(corpus: Path, folder: Path, forgotten: Collection[str]) -> None:
    """Write the same corpus, in which `forgotten` patients are not trained on."""
    _copy(corpus, folder, kept=set(splits_of(corpus)), untrained=forgotten)


def thin_bench(built: Path, folder: Path) -> None:
    """Write a benchmark with fewer questions a patient: two of a kind to train on, and the one that is withheld."""
    bench = read_bench(built)
    chosen: dict[tuple[str, ...], list[Question]] = {}
    for one in bench.questions:
        chosen.setdefault((one.patient_id, one.kind, one.use), []).append(one)
    held = {one.qa_id for same in chosen.values() for one in same[:_QUESTIONS_A_KIND]}
    document = json.loads((built / "bench.json").read_text(encoding="utf-8"))
    corpus = Path(document["corpus"]["path"])
    thinned = Bench.of(
        read_corpus(corpus),
        patients=bench.patients,
        questions=[one for one in bench.questions if one.qa_id in held],
        splits=bench.splits,
        keywords=[one for one in bench.keywords if one.qa_id in held],
        settings={**bench.settings, "thinned": _QUESTIONS_A_KIND},
        counts=bench.counts,
    )
    run = RunDirectory(folder)
    run.create()
    with hold_lock(run):
        write_bench(folder, thinned, corpus_path=corpus)


def splits_of(corpus: Path) -> dict[str, str]:
    """Return which split each patient of a corpus is in."""
    with (corpus / PATIENTS_FILE).open(encoding="utf-8", newline="") as file:
        return {row["patient_id"]: row["split"] for row in csv.DictReader(file)}


def _copy(corpus: Path, folder: Path, *, kept: Collection[str], untrained: Collection[str]) -> None:
    """Copy the rows of `kept` patients; those `untrained` are in the other arm there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (TRUTH_FILE, NOTES_FILE):
        rows = [json.loads(line) for line in (corpus / name).read_text(encoding="utf-8").splitlines()]
        own = [row for row in rows if row["patient_id"] in kept]
        for row in own:
            if "split" in row and row["patient_id"] in untrained:
                row["split"] = "nontrain"
        (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in own), encoding="utf-8")
    for name in (DIAGNOSES_FILE, PATIENTS_FILE):
        with (corpus / name).open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            table = [row for row in reader if row["patient_id"] in kept]
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, reader.fieldnames or (), lineterminator="\n")
        writer.writeheader()
        for line in table:
            is_moved = "split" in line and line["patient_id"] in untrained
            writer.writerow({**line, "split": "nontrain"} if is_moved else line)
        (folder / name).write_text(text.getvalue(), encoding="utf-8")


def main() -> None:
    """Train the demo's model on a corpus, in a process of its own."""
    corpus, model, seed, epochs = sys.argv[1:]
    take_libraries_offline()
    plan = replace(DEFAULT_PLAN, epochs=int(epochs))
    train_demo_model(Path(corpus), Path(model), seed=int(seed), progress=Progress(), plan=plan)


if __name__ == "__main__":
    main()
