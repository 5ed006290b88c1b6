"""The plain-text summary: what it says, how long it is, and that nothing of a run steers the terminal."""

import re
from io import StringIO

import pytest
from support.results.filled_published import VARIANTS, published

from clinaudit.reports.schema.results import DriftResults, RunResults
from clinaudit.reports.terminal.layout import wants_colour, wrap
from clinaudit.reports.terminal.summary import summary_text, verdict_text

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
    assert "2 warnings stand in the report. Some prompts decoded alone gave another text (drift)." in text


def test_drift_is_said_with_and_without_warnings() -> None:
    steady = RunResults(drift=DriftResults(differing="none", tokens=64))
    assert summary_text(steady).endswith("\nPrompts decoded alone gave the same text (no drift).")
    assert "decoded alone" not in summary_text(RunResults())


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
