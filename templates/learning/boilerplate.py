"""Lines that many patients' notes hold word for word: what a site's forms and macros write.

Owns their counts. A proposal lists them for a reader; no rule of templated text takes them. Knows nothing of headers.
"""

import re
from collections import Counter
from collections.abc import Sequence

from clinaudit.templates.learning.sample import SampleNote, enough
from clinaudit.templates.learning.value_shapes import TITLE

#: A line that fewer have is one that people write alike by chance.
_SHARE = 0.2
#: Shorter lines are answers ("none", "no change"), or names.
_FEWEST_WORDS = 4
_MOST_LINES = 20
#: A line that names a clinician is for nobody else to read.
_CLINICIAN = re.compile(rf"\b{TITLE}\b\.? [A-Z]|,? \b(?:MD|DO|NP|PA-?C?|RN|MBBS)\b|\bby:? [A-Z]")


def recurring_lines(notes: Sequence[SampleNote], banner_ends: Sequence[int]) -> dict[str, int]:
    """Return lines below the banners -> patients whose note holds them, the most frequent first."""
    counts = Counter[str]()
    for note, end in zip(notes, banner_ends, strict=True):
        counts.update({stripped for line in note.text[end:].split("\n") if (stripped := line.strip())})
    names = {said for note in notes for said in note.known.values() if isinstance(said, str) and len(said.split()) > 1}
    least = max(enough(len(notes)), _SHARE * len(notes))
    found = {
        line: patients
        for line, patients in counts.items()
        if patients >= least
        and len(line.split()) >= _FEWEST_WORDS
        and not _CLINICIAN.search(line)
        and not any(name in line for name in names)
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LINES])
