"""Numbers of somebody that no rule of the audit takes for one: in groups, digit by digit, beside a label of any kind.

The audit asks a code to have one of some shapes. Here whatever holds figures and stands beside a label is a code, up to
the first word, amount or date: a filter rather masks a figure too much. Knows nothing of masking.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.detectors.word_lists import CLOSE, KIN, read_words
from clinaudit.audit.pii.entity_span import EntitySpan

#: Labels that stand before a number of somebody and little else: category, label, and how its first word begins.
_SURE: Final = (
    (
        "mrn",
        r"mrns?|m\.r\.n\.?|emrn|uhid|e?mpi|med(?:ical)?\.?\srec(?:ord)?s?|(?:patient|hospital|health)\srecord|nhs|chi",
        "mrn m.r.n emrn uhid mpi empi med patient hospital health nhs chi",
    ),
    (
        "ssn",
        r"ssns?|s\.s\.n\.?|ss(?=\s?#)|soc(?:ial)?\.?\ssec(?:urity|\.)?|social(?=\s(?:is|#|no|num|\d))",
        "ss s.s soc",
    ),
    (
        "health_plan_number",
        r"policy|member(?:ship)?|subscriber|medicare|medicaid|medi-?cal|mbi|hicn?|cin|insurance|beneficiary|tricare|humana"
        r"|aetna|cigna|anthem|bcbs|blue\s?cross|payer|group(?=\s(?:no|num|#|id))",
        "policy member subscriber medi mbi hic cin insurance benef tricare humana aetna cigna anthem bcbs blue payer"
        " group",
    ),
    ("account_number", r"account|acct\.?|a/c|csn|guarantor|encounter", "acc a/c csn guarantor encounter"),
    ("credit_card", r"(?:credit|debit|bank)\scard|visa|mastercard|amex", "credit debit bank visa mastercard amex"),
    ("bank_account", r"iban|routing|sort\scode", "iban routing sort"),
    (
        "driver_licence",
        r"driver'?s?'?\slic(?:en[cs]e)?|driving\slicen[cs]e|d\.?l\.?(?=\s?(?:#|:|no|num))",
        "driv dl d.l",
    ),
    ("licence_number", r"npi|licen[cs]e|lic\.", "npi lic"),
    ("passport", r"passports?", "passport"),
    ("tax_id", r"i?tin|f?ein", "tin itin ein fein"),
    ("vehicle_id", r"vin|plates?", "vin plate"),
    (
        "phone",
        r"tel(?:ephone)?\.?|phones?|cell|mobile|fax|pager|ph\.?|whatsapp",
        "tel ph cell mobile fax pager whatsapp",
    ),
    ("device_id", r"serial|s/n|udi|imei", "serial s/n udi imei"),
)
#: Labels that are words of a note as well: they count before a sign or a word for a number, or before a long number.
_LESS_SURE: Final = tuple(sorted(read_words("number_labels")))
_NUMBER_WORD: Final = r"(?:numbers?|num|nbr|nos?|nr|id|ident(?:ifier)?|identification|card|holder|code|digits?)\b\.?"
#: Whose a number is: "SSN of mom", "MRN (baby)", "policy number for his wife".
_SOMEBODY: Final = rf"(?:{KIN}(?:[ ]in[ ]law)?|{CLOSE}|patient|pt|client|twin|baby|infant|child)"
_WHOSE: Final = (
    rf"(?:,[ ])?\(?(?:(?:of|for)[ ])?(?:(?:the|his|her|their|my|{_SOMEBODY})(?:['’]s)?[ ]){{0,2}}"
    rf"{_SOMEBODY}\b(?:['’]s\b)?\)?"
)
#: Between a sure label and its number: words for a number, another label in capitals ("Medicaid CIN"), signs.
_AFTER_SURE: Final = (
    rf"(?:[ \t]{{0,2}}(?:{_NUMBER_WORD}|{_WHOSE}|(?:is|was|on\sfile|reads?|says?|being)\b|(?-i:CIN|MBI|HICN?|MRN|SSN)\b"
    r"|(?-i:[A-Z]{2,5})\b(?![ ]?[-/.]?\d)|[:#=–-]|\()){0,4}[ \t]{0,3}"
)
_AFTER_LESS_SURE: Final = (
    rf"[ \t]{{0,2}}(?:{_NUMBER_WORD}|[:#=])(?:[ \t]{{0,2}}(?:{_NUMBER_WORD}|(?:is|was)\b|[:#=])){{0,3}}[ \t]{{0,3}}"
)
_SIGN: Final = re.compile(rf"[:#=]|{_NUMBER_WORD}", re.IGNORECASE)
_GROUP: Final = re.compile(r"[A-Za-z0-9]{1,20}(?![^\W_])")
#: After a blank a group is figures, with a letter or two at most: "A1c 7.2" is none.
_GROUP_AFTER_BLANK: Final = re.compile(r"(?:[A-Z]{1,2}(?=\d\d))?\d{1,9}[A-Z]?(?![^\W_])|[A-Z](?=[ ]?(?:[.,;)\n]|$))")
#: A group after a blank, of a number that began with letters and figures: "1EG4 TE5 MK73".
_MIXED_AFTER_BLANK: Final = re.compile(r"(?=[A-Z]{0,5}\d)(?=\d{0,5}[A-Z])[A-Z0-9]{2,6}(?![^\W_])")
#: A full stop before a blank ends a sentence.
_MARK: Final = re.compile(r"[ ]?[-–—]+[ ]?|[/.·_]+(?! )|[ ]{1,2}")
_DATE: Final = re.compile(
    r"(?:\d{1,2}([/.-])\d{1,2}\1(?:18|19|20)\d\d|(?:18|19|20)\d\d([/.-])\d{1,2}\2\d{1,2}|\d{1,2}/(?:19|20)\d\d)(?![\w/-])"
)
_SHORT_DATE: Final = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d\d(?![\w/-])")
#: A number that counts, a decimal or a pressure: no group after a blank.
_AMOUNT: Final = re.compile(
    r"\d+(?:\.\d+)?[\s-]?(?:mg|mcg|[µμ]g|g|ml|dl|l|units?|iu|meq|mmol|tabs?|tablets?|pills?|doses?|%|cm|mm|kg|lbs?|pounds?"
    r"|days?|weeks?|wks?|months?|mos?|years?|yrs?|y\.?/?o|yo|hours?|hrs?|minutes?|mins?|times|visits?|am|pm|bpm|mmhg|kcal"
    r"|cal(?:orie)?s?|steps|copies|cells)(?![^\W_])|\d{1,3}\.\d{1,3}(?![\w.-])|\d{2,3}/\d{2,3}(?![\w/])",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"(?:18|19|20)\d\d")
_FEWEST_DIGITS: Final = 4
#: After a label that is a word of a note too, with nothing between: a year, a dose and a count have fewer.
_FEWEST_DIGITS_BARE: Final = 5
#: Of a telephone number, and of groups after such a label.
_FEWEST_DIGITS_LONG: Final = 7
#: Letters and figures of a plate: a vertebra ("T12") and a grade have fewer.
_FEWEST_OF_PLATE: Final = 5
#: The most groups of a number that is spelled digit by digit, and some more.
_MOST_GROUPS: Final = 24


class _Number(NamedTuple):
    start: int
    end: int
    digits: int


class LabelledNumbers:
    """Finds numbers beside a label, however they are broken into groups."""

    name = "labelled numbers"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the numbers."""
        text = source.text
        for place in source.word_starts(_FIRST_WORDS):
            begins = source.text[place : place + _LONGEST_CHARS].lower()
            for category, prefixes, before, after in _PATTERNS:
                if begins.startswith(prefixes):
                    yield from self._after_sure(text, place, category, before)
                    yield from self._before_sure(text, place, category, after)
            if begins.startswith(_LESS_SURE):
                yield from self._after_less_sure(text, place)

    def _after_sure(self, text: str, place: int, category: str, label: re.Pattern[str]) -> Iterator[EntitySpan]:
        match = label.match(text, place)
        number = None if match is None else _read_number(text, match.end())
        if match is None or number is None or _is_year(match[0], text, number):
            return
        if category != "phone" or number.digits >= _FEWEST_DIGITS_LONG:
            yield EntitySpan(number.start, number.end, category, self.name)

    def _before_sure(self, text: str, place: int, category: str, label: re.Pattern[str]) -> Iterator[EntitySpan]:
        start = max(0, place - _BEFORE_CHARS)
        if _CONNECTED.search(text, start, place) is None or label.match(text, place) is None:
            return
        match = _VALUE_BEFORE.search(text, start, place)
        if match is None or _DATE.match(match["value"]):
            return
        if sum(map(str.isdigit, match["value"])) > _FEWEST_DIGITS_BARE:
            yield EntitySpan(*match.span("value"), category, self.name)

    def _after_less_sure(self, text: str, place: int) -> Iterator[EntitySpan]:
        match = _LABEL_SIGN.match(text, place)
        if match is not None:
            number = _read_number(text, match.end())
            if number is not None and not _is_year(match[0], text, number) and not _SHORT_DATE.match(text, match.end()):
                yield EntitySpan(number.start, number.end, "other_code", self.name)
        match = _LABEL_BARE.match(text, place)
        if match is not None:
            if sum(map(str.isdigit, match["value"])) >= _FEWEST_DIGITS_BARE and not _DATE.match(match["value"]):
                yield EntitySpan(*match.span("value"), "other_code", self.name)
            number = _read_number(text, match.start("value"))
            if number is not None and number.digits >= _FEWEST_DIGITS_LONG:
                yield EntitySpan(number.start, number.end, "other_code", self.name)


