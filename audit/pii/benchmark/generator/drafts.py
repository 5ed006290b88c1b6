"""Samples of one and of two subjects: a description and a question brought together, and checked.

Owns the seed of each sample: it is drawn from its own number, so that it does not depend on how many are asked for.
What fails a check is drawn again, and counted.
"""

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Final

from clinaudit.audit.pii.benchmark.generator.catalog import facts
from clinaudit.audit.pii.benchmark.generator.consistency import Conflict
from clinaudit.audit.pii.benchmark.generator.descriptions import Describer, Description
from clinaudit.audit.pii.benchmark.generator.passage import Mark, Passage
from clinaudit.audit.pii.benchmark.generator.questions import Question, ask
from clinaudit.audit.pii.benchmark.generator.values import VERY_OLD
from clinaudit.audit.pii.benchmark.samples.sample import Domain, Entity, NeededEntity, Sample, Subject, Subset
from clinaudit.audit.pii.benchmark.samples.validation import check_sample, occurrences
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.version import VERSION

_DRAWS: Final = 60


@dataclass(slots=True)
class Tally:
    """What the generator had to do beside drawing."""

    #: Values that were changed so that facts agree, by what they conflicted in.
    repairs: Counter[Conflict] = field(default_factory=Counter)
    #: Samples that were drawn again, since facts could not be brought to agree or a check failed.
    redrawn: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A description with its question, and the sample made of both."""

    description: Description
    question: Question
    sample: Sample


class Drafter:
    """Draws the samples of one seed, each by its number; keeps those below `kept`, which others are made of."""

    def __init__(self, *, domain: Domain, seed: int, tally: Tally, kept: int = 0) -> None:
        self.domain = domain
        self._kept = kept
        self.seed = seed
        self.tally = tally
        self._describer = Describer(domain)
        self._drafts: dict[tuple[Subset, int], Draft] = {}

    def rng(self, subset: Subset, number: int, draw: int = 0) -> random.Random:
        """Return the random numbers of one sample."""
        return random.Random(f"{self.seed}:{self.domain}:{subset}:{number}:{draw}")

    def draft(self, subset: Subset, number: int) -> Draft:
        """Return a sample of one or two subjects by its number from 0."""
        if number >= self._kept:
            return self._draw(subset, number)
        if (subset, number) not in self._drafts:
            self._drafts[subset, number] = self._draw(subset, number)
        return self._drafts[subset, number]

    def _draw(self, subset: Subset, number: int) -> Draft:
        for draw in range(_DRAWS):
            rng = self.rng(subset, number, draw)
            describe = self._describer.describe_one if subset == "single" else self._describer.describe_two
            description = describe(rng)
            question = description and ask(description.subjects, rng, domain=self.domain)
            if description and question:
                sample = self.sample(subset, number, description, question)
                if is_sound(sample):
                    self.tally.repairs += description.repairs
                    return Draft(description, question, sample)
            self.tally.redrawn += 1
        raise RuntimeError(f"no sample in {_DRAWS} draws")

    def sample(self, subset: Subset, number: int, description: Description, question: Question) -> Sample:
        """Bring a description and its question together."""
        subjects = subjects_of(description.passage, [description], self.domain)
        return Sample(
            id=f"{self.domain}-{subset}-{number + 1:05d}",
            subset=subset,
            domain=self.domain,
            description=description.passage.text,
            query=question.text,
            scene=description.scene,
            relation=description.relation,
            subjects=subjects,
            query_related=[
                NeededEntity(text=value.text, subject=subjects[owner].id) for owner, value in question.needed
            ],
            seed=self.seed,
            generator=generator_name(),
        )


def subjects_of(passage: Passage, descriptions: list[Description], domain: Domain) -> list[Subject]:
    """Return the subjects of a passage with every occurrence of their entities; owners count over all descriptions."""
    described = [subject for description in descriptions for subject in description.subjects]
    marks: dict[int, list[Mark]] = defaultdict(list)
    for mark in passage.marks:
        for owner in mark.value.owners:
            marks[owner].append(mark)
    subjects = []
    for number, subject in enumerate(described):
        seen: dict[str, int] = defaultdict(int)
        entities = []
        for mark in sorted(marks[number], key=lambda mark: mark.start):
            text = mark.value.text
            category = subject.naming if mark.value.key == "per" else category_of(mark.value.key, text, domain)
            named = mark.value.key == "per" and category not in ("nickname", "social_handle")
            entities.append(
                Entity(
                    text=text,
                    type=categories()[category].type,
                    category=category,
                    start=mark.start,
                    end=mark.end,
                    occurrence=seen[text],
                    name_origin=subject.person.origin if named else None,
                )
            )
            seen[text] += 1
        subjects.append(Subject(id=f"s{number + 1}", entities=entities))
    return subjects


def is_sound(sample: Sample) -> bool:
    """Return whether a sample passes the validator, and its question names nothing at all that is told."""
    texts = {entity.text for subject in sample.subjects for entity in subject.entities}
    named = any(occurrences(text, sample.query, ignore_case=True) for text in texts)
    return not named and not check_sample(sample)


def category_of(key: str, text: str, domain: Domain) -> str:
    """Return the category of a fact; an age of 90 or more has its own in clinical samples."""
    if key == "age" and domain == "clinical" and int(text) >= VERY_OLD:
        return "age_over_89"
    return facts()[key].category_in(domain)


@cache
def generator_name() -> str:
    """Return what made the samples, with the versions that the bytes depend on."""
    return f"clinaudit {VERSION}, faker {version('faker')}"
