"""A run that has begun: its directory, its store, the runner of its shards, and its progress."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import polars as pl

from clinaudit.audit.measures.population import list_people
from clinaudit.audit.runtime.cluster import ShardRunner, open_runner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, confine_libraries, take_libraries_offline
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.manifest import refuse_purged, remove_manifest
from clinaudit.audit.runtime.run.store import RunStore, open_store
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.priors.corpus.corpus import Corpus


class BegunRun(NamedTuple):
    """What the stages of one run share."""

    directory: RunDirectory
    store: RunStore
    runner: ShardRunner
    progress: Progress

    def write(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Write evidence tables, by name."""
        for name, rows in tables.items():
            write_table(self.directory.evidence, name, rows)


def find_place(out: Path) -> RunDirectory:
    """Return the directory of a new or a stopped run, and keep libraries off the network."""
    run = RunDirectory(out)
    refuse_purged(run)
    run.refuse_foreign()
    take_libraries_offline(run.work)
    return run


@contextmanager
def begin_run(
    run: RunDirectory, bound: Mapping[str, object], settings: ReadingOptions, corpus: Corpus, progress: Progress
) -> Iterator[BegunRun]:
    """Begin a run, or go on with it, which is `bound` to all on which its results depend."""
    with open_store(run) as store:
        store.bind_settings(bound)
        confine_libraries(run.work)
        remove_manifest(run)
        for reading in corpus.readings:
            progress.say(f"corpus: {reading}")
        with open_runner(settings.ray_address, settings.processes) as runner:
            begun = BegunRun(run, store, runner, progress)
            begun.write({"people": list_people(corpus)})
            yield begun
