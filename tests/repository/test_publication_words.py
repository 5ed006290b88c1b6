"""All pages name the same classes of counts, and the same least number of patients, as the code has."""

import re
from pathlib import Path

import pytest
from support.compared_results import compared

from clinaudit.reports.pages.comparison import render_comparison
from clinaudit.reports.tally.classes import ARM_STEP, COHORT_STEP, STEP
from clinaudit.reports.wording.numbers import RANGE_NOTE

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WORDS = {10: "ten", 20: "twenty", 40: "forty"}
CLASSES = f"{WORDS[STEP]}, {WORDS[ARM_STEP]} or {WORDS[COHORT_STEP]}"
#: A list of steps, whole or cut short.
NAMED = re.compile(r"\bten(?:, twenty)?,? or (?:twenty|forty|more)\b|\bten, twenty (?:or|and) \w+")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_that_lists_the_classes_of_counts_lists_all_of_them(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    of_policy = text.replace("classes of ten or more", "")
    assert {found.group() for found in NAMED.finditer(of_policy)} <= {CLASSES}


def test_the_pages_and_the_note_of_every_report_list_them() -> None:
    assert CLASSES in " ".join(RANGE_NOTE.split())
    for name in ("README.md", "docs/for-irb-reviewers.md", "docs/faq.md"):
        assert CLASSES in " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_measured_values_of_the_collapse_check_need_as_many_patients_as_the_page_and_the_docs_say() -> None:
    words = f"more than {WORDS[ARM_STEP]} patients stand behind them"
    for text in (render_comparison(compared()), (ROOT / "docs" / "comparing-runs.md").read_text(encoding="utf-8")):
        assert words in " ".join(text.split())
