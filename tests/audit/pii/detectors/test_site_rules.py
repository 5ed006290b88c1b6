"""Rows of a site: what they find, and what a file of them is refused for."""

from pathlib import Path

import pytest
from support.cases import read_rows
from support.pii.found_spans import found_by

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.detectors.site_rules import read_site_rules
from clinaudit.errors import BadInputError

TABLES = read_rows("pii/rows.txt")

ROWS = """
[[rule]]
kind = "mrn"
pattern = '\\bqx-(?P<value>[0-9]{4})\\b'
any_case = true
cues = ["chart"]

[[rule]]
kind = "device_id"
pattern = '\\b[0-9]{4}-[0-9]{4}\\b'
check_digit = "luhn"
"""


def test_a_row_finds_by_pattern_cue_and_check_digit(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(ROWS)
    rules = read_site_rules(tmp_path / "rules.toml")
    text = f"Ĉ: chart QX-4711.{40 * ' '} QX-4712 has no cue. 0000-0018, 0000-0019"
    assert found_by(rules, text) == [("mrn", "4711"), ("device_id", "0000-0018")]


@pytest.mark.parametrize(("rows", "problem"), TABLES["a file with a mistake is refused by its rule"])
def test_a_file_with_a_mistake_is_refused_by_its_rule(tmp_path: Path, rows: str, problem: str) -> None:
    (tmp_path / "rules.toml").write_text(rows)
    with pytest.raises(BadInputError) as refused:
        read_site_rules(tmp_path / "rules.toml")
    assert any(line.startswith(problem) for line in refused.value.problems), refused.value.problems


def test_a_wrong_rule_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\nkind = 'Okafor'\npattern = '(Okafor'\nOkafor = 1\n")
    with pytest.raises(BadInputError) as refused:
        read_site_rules(tmp_path / "rules.toml")
    assert "Okafor" not in str(refused.value) + "".join(refused.value.problems)


def test_where_the_value_is_not_in_a_match_the_match_is_found(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\nkind = 'mrn'\npattern = 'QX(?P<value>-[0-9]+)?'\n")
    assert found_by(read_site_rules(tmp_path / "rules.toml"), "QX, QX-17") == [("mrn", "QX"), ("mrn", "-17")]


def test_mask_reads_them(tmp_path: Path) -> None:
    rules, prompt, out = tmp_path / "rules.toml", tmp_path / "prompt.txt", tmp_path / "masked.txt"
    rules.write_text(ROWS)
    prompt.write_text("Chart QX-4711: asthma.")
    assert run(["mask", str(prompt), "--out", str(out), "--identifier-rules", str(rules), "--quiet"]) == 0
    assert out.read_text() == "Chart <MRN_1>: asthma."
    rules.write_text("[[rule]]\n")
    assert run(["mask", str(prompt), "--out", str(tmp_path / "b.txt"), "--identifier-rules", str(rules)]) == 3
