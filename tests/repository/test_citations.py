"""Citations: the checker finds what cites a document, a section or a module that is not there, and nothing else."""

import pytest
from support.scripts import load_script

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
    "audit/results/gate/policy.py": "",
    "audit/results/gate/stage.py": "",
    "audit/measures/judge/stage.py": "",
    "tests/audit/test_policy.py": "",
    "scripts/check": "",
}


#: A document that is not of this repository.
FOREIGN = "contract"


def _problems(text, *, name="audit/results/gate/planted.py"):
    found = list(check_citations.Repository({**FILES, name: text}).problems())
    assert all(problem.startswith(f"{name}: ") for problem in found)
    return [problem.removeprefix(f"{name}: ") for problem in found]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"(paper 3.2.1; {FOREIGN}, section 4)", f"{FOREIGN}, section"),
        (f"#: One line of a comment that ends in (the\n#: {FOREIGN}, section 5).", f"the {FOREIGN}"),
        ("see docs/gone.md", "no such file: docs/gone.md"),
        ("(docs/methods.md, section 3)", "docs/methods.md: there is no such section: 3"),
        ("# (docs/methods.md,\n# section 9)", "docs/methods.md: there is no such section: 9"),
        ('(docs/methods.md, section 2a, "Scrubbing")', "docs/methods.md: there is no such heading: Scrubbing"),
        ("as audit/results/gate/gone.py says", "no such file: audit/results/gate/gone.py"),
        ("that is gone.py's business", "no such module: gone.py"),
    ],
)
def test_what_is_cited_and_not_there_is_a_problem(text, problem):
    (found,) = _problems(text)
    assert found.removeprefix("cites a document that is not in the repository: ") == problem


@pytest.mark.parametrize(
    "text",
    [
        "(docs/methods.md, sections 1 and 2a). Knows nothing",
        '(docs/methods.md,\n    #: section 1, "Score")',
        '(docs/methods.md, section 2a, "Text of a region")',
        '(docs/results.md, "corpus"; docs/results.md, "What a run leaves")',
        '(README.md, "clinaudit"; docs/decisions/readers.md)',
        "audit/results/gate/policy.py, clinaudit/audit/results/gate/policy.py, clinaudit/audit, scripts/check",
        "tests/*, audit/*/stage.py, audit/results/gate/*.py, clinaudit/{name}, priors/<name>.py",
        "policy.py, and stage.py beside it",
        "https://example.org/docs/gone.md, /home/docs/gone.md",
        "contracting HIV, import contracts, a price differs by contract",
    ],
)
def test_what_is_there_may_be_cited(text):
    assert _problems(text) == []
