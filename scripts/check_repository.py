"""Checks on the repository as a whole: module size and names, wheel contents, examples in `--help`, links.

Run by `scripts/check`. Prints every problem and exits with 1 where there is one.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click

from clinaudit.audit.commands.main import main

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("audit", "priors", "templates", "reports")
#: CONTRIBUTING.md, "Style in short": one noun a module; these names say nothing.
BANNED_NAMES = frozenset({"utils", "helpers", "common", "manager", "misc"})
#: A module is one subject, up to about 600 lines; the check leaves room, so that none is split for its length alone.
MAX_LINES = 650
#: What a wheel may hold besides Python: by suffix.
DATA_SUFFIXES = frozenset({".toml", ".json", ".jsonl", ".j2", ".css", ".js", ".txt", ".typed"})


def tracked(*patterns: str) -> list[Path]:
    """Return the files git tracks."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / line for line in listed.splitlines()]


def module_problems() -> Iterator[str]:
    """Long modules, names that say nothing, modules without a docstring; long test files."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name, text = path.relative_to(ROOT), path.read_text(encoding="utf-8")
            if path.stem in BANNED_NAMES:
                yield f"{name}: a module is named after a noun of the field"
            if len(text.splitlines()) > MAX_LINES:
                yield f"{name}: {len(text.splitlines())} lines; {MAX_LINES} at most"
            if not text.startswith('"""'):
                yield f"{name}: no docstring that says what it owns"
    for path in tracked("tests/*.py"):
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES:
            yield f"{path.relative_to(ROOT)}: {lines} lines; {MAX_LINES} at most"


def wheel_problems() -> Iterator[str]:
    """The wheel must hold every module and data file of the four folders, and nothing else."""
    # What setuptools built before stays there, and would go into the wheel.
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, str(ROOT)],
            check=True,
            capture_output=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {f"clinaudit/{name}" for name in ("__init__.py", "__main__.py", "errors.py", "py.typed")}
    for path in tracked(*FOLDERS):
        if path.suffix == ".py" or path.suffix in DATA_SUFFIXES:
            wanted.add(f"clinaudit/{path.relative_to(ROOT)}")
    yield from (f"wheel: lacks {name}" for name in sorted(wanted - held))
    yield from (f"wheel: holds {name}" for name in sorted(held - wanted))


def help_problems(group: click.Group = main, above: str = "clinaudit") -> Iterator[str]:
    """Each command's help must show an example."""
    for name, command in group.commands.items():
        if "Example:" not in (command.help or ""):
            yield f"{above} {name} --help: shows no example"
        if isinstance(command, click.Group):
            yield from help_problems(command, f"{above} {name}")


def link_problems() -> Iterator[str]:
    """Relative links in Markdown must lead somewhere."""
    for page in tracked("*.md"):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: a link leads nowhere: {target}"


def tree_problems() -> Iterator[str]:
    """The tree in CONTRIBUTING.md must name every room, and every module in no room of `audit`; and no other room."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {path.parent.relative_to(ROOT) for path in tracked(*(f"{folder}/*.py" for folder in FOLDERS))}
    wanted = [f"{room.name}/" for room in sorted(rooms)]
    wanted += [path.name for path in sorted((ROOT / "audit").glob("*.py")) if path.name != "__init__.py"]
    for name in wanted:
        if not re.search(rf"^ *{re.escape(name)}  ", page, re.MULTILINE):
            yield f"CONTRIBUTING.md: the tree has no line for {name}"
    tree = page.partition("## The tree")[2].partition("\n## ")[0]
    known = {path.name for path in (*rooms, *ROOT.iterdir())}
    for name in re.findall(r"^ *([\w-]+)/ ", tree, re.MULTILINE):
        if name not in known:
            yield f"CONTRIBUTING.md: the tree has a line for {name}/, which is not there"


def check() -> int:
    """Print every problem; return the exit status."""
    checks = (module_problems, wheel_problems, help_problems, link_problems, tree_problems)
    problems = [problem for find in checks for problem in find()]
    for problem in problems:
        print(problem)
    print(f"repository: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(check())
