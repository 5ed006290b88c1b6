"""A site's own notes: what is known of its patients, which of it a system covers, and what of that may leave."""

import re
from pathlib import Path

import polars as pl
import pytest

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.benchmark.site_notes import EVIDENCE_FILE, FILTER, TOO_FEW, SiteNotes
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking import PromptMasker
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.reports.schema.pii_bench import PiiBench
from clinaudit.templates.profile import load_profile

SURNAMES = [first + last for first in ("Cra", "Ber", "Dor", "Fel") for last in ("nish", "wick", "holt", "mere", "tane")]


def write_site(directory: Path, *, patients: int) -> Path:
    """Notes in which each patient's name stands in the header and, of the even ones, in the text once more."""
    directory.mkdir()
    notes, rows = [], []
    for number in range(patients):
        name = f"Alda {SURNAMES[number]}"
        again = f" {name} feels better." if number % 2 == 0 else ""
        notes.append(
            {
                "patient_id": f"p{number:05d}",
                "note_id": f"n{number}",
                "text": f"Name: {name}\nDate of Birth: 03/{number + 1:02d}/1950\n\nSUBJECTIVE:\nA cough.{again}\n",
            }
        )
        rows.append({"patient_id": f"p{number:05d}", "name": name, "birth_date": f"1950-03-{number + 1:02d}"})
    pl.DataFrame(notes).write_csv(directory / "notes.csv")
    pl.DataFrame(rows).write_csv(directory / "patients.csv")
    return directory


class Everything:
    name = "everything"

    def detect(self, text: str) -> list[EntitySpan]:
        return [EntitySpan(0, len(text), "other_code", self.name)]


class HeaderAlone:
    """Covers the first line, and half a name elsewhere."""

    name = "header"

    def detect(self, text: str) -> list[EntitySpan]:
        spans = [EntitySpan(0, text.index("\n"), "patient_name", self.name)]
        again = text.find(" Alda ", 10)
        return spans if again < 0 else [*spans, EntitySpan(again + 1, again + 5, "patient_name", self.name)]


def site(tmp_path: Path, patients: int) -> SiteNotes:
    return SiteNotes(read_corpus(write_site(tmp_path / "site", patients=patients)), load_profile(), seed=0)


def test_known_places_are_found_wherever_they_stand(tmp_path) -> None:
    notes = site(tmp_path, 20)
    texts = [notes.texts[place.note][place.span.start : place.span.end] for place in notes.places]
    assert sum(text.startswith("Alda ") for text in texts) == 30
    assert sum(text.endswith("/1950") for text in texts) == 20


def test_a_place_counts_where_all_of_it_is_covered(tmp_path) -> None:
    notes = site(tmp_path, 20)
    found = notes.found_by(HeaderAlone(), lambda _notes: None)
    assert all(notes.found_by(Everything(), lambda _notes: None))
    names = [hit for place, hit in zip(notes.places, found, strict=True) if place.identifier == "A"]
    assert (sum(names), len(names)) == (20, 30)
    assert not any(hit for place, hit in zip(notes.places, found, strict=True) if place.identifier == "C")


class BirthDates:
    """Finds days, and no name."""

    name = "days"

    def detect(self, text: str) -> list[EntitySpan]:
        return [EntitySpan(*found.span(), "birth_date", self.name) for found in re.finditer(r"\d\d/\d\d/1950", text)]


def test_the_filter_counts_by_what_it_masks_or_withholds(tmp_path) -> None:
    notes = site(tmp_path, 20)
    kinds = [place.identifier for place in notes.places]
    masked = notes.hidden_by(PromptMasker(BirthDates()), lambda _n: None)
    assert masked == [kind == "C" for kind in kinds]
    notes.masked_notes = frozenset({1, 2})
    few = notes.hidden_by(PromptMasker(BirthDates()), lambda _n: None)
    assert [place.note for place, hit in zip(notes.places, few, strict=True) if hit is not None] == [1, 1, 2, 2, 2]
    rows = {(row.system, row.identifier): row for row in notes.publish({"few": few}, seed=0).recall}
    assert (rows["few", "C"].patients.low, rows["few", "C"].recall.value) == (1, None)
    notes.masked_notes = frozenset(range(20))
    # The second look finds the first line: each note is withheld, and nothing of it goes out.
    assert all(notes.hidden_by(PromptMasker(BirthDates(), second=HeaderAlone()), lambda _n: None))


def test_figures_leave_only_with_more_than_ten_patients_behind_them(tmp_path) -> None:
    notes = site(tmp_path, 20)
    found = {
        "all": notes.found_by(Everything(), lambda _n: None),
        "head": notes.found_by(HeaderAlone(), lambda _n: None),
    }
    rows = {(row.system, row.identifier): row for row in notes.publish(found, seed=0).recall}
    assert (rows["all", "A"].patients.low, rows["all", "A"].patients.high) == (11, 20)
    assert (rows["all", "A"].recall.value, rows["all", "A"].missed.value) == (1.0, 0.0)
    # A name was missed of ten patients: no figure says so.
    assert (rows["head", "A"].recall.value, rows["head", "A"].recall.reason) == (None, TOO_FEW)
    assert (rows["head", "C"].recall.value, rows["head", "C"].missed.value) == (0.0, 1.0)


def test_of_few_patients_nothing_leaves(tmp_path) -> None:
    notes = site(tmp_path, 5)
    published = notes.publish({"all": notes.found_by(Everything(), lambda _n: None)}, seed=0)
    assert {row.recall.value for row in published.recall} == {None}
    assert (published.patients.low, published.patients.high) == (1, 10)


def test_notes_without_anything_known_are_refused(tmp_path) -> None:
    directory = tmp_path / "site"
    directory.mkdir()
    pl.DataFrame({"patient_id": ["1"], "note_id": ["1"], "text": ["A cough."]}).write_csv(directory / "notes.csv")
    with pytest.raises(BadInputError, match="no identifier of the patients table"):
        SiteNotes(read_corpus(directory), load_profile(), seed=0)


def test_the_command_keeps_places_in_the_evidence_alone(tmp_path, capsys) -> None:
    corpus, out = write_site(tmp_path / "site", patients=20), tmp_path / "out"
    few = ["--samples", "1", "--subset", "single", "--domain", "clinical", "--systems", "rules"]
    assert run(["pii", "bench", "--out", str(out), *few, "--corpus", str(corpus)]) == 0
    said = capsys.readouterr()
    document = (out / "bench.json").read_text()
    published = PiiBench.model_validate_json(document).site
    assert published is not None
    assert {row.system for row in published.recall} == {"rules", FILTER}
    for text in (document, (out / "bench.html").read_text(), said.out, said.err):
        assert not any(surname in text for surname in SURNAMES)
    places = pl.read_parquet(out / "evidence" / EVIDENCE_FILE)
    assert places.columns == [
        "patient_id",
        "note",
        "start",
        "end",
        "category",
        "found_by_rules",
        "found_by_clinaudit_mask",
    ]
    assert places.height >= 40
    assert FILTER in said.out
