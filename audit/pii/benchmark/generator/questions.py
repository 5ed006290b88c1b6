"""Questions: one to three entities, a scenario that needs all of them, and words that name none (PII-Bench, D).

Owns the draw of what is needed. Names of persons are never needed: the paper's rules exclude them from answers.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from clinaudit.audit.pii.benchmark.generator.catalog import facts, scenarios
from clinaudit.audit.pii.benchmark.generator.descriptions import Described
from clinaudit.audit.pii.benchmark.generator.passage import Value
from clinaudit.audit.pii.benchmark.samples.sample import Domain

#: Shares of questions that need one, two, three entities: the means of Table 3, for one subject and for two.
_NEEDED_SINGLE: Final[Mapping[int, float]] = MappingProxyType({1: 0.36, 2: 0.33, 3: 0.31})
_NEEDED_MULTI: Final[Mapping[int, float]] = MappingProxyType({1: 0.27, 2: 0.36, 3: 0.37})
_OWN_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the values that it needs, each with the number of its subject."""

    text: str
    needed: tuple[tuple[int, Value], ...]


def ask(
    subjects: Sequence[Described],
    rng: random.Random,
    *,
    domain: Domain,
    taken: Collection[str] = (),
    by_speaker: bool = True,
) -> Question | None:
    """Draw a question; None where no scenario needs as many of these facts as were drawn.

    A text that two subjects have is not needed, nor one in `taken`: it could not be told whose it is.
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
        for scenario in scenarios(domain)
        if len(fit := [pair for pair in eligible if pair[1] in scenario.facts]) >= number
    ]
    if not fitting:
        return None
    scenario, fit = rng.choice(fitting)
    drawn = rng.sample(fit, number)
    possessives = _possessives(subjects, rng, by_speaker=by_speaker)
    phrases = [rng.choice(facts()[key].asked).replace("{p}", possessives[owner]) for owner, key in drawn]
    text = rng.choice(scenario.wordings).replace("{needs}", _listed(phrases))
    return Question(text, tuple((owner, subjects[owner].values[key]) for owner, key in drawn))


def _possessives(subjects: Sequence[Described], rng: random.Random, *, by_speaker: bool) -> list[str]:
    asks_self = by_speaker and rng.random() < _OWN_SHARE
    return [subject.own if asks_self and subject.own else subject.noun for subject in subjects]


def _listed(phrases: Sequence[str]) -> str:
    if len(phrases) == 1:
        return phrases[0]
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"