#: Category, how the first word begins, the label before a number, and the label by itself.
_PATTERNS: Final = tuple(
    (
        category,
        tuple(prefixes.split()),
        words(rf"(?:{label})(?![^\W_\d]){_AFTER_SURE}(?=[A-Za-z]{{0,12}}[ -]?\d)"),
        words(rf"(?:{label})(?![^\W_])"),
    )
    for category, label, prefixes in _SURE
)
_ANY_LESS_SURE: Final = "|".join(_LESS_SURE)
_LABEL_SIGN: Final = words(rf"(?:{_ANY_LESS_SURE})(?![^\W_]){_AFTER_LESS_SURE}(?=[A-Za-z]{{0,12}}[ -]?\d)")
_LABEL_BARE: Final = words(
    rf"(?:{_ANY_LESS_SURE})[ \t](?P<value>[A-Z]{{0,4}}-?\d[\dA-Z]*(?:[-/.][\dA-Z]+){{0,5}})(?![^\W_]|[ ]?%)"
)
_FIRST_WORDS: Final = (*(prefix for _, prefixes, _, _ in _PATTERNS for prefix in prefixes), *_LESS_SURE)
_LONGEST_CHARS: Final = max(map(len, _FIRST_WORDS))
#: "00123456 is her MRN", "00123456 is her mom's MRN", "00123456 (MRN)".
_CONNECTED: Final = words(
    rf"(?:[ ]\([ ]?|[ ](?:is|was|as|being)[ ](?:(?:his|her|their|my|the|{_SOMEBODY}['’]?s)[ ]){{1,2}})$"
)
_VALUE_BEFORE: Final = words(
    rf"(?<![\w.-])(?P<value>[A-Z]{{0,3}}\d[\dA-Z]*(?:[-/. ]{{1,2}}\d[\dA-Z]*){{0,12}}){_CONNECTED.pattern}"
)
_BEFORE_CHARS: Final = 60


