"""Sizes that follow from a setting are lowered by a secret number (docs/methods.md, "Statistical disclosure control").

Who knows a total exactly can tell the small cells of its classes: with 200 patients, 1-10 and 181-190 are exactly 10
and 190. A cell's cap and the size of a sample are settings, which are published. So they are lowered by 0 to 9, drawn
from a digest of all notes, which nobody without the notes can have. Two sizes take two digits of the draw: with one, a
cell's size would tell that of the sample. Owns the draw. Knows nothing of matching.
"""

from typing import Final

from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.notes_secret import all_texts, draw_secret

_PREFIX: Final = b"clinaudit: sizes that follow from a setting"
#: Numbers in a class of counts.
_STEP: Final = 10


def draw_secret_number(corpus: Corpus) -> int:
    """Return a number drawn from all notes of the corpus, the same for the same notes."""
    return int.from_bytes(draw_secret(all_texts(corpus), purpose=_PREFIX)[:8], "big")


def lower_size(size: int, secret: int, *, digit: int = 0) -> int:
    """Return the size lowered by 0 to 9, and by half at most where it is below 20.

    `digit`: which digit of the draw, from the last (0) on.
    """
    return size - secret // int(_STEP**digit) % min(_STEP, size // 2 + 1)
