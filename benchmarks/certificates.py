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
import csv
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.demo.corpus import PATIENTS_FILE, write_demo_corpus
from clinaudit.audit.demo.training import DEFAULT_PLAN, train_demo_model
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, take_libraries_offline
from clinaudit.audit.unlearning.certificate.evidence import RunEvidence
from clinaudit.audit.unlearning.certificate.joint_test import Pool, run_joint_test
from clinaudit.audit.unlearning.certificate.patient_figures import read_audit_figures
from clinaudit.audit.unlearning.methods.model_folder import TRAINING_RECORD_FILE
from clinaudit.audit.unlearning.methods.texts import TrainingPlan
from clinaudit.audit.unlearning.methods.unlearn import train_again
from clinaudit.priors.corpus.corpus import read_corpus

SETS, SET_SIZE, REQUEST_SIZE = 10, 10, 5
NULL_REQUESTS = 200
BASE, AGAIN = "base", "base-again"
KINDS = ("retrained, with its training record", "retrained, without it", "unchanged")


@dataclass(frozen=True, slots=True)
class Folder:
    """Where everything lies."""

    root: Path

    @property
    def corpus(self) -> Path:
        """The corpus that all models are audited on."""
        return self.root / "corpus"

    def model(self, name: str) -> Path:
        """Return the directory of a model; the base's second audit is of the same one."""
        return self.root / "models" / (BASE if name == AGAIN else name)

    def run(self, name: str) -> Path:
        """Return the directory of an audit."""
        return self.root / "runs" / name


def draw_sets(corpus: Path, *, seed: int) -> list[list[str]]:
    """Return ten disjoint sets of ten patients trained on."""
    with (corpus / PATIENTS_FILE).open(encoding="utf-8", newline="") as file:
        trained = sorted(row["patient_id"] for row in csv.DictReader(file) if row["split"] == "train")
    drawn = random.Random(f"forgotten {seed}").sample(trained, SETS * SET_SIZE)
    return [sorted(drawn[start : start + SET_SIZE]) for start in range(0, len(drawn), SET_SIZE)]


def train_base(folder: Folder, *, seed: int) -> None:
    """Train the demo's model on all; `untrained` keeps it as it was before, for all trainings to begin with."""
    untrained = folder.root / "models" / "untrained"
    train_demo_model(folder.corpus, folder.model(BASE), seed=seed, progress=Progress(), base=untrained)


def train_without(folder: Folder, number: int, *, seed: int) -> None:
    """Train the untrained model on everybody but the set of this number, as `clinaudit forget` does."""
    corpus = read_corpus(folder.corpus)
    left_out = {*draw_sets(folder.corpus, seed=seed)[number]}
    learned = [patient for patient in corpus.patient_ids("train") if patient not in left_out]
    plan = TrainingPlan(epochs=DEFAULT_PLAN.epochs, learning_rate=DEFAULT_PLAN.learning_rate)
    notes = {patient: [note.text for note in corpus.notes_of(patient)] for patient in learned}
    out, base = folder.model(f"without-{number}"), folder.root / "models" / "untrained"
    train_again(base, notes, out, settings=plan, seed=seed + 1 + number, progress=Progress())


def audit(folder: Folder, name: str) -> None:
    """Audit a model; a finished run stays."""
    if (folder.run(name) / "results.json").is_file():
        return
    given = ("--include-patients", folder.root / "named.txt", "--out", folder.run(name), "--quiet")
    _clinaudit(folder, f"audit-{name}", "audit", folder.model(name), folder.corpus, *given, accepts=(0, 1, 8))


@dataclass(frozen=True, slots=True)
class Job:
    """One certificate: of which model, on which five, and what the trainer states."""

    kind: str
    model: str
    request: str
    patients: Sequence[str]
    record: Path | None = None


def certify(folder: Folder, job: Job) -> dict[str, object]:
    """Certify five patients; return the verdict, the p-values and why nobody is shown to be forgotten."""
    out = folder.root / "certificates" / f"{job.request}-{KINDS.index(job.kind)}"
    ids = folder.root / "requests" / f"{job.request}.txt"
    ids.parent.mkdir(parents=True, exist_ok=True)
    ids.write_text("".join(f"{patient}\n" for patient in job.patients), encoding="utf-8")
    if not (out / "evidence" / "certificate.json").is_file():
        given = ["--forgotten", ids, "--out", out, *(() if job.record is None else ("--training-record", job.record))]
        _clinaudit(folder, out.name, "compare", folder.run(BASE), folder.run(job.model), *given, accepts=(0, 1, 8))
    certificate = json.loads((out / "evidence" / "certificate.json").read_text(encoding="utf-8"))
    return {
        "kind": job.kind,
        "request": job.request,
        "verdict": certificate["verdict"],
        "p_before": certificate["joint"]["p_value_before"],
        "p_after": certificate["joint"]["p_value"],
        "p_texts": min(patient["p_value_texts"] for patient in certificate["patients"]),
        "reasons": sorted({reason for one in (certificate, *certificate["patients"]) for reason in one["reasons"]}),
    }


