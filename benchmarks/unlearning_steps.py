"""The steps of the benchmark of unlearning: commands of the product, each with what it makes and what it needs.

Owns what is trained, unlearned and evaluated with which options, and that steps run at most so many at once. A step
whose result is there is not run again, so that a stopped benchmark goes on. Knows nothing of tables.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

from unlearning_models import thin_bench, write_corpus, write_corpus_without

from clinaudit.audit.runtime.choices import UnlearningMethod
from clinaudit.audit.unlearning.benchmark.files import read_bench

METHODS: tuple[str, ...] = get_args(UnlearningMethod)
BASELINE = "baseline"
SECONDS_FILE = "seconds.jsonl"
SPLITS_FILE = "splits.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What is measured."""

    trained: int = 150
    never_trained: int = 40
    #: Shares of the patients trained on that are forgotten; on the first of `tried` learning rates are chosen.
    percents: tuple[int, ...] = (5, 10)
    #: Those at which robustness is tried.
    tried: tuple[int, ...] = (10,)
    #: The one of which most patients' notes are: `unlearn build` wants 20 of them retained.
    category: str = "arthritis_bone"
    #: Passes of the demo's model over the notes: half of the demo's own, for time.
    epochs: int = 12
    #: Passes of fine-tuning: after the usual three, this model answers hardly better on its patients than on others.
    tuning_epochs: int = 8
    #: Of fine-tuning and of relearning: 2e-5 is for a thousand times as many parameters.
    learning_rate: float = 2e-3
    samples: int = 8
    seed: int = 0
    #: Models of each kind by which the metrics themselves are judged, each of a seed of its own; 1: they are not.
    seeds: int = 1

    def splits(self, percents: Sequence[int]) -> list[str]:
        """Return the names of the splits of these percentages."""
        return [f"{level}:{percent}" for level in ("random", self.category) for percent in percents]

    @property
    def chosen_on(self) -> str:
        """The split on which each method's learning rate is chosen."""
        return f"random:{self.tried[0]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command."""

    name: str
    #: Returns its arguments, or does the work itself and returns none.
    begin: Callable[[], Sequence[str | Path] | None]
    #: There when it is finished; None: it finds out itself.
    makes: Path | None
    #: Steps that must have succeeded, and those that must be over.
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Folder:
    """Where everything lies."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.corpus = root / "corpus"
        self.bench = root / "bench"
        self.results = {"tried": root / "result-tried", "untried": root / "result"}
        self.faithfulness = root / "result-faithfulness"

    def without(self, split: str | None, *, more_seed: int = 0) -> str:
        """Return what a model is called that never saw a split's patients, or that saw all."""
        return ("all" if split is None else f"without-{slug(split)}") + (f"-seed-{more_seed}" if more_seed else "")

    def tuned(self, split: str | None, *, more_seed: int = 0) -> Path:
        """Return the baseline's directory, or that of a split's retrained reference."""
        return self.root / "tuned" / self.without(split, more_seed=more_seed)

    def forgot(self, method: str, split: str) -> Path:
        """Return the directory of a model unlearned at the rate that was chosen."""
        return self.root / "forgot" / f"{method}-{slug(split)}"


def slug(split: str) -> str:
    """Return a split's name as files may be called."""
    return split.replace(":", "-")


def model_names(folder: Folder, split: str) -> dict[str, Path]:
    """Return what the finished models of a split are called in the evaluation: name -> directory."""
    named = {f"retrained {split}": folder.tuned(split)}
    named |= {f"{method} {split}": folder.forgot(method, split) for method in METHODS}
    return {name: directory for name, directory in named.items() if (directory / "unlearn.json").is_file()}


