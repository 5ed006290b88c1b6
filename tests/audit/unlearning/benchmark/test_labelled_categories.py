"""How often a note's category is the one that a reader gave it, who had not seen the program's.

The labels say what each note is about: the disease that the visit was for, and where that was no disease (a yearly
examination, a refill, tiredness), the first one assessed. The words of the taxonomy were completed on the half of the
labels that is marked so; the other half tells.
"""

import csv
from pathlib import Path

import pytest
from support.aci_bench import ACI_BENCH

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.unlearning.benchmark.categories import assign_category
from clinaudit.audit.unlearning.benchmark.charts import Chart, ChartReader
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.templates.profile import load_profile

_SUPPORT = Path(__file__).resolve().parents[3] / "support"


def read_labels(name: str) -> list[dict[str, str]]:
    with (_SUPPORT / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def count_agreement(corpus_path: Path, labels: list[dict[str, str]]) -> dict[str, tuple[int, int]]:
    """By half: how many notes have the reader's category, and of how many."""
    corpus = read_corpus(corpus_path)
    reader = ChartReader(corpus, load_profile())
    notes = {note.note_id: note for patient_id in corpus.patients for note in reader.read(patient_id).notes}
    found = {}
    for half in ("tuned on", "held out"):
        own = [row for row in labels if row["half"] == half]
        for row in own:
            assert row.get("assessment", "") in notes[row["note_id"]].text
        agreed = sum(assign_category(Chart("P", (notes[row["note_id"]],))).primary == row["category"] for row in own)
        found[half] = (agreed, len(own))
    return found


def test_notes_of_the_demo_have_the_readers_category(tmp_path: Path) -> None:
    write_demo_corpus(tmp_path / "corpus", seed=29, patients_per_arm=300)
    found = count_agreement(tmp_path / "corpus", read_labels("unlearning/demo_note_categories.csv"))
    assert found == {"tuned on": (50, 50), "held out": (48, 50)}


@pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")
def test_notes_of_aci_bench_have_the_readers_category() -> None:
    found = count_agreement(ACI_BENCH, read_labels("aci_bench/note_categories.csv"))
    # Nine tenths of the fifty.
    assert found == {"tuned on": (24, 25), "held out": (22, 25)}
