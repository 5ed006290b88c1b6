"""Does a perfect retrain pass the deletion certificate, and does the unchanged model fail it? On the demo's patients.

    python benchmarks/certificates.py            eleven trainings and twelve audits: about two hours on two cores
    python benchmarks/certificates.py --report   the table alone, of what is finished
    python benchmarks/certificates.py --null RUN how often patients never seen stand out, in a finished audit

A model is trained on the demo's 130 patients. Ten disjoint sets of ten of them are drawn, and each time the model is
trained again without the notes of ten, from the weights that the first training began with and in another order. Each
ten are two requests of five. Each request gets three certificates: of the retrained model, which never saw the five,
with its training record and without it, and of the model that did. All are audited by `clinaudit audit` and certified
by `clinaudit compare`. A stopped run goes on with the same command.

`--null` draws 200 requests of five patients whom the audited model never saw, and 200 from the third of them with the
longest charts. By the joint test one request in twenty may stand out.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.demo.training import PLAN, train_demo_model
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, take_libraries_offline
from clinaudit.audit.unlearning.certificate.joint_test import run_joint_test
from clinaudit.audit.unlearning.certificate.patient_figures import RunEvidence
from clinaudit.audit.unlearning.methods.model_folder import TRAINING_RECORD_FILE
from clinaudit.audit.unlearning.methods.texts import TrainingPlan
from clinaudit.audit.unlearning.methods.unlearn import train_again
from clinaudit.priors.corpus.corpus import Corpus, read_corpus

SETS, SET_SIZE, REQUEST_SIZE = 10, 10, 5
NULL_REQUESTS = 200
#: The second audit of the base stands for the unchanged model.
BASE, AGAIN, UNTRAINED = "base", "base-again", "untrained"
KINDS = ("retrained, with its training record", "retrained, without it", "unchanged")


def draw_sets(corpus: Corpus, *, seed: int) -> list[list[str]]:
    """Return ten disjoint sets of ten patients trained on."""
    drawn = random.Random(f"forgotten {seed}").sample(sorted(corpus.patient_ids("train")), SETS * SET_SIZE)
    return [sorted(drawn[start : start + SET_SIZE]) for start in range(0, len(drawn), SET_SIZE)]


def train_without(root: Path, corpus: Corpus, left_out: Sequence[str], number: int, *, seed: int) -> None:
    """Train the untrained model on everybody but the set of this number, as `clinaudit forget` does."""
    learned = [patient for patient in corpus.patient_ids("train") if patient not in left_out]
    notes = {patient: [note.text for note in corpus.notes_of(patient)] for patient in learned}
    plan = TrainingPlan(epochs=PLAN.epochs, learning_rate=PLAN.learning_rate)
    base, out = root / "models" / UNTRAINED, root / "models" / f"without-{number}"
    train_again(base, notes, out, settings=plan, seed=seed + 1 + number, progress=Progress())


def audit(root: Path, name: str, *, model: str) -> None:
    """Audit a model; a finished run stays."""
    run = root / "runs" / name
    if not (run / "results.json").is_file():
        given = ("--include-patients", root / "named.txt", "--out", run, "--quiet")
        run_clinaudit(root, f"audit-{name}", "audit", root / "models" / model, root / "corpus", *given)


def certify(root: Path, run: str, request: str, kind: int, *, record: Path | None = None) -> dict[str, object]:
    """Certify five patients; return the verdict, the p-values and why nobody is shown to be forgotten."""
    out = root / "certificates" / f"{request}-{kind}"
    file = out / "evidence" / "certificate.json"
    if not file.is_file():
        given = ["--forgotten", root / "requests" / f"{request}.txt", "--out", out]
        given += [] if record is None else ["--training-record", record]
        run_clinaudit(root, out.name, "compare", root / "runs" / BASE, root / "runs" / run, *given)
    certificate = json.loads(file.read_text(encoding="utf-8"))
    return {
        "kind": KINDS[kind],
        "request": request,
        "verdict": certificate["verdict"],
        "p_before": certificate["joint"]["p_value_before"],
        "p_after": certificate["joint"]["p_value"],
        "p_texts": min(patient["p_value_texts"] for patient in certificate["patients"]),
        "reasons": sorted({reason for one in (certificate, *certificate["patients"]) for reason in one["reasons"]}),
    }


def measure(root: Path, *, seed: int, sets: int) -> None:
    """Train, audit and certify what is not there yet."""
    take_libraries_offline()
    for folder in ("logs", "requests"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    if not (root / "corpus" / "patients.csv").is_file():
        write_demo_corpus(root / "corpus", seed=seed)
    corpus = read_corpus(root / "corpus")
    drawn = draw_sets(corpus, seed=seed)
    write_ids(root / "named.txt", [patient for one in drawn for patient in one])
    # The untrained model is kept as it was, for all trainings to begin with.
    models = root / "models"
    train_demo_model(root / "corpus", models / BASE, seed=seed, progress=Progress(), base=models / UNTRAINED)
    for name in (BASE, AGAIN):
        audit(root, name, model=BASE)
    rows = []
    for number, forgotten in enumerate(drawn[:sets]):
        name = f"without-{number}"
        train_without(root, corpus, forgotten, number, seed=seed)
        audit(root, name, model=name)
        for half, start in enumerate(range(0, SET_SIZE, REQUEST_SIZE)):
            request = f"{number}-{half}"
            write_ids(root / "requests" / f"{request}.txt", forgotten[start : start + REQUEST_SIZE])
            rows.append(certify(root, name, request, 0, record=models / name / TRAINING_RECORD_FILE))
            rows += [certify(root, name, request, 1), certify(root, AGAIN, request, 2)]
        (root / "certificates.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


def write_ids(path: Path, patients: Sequence[str]) -> None:
    """Write patients' ids, one a line."""
    path.write_text("".join(f"{patient}\n" for patient in patients), encoding="utf-8")