def plan_steps(grid: Grid, folder: Folder) -> list[Step]:
    """Return all steps, what matters most first; each stands behind what it needs."""
    steps = [*_benchmark(grid, folder), *_tuned(grid, folder, None)]
    for percents in (grid.tried, [one for one in grid.percents if one not in grid.tried]):
        for split in grid.splits(percents):
            steps += [*_forgetting(grid, folder, split), *_tuned(grid, folder, split)]
        steps.append(_evaluation(grid, folder, percents, after=[step.name for step in steps]))
    return [*steps, *_faithfulness(grid, folder)]


def _benchmark(grid: Grid, folder: Folder) -> Iterator[Step]:
    built = folder.root / "built"

    def corpus() -> None:
        write_corpus(folder.corpus, trained=grid.trained, never_trained=grid.never_trained, seed=grid.seed)

    def thin() -> None:
        thin_bench(built, folder.bench)
        splits = {split.name: list(split.forget) for split in read_bench(folder.bench).splits}
        (folder.root / SPLITS_FILE).write_text(json.dumps(splits), encoding="utf-8")

    percents = [argument for percent in grid.percents for argument in ("--percent", str(percent))]
    yield Step(name="corpus", begin=corpus, makes=folder.corpus / "patients.csv")
    yield Step(
        name="build",
        begin=lambda: _clinaudit("build", folder.corpus, "--out", built, *percents, "--seed", str(grid.seed)),
        makes=built / "bench.json",
        needs=("corpus",),
    )
    yield Step(name="thin", begin=thin, makes=folder.root / SPLITS_FILE, needs=("build",))


def _tuned(grid: Grid, folder: Folder, split: str | None, *, more_seed: int = 0) -> Iterator[Step]:
    """Train the demo's model, and fine-tune it on notes and questions: on everybody, or without a split's patients."""
    name, seed = folder.without(split, more_seed=more_seed), str(grid.seed + more_seed)
    corpus = folder.corpus if split is None else folder.root / "corpora" / name
    model, tuned = folder.root / "models" / name, folder.tuned(split, more_seed=more_seed)

    def train() -> list[str | Path]:
        if split is not None:
            forgotten = json.loads((folder.root / SPLITS_FILE).read_text(encoding="utf-8"))[split]
            write_corpus_without(folder.corpus, corpus, forgotten)
        program = Path(__file__).resolve().parent / "unlearning_models.py"
        return [sys.executable, program, corpus, model, seed, str(grid.epochs)]

    def tune() -> list[str | Path]:
        given = ("--learning-rate", str(grid.learning_rate), "--out", tuned, "--seed", seed)
        without = ("--epochs", str(grid.tuning_epochs), *(() if split is None else ("--forget", split)))
        return _clinaudit("finetune", model, folder.bench, *given, *without)

    yield Step(name=f"train {name}", begin=train, makes=model / "training.json", needs=("thin",))
    yield Step(name=f"tune {name}", begin=tune, makes=tuned / "unlearn.json", needs=(f"train {name}",))


def _forgetting(grid: Grid, folder: Folder, split: str) -> Iterator[Step]:
    """Forget a split's patients by each method."""
    chosen_on = grid.chosen_on
    for method in METHODS:
        out = folder.forgot(method, split)

        def forget(method: str, out: Path) -> list[str | Path]:
            rate: tuple[str, ...] = ("--choose-rate",)
            if split != chosen_on:
                record = json.loads((folder.forgot(method, chosen_on) / "unlearn.json").read_text(encoding="utf-8"))
                rate = ("--learning-rate", str(record["learning_rate"]))
            given = ("--method", method, "--forget", split, "--out", out, "--seed", str(grid.seed))
            return _clinaudit("run", folder.tuned(None), folder.bench, *given, *rate)

        yield Step(
            name=f"forget {method} {split}",
            begin=partial(forget, method, out),
            makes=out / "unlearn.json",
            needs=("tune all", *(() if split == chosen_on else (f"forget {method} {chosen_on}",))),
        )


