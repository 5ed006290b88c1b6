"""Names of people, by what stands beside them: a label, a title, a degree, a relative, a way of speaking.

A name that was found so is then found at its other places in the same text, whole and by its last name. A name with
nothing beside it is left to the site's own list of names, and to models.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.pii.detectors.rule import Source
from clinaudit.audit.pii.detectors.word_lists import is_allowed, read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.values.normal_form import name_parts
from clinaudit.audit.pii.values.value_scan import places_of

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
    r"|CNM|CRNA|MBBS|PharmD|RPh|LCSW|DDS|DMD|DPM|PsyD|DPT|PT|OTR|MSW|FACP|FACS)\b\.?"
)
_RELATIVE = (
    r"(?:wife|husband|spouse|partner|mother|father|mom|mum|dad|parents?|sister|brother|sons?"
    r"|daughters?|aunt|uncle|cousin"
    r"|grand(?:mother|father|son|daughter|ma|pa)|niece|nephew|guardian|caregiver|carer|neighbou?r"
    r"|friend|roommate|fianc[ée]e?"
    r"|girlfriend|boyfriend|(?:step|foster )(?:mother|father|son|daughter)|(?:mother|father|sister"
    r"|brother|son|daughter)-in-law|next of kin|emergency contact|health care proxy|power of attorney|twin)"
)
_CLINICIAN_LABEL = (
    r"(?:providers?|physician|attending|surgeon|doctor|clinician|pcp|nurse(?: practitioner)?"
    r"|consultant|resident|fellow|author"
    r"|dictated by|(?:electronically |digitally |e-?)?signed(?: by)?|reviewed by|transcribed by"
    r"|seen by|authenticated by|verified by|co-?signed(?: by)?|entered by|performed by|read by|ordered by|referred by"
    r"|anesthesiologist|radiologist"
    r"|pathologist|pharmacist|therapist|interpreted by|cardiologist|oncologist|case manager|social worker|referring"
    r"|ordering|scribe|midwife|dietitian)"
)
_PATIENT_LABEL = (
    r"(?:(?:patient|pt|client|subject|legal|full|preferred|maiden|first|last|middle|given|family"
    r"|resident|member|guarantor)(?:'s)?[ _]?name|surname|name(?: of patient)?|patient|pt|client)"
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
            *("by", "sign", "provider", "physician", "attending", "surgeon", "doctor", "nurse", "pcp", "therapist"),
            *("ologist",),
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
            rf"(?P<value>{_SUBJECT})[ ](?:is|was|has|had|presents|presented|returns|returned|reports|reported"
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


#: Words at which a name ends or that are none: of notes' labels, of forms and of the language.
_NO_NAME: Final = read_words("no_names")
#: Those of them that are first or last names as well.
_NAMES_TOO: Final = frozenset(
    {"per", "may", "will", "april", "june", "august", "an", "long", "rice", "colon", "ward", "gerd", "man", "english"}
)
#: Words that are first or last names and words of the language: no name by themselves in a text in lower case.
_FEWEST_LETTERS_ALONE: Final = 4
#: A word written as a name, and perhaps an initial, before a last name; not the first word of a sentence.
_FIRST_NAME = re.compile(rf"(?<=[^\s.!?:\n])[ ](?P<first>{CAPITAL_WORD})(?:[ ]{CAPITAL_WORD})?[ ]$")
_FIRST_NAME_CHARS: Final = 40
_GENITIVE = re.compile(r"(?<=\w\w)['’]s$")
_TOKEN = re.compile(NAME_WORD)
#: Letters that are words as well: "A. Lund" and "Ada A. Lund" are names, "A holter" is none.
_INITIAL = re.compile(r"[AaIi]\.|[AI]")
#: What a name does not end with: a particle, or a letter that goes on as a word ("Ada Lund I saw").
_NO_END = re.compile(rf"(?i:{PARTICLE})|[AI]")


class NameRecognizer:
    """Finds names of patients, relatives, clinicians and others."""

    name = "names"
    categories = frozenset({"full_name", "patient_name", "clinician_name", "relative_name", "nickname"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the names that stand beside something, then their other places."""
        known: dict[str, str] = {}
        found: list[EntitySpan] = []
        for pattern in NAME_PATTERNS:
            for match in source.matches(pattern.regex, pattern.triggers):
                place = _cut(source.text, match, pattern)
                if place is not None:
                    known.setdefault(source.text[slice(*place)], pattern.category)
                    found.append(EntitySpan(*place, pattern.category, self.name))
        # "Ms. Lund" is the patient where "Ada Lund" is: the first longer name that ends so.
        of_last: dict[str, str] = {}
        for written, category in known.items():
            if " " in written:
                of_last.setdefault(written.rpartition(" ")[2], category)
        for span in found:
            written = source.text[span.start : span.end]
            yield EntitySpan(span.start, span.end, of_last.get(written, known[written]), self.name)
        yield from self._elsewhere(source.text, known)

    def _elsewhere(self, text: str, known: dict[str, str]) -> Iterator[EntitySpan]:
        """Yield the other places of names that were found, whole and by their longer parts."""
        wanted: dict[str, str] = {}
        for written, category in known.items():
            if not is_allowed(written):
                wanted.setdefault(written, category)
            words = _TOKEN.findall(written)
            if len(name_parts(written)) < 2:
                continue
            for word in words:
                alone = len(word) >= _FEWEST_LETTERS_ALONE and not is_allowed(word) and word.lower() not in _NO_NAME
                if alone and word[0].isupper():
                    wanted.setdefault(word, category)
        for written, start in places_of(wanted, text):
            if _is_whole(text, start, start + len(written)):
                yield EntitySpan(_with_first_name(text, start), start + len(written), wanted[written], self.name)


