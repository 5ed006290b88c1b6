"""Numbers that are identifiers by their label: of records, accounts, plans, licences, vehicles, devices and people.

A code without a label is a laboratory value as often as not; those with a check digit of their own are found by
`checked_codes`.
"""

import re
from typing import Final

from clinaudit.audit.pii.detectors.rule import AFTER_LABEL, Rule, RuleTable, words

_NUMBER_WORD = r"(?:\s{0,2}(?:(?:numbers?|num|nbr|no|id|identifier|ident|code)\b\.?|#)){0,2}"
#: A code: letters and digits in one piece or joined by marks, or digits in groups. It never goes on over a line.
_CODE = (
    r"(?P<value>\d{3,5}(?:[^\S\r\n]\d{3,5}){1,4}|(?:[A-Z0-9]{1,12}[-/.]){0,5}[A-Z]{0,6}\d[A-Z0-9]*(?:[-/.][A-Z0-9]+){0,5}"
    r"|[A-Z]{1,4}[^\S\r\n]\d{4,})(?![A-Z0-9]|\s?(?:mg|mcg|ml|units?|tabs?|tablets?|%|cm|mm|kg|lbs?|days?"
    r"|weeks?|months?|years?)\b)"
)
_NO_UNIT = r"(?!\s?(?:mg|mcg|ml|units?|iu|copies|cells|/|%))"
_FEWEST_DIGITS: Final = 3
_DIGIT = re.compile(r"\d")
_LOOKS_LIKE_DATE = re.compile(r"\d{1,2}([/-])\d{1,2}\1\d{2,4}|\d{4}-\d{2}-\d{2}")
_VIN_VALUES: Final = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)

