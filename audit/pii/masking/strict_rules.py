"""Rules that a filter of prompts adds to those of the audit: wider, since what cannot be decided is masked.

Years of birth, towns after a preposition, addresses that are spoken, letters that are spelled
out, days by their name; and those of `bare_ages`, `last_digits`
and `small_names`. Knows nothing of masking.
"""

import re
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.bare_ages import BareAges
from clinaudit.audit.pii.masking.last_digits import LastDigits
from clinaudit.audit.pii.masking.small_names import SmallNames
from clinaudit.audit.pii.recognizers.addresses import is_beside_state
from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed
from clinaudit.audit.pii.word_lists.name_words import is_eponym
from clinaudit.audit.pii.word_lists.reading import read_words

_TOWN: Final = r"[A-Z][a-z][\w'’-]{1,25}(?:[ ][A-Z][a-z][\w'’-]{1,25}){0,2}"
_MONTH: Final = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul"
    r"|Aug|Sept?|Oct|Nov|Dec)"
)
_NO_TOWN: Final = frozenset(
    {
        *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
        *("december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "spring", "summer"),
        *("autumn", "winter", "fall"),
    }
)
_STREET: Final = r"(?:Street|Avenue|Road|Lane|Boulevard|Blvd|Terrace|Highway|Parkway)"
_DOMAIN: Final = r"(?:com|org|net|edu|gov|health|uk|ca|de|fr|us|eu|io|co)"
_PROVIDER: Final = r"(?:gmail|googlemail|yahoo|hotmail|outlook|icloud|aol|protonmail|proton|comcast|msn|live|gmx)"


def _is_place(match: "re.Match[str]") -> bool:
    """Whether a capitalized word after a preposition may be a town: no word of notes, eponym, drug or month."""
    parts = match["value"].split()
    return not any(
        is_allowed(part) or part.lower() in _NO_TOWN or part.lower() in read_words("no_names") for part in parts
    )


def _is_code(match: "re.Match[str]") -> bool:
    return sum(map(str.isdigit, match["value"])) >= 4


def _is_given_name(match: "re.Match[str]") -> bool:
    """Whether a word is a given name: the list of them holds no words of the language, places or eponyms."""
    return (
        match[0] in read_words("given_names")
        and not is_allowed(match[0])
        and not is_beside_state(match)
        and not is_eponym(match.string, *match.span())
    )


def _is_loud_name(match: "re.Match[str]") -> bool:
    first, *others = match["value"].split()
    return first.title() in read_words("given_names") and not any(
        word.lower() in read_words("no_names") or is_allowed(word) for word in (first, *others)
    )


_RULES: Final = RuleTable(
    "strict rules",
    (
        Rule(
            "age_over_89",
            words(
                r"\bin\s(?:his|her|their|my)\s(?:(?:early|mid|late)[\s-])?nineties\b"
                r"|\b(?:ninetieth|ninety-(?:first|second|third|fourth|fifth|sixth"
                r"|seventh|eighth|ninth)|hundredth)(?=\sbirthday)"
            ),
            ("nineties", "birthday"),
        ),
        Rule(
            "birth_date",
            words(
                r"(?:\bborn(?:\s(?:in|on|around|about))?(?:\sthe\syear)?|\b(?:dob"
                r"|d\.o\.b\.?|yob|birth\s?(?:year|date)|year of birth"
                r"|date of birth)(?:\s(?:is|was))?\s?[:=]?|\bb\.)\s{1,3}(?P<value>(?:18|19|20)\d{2})(?![\w/-])"
            ),
            ("born", "dob", "d.o.b", "yob", "birth", "b."),
        ),
        Rule(
            "birth_date",
            words(r"\b(?:dob|yob|born)[:=]\s{0,2}(?P<value>(?:18|19|20)\d{2})(?![\w/-])"),
            ("dob", "yob", "born"),
        ),
        # A month is an element of a date.
        Rule(
            "date",
            re.compile(
                rf"(?i:\b(?:in|since|last|this|next|until|by|early|late|mid|during"
                rf"|from|through|of|around|before|after))[ -]"
                rf"(?P<value>{_MONTH})\b(?![-'’]|\.?[ ]?\d)"
            ),
            ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        ),
        Rule(
            "date",
            words(
                r"\b(?:christmas(?:\s(?:eve|day))?|new\syear['’]?s(?:\s(?:eve|day))?|thanksgiving(?:\sday)?|halloween"
                r"|valentine['’]?s\sday|independence\sday|easter(?:\s(?:sunday|monday))?|memorial\sday|labor\sday"
                r"|veterans['’]?\sday|good\sfriday|boxing\sday|mother['’]?s\sday|father['’]?s\sday)\b"
            ),
            ("christmas", "new year", "thanksg", "hallow", " day", "easter", "good fri"),
        ),
        Rule(
            "city",
            re.compile(
                rf"(?<=\w)[ ,][ ]?(?:in|near|from|outside(?:[ ]of)?|around|(?:trip|moved"
                rf"|flew|drove|went|going|travels?|flight)[ ]to)[ ]"
                rf"(?P<value>{_TOWN})"
                r"(?=[.,;)]|[ ](?:and|with|where|when|for|since|who|last|this|at|is|was|has|had|will|lives|called|came"
                r"|on|as|by|because|after|before|to|but|until|during|while|today|yesterday|where)\b|\n|$)"
            ),
            (" in ", " near ", " from ", " outside ", " around ", " to "),
            _is_place,
        ),
        Rule(
            "street_address",
            re.compile(rf"(?<!\w)(?P<value>(?:[A-Z][a-z'’]{{1,20}}[ ]){{1,3}}{_STREET})(?!\w)"),
            ("street", "avenue", "road", "lane", "boulevard", "blvd", "terrace", "highway", "parkway"),
        ),
        Rule(
            "street_address",
            words(
                r"(?<![\w.,/-])\d{1,5}\s(?:[a-z]{2,20}\s){1,3}(?:street|avenue|road|lane|boulevard|terrace|highway)\b"
                r"|\baddr[ :]{1,3}\d{1,5}\s[^\n,;:|]{3,40}?(?=\s{0,2}(?:[\n,;|]|\.\s|\.?$))"
            ),
            ("street", "avenue", "road", "lane", "boulevard", "terrace", "highway", "addr"),
        ),
        Rule(
            "date",
            words(
                r"\b(?:seen|visit(?:ed)?|admitted|discharged|appointment|appt|scheduled|due|lmp|edd|again|last|next|f/u"
                r"|follow[- ]?up|surgery|here|date|dated"
                r"|on|since|until|(?:mon|tues|wednes|thurs|fri|satur|sun)day,?|(?:mon|tues?|wed|thur?s?|fri)[.,]?)"
                r"[\s:]{1,2}(?P<value>(?:0?[1-9]"
                r"|1[0-2])[/-](?:0?[1-9]|[12]\d|3[01]))"
                r"(?![\w/-]|\.\d|\s?(?:mg|mcg|ml|tab|cap|pill|dose|of|strength|%|cup|pack|tsp|grade|murmur))"
            ),
            ("/", "-"),
        ),
        Rule(
            "date",
            re.compile(r"(?<![\w./-])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)?\d{2}(?![\w/-]|\.\d)"),
            (".",),
        ),
        # "Camila" is a pill, too.
        Rule(
            "full_name",
            re.compile(r"(?<![\w-])[A-Z][a-z]{2,}(?!\w|[ ](?:birth control|tablet|pill|\d))"),
            (),
            _is_given_name,
        ),
        Rule(
            "email",
            words(
                rf"(?:[\w+-]+\s){{0,2}}[\w.+-]+(?:\s(?:dot|underscore|dash|hyphen"
                rf"|period)\s[\w+-]+)*\s(?:at|\(at\))\s(?:{_PROVIDER}\b"
                rf"(?:(?:\sdot\s|\.){_DOMAIN}\b)?|[\w-]+(?:\sdot\s[\w-]+)*(?:\sdot\s|\.){_DOMAIN}\b)"
            ),
            (" at ", "(at)"),
        ),
        Rule(
            "email",
            re.compile(r"(?<![\w@])[\w.+-]*[A-Za-z][\w.+-]*[ ]?@[ ]?[A-Za-z][\w-]*[.,][ ]?[A-Za-z]{2,6}\b"),
            ("@",),
        ),
        Rule("full_name", re.compile(r"(?<![\w.-])[A-Za-z](?:[-.·*_~/|+][A-Za-z]){4,}(?![\w-])")),
        Rule("full_name", re.compile(r"(?<![\w.-])[A-Z](?:,?[ ][A-Z]){4,}(?![\w-])")),
        Rule(
            "ssn",
            words(
                r"(?<!\w)(?:ssn|ss\s?#|social(?:\ssecurity)?(?:\s(?:number|no\.?|num))?)(?:\s(?:is|was))?[\s:#=.]{1,4}"
                r"(?P<value>[0-9a-z]{3}[-. /_]?[0-9a-z]{2}[-. /_]?[0-9a-z]{4})(?!\w)"
            ),
            ("ssn", "ss#", "ss #", "social"),
            _is_code,
        ),
        # Whatever is numbered, by a number too long to count something.
        Rule(
            "other_code",
            words(
                r"(?:\b(?<!cpt )(?<!hcpcs )(?<!ndc )(?:id|no|nr|num|number|ref|reference|claim|case|docket|ticket"
                r"|invoice|run|card|file|acct|account|tube|sample|sn|serial|tag)\b\.?\s?[:#]?|#)\s?"
                r"(?P<value>(?=(?:[a-z-]{0,8}\d){5})[a-z]{0,4}-?\d[\da-z]*(?:-[\da-z]+){0,4})"
                r"(?![\w.,/]*\d|\s?(?:mg|ml|%))"
            ),
        ),
        # The numbers of a laboratory, and of a plan: "S23-004512", "W2281 09934".
        Rule("other_code", re.compile(r"(?<![\w./-])[A-Z]{1,3}\d{2}-\d{4,8}(?![\w-])"), ("-",)),
        Rule("other_code", re.compile(r"(?<![\w./-])[A-Z]{1,3}\d{3,6}[ ]\d{4,6}(?![\w./-])")),
        Rule(
            "social_handle",
            words(
                r"\b(?:user\s?name|login|screen\s?name|handle|user)(?:\s(?:is|as))?[\s:=]{1,3}"
                r"(?P<value>[a-z][\w.-]{0,30}[\d_][\w.-]{0,20})(?!\w)"
            ),
            ("user", "login", "screen", "handle"),
        ),
        Rule("social_handle", words(r"(?<![\w/])(?<!\d )u/(?=\w*[_\d]|\w{7})[\w-]{3,20}"), ("u/",)),
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
        Rule(
            "full_name",
            re.compile(r"(?<![\w-])(?P<value>[A-Z]{3,20}(?:[ ][A-Z]\.?)?[ ][A-Z][A-Z'’-]{2,20})(?![\w-])"),
            (),
            _is_loud_name,
        ),
    ),
)

_FINDERS: Final = (_RULES, BareAges(), LastDigits(), SmallNames())


class StrictRules:
    """Finds what the wider rules of a filter do."""

    name = "strict rules"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        source = Source.of(text)
        return sorted({span for finder in _FINDERS for span in finder.find(source)})
