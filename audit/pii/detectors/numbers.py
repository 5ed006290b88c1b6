"""What is asked of a number beyond its pattern: a check digit, a telephone that could ring, its groups.

A number beside a label is read group by group up to the first word, amount or date: it may be broken in any way.
"""

import re
from collections.abc import Iterable
from typing import Final

from clinaudit.audit.pii.detectors.rule_table import Places, Rule, digits_of, found_in, kind_of, regex, span_in, words
from clinaudit.audit.pii.taxonomy import categories

_VIN_VALUES: Final = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_FEWEST_DIGITS: Final = 4
#: After a label that is a word of a note too, with nothing between: a year, a dose and a count have fewer.
_FEWEST_DIGITS_BARE: Final = 5
#: Of a telephone number, and of groups after such a label.
_FEWEST_DIGITS_LONG: Final = 7


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
    return not found_in(match).isdigit() and is_vin(found_in(match))


def is_internet_address(match: "re.Match[str]") -> bool:
    """Whether it is an address of the Internet, of either version; a net is one."""
    from ipaddress import ip_interface

    try:
        ip_interface(found_in(match))
    except ValueError:
        return False
    return True


_FAX: Final = words("${of_a_fax}$")
#: How far before a number its label is looked for, in characters.
_LABEL_CHARS: Final = 40
_EXTENSION: Final = regex("${an_extension}(?![\\w/])")


def read_phone(match: "re.Match[str]", _rule: Rule) -> Places:
    """Yield a telephone number with its extension; a fax is one by its label."""
    start, _ = span_in(match)
    yield _phone(match.string, start, start + len(found_in(match).rstrip(" .()/-")))


def _phone(text: str, start: int, end: int) -> tuple[int, int, str]:
    extension = _EXTENSION.match(text, end)
    is_fax = _FAX.search(text[max(0, start - _LABEL_CHARS) : start])
    return start, extension.end() if extension else end, "fax" if is_fax else "phone"


def can_ring(match: "re.Match[str]") -> bool:
    """Whether a telephone could ring at a number, as far as the plan of its country says."""
    import phonenumbers

    written = match[0]
    try:
        parsed = phonenumbers.parse("+" + written[2:] if written.startswith("00") else written, "US")
    except phonenumbers.NumberParseException:
        return False
    national = phonenumbers.national_significant_number(parsed)
    # No area code begins with 0 or 1.
    return phonenumbers.is_possible_number(parsed) and not (parsed.country_code == 1 and national[0] in "01")


_SIGN: Final = words(r"[:#=]|${number_sign}")
_YEAR: Final = regex("${year}")
_NUMBER: Final = regex("${number_in_groups}")
_SHORT_DATE: Final = regex("${short_date}")
#: "118-B", "22-B/7": three figures are enough, but for two vertebrae.
_LETTER_AND_MARK: Final = re.compile(r"(?![CTLS]\d{1,2}-)(?=[^ ]*[A-Z])(?=[^ ]*[-/])[^ ]+")


def read_number_after(label: "re.Match[str]", rule: Rule) -> Places:
    """Yield the number behind a label; a year alone needs a sign or a word for a number.

    Of a label that is a word of a note too (its pattern has a group `sign`), it needs one, or is plainly a number.
    """
    number = _NUMBER.match(label.string, label.end())
    if number is None or (_YEAR.fullmatch(number[0]) and not _SIGN.search(label[0])):
        return
    figures, kind = digits_of(number[0]), kind_of(label, rule)
    is_marked = _LETTER_AND_MARK.fullmatch(number[0]) is not None
    fewest = _FEWEST_DIGITS_LONG if kind == "phone" else _FEWEST_DIGITS
    if label.groupdict().get("sign", ":") is None:
        fewest = _FEWEST_DIGITS_LONG if " " in number[0] else _FEWEST_DIGITS_BARE
    if "sign" in label.re.groupindex and _SHORT_DATE.match(label.string, label.end()):
        return
    if figures >= fewest or (is_marked and figures >= _FEWEST_DIGITS - 1):
        yield _phone(label.string, *number.span()) if kind == "phone" else (*number.span(), kind)


#: A number of so many digits is recognized by its last four; shorter ones are searched for whole.
_LAST: Final = 4
_COUNTS: Final = {"three": 3, "3": 3, "four": 4, "4": 4, "five": 5, "5": 5, "six": 6, "6": 6}
_OF_A_NUMBER: Final = words("${of_a_number}")
_OF_A_NUMBER_CHARS: Final = 80
_FOUR: Final = regex("${four_alone}")


def is_end_of_number(match: "re.Match[str]") -> bool:
    """Whether as many figures stand there as the words before them say, or what ends so is something numbered."""
    if match["count"]:
        return digits_of(match["value"]) == _COUNTS[match["count"].lower()]
    begin = max(0, match.start() - _OF_A_NUMBER_CHARS)
    return _OF_A_NUMBER.search(match.string, begin, match.start()) is not None


def ends_of(values: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the last four digits of each long number among (text, category), with the category; no plausible year."""
    found: dict[str, str] = {}
    for written, category in values:
        digits = "".join(filter(str.isdigit, written))
        is_code = category is not None and categories()[category].type == "CODE"
        if is_code and len(digits) >= _FEWEST_DIGITS_LONG and not re.fullmatch(r"(?:19|20)\d\d", digits[-_LAST:]):
            found.setdefault(digits[-_LAST:], category or "")
    return found


def find_ends(text: str, ends: dict[str, str]) -> Places:
    """Yield where such digits stand by themselves, as a number of four figures without a unit, and their category."""
    if ends:
        for match in _FOUR.finditer(text):
            if match[0] in ends:
                yield *match.span(), ends[match[0]]