#: Category, the words that label it, and what a text must hold for the rule to be tried. The first that fits a place
#: stands where two find the same.
_LABELS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    (
        "mrn",
        r"MRNs?|M\.R\.N\.|MR(?=\s?[#:])|EMRN|UHID|med(?:ical)?\s?\.?rec(?:ord)?s?|(?:medical"
        r"|patient|hospital|health) record"
        r"|patient(?=\s{0,2}(?:id\b|no\b|num|#|ident))|pt(?=\s{0,2}(?:id\b|no\b|num|#))|chart"
        r"|hospital(?=\s{0,2}(?:id\b|no\b|num|#))|unit(?=\s{0,2}(?:no\b|num))|record(?=\s{0,2}(?:no\b|num|#|id\b))",
        ("mrn", "m.r.n", "mr", "uhid", "rec", "patient", "pt", "chart", "hospital", "unit"),
    ),
    (
        "bank_account",
        r"(?:bank|checking|savings|routing|brokerage)(?:\s(?:account|acct|transit))?|IBAN|account(?=\sat\s)",
        ("bank", "checking", "savings", "routing", "iban", "brokerage"),
    ),
    (
        "account_number",
        r"(?:patient |hospital |billing |guarantor )?(?:account|acct)|encounter|visit"
        r"(?=\s{0,2}(?:id\b|no\b|num|#))|CSN|HAR|FIN(?=\s?[#:])|invoice|claim|billing|bill(?=\s{0,2}(?:no\b|num|#))",
        ("account", "acct", "encounter", "visit", "csn", "har", "fin", "invoice", "claim", "bill"),
    ),
    (
        "health_plan_number",
        r"(?:health )?plan|(?:insurance |plan )?member(?:ship)?|subscriber|(?:insurance |group"
        r" )?policy|group(?=\s{0,2}(?:id\b|no\b|num|#))"
        r"|insurance|medicare|medicaid|MBI|HICN?|beneficiary|payer|insured(?:'s)?|prior authorization|authorization",
        (
            *("plan", "member", "subscriber", "policy", "group", "insur", "medica", "mbi", "hic", "beneficiary"),
            *("payer", "authoriz"),
        ),
    ),
    (
        "driver_licence",
        r"driver'?s?'?\s(?:licen[cs]e|lic)|driving licen[cs]e|D\.?L\.?(?=\s?[#:]|\sno)|licence to drive",
        ("driv", "dl", "d.l"),
    ),
    (
        "vehicle_id",
        r"licen[cs]e plates?|(?:number |registration )?plates?|vehicle(?: identification|"
        r" registration)?|car registration|VIN",
        ("plate", "vehicle", "vin", "car reg"),
    ),
    (
        "device_id",
        r"(?:device |pump |pacemaker |implant |monitor |equipment |ICD )?serial|S/N|UDI|IMEI"
        r"|device(?=\s{0,2}(?:id\b|no\b|num|#|ident))"
        r"|(?:implant|pacemaker|pump|stent|lead|monitor|prosthesis)(?=\s{0,2}(?:id\b|no\b|num"
        r"|#|ident))|lot(?=\s{0,2}(?:no\b|num|#))",
        (
            *("serial", "s/n", "udi", "imei", "device", "implant", "pacemaker", "pump", "stent", "lead", "monitor"),
            *("lot", "prosth"),
        ),
    ),
    (
        "licence_number",
        r"(?:medical |nursing |state |professional |board |pharmacy |birth |death |marriage "
        r"|gun |firearm |fishing |hunting )?"
        r"(?:licen[cs]e|certificate|certification|cert|permit)|lic|DEA|NPI|registration",
        ("licen", "lic", "certif", "cert", "permit", "dea", "npi", "registration"),
    ),
    ("passport", r"passports?", ("passport",)),
    (
        "tax_id",
        r"tax(?:payer)?(?=\s{0,2}(?:id\b|ident|no\b|num|ref))|TIN|ITIN|EIN|FEIN|employer identification",
        ("tax", "tin", "ein", "employer ident"),
    ),
    (
        "employee_id",
        r"employees?|staff(?=\s{0,2}(?:id\b|no\b|num|#))|personnel|badge|payroll|worker"
        r"(?=\s{0,2}(?:id\b|no\b|num|#))|EMP(?=-?\d)",
        ("employee", "staff", "personnel", "badge", "payroll", "worker", "emp"),
    ),
    ("student_id", r"students?|matriculation|enrol(?:l)?ment|STU(?=-?\d)", ("student", "matric", "enrol", "stu")),
    (
        "biometric_id",
        r"biometrics?|finger\s?-?prints?(?: (?:template|record|scan|code))?|thumb\s?prints?"
        r"|retina(?:l)? scan|iris (?:scan|code|template)|voice\s?-?prints?|face (?:template|scan)|palm scan",
        ("biometric", "print", "retina", "iris", "face ", "palm"),
    ),
    (
        "other_code",
        r"accession|specimen|requisition|order(?=\s{0,2}(?:id\b|no\b|num|#))|case(?=\s{0,2}"
        r"(?:id\b|no\b|num|#))|confirmation"
        r"|tracking|study(?=\s{0,2}(?:id\b|no\b|num|#))|subject(?=\s{0,2}(?:id\b|no\b|num|#))|user\s?(?:id|name)|login|"
        r"prescription(?=\s{0,2}(?:id\b|no\b|num|#))|rx(?=\s{0,2}(?:no\b|num|#))|reference|ref"
        r"(?=\s?[#:.])|ticket|locker|PIN(?=\s?[#:])|password|access code|trial",
        (
            *("accession", "specimen", "requis", "order", "case", "confirm", "track", "study", "subject"),
            *("user", "login"),
            *("prescription", "rx", "ref", "ticket", "locker", "pin", "password", "access", "trial"),
        ),
    ),
)
#: Labels that say "number" by themselves; the others need the word, a colon or a sign before the code.
_SPEAKS_FOR_ITSELF: Final = frozenset({"passport", "biometric_id", "driver_licence"})
_SAYS_NUMBER = (
    r"(?:(?:(?:numbers?|num|nbr|no|id|identifier|ident|code)\b|#)\.?\s{0,3}(?:(?:is"
    r"|was)\b)?\s{0,3}[:=#]{0,2}|[:=#]{1,2}"
    r"|(?:is|was|says|said|reads|shows|(?:is )?stored as|on file (?:is|reads)),?\s(?=[A-Z-]{1,6}\d|\d[\d-]{5}))\s{0,3}"
)


def _is_code(match: re.Match[str]) -> bool:
    value = match["value"]
    return len(_DIGIT.findall(value)) >= _FEWEST_DIGITS and not _LOOKS_LIKE_DATE.fullmatch(value)


def has_vin_check_digit(code: str) -> bool:
    """Whether 17 characters hold the check digit of a vehicle identification number (49 CFR 565.15(c))."""
    try:
        total = sum(
            weight * (int(character) if character.isdigit() else _VIN_VALUES[character])
            for weight, character in zip(_VIN_WEIGHTS, code.upper(), strict=True)
        )
    except (KeyError, ValueError):
        return False
    return code[8].upper() == "0123456789X"[total % 11]


