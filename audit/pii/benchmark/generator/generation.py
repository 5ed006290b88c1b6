"""The samples of a benchmark: four subsets, one after the other; and those that a system is trained on.

Owns the special subsets, made of single and multi samples: `hard` by selection, `distract` by weaving five descriptions
into a thread (PII-Bench, 3.3). Training samples have another grammar and other seeds, so that no sentence is in both.
Values are composed of the same vocabularies, so that single values do recur in both; figures are given apart for them.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final

from clinaudit.audit.pii.benchmark.generator.catalog import SCORED, TRAINING, Grammar, Thread
from clinaudit.audit.pii.benchmark.generator.descriptions import Passage, join
from clinaudit.audit.pii.benchmark.generator.drafts import Draft, Drafter, Tally, generator_name, is_sound, subjects_of
from clinaudit.audit.pii.benchmark.sample import DOMAINS, SUBSETS, Domain, NeededEntity, Sample, Subset
from clinaudit.reports.schema.pii_bench import PAPER_STATISTICS

#: What the others are made of.
_PLAIN: Final[tuple[Subset, ...]] = ("single", "multi")
#: Samples of single and of multi among which one hard sample is sought.
_POOL_PER_HARD: Final = 6
_POOL_PER_DISTRACT: Final = 5
_WOVEN: Final = 5
_ASKED: Final = 3
_DRAWS: Final = 60
_MEMBERS: Final = "ABCDE"
_REMARK_SHARE: Final = 0.4
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) |\n")


def _density(sample: Sample) -> float:
    distinct = {(subject.id, entity.text) for subject in sample.subjects for entity in subject.entities}
    return len(distinct) / len(sample.description)


#: The paper's three criteria; each gives a third.
_CRITERIA: Final[tuple[Callable[[Sample], float], ...]] = (
    lambda sample: len(sample.description),
    _density,
    lambda sample: len(sample.query_related),
)


def select_hard(drafter: Drafter, *, number: int) -> Iterator[Sample]:
    """Yield the hardest of the single and of the multi samples: by turns the longest, the densest, the neediest left.

    The paper names the criteria and not how they combine: a third by each is taken here, half of them of two subjects.
    """
    if number == 0:
        return
    shares: dict[Subset, int] = {"single": number - number // 2, "multi": number // 2}
    chosen: list[Sample] = []
    for subset, share in shares.items():
        left = [drafter.draft(subset, at).sample for at in range(_POOL_PER_HARD * number)]
        for turn in range(share):
            # Among equals, the first drawn.
            hardest = max(left, key=_CRITERIA[turn % len(_CRITERIA)])
            left.remove(hardest)
            chosen.append(hardest)
    for at, sample in enumerate(chosen):
        yield sample.model_copy(update={"id": f"{drafter.domain}-hard-{at + 1:05d}", "subset": "hard"})


def weave_distract(drafter: Drafter, *, number: int) -> Iterator[Sample]:
    """Yield samples of five descriptions in one thread, with a question over three of them."""
    pool = [(subset, at) for subset in _PLAIN for at in range(_POOL_PER_DISTRACT * number)]
    drafter.rng("distract", 0).shuffle(pool)
    for at in range(number):
        yield _weave(drafter, at, pool)


def _weave(drafter: Drafter, number: int, pool: Sequence[tuple[Subset, int]]) -> Sample:
    """Weave the next five of the pool; where no question fits them, or a check fails, five others."""
    chosen = pool[number * _WOVEN : (number + 1) * _WOVEN]
    for draw in range(1, _DRAWS):
        rng = drafter.rng("distract", number, draw)
        sample = _woven(drafter, number, [drafter.draft(subset, at) for subset, at in chosen], rng)
        if sample and is_sound(sample):
            return sample
        drafter.tally.redrawn += 1
        chosen = rng.sample(pool, _WOVEN)
    raise RuntimeError(f"no sample in {_DRAWS} draws")


def _woven(drafter: Drafter, number: int, drafts: Sequence[Draft], rng: random.Random) -> Sample | None:
    """Weave descriptions into one thread and ask about three of them; None where no question is found."""
    thread = rng.choice(drafter.grammar.threads)
    first_owner = list(accumulate((len(draft.description.subjects) for draft in drafts), initial=0))
    passages = [
        _renumbered(draft.description.passage, first) for draft, first in zip(drafts, first_owner, strict=False)
    ]
    passage = _thread_of(passages, thread, rng)
    subjects = subjects_of(passage, [draft.description for draft in drafts], drafter.domain)
    owners = Counter(text for subject in subjects for text in {entity.text for entity in subject.entities})
    taken = [text for text, number_of_owners in owners.items() if number_of_owners > 1]
    frames = drafter.grammar.questions["members"]
    words, needed = [], list[NeededEntity]()
    for turn, at in enumerate(sorted(rng.sample(range(len(drafts)), _ASKED))):
        question = drafter.ask(drafts[at].description.subjects, rng, taken=taken, by_speaker=False)
        if question is None:
            return None
        begin = rng.choice(frames["goes_on" if turn else "begins"]).format(member=_MEMBERS[at])
        words.append(f"{begin} {question.text}")
        needed += [
            NeededEntity(text=value.text, subject=subjects[first_owner[at] + owner].id)
            for owner, value in question.needed
        ]
    return Sample(
        id=f"{drafter.domain}-distract-{number + 1:05d}",
        subset="distract",
        domain=drafter.domain,
        description=passage.text,
        query=" ".join([*words, rng.choice(frames["ends"])]),
        scene=thread.id,
        subjects=subjects,
        query_related=needed,
        seed=drafter.seed,
        generator=generator_name(),
    )


def _renumbered(passage: Passage, first: int) -> Passage:
    """Return a passage whose subjects are counted from `first`."""
    return Passage(
        passage.text,
        tuple(
            replace(mark, value=replace(mark.value, owners=tuple(owner + first for owner in mark.value.owners)))
            for mark in passage.marks
        ),
    )


def _thread_of(passages: Sequence[Passage], thread: Thread, rng: random.Random) -> Passage:
    """Cut every passage at ends of sentences, and let the members post the pieces across each other."""
    waiting = [_pieces(passage, rng.choice((2, 3))) for passage in passages]
    lines = [Passage(rng.choice(thread.openings))]
    remarks = rng.sample(thread.remarks, len(thread.remarks))
    last = -1
    while any(waiting):
        members = [at for at, pieces in enumerate(waiting) if pieces]
        member = rng.choice([at for at in members if at != last] or members)
        tag = rng.choice(thread.tags).format(member=_MEMBERS[member])
        lines.append(join([Passage(tag), waiting[member].pop(0)], ""))
        if remarks and rng.random() < _REMARK_SHARE:
            lines.append(Passage(remarks.pop()))
        last = member
    return join(lines, "\n")


def _pieces(passage: Passage, number: int) -> list[Passage]:
    """Cut a passage into about equal pieces at ends of sentences that no entity spans."""
    ends = [
        match.end()
        for match in _SENTENCE_END.finditer(passage.text)
        if not any(mark.start < match.end() and match.start() < mark.end for mark in passage.marks)
    ]
    cuts = [0]
    for turn in range(1, number):
        after = [end for end in ends if end > max(cuts[-1], len(passage.text) * turn // number - 1)]
        cuts += after[:1]
    cuts.append(len(passage.text))
    return [_cut(passage, start, end) for start, end in pairwise(cuts) if start < end]


def _cut(passage: Passage, start: int, end: int) -> Passage:
    text = passage.text[start:end].rstrip()
    inside = (mark for mark in passage.marks if start <= mark.start and mark.end <= end)
    return Passage(text, tuple(replace(mark, start=mark.start - start, end=mark.end - start) for mark in inside))


#: Samples of each subset in the paper (Table 3).
PAPER_COUNTS: Final[Mapping[Subset, int]] = {subset: PAPER_STATISTICS[subset].samples for subset in SUBSETS}


def generate_samples(
    *,
    counts: Mapping[Subset, int],
    domain: Domain,
    seed: int,
    tally: Tally | None = None,
    grammar: Grammar = SCORED,
) -> Iterator[Sample]:
    """Yield the samples of each subset, in the order single, multi, hard, distract; the same for the same seed.

    `hard` and `distract` are made of single and multi samples of the same seed, whether or not those are asked for.
    """
    hard, distract = counts.get("hard", 0), counts.get("distract", 0)
    kept = max(_POOL_PER_HARD * hard, _POOL_PER_DISTRACT * distract)
    drafter = Drafter(domain=domain, seed=seed, tally=tally or Tally(), kept=kept, grammar=grammar)
    for subset in _PLAIN:
        for number in range(counts.get(subset, 0)):
            yield drafter.draft(subset, number).sample
    yield from select_hard(drafter, number=hard)
    yield from weave_distract(drafter, number=distract)


#: Samples to train on, of both domains together.
TRAINING_SAMPLES: Final = 2000
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
        for sample in generate_samples(counts=counts, domain=domain, seed=seed + _TRAINING_SEED, grammar=TRAINING)
    ]
