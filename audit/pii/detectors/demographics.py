"""Who a person is: gender, work, nationality, religion, schooling, measures of the body, and amounts of money.

They are quasi-identifiers. Each list holds the common words of English alone: what is not listed is left to models.
"""

import re
from typing import Final

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, words
from clinaudit.audit.pii.detectors.word_lists import read_lines, read_words

#: The longer ones first: a pattern takes the first that fits.
_OCCUPATION: Final = "|".join(sorted(read_lines("occupations"), key=lambda entry: (-len(entry), entry))).replace(
    " ", r"\s"
)
_NATION: Final = "|".join(sorted(read_words("nationalities")))


def _is_tall(match: re.Match[str]) -> bool:
    """Whether a length in centimetres is a person's: from 140 on, or named as one; wounds and tumours are shorter."""
    return float(re.split(r"\s?cm", match[0], flags=re.IGNORECASE)[0]) >= 140 or match.string[match.end() :].startswith(
        " tall"
    )


_MONEY: Final = (
    r"(?P<value>(?:USD|EUR|GBP)\s?\d[\d,]*(?:\.\d{1,2})?|(?:US)?[$€£]\s?\d{1,3}(?:,\d{3})+"
    r"(?:\.\d{1,2})?|(?:US)?[$€£]\s?\d+(?:\.\d{1,2})?\s?(?:k|million|m)?\b"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d{2})?(?:\s(?:dollars|USD))?|\d{3,9}(?:\.\d{2})?(?:\s(?:dollars|USD))?\b)"
)
_PERCENT: Final = r"(?P<value>\d{1,3}(?:\.\d{1,2})?\s?(?:%|percent))"
#: What may stand between the words and the amount, in one sentence.
_BETWEEN: Final = r"[^.\n$€£\d%]{0,40}?"
#: Category, the words before the amount, and texts of which one must stand in the text.
_MONEY_LABELS: Final = (
    ("annual_bonus", r"(?:annual |year-?end |yearly )?bonus(?:es)?", ("bonus",)),
    (
        "social_security_payment",
        r"social security (?:payments?|benefits?|contributions?|income|deductions?)|SSDI|SSI\b",
        ("social sec", "ssdi", "ssi"),
    ),
    (
        "tax_payment",
        r"(?:income |property |annual |monthly )?tax(?:es)?(?: payments?| paid| bill| due| liability)?(?! id)",
        ("tax",),
    ),
    (
        "credit_limit",
        r"credit(?: card)? limits?|limit (?:on|of) (?:my|his|her|the|their)? ?(?:credit )?card",
        ("limit",),
    ),
    (
        "loan_amount",
        r"(?:student |home |car |personal |auto )?loans?(?: amount| balance)?|mortgage|owes?"
        r"|debts? of|borrow(?:ed|ing)?",
        ("loan", "mortgage", "owe", "debt", "borrow"),
    ),
    (
        "account_balance",
        r"(?:account |bank |savings |checking |current )?balance|(?:in|has) (?:his |her |my |their )?savings|savings",
        ("balance", "saving"),
    ),
    (
        "monthly_expenses",
        r"(?:monthly |living |household |total )?(?:expenses|expenditures?|spending|costs of living|rent)|spends?",
        ("expens", "expend", "spend", "rent", "costs of"),
    ),
    (
        "monthly_income",
        r"(?:monthly |net |gross |household |take-home )?(?:income|salary|earnings|wages?|pay"
        r"|paycheck)|earns?|earning|makes?",
        ("income", "salary", "earn", "wage", "pay", "make"),
    ),
    (
        "investment_return",
        r"(?:investment|portfolio|dividend|stock)s? (?:returns?|gains?|profits?|income)"
        r"|returns? (?:on|from) (?:his |her |my |the |their )?(?:investments?|portfolio|stocks?)",
        ("return", "gain", "profit", "dividend", "portfolio"),
    ),
)
_PERCENT_LABELS: Final = (
    ("debt_ratio", r"debt(?:[- ]to[- ](?:income|asset|equity))? ratio|DTI|leverage ratio", ("debt", "dti", "leverage")),
    (
        "investment_return",
        r"(?:investment|portfolio|annual) (?:returns?|gains?|yield)|yield|returned",
        ("return", "gain", "yield"),
    ),
    ("roi", r"ROI|returns? on investments?", ("roi", "return on", "returns on")),
)


