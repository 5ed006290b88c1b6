"""The plain-text summary."""

import re
from io import StringIO

import pytest
from support.results.filled_results import all_null, empty, filled

from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.terminal.layout import wants_colour
from clinaudit.reports.terminal.rules import rules_text
from clinaudit.reports.terminal.summary import summary_text


def lines(results: Results) -> list[str]:
    return summary_text(suppress(results)).splitlines()


@pytest.mark.parametrize("results", [filled(), filled(cell=30), filled(nontrain=False), all_null(), empty()])
def test_it_fits_100_columns_without_control_codes(results: Results) -> None:
    for line in lines(results):
        assert len(line) <= 100
        assert line.isprintable()
        assert "None" not in line


def test_it_gives_each_tier_in_both_arms() -> None:
    text = lines(filled())
    place = next(i for i, line in enumerate(text) if line.startswith("4 Appointment details"))
    assert text[place].split() == ["4", "Appointment", "details", "train", "61%", "28%", "[93%", "to", "99.3%]"]
    assert text[place + 1].split() == ["nontrain", "5.8%", "0.1%", "8.7%"]


def test_it_counts_the_rules() -> None:
    text = "\n".join(lines(filled()))
    assert "Verdict: FAIL (policy default: 1 rule failed)" in text
    assert "37 rules: 1 failed, 10 inconclusive, 26 passed" in text
    assert "Failed: attributable-encounter" in text


def test_a_suppressed_delta_is_a_band_and_a_missing_one_words() -> None:
    text = lines(filled())
    assert any(line.startswith("Abortion") and "[" in line for line in text)
    alone = lines(filled(nontrain=False))
    assert any(line.startswith("Abortion") and line.count("not measured") == 3 for line in alone)


def test_nothing_measured_is_said_in_words() -> None:
    text = "\n".join(lines(empty()))
    assert "Verdict: none" in text
    assert "Memorization: not measured" in text
    assert "Sensitive diagnoses: not measured" in text
    figures = [line for line in lines(all_null()) if line.startswith("4 Appointment")]
    assert figures[0].count("not measured") == 3


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
    results = suppress(filled())
    for plain, painted in (
        (summary_text(results), summary_text(results, colour=True)),
        (rules_text(results.decision), rules_text(results.decision, colour=True)),
    ):
        assert "\x1b" not in plain
        assert re.sub("\x1b\\[[0-9;]*m", "", painted) == plain
        assert "\x1b[1;31m" in painted


@pytest.mark.parametrize("colour", [False, True])
def test_a_policys_name_cannot_steer_the_terminal(colour: bool) -> None:
    verdict = suppress(filled()).decision.model_copy(update={"policy": "red \x1b[31m\u202e\nverdict: pass"})
    text = rules_text(verdict, colour=colour)
    assert text.count("\n") == len(verdict.rules)
    assert "red \ufffd[31m\ufffd\ufffdverdict: pass" in text


def test_warnings_and_reasons_cannot_steer_the_terminal() -> None:
    results = filled().model_copy(update={"warnings": ["red \x1b[31m and a\nline " + "word " * 60]})
    text = summary_text(suppress(results))
    assert "\x1b" not in text
    assert all(len(line) <= 100 for line in text.splitlines())
