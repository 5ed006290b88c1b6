"""The patterns that stand in files: every row is one and is used, and what a module asks for is there."""

import ast
import importlib
import tomllib
from pathlib import Path

import pytest

from clinaudit.audit import pii
from clinaudit.audit.pii.patterns import Patterns

ROOM = Path(pii.__file__).parent
TABLES = {
    (path.parent.joinpath(f"{module}.py"), module): {*rows, *rows.get("any_case", {})} - {"any_case", "shared"}
    for path in sorted(ROOM.rglob("patterns.toml"))
    for module, rows in tomllib.loads(path.read_text("utf-8")).items()
}


@pytest.mark.parametrize(("path", "name"), TABLES, ids=lambda one: one if isinstance(one, str) else "")
def test_a_module_asks_for_all_of_its_patterns_and_for_no_other(path: Path, name: str) -> None:
    asked = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "_RE"
    }
    assert asked == TABLES[path, name]
    module = importlib.import_module(".".join(("clinaudit.audit.pii", *path.relative_to(ROOM).with_suffix("").parts)))
    patterns: Patterns = module._RE
    assert all(getattr(patterns, one).pattern for one in asked)
