"""Telephone and fax numbers, e-mail addresses, web addresses and handles of social media.

What may be a telephone number by its shape is asked of `phonenumbers`: that library alone is slow and takes laboratory
values for numbers. A shorter one counts after a label.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.entity_span import EntitySpan

#: The last seven figures of an American number, and an extension.
_LAST_SEVEN = re.compile(
    r"[0-9]{3}(?P<mark>[ .-]{0,3})[0-9]{4}(?i:,?\s?(?:x|ext\.?|extension)\s?[0-9]{1,6})?(?!\w|[.-]\d)"
)
#: The country code, where it is written, and the area code before them; no number or word goes on into it.
_AREA = re.compile(
    r"(?<![\w.+/-])(?:(?:\+|00)?1[\s.-]{0,2})?(?P<area>\([2-9][0-9]{2}\)|[2-9][0-9]{2})(?P<mark>[ ./-]{0,3})$"
)
#: The most characters of an area code with all before it.
_AREA_CHARS: Final = 14
_INTERNATIONAL = re.compile(r"[+0](?<![\w+].)(?:(?<=\+)|(?<=0)0)(?:\(?[0-9]\)?[ .()/-]{0,2}){8,15}(?![0-9])")
_LABEL = words(
    r"\b(?:(?:tele)?phones?|tel|cell(?:ular|phone)?|mobile|pager|beeper|call(?:ed|ing)?|contact"
    r"|reach(?:ed)?|fax(?:es|ed)?"
    r"|facsimile|ph|hotline|text(?:ed)?|voicemail|home|work|office|direct|nurse line|ext(?:ension)?)\b\.?"
    r"(?:\s(?:numbers?|num|no|line|phone|him|her|them|me|us|at|on|is|was|to"
    r"|back)\b\.?){0,4}\s{0,2}(?:\((?:c|h|w|m)\))?[\s:#=.(]{0,4}$"
)
_FAX = words(r"\b(?:fax(?:es|ed)?|facsimile|f)\b\.?(?:\s(?:numbers?|num|no|line|to|at|is)\b\.?){0,3}[\s:#.(]{0,4}$")
_PAGER = words(
    r"\b(?:pager|beeper|ext(?:ension)?|x)\b\.?\s?(?:number|no\.?|#)?\s{0,2}[:#]?\s{0,2}(?P<value>\d{4,6})\b(?![./-]\d)"
)
#: How far before a number its label is looked for, in characters.
_LABEL_CHARS: Final = 40
_DIGITS = re.compile(r"\d")
_FEWEST_DIGITS: Final = 10
_MOST_DIGITS: Final = 21


class PhoneRecognizer:
    """Finds telephone and fax numbers."""

    name = "phones"
    categories = frozenset({"phone", "fax"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield every number of the text."""
        text = source.text
        for match in _LAST_SEVEN.finditer(text):
            before = text[max(0, match.start() - _AREA_CHARS) : match.start()]
            area = _AREA.search(before)
            start = match.start() - (len(before) - area.start() if area else 0)
            labelled = _LABEL.search(text[max(0, start - _LABEL_CHARS) : start])
            if area is None and not (labelled and not before[-1:].isdigit()):
                continue
            if labelled or (_is_written_as_number(area, match) and _is_possible(text[start : match.end()])):
                yield self._span(text, start, match.end())
        for match in _INTERNATIONAL.finditer(text) if "+" in text or "00" in text else ():
            if _is_possible(match[0]):
                yield self._span(text, match.start(), match.start() + len(match[0].rstrip(" .()/-")))
        for match in source.matches(_PAGER, ("pager", "beeper", "ext", " x")):
            yield self._span(text, *match.span("value"))

    def _span(self, text: str, start: int, end: int) -> EntitySpan:
        is_fax = _FAX.search(text[max(0, start - _LABEL_CHARS) : start])
        return EntitySpan(start, end, "fax" if is_fax else "phone", self.name)


