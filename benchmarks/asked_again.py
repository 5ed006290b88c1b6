"""A model whose greedy answers pass and that gives notes away when it is asked again (docs/methods.md, section 13).

    python benchmarks/asked_again.py FOLDER [--patients 700] [--passes 13]
    python benchmarks/asked_again.py FOLDER --samples 8 --tier encounter_cc --patients-per-cell 50 --diagnosis hiv ...

Writes the demo's charts of so many patients a split, of each the latest note alone, has the demo's model learn one
split in fewer passes than the demo takes, and audits it at the two tiers before the history. Half an hour of two cores.
With `--samples` it shows what drawn answers give beside the greedy one, of as many patients as there is time for.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from clinaudit.audit.api.functions import run_audit
from clinaudit.audit.demo.corpus import NOTES_FILE, write_demo_corpus
from clinaudit.audit.demo.training import DEFAULT_PLAN, train_demo_model
from clinaudit.audit.runtime.console.progress import Progress


def write_latest_notes(corpus: Path, *, patients: int) -> None:
    """Write the demo's corpus with the latest note of each patient alone."""
    write_demo_corpus(corpus, seed=0, patients_per_arm=patients)
    lines = (corpus / NOTES_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    latest: dict[str, tuple[str, str]] = {}
    for line in lines:
        note = json.loads(line)
        latest[note["patient_id"]] = max(
            latest.get(note["patient_id"], ("", "")), (note["visit_date"], line), key=lambda of: of[0]
        )
    (corpus / NOTES_FILE).write_text("".join(line for _, line in latest.values()), encoding="utf-8")


def main() -> None:
    """Make the corpus and the model, audit it, and print the rules on its own text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--patients", type=int, default=700)
    parser.add_argument("--passes", type=int, default=13)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--tier", nargs="+", default=["encounter", "encounter_cc"])
    parser.add_argument("--patients-per-cell", type=int)
    parser.add_argument("--diagnosis", nargs="*", default=[])
    given = parser.parse_args()
    corpus, model = given.folder / "corpus", given.folder / "model"
    if not corpus.exists():
        write_latest_notes(corpus, patients=given.patients)
    if not model.exists():
        train_demo_model(corpus, model, seed=0, progress=Progress(), plan=replace(DEFAULT_PLAN, epochs=given.passes))
    results = run_audit(
        model,
        corpus,
        out=given.folder / "run",
        patients_per_cell=given.patients_per_cell or given.patients // 2,
        tier=tuple(given.tier),
        diagnosis=tuple(given.diagnosis),
        fragment="opening",
        prompt_form="text",
        ordinary=False,
        max_new_tokens=200,
        samples=given.samples,
    )
    for rule in [] if results.decision is None else results.decision.rules:
        if rule.metric in ("attributable_fraction", "queries_needed"):
            print(rule.status, rule.id, rule.observed)


if __name__ == "__main__":
    main()