def run_clinaudit(root: Path, log: str, *arguments: str | Path) -> None:
    """Run a command, whose verdict may be any; stop where it fails."""
    with (root / "logs" / f"{log}.log").open("ab") as file:
        command = [sys.executable, "-m", "clinaudit", *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
    if ended.returncode not in (0, 1, 8):
        raise SystemExit(f"{log} ended with {ended.returncode}; {file.name} says why")


def report_lines(root: Path) -> Iterator[str]:
    """Yield the table: the verdicts of each kind on all requests, and why."""
    rows = json.loads((root / "certificates.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        own = [row for row in rows if row["kind"] == kind]
        yield f"{kind}: {dict(Counter(row['verdict'] for row in own))}"
        yield from (f"  {count:2} {reason}" for reason, count in Counter(r for o in own for r in o["reasons"]).items())
        for name in ("p_before", "p_after", "p_texts"):
            yield f"  {name}: {sorted(round(row[name], 3) for row in own)}"


def null_lines(run: Path, *, seed: int) -> Iterator[str]:
    """Yield how many requests of five patients whom the audited model never saw would "still leak"."""
    evidence = RunEvidence(RunDirectory(run))
    never_seen = sorted(evidence.answers.filter(arm="nontrain")["patient_id"].unique())
    sizes = evidence.chart_tokens
    longest = sorted(never_seen, key=lambda one: -sizes.get(one, 0))[: len(never_seen) // 3]
    for words, drawn_from in (("any", never_seen), ("with the longest charts", longest)):
        rng = random.Random(f"null {seed}")
        failing = 0
        for _ in range(NULL_REQUESTS):
            named = rng.sample(drawn_from, REQUEST_SIZE)
            test = run_joint_test(evidence.pool(named), named)
            failing += any(map(test.fails, named))
        yield f"of {NULL_REQUESTS} requests of {REQUEST_SIZE} patients never seen, {words}: {failing} still leak"


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/certificates"), help="where everything is kept")
    parser.add_argument("--report", action="store_true", help="measure nothing more")
    parser.add_argument("--null", type=Path, metavar="RUN", help="draw requests of patients never seen from this audit")
    parser.add_argument("--sets", type=int, default=SETS, help="how many of the ten sets to measure (default all)")
    parser.add_argument("--seed", type=int, default=0, help="of patients and models")
    args = parser.parse_args()
    if args.null is None and not args.report:
        measure(args.folder.absolute(), seed=args.seed, sets=args.sets)
    told = report_lines(args.folder) if args.null is None else null_lines(args.null, seed=args.seed)
    print("\n".join(told))


if __name__ == "__main__":
    main()