def _labelled(category: str, label: str, triggers: tuple[str, ...]) -> Rule:
    joined = (
        rf"{_NUMBER_WORD}{AFTER_LABEL}"
        if category in _SPEAKS_FOR_ITSELF
        else rf"(?:\s{{0,2}}{_SAYS_NUMBER}|\s(?=[A-Z-]{{0,6}}\d{{5}}))"
    )
    return Rule(category, words(rf"(?<![\w]){'(?:' + label + ')'}{joined}{_CODE}"), triggers, _is_code)


#: Codes that follow a label, and those that a shape of their own shows.
LABELLED_CODES: Final = RuleTable(
    "labelled codes",
    *(_labelled(*row) for row in _LABELS),
    Rule(
        "mrn",
        words(r"(?<!\w)MRN\s{0,3}(?:is\b|was\b)?[:#=\s-]{0,4}(?P<value>[A-Z]{0,3}-?\d[\dA-Z-]{2,}\d)(?!\w)"),
        ("mrn",),
    ),
    # Of the National Health Service: ten figures, which have the shape of a telephone number too.
    Rule(
        "mrn",
        words(rf"(?<!\w)NHS{_NUMBER_WORD}{AFTER_LABEL}(?P<value>\d{{3}}[ -]?\d{{3}}[ -]?\d{{4}})(?![\w-])"),
        ("nhs",),
    ),
    Rule(
        "vehicle_id",
        re.compile(r"(?P<value>[A-HJ-NPR-Z0-9](?<!\w.)[A-HJ-NPR-Z0-9]{16})(?!\w)"),
        (),
        lambda match: has_vin_check_digit(match["value"]) and bool(re.search(r"[A-Za-z]", match["value"])),
    ),
    Rule(
        "vehicle_id",
        re.compile(
            r"(?i:licen[cs]e plates?|plates?|tags?)(?i:\s(?:number|no|is|was)\b\.?)?[:#\s]{1,3}"
            r"(?P<value>(?=[A-Z0-9 -]{0,4}\d)[A-Z0-9]{1,4}[ -]?[A-Z0-9]{2,5})(?![A-Za-z0-9])"
        ),
        ("plate", "tag"),
    ),
    Rule(
        "ssn",
        words(
            r"\b(?:SSN|social security)(?:\s?(?:number|no|#))?\.?(?:\s(?:ending|ends|last four)\s?"
            r"(?:in|with|digits)?)?[:#\s]{1,3}(?P<value>(?:[xX*#]{3}-?[xX*#]{2}-?)?\d{4})(?![\d-])"
        ),
        ("ssn", "social sec"),
    ),
    Rule("ssn", re.compile(r"(?<![\w*])(?P<value>[xX*]{3}-[xX*]{2}-\d{4})(?!\d)"), ("xx-", "**-")),
    Rule("password_hash", words(r"(?<![0-9a-z])[0-9a-f]{64}(?![0-9a-z])")),
    # The identifier of a device by GS1 (21 CFR 830): item, and lot, dates and serial number after it.
    Rule("device_id", re.compile(r"\(01\)\s?\d{14}(?:\s?\(\d{2}\)\s?[\w./-]{1,20})*"), ("(01)",)),
    Rule(
        "photograph",
        words(r"(?<![\w/])(?P<value>[\w-]{1,60}\.(?:jpe?g|png|heic|gif|bmp|tiff?|webp))(?!\w)"),
        (".jp", ".png", ".heic", ".gif", ".bmp", ".tif", ".webp"),
    ),
)
#: Codes that only a register has: tried last, they say least of what they are.
#: A number of seven figures is longer than any value of a laboratory; letters before five figures are no diagnosis.
UNLABELLED_CODES: Final = RuleTable(
    "unlabelled codes",
    Rule("tax_id", re.compile(r"(?P<value>[0-9](?<![\w.-].)\d-\d{7})(?![\w-])"), ("-",)),
    Rule("other_code", re.compile(rf"(?P<value>[0-9](?<![\w.,/$-].)\d{{6,18}})(?!\w|[.,/-]\d){_NO_UNIT}")),
    Rule(
        "other_code", re.compile(r"(?P<value>[A-Z](?<![\w./-].)[A-Z]{0,4}-?\d{5,12}(?:-[A-Z0-9]{2,8}){0,3})(?![\w-])")
    ),
    Rule("other_code", re.compile(r"(?P<value>[A-Z](?<![\w./-].)[A-Z]{1,4}-?\d{3,6}-[A-Z0-9]{3,8})(?![\w-])"), ("-",)),
)
