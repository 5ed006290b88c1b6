"""The detector's recall: what is planted stands where it is said, and counts as found only as what it is."""

from pathlib import Path
from random import Random

import polars as pl
import pytest
from support.evidence_frames import generation_frame
from support.pii.owner_oracle import Site, draw_people, generation

from clinaudit.audit.pii import stage
from clinaudit.audit.pii.planted import PLANTED, can_be_planted, is_found, measure_recall, plant
from clinaudit.audit.pii.stage import find_identifiers
from clinaudit.audit.pii.taxonomy import EntitySpan, categories
from clinaudit.audit.pii.values.known_values import DateReader
from clinaudit.audit.pii.values.normal_form import readings
from clinaudit.audit.runtime.console import Progress
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.templates.profile import load_profile

DATES = DateReader(("%m/%d/%Y",))
PEOPLE = draw_people(6, Random(3))
TEXTS = pl.Series(["cough is better.\nno fever; no chills. rest and fluids", "well", ""])
GENERATIONS = [generation(n, PEOPLE[n], text) for n, text in enumerate(TEXTS)]
TESTED = set("ABCDEFGHIJKLMNOR")


class Finder:
    """Finds given spans."""

    name = "test"

    def __init__(self, *spans: EntitySpan) -> None:
        self.spans = list(spans)

    def detect(self, text: str) -> list[EntitySpan]:  # noqa: ARG002 (the protocol has it)
        return self.spans


class Asked(Finder):
    """Finds nothing, and keeps what it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def detect(self, text: str) -> list[EntitySpan]:
        self.texts.append(text)
        return []


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    folder = tmp_path_factory.mktemp("site") / "corpus"
    Site(PEOPLE).write(folder, Random(1))
    return read_corpus(folder)


@pytest.mark.parametrize("category", ["full_name", "date", "phone", "ssn", "mrn", "url", "street_address"])
def test_what_is_planted_holds_a_value_and_stands_in_the_runs_own_text(category: str) -> None:
    planted = list(plant(TEXTS, [category], ["Ada Lund-Berg", "Theo Quill"], Random(1), count=20))
    assert len({item.text[item.start : item.end] for item in planted}) > 3
    assert all(readings(category, item.text[item.start : item.end]) for item in planted)
    assert any("no fever" in item.text for item in planted)
    again = list(plant(TEXTS, [category], ["Ada Lund-Berg", "Theo Quill"], Random(1), count=20))
    assert again == planted


@pytest.mark.parametrize("name", ["Ada Lund-Berg", "Jan van der Berg", "Ada B. Lund", "李小 龍山"])
def test_a_name_in_the_order_of_speech_is_planted(name: str) -> None:
    assert can_be_planted(name)


@pytest.mark.parametrize(
    "name", ["", "[**Known lastname 12**]", "<NAME>", "___", "Ada", "A.", "N/A", "Ada L.", "MD", "Lund, Ada", "x" * 300]
)
def test_what_is_no_name_in_the_order_of_speech_is_not_planted(name: str) -> None:
    assert not can_be_planted(name)


def test_of_a_deidentified_corpus_the_detector_is_measured_with_invented_names(tmp_path: Path) -> None:
    for person in (people := draw_people(6, Random(3))):
        person.given, person.last = "[**First Name 12**]", "[**Known lastname 34**]"
    Site(people).write(tmp_path / "corpus", Random(1))
    corpus = read_corpus(tmp_path / "corpus")
    asked = Asked()
    measure_recall(TEXTS, asked, corpus=corpus, dates=DATES, seed=0, progress=Progress(quiet=True))
    assert sum("Pellgrove" in text for text in asked.texts) > 3
    assert not any("[**" in text for text in asked.texts)


def test_it_is_found_as_what_it_is_alone() -> None:
    (item,) = plant(TEXTS, ["ssn"], ["Ada Lund"], Random(1), count=1)

    def found(start: int, end: int, category: str) -> bool:
        return is_found(item, Finder(EntitySpan(start, end, category, "test")), DATES)

    assert found(item.start, item.end, "ssn")
    # As something else, in part, and not at all.
    assert not found(item.start, item.end, "phone")
    assert not found(item.start, item.end - 3, "ssn")
    assert not is_found(item, Finder(), DATES)


def test_a_detector_that_finds_nothing_has_tested_nothing(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_site_detector", lambda *_: Finder())
    found, facts = find_identifiers(
        generation_frame(GENERATIONS), corpus=corpus, profile=load_profile(), seed=0, progress=Progress(quiet=True)
    )
    assert found["planted"].to_dicts() == [{"hipaa": hipaa, "planted": PLANTED, "found": 0} for hipaa in sorted(TESTED)]
    assert set(facts.not_tested) == TESTED | {"P", "Q"}
    assert found["identifiers"].is_empty()


def test_the_sites_detector_finds_most_of_each(corpus: Corpus) -> None:
    found, facts = find_identifiers(
        generation_frame(GENERATIONS), corpus=corpus, profile=load_profile(), seed=0, progress=Progress(quiet=True)
    )
    assert set(facts.not_tested) == {"P", "Q"}
    assert found["planted"].filter(pl.col("found") < 0.9 * PLANTED).is_empty()
    assert set(found["planted"]["hipaa"]) == TESTED


def test_without_a_generation_nothing_is_measured(corpus: Corpus) -> None:
    measured = measure_recall(
        TEXTS.clear(), Finder(), corpus=corpus, dates=DATES, seed=0, progress=Progress(quiet=True)
    )
    assert measured.is_empty()


def test_every_identifier_that_text_can_hold_is_planted() -> None:
    of_text = {item.hipaa for item in categories().values() if item.hipaa} - {"P", "Q"}
    assert of_text == TESTED