def _read_number(text: str, start: int) -> _Number | None:
    """Return the number that begins at a place, up to the first word, amount or date; None for a short one."""
    if _DATE.match(text, start):
        return None
    place = end = start
    digits = 0
    is_mixed = False
    after = ""
    for _ in range(_MOST_GROUPS):
        if after.isspace() and (
            _DATE.match(text, place) or _SHORT_DATE.match(text, place) or _AMOUNT.match(text, place)
        ):
            break
        group = (_GROUP_AFTER_BLANK if after.isspace() and digits else _GROUP).match(text, place)
        if group is None and is_mixed:
            group = _MIXED_AFTER_BLANK.match(text, place)
        if group is None:
            break
        has_figure = any(map(str.isdigit, group[0]))
        is_mixed |= not digits and has_figure and not group[0].isdigit()
        if has_figure and not after and _AMOUNT.match(text, place):
            return None
        if not has_figure and not (group[0].isupper() and len(group[0]) <= 3):
            break
        if has_figure or (digits and after.strip() in ("-", "–", ".")) or (digits and len(group[0]) == 1):
            end = group.end()
        digits += sum(map(str.isdigit, group[0]))
        mark = _MARK.match(text, group.end())
        if mark is None:
            break
        after, place = mark[0], mark.end()
    return _Number(start, end, digits) if digits >= _FEWEST_DIGITS else None


def _is_year(label: str, text: str, number: _Number) -> bool:
    """Whether a year stands after a label without a sign or a word for a number."""
    return _YEAR.fullmatch(text, number.start, number.end) is not None and not _SIGN.search(label)


def _is_code(match: "re.Match[str]") -> bool:
    return sum(map(str.isdigit, match["value"])) >= _FEWEST_DIGITS