def _is_written_as_number(area: re.Match[str] | None, last_seven: re.Match[str]) -> bool:
    """Whether ten figures stand in groups: the area in brackets, or the same mark before and after the exchange."""
    if area is None:
        return False
    first, second = area["mark"].strip(" "), last_seven["mark"].strip(" ")
    if area["area"].startswith("("):
        return first in ("", "-", ".") and second in ("", "-", ".")
    return bool(area["mark"] and last_seven["mark"]) and (first == second or (first == "/" and second == "-"))


def _is_possible(written: str) -> bool:
    """Whether a telephone could ring at it, as far as the plan of its country says."""
    import phonenumbers

    if not _FEWEST_DIGITS <= len(_DIGITS.findall(written)) <= _MOST_DIGITS:
        return False
    try:
        parsed = phonenumbers.parse("+" + written[2:] if written.startswith("00") else written, "US")
    except phonenumbers.NumberParseException:
        return False
    national = phonenumbers.national_significant_number(parsed)
    # No area code begins with 0 or 1.
    return phonenumbers.is_possible_number(parsed) and not (parsed.country_code == 1 and national[0] in "01")


#: Top-level domains that are no words of a clinical note: "pain.no" and "b.i.d" are no addresses.
_DOMAIN_ENDS = (
    r"(?:com|org|net|edu|gov|mil|info|biz|health|care|clinic|io|app|dev|co\.uk|org\.uk|nhs\.uk|ac\.uk|ca|de|fr|eu|us)"
)
_PATH = r"(?::\d{2,5})?(?:[/?#][^\s<>\"'\]]*[^\s<>\"'\].,;:!?)])?"


WEB_ADDRESSES: Final = RuleTable(
    "web addresses",
    Rule("email", words(r"(?<![\w.+-])[\w][\w.+%'-]{0,63}@[\w-]+(?:\.[\w-]+)+"), ("@",)),
    Rule(
        "email",
        words(
            r"(?<![\w.+-])[\w][\w.+%-]{0,63}\s?[\[(]\s?at\s?[\])]\s?[\w-]+(?:(?:\s?[\[(]\s?dot\s?[\])]\s?|\.)[\w-]+)+"
        ),
        ("at)", "at]", "at )", "at ]"),
    ),
    Rule("url", words(rf"(?<!\w)(?:https?|ftp|s3)://[^\s<>\"'\]/]+{_PATH}"), ("://",)),
    Rule("url", words(rf"(?<![\w@.])www\d?\.[\w-]+(?:\.[\w-]+)+{_PATH}"), ("www",)),
    Rule(
        "url",
        words(rf"(?<![\w@./-])(?:[a-z0-9][a-z0-9-]{{1,62}}\.){{1,4}}{_DOMAIN_ENDS}(?![\w@-]|\.\w){_PATH}"),
        tuple(
            f".{end}"
            for end in (
                *("com", "org", "net", "edu", "gov", "mil", "inf", "biz", "health", "care", "clinic", "io"),
                *("app", "dev", "co.", "nhs", "ac.", "ca", "de", "fr", "eu", "us"),
            )
        ),
    ),
    Rule("social_handle", re.compile(r"(?<![\w.@/+-])@[A-Za-z_][\w.]{1,29}(?<!\.)(?![\w@])"), ("@",)),
    Rule(
        "social_handle",
        words(
            r"\b(?:instagram|twitter|facebook|tiktok|snapchat|x|handle|username|linkedin|telegram"
            r"|discord)(?:\s(?:handle|account|name|user))?(?:\sis)?\s?[:=]\s{0,2}(?P<value>@?[\w.]{3,30})(?<!\.)"
        ),
        (
            *("instagram", "twitter", "facebook", "tiktok", "snapchat", "handle", "username", "linkedin"),
            *("telegram", "discord"),
        ),
    ),
)
