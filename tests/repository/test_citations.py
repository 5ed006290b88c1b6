"""Citations: the checker finds what cites a document, a section or a module that is not there, and nothing else."""

import re
from pathlib import Path

import pytest
from support.scripts import load_script

from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS

ROOT = Path(__file__).resolve().parents[2]


check_citations = load_script("check_citations")

METHODS = """# Methods

## 1. Facts (paper 3.1; `priors/facts.py`)

**Scrubbing** for a diagnosis.

**Score [choice]**: positive 1.

## 2a. Near-verbatim text

**Text of a region.** Bytes.

```sh
# no heading
```
"""
#: What the planted text may cite; two modules share a name.
FILES: dict[str, str | None] = {
    "docs/methods.md": METHODS,
    "docs/results.md": "# Results\n\n## What a run leaves\n\n### `corpus` (Tables 5 to 7)\n",
    "docs/decisions/readers.md": "# Readers\n",
    "docs/images/report.png": None,
    "README.md": "# clinaudit\n",
    "clinaudit/__init__.py": '__version__ = "1"\n',
    "clinaudit/audit": None,
    "priors/facts.py": "",
    "audit/results/gate/__init__.py": "",
    "audit/results/gate/policy.py": "SHIPPED = ()\n\n\ndef read_policy() -> None:\n    pass\n",
    "audit/results/gate/stage.py": "",
    "audit/measures/judge/stage.py": "",
    "tests/audit/test_policy.py": "",
    "scripts/check": "",
}


#: A document that is not of this repository.
FOREIGN = "contract"


def _problems(text: str, *, name: str = "audit/results/gate/planted.py") -> list[str]:
    found = list(check_citations.Repository({**FILES, name: text}).problems())
    assert all(problem.startswith(f"{name}: ") for problem in found)
    return [problem.removeprefix(f"{name}: ") for problem in found]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"(paper 3.2.1; {FOREIGN}, section 4)", f"{FOREIGN}, section"),
        (f"the rules are the {FOREIGN}'s", f"the {FOREIGN}'s"),
        (f"#: One line of a comment that ends in (the\n#: {FOREIGN}, section 5).", f"the {FOREIGN}"),
        ("see docs/gone.md", "no such file: docs/gone.md"),
        ("(docs/methods.md, section 3)", "docs/methods.md: there is no such section: 3"),
        ("(docs/methods.md, sections 1 and 2)", "docs/methods.md: there is no such section: 2"),
        ("# (docs/methods.md,\n# section 9)", "docs/methods.md: there is no such section: 9"),
        ('(docs/methods.md, section 2a, "Scrubbing")', "docs/methods.md: there is no such heading: Scrubbing"),
        ('(docs/results.md, "Small cells")', "docs/results.md: there is no such heading: Small cells"),
        ("(docs/results.md, section 1)", "docs/results.md: there is no such section: 1"),
        ("(methods.md, section 1)", "methods.md: there is no such page"),
        ("as audit/results/gate/gone.py says", "no such file: audit/results/gate/gone.py"),
        ("tests/test_policy.py", "no such file: tests/test_policy.py"),
        ("that is gone.py's business", "no such module: gone.py"),
        ("from clinaudit.audit.gone import x", "no such module or name: clinaudit.audit.gone"),
        (
            "`clinaudit.audit.results.gate.policy.gone`",
            "no such module or name: clinaudit.audit.results.gate.policy.gone",
        ),
    ],
)
def test_what_is_cited_and_not_there_is_a_problem(text: str, problem: str) -> None:
    (found,) = _problems(text)
    assert found.removeprefix("cites a document that is not in the repository: ") == problem


@pytest.mark.parametrize(
    "text",
    [
        "(docs/methods.md, section 1)",
        "(docs/methods.md, sections 1 and 2a). Knows nothing",
        "as docs/methods.md, section 1, says",
        '(docs/methods.md, section 1, "Scrubbing")',
        '(docs/methods.md,\n    #: section 1, "Score")',
        '(docs/methods.md, section 2a, "Text of a region")',
        '(docs/methods.md, "Facts")',
        '(docs/results.md, "corpus"; docs/results.md, "What a run leaves")',
        '(README.md, "clinaudit"; docs/decisions/readers.md)',
        "audit/results/gate/policy.py, clinaudit/audit/results/gate/policy.py, clinaudit/audit, scripts/check",
        "tests/*, audit/*/stage.py, audit/results/gate/*.py, clinaudit/{name}, priors/<name>.py",
        "policy.py, and stage.py beside it",
        "https://example.org/docs/gone.md, /home/docs/gone.md",
        "clinaudit, clinaudit.audit, clinaudit.audit.results.gate.policy, clinaudit.__version__",
        "clinaudit.audit.results.gate.policy.SHIPPED, clinaudit.audit.results.gate.policy.read_policy.",
        "contracting HIV, import contracts, a price differs by contract",
    ],
)
def test_what_is_there_may_be_cited(text: str) -> None:
    assert _problems(text) == []


def test_a_name_that_two_modules_have_says_which_only_beside_one_of_them() -> None:
    assert _problems("see stage.py", name="audit/measures/judge/planted.py") == []
    (problem,) = _problems("see stage.py", name="audit/planted.py")
    assert problem == "several modules are called stage.py, none of them beside this file"
    assert _problems("each door is called `stage.py`", name="docs/planted.md") == []


def test_a_page_may_cite_its_neighbours() -> None:
    assert _problems("[formulas](methods.md), section 1; decisions/readers.md", name="docs/planted.md") == []
    assert _problems("[formulas](methods.md), section 7", name="docs/planted.md") == [
        "methods.md: there is no such section: 7"
    ]


@pytest.mark.parametrize("name", ["docs/planted.md", "pyproject.toml", "scripts/planted", "reports/pages/planted.j2"])
def test_every_kind_of_file_is_looked_at(name: str) -> None:
    assert _problems("audit/results/gate/gone.py", name=name) == ["no such file: audit/results/gate/gone.py"]


def test_this_repository_has_no_problems() -> None:
    assert list(check_citations.read_repository(ROOT).problems()) == []


def test_the_results_page_names_every_table_of_the_evidence() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    section = page.split("\n## Evidence tables\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(SCHEMAS)