def _is_no_name(word: str, *, is_first: bool, may_be_small: bool = False) -> bool:
    """Whether a word ends a name; "May" and "Per" are names where they are written as one, or stand after a label."""
    if _INITIAL.fullmatch(word) and (word.endswith(".") or not is_first):
        return False
    plain = word.lower().rstrip(".")
    if plain in _NAMES_TOO and (may_be_small or word.istitle()):
        return False
    return plain in _NO_NAME


def _is_degree(text: str, kept: list[re.Match[str]]) -> bool:
    """Whether the last of some words is a clinician's degree: "Ross, PA-C" is no last name with a first."""
    last = kept[-1]
    return len(kept) > 2 and text[: last.start()].rstrip().endswith(",") and bool(re.fullmatch(DEGREE, last[0]))


def _with_first_name(text: str, start: int) -> int:
    """Return where a last name begins with the first name or initials before it, if such stand there."""
    before = _FIRST_NAME.search(text, max(0, start - _FIRST_NAME_CHARS), start)
    if before is None or _is_no_name(before["first"], is_first=True) or is_allowed(before["first"]):
        return start
    return before.start("first")


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on before or after a stretch; a genitive does not count."""
    before, after = text[start - 1 : start], text[end : end + 3]
    if before.isalnum() or before in tuple("_-'’") or after[:1].isalnum() or after[:1] in tuple("_-"):
        return False
    return after[:1] not in tuple("'’") or not after[1:2].isalpha() or (after[1:2] == "s" and not after[2:].isalpha())


def _cut(text: str, match: re.Match[str], pattern: NamePattern) -> tuple[int, int] | None:
    """Return the part of a stretch that is a name: up to the first word that is none; None where nothing is left."""
    kept: list[re.Match[str]] = []
    for word in _TOKEN.finditer(text, *match.span("value")):
        is_no_name = _is_no_name(word[0], is_first=not kept, may_be_small=pattern.is_sure and not kept)
        if is_no_name or text[word.end() : word.end() + 1] == ":":
            break
        kept.append(word)
        if _GENITIVE.search(word[0]):
            # "Lund's LDL": what somebody has is none of their name.
            break
    while kept and (_NO_END.fullmatch(kept[-1][0]) or _is_degree(text, kept)):
        kept.pop()
    if len(kept) < pattern.fewest_words or sum(len(word[0].strip(".")) for word in kept) < 2:
        return None
    if not pattern.is_sure and all(is_allowed(word[0]) for word in kept):
        return None
    last = kept[-1]
    # A full stop after an initial belongs to it; the last one may end the sentence.
    genitive = _GENITIVE.search(last[0])
    if genitive is not None:
        return kept[0].start(), last.start() + genitive.start()
    finish = last.end() - (1 if last[0].endswith(".") and len(last[0]) > 2 and last[0].count(".") == 1 else 0)
    return kept[0].start(), finish
