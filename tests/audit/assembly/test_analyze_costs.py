"""What an analysis takes is said before it begins, and refused where there is less."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.repeating_notes import PLAIN, corpus_with

from clinaudit.audit.assembly import analyze_costs
from clinaudit.audit.assembly.analyze_costs import foretell
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engines.memory import FreeMemory
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus


def options(**given: object) -> ReadingOptions:
    return ReadingOptions.model_construct(**given)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    corpus_with(tmp_path / "corpus", {"p": [PLAIN]})
    monkeypatch.setattr(analyze_costs, "free_main_memory", lambda: FreeMemory(3_000_000_000, "memory"))
    return read_corpus(tmp_path / "corpus", scratch=tmp_path)


def test_needs_are_said_beside_what_is_free(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(form="json")
    # 0.5 GB of libraries and windows, 0.2 of each of two processes, 5 kB a generation, and 40 kB of disk.
    foretell(80_000, corpus, options(processes=2), progress)
    with progress.stage("matching notes", total=2, unit="generations") as advance:
        advance(2)
    said, stage = map(json.loads, capsys.readouterr().err.splitlines())
    assert said["message"].startswith("memory: about 1.3 GB needed, 3.0 GB free; disk: about 3.2 GB needed, ")
    assert stage["left_of_all"] > 0


def test_once_caches_are_full_a_generation_needs_less(
    corpus: Corpus, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyze_costs, "free_main_memory", lambda: None)
    monkeypatch.setattr(analyze_costs.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))
    # 0.9 GB, 5 kB of each of 85,000 and 1.7 kB of each of 915,000.
    foretell(1_000_000, corpus, options(processes=2), Progress())
    assert "memory: about 2.9 GB needed" in capsys.readouterr().err


def test_more_than_there_is_is_refused_with_numbers(corpus: Corpus) -> None:
    with pytest.raises(StorageError, match=r"about 3\.8 GB of memory, and 3\.0 GB are free"):
        foretell(100_000, corpus, options(processes=14), Progress(quiet=True))


def test_of_a_cluster_one_process_alone_is_here(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    foretell(100_000, corpus, options(processes=14, ray_address="10.0.0.1:6379"), Progress())
    assert "memory: about 1.2 GB needed" in capsys.readouterr().err
