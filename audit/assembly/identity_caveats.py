"""The caveats of who the patients are: tags of de-identification, and notes that the model cannot have been trained on.

Owns the words, without counts and without a word of the corpus: they are published. Knows nothing of how it is counted.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.exact.corpus import Identifiability
from clinaudit.reports.schema.corpus import NOT_ASKED
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.suppression.classes import ARM_STEP, class_of

#: Share of the patients up to whom nothing is said: fewer would tell of single patients.
_FEW: Final = 0.1


def find_identity_caveats(identifiability: Mapping[Arm, Identifiability]) -> list[str]:
    """Return the caveats, a sentence or two each."""
    found = []
    splits = identifiability.values()
    tagged = sorted(
        {style for of in splits for style, count in of.tagged.items() if _is_more_than_few(count, of.patients)}
    )
    if tagged:
        removed = [
            tier
            for tier in next(iter(splits)).uniqueness
            if all(of.uniqueness[tier][NOT_ASKED] == of.patients for of in splits)
        ]
        lost = f" Tiers at which nobody has a prompt: {', '.join(removed)}." if removed else ""
        found.append(
            f"The notes were de-identified: tags such as {', '.join(tagged)} stand in the place of names, dates or "
            f"numbers. A fact that is a tag is known to nobody, and in no prompt.{lost}"
        )
    train = identifiability.get("train")
    if train is not None and _is_more_than_few(train.longer_than_trained, train.patients):
        found.append(
            "Many train patients have a note that is longer than what the model was trained on (--training-length, or "
            "its context). Such a note was left out of training or cut, so that these patients may count as trained on "
            "and were not: what the model gives away of the others is watered down. Who they are: "
            "evidence/long_notes.parquet."
        )
    if any(of.several_ids for of in splits):
        found.append(
            "Some patients stand in the corpus under more than one id: name and birth date are equal, or the notes. "
            "Each counts as one person; who has an id in the train split is no patient whom the model never saw. Who "
            "they are: evidence/people.parquet."
        )
    return found


def _is_more_than_few(count: int, of: int) -> bool:
    """Whether every count within the published classes is: a threshold inside a class would tell a size."""
    some, others = (class_of(patients, step=ARM_STEP) for patients in (count, of - count))
    return some.low > _FEW * (some.low + others.high)
