"""What is asked of a number beyond its pattern: digits enough, a check digit, a telephone that could ring, its groups.

A number beside a label is read group by group up to the first word, amount or date: it may be broken in any way.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.detectors.rule_table import Rule, regex, words
from clinaudit.audit.pii.detectors.word_lists import read_words
from clinaudit.audit.pii.taxonomy import categories

_Places = Iterator[tuple[int, int, str]]

_LOOKS_LIKE_DATE: Final = re.compile(r"\d{1,2}([/-])\d{1,2}\1\d{2,4}|\d{4}-\d{2}-\d{2}")
_VIN_VALUES: Final = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_FEWEST_OF_CODE: Final = 3
_FEWEST_DIGITS: Final = 4
#: After a label that is a word of a note too, with nothing between: a year, a dose and a count have fewer.
_FEWEST_DIGITS_BARE: Final = 5
#: Of a telephone number, and of groups after such a label.
_FEWEST_DIGITS_LONG: Final = 7
#: Letters and figures of a plate: a vertebra ("T12") and a grade have fewer.
_FEWEST_OF_PLATE: Final = 5


def _digits(written: str) -> int:
    return sum(map(str.isdigit, written))


def is_code(match: "re.Match[str]") -> bool:
    """Whether a number beside a label has figures enough and is no date."""
    return _digits(match["value"]) >= _FEWEST_OF_CODE and not _LOOKS_LIKE_DATE.fullmatch(match["value"])


def is_long_plate(match: "re.Match[str]") -> bool:
    """Whether letters and figures enough for a plate stand in it."""
    return len(re.sub(r"\W", "", match["value"])) >= _FEWEST_OF_PLATE


def is_vin(code: str) -> bool:
    """Whether 17 characters hold the check digit of a vehicle identification number (49 CFR 565.15(c))."""
    try:
        total = sum(
            weight * (int(character) if character.isdigit() else _VIN_VALUES[character])
            for weight, character in zip(_VIN_WEIGHTS, code.upper(), strict=True)
        )
    except (KeyError, ValueError):
        return False
    return code[8].upper() == "0123456789X"[total % 11]


def has_vin_check_digit(match: "re.Match[str]") -> bool:
    """Whether it is a vehicle identification number with a letter in it."""
    return any(map(str.isalpha, match["value"])) and is_vin(match["value"])


def is_internet_address(match: "re.Match[str]") -> bool:
    """Whether it is an address of the Internet, of either version; a net is one."""
    from ipaddress import ip_interface

    try:
        ip_interface(match["value"])
    except ValueError:
        return False
    return True


#: Before the number of a fax.
_FAX: Final = words(
    r"\b(?:fax(?:es|ed)?|facsimile|f)\b\.?(?:\s(?:numbers?|num|no|line|to|at|is)\b\.?){0,3}[\s:#.(]{0,4}$"
)
#: How far before a number its label is looked for, in characters.
_LABEL_CHARS: Final = 40
_FEWEST_OF_PHONE: Final = 10
#: With the nought before the area code.
_FEWEST_OF_NATIONAL: Final = 9
_MOST_OF_NATIONAL: Final = 13
_EXTENSION: Final = re.compile(r"(?:,?\s?(?i:x|ext\.?|extn\.?|extension|durchwahl)\s?\d{1,6})(?![\w/])")
_MOST_OF_PHONE: Final = 21


def read_international(match: "re.Match[str]", _rule: Rule) -> _Places:
    """Yield a telephone number with its country code."""
    if _can_ring(match[0]):
        yield _phone(match.string, match.start(), match.start() + len(match[0].rstrip(" .()/-")))


def read_national(match: "re.Match[str]", _rule: Rule) -> _Places:
    """Yield a telephone number that begins with a nought, in two groups or more."""
    if _FEWEST_OF_NATIONAL <= _digits(match[0]) <= _MOST_OF_NATIONAL and not match[0].isdigit():
        yield _phone(match.string, *match.span())


def read_phone_or_fax(match: "re.Match[str]", _rule: Rule) -> _Places:
    """Yield a number that needs no more than its label."""
    assert match.lastgroup is not None
    yield _phone(match.string, *match.span(match.lastgroup))


def _phone(text: str, start: int, end: int) -> tuple[int, int, str]:
    """Return a telephone number with its extension."""
    extension = _EXTENSION.match(text, end)
    is_fax = _FAX.search(text[max(0, start - _LABEL_CHARS) : start])
    return start, extension.end() if extension else end, "fax" if is_fax else "phone"


def _can_ring(written: str) -> bool:
    """Whether a telephone could ring at it, as far as the plan of its country says."""
    import phonenumbers

    if not _FEWEST_OF_PHONE <= _digits(written) <= _MOST_OF_PHONE:
        return False
    try:
        parsed = phonenumbers.parse("+" + written[2:] if written.startswith("00") else written, "US")
    except phonenumbers.NumberParseException:
        return False
    national = phonenumbers.national_significant_number(parsed)
    # No area code begins with 0 or 1.
    return phonenumbers.is_possible_number(parsed) and not (parsed.country_code == 1 and national[0] in "01")


#: Of the ten digits of a phone number, those that text recognition must have read as digits.
_DIGITS_READ: Final = 7
#: Whose number seven figures are, or what says that they are one, in the same sentence.
_BY_SOMEBODY: Final = words(
    r"(?:\b(?:${kin}|${close})|\b(?:mr|mrs|ms|dr|patient|pt|nurse|contact|call|number|[ch])\b\.?)(?:[^.;\n\d]{0,40})$"
)
_SOMEBODY_CHARS: Final = 60
_SENTENCE_END: Final = re.compile(r"[.;\n]\s")
_WORD: Final = re.compile(r"[a-z][\w/-]*")


def is_read_as_phone(match: "re.Match[str]") -> bool:
    """Whether enough of ten signs were read as figures."""
    return _digits(match[0]) >= _DIGITS_READ


def is_telephone(match: "re.Match[str]") -> bool:
    """Whether three and four figures are a telephone number: with a hyphen unless a measure stands before them.

    With a blank or a full stop only after somebody.
    """
    before = match.string[max(0, match.start() - _SOMEBODY_CHARS) : match.start()]
    sentence = _SENTENCE_END.split(before)[-1]
    if match["mark"] != "-":
        return _BY_SOMEBODY.search(sentence) is not None
    # No range begins its upper end with a nought.
    return match["last"].startswith("0") or read_words("measures").isdisjoint(_WORD.findall(sentence.lower()))


_SIGN: Final = words(r"[:#=]|${number_sign}")
_YEAR: Final = r"(?:18|19|20)\d\d"
_PART: Final = r"[/.-]\d{1,2}"
_DATE: Final = rf"(?:(?:\d{{1,2}}{_PART}[/.-]{_YEAR}|{_YEAR}{_PART}{_PART}|\d{{1,2}}/(?:19|20)\d\d)(?![\w/-]))"
_SHORT_DATE: Final = r"(?:\d{1,2}(?:/\d{1,2}/|-\d{1,2}-|\.\d{1,2}\.)\d\d(?![\w/-]))"
#: A number that counts, a decimal or a pressure: no group of a number.
_AMOUNT: Final = (
    r"(?i:\d+(?:\.\d+)?[\s-]?(?:mg|mcg|[µμ]g|g|ml|dl|l|units?|iu|meq|mmol|tabs?|tablets?|pills?|doses?|%|cm|mm|kg|lbs?|pounds?"
    r"|days?|weeks?|wks?|months?|mos?|years?|yrs?|y\.?/?o|yo|hours?|hrs?|minutes?|mins?|times|visits?|am|pm|bpm|mmhg|kcal"
    r"|cal(?:orie)?s?|steps|copies|cells)(?![^\W_])|\d{1,3}\.\d{1,3}(?![\w.-])|\d{2,3}/\d{2,3}(?![\w/]))"
)
_BLANK: Final = rf"[ ]{{1,2}}(?!{_DATE}|{_SHORT_DATE}|{_AMOUNT})"
#: A full stop before a blank ends a sentence.
_MARK: Final = r"(?:[ ]?[-–—]+[ ]?|[/.·_]+(?! ))"
_MIXED: Final = r"(?=[A-Za-z0-9]{1,20}(?![^\W_]))[A-Za-z0-9]*\d[A-Za-z0-9]*"
#: A number in whatever groups, up to the first word, amount or date. After a blank a group is figures with a letter or
#: two at most ("A1c 7.2" is none), unless the number began with letters and figures: "1EG4 TE5 MK73".
_NUMBER: Final = re.compile(
    rf"(?!{_DATE}|{_AMOUNT})(?:[A-Z]{{1,3}}(?:{_MARK}|{_BLANK}))*+(?:\d{{1,20}}(?![^\W_])|(?P<mixed>{_MIXED}))"
    rf"(?:{_MARK}(?:{_MIXED}|[A-Z](?![^\W_])|(?<=[-–.])[A-Z]{{1,3}}(?![^\W_])|[A-Z]{{2,3}}(?=[-/.][A-Z]*\d))"
    rf"|{_BLANK}(?:(?:[A-Z]{{1,2}}(?=\d\d))?\d{{1,9}}[A-Z]?(?![^\W_])|[A-Z](?=[ ]?(?:[.,;)\n]|$)))"
    rf"|(?(mixed){_BLANK}(?=[A-Z]{{0,5}}\d)(?=\d{{0,5}}[A-Z])[A-Z0-9]{{2,6}}(?![^\W_])|(?!)))*+"
)
_IS_DATE: Final = re.compile(_DATE)
_IS_SHORT_DATE: Final = re.compile(_SHORT_DATE)
#: "118-B", "22-B/7": three figures are enough, but for two vertebrae.
_LETTER_AND_MARK: Final = re.compile(r"(?![CTLS]\d{1,2}-)(?=[^ ]*[A-Z])(?=[^ ]*[-/])[^ ]+")


def read_number_after(match: "re.Match[str]", rule: Rule) -> _Places:
    """Yield the number after a label that says little else."""
    number, kind = _read_number(match), match.lastgroup or rule.kind
    if number is None:
        return
    if kind != "phone":
        yield *number.span(), kind
    elif _digits(number[0]) >= _FEWEST_DIGITS_LONG:
        yield _phone(match.string, *number.span())


def read_number_before(match: "re.Match[str]", rule: Rule) -> _Places:
    """Yield the number before a label."""
    if not _IS_DATE.match(match["number"]) and _digits(match["number"]) > _FEWEST_DIGITS_BARE:
        yield *match.span("number"), match.lastgroup or rule.kind


def read_number_after_word(match: "re.Match[str]", rule: Rule) -> _Places:
    """Yield the number after a label that is a word of a note too: after a sign, or what is plainly a number."""
    number = _read_number(match)
    if number is None or _IS_SHORT_DATE.match(match.string, match.end()):
        return
    if match["sign"] or _is_plain(number[0]):
        yield *number.span(), rule.kind


def _read_number(label: "re.Match[str]") -> "re.Match[str] | None":
    """Return the number behind a label; None for a short one, and for a year without a sign or a word for a number."""
    number = _NUMBER.match(label.string, label.end())
    if number is None or (re.fullmatch(_YEAR, number[0]) and not _SIGN.search(label[0])):
        return None
    fewest = _FEWEST_OF_CODE if _LETTER_AND_MARK.fullmatch(number[0]) else _FEWEST_DIGITS
    return number if _digits(number[0]) >= fewest else None


def _is_plain(written: str) -> bool:
    """Whether no count and no measure is written so: long, or in one piece with letters and marks."""
    if " " in written:
        return _digits(written) >= _FEWEST_DIGITS_LONG
    return _digits(written) >= (_FEWEST_OF_CODE if _LETTER_AND_MARK.fullmatch(written) else _FEWEST_DIGITS_BARE)


#: A number of so many digits is recognized by its last four; shorter ones are searched for whole.
_LAST: Final = 4
_COUNTS: Final = {"three": 3, "3": 3, "four": 4, "4": 4, "five": 5, "5": 5, "six": 6, "6": 6}
#: What has digits at its end that somebody would name; a year ends nothing else.
_OF_A_NUMBER: Final = words(
    r"\b(?:ssn|social|card|visa|mastercard|amex|account|acct|numbers?|no|phone|cell|mobile|tel|fax|mrn|record|id|policy"
    r"|member|plan|licen[cs]e|passport|serial|device|vin|plate|digits?|badge|code)\b|<[A-Z_]+_\d+"
)
_OF_A_NUMBER_CHARS: Final = 80
_FOUR: Final = regex(
    r"(?<!\d)(?<!\d[.,/:-])(?<![A-WYZa-wyz$])\d{4}(?!\w|[.,/:-]\d|\s?(?:mg|mcg|ml|mm|cm|kg|g|lbs?|units?|%|kcal|cal|cc|hours|hrs))"
)


def is_end_of_number(match: "re.Match[str]") -> bool:
    """Whether as many figures stand there as the words before them say, or what ends so is something numbered."""
    if match["count"]:
        return _digits(match["value"]) == _COUNTS[match["count"].lower()]
    begin = max(0, match.start() - _OF_A_NUMBER_CHARS)
    return _OF_A_NUMBER.search(match.string, begin, match.start()) is not None


def ends_of(values: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the last four digits of each long number among (text, category), with the category; no plausible year."""
    found: dict[str, str] = {}
    for written, category in values:
        if category is None or categories()[category].type != "CODE":
            continue
        digits = "".join(character for character in written if character.isdigit())
        if len(digits) >= _FEWEST_DIGITS_LONG and not re.fullmatch(r"(?:19|20)\d\d", digits[-_LAST:]):
            found.setdefault(digits[-_LAST:], category)
    return found


def find_ends(text: str, ends: dict[str, str]) -> _Places:
    """Yield where such digits stand by themselves, as a number of four figures without a unit, and their category."""
    if ends:
        for match in _FOUR.finditer(text):
            if match[0] in ends:
                yield *match.span(), ends[match[0]]
