"""The four subsets of samples, one after the other.

Owns their order. Knows nothing of how a sample is drawn.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from clinaudit.audit.pii.benchmark.generator.drafts import Drafter, Tally
from clinaudit.audit.pii.benchmark.generator.subsets import pool_size, select_hard, weave_distract
from clinaudit.audit.pii.benchmark.samples.sample import Domain, Sample, Subset
from clinaudit.audit.pii.benchmark.samples.statistics import PAPER_STATISTICS

#: Samples of each subset in the paper (Table 3).
PAPER_COUNTS: Final[Mapping[Subset, int]] = MappingProxyType(
    {subset: row.samples for subset, row in PAPER_STATISTICS.items()}
)


def generate_samples(
    *, counts: Mapping[Subset, int], domain: Domain, seed: int, tally: Tally | None = None
) -> Iterator[Sample]:
    """Yield the samples of each subset, in the order single, multi, hard, distract; the same for the same seed.

    `hard` and `distract` are made of single and multi samples of the same seed, whether or not those are asked for.
    """
    hard, distract = counts.get("hard", 0), counts.get("distract", 0)
    kept = pool_size(hard=hard, distract=distract)
    drafter = Drafter(domain=domain, seed=seed, tally=tally or Tally(), kept=kept)
    plain: tuple[Subset, ...] = ("single", "multi")
    for subset in plain:
        for number in range(counts.get(subset, 0)):
            yield drafter.draft(subset, number).sample
    yield from select_hard(drafter, number=hard)
    yield from weave_distract(drafter, number=distract)
