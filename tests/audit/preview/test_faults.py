"""Wrong profiles, tables and files whose fault only the corpus shows: `check` names each, and none passes the gate."""

from collections.abc import Callable
from datetime import date

import pytest
from support.cases import read_rows
from support.corpus_tables import write_tables
from support.note_layouts import PROFILE, make_people
from support.prompt_status import prompt_status

from clinaudit.audit.assembly.results import find_fit_caveats
from clinaudit.audit.preview.fit import Kind
from clinaudit.audit.preview.survey import survey_corpus
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.settings import AuditSettings

PEOPLE = make_people(24)
Rows = list[dict[str, str]]


def true_table():
    """Return the right patients table of `PEOPLE`."""
    return [
        {"patient_id": who.patient_id, "split": "train", **_identity(index // 3, index % 3)}
        for index, who in enumerate(PEOPLE)
    ]


def _identity(index, layout):
    names = ("Brandon Green", "Ada Lund", "Mia Ode", "Zoë Nuñez", "Ian Ahmadi")
    name = f"{names[index % 5].split()[0]} {names[(index // 5) % 5].split()[1]}"
    return {"name": name, "dob": date(1950 + index, 1 + index % 12, 1 + (index + 9 * layout) % 28).isoformat()}


def survey(directory, *, profile, table):
    (directory / "ours.toml").write_text(profile, encoding="utf-8")
    notes = [{"patient_id": who.patient_id, "note_id": who.patient_id, "text": who.note} for who in PEOPLE]
    diagnoses = "patient_id,diagnosis,present\nb000,hiv,true\n"
    corpus = write_tables(directory / "corpus", notes=notes, diagnoses=diagnoses, patients=table)
    settings = AuditSettings(model="", corpus=corpus, out=directory, template=directory / "ours.toml")
    found = survey_corpus(settings, Progress(quiet=True), minimum_unbroken_share=0.9)
    return found, " ".join(found.text.split())


def worst_status(found):
    """Return the gate's status where a model gives nothing away, at the tier whose prompts fit worst."""
    # No medication stands in these notes.
    counts = [count for count in found.prompts if count.tier != "public_name_meds"]
    if any(not count.arms["train"]["made"] for count in counts):
        return "inconclusive"
    asked = {count.tier: count.arms["train"]["made"] + count.arms["train"]["missed"] for count in counts}
    worst = min(counts, key=lambda count: count.arms["train"]["fitting"] / asked[count.tier])
    of = asked[worst.tier]
    return prompt_status(worst.tier, fitting=worst.arms["train"]["fitting"], own=of, asked=of)[0]


def test_what_is_right_has_no_problem_and_passes(tmp_path):
    found, text = survey(tmp_path, profile=PROFILE, table=true_table())
    assert found.findings == ()
    # These notes tell nothing of where a patient lives, works or what they take.
    assert "no prompt can be made at public_name_meds, which needs medications" in text
    assert "rows that agree: 72 of 72" in text
    assert worst_status(found) == "pass"
    assert find_fit_caveats(found.facts.values(), found.profile) == []


#: What is replaced in the profile, by what; the finding that names it, and words of `check`, wrapped lines joined.
PROFILES = {what: case for what, *case in read_rows("template_cases.txt")["misfitting_profiles"]}
#: Without a patients table, whose values would stand in the prompts in the place of the notes'.
WITHOUT_TABLE = ("American order without a table", "position of the name", "dates exchanged")


@pytest.mark.parametrize("what", PROFILES)
def test_a_wrong_profile_is_named_and_never_passes(tmp_path, what):
    old, new, (name, layout, subject, *counts), said = PROFILES[what]
    kind = Kind[name]
    assert old in PROFILE
    table = None if what in WITHOUT_TABLE else true_table()
    found, text = survey(tmp_path, profile=PROFILE.replace(old, new), table=table)
    matching = [one for one in found.findings if (one.kind, one.layout, one.subject) == (kind, layout, subject)]
    assert [[one.found, one.of] for one in matching] == [counts]
    assert said in text
    assert "PROBLEMS" in text
    assert "NO RULE CAN PASS" in text
    assert not any(word in text for word in ("Brandon", "Lund", "1950", "Jo Ek", "low mood"))
    assert worst_status(found) == "inconclusive"
    (caveat,) = find_fit_caveats(found.facts.values(), found.profile)
    assert kind in caveat


def rotate(rows, columns):
    """Join columns to the patient before."""
    return [
        row | {name: other[name] for name in columns} for row, other in zip(rows, [*rows[3:], *rows[:3]], strict=True)
    ]


TABLES: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "joined to other patients": (lambda rows: rotate(rows, ["name", "dob"]), "0 of 72 rows agree"),
    "a quarter joined to other patients": (
        lambda rows: [*rotate(rows[:18], ["name", "dob"]), *rows[18:]],
        "54 of 72 rows agree",
    ),
    "births of another century": (
        lambda rows: [row | {"dob": f"18{row['dob'][2:]}"} for row in rows],
        "have another dob than the table",
    ),
    "record numbers as names": (
        lambda rows: [row | {"name": f"record {index}"} for index, row in enumerate(rows)],
        "name 0 of 72 values stand",
    ),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_wrong_patients_table_is_named_and_never_passes(tmp_path, what):
    spoil, said = TABLES[what]
    found, text = survey(tmp_path, profile=PROFILE, table=spoil(true_table()))
    assert said in text
    assert "PROBLEMS" in text
    assert "NO RULE CAN PASS" in text
    assert not any(word in text for word in ("Brandon", "Lund", "1950", "b001", "low mood"))
    assert worst_status(found) == "inconclusive"
    assert any("patients table" in caveat for caveat in find_fit_caveats(found.facts.values(), found.profile))
