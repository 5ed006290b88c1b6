"""Where a comparison may be written."""

import pytest
from support.compared_results import compared

from clinaudit.audit.results.comparison.files import prepare_directory, write_comparison
from clinaudit.errors import UsageError


def test_exact_figures_are_never_written_where_published_ones_are(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="exact figures"):
        write_comparison(out, compared(exact=True).model_copy(update={"figures": "published"}), None)
    assert not out.exists()


@pytest.mark.parametrize("place", ["notes.txt", "evidence/results.json", "evidence/notes/compare.json"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_directory_of_something_else_is_refused(tmp_path, place, exact):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="holds other things"):
        prepare_directory(tmp_path, exact=exact)
