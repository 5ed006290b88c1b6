"""The detector's recall: identifiers planted into the run's own texts, in the ways people write them, and found again.

Text of the run itself, since a detector that does well on clean prose may fail in what a model writes. Owns what is
planted, where, and when it counts as found. Knows nothing of owners, or of what a recall corrects.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from importlib.resources import files
from random import Random
from typing import Final, NamedTuple

import polars as pl

from clinaudit.audit.pii.owners import read_value
from clinaudit.audit.pii.taxonomy import Detector, categories
from clinaudit.audit.pii.values.known_values import DateReader, read_name
from clinaudit.audit.pii.values.normal_form import readings
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.pii_bench import HIPAA_IDENTIFIERS
from clinaudit.templates.shown_text import is_tag

#: Planted of each of HIPAA's identifiers.
PLANTED: Final = 50
#: Characters of the run's text on either side.
_AROUND_CHARS: Final = 250
_FORMS: Final[Mapping[str, Sequence[str]]] = tomllib.loads(
    files(__package__).joinpath("planted.toml").read_text("utf-8")
)
_FIRST_DAY: Final = date(1931, 1, 1)
_DAYS: Final = 34_000
#: Where nobody's name is known.
_INVENTED: Final = ("Ada Lundgren", "Conrad Pellgrove", "Mirela Haversham", "Theo Quillfeather", "Ines Brackwater")
_LETTERS: Final = "ABCDEFGHJKLMNPRSTUVWXYZ"
_BREAK: Final = re.compile(r"\n|(?<=[.;]) ")


class PlantedText(NamedTuple):
    """A piece of a generation with one identifier planted."""

    text: str
    start: int
    end: int
    category: str


def measure_recall(
    texts: pl.Series, detector: Detector, *, corpus: Corpus, dates: DateReader, seed: int, progress: Progress
) -> pl.DataFrame:
    """Return the table `planted`: how many identifiers are found, by HIPAA's identifier; empty without texts.

    One is found where a detector's span overlaps it, is of the same of HIPAA's identifiers, and says the same value.
    """
    rng = Random(seed)
    names = sorted({name for patient in corpus.patients.values() if can_be_planted(name := patient.name or "")})
    by_identifier = grouped(_FORMS, lambda category: categories()[category].hipaa)
    planned = [identifier for identifier in HIPAA_IDENTIFIERS if len(texts) and identifier in by_identifier]
    measured: list[Row] = []
    with progress.stage("measuring the detector", total=len(planned) * PLANTED, unit="planted") as advance:
        for identifier in planned:
            found = 0
            for planted in plant(texts, by_identifier[identifier], names or _INVENTED, rng):
                found += is_found(planted, detector, dates)
                advance(1)
            measured.append({"hipaa": identifier, "planted": PLANTED, "found": found})
    return as_table("planted", measured)


def can_be_planted(name: str) -> bool:
    """Whether a patient's name is one in the order of speech: no tag of de-identification, and no word alone."""
    if is_tag(name) or "," in name:
        return False
    read = read_name(name)
    return read is not None and read.is_full and all(len(part) > 1 for part in (read.parts[0], read.parts[-1]))


def plant(
    texts: pl.Series, categories_: Sequence[str], names: Sequence[str], rng: Random, count: int = PLANTED
) -> Iterator[PlantedText]:
    """Yield pieces of texts with an identifier of some categories each, every way of writing in turn."""
    ways = [(category, form) for category in categories_ for form in _FORMS[category]]
    for number in range(count):
        category, form = ways[number % len(ways)]
        ahead, written, behind = re.split("[{}]", form)
        value = _write(written, names, rng)
        before, after = _cut(texts[rng.randrange(len(texts))], rng)
        start = len(before) + len(ahead)
        yield PlantedText(f"{before}{ahead}{value}{behind}{after}", start, start + len(value), category)


def is_found(planted: PlantedText, detector: Detector, dates: DateReader) -> bool:
    """Whether a detector finds what was planted, as what it is."""
    hipaa = categories()[planted.category].hipaa
    values = {value.text for value in readings(planted.category, planted.text[planted.start : planted.end])}
    for span in detector.detect(planted.text):
        if span.start < planted.end and planted.start < span.end and categories()[span.category].hipaa == hipaa:
            value = read_value(planted.text, span, dates)
            if value is not None and value.text in values:
                return True
    return False


def _cut(text: str, rng: Random) -> tuple[str, str]:
    """Return the text before and after a break between sentences or lines, or its end where there is none."""
    breaks = [match.span() for match in _BREAK.finditer(text)]
    start, end = rng.choice(breaks) if breaks else (len(text), len(text))
    before, after = text[max(0, start - _AROUND_CHARS) : start], text[end : end + _AROUND_CHARS]
    return (f"{before}\n" if before else ""), (f"\n{after}" if after else "")


def _write(form: str, names: Sequence[str], rng: Random) -> str:
    if form in ("name", "reversed", "initial"):
        *first, last = rng.choice(names).split()
        given = " ".join(first)
        if not first or form == "name":
            return f"{given} {last}".strip()
        return f"{last}, {given}" if form == "reversed" else f"{given[0]}. {last}"
    if "%" in form:
        return (_FIRST_DAY + timedelta(days=rng.randrange(_DAYS))).strftime(form)
    if "#" not in form:
        return form
    draw = {"#": "123456789", "0": "0123456789", "?": _LETTERS}
    return "".join(rng.choice(draw[char]) if char in draw else char for char in form)
