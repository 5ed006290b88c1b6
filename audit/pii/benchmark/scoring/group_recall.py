"""Recall by group of entities: names by origin, values by whether training held them, categories, HIPAA's identifiers.

Owns which entities stand in which group. An entity is found where a system names its text in the sample, whoever's it
says it is. Intervals are over samples. Knows no system and no file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import numpy as np

from clinaudit.audit.pii.benchmark.samples.sample import Entity, Prediction, Sample
from clinaudit.audit.pii.benchmark.scoring.bench_figures import bench_estimate
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text
from clinaudit.audit.pii.benchmark.scoring.sample_means import share_over_samples
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.schema.pii_bench import GroupRecall

Grouping = Literal["name_origin", "vocabulary", "category", "hipaa"]
SEEN: Final = "in the training samples"
UNSEEN: Final = "not in the training samples"


def group_recalls(
    samples: Sequence[Sample], predictions: Iterable[Prediction], *, seen: Collection[str], seed: int
) -> Iterator[GroupRecall]:
    """Yield each system's recall by domain and group; `seen` holds the texts of the training samples.

    Without `seen` there is no group of what training held.
    """
    by_system: dict[str, dict[str, Prediction]] = {}
    for prediction in predictions:
        by_system.setdefault(prediction.system, {})[prediction.sample] = prediction
    groupings: Mapping[Grouping, Callable[[Entity], str | None]] = {
        "name_origin": lambda entity: entity.name_origin,
        "vocabulary": lambda entity: (SEEN if comparable_text(entity.text) in seen else UNSEEN) if seen else None,
        "category": lambda entity: categories()[entity.category].name,
        "hipaa": lambda entity: categories()[entity.category].hipaa,
    }
    for domain in dict.fromkeys(sample.domain for sample in samples):
        chosen = [sample for sample in samples if sample.domain == domain]
        for system, answers in by_system.items():
            found = {sample.id: _named(answers.get(sample.id)) for sample in chosen}
            for grouping, group_of in groupings.items():
                tallies = _tally(chosen, found, group_of)
                for group, (hits, counts) in sorted(tallies.items()):
                    recall = share_over_samples(hits, counts, seed=seed)
                    yield GroupRecall(
                        system=system,
                        domain=domain,
                        grouping=grouping,
                        group=group,
                        entities=int(counts.sum()),
                        recall=bench_estimate(recall),
                    )


def _tally(
    samples: Sequence[Sample], found: Mapping[str, Collection[str]], group_of: Callable[[Entity], str | None]
) -> "dict[str, tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.int64]]]]":
    """Return the hits and the entities of each group, one number a sample; a text counts once a subject."""
    tallies: dict[str, tuple[list[float], list[int]]] = {}
    for place, sample in enumerate(samples):
        named = found[sample.id]
        for subject in sample.subjects:
            for text, entity in {comparable_text(one.text): one for one in subject.entities}.items():
                group = group_of(entity)
                if group is not None:
                    hits, counts = tallies.setdefault(group, ([0.0] * len(samples), [0] * len(samples)))
                    hits[place] += text in named
                    counts[place] += 1
    return {
        group: (np.array(hits, dtype=np.float64), np.array(counts, dtype=np.int64))
        for group, (hits, counts) in tallies.items()
    }


def _named(prediction: Prediction | None) -> frozenset[str]:
    subjects = prediction.subjects if prediction is not None and prediction.subjects is not None else []
    return frozenset(comparable_text(entity.text) for subject in subjects for entity in subject.entities)
