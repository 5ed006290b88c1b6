"""What stands beside a name and tells it: the patterns of `person_names`.

Owns the shapes of names and the words beside them. Knows nothing of which words are none.
"""

import re
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.pii.word_lists.reading import read_words

PARTICLE: Final = r"(?:de|del|della|der|den|dos|das|da|di|du|la|le|van|von|ter|ten|bin|binti|ibn|al|el|abu|y|e|st\.)"
_LETTER = r"[^\W\d_]"
#: A word of a name: an initial, or a word that may hold apostrophes and hyphens.
NAME_WORD: Final = rf"(?:{_LETTER}\.(?:{_LETTER}\.)*|{_LETTER}(?:{_LETTER}|['’‘ʼ-](?={_LETTER})){{0,24}})"
_GAP = r"[ \t\u00a0]{1,2}"
#: Capital letters, and some small ones of rare alphabets between them: a set of characters is searched fast.
_CAPITAL = r"[A-ZÀ-ÖØ-Þ\u0100-\u024f\u0370-\u03ff\u0400-\u042f\u1e00-\u1eff]"
_REST = rf"(?:\.(?:{_LETTER}\.)*|(?:{_LETTER}|['’‘ʼ-](?={_LETTER})){{0,24}})"
CAPITAL_WORD: Final = rf"{_CAPITAL}{_REST}"
#: The same at the start of a pattern: no word goes on into it.
_FIRST_WORD = rf"{_CAPITAL}(?<![\w'’-].){_REST}"
_MORE_WORDS = rf"(?:{_GAP}(?:{PARTICLE}{_GAP}){{0,2}}{CAPITAL_WORD})"
#: "Anna de la Cruz", "J. R. Smith".
_SPEECH_ORDER = rf"{CAPITAL_WORD}{_MORE_WORDS}{{0,3}}"
_TWO_WORDS = rf"{_FIRST_WORD}{_MORE_WORDS}{{1,3}}"
#: "De La Cruz, Anna M.": or several words in the order of speech.
_EITHER_ORDER = rf"{_FIRST_WORD}(?:{_MORE_WORDS}?,[ ]?{CAPITAL_WORD}(?:{_GAP}{CAPITAL_WORD})?|{_MORE_WORDS}{{1,3}})"
#: In the place of a label, where a note may be written in one case throughout.
_ANY_CASE = rf"{NAME_WORD}(?:,?{_GAP}{NAME_WORD}){{0,4}}"
DEGREE: Final = (
    r"(?:M\.?D|D\.?O|R\.?N|N\.?P|P\.?A(?:-?C)?|Ph\.?D|LPN|LVN|CNA|APRN|ARNP|FNP(?:-?[CB]C?)?|DNP"
    r"|CNM|CRNA|MBBS|PharmD|RPh|LCSW"
    r"|DDS|DMD|DPM|PsyD|DPT|PT|OTR|MSW|FACP|FACS)\b\.?"
)
_RELATIVE = (
    r"(?:wife|husband|spouse|partner|mother|father|mom|mum|dad|parents?|sister|brother|sons?"
    r"|daughters?|aunt|uncle|cousin"
    r"|grand(?:mother|father|son|daughter|ma|pa)|niece|nephew|guardian|caregiver|carer|neighbou?r"
    r"|friend|roommate|fianc[ée]e?"
    r"|girlfriend|boyfriend|(?:step|foster )(?:mother|father|son|daughter)|(?:mother|father|sister"
    r"|brother|son|daughter)-in-law"
    r"|next of kin|emergency contact|health care proxy|power of attorney|twin)"
)
_CLINICIAN_LABEL = (
    r"(?:providers?|physician|attending|surgeon|doctor|clinician|pcp|nurse(?: practitioner)?"
    r"|consultant|resident|fellow|author"
    r"|dictated by|(?:electronically |digitally |e-?)?signed(?: by)?|reviewed by|transcribed by"
    r"|seen by|authenticated by"
    r"|verified by|co-?signed(?: by)?|entered by|performed by|read by|ordered by|referred by"
    r"|anesthesiologist|radiologist"
    r"|pathologist|pharmacist|therapist|interpreted by|cardiologist|oncologist|case manager|social worker|referring"
    r"|ordering|scribe|midwife|dietitian)"
)
_PATIENT_LABEL = (
    r"(?:(?:patient|pt|client|subject|legal|full|preferred|maiden|first|last|middle|given|family"
    r"|resident|member|guarantor)(?:'s)?"
    r"[ _]?name|surname|name(?: of patient)?|patient|pt|client)"
)
_KIN_LABEL = (
    r"(?:next of kin|nok|emergency contact|spouse|guardian|health care proxy|power of attorney"
    r"|contact person)(?: name)?"
)


