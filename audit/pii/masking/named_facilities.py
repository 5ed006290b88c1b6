"""Names of people that begin the name of a facility: "Mercy Ridge Hospital" is a hospital, whoever it was named after.

Owns which names are none. Knows nothing of how names and facilities are found.
"""

import re
from collections.abc import Sequence
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan

_FACILITIES: Final = frozenset({"healthcare_facility", "clinic", "school"})
#: Of a name with a title, a label or a list beside it more is known.
_GENERIC: Final = "full_name"
#: "Ada Lund Hospital day 3": the word belongs to what follows.
_NO_FACILITY: Final = re.compile(r"[ ](?i:day|course|stay|visit|note|number|no\b|id\b)|[ ]?[#:]")


def without_facilities(text: str, spans: Sequence[EntitySpan]) -> list[EntitySpan]:
    """Return spans without the names that a facility's name begins with."""
    facilities = [span for span in spans if span.category in _FACILITIES and not _NO_FACILITY.match(text, span.end)]
    ends = {span.start: span.end for span in facilities}
    return [span for span in spans if span.category != _GENERIC or span.end >= ends.get(span.start, span.end)]
