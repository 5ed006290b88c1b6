"""Where a comparison may be written."""

from pathlib import Path

import pytest
from support.compared_results import compared

from clinaudit.audit.results.comparison.files import prepare_directory, write_comparison
from clinaudit.errors import UsageError


def test_an_exact_comparison_replaces_an_earlier_exact_one_even_a_stopped_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare_directory(out, exact=True)
    write_comparison(out, compared(exact=True), None)
    (out / "evidence" / ".certificate.html.partial").write_text("half", encoding="utf-8")
    prepare_directory(out, exact=True)
    write_comparison(out, compared(exact=True), None)
    assert {path.name for path in out.iterdir()} == {"evidence"}


def test_exact_figures_are_never_written_where_published_ones_are(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="exact figures"):
        write_comparison(out, compared(exact=True).model_copy(update={"figures": "published"}), None)
    assert not out.exists()


@pytest.mark.parametrize("place", ["notes.txt", "evidence/results.json", "evidence/notes/compare.json"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_directory_of_something_else_is_refused(tmp_path: Path, place: str, exact: bool) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="holds other things"):
        prepare_directory(tmp_path, exact=exact)
