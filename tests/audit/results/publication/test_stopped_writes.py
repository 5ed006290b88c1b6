"""Commands stopped at every write, and outputs that nobody reads: no run and no verdict is lost."""

import json
from functools import partial

import pytest
from support.runs.compared_pair import plant
from support.runs.finished_run import make_finished_run, remember_pages

from clinaudit.audit.commands.main import run
from clinaudit.audit.results.comparison import comparison as comparison_files
from clinaudit.audit.results.publication import published_files
from clinaudit.audit.results.publication.published_files import PUBLISHED, publish_run, read_exact, read_published
from clinaudit.audit.runtime.run import manifest
from clinaudit.errors import BadInputError, IntegrityError


@pytest.fixture(autouse=True)
def _pages_are_remembered(monkeypatch):
    remember_pages(monkeypatch)


@pytest.fixture
def finished(tmp_path):
    return make_finished_run(tmp_path / "run")


def stop_at(monkeypatch, module, step):
    """Let the module's write of that number fail, the first being 1; returns what mends it."""
    write, calls = module.write_atomically, iter(range(1, 100))

    def fail(path, content):
        if next(calls) == step:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(module, "write_atomically", fail)
    return lambda: monkeypatch.setattr(module, "write_atomically", write)


# Both manifests; then four pages; then both again. Of a purged run, the public manifest, two pages, and the manifest.
@pytest.mark.parametrize(
    ("is_purged", "step"), [*((False, step) for step in range(1, 9)), *((True, step) for step in range(1, 5))]
)
def test_a_report_stopped_at_any_step_leaves_a_run_that_holds(finished, monkeypatch, is_purged, step):
    if is_purged:
        assert run(["purge", str(finished.root), "--yes"]) == 0
    (finished.root / "report.html").write_text("an earlier page")
    manifest.write_manifest(finished, purged=is_purged)
    mend = stop_at(monkeypatch, manifest, step)
    assert run(["report", str(finished.root)]) == 6
    mend()
    assert run(["verify", str(finished.root)]) == 0
    assert run(["gate", str(finished.root), "--quiet"]) == 1
    assert run(["report", str(finished.root)]) == 0
    assert run(["verify", str(finished.root)]) == 0
    assert "an earlier page" not in (finished.root / "report.html").read_text()
    assert manifest.is_purged(finished) == is_purged
    assert not any(
        " " in digests for digests in json.loads((finished.root / "manifest.json").read_text())["sha256"].values()
    )


def test_what_a_stop_left_half_replaced_is_settled_by_the_next_report(finished, monkeypatch):
    # The record and the pages are announced, the record is written, the pages are not.
    mend = stop_at(monkeypatch, manifest, 4)
    assert run(["report", str(finished.root), "--model-name", "Scribe 3"]) == 6
    mend()
    assert run(["verify", str(finished.root)]) == 0
    assert "Scribe 3" not in (finished.root / "report.html").read_text()
    assert run(["report", str(finished.root)]) == 0
    assert run(["verify", str(finished.root)]) == 0
    assert "Scribe 3" in (finished.root / "report.html").read_text()


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_a_comparison_stopped_at_any_step_is_made_by_the_same_command(tmp_path, monkeypatch, step):
    planted = plant(tmp_path)
    (tmp_path / "ids.txt").write_text("\n".join(planted.named))
    out = tmp_path / "out"
    command = ["compare", str(planted.a), str(planted.b), "--forgotten", str(tmp_path / "ids.txt"), "--out", str(out)]
    mend = stop_at(monkeypatch, comparison_files, step)
    assert run(command) == 6
    assert not (out / "compare.json").exists()
    mend()
    # There are too few patients never seen to show that anybody is forgotten.
    assert run(command) == 8
    assert {path.name for path in out.iterdir()} == {"compare.json", "compare.html", "evidence"}


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"Smith, John", None])
@pytest.mark.parametrize("name", ["results.json", "results.csv", "run.json", "evidence/results.csv"])
def test_a_file_that_cannot_be_read_is_an_error_of_integrity_that_quotes_nothing(finished, name, content):
    path = finished.root / name
    path.unlink()
    if content is None and name.startswith("evidence"):
        with pytest.raises(BadInputError, match="purged"):
            read_exact(finished)
        return
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(IntegrityError, match=name) as refused:
        (read_exact if name.startswith("evidence") else read_published)(finished)
    assert "Smith" not in str(refused.value)


# Eight files, pages included; then the manifest of all files and the public one.
@pytest.mark.parametrize("step", range(1, 11))
def test_a_publication_stopped_at_any_step_is_no_finished_run_and_is_made_by_the_same_call(
    finished, monkeypatch, capsys, step
):
    report = read_exact(finished)
    published = {name: (finished.root / name).read_bytes() for name in PUBLISHED}
    exact, shown = report.estimates.frame, read_published(finished).estimates.frame
    again = partial(publish_run, finished, report.results, exact, shown, report.provenance)
    manifest.remove_manifest(finished)
    for name in PUBLISHED:
        (finished.root / name).unlink()
    writes = [published_files] * 8 + [manifest] * 2
    mend = stop_at(monkeypatch, writes[step - 1], step if step <= 8 else step - 8)
    with pytest.raises(OSError, match="No space"):
        again()
    mend()
    assert run(["show", str(finished.root)]) == 4
    assert "not finished" in capsys.readouterr().err
    assert again().results == report.results
    assert {name: (finished.root / name).read_bytes() for name in PUBLISHED} == published
    assert run(["verify", str(finished.root)]) == 0