#: A value ends with its line or cell, or where a label or a number begins; speech goes on after its speaker's name.
_VALUE_ENDS = (
    r"(?=[ \t]*(?:$|[\n\r|(;\t/]|[-–—,][ ]|,$|\.(?:\s|$)|\d)|[ \t]{2}|[ ][A-Za-z]+:|[ ](?i:dob"
    r"|d\.o\.b|mrn|born|age|is|was"
    r"|who|has|had|presents|presented|reports|denies|came|seen|on|at|and|with|m\.?d|d\.?o|r\.?n|n\.?p|p\.?a)\b)"
)


def _labelled(label: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/])(?i:{label})[ \t]{{0,3}}[:=][ \t]{{0,4}}(?P<value>{_ANY_CASE}){_VALUE_ENDS}")


#: At the start of a sentence; "A." and "I." there number a list.
_SUBJECT = rf"(?![AI]\.\s){_CAPITAL}(?:(?<![^\n].)|(?<=[.!?\n][ ].)|(?<=[.!?][ ][ ].)){_REST}{_MORE_WORDS}{{1,3}}"
_CLINICIAN_TRIGGERS: Final = (
    *("provider", "physician", "attending", "surgeon", "doctor", "clinician", "pcp", "nurse", "consultant", "resident"),
    *("fellow", "author", " by", "signed", "ologist", "pharmacist", "therapist", "manager", "worker", "referring"),
    *("ordering", "scribe", "midwife", "dietitian"),
)
_RELATIVE_TRIGGERS: Final = (
    *("wife", "husband", "spouse", "partner", "mother", "father", "mom", "mum", "dad", "parent", "sister", "brother"),
    *("son", "daughter", "aunt", "uncle", "cousin", "grand", "niece", "nephew", "guardian", "caregiver", "carer"),
    *("neighb", "friend", "roommate", "fianc", "kin", "contact", "twin", "proxy", "attorney"),
)


@dataclass(frozen=True, slots=True)
class NamePattern:
    """One way of telling a name: it stands in the group `value`, up to the first word that is none."""

    category: str
    regex: re.Pattern[str]
    #: Texts in lower case without which the pattern matches nothing.
    triggers: tuple[str, ...] = ()
    #: Whether a word that is an eponym may be the name: "Dr. Foley" is a person, "by Doppler" names nobody.
    is_sure: bool = False
    #: How many words must be left of it: of a shape of several words, one is no name.
    fewest_words: int = 1


def _after_given_name() -> re.Pattern[str]:
    given = "|".join(sorted(read_words("given_names")))
    return re.compile(
        rf"(?P<value>[A-Z](?<![\w'’-].)(?<=(?=(?:{given})(?!\w)).)(?:{_LETTER}|-)*{_MORE_WORDS}{{1,2}})(?!\w)"
    )


