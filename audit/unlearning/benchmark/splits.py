"""Who is to be forgotten: nested splits, at random and of one category (AMNESIA, section 3.2; appendix C).

One seeded permutation of the patients gives all of them. A random split forgets the first m of it, a category's split
the first m of it who have the category. So splits of one kind are nested, all of one percentage are of one size, and
every patient of a category whom a random split forgets is forgotten in the category's split of that percentage: such
patients come first in the category's order, and are m at most. The split of a request forgets those whom the user names
[choice].
"""

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.audit.unlearning.benchmark.taxonomy import name_of

#: Table 5.
PERCENTS: Final = (5, 10, 15, 20, 25)
#: Fewest patients of a category whom its split must retain, so that the price others with the disease pay can be
#: measured [choice]; the paper's smallest such group has 103.
FEWEST_RETAINED: Final = 20


def split_patients(
    category_of: Mapping[str, str], *, categories: Sequence[str], seed: int, percents: Sequence[int] = PERCENTS
) -> tuple[list[Split], dict[str, list[int]]]:
    """Return all splits of the patients, random ones first, and the percentages of `categories` that are unavailable.

    These are by the category and the reason. `category_of` holds the patients trained on. The result depends on their
    ids, their categories and the seed alone.
    """
    order = sorted(category_of)
    # Not Python's own hash: it differs from process to process.
    random.Random(f"clinaudit unlearning splits {seed}").shuffle(order)
    splits = [_split(order, None, percent, order) for percent in percents if _size(order, percent)]
    missing: dict[str, list[int]] = {}
    for category in categories:
        of_category = [patient_id for patient_id in order if category_of[patient_id] == category]
        for percent in percents:
            size = _size(order, percent)
            if size and len(of_category) >= size + FEWEST_RETAINED:
                splits.append(_split(order, category, percent, of_category))
            elif of_category:
                reason = f"{name_of(category)}: {_why_not(len(of_category), size)}"
                missing.setdefault(reason, []).append(percent)
    return splits, missing


def split_request(named: Collection[str], trained: Collection[str]) -> Split:
    """Return the split that forgets the patients `named`, who must be among those `trained` on.

    Raises `ValueError` where one is not, or where nobody would be retained.
    """
    forget = sorted(named)
    retain = tuple(sorted(set(trained).difference(named)))
    if not set(named) <= set(trained) or not retain:
        raise ValueError("a request names some of the patients trained on, and not all of them")
    percent = max(1, (200 * len(forget) + len(trained)) // (2 * len(trained)))
    return Split("request", None, percent, tuple(forget), retain)


def _split(order: Sequence[str], category: str | None, percent: int, candidates: Sequence[str]) -> Split:
    forget = candidates[: _size(order, percent)]
    chosen = set(forget)
    retain = tuple(patient_id for patient_id in order if patient_id not in chosen)
    return Split("random" if category is None else "category", category, percent, tuple(forget), retain)


def _size(order: Sequence[str], percent: int) -> int:
    """Patients that a percentage forgets, a half rounded up."""
    return (percent * len(order) + 50) // 100


def _why_not(held: int, size: int) -> str:
    if not size:
        return "the percentage of so few patients is none"
    if held < size:
        return "fewer patients have the category than the split forgets"
    return f"it would retain fewer than {FEWEST_RETAINED} patients of the category"
