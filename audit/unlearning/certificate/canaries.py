"""Sealed canaries: random texts that a site put into patients' notes before training (docs/comparing-runs.md).

A model writes one only where it read it there (Carlini et al., The Secret Sharer, 2019), so that one of a named patient
in the run after is a leak without any level to compare with. Owns the file, its seal, and which of them a run wrote.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from clinaudit.audit.unlearning.metrics.words import words_of
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import JSONL_ENDINGS, DataFile, digest_file, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records
from clinaudit.reports.schema.certificate import CanaryCheck, CanaryTally

#: Letters and digits of the shortest canary [choice]: drawn at random, nobody guesses them from the digest.
SHORTEST_CANARY_CHARS: Final = 16
_FIELDS: Final = ("patient_id", "text")
_ROLE: Final = "the canaries"
#: A prompt and what a model wrote to it.
Written = tuple[str, str]
_NONE: Final = CanaryTally(canaries=0, before=0, after=0)


@dataclass(frozen=True, slots=True)
class Canary:
    """One canary: whose notes it was put into, and its words with a blank on each side."""

    patient_id: str
    phrase: str


@dataclass(frozen=True, slots=True)
class SealedCanaries:
    """The canaries of a file whose digest was stated beforehand."""

    #: SHA-256 of the file.
    digest: str
    canaries: tuple[Canary, ...]

    def of_people(self, person_of: Mapping[str, str]) -> "SealedCanaries":
        """Return the same canaries, each of the person whose id its patient's is."""
        own = (replace(one, patient_id=person_of.get(one.patient_id, one.patient_id)) for one in self.canaries)
        return replace(self, canaries=tuple(own))


def read_canaries(path: Path, *, stated_digest: str) -> SealedCanaries:
    """Return the canaries of a JSONL file: `patient_id` and `text`, one canary a line.

    Raises `BadInputError` where the file has another SHA-256 than was stated, and where it lists all lines that hold no
    canary: too short, the same for two patients, or part of another.
    """
    file = find_given_file(path, _ROLE, JSONL_ENDINGS)
    name = file.name
    digest = digest_file(file)
    if digest != stated_digest.lower():
        raise BadInputError(
            f"{name} is not the file that was sealed: its SHA-256 is not that of --canaries-digest; give the file as "
            "it was when its digest was stated"
        )
    problems = Problems()
    by_line = dict(_read(file, problems))
    _require_apart(by_line, file.name, problems)
    if not by_line and not len(problems):
        problems.add(file.name, "has no rows")
    problems.raise_any(_ROLE)
    return SealedCanaries(digest, tuple(by_line.values()))


def count_written(
    sealed: SealedCanaries, before: Iterable[Written], after: Iterable[Written]
) -> dict[str, CanaryTally]:
    """Return by patient how many canaries there are, and how many of them each run wrote, whoever it was asked about.

    A canary that stands in the prompt is quoted, not remembered.
    """
    before_phrases, after_phrases = (_written(sealed.canaries, texts) for texts in (before, after))
    tallies: dict[str, CanaryTally] = {}
    for canary in sealed.canaries:
        known = tallies.get(canary.patient_id, _NONE)
        own = CanaryTally(canaries=1, before=canary.phrase in before_phrases, after=canary.phrase in after_phrases)
        tallies[canary.patient_id] = _sum(known, own)
    return tallies


def check_canaries(
    sealed: SealedCanaries, tallies: Mapping[str, CanaryTally], groups: Mapping[str, Collection[str]]
) -> CanaryCheck:
    """Return the tallies by group of patients; those who are in none stand as `not probed`."""
    summed = dict.fromkeys((*groups, "not probed"), _NONE)
    for patient_id, tally in tallies.items():
        group = next((name for name, patients in groups.items() if patient_id in patients), "not probed")
        summed[group] = _sum(summed[group], tally)
    return CanaryCheck(digest=sealed.digest, groups=summed)


def _sum(one: CanaryTally, other: CanaryTally) -> CanaryTally:
    names = CanaryTally.model_fields
    return CanaryTally(**{name: getattr(one, name) + getattr(other, name) for name in names})


def _written(canaries: Sequence[Canary], texts: Iterable[Written]) -> set[str]:
    """Return the phrases that stand in a text and not in its prompt."""
    found: set[str] = set()
    for prompt, text in texts:
        # Words alone: another case, line break or punctuation makes no other canary.
        words, quoted = _spaced(text), _spaced(prompt)
        found.update(one.phrase for one in canaries if one.phrase in words and one.phrase not in quoted)
    return found


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "


def _read(file: DataFile, problems: Problems) -> Iterable[tuple[int, Canary]]:
    for line, record in iter_records(file, header=Header(_FIELDS), problems=problems):
        found = {field: what for field in _FIELDS if (what := _problem_of(record, field))}
        for field, what in found.items():
            problems.add(file.name, what, row=line, column=field)
        if not found:
            yield line, Canary(str(record["patient_id"]).strip(), _spaced(str(record["text"])))


def _problem_of(record: Record, field: str) -> str | None:
    value = record.get(field)
    if not isinstance(value, str):
        return "is not text" if field in record else "is missing"
    if not is_encodable(value):
        return NOT_UNICODE
    if field == "patient_id":
        return None if value.strip() else "is blank"
    signs = sum(map(len, words_of(value)))
    return f"has fewer than {SHORTEST_CANARY_CHARS} letters and digits" if signs < SHORTEST_CANARY_CHARS else None


def _require_apart(by_line: Mapping[int, Canary], file: str, problems: Problems) -> None:
    """Add a problem for each canary that stands in another: whose it is could not be known."""
    first: dict[str, int] = {}
    for line, canary in by_line.items():
        known = first.setdefault(canary.phrase, line)
        if known != line:
            problems.add(file, f"is the canary of row {known} again", row=line, column="text")
    for phrase, line in first.items():
        if any(phrase in other for other in first if other != phrase):
            problems.add(file, "is part of another canary", row=line, column="text")