def measure(folder: Folder, *, seed: int, sets: int) -> None:
    """Train, audit and certify what is not there yet."""
    take_libraries_offline()
    if not (folder.corpus / "patients.csv").is_file():
        write_demo_corpus(folder.corpus, seed=seed)
    drawn = draw_sets(folder.corpus, seed=seed)
    (folder.root / "named.txt").write_text(
        "".join(f"{patient}\n" for one in drawn for patient in one), encoding="utf-8"
    )
    train_base(folder, seed=seed)
    for name in (BASE, AGAIN):
        audit(folder, name)
    rows = []
    for number, forgotten in enumerate(drawn[:sets]):
        train_without(folder, number, seed=seed)
        audit(folder, f"without-{number}")
        rows += [certify(folder, job) for job in plan_certificates(folder, number, forgotten)]
        (folder.root / "certificates.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


def plan_certificates(folder: Folder, number: int, forgotten: Sequence[str]) -> list[Job]:
    """Return the certificates of both requests of a set, one a kind."""
    model, jobs = f"without-{number}", []
    record = folder.model(model) / TRAINING_RECORD_FILE
    for half, start in enumerate(range(0, SET_SIZE, REQUEST_SIZE)):
        given = f"{number}-{half}", forgotten[start : start + REQUEST_SIZE]
        jobs += [Job(KINDS[0], model, *given, record), Job(KINDS[1], model, *given), Job(KINDS[2], AGAIN, *given)]
    return jobs


def report_lines(folder: Folder) -> Iterator[str]:
    """Yield the table: the verdicts of each kind on all requests, and why."""
    rows = json.loads((folder.root / "certificates.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        own = [row for row in rows if row["kind"] == kind]
        yield f"{kind}: {dict(Counter(row['verdict'] for row in own))}"
        yield from (f"  {count:2} {reason}" for reason, count in Counter(r for o in own for r in o["reasons"]).items())
        for name in ("p_before", "p_after", "p_texts"):
            yield f"  {name}: {sorted(round(row[name], 3) for row in own)}"


def null_lines(run: Path, *, seed: int) -> Iterator[str]:
    """Yield how many requests of five patients whom the audited model never saw would "still leak"."""
    evidence = RunEvidence(RunDirectory(run))
    never_seen = sorted({answer.patient_id for answer in evidence.metrics if answer.arm == "nontrain"})
    sizes = evidence.chart_tokens
    longest = sorted(never_seen, key=lambda one: -sizes.get(one, 0))[: len(never_seen) // 3]
    for words, drawn_from in (("any", never_seen), ("with the longest charts", longest)):
        rng = random.Random(f"null {seed}")
        failing = 0
        for _ in range(NULL_REQUESTS):
            named = rng.sample(drawn_from, REQUEST_SIZE)
            figures = read_audit_figures(evidence, named).figures
            test = run_joint_test(Pool(figures, {*never_seen} - {*named}, sizes), named)
            failing += any(map(test.fails, named))
        yield f"of {NULL_REQUESTS} requests of {REQUEST_SIZE} patients never seen, {words}: {failing} still leak"


def _clinaudit(folder: Folder, log: str, *arguments: str | Path, accepts: Sequence[int]) -> None:
    (folder.root / "logs").mkdir(exist_ok=True)
    with (folder.root / "logs" / f"{log}.log").open("ab") as file:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "clinaudit", *arguments]
        ended = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
    if ended.returncode not in accepts:
        raise SystemExit(f"{log} ended with {ended.returncode}; {file.name} says why")


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/certificates"), help="where everything is kept")
    parser.add_argument("--report", action="store_true", help="measure nothing more")
    parser.add_argument("--null", type=Path, metavar="RUN", help="draw requests of patients never seen from this audit")
    parser.add_argument("--sets", type=int, default=SETS, help="how many of the ten sets to measure (default all)")
    parser.add_argument("--seed", type=int, default=0, help="of patients and models")
    args = parser.parse_args()
    if args.null is not None:
        print("\n".join(null_lines(args.null, seed=args.seed)))
        return
    folder = Folder(args.folder.absolute())
    folder.root.mkdir(parents=True, exist_ok=True)
    if not args.report:
        measure(folder, seed=args.seed, sets=args.sets)
    print("\n".join(report_lines(folder)))


if __name__ == "__main__":
    main()
