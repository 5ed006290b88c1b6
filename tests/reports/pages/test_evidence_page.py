"""The evidence viewer: notes stay text, its own script alone may run, and every screen says PHI."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from support.hostile_text import Tree
from support.runs.planted_evidence import span_row, text_row

from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.errors import IntegrityError
from clinaudit.reports.pages.evidence import Agreement, EvidencePage, Reading, agreement, reading_row, render_evidence

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> &lt; \u2028 \u202e \x1b[31m"


def scripts(page: str) -> list[str]:
    """Return the texts of the scripts."""
    return re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)


def page_of(text: str) -> str:
    written = text_row(
        **dict.fromkeys(("generation_id", "patient_id", "prompt", "text"), text),
        spans=[span_row(0, 4, 0, text)],
        readings=[reading_row("hiv", "positive", False, (text,))],
        others=[span_row(0, 4, 0, text, owner_patient_id=text, telling_tokens=10)],
    )
    return render_evidence(EvidencePage([written], {text: {"visit_date": None, "text": text}}, found=3))


def test_hostile_text_changes_nothing_but_the_data() -> None:
    hostile, harmless = page_of(HOSTILE), page_of("harmless")
    assert Tree(hostile).shape == Tree(harmless).shape
    own, other = scripts(hostile), scripts(harmless)
    assert len(own) == 2
    assert own[1] == other[1]
    data = json.loads(own[0])
    assert data["texts"][0]["text"] == HOSTILE
    assert data["notes"][HOSTILE]["text"] == HOSTILE
    assert data["owners"] == [data["texts"][0]["others"][0]["owner_patient_id"]] == [HOSTILE]


def test_its_own_script_may_run_and_nothing_else_may_be_loaded() -> None:
    page = page_of("harmless")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digest = base64.b64encode(hashlib.sha256(scripts(page)[1].encode()).digest()).decode()
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert not re.search(r"https?://|innerHTML|insertAdjacentHTML|outerHTML|eval\(|fetch\(|XMLHttpRequest", page)


def test_it_says_phi_and_what_is_left_out() -> None:
    page = page_of("harmless")
    assert "<title>PHI" in page
    assert "<strong>PHI.</strong> Identified patient notes." in page
    # A sticky element of the page stands on every screen; the head of a table is printed on every page.
    assert re.search(r"\.phi \{\s*position: sticky; top: 0;", page)
    assert re.search(r"@media print.*\.phi \{\s*display: table-header-group;", page, re.S)
    assert not re.search(r"@media print.*\.phi[^}]*display: none", page, re.S)
    assert "The 1 texts with the most text of patients, own or others', or verified identifiers, of 3" in page


@pytest.mark.parametrize(
    ("read", "present", "expected"),
    [
        ("positive", True, "right"),
        ("positive", False, "wrong"),
        ("negative", False, "right"),
        ("negative", True, "wrong"),
        ("ambiguous", True, "open"),
        ("not_mentioned", True, "open"),
        ("unjudged", False, "open"),
        ("positive", None, "open"),
    ],
)
def test_the_judge_is_right_where_what_it_read_is_true(
    read: Reading, present: bool | None, expected: Agreement
) -> None:
    assert agreement(read, present) == expected


def test_no_mark_reads_as_the_status_of_the_patient() -> None:
    page = page_of("harmless")
    (reading,) = json.loads(scripts(page)[0])["texts"][0]["readings"]
    assert reading["judge"] == "says has it"
    assert reading["truth"] == "does not have it"
    assert reading["agreement"] == "wrong"
    assert not re.search("[✓✗✔✘]", page)


@pytest.mark.parametrize("damage", [b"", b"PAR1 not a table", None], ids=["empty", "no table", "another table"])
def test_a_table_that_is_no_longer_one_is_said_without_its_content(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "segments.parquet"
    if damage is None:
        write_table(tmp_path, "told", [])
        (tmp_path / "told.parquet").rename(path)
    else:
        path.write_bytes(damage)
    with pytest.raises(IntegrityError, match=r"^segments.parquet is not the table that the audit wrote"):
        read_table(tmp_path, "segments")