LOOSE_CODES: Final = RuleTable(
    "loose codes",
    Rule(
        "ssn",
        words(
            r"(?<!\w)(?:ssn|ss\s?#|social(?:\ssecurity)?(?:\s(?:number|no\.?|num))?)(?:\s(?:is|was))?[\s:#=.]{1,4}"
            r"(?P<value>[0-9a-z]{3}[-. /_]?[0-9a-z]{2}[-. /_]?[0-9a-z]{4})(?!\w)"
        ),
        ("ssn", "ss#", "ss #", "social"),
        _is_code,
    ),
    # "My car in the garage is SBP-6942": what is written as a plate, after a vehicle in the same sentence.
    Rule(
        "vehicle_id",
        re.compile(
            r"\b(?i:car|truck|van|suv|jeep|vehicle|motorcycle|motorbike|plates?|tags?)\b[^.;\n\d]{0,40}?[ :#]"
            r"(?P<value>(?:[A-Z]{1,4}[ -]?\d{2,5}[ -]?[A-Z]{0,3}|\d{1,4}[ -]?[A-Z]{2,4}[ -]?\d{0,4}))"
            r"(?![\w-]|[ ]?(?:mg|mL|MPH|mph|km|miles))"
        ),
        ("car", "truck", "van", "suv", "jeep", "vehicle", "motor", "plate", "tag"),
        lambda match: len(re.sub(r"\W", "", match["value"])) >= _FEWEST_OF_PLATE,
    ),
    # What is written so is nothing else, be it of a kind that nobody was ever given.
    Rule("ssn", re.compile(r"(?<![\w./–-])\d{3}(?P<mark>[-–])\d{2}(?P=mark)\d{4}(?![\w/–-]|\.\d)")),
    # National insurance numbers of the United Kingdom.
    Rule(
        "ssn", re.compile(r"(?<![\w-])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][ ]?\d{2}[ ]?\d{2}[ ]?\d{2}[ ]?[A-D](?![\w-])")
    ),
    # Seven figures and more, one by one.
    Rule("other_code", re.compile(r"(?<![\w.-])\d(?:[ ]?[-–—·_/.][ ]?\d){6,}(?!\w|[-.]\d)")),
    # Whatever is numbered, by a number too long to count something.
    Rule(
        "other_code",
        words(
            r"(?:\b(?<!cpt )(?<!hcpcs )(?<!ndc )(?:id|no|nr|num|number|ref|reference|claim|case|docket|ticket"
            r"|invoice|run|card|file|acct|account|tube|sample|sn|serial|tag)\b\.?\s?[:#]?|#)\s?"
            r"(?P<value>(?=(?:[a-z-]{0,8}\d){5})[a-z]{0,4}-?\d[\da-z]*(?:-[\da-z]+){0,4})(?![\w.,/]*\d|\s?(?:mg|ml|%))"
        ),
    ),
    # The numbers of a laboratory, and of a plan: "S23-004512", "W2281 09934".
    Rule("other_code", re.compile(r"(?<![\w./-])[A-Z]{1,3}\d{2}-\d{4,8}(?![\w-])"), ("-",)),
    Rule("other_code", re.compile(r"(?<![\w./-])[A-Z]{1,3}\d{3,6}[ ]\d{4,6}(?![\w./-])")),
    Rule("other_code", words(r"(?<![0-9a-z-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-z-])"), ("-",)),
    Rule(
        "other_code",
        re.compile(r"(?<![\w/+=])(?=(?:[A-Za-z+/=_]*\d){4})(?=(?:[\d+/=_]*[A-Za-z]){3})[\w+/]{20,}={0,2}(?![\w])"),
    ),
    Rule(
        "mrn",
        words(
            r"(?<!\w)(?:id(?:entity)?\scard|hosp(?:ital)?\.?|case|file|folder|member|clinic|nhs|ref(?:erence)?)\s?"
            r"(?:no\.?|number|num\.?|#|id)\s?[:#=]?\s?(?P<value>[A-Z]{0,3}-?\d[\dA-Z-]{2,})(?!\w)"
        ),
        ("no", "num", "#", "id"),
    ),
    # A file is somebody's: its name holds theirs as often as not ("smith_john_ct.pdf").
    Rule(
        "other_code",
        words(
            r"(?<![\w.@])(?:(?:[a-z]:|~)?(?:[\\/][\w.~%-]+(?:[ ][\w.~%-]+){0,3}){1,12}|(?-i:"
            r"(?:[A-Z][\w'’-]*,?[ ]){0,3})"
            r"(?:[a-z]:)?[\w.~\\/%-]{0,120}\w)\.(?:pdf|docx?|odt|rtf|txt|xlsx?|csv|tsv|pptx?|dcm|dicom|nii"
            r"|jpe?g|png|gif|bmp|tiff?|heic|webp|mp[34]|mov|avi|wav|m4a|zip|tar|gz|7z|xml|json|html?|eml|msg|hl7|ccda?"
            r"|ics|vcf|pages)(?![\w@])"
        ),
        (
            *(".pdf", ".doc", ".odt", ".rtf", ".txt", ".xls", ".csv", ".tsv", ".ppt", ".dcm", ".dicom", ".nii"),
            *(".jp", ".png", ".gif", ".bmp", ".tif", ".heic", ".webp", ".mp3", ".mp4", ".mov", ".avi", ".wav"),
            *(".m4a", ".zip", ".tar", ".gz", ".7z", ".xml", ".json", ".htm", ".eml", ".msg", ".hl7", ".ccd"),
            *(".ics", ".vcf", ".pages"),
        ),
    ),
)
