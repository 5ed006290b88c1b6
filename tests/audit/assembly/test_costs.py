"""What a command takes is said before it begins, refused where there is less, and expected stage by stage."""

import json

import pytest
from support.repeating_notes import PLAIN, corpus_with

from clinaudit.audit.assembly import costs
from clinaudit.audit.assembly.costs import foretell
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engines.memory import FreeMemory
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import read_corpus


def options(**given: object) -> ReadingOptions:
    return ReadingOptions.model_construct(**given)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    corpus_with(tmp_path / "corpus", {"p": [PLAIN]})
    monkeypatch.setattr(costs, "free_main_memory", lambda: FreeMemory(3_000_000_000, "memory"))
    return read_corpus(tmp_path / "corpus", scratch=tmp_path)


def test_needs_are_said_beside_what_is_free(corpus, capsys):
    progress = Progress(form="json")
    # 0.5 GB of libraries and windows, 0.2 of each of two processes, 22 kB a generation, and 40 kB of disk.
    foretell(50_000, corpus, options(processes=2), progress)
    with progress.stage("matching notes", total=2, unit="generations") as advance:
        advance(2)
    said, stage = map(json.loads, capsys.readouterr().err.splitlines())
    assert said["message"].startswith("memory: about 2.0 GB needed, 3.0 GB free; disk: about 2.0 GB needed, ")
    assert stage["left_of_all"] > 0


def test_more_than_there_is_is_refused_with_numbers(corpus):
    said = r"about 5\.5 GB of memory, and 3\.0 GB are free; .* fewer "
    with pytest.raises(StorageError, match=said + "--processes or generations at a time"):
        foretell(100_000, corpus, options(processes=14), Progress(quiet=True))
    with pytest.raises(StorageError, match=said + "--processes, --tier or --patients-per-cell"):
        foretell(100_000, corpus, options(processes=14), Progress(quiet=True), asked=[("generating", 100_000)])
