"""Towns in small letters after words that call for one, and occupations beside an age, or after "retired".

A filter takes for a town whatever is no kind of home. Knows nothing of masking.
"""

import re
from typing import Final

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words
from clinaudit.audit.pii.values.usps_abbreviations import STATES
from clinaudit.audit.pii.word_lists.name_words import is_word
from clinaudit.audit.pii.word_lists.reading import read_lines, read_words

_CODE: Final = "|".join(STATES)
#: Last words of occupations that no entry of the list names.
_HEADS: Final = (
    "operator|painter|surveyor|clerk|setter|driver|teacher|reporter|glazier|maker|builder|fitter|layer|keeper|cutter"
    "|dealer|repairer|installer|inspector|foreman|contractor|mason|logger|miner|rancher|weaver|tailor|seamstress|musician"
    "|officer|instructor|trainer|cleaner|cook|broker|seller|salesm[ae]n|saleswoman|craftsman|handyman|fisherman|fireman"
    "|policeman|mailm[ae]n|superintendent|supervisor|dispatcher|machinist|roofer|plasterer|stonecutter"
)
_LISTED: Final = "|".join(sorted(read_lines("occupations"), key=lambda entry: (-len(entry), entry))).replace(" ", r"\s")
_JOB: Final = rf"(?P<value>(?:{_LISTED}|(?:(?!retired|former|an?\s)[a-z-]{{2,20}}\s){{0,2}}?(?:{_HEADS})))"
#: A number alone is an age after "is" and at the beginning alone.
_AGE: Final = (
    r"(?:(?<![\w./])\d{1,3}\s?(?:y\.?/?o\.?\s?[mf]?|yrs?(?:[ -]old)?|years?[ -]old|[mf])"
    r"|\b(?:is|aged?)\s\d{1,3}|(?:^|\n)\d{2})"
)
_AGE_AFTER: Final = r"(?=,\s(?:aged?\s)?\d{2}(?:[ ]?[mfy][\w/.]*)?(?:[,;)\n]|\.(?!\d)|$))"


def _is_town(match: "re.Match[str]") -> bool:
    first = match["value"].lower().split()[0]
    return first not in read_words("no_towns") and (not is_word(first) or " " in match["value"])


def small_towns() -> RuleTable:
    """Return the rules for towns in small letters, and for occupations that no verb tells."""
    return RuleTable(
        "small towns",
        (
            Rule(
                "city",
                re.compile(
                    r"(?i:\b(?:liv(?:es?|ed|ing)|resid(?:es?|ed|ing)|grew\sup|raised|born)\s(?:in|near|outside(?:\sof)?)"
                    r"|\b(?:moved|relocated|commutes?)\s(?:here\s|back\s)?(?:to|from))\s"
                    r"(?P<value>[a-z]{3,20}(?:\s[a-z]{3,20})?)"
                    rf"(?=[.,;)\n]|$|\s(?:and|with|where|since|for|who|last|but|as|when|after|alone)\b|\s(?i:{_CODE})\b)"
                ),
                ("liv", "resid", "grew", "raised", "born", "moved", "relocated", "commut"),
                _is_town,
            ),
            Rule(
                "city",
                re.compile(rf"\bfrom\s(?P<value>[a-z]{{3,20}}(?:\s[a-z]{{3,20}})?)(?=,\s?(?i:{_CODE})(?!\w))"),
                ("from",),
                _is_town,
            ),
            Rule("occupation", words(rf"{_AGE},\s(?:an?\s)?(?:retired\s|former\s)?{_JOB}\b")),
            Rule("occupation", words(rf"\b(?:retired|former)\s{_JOB}\b"), ("retired", "former")),
            Rule(
                "occupation",
                words(rf"(?:^|(?<=[\n.:;]\s)|(?<=\n))(?:an?\s)?{_JOB}{_AGE_AFTER}"),
            ),
            # Of two words that are nobody's who works in a clinic.
            Rule(
                "occupation",
                words(
                    r"\b(?P<value>(?:real\sestate|insurance|travel)\sagent|sign\spainter|court\sreporter|land\ssurveyor|tile\ssetter"
                    r"|(?:crane|forklift|machine)\soperator|(?:bus|truck|taxi)\sdriver|bank\steller)s?\b"
                ),
                ("agent", "painter", "reporter", "surveyor", "setter", "operator", "driver", "teller"),
            ),
        ),
    )