def _evaluation(grid: Grid, folder: Folder, percents: Sequence[int], *, after: Sequence[str]) -> Step:
    """Evaluate the models of these splits that are finished by then."""
    which = "tried" if percents == grid.tried else "untried"

    def evaluate() -> list[str | Path]:
        models = {BASELINE: folder.tuned(None)}
        for split in grid.splits(percents):
            models |= model_names(folder, split)
        tries = ("--samples", str(grid.samples), "--relearning-rate", str(grid.learning_rate))
        named = [f"{name}={directory}" for name, directory in models.items()]
        given = ("--bench", folder.bench, "--out", folder.results[which])
        return _clinaudit("evaluate", *named, *given, *(tries if which == "tried" else ("--no-robustness",)))

    return Step(name=f"evaluate {which}", begin=evaluate, makes=None, needs=("tune all",), after=tuple(after))


def _faithfulness(grid: Grid, folder: Folder) -> Iterator[Step]:
    """Train models with and without the patients of one split, of several seeds, and evaluate them by it."""
    kinds = {"with": None, "without": grid.chosen_on}
    own: list[Step] = []
    for more_seed in range(1, grid.seeds):
        for split in kinds.values():
            own += _tuned(grid, folder, split, more_seed=more_seed)

    def evaluate() -> list[str | Path]:
        named = [
            f"{kind} {more_seed}={folder.tuned(split, more_seed=more_seed)}"
            for more_seed in range(grid.seeds)
            for kind, split in kinds.items()
        ]
        given = ("--out", folder.faithfulness, "--no-robustness", "--before", "with 0")
        return _clinaudit("evaluate", *named, "--bench", folder.bench, *given)

    if own:
        needs = ("tune all", f"tune {folder.without(grid.chosen_on)}", *(step.name for step in own))
        yield from own
        yield Step(name="evaluate faithfulness", begin=evaluate, makes=None, needs=needs)


def _clinaudit(*arguments: str | Path) -> list[str | Path]:
    return [sys.executable, "-m", "clinaudit", "unlearn", *arguments]


def run_steps(steps: Sequence[Step], folder: Folder, *, at_once: int) -> list[str]:
    """Run the steps, so many at once, the first that can begin; return the names of those without a result."""
    (folder.root / "logs").mkdir(parents=True, exist_ok=True)
    waiting, running, over = list(steps), dict[Future[bool], Step](), dict[str, bool]()
    with ThreadPoolExecutor(at_once) as pool:
        while waiting or running:
            for step in [one for one in waiting if all(name in over for name in (*one.needs, *one.after))]:
                if len(running) < at_once:
                    waiting.remove(step)
                    can_begin = all(over[name] for name in step.needs)
                    running[pool.submit(_run_step, step, folder, can_begin=can_begin)] = step
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            over |= {running.pop(future).name: future.result() for future in finished}
    return [name for name, succeeded in over.items() if not succeeded]


def _run_step(step: Step, folder: Folder, *, can_begin: bool) -> bool:
    """Return whether the step has its result."""
    if not can_begin or (step.makes is not None and step.makes.exists()):
        return can_begin
    print(f"{time.strftime('%H:%M:%S')} {step.name}", flush=True)
    log = folder.root / "logs" / f"{slug(step.name).replace(' ', '-')}.log"
    try:
        arguments = step.begin()
    except KeyError:
        # The patients do not suffice for the split.
        return False
    succeeded, seconds = (True, 0.0) if arguments is None else _command(arguments, log)
    record = {"step": step.name, "processor_seconds": round(seconds, 1), "succeeded": succeeded}
    with (folder.root / SECONDS_FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    if not succeeded:
        print(f"no result: {step.name}; {log} says why", flush=True)
    return succeeded


def _command(arguments: Sequence[str | Path], log: Path) -> tuple[bool, float]:
    """Return whether a command succeeded, and the processor's seconds that it took."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            [str(one) for one in arguments],
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        _, status, used = os.wait4(process.pid, 0)
        # Else it is waited for again.
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode == 0, used.ru_utime + used.ru_stime
