"""Samples of one and of two subjects: a description and a question brought together, and checked.

A question needs one to three entities, a scenario that needs all of them, and words that name none (PII-Bench, D). Each
sample has the seed of its own number, so that it does not depend on how many are asked for. What fails a check is drawn
again, and counted.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Final

from clinaudit.audit.pii.benchmark.generator.catalog import SCORED, Grammar, facts, scenarios
from clinaudit.audit.pii.benchmark.generator.consistency import Conflict
from clinaudit.audit.pii.benchmark.generator.descriptions import Described, Describer, Description, Mark, Passage, Value
from clinaudit.audit.pii.benchmark.generator.values import VERY_OLD
from clinaudit.audit.pii.benchmark.sample import Domain, Entity, NeededEntity, Sample, Subject, Subset
from clinaudit.audit.pii.benchmark.sample_file import check_sample, occurrences
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.wording.names import join_words

#: Shares of questions that need one, two, three entities: the means of Table 3, for one subject and for two.
_NEEDED_SINGLE: Final[Mapping[int, float]] = {1: 0.36, 2: 0.33, 3: 0.31}
_NEEDED_MULTI: Final[Mapping[int, float]] = {1: 0.27, 2: 0.36, 3: 0.37}
_OWN_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the values that it needs, each with the number of its subject."""

    text: str
    needed: tuple[tuple[int, Value], ...]


def _possessives(subjects: Sequence[Described], rng: random.Random, *, by_speaker: bool) -> list[str]:
    asks_self = by_speaker and rng.random() < _OWN_SHARE
    return [subject.own if asks_self and subject.own else subject.noun for subject in subjects]


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

    def __init__(self, *, domain: Domain, seed: int, tally: Tally, kept: int = 0, grammar: Grammar = SCORED) -> None:
        self.domain = domain
        self.grammar = grammar
        self._kept = kept
        self.seed = seed
        self.tally = tally
        self._describer = Describer(domain, grammar)
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
            question = description and self.ask(description.subjects, rng)
            if description and question:
                sample = self.sample(subset, number, description, question)
                if is_sound(sample):
                    self.tally.repairs += description.repairs
                    return Draft(description, question, sample)
            self.tally.redrawn += 1
        raise RuntimeError(f"no sample in {_DRAWS} draws")

    def ask(
        self, subjects: Sequence[Described], rng: random.Random, *, taken: Collection[str] = (), by_speaker: bool = True
    ) -> Question | None:
        """Draw a question; None where no scenario needs as many of these facts as were drawn.

        A text that two subjects have is not needed, nor one in `taken`: whose it is would be unclear.
        `by_speaker` says whether the one who speaks in the description may be the one who asks.
        """
        shares = _NEEDED_MULTI if len(subjects) > 1 else _NEEDED_SINGLE
        (number,) = rng.choices(list(shares), list(shares.values()))
        texts = Counter(value.text for subject in subjects for value in subject.values.values())
        eligible = [
            (owner, key)
            for owner, subject in enumerate(subjects)
            for key, value in subject.values.items()
            if key != "per" and texts[value.text] == 1 and value.text not in taken
        ]
        fitting = [
            (scenario, fit)
            for scenario, needs in scenarios(self.domain).items()
            if len(fit := [pair for pair in eligible if pair[1] in needs]) >= number
        ]
        if not fitting:
            return None
        scenario, fit = rng.choice(fitting)
        drawn = rng.sample(fit, number)
        possessives = _possessives(subjects, rng, by_speaker=by_speaker)
        clauses = self.grammar.clauses
        phrases = [rng.choice(clauses[key].asked).replace("{p}", possessives[owner]) for owner, key in drawn]
        text = rng.choice(self.grammar.questions["wordings"][scenario]).replace("{needs}", join_words(phrases))
        return Question(text, tuple((owner, subjects[owner].values[key]) for owner, key in drawn))

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
    """Return whether a sample passes the validator, and its question names no entity at all."""
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
    return f"clinaudit {version('clinaudit')}, faker {version('faker')}"
