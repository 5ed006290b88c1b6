"""A site's own notes: what is known of its patients, which of it a system covers, and what of that may leave."""

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.benchmark.site_notes import (
    EVIDENCE_FILE,
    FILTER,
    TALLY_FILE,
    SiteSample,
    SiteTally,
    publish_misses,
)
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking import PromptMasker
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.reports.schema.numbers import NOBODY, CountRange
from clinaudit.reports.schema.pii_bench import PiiBench
from clinaudit.templates.profile import load_profile

QUIET = Progress(quiet=True)

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


def site(tmp_path: Path, patients: int) -> SiteSample:
    return SiteSample(read_corpus(write_site(tmp_path / "site", patients=patients)), load_profile(), QUIET, seed=0)


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
    rows = {(row.system, row.identifier): row for row in notes.tally({"few": few})}
    assert (rows["few", "C"].patients, rows["few", "C"].missed_patients, rows["few", "A"].missed_places) == (2, 0, 3)
    notes.masked_notes = frozenset(range(20))
    # The second look finds the first line: each note is withheld, and nothing of it goes out.
    assert all(notes.hidden_by(PromptMasker(BirthDates(), second=HeaderAlone()), lambda _n: None))


def test_figures_of_patients_leave_in_classes_of_twenty(tmp_path) -> None:
    notes = site(tmp_path, 20)
    found = {
        "all": notes.found_by(Everything(), lambda _n: None),
        "head": notes.found_by(HeaderAlone(), lambda _n: None),
    }
    # By hand: of ten of the twenty the name stands once more, and is left there; all birth dates are left.
    exact = {(row.system, row.identifier): row for row in notes.tally(found)}
    head = exact["head", "A"]
    assert (head.patients, head.missed_patients, head.places, head.missed_places) == (20, 10, 30, 10)
    published = notes.publish(found)
    assert published.patients == CountRange(low=1, high=20)
    rows = {(row.system, row.identifier): row for row in published.misses}
    none, some = rows["all", "A"], rows["head", "A"]
    assert (none.missed_patients, none.covered_patients) == (NOBODY, CountRange(low=1, high=20))
    assert (none.missed.low, none.missed.high) == (0.0, 0.0)
    assert some.missed_patients == some.covered_patients == CountRange(low=1, high=20)
    # 1 of 21 and 20 of 21.
    assert (some.missed.low, some.missed.high) == (0.04, 0.96)
    assert (rows["head", "C"].missed.low, rows["head", "C"].missed.high) == (1.0, 1.0)


@pytest.mark.parametrize("patients", [21, 35, 40])
def test_all_numbers_of_patients_of_a_class_give_one_file(patients: int) -> None:
    for missed in range(1, 16):
        tally = SiteTally(
            system="rules", identifier="A", patients=patients, missed_patients=missed, places=9, missed_places=missed
        )
        shown = publish_misses(tally)
        assert shown.patients.low <= patients <= shown.patients.high
        assert (shown.missed.low or 0) <= missed / patients <= (shown.missed.high or 0)
        exact = clopper_pearson(missed, patients)
        assert (
            (shown.missed.confidence_low or 0) <= (exact.low or 0) < (exact.high or 1) <= shown.missed.confidence_high
        )
        same = replace(tally, patients=patients - missed + 1, missed_patients=1, places=700, missed_places=1)
        if patients - missed > 20:
            assert publish_misses(same) == shown


def test_notes_without_anything_known_are_refused(tmp_path) -> None:
    directory = tmp_path / "site"
    directory.mkdir()
    pl.DataFrame({"patient_id": ["1"], "note_id": ["1"], "text": ["A cough."]}).write_csv(directory / "notes.csv")
    with pytest.raises(BadInputError, match="no identifier of the patients table"):
        SiteSample(read_corpus(directory), load_profile(), QUIET, seed=0)


def test_the_command_keeps_places_in_the_evidence_alone(tmp_path, capsys) -> None:
    corpus, out = write_site(tmp_path / "site", patients=20), tmp_path / "out"
    few = ["--samples", "1", "--subset", "single", "--domain", "clinical", "--systems", "rules"]
    assert run(["pii", "bench", "--out", str(out), *few, "--corpus", str(corpus)]) == 0
    said = capsys.readouterr()
    document = (out / "bench.json").read_text()
    published = PiiBench.model_validate_json(document).site
    assert published is not None
    assert {row.system for row in published.misses} == {"rules", FILTER}
    counts = json.loads((out / "evidence" / TALLY_FILE).read_text())
    assert {row["system"] for row in counts} == {"rules", FILTER}
    # Nothing published tells how many notes or places there are.
    assert {row["patients"] for row in counts} == {20}
    assert set(published.model_dump()) == {"patients", "misses", "limits"}
    for text in (document, (out / "bench.html").read_text(), said.out, said.err):
        assert not any(surname in text for surname in SURNAMES)
    places = pl.read_parquet(out / "evidence" / EVIDENCE_FILE)
    assert places.columns == [
        *("patient_id", "note", "start", "end", "category", "found_by_rules", "found_by_clinaudit_mask")
    ]
    assert places.height >= 40
    assert FILTER in said.out
