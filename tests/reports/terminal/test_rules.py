"""A verdict on the terminal: a line a rule, under the reason it shares with others."""

import re

import pytest
from support.results.filled_published import BETTER, BROKEN, VARIANTS, published

from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.terminal.rules import BASES, Basis, rules_text
from clinaudit.reports.wording.names import SHORT_TIER_TITLES
from clinaudit.reports.wording.rule_figures import subject_title


def decided(name: str = "full") -> GateDecision:
    decision = VARIANTS[name]().results.decision
    assert decision is not None
    return decision


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "empty"])
@pytest.mark.parametrize("basis", BASES)
def test_it_fits_100_columns_without_control_codes(name: str, basis: Basis) -> None:
    decision = decided(name)
    for line in rules_text(decision, basis=basis).splitlines():
        assert len(line) <= 100
        assert line.isprintable()
        assert "None" not in line


def test_each_rule_is_a_line_with_its_figure_and_limit() -> None:
    lines = rules_text(decided(), basis="published").splitlines()
    assert " ".join(line.strip() for line in lines[:2]).startswith(
        "verdict: fail (policy default): fails for 3 of 6 kinds of asker; 1 could not be decided, 2 passed. The model"
        " breaks 21 of the policy's 54 rules."
    )
    assert sum(line.startswith(("fail ", "inconclusive ", "pass ")) for line in lines) == 54
    own = next(line for line in lines if "Own text" in line and "Appointment reminder" in line)
    assert own.split() == ["fail", "Appointment", "reminder", "Own", "text", "70%", "≤", "5%"]
    hiv = next(line for line in lines if " HIV " in line and "Appointment reminder" in line)
    assert re.search(r"\+0\.\d\d to \+0\.\d\d +≤ 0\.25$", hiv)


def test_reasons_stand_once_over_their_rules_failures_first() -> None:
    text = rules_text(decided(), basis="recorded")
    joined = re.sub(r"\n  (?=\S)", " ", text)
    assert joined.count(BROKEN) == 1
    assert joined.count(BETTER) == 1
    assert f"✗ 3 rules: {BROKEN}" in joined
    assert f"✗ 18 rules: {BETTER}" in joined
    statuses = [line.split()[0] for line in text.splitlines() if line.startswith(("fail", "inconcl", "pass"))]
    assert statuses == sorted(statuses, key=["fail", "inconclusive", "pass"].index)


def as_read(text: str) -> list[list[str]]:
    """Return the cells of each rule, what is about it read on over its lines."""
    table = text.splitlines()
    head = next(line for line in table if line.startswith("Status "))
    starts = [match.start() for match in re.finditer(r"(?<=  )\S|^\S", head)]
    rows: list[list[str]] = []
    for line in table[table.index(head) + 2 :]:
        cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
        if cells[0] in ("fail", "inconclusive", "pass"):
            rows.append(cells)
        elif line.startswith(" " * starts[2]) and rows:
            rows[-1][2] += f" {cells[2]}"
    return rows


@pytest.mark.parametrize("arm", [None, "nontrain"])
@pytest.mark.parametrize("rendering", [None, "facts", "chat"])
def test_no_name_is_cut_however_long_what_a_rule_is_about(arm: Arm | None, rendering: str | None) -> None:
    decision = decided("identifiers")
    longest = [rule.model_copy(update={"rendering": rendering, "arm": arm}) for rule in decision.rules]
    decision = decision.model_copy(update={"rules": longest})
    for basis in BASES:
        text = rules_text(decision, basis=basis)
        assert "…" not in text
        assert all(len(line) <= 100 for line in text.splitlines())
        rows = as_read(text)
        assert len(rows) == len(decision.rules)
        assert {row[1] for row in rows} == {title for title, _ in SHORT_TIER_TITLES.values()}
        # Who asks stands within the first 80 columns.
        assert all(
            line.index(row[1]) + len(row[1]) <= 80 for row in rows for line in text.splitlines() if row[1] in line
        )
        subjects = {row[2].replace("*", "").replace(" per 1,000", "") for row in rows}
        assert subjects == {subject_title(rule) for rule in longest}


def test_figures_less_chance_are_marked_and_the_mark_is_explained() -> None:
    text = rules_text(decided("identifiers"), basis="recorded")
    marked = [line for line in text.splitlines() if " Verified identifiers* per 1,000 " in line]
    assert len(marked) == 6
    assert all(line.endswith(" ≤ 10") for line in marked)
    assert "* Less what chance gives, where that is known. `clinaudit show` and the report's charts include it." in text
    assert "chance gives" not in rules_text(decided("full"), basis="exact")
    assert "Own text*" not in text


def test_it_says_which_figures_decided() -> None:
    said = {basis: "\n".join(rules_text(decided(), basis=basis).splitlines()[2:5]) for basis in BASES}
    assert len(set(said.values())) == len(BASES)
    assert "PHI" in said["exact"]
    # Exact figures come with their interval.
    exact = rules_text(decided("exact"), basis="exact")
    assert re.search(r"fail +Appointment reminder +Own text +28% \(\d+ to \d+\) +≤ 5%", exact)


def test_colour_adds_nothing_but_colour() -> None:
    decision = decided()
    plain = rules_text(decision, basis="recorded")
    painted = rules_text(decision, basis="recorded", colour=True)
    assert "\x1b" not in plain
    assert re.sub("\x1b\\[[0-9;]*m", "", painted) == plain
    assert "\x1b[1;31m" in painted


@pytest.mark.parametrize("colour", [False, True])
def test_a_policys_name_cannot_steer_the_terminal(colour: bool) -> None:
    verdict = decided().model_copy(update={"policy": "red \x1b[31m\u202e\nverdict: pass"})
    text = rules_text(verdict, basis="recorded", colour=colour)
    assert not any(line.startswith("verdict: pass") for line in text.splitlines())
    assert "red \ufffd[31m\ufffd\ufffdverdict: pass" in text


def test_a_policy_without_rules_has_no_table() -> None:
    text = rules_text(decided().model_copy(update={"rules": []}), basis="published")
    assert "Status" not in text
    assert published().decision is not None
