"""A finished run made of invented figures in no time: what `publish_run` leaves, with files where evidence stands."""

from pathlib import Path

from support.results.filled_results import filled

from clinaudit.audit.publication.published_files import publish_run
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.durable_files import write_atomically
from clinaudit.audit.run.store import open_store
from clinaudit.reports.schema.results import Results

#: Stands in every file of the evidence, and must stand in no other.
SECRET = "Zephyrine Quackenbush has a secret"
RECORD = {"settings": {"seed": 0}, "clinaudit": "test"}


def make_finished_run(root: Path, results: Results | None = None) -> RunDirectory:
    """Leave a run at `root`, its state and caches included."""
    run = RunDirectory(root)
    with open_store(run) as store:
        store.bind_settings({"--seed": 0})
        for name in ("generations.parquet", "priors.parquet"):
            write_atomically(run.evidence / name, SECRET)
        (run.work / "cache" / "deep").mkdir(parents=True)
        (run.work / "cache" / "deep" / "answers").write_text(SECRET)
        publish_run(run, filled(cell=30) if results is None else results, RECORD)
    return run
