"""What a command takes is said before it begins, refused where there is less, and expected stage by stage."""

import json
from pathlib import Path

import polars as pl
import pytest
from support.repeating_notes import PLAIN, corpus_with

from clinaudit.audit.assembly import costs
from clinaudit.audit.assembly.costs import count_asked, expected_stages, foretell
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
    monkeypatch.setattr(costs, "free_main_memory", lambda: FreeMemory(3_000_000_000, "memory"))
    return read_corpus(tmp_path / "corpus", scratch=tmp_path)


def test_needs_are_said_beside_what_is_free(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(form="json")
    # 0.5 GB of libraries and windows, 0.2 of each of two processes, 22 kB a generation, and 40 kB of disk.
    foretell(50_000, corpus, options(processes=2), progress)
    with progress.stage("matching notes", total=2, unit="generations") as advance:
        advance(2)
    said, stage = map(json.loads, capsys.readouterr().err.splitlines())
    assert said["message"].startswith("memory: about 2.0 GB needed, 3.0 GB free; disk: about 2.0 GB needed, ")
    assert stage["left_of_all"] > 0


def test_more_than_there_is_is_refused_with_numbers(corpus: Corpus) -> None:
    said = r"about 5\.5 GB of memory, and 3\.0 GB are free; .* fewer "
    with pytest.raises(StorageError, match=said + "--processes or generations at a time"):
        foretell(100_000, corpus, options(processes=14), Progress(quiet=True))
    with pytest.raises(StorageError, match=said + "--processes, --tier or --patients-per-cell"):
        foretell(100_000, corpus, options(processes=14), Progress(quiet=True), asked=[("generating", 100_000)])


def test_of_a_cluster_one_process_alone_is_here(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    foretell(50_000, corpus, options(processes=14, ray_address="10.0.0.1:6379"), Progress())
    assert "memory: about 1.8 GB needed" in capsys.readouterr().err


def prompts_of(*kinds: tuple[str, int, str]) -> pl.DataFrame:
    """Prompts as (model, draw, generation id); without an id one is excluded."""
    return pl.DataFrame(
        [(model, draw, key or None, not key) for model, draw, key in kinds],
        schema={"model": pl.String, "draw": pl.Int64, "generation_id": pl.String, "excluded": pl.Boolean},
        orient="row",
    )


def test_each_model_is_expected_to_answer_what_it_is_really_asked(corpus: Corpus) -> None:
    # Two diagnoses share a prompt; a third has none.
    prompts = prompts_of(
        *[("audited", 0, "a"), ("audited", 0, "a"), ("audited", 0, "b"), ("audited", 1, "c"), ("audited", 0, "")],
        *[("control", 0, "d"), ("control", 1, "e"), ("control", 2, "f")],
    )
    texts = pl.DataFrame({"window": [0, 1, None]}, schema={"window": pl.Int64})
    audited = [("generating", 2), ("drawing answers", 1), ("scoring notes", 2)]
    control = [("generating", 1), ("drawing answers", 2), ("scoring notes by the control model", 2)]
    assert count_asked(prompts, texts, (), has_control=True) == audited + control
    assert count_asked(prompts.filter(model="audited"), texts, (), has_control=False) == audited
    # What a stopped run has of a stage does not shorten it, and a stage that is done does not come again: the other
    # model's has its title.
    again = count_asked(prompts, texts, {"a", "b", "e"}, has_control=True)
    assert again == [("generating", 0), *audited[1:], *control]
    by_model = [stage for stage in expected_stages(8, 1000, 2, asked=again) if stage.by_model]
    assert [stage.title for stage in by_model] == [title for title, count in again if count]
    assert by_model[0].seconds == by_model[2].seconds == by_model[3].seconds / 2


@pytest.mark.parametrize("asked", [(), [("scoring notes", 0)], [("scoring notes", 9)]])
def test_notes_are_masked_once_by_whoever_counts_first(asked: list[tuple[str, int]]) -> None:
    titles = [stage.title for stage in expected_stages(8, 1000, 2, asked=asked)]
    masking, counting = titles.index("masking notes"), titles.index("counting patients in masked notes")
    assert titles.count("masking notes") == 1
    assert counting == masking + 1