AMOUNTS: Final = RuleTable(
    "amounts",
    *(
        Rule(category, words(rf"\b(?:{label})\b{_BETWEEN}{amount}"), triggers)
        for labels, amount in ((_MONEY_LABELS, _MONEY), (_PERCENT_LABELS, _PERCENT))
        for category, label, triggers in labels
    ),
    Rule(
        "credit_score",
        words(r"\b(?:credit|FICO)\s(?:score|rating)\b[^.\n\d]{0,30}?(?P<value>[3-8]\d{2})(?!\d)"),
        ("credit", "fico"),
    ),
    Rule("monthly_income", words(rf"{_MONEY}(?=\s(?:a|per|each|every)\smonth|\smonthly)"), ("month",)),
)


DEMOGRAPHICS: Final = RuleTable(
    "demographics",
    Rule(
        "gender",
        words(
            r"\b(?:females?|males?|woman|man|women|men|girl|boy|gentleman|lady|transgender(?: "
            r"(?:wo)?man)?|non-?binary|genderqueer|cisgender)\b"
        ),
        ("male", "man", "men", "girl", "boy", "lady", "transgender", "binary", "gender"),
    ),
    Rule("gender", re.compile(r"\b(?i:sex|gender)\s?[:=]\s{0,3}(?P<value>[MFX])\b"), ("sex", "gender")),
    Rule(
        "sexual_orientation",
        words(r"\b(?:homosexual|heterosexual|bisexual|lesbian|gay|asexual|pansexual|queer)\b"),
        ("sexual", "lesbian", "gay", "queer"),
    ),
    Rule(
        "occupation",
        words(
            r"\b(?:(?:occupation|profession|job title|employment)[ \t]{0,2}(?:[:=][ \t]{0,3}|is (?:an? )?)"
            r"|work(?:s|ed|ing) as (?:an? )?|employed as (?:an? )?)(?P<value>[a-z][a-z/'-]+(?: [a-z/'-]+){0,3}?)"
            r"(?=[ \t]?(?:[.,;:\n()]|$|\b(?:at|for|in|with|and|who|from|since|on|of)\b))"
        ),
        ("occupation", "profession", "job title", "employment", " as "),
    ),
    Rule(
        "occupation",
        words(
            rf"\b(?:an?|retired|former|the|my|his|her|own)\s(?P<value>(?:(?:senior|junior|chief"
            rf"|lead|assistant|freelance)\s)?(?:{_OCCUPATION}))\b"
        ),
    ),
    Rule(
        "nationality",
        re.compile(rf"(?i:\b(?:nationality|citizen(?:ship)?(?: of)?|national)\s?[:=]?\s{{0,3}})(?P<value>{_NATION})\b"),
        ("nationality", "citizen", "national"),
    ),
    Rule(
        "nationality",
        re.compile(
            rf"(?<!\w)(?P<value>{_NATION})(?=[ ](?:citizen|national|immigrant|passport|man|woman"
            rf"|male|female|descent|origin|nationality))\b"
        ),
        ("citizen", "national", "immigrant", "passport", "man", "male", "descent", "origin"),
    ),
    Rule(
        "ethnicity",
        words(
            r"\b(?:hispanic|latin[oax]|non-hispanic|ashkenazi(?: jewish)?|arab|kurdish|roma|han"
            r" chinese|zulu|yoruba|bengali|punjabi|tamil)\b"
        ),
        (
            *("hispanic", "latin", "ashkenazi", "arab", "kurd", "roma", "han ch", "zulu", "yoruba"),
            *("bengali", "punjabi", "tamil"),
        ),
    ),
    Rule(
        "race",
        words(
            r"\b(?:african[- ]american|caucasian|asian(?:[- ]american)?|native american|alaska"
            r" native|pacific islander|native hawaiian|(?<=race: )(?:white|black|asian|other)"
            r"|(?:white|black)(?=\s(?:male|female|man|woman)))\b"
        ),
        ("african", "caucasian", "asian", "native", "pacific", "race", "white", "black"),
    ),
    Rule(
        "religion",
        words(
            r"\b(?:christian|catholic|protestant|baptist|methodist|lutheran|presbyterian"
            r"|episcopalian|evangelical|mormon|jehovah'?s witness(?:es)?|jewish|judaism|muslim"
            r"|islam(?:ic)?|hindu(?:ism)?|buddhis[tm]|sikh(?:ism)?|taois[tm]|atheis[tm]|agnostic"
            r"|quaker|orthodox christian|christianity|catholicism)\b"
        ),
        (
            *("christian", "cathol", "protest", "baptist", "methodist", "luther", "presbyt"),
            *("episcop", "evangel", "mormon", "jehovah", "jew", "judaism", "muslim", "islam"),
            *("hindu", "buddh", "sikh", "taois", "athei", "agnostic", "quaker"),
        ),
    ),
    Rule(
        "politics",
        words(
            r"\b(?:democrat(?:ic party)?|republican(?: party)?|libertarian|conservative party"
            r"|labour party|green party|socialist|communist|(?:liberal|conservative|progressive)"
            r"(?= (?:voter|views|politic)))\b"
        ),
        (
            *("democrat", "republican", "libertarian", "party", "socialist", "communist"),
            *("liberal", "conservative", "progressive"),
        ),
    ),
    Rule(
        "degree",
        words(
            r"\b(?:bachelor|master|doctor|associate)(?:['’]?s)?(?: degree(?: in [a-z]+(?:"
            r" [a-z]+)?)?| of [a-z]+(?: in [a-z]+)?"
            r"| in [a-z]+)|\b(?:bachelor|master|associate)['’]s\b|\b(?:Ph\.?D|MBA|B\.?Sc"
            r"|M\.?Sc)\b\.?(?= in| from| degree)"
        ),
        ("bachelor", "master", "doctor", "associate", "ph", "mba", "sc"),
    ),
    Rule(
        "education_level",
        words(
            r"\b(?:high school (?:diploma|graduate|education)|college (?:graduate|education"
            r"|degree)|some college|undergraduate|postgraduate|graduate degree|doctorate|GED"
            r"|elementary education|vocational (?:training|school))\b"
        ),
        ("school", "college", "graduate", "doctorate", "ged", "education", "vocational"),
    ),
)
BODY_MEASURES: Final = RuleTable(
    "body measures",
    Rule(
        "height",
        re.compile(r"(?<![\w.'])(?P<value>[3-7]\s?['’′]\s?(?:1[01]|[0-9])(?:\.\d)?\s?(?:\"|”|″|''|’’)?)(?!\w)"),
        ("'", "’", "′"),
    ),
    Rule(
        "height",
        words(
            r"(?<![\w.])[3-7]\s?(?:ft|feet|foot)\.?,?\s?(?:(?:1[01]|[0-9])(?:\s?(?:in|inch|inches)\b\.?"
            r"|(?![\w/%]|[.,]\d|\s?(?:times|x|reps|days|steps|falls|cm|mm)\b)))?"
        ),
        ("ft", "feet", "foot"),
    ),
    Rule(
        "height",
        words(r"(?<![\w.])(?:[5-9]\d|1\d\d|2[0-4]\d)(?:\.\d)?\s?cm\b(?=[ ]tall|[.,;)]?(?:\s|$))"),
        ("cm",),
        _is_tall,
    ),
    Rule(
        "height",
        words(r"\b(?:height|ht|tall)\b\s?[:=]?\s?(?:is|of)?\s?(?P<value>\d{1,3}(?:\.\d{1,2})?\s?(?:cm|m|in|inches)\b)"),
        ("height", "ht", "tall"),
    ),
    Rule(
        "weight",
        words(r"(?<![\w.])(?P<value>\d{2,3}(?:\.\d{1,2})?\s?(?:kgs?|kilograms?|lbs?|pounds))\b(?!\s?/)"),
        ("kg", "kilogram", "lb", "pound"),
    ),
    Rule(
        "blood_type",
        words(
            r"\bblood\s?(?:type|group)\s?(?:is|of|:)?\s{0,2}(?P<value>(?:AB|[ABO])(?:\s?(?:[+-]"
            r"|rh\s?)?\s?(?:positive|negative|pos\b|neg\b|[+-])?))"
        ),
        ("blood",),
    ),
    Rule(
        "blood_type",
        re.compile(r"(?<![\w+/-])(?P<value>(?:AB|[ABO])[+-])(?=\s(?i:blood|type|donor))"),
        ("blood", "type", "donor"),
    ),
    Rule(
        "blood_type", re.compile(r"(?<![\w+/-])(?P<value>(?:AB|[ABO]) (?:Rh[ -]?)(?:positive|negative))(?!\w)"), ("rh",)
    ),
)
