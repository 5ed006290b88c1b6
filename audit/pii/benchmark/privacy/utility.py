"""Utility of masked prompts (PII-Bench, F.2.2, Table 8): a served model answers them, and rates what it answered.

Owns which prompts are answered: unmasked, all entities masked, and those that the question does not need, by the gold
answer. **[choice]** U is the mean of its two parts, for which the paper names no combination: how alike the answers to
the masked and to the unmasked prompt are (Eq. 18), and the rating, put on 0 to 1 (Eq. 19). The model that answers also
rates. Knows nothing of files, nor of how likeness is measured.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from clinaudit.audit.pii.benchmark.answers.system_answers import less
from clinaudit.audit.pii.benchmark.privacy.masked_text import mask_texts
from clinaudit.audit.pii.benchmark.samples.sample import Domain, Sample
from clinaudit.audit.pii.systems.served_model import ServedSystem
from clinaudit.audit.pii.systems.served_utility import HIGHEST, LOWEST, Comparison
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.served.cost import AskingEstimate
from clinaudit.reports.schema.pii_bench import MaskingStrategy

#: Descriptions of each domain that are answered (PII-Bench, 4.5).
MOST_SAMPLES: Final = 200
#: The first of the two that are rated.
_MASKED: Final[tuple[MaskingStrategy, MaskingStrategy]] = ("all", "query_unrelated")
#: How alike two texts are, from 0 to 1.
Similarity = Callable[[str, str], float]
Utilities = Mapping[tuple[Domain, MaskingStrategy], Sequence[float]]


def measure_utility(
    samples: Sequence[Sample],
    served: ServedSystem,
    *,
    similarity: Similarity,
    seed: int,
    announce: Callable[[AskingEstimate], None],
) -> Utilities:
    """Return U of each sample that was answered and rated, by domain and strategy.

    A sample of which an answer could not be used is left out. Raises `IncompleteError` where no answer comes.
    """
    chosen = _draw(samples, seed)
    prompts = [(text, sample.query) for sample in chosen for text in _texts(sample)]
    answers = [answer.found for answer in served.answer_prompts(prompts, announce=announce)]
    rated: list[tuple[Sample, bool, Comparison]] = []
    for place, sample in enumerate(chosen):
        reference, *masked = answers[3 * place : 3 * place + 3]
        first, second = masked
        if reference is None or first is None or second is None:
            continue
        turned = place % 2 == 1
        if turned:
            first, second = second, first
        rated.append((sample, turned, Comparison(sample.query, reference.answer, first.answer, second.answer)))
    utilities: dict[tuple[Domain, MaskingStrategy], list[float]] = {}
    ratings = served.rate([comparison for *_, comparison in rated], announce=announce)
    for (sample, turned, compared), rating in zip(rated, ratings, strict=True):
        if rating.found is None:
            continue
        answered = (compared.first, compared.second)
        pairs = list(zip(answered, rating.found, strict=True))
        for strategy, (answer, value) in zip(_MASKED, pairs[::-1] if turned else pairs, strict=True):
            alike = similarity(compared.reference, answer)
            utility = (alike + (value - LOWEST) / (HIGHEST - LOWEST)) / 2
            utilities.setdefault((sample.domain, strategy), []).append(utility)
    return utilities


def _draw(samples: Sequence[Sample], seed: int) -> list[Sample]:
    chosen = []
    for domain in dict.fromkeys(sample.domain for sample in samples):
        of_domain = [sample for sample in samples if sample.domain == domain]
        places = random.Random(seed).sample(range(len(of_domain)), min(MOST_SAMPLES, len(of_domain)))
        chosen += [of_domain[place] for place in sorted(places)]
    return chosen


def _texts(sample: Sample) -> tuple[str, str, str]:
    """Return the description as it is, with all entities masked, and with those that are not needed."""
    tags = {
        entity.text: f"<{categories()[entity.category].tag}>"
        for subject in sample.subjects
        for entity in subject.entities
    }
    unneeded = less(tags, [entity.text for entity in sample.query_related])
    text = sample.description
    return text, mask_texts(text, tags), mask_texts(text, {entity: tags[entity] for entity in unneeded})
