"""The samples of a benchmark: a description and a question brought together, and checked, in four subsets.

A question needs one to three entities, a scenario that needs all of them, and words that name none (PII-Bench, D). Each
sample has the seed of its own number, so that it does not depend on how many are asked for. A draw that fails a check
is drawn again: a value may stand by chance where it is not meant. Owns the special subsets, made of single and multi
samples: `hard` by selection, `distract` by weaving five descriptions into a thread (PII-Bench, 3.3). Training samples
are of the held-out part of the grammar and of other seeds, so that no sentence template is in both. Values are composed
of the same vocabularies, so that single values do recur in both; figures are given apart for them.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import accumulate, chain
from typing import Final

from clinaudit.audit.pii.benchmark import sample as of_sample
from clinaudit.audit.pii.benchmark.generator import descriptions
from clinaudit.audit.pii.benchmark.generator.descriptions import Description, place_of
from clinaudit.audit.pii.benchmark.generator.grammar import Grammar, Part, category_of_fact, grammar, scenarios
from clinaudit.audit.pii.benchmark.generator.person import VERY_OLD
from clinaudit.audit.pii.benchmark.sample import DOMAINS, SUBSETS, Domain, Sample, Subset
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.wording.names import join_words

#: Shares of questions that need one, two, three entities: the means of Table 3, for one subject and for two.
_NEEDED_SINGLE: Final[Mapping[int, float]] = {1: 0.36, 2: 0.33, 3: 0.31}
_NEEDED_MULTI: Final[Mapping[int, float]] = {1: 0.27, 2: 0.36, 3: 0.37}
_OWN_SHARE: Final = 0.6
#: Draws before a sample is given up; few need a second.
DRAWS: Final = 60


#: A question and what it needs: texts, each with the number of its subject.
Question = tuple[str, Sequence[tuple[int, str]]]
#: A description, and the sample that was made of it.
Draft = tuple[Description, Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """Draws the samples of one domain and seed, each by its number."""

    domain: Domain
    seed: int
    grammar: Grammar

    def rng(self, subset: Subset, number: int, draw: int = 0) -> random.Random:
        """Return the random numbers of one sample."""
        return random.Random(f"{self.seed}:{self.domain}:{subset}:{number}:{draw}")

    def draft(self, subset: Subset, number: int) -> Draft:
        """Return a sample of one or two subjects by its number from 0."""
        for draw in range(DRAWS):
            rng = self.rng(subset, number, draw)
            describe = descriptions.describe_one if subset == "single" else descriptions.describe_two
            description = describe(self.domain, self.grammar, rng)
            question = self.ask(description, rng)
            if question and _is_sound(sample := self.sample(subset, number, description, question)):
                return description, sample
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
        return text, [(owner, needed) for owner, _, needed in drawn]

    def sample(self, subset: Subset, number: int, description: Description, question: Question) -> Sample:
        """Bring a description and a question together."""
        text, spans = descriptions.write_out(description.text, description.values)
        places: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for start, end, value in spans:
            places[value].append((start, end))
        held = []
        for at, subject in enumerate(description.subjects):
            entities = []
            for key, value in subject.values.items():
                told = description.values[value]
                category = subject.naming if key == "per" else category_of_fact(key, self.domain)
                if key == "age" and self.domain == "clinical" and int(told) >= VERY_OLD:
                    category = "age_over_89"
                is_drawn = key == "per" and category not in ("nickname", "social_handle")
                entities += [
                    of_sample.Entity(
                        text=told,
                        type=categories()[category].type,
                        category=category,
                        start=start,
                        end=end,
                        occurrence=occurrence,
                        name_origin=subject.person.origin if is_drawn else None,
                    )
                    for occurrence, (start, end) in enumerate(places[value])
                ]
            held.append(of_sample.Subject(id=f"s{at + 1}", entities=sorted(entities, key=lambda entity: entity.start)))
        return Sample(
            id=f"{self.domain}-{subset}-{number + 1:05d}",
            subset=subset,
            domain=self.domain,
            description=text,
            query=question[0],
            scene=description.scene,
            relation=description.relation,
            subjects=held,
            query_related=[
                of_sample.NeededEntity(text=needed, subject=held[owner].id) for owner, needed in question[1]
            ],
            seed=self.seed,
            generator=generator_name(),
        )


def _is_sound(sample: Sample) -> bool:
    """Whether a sample passes the validator, and its question names no entity at all."""
    named = any(of_sample.occurrences(entity.text, sample.query, ignore_case=True) for entity in sample.entities())
    return not named and not of_sample.check_sample(sample)


@cache
def generator_name() -> str:
    """Return what made the samples: the versions that the bytes depend on."""
    return f"clinaudit {version('clinaudit')}, faker {version('faker')}"


#: What the others are made of.
_PLAIN: Final[tuple[Subset, ...]] = ("single", "multi")
#: Samples of single and of multi among which one hard sample is sought.
_POOL_PER_HARD: Final = 6
_POOL_PER_DISTRACT: Final = 5
_WOVEN: Final = 5
_ASKED: Final = 3
_MEMBERS: Final = "ABCDE"
_REMARK_SHARE: Final = 0.4
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) |\n")
_Pool = Mapping[Subset, Sequence[Draft]]
#: The paper's three criteria, length, density and need; each gives a third.
_CRITERIA: Final[tuple[Callable[[Sample], float], ...]] = (
    lambda sample: len(sample.description),
    lambda sample: len({(of.id, one.text) for of in sample.subjects for one in of.entities}) / len(sample.description),
    lambda sample: len(sample.query_related),
)


def _select_hard(pool: _Pool, *, number: int) -> Iterator[Sample]:
    """Yield the hardest of the single and of the multi samples, half each, by each criterion in turn **[choice]**."""
    shares: dict[Subset, int] = {"single": number - number // 2, "multi": number // 2}
    chosen: list[Sample] = []
    for subset, share in shares.items():
        left = [sample for _, sample in pool[subset][: _POOL_PER_HARD * number]]
        for turn in range(share):
            # Among equals, the first drawn.
            hardest = max(left, key=_CRITERIA[turn % len(_CRITERIA)])
            left.remove(hardest)
            chosen.append(hardest)
    for at, sample in enumerate(chosen):
        yield sample.model_copy(update={"id": f"{sample.domain}-hard-{at + 1:05d}", "subset": "hard"})


def _weave_distract(drafter: Drafter, pool: _Pool, *, number: int) -> Iterator[Sample]:
    """Yield samples of five descriptions in one thread: the next five, or others where no question fits."""
    drafts = [draft for subset in _PLAIN for draft in pool[subset][: _POOL_PER_DISTRACT * number]]
    drafter.rng("distract", 0).shuffle(drafts)
    for at in range(number):
        chosen = drafts[at * _WOVEN : (at + 1) * _WOVEN]
        for draw in range(1, DRAWS):
            rng = drafter.rng("distract", at, draw)
            sample = _woven(drafter, at, [description for description, _ in chosen], rng)
            if sample and _is_sound(sample):
                yield sample
                break
            chosen = rng.sample(drafts, _WOVEN)
        else:
            raise RuntimeError(f"no sample in {DRAWS} draws")


def _woven(drafter: Drafter, number: int, parts: Sequence[Description], rng: random.Random) -> Sample | None:
    """Weave descriptions into one thread and ask about three of them; None where no question is found."""
    thread = rng.choice(drafter.grammar.threads)
    first_value = list(accumulate((len(part.values) for part in parts), initial=0))
    first_owner = list(accumulate((len(part.subjects) for part in parts), initial=0))
    texts, subjects = [], []
    for part, first in zip(parts, first_value, strict=False):
        # Values are counted throughout.
        texts.append(part.text.translate({ord(place_of(at)): place_of(first + at) for at in range(len(part.values))}))
        subjects.append(
            [replace(one, values={key: first + at for key, at in one.values.items()}) for one in part.subjects]
        )
    # Every text is cut at ends of sentences, and the members post the pieces across each other.
    waiting = [_pieces(text, rng.choice((2, 3))) for text in texts]
    lines = [rng.choice(thread.openings)]
    remarks = rng.sample(thread.remarks, len(thread.remarks))
    last = -1
    while any(waiting):
        members = [at for at, pieces in enumerate(waiting) if pieces]
        last = rng.choice([at for at in members if at != last] or members)
        lines.append(rng.choice(thread.tags).format(member=_MEMBERS[last]) + waiting[last].pop(0))
        if remarks and rng.random() < _REMARK_SHARE:
            lines.append(remarks.pop())
    values = tuple(value for part in parts for value in part.values)
    woven = Description("\n".join(lines), values, tuple(chain.from_iterable(subjects)), thread.id, None)
    owners = Counter(text for one in woven.subjects for text in {values[value] for value in one.values.values()})
    taken = [text for text, number_of_owners in owners.items() if number_of_owners > 1]
    words, needed = [], list[tuple[int, str]]()
    for turn, at in enumerate(sorted(rng.sample(range(len(parts)), _ASKED))):
        question = drafter.ask(replace(woven, subjects=tuple(subjects[at])), rng, taken=taken, by_speaker=False)
        if question is None:
            return None
        begin = rng.choice(drafter.grammar.members["goes_on" if turn else "begins"]).format(member=_MEMBERS[at])
        words.append(f"{begin} {question[0]}")
        needed += [(first_owner[at] + owner, text) for owner, text in question[1]]
    query = " ".join([*words, rng.choice(drafter.grammar.members["ends"])])
    return drafter.sample("distract", number, woven, (query, needed))


def _pieces(text: str, number: int) -> list[str]:
    """Cut a text into about equal pieces at ends of sentences."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    pieces, begin = [], 0
    for turn in range(1, number):
        end = next((end for end in ends if end > max(begin, len(text) * turn // number - 1)), len(text))
        pieces.append(text[begin:end].rstrip())
        begin = end
    return [piece for piece in (*pieces, text[begin:].rstrip()) if piece]


#: Samples of each subset in the paper (Table 3).
PAPER_COUNTS: Final[Mapping[Subset, int]] = {"single": 1214, "multi": 1228, "hard": 200, "distract": 200}


def generate_samples(
    *, counts: Mapping[Subset, int], domain: Domain, seed: int, part: Part = "scored"
) -> Iterator[Sample]:
    """Yield the samples of each subset; `hard` and `distract` are made of the others, asked for or not."""
    hard, distract = counts.get("hard", 0), counts.get("distract", 0)
    drafter = Drafter(domain=domain, seed=seed, grammar=grammar(part))
    kept = max(_POOL_PER_HARD * hard, _POOL_PER_DISTRACT * distract)
    pool = {subset: [drafter.draft(subset, number) for number in range(kept)] for subset in _PLAIN}
    for subset in _PLAIN:
        for number in range(counts.get(subset, 0)):
            yield (pool[subset][number] if number < kept else drafter.draft(subset, number))[1]
    yield from _select_hard(pool, number=hard)
    yield from _weave_distract(drafter, pool, number=distract)


#: Of the training samples: long ones teach as much as several short ones, and take as long.
_TRAINING_SHARES: Final[Mapping[Subset, float]] = {"single": 0.46, "multi": 0.46, "hard": 0.04, "distract": 0.04}
#: Added to the seed of the samples that a system is trained on; no user's seed is likely to differ from another by it.
_TRAINING_SEED: Final = 7_919_000_003


def draw_samples(*, each: int | None, subsets: Iterable[Subset], domains: Iterable[Domain], seed: int) -> list[Sample]:
    """Return `each` samples of each subset and domain; None: as many as the paper has."""
    wanted = [subset for subset in SUBSETS if subset in set(subsets)]
    counts = {subset: PAPER_COUNTS[subset] if each is None else each for subset in wanted}
    return [
        sample
        for domain in DOMAINS
        if domain in set(domains)
        for sample in generate_samples(counts=counts, domain=domain, seed=seed)
    ]


def draw_training_samples(*, number: int, domains: Sequence[Domain], seed: int) -> list[Sample]:
    """Return samples to train on, about `number` in all domains together."""
    counts = {subset: max(1, round(number / len(domains) * share)) for subset, share in _TRAINING_SHARES.items()}
    return [
        sample
        for domain in domains
        for sample in generate_samples(counts=counts, domain=domain, seed=seed + _TRAINING_SEED, part="training")
    ]
