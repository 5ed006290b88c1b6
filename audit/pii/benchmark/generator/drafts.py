"""Samples of one and of two subjects: a description and a question brought together, and checked.

A question needs one to three entities, a scenario that needs all of them, and words that name none (PII-Bench, D). Each
sample has the seed of its own number, so that it does not depend on how many are asked for. A draw that fails a check
is drawn again: a value may stand by chance where it is not meant.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Final

from clinaudit.audit.pii.benchmark.generator.descriptions import (
    Described,
    Description,
    describe_one,
    describe_two,
    write_out,
)
from clinaudit.audit.pii.benchmark.generator.grammar import Grammar, category_of_fact, digest_of_tables, scenarios
from clinaudit.audit.pii.benchmark.generator.values import VERY_OLD
from clinaudit.audit.pii.benchmark.sample import (
    Domain,
    Entity,
    NeededEntity,
    Sample,
    Subject,
    Subset,
    occurrences,
)
from clinaudit.audit.pii.benchmark.sample_file import check_sample
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.wording.names import join_words

#: Shares of questions that need one, two, three entities: the means of Table 3, for one subject and for two.
_NEEDED_SINGLE: Final[Mapping[int, float]] = {1: 0.36, 2: 0.33, 3: 0.31}
_NEEDED_MULTI: Final[Mapping[int, float]] = {1: 0.27, 2: 0.36, 3: 0.37}
_OWN_SHARE: Final = 0.6
#: Draws before a sample is given up; few need a second.
DRAWS: Final = 60


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what it needs: texts, each with the number of its subject."""

    text: str
    needed: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A sample, and the description that it was made of."""

    description: Description
    sample: Sample


class Drafter:
    """Draws the samples of one domain and seed, each by its number."""

    def __init__(self, *, domain: Domain, seed: int, grammar: Grammar) -> None:
        self.domain = domain
        self.seed = seed
        self.grammar = grammar

    def rng(self, subset: Subset, number: int, draw: int = 0) -> random.Random:
        """Return the random numbers of one sample."""
        return random.Random(f"{self.seed}:{self.domain}:{subset}:{number}:{draw}")

    def draft(self, subset: Subset, number: int) -> Draft:
        """Return a sample of one or two subjects by its number from 0."""
        for draw in range(DRAWS):
            rng = self.rng(subset, number, draw)
            describe = describe_one if subset == "single" else describe_two
            description = describe(self.domain, self.grammar, rng)
            question = self.ask(description, rng)
            if question and is_sound(sample := self.sample(subset, number, description, question)):
                return Draft(description, sample)
        raise RuntimeError(f"no sample in {DRAWS} draws")

    def ask(
        self, description: Description, rng: random.Random, *, taken: Collection[str] = (), by_speaker: bool = True
    ) -> Question | None:
        """Draw a question; None where no scenario needs as many of these facts as were drawn.

        A text that two subjects have is not needed, nor one in `taken`: whose it is would be unclear.
        `by_speaker` says whether the one who speaks in the description may be the one who asks.
        """
        subjects = description.subjects
        shares = _NEEDED_MULTI if len(subjects) > 1 else _NEEDED_SINGLE
        (count,) = rng.choices(list(shares), list(shares.values()))
        told = [
            (owner, key, description.values[number])
            for owner, subject in enumerate(subjects)
            for key, number in subject.values.items()
        ]
        owners = Counter(text for _, _, text in told)
        eligible = [row for row in told if row[1] != "per" and owners[row[2]] == 1 and row[2] not in taken]
        fitting = [
            (scenario, fit)
            for scenario, needs in scenarios(self.domain).items()
            if len(fit := [row for row in eligible if row[1] in needs]) >= count
        ]
        if not fitting:
            return None
        scenario, fit = rng.choice(fitting)
        drawn = rng.sample(fit, count)
        asks_self = by_speaker and rng.random() < _OWN_SHARE
        possessives = [one.own if asks_self and one.own else one.noun for one in subjects]
        phrases = [rng.choice(self.grammar.clauses[key].asked).format(p=possessives[owner]) for owner, key, _ in drawn]
        text = rng.choice(self.grammar.wordings[scenario]).format(needs=join_words(phrases))
        return Question(text, tuple((owner, needed) for owner, _, needed in drawn))

    def sample(self, subset: Subset, number: int, description: Description, question: Question) -> Sample:
        """Bring a description and a question together."""
        values = description.values
        text, spans = write_out(description.text, values)
        places: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for start, end, value in spans:
            places[value].append((start, end))
        held = []
        for at, subject in enumerate(description.subjects):
            entities = [
                self._entity(subject, key, values[value], occurrence, *place)
                for key, value in subject.values.items()
                for occurrence, place in enumerate(places[value])
            ]
            held.append(Subject(id=f"s{at + 1}", entities=sorted(entities, key=lambda entity: entity.start)))
        return Sample(
            id=f"{self.domain}-{subset}-{number + 1:05d}",
            subset=subset,
            domain=self.domain,
            description=text,
            query=question.text,
            scene=description.scene,
            relation=description.relation,
            subjects=held,
            query_related=[NeededEntity(text=needed, subject=held[owner].id) for owner, needed in question.needed],
            seed=self.seed,
            generator=generator_name(),
        )

    def _entity(self, subject: Described, key: str, text: str, occurrence: int, start: int, end: int) -> Entity:
        category = subject.naming if key == "per" else category_of(key, text, self.domain)
        is_drawn = key == "per" and category not in ("nickname", "social_handle")
        return Entity(
            text=text,
            type=categories()[category].type,
            category=category,
            start=start,
            end=end,
            occurrence=occurrence,
            name_origin=subject.person.origin if is_drawn else None,
        )


def is_sound(sample: Sample) -> bool:
    """Return whether a sample passes the validator, and its question names no entity at all."""
    texts = {entity.text for subject in sample.subjects for entity in subject.entities}
    named = any(occurrences(text, sample.query, ignore_case=True) for text in texts)
    return not named and not check_sample(sample)


def category_of(key: str, text: str, domain: Domain) -> str:
    """Return the category of a fact; an age of 90 or more has its own in clinical samples."""
    if key == "age" and domain == "clinical" and int(text) >= VERY_OLD:
        return "age_over_89"
    return category_of_fact(key, domain)


@cache
def generator_name() -> str:
    """Return what made the samples: the versions and the tables that the bytes depend on."""
    return f"clinaudit {version('clinaudit')}, grammar {digest_of_tables()}, faker {version('faker')}"
