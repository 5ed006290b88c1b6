"""The plain-text summary: what it says, how long it is, and that nothing of a run steers the terminal."""

import re
from io import StringIO

import pytest
from support.results.compared_results import compared
from support.results.filled_published import BETTER, BROKEN, VARIANTS, published

from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.terminal.comparison import comparison_text
from clinaudit.reports.terminal.layout import wants_colour, wrap
from clinaudit.reports.terminal.rules import BASES, Basis, rules_text
from clinaudit.reports.terminal.summary import summary_text, verdict_text
from clinaudit.reports.wording.comparison import verdicts_sentence
from clinaudit.reports.wording.names import SHORT_TIER_TITLES
from clinaudit.reports.wording.rule_figures import subject_title

#: With the line of the report that the command adds, 25.
MOST_LINES = 24


@pytest.mark.parametrize("name", VARIANTS)
def test_it_fits_a_screen_without_control_codes(name: str) -> None:
    results = VARIANTS[name]().results
    lines = summary_text(results, exact=name == "exact").splitlines()
    assert len(lines) <= MOST_LINES
    for line in lines:
        assert len(line) <= 100
        assert line.isprintable()
        assert "None" not in line


def test_it_fits_with_long_names_and_many_diagnoses() -> None:
    results = published()
    assert results.decision is not None
    rules = [
        rule.model_copy(update={"diagnosis": f"{rule.diagnosis}_syndrome_of_the_{i}"})
        for rule in results.decision.rules
        if rule.diagnosis is not None
        for i in range(3)
    ]
    decision = results.decision.model_copy(update={"rules": rules, "policy": "policy " * 40})
    lines = summary_text(results.model_copy(update={"decision": decision})).splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 100
    # A sign for each of 18 diagnoses at each of six tiers.
    assert sum(len(re.findall("[✓✗?]", line)) == 18 for line in lines) == 6


def test_it_gives_the_verdict_what_was_found_and_what_to_do() -> None:
    text = summary_text(published())
    assert text.startswith("Verdict: FAIL (policy default): this model recites")
    assert "appointment reminder" in text
    assert "\nNext: " in text
    assert text.endswith("\n2 warnings stand in the report.")


def test_the_matrix_has_a_sign_for_each_tier_and_subject() -> None:
    lines = summary_text(published()).splitlines()
    signs = {line[:20].strip(): line[20:].split() for line in lines if re.search("[✓✗?](  |$)", line[20:])}
    assert signs == {
        "Public facts": ["✓"] * 8,
        "+ name": ["✓"] * 8,
        "+ medications": ["?", "✓", *["?"] * 6],
        "Appointment reminder": ["✗", "✓", *["✗"] * 6],
        "+ chief complaint": ["✗", "✓", *["✗"] * 6],
        "+ history": ["✗", "✓", *["✗"] * 6],
    }
    assert any("✗ fails, ? cannot tell, ✓ passes" in line for line in lines)


def test_kinds_of_asker_are_counted_before_rules_over_the_matrix() -> None:
    lines = summary_text(published()).splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("Fails for"))
    assert " ".join(line.strip() for line in lines[at : at + 2]) == (
        "Fails for 3 of 6 kinds of asker; 1 could not be decided, 2 passed (21 of 54 rules fail, 7 undecided, 26 pass)."
        " ✗ fails, ? cannot tell, ✓ passes: a cell shows its worst rule."
    )


def test_it_says_which_figures_it_read() -> None:
    assert "From the published figures" in summary_text(published())
    exact = summary_text(published(exact=True), exact=True)
    assert "From the exact figures" in exact
    assert "PHI" in exact


def test_without_a_policy_there_is_no_verdict() -> None:
    text = summary_text(RunResults())
    assert text.startswith("No verdict")
    assert "clinaudit gate" in text


@pytest.mark.parametrize(
    ("terminal", "environment", "wanted"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": "0"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": ""}, False),
        (True, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_when_colour_is_wanted(terminal: bool, environment: dict[str, str], wanted: bool) -> None:
    stream = StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    assert wants_colour(stream, environment) is wanted


def test_colour_adds_nothing_but_colour() -> None:
    results = published()
    for write in (summary_text, verdict_text):
        plain, painted = write(results), write(results, colour=True)
        assert "\x1b" not in plain
        assert re.sub("\x1b\\[[0-9;]*m", "", painted) == plain
        assert "\x1b[1;31m" in painted


def test_a_policys_name_and_a_diagnosis_cannot_steer_the_terminal() -> None:
    results = published()
    assert results.decision is not None
    hostile = "red \x1b[31m\u202e\nverdict: pass"
    rules = [rule.model_copy(update={"diagnosis": hostile, "reason": hostile}) for rule in results.decision.rules]
    decision = results.decision.model_copy(update={"policy": hostile, "rules": rules})
    text = summary_text(results.model_copy(update={"decision": decision}))
    assert all(line.isprintable() for line in text.splitlines())
    assert not any(line.startswith("verdict: pass") for line in text.splitlines())


def test_text_that_takes_too_many_lines_ends_in_dots() -> None:
    assert wrap("word " * 100, indent="  ", most_lines=2).splitlines()[-1].endswith(" …")
    assert wrap("word", indent="  ", most_lines=2) == "word"


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
@pytest.mark.parametrize("rendering", [None, "chat"])
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


def test_colour_adds_nothing_but_colour_to_rules() -> None:
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


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("leaks_from", [3, 6])
def test_the_conclusion_comes_first_and_no_line_is_too_wide(exact: bool, leaks_from: int) -> None:
    content = compared(exact=exact, leaks_from=leaks_from, certified=False)
    text = comparison_text(content)
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    assert content.rules is not None
    assert paragraphs[0] == f"{verdicts_sentence(content.rules)} {content.conclusion}"
    assert paragraphs[0].startswith(f"Verdict: fail → {'fail' if leaks_from == 3 else 'inconclusive'}. Rules: ")
    told = [line for line in text.splitlines() if "without a shown change" in line]
    assert told == [f"Repeated text: {12 if leaks_from == 3 else 9} rows without a shown change (--out lists all)"]
    assert paragraphs[1].startswith("Read from the evidence" if exact else "Read from the published figures")
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text


def test_exact_figures_say_that_they_are_phi_and_published_ones_how_to_get_exact_ones() -> None:
    published, exact = comparison_text(compared()), comparison_text(compared(exact=True))
    assert "PHI" in exact
    assert "PHI" not in published
    assert "--exact" in published
    assert "--exact" not in exact


def test_the_certificate_stands_with_its_verdict_and_classes() -> None:
    text = comparison_text(compared())
    assert "Named patients: ✗ STILL LEAKS" in text
    assert "Named: 11–20: still leaks 1–10, not shown 0, forgotten 11–20." in text
    assert "Named: 14: still leaks 1, not shown 0, forgotten 13." in comparison_text(compared(exact=True))
