"""Ids of one person: when two are, and what is left of their rows; by hand, and at random against the joined corpus."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from support.aci_bench import ACI_BENCH
from support.cases import read_rows
from support.corpus_tables import write_tables
from support.patient_facts import NOTE, PROFILE
from support.simulations import first_of

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.patient import read_patient_list
from clinaudit.priors.corpus.people import LEAST_WORDS, MOST_IDS
from clinaudit.priors.facts import identity_reader

CASES = read_rows("corpus_rows.txt")


def long_note(subject: object) -> str:
    return f"visit about {subject}: " + " ".join(f"{subject}w{n}" for n in range(LEAST_WORDS))


def corpus_of(
    directory: Path, notes: Mapping[str, Sequence[str]], patients: str | None = None, *, read: bool = False
) -> Corpus:
    rows = [
        {"patient_id": patient, "note_id": f"{patient}/{n}", "text": text}
        for patient, texts in notes.items()
        for n, text in enumerate(texts)
    ]
    write_tables(directory, notes=rows, patients=None if patients is None else f"patient_id,{patients}\n")
    stated = {"stated": identity_reader(PROFILE)} if read else {}
    return read_corpus(directory, **stated)


def of_names(directory: Path, *rows: str) -> dict[str, str]:
    """Who is whom, of patients a, b, ... with these names and birth dates, and with notes of their own."""
    notes = {chr(97 + n): [long_note(n)] for n in range(len(rows))}
    table = "\n".join(f"{patient},{row}" for patient, row in zip(notes, rows, strict=True))
    return dict(corpus_of(directory, notes, f"name,dob\n{table}").people.person_of)


@pytest.mark.parametrize(("one", "other"), CASES["one_person"])
def test_equal_names_and_birth_dates_are_one_person(tmp_path: Path, one: str, other: str) -> None:
    assert of_names(tmp_path, one, other, "Eve Hall,1960-02-03") == {"a": "a", "b": "a"}


@pytest.mark.parametrize(("one", "other"), CASES["two_persons"])
def test_what_differs_is_a_tag_or_is_unknown_joins_nobody(tmp_path: Path, one: str, other: str) -> None:
    assert of_names(tmp_path, one, other) == {}


def test_a_name_and_birth_date_of_more_ids_than_a_person_has_is_a_placeholder(tmp_path: Path) -> None:
    rows = ["Test Patient,1900-01-01"] * (MOST_IDS + 1)
    assert of_names(tmp_path, *rows) == {}
    assert len(of_names(tmp_path / "fewer", *rows[1:])) == MOST_IDS


def test_what_the_other_ids_say_of_a_person_is_kept(tmp_path: Path) -> None:
    shared = [long_note(n) for n in range(4)]
    table = "name,dob\na,Ada Lund,1960-02-03\nb,Ada Holm,1960-02-04"
    (ada,) = corpus_of(tmp_path, {"a": shared, "b": shared}, table).patients.values()
    assert {(ada.name, ada.dob), (ada.other_names[0], ada.other_births[0])} == {
        ("Ada Lund", date(1960, 2, 3)),
        ("Ada Holm", date(1960, 2, 4)),
    }
    assert ada.other_ids == ("b",)


def test_who_is_one_with_a_third_is_one_with_the_other(tmp_path: Path) -> None:
    shared = [long_note(n) for n in range(4)]
    table = "name,dob\nc,Ada Lund,1960-02-03\nb,Ada Lund,1960-02-03\na,,\nd,Eve Hall,1960-02-03"
    notes = {"c": [long_note("c")], "b": shared, "a": shared, "d": [long_note("d")]}
    assert corpus_of(tmp_path, notes, table).people.person_of == {"a": "a", "b": "a", "c": "a"}


@pytest.mark.parametrize(
    ("equal", "of", "is_one"), [(4, 5, True), (3, 4, False), (7, 9, False), (8, 10, True), (1, 1, True)]
)
@pytest.mark.parametrize("more", [0, 7])
def test_four_in_five_notes_of_the_id_with_fewer_must_be_equal(
    tmp_path: Path, equal: int, of: int, is_one: bool, more: int
) -> None:
    shared = [long_note(n) for n in range(equal)]
    respaced = [f"\n {text} ".replace(" ", "\t\n") for text in shared]
    notes = {
        "a": shared + [long_note(f"a{n}") for n in range(of - equal)],
        "b": respaced + [long_note(f"b{n}") for n in range(of - equal + more)],
    }
    assert bool(corpus_of(tmp_path, notes).people.person_of) is is_one


def test_a_note_given_twice_counts_twice(tmp_path: Path) -> None:
    notes = {"a": [long_note(0)] * 4 + [long_note("a")], "b": [long_note(0), *(long_note(f"b{n}") for n in range(5))]}
    assert corpus_of(tmp_path, notes).people.person_of == {"a": "a", "b": "a"}


def test_short_notes_and_form_letters_tell_nobody(tmp_path: Path) -> None:
    letter, short = long_note("letter"), " ".join(["no", "show"] * LEAST_WORDS)[: 3 * LEAST_WORDS]
    assert len(short.split()) < LEAST_WORDS
    ids = [f"p{n:02}" for n in range(MOST_IDS + 1)]
    assert corpus_of(tmp_path / "letters", {patient: [letter, short] for patient in ids}).people.person_of == {}
    assert len(corpus_of(tmp_path / "ten", {patient: [letter] for patient in ids[1:]}).people.person_of) == MOST_IDS
    # Beside them the one telling note of an id decides.
    notes = {patient: [letter, short] for patient in ids} | {"a": [letter, long_note(0)], "b": [short, long_note(0)]}
    assert corpus_of(tmp_path / "beside", notes).people.person_of == {"a": "a", "b": "a"}


@pytest.mark.parametrize(
    "write",
    [
        str,
        str.upper,
        lambda text: text.replace(" ", "\r\n"),
        lambda text: text.replace(": ", ":"),
        lambda text: text.replace("w1 ", "w1\u00a0\u2028"),
        lambda text: "\n\n" + text + " \t",
        lambda text: text.replace(" ", "", 2),
    ],
    ids=["equal", "upper", "line ends", "no blank", "odd blanks", "outer", "joined words"],
)
def test_the_same_notes_in_both_arms_are_found_whatever_their_blanks(
    tmp_path: Path, write: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    texts = {n: [f"{long_note((n, visit))} end" for visit in range(2)] for n in range(3)}
    notes = {f"t{n}": own for n, own in texts.items()} | {f"u{n}": [write(text) for text in texts[n]] for n in texts}
    table = "split\n" + "\n".join(f"{one},{'train' if one[0] == 't' else 'nontrain'}" for one in notes)
    expected = set() if request.node.callspec.id == "upper" else {"t0", "t1", "t2"}
    assert corpus_of(tmp_path, notes, table).people.in_both_splits == expected


@pytest.mark.parametrize(("elsewhere", "of", "is_doubled"), [(4, 5, True), (3, 4, False), (1, 1, True)])
def test_notes_that_several_ids_of_the_other_split_hold_count_together(
    tmp_path: Path, elsewhere: int, of: int, is_doubled: bool
) -> None:
    # u's notes stand under an id each, as where one arm was exported by patient and the other by visit; each of those
    # ids has twice as many notes of its own, so that no two ids are one person.
    notes = {"u": [long_note(("u", n)) for n in range(of)]}
    notes |= {f"t{n}": [notes["u"][n], *(long_note((n, m)) for m in range(6))] for n in range(elsewhere)}
    if of == 1:
        notes["u"] += ["no show"] * 9
    table = "split\nu,nontrain\n" + "\n".join(f"t{n},train" for n in range(elsewhere))
    people = corpus_of(tmp_path, notes, table).people
    assert ("u" in people.in_both_splits or "t0" in people.in_both_splits) is is_doubled
    if of > 1:
        assert not people.person_of
        assert any(line.startswith("SHARED: 1 ") for line in people.describe()) is is_doubled
    same_side = table.replace("nontrain", "train")
    assert not corpus_of(tmp_path / "same", notes, same_side).people.in_both_splits


def test_letters_that_many_ids_hold_are_nobodys_in_either_split(tmp_path: Path) -> None:
    letter = long_note("letter")
    notes = {f"{side}{n}": [letter] for side in "tu" for n in range(6)}
    table = "split\n" + "\n".join(f"{one},{'train' if one[0] == 't' else 'nontrain'}" for one in notes)
    assert not corpus_of(tmp_path, notes, table).people.in_both_splits


def test_the_notes_say_whose_they_are_where_no_table_does(tmp_path: Path) -> None:
    other = NOTE.replace("low mood", "cough").replace("dob: 02/03/1960", "dob: 02/03/60")
    notes = {"a": [NOTE], "b": [other], "c": [NOTE.replace("02/03/1960", "02/04/1960")]}
    notes["d"] = notes["e"] = [
        NOTE.replace("Ada Lund", "[NAME]").replace("low mood", f"low mood {n}") for n in "123456"
    ]
    notes["e"] = [text.replace("tired", "well") for text in notes["e"]]
    assert corpus_of(tmp_path / "read", notes, read=True).people.person_of == {"a": "a", "b": "a"}
    assert corpus_of(tmp_path / "unread", notes).people.person_of == {}
    # A table that knows better wins; one that says nothing does not.
    table = "name,dob\na,Eve Hall,\nb,,1960-02-03\nc,,\nd,,\ne,,"
    assert corpus_of(tmp_path / "table", notes, table, read=True).people.person_of == {}
    table = "name,dob\na,Ada Lund,\nb,,1960\nc,,\nd,,\ne,,"
    assert corpus_of(tmp_path / "year", notes, table, read=True).people.person_of == {"a": "a", "b": "a"}


PATIENTS = """split,age,sex,name,dob,race,occupation
a,nontrain,40,f,Ada Lund,1960-02-03,white,cook
b,train,44,,Ada Lund,1960-02-03,,baker
c,nontrain,30,m,Jo Ek,1990-01-01,,
d,nontrain,31,m,Jo Ek,1990-01-01,,
e,Validation,30,m,Al Roe,1991-01-01,,
f,nontrain,31,m,Al Roe,1991-01-01,,
g,train,30,m,Cy Poe,1992-01-01,,
h,validation,31,m,Cy Poe,1992-01-01,,"""


def test_the_rows_of_a_person_are_joined(tmp_path: Path) -> None:
    visits = {"a": "2001-05-01T09:00", "b": "2004-05-01T08:00"}
    rows = [
        {
            "patient_id": patient,
            "note_id": patient,
            "text": long_note(patient),
            "visit_date": visits.get(patient, "2020-01-01"),
        }
        for patient in "abcdefgh"
    ]
    same = {"text": long_note("a"), "visit_date": "2001-05-01T09:00"}
    # The same record; the same record on another day; another at another time of that day.
    rows += [
        {"patient_id": "b", "note_id": "copy", **same},
        {"patient_id": "b", "note_id": "later", "text": long_note("a"), "visit_date": "2002-05-01"},
        {"patient_id": "b", "note_id": "noon", "text": "cough", "visit_date": "2001-05-01T12:00"},
        {"patient_id": "a", "note_id": "eleven", "text": "cough", "visit_date": "2001-05-01T11:00"},
    ]
    labels = ("a,hiv,true", "b,hiv,false", "a,ptsd,false", "b,ptsd,false", "b,anxiety,true", "c,hiv,false")
    diagnoses = "\n".join(["patient_id,diagnosis,present", *labels, ""])
    corpus = read_corpus(write_tables(tmp_path, notes=rows, patients=f"patient_id,{PATIENTS}\n", diagnoses=diagnoses))
    assert corpus.people.in_both_splits == {"a", "e"}
    assert {one: patient.split for one, patient in corpus.patients.items()} == {
        "a": "train",
        "c": "nontrain",
        "g": "train",
    }
    assert set(corpus.validation) == {"e"}
    assert corpus.ids == {"a": "a", "b": "a", "c": "c", "d": "c", "g": "g", "h": "g"}
    ada = corpus.patients["a"]
    assert (ada.age, ada.sex, ada.race, ada.occupation) == (44, "female", "white", "baker")
    assert (ada.name, ada.dob) == ("Ada Lund", date(1960, 2, 3))
    assert [note.note_id for note in corpus.notes_of("a")] == ["a", "eleven", "noon", "later", "b"]
    assert {note.patient_id for note in corpus.notes_of("a")} == {"a"}
    assert corpus.diagnosis_labels == {
        ("a", "hiv"): True,
        ("a", "ptsd"): False,
        ("a", "anxiety"): True,
        ("c", "hiv"): False,
    }
    (first, second) = corpus.readings
    assert first.startswith("4 patients stand under more than one id (8 ids")
    assert second.startswith("SHARED: 2 patients stand in")
    assert "Ada" not in first + second


def test_who_is_left_in_the_validation_split_alone_cannot_be_audited(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        corpus_of(
            tmp_path,
            {"a": ["x"], "b": ["y"]},
            "split,name,dob\na,nontrain,Jo Ek,1990-01-01\nb,validation,Jo Ek,1990-01-01",
        )
    assert "every patient with notes is in the validation split" in refused.value.problems[0]


@pytest.mark.parametrize("seed", first_of(30, always=8))
def test_ids_split_at_random_give_the_corpus_that_they_were_split_from(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    whole, parted = [], []
    people, given = ["name,dob,split"], ["name,dob,split"]
    for person in range(rng.randint(1, 8)):
        split = rng.choice(["train", "nontrain"])
        row = f"Ada{person} Lund,19{rng.randint(50, 99)}-01-02,{split}"
        ids = [f"p{person}{suffix}" for suffix in "abc"[: rng.randint(1, 3)]]
        people.append(f"{ids[0]},{row}")
        given += [f"{one},{row}" for one in ids]
        for number in range(rng.randint(len(ids), 6)):
            day = f"20{rng.randint(10, 11)}-01-02T{rng.randint(0, 1)}{number}:00"
            note = {"note_id": f"{person}/{number}", "text": f"note {rng.randint(0, 3)}", "visit_date": day}
            holder = ids[number] if number < len(ids) else rng.choice(ids)
            whole.append({"patient_id": ids[0], **note})
            parted.append({"patient_id": holder, **note})
            for other in rng.sample(ids, rng.randint(0, len(ids))):
                if other != holder and other > holder:
                    parted.append({"patient_id": other, **note, "note_id": f"{person}/{number}{other}"})
    places = []
    for name, notes, table in (("whole", whole, people), ("parted", parted, given)):
        patients = "patient_id," + "\n".join(table) + "\n"
        places.append(read_corpus(write_tables(tmp_path / name, notes=notes, patients=patients)))
    one, other = places
    ids = {patient: row.other_ids for patient, row in other.patients.items()}
    assert {(patient, *others) for patient, others in ids.items()} == {
        tuple(sorted(row.split(",")[0] for row in given[1:] if row.startswith(f"{patient[:-1]}"))) for patient in ids
    }
    assert one.patients == {patient: replace(row, other_ids=()) for patient, row in other.patients.items()}
    for patient in one.patients:
        held = [[(note.text, note.visit_date) for note in of.notes_of(patient)] for of in (one, other)]
        assert held[0] == held[1]


@pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="the shared ACI-Bench notes are not beside this checkout")
def test_nobody_of_aci_bench_is_joined_until_their_notes_are_given_twice(tmp_path: Path) -> None:
    assert read_corpus(ACI_BENCH, stated=identity_reader(PROFILE)).people.person_of == {}
    given = [json.loads(line) for line in (ACI_BENCH / "notes.jsonl").read_text("utf-8").splitlines()]
    notes = {note["patient_id"]: [note["text"]] for note in given}
    twice = notes | {f"x{patient}": [" ".join(text.split()) for text in texts] for patient, texts in notes.items()}
    corpus = corpus_of(tmp_path, twice)
    assert len(corpus.patients) == len(notes)
    assert corpus.people.person_of == {one: patient for patient in notes for one in (patient, f"x{patient}")}


def test_a_patient_of_the_validation_split_is_not_called_unknown(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("known\nheld\n\nother\n")
    with pytest.raises(BadInputError) as caught:
        read_patient_list(tmp_path / "ids.txt").require_known({"known"}, validation={"held"})
    assert list(caught.value.problems) == [
        "ids.txt line 2: is of the validation split, which is never probed",
        "ids.txt line 4: no patient with notes has this id",
    ]
    assert caught.value.message == "ids.txt names patients who cannot be probed; correct these lines"


def test_other_ids_of_a_person_are_the_person_by_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("b2\na\nb\n")
    people = read_patient_list(tmp_path / "ids.txt").as_people({"b": "b", "b2": "b"})
    assert people.lines == {"b": 1, "a": 2}
