"""The patterns that stand in files: every row is one and is used, and what a module asks for is there."""

import ast
import copy
import importlib
import pickle
import tomllib
from pathlib import Path

import pytest

from clinaudit.audit import pii
from clinaudit.audit.pii import patterns as module_of_patterns
from clinaudit.audit.pii.patterns import Patterns

ROOM = Path(pii.__file__).parent
TABLES = {
    (path.parent.joinpath(f"{module}.py"), module): rows
    for path in sorted(ROOM.rglob("patterns.toml"))
    for module, rows in tomllib.loads(path.read_text("utf-8")).items()
}
EVERY_TABLE = pytest.mark.parametrize(("path", "name"), TABLES, ids=lambda one: one if isinstance(one, str) else "")


@EVERY_TABLE
def test_a_module_asks_for_all_of_its_patterns_and_for_no_other(path: Path, name: str) -> None:
    asked = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "_RE"
    }
    rows = TABLES[path, name]
    assert asked == {*rows, *rows.get("any_case", {})} - {"any_case", "shared"}
    module = importlib.import_module(".".join(("clinaudit.audit.pii", *path.relative_to(ROOM).with_suffix("").parts)))
    patterns: Patterns = module._RE
    assert all(getattr(patterns, one).pattern for one in asked)


@pytest.fixture
def odd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Patterns:
    """Return the patterns of a module whose table is written in the test."""
    tmp_path.joinpath("patterns.toml").write_text(request.param, encoding="utf-8")
    monkeypatch.setattr(module_of_patterns, "files", lambda _: tmp_path)
    return Patterns(f"{tmp_path}.odd")


@pytest.mark.parametrize("odd", ["[odd]\nkin = '${kin}'\n[odd.shared]\nkith = 'friend'"], indirect=True)
def test_a_pattern_that_names_words_of_no_list_is_refused(odd: Patterns) -> None:
    with pytest.raises(KeyError, match="'kin' of odd"):
        _ = odd.kin


@pytest.mark.parametrize(
    "odd", ["[odd]\nkin = 'son'\n[odd.anycase]\nson = 'son'", "[odd]\nkin = 'son'\nany_case.kin = 'son'"], indirect=True
)
def test_a_table_of_no_use_and_a_row_that_stands_twice_are_refused(odd: Patterns) -> None:
    with pytest.raises(ValueError, match=r"odd: unknown, or twice: (anycase|kin)$"):
        _ = odd.kin


@pytest.mark.parametrize("odd", ["[odd]\n_kin = 'son'\nany_case.son = 'son'"], indirect=True)
def test_no_other_name_is_a_pattern(odd: Patterns) -> None:
    assert not any(hasattr(odd, name) for name in ("_kin", "kin", "any_case", "__len__"))
    assert all(one.son.fullmatch("SON") for one in (odd, copy.deepcopy(odd), pickle.loads(pickle.dumps(odd))))
