"""What is said of publication: every page that explains it names the rule of the code, and nothing that is gone."""

import re
from pathlib import Path

import pytest

from clinaudit.reports.estimates.small_cells import MOST
from clinaudit.reports.schema.verdict import Rule

ROOT = Path(__file__).parents[2]
#: What there was before November 2026: classes of counts, ranges of results, files that nobody asked for.
GONE = re.compile(
    r"class(es)? of (ten|twenty|forty)\b|twenty or forty\b|coarse (table|tally)|one coarse|\bdecided_on\b"
    r"|\bSARIF\b|CHAI\b|WeasyPrint|Ed25519|reports.tally|results.ranges|paper/[a-z_*]+\.csv",
    re.IGNORECASE,
)
EXPLAIN = ("docs/methods.md", "docs/faq.md", "docs/for-irb-reviewers.md", "docs/how-it-works.md", "docs/hipaa.md")
FILES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "docs/**/*.svg", *(f"{top}/**/*.*" for top in ("audit", "reports")))
    for path in ROOT.glob(pattern)
    # The list of changes says what is gone.
    if path.suffix in {".md", ".svg", ".py", ".j2", ".css", ".js", ".toml"} and path.name != "CHANGELOG.md"
]


def test_no_page_or_module_speaks_of_what_is_gone() -> None:
    assert len(FILES) > 300
    found = {
        str(path.relative_to(ROOT)): [match.group() for match in GONE.finditer(text)]
        for path in FILES
        if GONE.search(text := " ".join(path.read_text(encoding="utf-8").split()))
    }
    assert not found


@pytest.mark.parametrize("page", EXPLAIN)
def test_a_page_that_explains_small_counts_names_the_ones_that_are_hidden(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"1 to {MOST}" in text
    assert {int(number) for number in re.findall(r"\b(?:no|of|where) (?:a )?count of 1 to (\d+)", text)} <= {MOST}
    assert {int(number) for number in re.findall(r"`<(\d+)` (?:patients|stands)", text)} <= {MOST + 1}


def test_no_field_of_a_rule_is_a_number_of_patients() -> None:
    assert {name for name, field in Rule.model_fields.items() if field.annotation in (int, float)} == {"limit"}
