"""Telephone numbers by the library `phonenumbers` (numbering plans), of the countries that the rules know least.

A number counts where a plan has it and it is grouped as that country writes it: 120/80 and 10 200 mg are none.
"""

from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan

#: Whose plans are asked about a number without the code of its country; with it ("+44 ...") any country's is.
_REGIONS: Final = ("GB", "AU", "DE", "FR", "IN")
#: Fewer figures stand in no text that can hold such a number.
_FEWEST_FIGURES: Final = 8


class TelephoneNumbers:
    """Finds telephone numbers as they are written in several countries, such as "020 7946 0018"."""

    name = "phonenumbers"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; the same number may stand twice."""
        if sum(map(str.isdigit, text)) < _FEWEST_FIGURES:
            return []
        from phonenumbers import Leniency, PhoneNumberMatcher

        found = {
            EntitySpan(match.start, match.end, "phone", self.name)
            for region in _REGIONS
            for match in PhoneNumberMatcher(text, region, Leniency.STRICT_GROUPING, max_tries=len(text))
        }
        return sorted(found)
