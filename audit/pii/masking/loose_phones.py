"""Telephone numbers that the audit takes for none: without an area code and a label, and with letters for figures.

Knows nothing of masking.
"""

import re
from typing import Final

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words
from clinaudit.audit.pii.word_lists.reading import read_words
from clinaudit.audit.pii.word_lists.relatives import CLOSE, KIN

#: Whose number seven figures are, or what says that they are one, in the same sentence.
_BY_SOMEBODY: Final = words(
    rf"(?:\b(?:{KIN}|{CLOSE})|\b(?:mr|mrs|ms|dr|patient|pt|nurse|contact|call|number|[ch])\b\.?)(?:[^.;\n\d]{{0,40}})$"
)
_BEFORE_CHARS: Final = 60
_UNIT_AFTER: Final = (
    r"\s?(?:mg|mcg|m[lL]|units?|kcal|cal|%|cells|copies|steps|IU|U/L|ng|pg|mmol|meq|x10|feet|ft|lbs?|kg)"
)
_SENTENCE_END: Final = re.compile(r"[.;\n]\s")
_WORD: Final = re.compile(r"[a-z][\w/-]*")


def _is_telephone(match: "re.Match[str]") -> bool:
    """Whether three and four figures are a telephone number: with a hyphen unless a measure stands before them.

    With a blank or a full stop only after somebody.
    """
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    sentence = _SENTENCE_END.split(before)[-1]
    if match["mark"] != "-":
        return _BY_SOMEBODY.search(sentence) is not None
    # No range begins its upper end with a nought.
    return match["last"].startswith("0") or read_words("measures").isdisjoint(_WORD.findall(sentence.lower()))


def loose_phones() -> RuleTable:
    """Return the rules for telephone numbers that a filter masks."""
    return RuleTable(
        "loose phones",
        (
            # "Sister Ola, 555-0134".
            Rule(
                "phone",
                re.compile(
                    r"(?<![\w.,/+-])(?<!\d[ ])[2-9]\d{2}(?P<mark>[-. ])(?P<last>\d{4})"
                    rf"(?![\w/-]|[.,]\d|{_UNIT_AFTER})"
                ),
                (),
                _is_telephone,
            ),
            # "1-800-FLOWERS": free of charge (North American Numbering Plan), and so rarely anything else.
            Rule(
                "phone",
                re.compile(
                    r"(?<![\w.-])(?:\+?1[-. ]?)?\(?(?:8(?:00|33|44|55|66|77|88)|900)\)?[-. ]?(?=[A-Z0-9-]*[A-Z]{3})"
                    r"[A-Z0-9]{2,10}(?:-[A-Z0-9]{2,10}){0,3}(?!\w)"
                ),
                ("800", "833", "844", "855", "866", "877", "888", "900"),
            ),
            # "Call 555-HELP".
            Rule(
                "phone",
                re.compile(
                    r"(?i:\b(?:call|phone|tel|text|dial|reach(?:ed)?|cell|number|at))\b[\s:.#]{1,3}"
                    r"(?:(?:is|him|her|them|at|on)[ ]){0,2}"
                    r"(?P<value>(?:\(?\d{3}\)?[-. ])?(?:\d{3}[-. ][A-Z]{4}|[A-Z]{3}[-. ]\d{4}))(?!\w)"
                ),
                ("call", "phone", "tel", "text", "dial", "reach", "cell", "number", "at"),
            ),
        ),
    )
