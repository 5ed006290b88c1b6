"""What masking gains: P, U and B by strategy (PII-Bench, Table 8), and where entities stand in a text.

Owns which masks are compared: the gold ones, and those of each system. Without a model that answers there is no U, and
none is made up. **[choice]** An occurrence begins and ends at the border of a token, so that "25" does not stand in
"1925", and the longest entity takes its places first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from clinaudit.audit.pii.benchmark.sample import Prediction, Sample, comparable_text, less
from clinaudit.audit.pii.benchmark.scoring.sample_means import share_of_values
from clinaudit.audit.pii.benchmark.scoring.scores import ItemRow
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.pii_bench import GOLD_MASKS, BenchFigure, MaskingStrategy
from clinaudit.templates.spans import Span


def find_occurrences(entities: Collection[str], text: str) -> list[tuple[Span, str]]:
    """Return where entities stand in a text, by place, none of them overlapping another.

    The longest entity takes its places first; of two equally long ones the alphabetically first. A digit's border is
    no place inside a longer number ("250" does not stand in "1,250" or "250.75").
    """
    found: list[tuple[Span, str]] = []
    taken = bytearray(len(text))
    for entity in sorted({entity for entity in entities if entity}, key=lambda entity: (-len(entity), entity)):
        for start in _places(entity, text):
            end = start + len(entity)
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * len(entity)
                found.append((Span(start, end), entity))
    return sorted(found)


def _places(entity: str, text: str) -> Iterator[int]:
    """Yield where an entity stands at the borders of tokens; a regular expression each would cost ten times as much."""
    start = text.find(entity)
    while start >= 0:
        end = start + len(entity)
        stands = _is_border(entity[0], text[max(start - 2, 0) : start][::-1]) and _is_border(
            entity[-1], text[end : end + 2]
        )
        if stands:
            yield start
        start = text.find(entity, end if stands else start + 1)


def _is_border(edge: str, outside: str) -> bool:
    """Return whether a token can end at `edge`, with what stands outside of it, the next character first."""
    if not outside:
        return True
    if _is_word(edge) and _is_word(outside[0]):
        return False
    return not (edge.isdigit() and outside[0] in ".," and outside[1:].isdecimal())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def mask_texts(text: str, tags: Mapping[str, str]) -> str:
    """Return a text with every occurrence of an entity replaced by its tag; `tags` holds the tag of each entity."""
    parts: list[str] = []
    at = 0
    for (start, end), entity in find_occurrences(tags, text):
        parts += [text[at:start], tags[entity]]
        at = end
    return "".join([*parts, text[at:]])


def privacy_score(entities: Collection[str], original: str, masked: str) -> float | None:
    """Return P, 1 less the share of the entities' occurrences that are left (Eq. 17); None where none stood.

    It is negative where a masked text names an entity more often than the original. Texts are compared after NFKC.
    """
    texts = {comparable_text(entity) for entity in entities}
    stood = len(find_occurrences(texts, comparable_text(original)))
    return 1 - len(find_occurrences(texts, comparable_text(masked))) / stood if stood else None


def balance_score(privacy: float, utility: float) -> float:
    """Return B = alpha P + (1 - alpha) U at alpha 0.5 (Eq. 20, F.2.3)."""
    return 0.5 * privacy + 0.5 * utility


#: It holds no letter and no digit: no entity stands in it.
_TAG: Final = "<…>"


def privacy_items(samples: Iterable[Sample], predictions: Iterable[Prediction]) -> Iterator[ItemRow]:
    """Yield P of each sample, masked by the gold answer (`GOLD_MASKS`) and by each system, by strategy.

    Where an answer could not be read nothing is masked: that is what a filter would let through that went on.
    """
    answers: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        answers.setdefault(prediction.sample, []).append(prediction)
    for sample in samples:
        texts = list(dict.fromkeys(entity.text for entity in sample.entities()))
        unneeded = less(texts, [entity.text for entity in sample.query_related])
        masks: list[tuple[str, MaskingStrategy, Iterable[str]]] = [
            (GOLD_MASKS, "none", ()),
            (GOLD_MASKS, "all", texts),
            (GOLD_MASKS, "query_unrelated", unneeded),
        ]
        for answer in answers.get(sample.id, []):
            found = [entity.text for subject in answer.subjects or () for entity in subject.entities]
            masks += [(answer.system, "all", found), (answer.system, "query_unrelated", answer.masked or ())]
        for system, strategy, masked in masks:
            left = mask_texts(sample.description, dict.fromkeys(masked, _TAG))
            score = privacy_score(texts, sample.description, left)
            of = (system, sample.id, sample.domain, "masking", "masking", strategy, "privacy")
            yield *of, score or 0.0, int(score is not None)


NO_UTILITY: Final = "no model answered the masked and the unmasked prompts; U needs one"
UNUSABLE: Final = "the served model's answers could be used and rated for no sample"
#: U of each sample that was rated, by domain and strategy.
Utilities = Mapping[tuple[str, str], Sequence[float]]


def utility_figures(figures: Iterable[BenchFigure], utilities: Utilities | None, *, seed: int) -> Iterator[BenchFigure]:
    """Yield U and B beside each P of the gold masks: the prompts that a model answers (None: no model was asked)."""
    for privacy in figures:
        if (privacy.system, privacy.metric) != (GOLD_MASKS, "privacy"):
            continue
        rated = (utilities or {}).get((privacy.domain, privacy.group), ())
        if privacy.group == "none":
            # Nothing masked: the answers are the same by definition (PII-Bench, F.2.2).
            utility = Estimate(value=1.0)
        elif rated:
            utility = share_of_values(rated, seed=seed)
        else:
            utility = Estimate(value=None, n=0, reason=NO_UTILITY if utilities is None else UNUSABLE)
        if privacy.value is None or utility.value is None:
            balance = Estimate(value=None, reason=utility.reason or privacy.reason)
        else:
            balance = Estimate(value=balance_score(privacy.value, utility.value))
        for metric, estimate in (("utility", utility), ("balance", balance)):
            yield privacy.model_copy(update={**estimate.model_dump(), "metric": metric})
