"""The samples of a benchmark: four subsets, one after the other; and those that a system is trained on.

Owns the special subsets, made of single and multi samples: `hard` by selection, `distract` by weaving five descriptions
into a thread (PII-Bench, 3.3). Training samples are of the held-out part of the grammar and of other seeds, so that no
sentence template is in both. Values are composed of the same vocabularies, so that single values do recur in both;
figures are given apart for them.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from clinaudit.audit.pii.benchmark.generator.descriptions import Description, place_of
from clinaudit.audit.pii.benchmark.generator.drafts import DRAWS, Draft, Drafter, Question, is_sound
from clinaudit.audit.pii.benchmark.generator.grammar import Part, Thread, grammar
from clinaudit.audit.pii.benchmark.sample import DOMAINS, SUBSETS, Domain, Sample, Subset

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
Pool = Mapping[Subset, Sequence[Draft]]


def _density(sample: Sample) -> float:
    distinct = {(subject.id, entity.text) for subject in sample.subjects for entity in subject.entities}
    return len(distinct) / len(sample.description)


#: The paper's three criteria; each gives a third.
_CRITERIA: Final[tuple[Callable[[Sample], float], ...]] = (
    lambda sample: len(sample.description),
    _density,
    lambda sample: len(sample.query_related),
)


def _select_hard(pool: Pool, *, number: int) -> Iterator[Sample]:
    """Yield the hardest of the single and of the multi samples: by turns the longest, the densest, the neediest left.

    The paper names the criteria and not how they combine: a third by each is taken here, half of them of two subjects.
    """
    shares: dict[Subset, int] = {"single": number - number // 2, "multi": number // 2}
    chosen: list[Sample] = []
    for subset, share in shares.items():
        left = [draft.sample for draft in pool[subset][: _POOL_PER_HARD * number]]
        for turn in range(share):
            # Among equals, the first drawn.
            hardest = max(left, key=_CRITERIA[turn % len(_CRITERIA)])
            left.remove(hardest)
            chosen.append(hardest)
    for at, sample in enumerate(chosen):
        yield sample.model_copy(update={"id": f"{sample.domain}-hard-{at + 1:05d}", "subset": "hard"})


def _weave_distract(drafter: Drafter, pool: Pool, *, number: int) -> Iterator[Sample]:
    """Yield samples of five descriptions in one thread, with a question over three of them."""
    drafts = [draft for subset in _PLAIN for draft in pool[subset][: _POOL_PER_DISTRACT * number]]
    drafter.rng("distract", 0).shuffle(drafts)
    for at in range(number):
        yield _weave(drafter, at, drafts)


def _weave(drafter: Drafter, number: int, drafts: Sequence[Draft]) -> Sample:
    """Weave the next five of the drafts; where no question fits them, or a check fails, five others."""
    chosen = drafts[number * _WOVEN : (number + 1) * _WOVEN]
    for draw in range(1, DRAWS):
        rng = drafter.rng("distract", number, draw)
        sample = _woven(drafter, number, [draft.description for draft in chosen], rng)
        if sample and is_sound(sample):
            return sample
        chosen = rng.sample(drafts, _WOVEN)
    raise RuntimeError(f"no sample in {DRAWS} draws")


def _woven(drafter: Drafter, number: int, parts: Sequence[Description], rng: random.Random) -> Sample | None:
    """Weave descriptions into one thread and ask about three of them; None where no question is found."""
    thread = rng.choice(drafter.grammar.threads)
    first_value = list(accumulate((len(part.values) for part in parts), initial=0))
    first_owner = list(accumulate((len(part.subjects) for part in parts), initial=0))
    parts = [_renumbered(part, first) for part, first in zip(parts, first_value, strict=False)]
    woven = Description(
        text=_thread_of([part.text for part in parts], thread, rng),
        values=tuple(value for part in parts for value in part.values),
        subjects=tuple(subject for part in parts for subject in part.subjects),
        scene=thread.id,
        relation=None,
    )
    owners = Counter(
        text for subject in woven.subjects for text in {woven.values[value] for value in subject.values.values()}
    )
    taken = [text for text, number_of_owners in owners.items() if number_of_owners > 1]
    words, needed = [], list[tuple[int, str]]()
    for turn, at in enumerate(sorted(rng.sample(range(len(parts)), _ASKED))):
        asked_of = replace(woven, subjects=parts[at].subjects)
        question = drafter.ask(asked_of, rng, taken=taken, by_speaker=False)
        if question is None:
            return None
        begin = rng.choice(drafter.grammar.members["goes_on" if turn else "begins"]).format(member=_MEMBERS[at])
        words.append(f"{begin} {question.text}")
        needed += [(first_owner[at] + owner, text) for owner, text in question.needed]
    query = " ".join([*words, rng.choice(drafter.grammar.members["ends"])])
    return drafter.sample("distract", number, woven, Question(query, tuple(needed)))


def _renumbered(part: Description, first: int) -> Description:
    """Return a description whose values are counted from `first`."""
    places = {ord(place_of(at)): place_of(first + at) for at in range(len(part.values))}
    subjects = (
        replace(subject, values={key: first + at for key, at in subject.values.items()}) for subject in part.subjects
    )
    return replace(part, text=part.text.translate(places), subjects=tuple(subjects))


def _thread_of(texts: Sequence[str], thread: Thread, rng: random.Random) -> str:
    """Cut every text at ends of sentences, and let the members post the pieces across each other."""
    waiting = [_pieces(text, rng.choice((2, 3))) for text in texts]
    lines = [rng.choice(thread.openings)]
    remarks = rng.sample(thread.remarks, len(thread.remarks))
    last = -1
    while any(waiting):
        members = [at for at, pieces in enumerate(waiting) if pieces]
        member = rng.choice([at for at in members if at != last] or members)
        lines.append(rng.choice(thread.tags).format(member=_MEMBERS[member]) + waiting[member].pop(0))
        if remarks and rng.random() < _REMARK_SHARE:
            lines.append(remarks.pop())
        last = member
    return "\n".join(lines)


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
    """Yield the samples of each subset, in the order single, multi, hard, distract; the same for the same seed.

    `hard` and `distract` are made of single and multi samples of the same seed, whether or not those are asked for.
    """
    hard, distract = counts.get("hard", 0), counts.get("distract", 0)
    drafter = Drafter(domain=domain, seed=seed, grammar=grammar(part))
    kept = max(_POOL_PER_HARD * hard, _POOL_PER_DISTRACT * distract)
    pool = {subset: [drafter.draft(subset, number) for number in range(kept)] for subset in _PLAIN}
    for subset in _PLAIN:
        for number in range(counts.get(subset, 0)):
            yield (pool[subset][number] if number < kept else drafter.draft(subset, number)).sample
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
