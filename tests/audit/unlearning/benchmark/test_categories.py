"""Which disease a chart tells of: codes, words, ties; the taxonomy as data; and how often a reader says the same."""

import csv
from itertools import combinations
from pathlib import Path

import pytest
from support.aci_bench import ACI_BENCH
from support.cases import read_cases, read_found
from support.written_corpus import write_corpus

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.unlearning.benchmark.categories import (
    OTHER,
    Assigned,
    ask_for_category,
    assign_category,
    categories_of_text,
    category_of_code,
    read_category,
    read_given_categories,
    taxonomy,
)
from clinaudit.audit.unlearning.benchmark.charts import Chart, read_charts
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.templates.profile import load_profile

CASES = read_cases("unlearning/category_cases.txt")


def chart_of(folder: Path, *texts: str) -> Chart:
    """The chart of a patient with these notes."""
    return read_charts(write_corpus(folder / "corpus", {"P1": texts}), load_profile())["P1"]


def test_the_taxonomy_has_the_papers_eleven_categories_in_its_order() -> None:
    # Appendix B.1 lists them by name, "Other" apart.
    assert [category.name for category in taxonomy().values()] == [
        "Anemia or Iron Deficiency",
        "Arthritis and Bone",
        "Cancer",
        "Cardiovascular",
        "Dementia and Mental Health",
        "Diabetes",
        "Digestive and Liver",
        "Infectious/Immune",
        "Kidney Disease",
        "Oral and Dental Health",
        "Respiratory and Allergies",
    ]


def test_no_code_stands_under_two_categories() -> None:
    codes = [f"{letter}{number:02}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for number in range(100)]
    held = {
        category.id: {code for code in codes for entry in category.icd10 if _covers(entry, code)}
        for category in taxonomy().values()
    }
    assert all(not held[one] & held[other] for one, other in combinations(held, 2))


def _covers(entry: str, code: str) -> bool:
    first, _, last = entry.partition("-")
    return first[:3] <= code <= (last or first[:3])


@pytest.mark.parametrize(("code", "category"), CASES["codes"])
def test_a_code_belongs_to_its_block(code: str, category: str | None) -> None:
    assert category_of_code(code) == category


@pytest.mark.parametrize(("text", "found"), CASES["words"])
def test_words_count_once_each_and_whole(text: str, found: str | None) -> None:
    assert categories_of_text(text) == {category: int(count) for category, count in read_found(found)}


@pytest.mark.parametrize(("text", "assigned"), CASES["first diagnosis"])
def test_a_note_is_about_its_first_diagnosis(tmp_path: Path, text: str, assigned: str) -> None:
    category, _, source = assigned.partition(": ")
    assert assign_category(chart_of(tmp_path, text)) == Assigned(category, source)


def test_the_latest_note_that_names_a_disease_decides(tmp_path: Path) -> None:
    texts = [f"assessment: {text}" for text in ("gout; hiv follow-up", "asthma", "gout", "well adult")]
    chart = chart_of(tmp_path, *texts)
    assert assign_category(chart) == Assigned("arthritis_bone", "assessment, words, an earlier note")
    assert assign_category(Chart("P1", chart.notes[:2])).source == "assessment, words"


def test_a_file_of_categories_is_read_by_id_or_name_and_its_faults_are_named_by_row(tmp_path: Path) -> None:
    good = tmp_path / "good.csv"
    good.write_text("patient_id,category\nP1,cancer\nP2,Kidney disease\nP3-2,other\n")
    assert read_given_categories(good, {"P1": "P1", "P2": "P2", "P3-2": "P3"}) == {
        "P1": "cancer",
        "P2": "kidney",
        "P3": OTHER,
    }
    bad = tmp_path / "bad.csv"
    bad.write_text("patient_id,category\nP9,cancer\nP1,lung\nP2,cancer\nP2,kidney\n")
    with pytest.raises(BadInputError) as caught:
        read_given_categories(bad, {"P1": "P1", "P2": "P2"})
    problems = "\n".join(caught.value.problems)
    assert "row 1, column patient_id" in problems
    assert "row 2, column category: is none of anemia" in problems
    assert "row 4, column category: gives a patient two categories" in problems
    assert "P9" not in problems
    assert "lung" not in problems


def test_a_models_category_must_be_one_of_the_list_and_of_this_title() -> None:
    asked = ask_for_category("wheezing; asthma").user
    number = asked.partition('"question": "')[2].partition('"')[0]
    good = f'{{"question": "{number}", "reason": "asthma", "category": "respiratory_allergy"}}'
    assert read_category(good, "wheezing; asthma") == ("respiratory_allergy", "asthma")
    assert read_category(good, "another title") == "the answer does not repeat the id of the question"
    assert "not in the list" in str(read_category(good.replace("respiratory_allergy", "lungs"), "wheezing; asthma"))


#: The labels were given by a reader who had not seen the program's categories. They say what each note is about: the
#: disease that the visit was for, and where that was no disease (a yearly examination, a refill, tiredness), the first
#: one assessed. The words of the taxonomy were completed on the half of the labels that is marked so; the other tells.
_SUPPORT = Path(__file__).resolve().parents[3] / "support"


def read_labels(name: str) -> list[dict[str, str]]:
    with (_SUPPORT / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def count_agreement(corpus_path: Path, labels: list[dict[str, str]]) -> dict[str, tuple[int, int]]:
    """By half: how many notes have the reader's category, and of how many."""
    charts = read_charts(read_corpus(corpus_path), load_profile())
    notes = {note.note_id: note for chart in charts.values() for note in chart.notes}
    found = {}
    for half in ("tuned on", "held out"):
        own = [row for row in labels if row["half"] == half]
        for row in own:
            assert row.get("assessment", "") in notes[row["note_id"]].text
        agreed = sum(assign_category(Chart("P", (notes[row["note_id"]],))).category == row["category"] for row in own)
        found[half] = (agreed, len(own))
    return found


def test_notes_of_the_demo_have_the_readers_category(tmp_path: Path) -> None:
    write_demo_corpus(tmp_path / "corpus", seed=29, patients_per_arm=300)
    found = count_agreement(tmp_path / "corpus", read_labels("unlearning/demo_note_categories.csv"))
    assert found == {"tuned on": (50, 50), "held out": (48, 50)}


@pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")
def test_notes_of_aci_bench_have_the_readers_category() -> None:
    found = count_agreement(ACI_BENCH, read_labels("aci_bench/note_categories.csv"))
    # Nine tenths of the fifty.
    assert found == {"tuned on": (24, 25), "held out": (22, 25)}