NAME_PATTERNS: Final = (
    NamePattern("patient_name", _labelled(_PATIENT_LABEL), ("name", "patient", "pt", "client"), is_sure=True),
    NamePattern("clinician_name", _labelled(_CLINICIAN_LABEL), _CLINICIAN_TRIGGERS, is_sure=True),
    NamePattern(
        "relative_name",
        _labelled(_KIN_LABEL),
        ("kin", "nok", "contact", "spouse", "guardian", "proxy", "attorney"),
        is_sure=True,
    ),
    NamePattern(
        "clinician_name",
        re.compile(rf"(?<![\w/])(?i:{_CLINICIAN_LABEL}|by)[ \t]{{1,3}}(?P<value>{_EITHER_ORDER})"),
        (
            "by",
            "sign",
            "provider",
            "physician",
            "attending",
            "surgeon",
            "doctor",
            "nurse",
            "pcp",
            "therapist",
            "ologist",
        ),
        fewest_words=2,
    ),
    NamePattern(
        "clinician_name",
        re.compile(
            rf"(?<!\w)(?:(?:Dr|DR|dr|Drs|Prof)\.?|Doctor|doctor|Professor|Nurse)[ \t]{{1,2}}(?P<value>{_SPEECH_ORDER})"
        ),
        ("dr", "doctor", "prof", "nurse"),
        is_sure=True,
    ),
    NamePattern(
        "clinician_name",
        re.compile(rf"(?<!\w)(?i:dr)\.?[ \t](?P<value>{_LETTER}{{3,}}(?:-{_LETTER}+)?)(?=[ ,.;:\n)]|$)"),
        ("dr",),
        is_sure=True,
    ),
    NamePattern("clinician_name", re.compile(rf"(?P<value>{_EITHER_ORDER}),?[ ]{DEGREE}"), fewest_words=2),
    NamePattern(
        "full_name",
        re.compile(rf"(?<!\w)(?i:mr|mrs|ms|miss|mx)\.?[ \t]{{1,2}}(?P<value>{_SPEECH_ORDER})"),
        ("mr", "ms", "miss", "mx"),
        is_sure=True,
    ),
    NamePattern(
        "full_name",
        re.compile(rf"(?<!\w)(?:mr|mrs|ms)\.[ \t](?P<value>{_LETTER}{{3,}}(?:['’-]{_LETTER}{{2,}})*)"),
        ("mr.", "mrs.", "ms."),
        is_sure=True,
    ),
    NamePattern(
        "relative_name",
        re.compile(
            rf"(?<!\w)(?i:{_RELATIVE})(?:'s name is|,? (?:is )?(?:named|called)|,| is)?[ ]?[ (]"
            rf"(?P<value>{_SPEECH_ORDER})"
        ),
        _RELATIVE_TRIGGERS,
    ),
    NamePattern(
        "patient_name",
        re.compile(
            rf"(?P<value>{_TWO_WORDS}),?(?: is| was)?(?: an?)?,?[ ](?:\w+[ ])?"
            r"(?:\d{1,3}|[a-z]+(?:-[a-z]+)?)[ -](?:year|yr|month|y\.?o|y/o)"
        ),
        ("year", "yr", "month", "yo", "y.o", "y/o"),
        fewest_words=2,
    ),
    NamePattern(
        "patient_name",
        re.compile(
            rf"(?P<value>{_EITHER_ORDER})[ ]?[,(;|]?[ ]?(?i:dob|d\.o\.b|born|mrn"
            rf"|date of birth|age[d:]|ssn|medical record)"
        ),
        ("dob", "d.o.b", "born", "mrn", "date of birth", "age", "ssn", "medical record"),
        fewest_words=2,
    ),
    # A column of its own in a banner: "Miller, Nicole A.   MRN: 1".
    NamePattern(
        "patient_name",
        re.compile(
            rf"(?:(?<=[ \t]{{2}})|(?<![^\n])|(?<=\|[ ]))(?P<value>{_FIRST_WORD}{_MORE_WORDS}?,[ ]?{CAPITAL_WORD}"
            rf"(?:{_GAP}{CAPITAL_WORD})?)[ \t]*\|?[ \t]*(?i:mrn|dob|d\.o\.b|date of birth)\b"
        ),
        ("mrn", "dob", "d.o.b", "date of birth"),
        is_sure=True,
        fewest_words=2,
    ),
    NamePattern(
        "patient_name",
        re.compile(rf"(?<!\w)(?:[Pp]atient|[Pp]t\.?|[Cc]lient|[Rr]esident),?[ ](?:named[ ])?(?P<value>{_TWO_WORDS})"),
        ("patient", "pt", "client", "resident"),
        fewest_words=2,
    ),
    NamePattern(
        "full_name",
        re.compile(
            rf"(?i:\bmy name is|\bname is|\bnamed|\bcalled|\bi am|\bi'm|\bthis is|\bdear|\bhi"
            rf"|\bhello|\bregards,|\bsincerely,)\s{{1,2}}(?P<value>{_SPEECH_ORDER})"
        ),
        ("name", "called", "i am", "i'm", "this is", "dear", " hi", "hello", "regards", "sincerely"),
    ),
    NamePattern(
        "full_name",
        re.compile(
            rf"(?P<value>{_SUBJECT})[ ](?:is|was|has|had|presents|presented"
            rf"|returns|returned|reports|reported"
            r"|denies|denied|states|stated|comes|came|underwent|arrived|lives|works|called|says|said|notes|endorses)\b"
        ),
        fewest_words=2,
    ),
    NamePattern(
        "patient_name",
        re.compile(
            r"(?i:\b(?:patient|pt|client)(?:'s)? initials|\binitials)[ \t]{0,2}[:=]?[ \t]{0,2}"
            r"(?P<value>(?:[A-Z]\.?){2,4})(?!\w)"
        ),
        ("initials",),
        is_sure=True,
    ),
    NamePattern(
        "nickname",
        re.compile(
            rf"(?i:\bnickname(?:d| is)?|\bgoes by|\ba\.?k\.?a\.?|\bprefers to be called|\bknown"
            rf" as)[ :]{{1,2}}[\"“']?(?P<value>{CAPITAL_WORD})"
        ),
        ("nickname", "goes by", "aka", "a.k.a", "prefers", "known as"),
    ),
    # A common first name before another word written as a name.
    NamePattern("full_name", _after_given_name(), fewest_words=2),
)
