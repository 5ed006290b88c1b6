"""Who a person is: gender, work, nationality, ethnicity, religion, politics and schooling, by lists of words.

They are quasi-identifiers. Each list holds the common words of English alone: what is not listed is left to models.
"""

import re
from typing import Final

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words
from clinaudit.audit.pii.word_lists.reading import read_lines, read_words

#: The longer ones first: a pattern takes the first that fits.
_OCCUPATION: Final = "|".join(sorted(read_lines("occupations"), key=lambda entry: (-len(entry), entry))).replace(
    " ", r"\s"
)
_NATION: Final = "|".join(sorted(read_words("nationalities")))


def demographics() -> RuleTable:
    """Return the recognizer of words that say who a person is."""
    return RuleTable(
        "demographics",
        (
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
                    r"|work(?:s|ed|ing) as (?:an? )?|employed as (?:an? )?)"
                    r"(?P<value>[a-z][a-z/'-]+(?: [a-z/'-]+){0,3}?)"
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
                re.compile(
                    rf"(?i:\b(?:nationality|citizen(?:ship)?(?: of)?|national)\s?[:=]?\s{{0,3}})(?P<value>{_NATION})\b"
                ),
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
        ),
    )
