"""Wrong profiles that only notes can tell: each gives a finding that names the cause, with counts."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.note_layouts import PROFILE, Person, make_people
from support.patient_facts import corpus_of

from clinaudit.audit.preview.profile_fit import Finding, Kind, ProfileFit, date_order, entries_of, measure_fit
from clinaudit.priors.facts import read_facts
from clinaudit.priors.tiers import Fact
from clinaudit.templates.names import named_layout
from clinaudit.templates.profile import load_profile, locate_entries

PEOPLE = make_people(24)


def fit_of(directory: Path, profile: str, people: Sequence[Person] = PEOPLE) -> ProfileFit:
    (directory / "t.toml").write_text(profile, encoding="utf-8")
    notes = [{"patient_id": who.patient_id, "note_id": who.patient_id, "text": who.note} for who in people]
    corpus, read = corpus_of(directory / "corpus", notes), load_profile(directory / "t.toml")
    return measure_fit(read_facts(corpus, read, corpus.patients), read)


DATES = """fields.dob = { labels = ["DOB"] }
fields.sex.labels = ["Sex"]
fields.visit_date.labels = ["Visit date"]"""
# (what is replaced, by what, kind, layout, subject, found, of, words of the text)
WRONG: dict[str, tuple[str, str, Kind, str, str, int, int, str]] = {
    "label that never occurs": (
        *('labels = ["DOB"]', 'labels = ["Born"]', Kind.FACT_MISSING, "banner", "dob", 0, 24),
        "looked for by label born",
    ),
    "label of the provider": (
        *('["Clinician"]', '["Doctor"]', Kind.FACT_MISSING, "one a line", "provider", 0, 24),
        "provider is found in 0 of 24 notes",
    ),
    "header that never occurs": (
        *('"history"', '"story"', Kind.FACT_MISSING, "one a line", "hpi", 0, 24),
        "header hpi, header story, header hpc",
    ),
    "header style": (
        *('["markdown"]', '["capitals"]', Kind.NO_HEADER, "one a line", "sections", 0, 24),
        "0 of 24 notes have a header",
    ),
    "header style of shorthand": (
        *('["lead_in"]', '["colon"]', Kind.FACT_MISSING, "shorthand", "chief_complaint", 0, 24),
        "is found in 0 of 24 notes",
    ),
    "American order for British dates": (
        *('date_formats = "day_first"', "", Kind.DATE_ORDER_OTHER, "shorthand", "dob", 12, 24),
        "12 of 24 dates (dob) can be read only with day and month exchanged",
    ),
    "British order for American dates": (
        *('date_formats = "month_first"', 'date_formats = "day_first"', Kind.VALUE_UNREAD, "banner", "dob", 12, 24),
        "dates read: 12 of 24 (dob)",
    ),
    "format that reads nothing": (
        *('date_formats = "month_first"', 'date_formats = ["%d.%m.%Y"]', Kind.VALUE_UNREAD, "banner", "visit_date"),
        *(0, 24, "dates read: 0 of 24"),
    ),
    "signature that never matches": (
        *("ELM VALLEY", "OAK VALLEY", Kind.LAYOUT_UNUSED, "banner", "banner", 0, 72),
        "no patient's latest note fits it",
    ),
    "notes of a layout that no longer fits": (
        *("ELM VALLEY", "OAK VALLEY", Kind.NO_LAYOUT, "no layout", "layouts", 48, 72),
        "24 of 72 patients have a latest note that fits no layout",
    ),
    "pattern that never matches": (
        *("(?P<provider>Dr ", "(?P<provider>Doctor ", Kind.NO_LAYOUT, "no layout", "layouts", 48, 72),
        "24 of 72 patients",
    ),
    "position of the name": (
        *('fields.name.labels = ["Patient:"]', "fields.name.position = { line = 1 }"),
        *(Kind.VALUE_REPEATED, "banner", "name", 0, 24, "have one and the same name"),
    ),
    "position of another line": (
        *("{ line = -1 }", "{ line = 2 }", Kind.VALUE_UNREAD, "one a line", "practice", 0, 24),
        "the others are not a name",
    ),
    "position past the banner": (
        *("{ line = -1 }", "{ line = 7 }", Kind.FACT_MISSING, "one a line", "practice", 0, 24),
        "looked for by position",
    ),
    "label of no fact left out": (
        *('other_labels = ["MRN", "Page"]', "", Kind.VALUE_UNREAD, "banner", "sex", 0, 24),
        "the others are not a sex",
    ),
    "groups exchanged": (
        *(r"(?P<age>\d+)(?P<sex>[MF])", r"(?P<sex>\d+)(?P<age>[MF])", Kind.VALUE_UNREAD, "shorthand", "age", 0, 24),
        "the others are not an age in years",
    ),
    "dates exchanged": (
        DATES,
        DATES.replace("DOB", "?").replace("Visit date", "DOB").replace("?", "Visit date"),
        *(Kind.BIRTH_AFTER_VISIT, "banner", "dob", 0, 24, "are after the visit date"),
    ),
    "name that takes more of its line": (
        *(r"(?P<name>\pL+ \pL+) (", r"(?P<name>\pL+ \pL+ \d)(", Kind.VALUE_UNREAD, "shorthand", "name", 0, 24),
        "the others are not a name",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_profile_gives_a_finding_that_names_the_cause(tmp_path: Path, what: str) -> None:
    old, new, kind, layout, subject, found, of, words = WRONG[what]
    assert old in PROFILE
    findings = fit_of(tmp_path, PROFILE.replace(old, new)).findings
    matching = [item for item in findings if (item.kind, item.layout, item.subject) == (kind, layout, subject)]
    assert [(item.found, item.of, item.level) for item in matching] == [(found, of, "problem")]
    assert words in matching[0].text
    assert findings[0].level == "problem"


@pytest.mark.parametrize(
    ("what", "kind", "entry"),
    [
        ("label that never occurs", Kind.FACT_MISSING, 'fields.dob = { labels = ["Born"]'),
        ("header that never occurs", Kind.FACT_MISSING, "[fields.hpi]"),
        ("format that reads nothing", Kind.DATE_FORMAT_UNUSED, 'date_formats = ["%d.%m.%Y"]'),
        ("American order for British dates", Kind.DATE_ORDER_OTHER, 'date_formats = "month_first"'),
        ("signature that never matches", Kind.LAYOUT_UNUSED, "[[layouts]]"),
        ("groups exchanged", Kind.VALUE_UNREAD, "[[layouts.patterns]]"),
        ("header style", Kind.NO_HEADER, 'header_styles = ["capitals"]'),
    ],
)
def test_a_finding_has_its_file_and_line(tmp_path: Path, what: str, kind: Kind, entry: str) -> None:
    old, new, *_ = WRONG[what]
    fit, text = fit_of(tmp_path, PROFILE.replace(old, new)), PROFILE.replace(old, new).splitlines()
    finding = next(item for item in fit.findings if item.kind is kind)
    path = tmp_path / "t.toml"
    (place,) = locate_entries(path, [entries_of(finding, load_profile(path))])
    name, line = re.fullmatch(r"(.+) line (\d+)", place).groups()
    assert name == "t.toml"
    assert text[int(line) - 1].startswith(entry)


def test_a_missing_history_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    """Of 20 notes 12 have the history, 3 one under a header that the profile does not know, and 5 none."""
    sections = ["HPI: x"] * 12 + ["History of present complaint: x"] * 3 + ["Plan: x"] * 5
    people = [
        Person(f"p{n}", "banner", f"ELM VALLEY HEALTH\nPatient: A B\nChief Complaint: y\n{section}\n", {})
        for n, section in enumerate(sections)
    ]
    found = [item for item in fit_of(tmp_path, PROFILE, people).findings if item.subject == "hpi"]
    (missing,) = [item for item in found if item.kind is Kind.FACT_MISSING]
    assert (missing.found, missing.of) == (12, 20)
    assert missing.text.endswith("; 5 of the other 8 have no such header, and nothing to mend")


@pytest.mark.parametrize(
    ("name", "said"), [("layout 1", "layout 1"), ("no layout", "no layout"), ("soap", "layout soap"), ("1", "layout 1")]
)
def test_a_layout_is_called_one_once(name: str, said: str) -> None:
    assert named_layout(name) == said


def test_a_value_that_stands_for_none_is_none_only_where_the_profile_says_so(tmp_path: Path) -> None:
    people = [Person(f"p{n}", "banner", "ELM VALLEY HEALTH\nPatient: --   DOB: --\nHPI: x\n", {}) for n in range(3)]
    unread = [item for item in fit_of(tmp_path, PROFILE, people).findings if item.subject == "name"]
    assert [(item.kind, item.found, item.of) for item in unread] == [(Kind.VALUE_UNREAD, 0, 3)]
    said = PROFILE.replace('date_formats = "month_first"', 'date_formats = "month_first"\nblanks = ["--"]')
    missing = [item for item in fit_of(tmp_path, said, people).findings if item.subject == "name"]
    assert [(item.kind, item.found, item.of) for item in missing] == [(Kind.FACT_MISSING, 0, 3)]


def test_a_tag_of_de_identification_is_in_the_right_place_and_one_value_for_all_of_them_is_no_finding(
    tmp_path: Path,
) -> None:
    people = [Person(f"p{n}", "banner", "ELM VALLEY HEALTH\nPatient: ___   DOB: ___\nHPI: x\n", {}) for n in range(30)]
    fit = fit_of(tmp_path, PROFILE, people)
    assert [item.kind for item in fit.findings if item.subject in ("name", "dob")] == []
    of_name = fit.layouts[0].facts[Fact.NAME]
    assert (of_name.found, of_name.read) == (30, 30)


def findings_of_dates(directory: Path, days: Sequence[int]) -> list[Finding]:
    notes = [
        Person(
            f"p{n}", "shorthand", f"{day:02}/03/2024 Dr Ek, Elm\nAda Lund 34F DOB {day:02}/03/89\nC/O x\nHPC y\n", {}
        )
        for n, day in enumerate(days)
    ]
    kinds = (Kind.DATE_ORDER_UNTOLD, Kind.DATE_ORDER_OTHER)
    return [item for item in fit_of(directory, PROFILE, notes).findings if item.kind in kinds]


def test_dates_that_fit_both_orders_are_a_finding(tmp_path: Path) -> None:
    found = findings_of_dates(tmp_path, range(1, 13))
    assert [(item.kind, item.subject, item.of, item.level) for item in found] == [
        (Kind.DATE_ORDER_UNTOLD, "dob", 12, "problem"),
        (Kind.DATE_ORDER_UNTOLD, "visit_date", 12, "problem"),
    ]
    assert "as day first and as month first" in found[0].text
    assert {item.level for item in findings_of_dates(tmp_path, range(1, 6))} == {"note"}


def test_one_date_that_only_one_order_reads_tells_the_order(tmp_path: Path) -> None:
    assert findings_of_dates(tmp_path, [*range(1, 13), 31]) == []


def test_orders_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(PROFILE, encoding="utf-8")
    profile = load_profile(tmp_path / "t.toml")
    dates = ["01/02/2024", "13/02/2024", "02/13/2024", "31/31/2024", "2 May 2024"]
    notes = [
        {"patient_id": f"p{n}", "note_id": f"n{n}", "text": f"01/02/2024 Dr Ek, Elm\nAda Lund 3F DOB {day}\nC/O x"}
        for n, day in enumerate(dates)
    ]
    corpus = corpus_of(tmp_path / "corpus", notes)
    facts = read_facts(corpus, profile, corpus.patients)
    order = date_order(list(facts.values()), Fact.DOB, profile.layouts[-1])
    assert (order.as_said, order.exchanged, order.either) == (1, 1, 1)


def test_no_finding_holds_text_of_a_note(tmp_path: Path) -> None:
    for old, new, *_ in [WRONG["position of the name"], WRONG["groups exchanged"], WRONG["dates exchanged"]]:
        said = " ".join(item.text for item in fit_of(tmp_path, PROFILE.replace(old, new)).findings)
        assert not any(word in said for word in ("Brandon", "Lund", "1950", "Jo Ek", "low mood"))
