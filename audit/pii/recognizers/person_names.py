"""Names of people, by what stands beside them: a label, a title, a degree, a relative, a way of speaking.

A name that was found so is then found at its other places in the same text, whole and by its last name. A name with
nothing beside it is left to the site's own list of names, and to models.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.allowed_terms import is_allowed
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.rule import Source
from clinaudit.audit.pii.values import name_parts

_LETTER = r"[^\W\d_]"
_PARTICLE = r"(?:de|del|della|der|den|dos|das|da|di|du|la|le|van|von|ter|ten|bin|binti|ibn|al|el|abu|y|e|st\.)"
#: A word of a name: an initial, or a word that may hold apostrophes and hyphens.
_WORD = rf"(?:{_LETTER}\.(?:{_LETTER}\.)*|{_LETTER}(?:{_LETTER}|['’‘ʼ-](?={_LETTER})){{0,24}})"
_GAP = r"[ \t\u00a0]{1,2}"
_CAPITAL = r"(?=[^\W\d_a-zß-öø-ÿ])"
_CAPITAL_WORD = rf"{_CAPITAL}{_WORD}"
#: "Anna de la Cruz", "J. R. Smith".
_SPEECH_ORDER = rf"{_CAPITAL_WORD}(?:{_GAP}(?:{_PARTICLE}{_GAP}){{0,2}}{_CAPITAL_WORD}){{0,3}}"
_TWO_WORDS = rf"{_CAPITAL_WORD}(?:{_GAP}(?:{_PARTICLE}{_GAP}){{0,2}}{_CAPITAL_WORD}){{1,3}}"
#: "de la Cruz, Anna M."
_LAST_FIRST = rf"(?:{_PARTICLE}{_GAP}){{0,2}}{_CAPITAL_WORD}(?:{_GAP}{_CAPITAL_WORD})?,[ ]?{_CAPITAL_WORD}(?:{_GAP}{_CAPITAL_WORD})?"
#: In the place of a label, where a note may be written in one case throughout.
_ANY_CASE = rf"{_WORD}(?:,?{_GAP}{_WORD}){{0,4}}"
_DEGREE = (
    r"(?:M\.?D|D\.?O|R\.?N|N\.?P|P\.?A(?:-?C)?|Ph\.?D|LPN|LVN|CNA|APRN|ARNP|FNP(?:-?[CB]C?)?|DNP|CNM|CRNA|MBBS|PharmD|RPh|LCSW"
    r"|DDS|DMD|DPM|PsyD|DPT|PT|OTR|MSW|FACP|FACS)\b\.?"
)
_RELATIVE = (
    r"(?:wife|husband|spouse|partner|mother|father|mom|mum|dad|parents?|sister|brother|sons?|daughters?|aunt|uncle|cousin"
    r"|grand(?:mother|father|son|daughter|ma|pa)|niece|nephew|guardian|caregiver|carer|neighbou?r|friend|roommate|fianc[ée]e?"
    r"|girlfriend|boyfriend|(?:step|foster )(?:mother|father|son|daughter)|(?:mother|father|sister|brother|son|daughter)-in-law"
    r"|next of kin|emergency contact|health care proxy|power of attorney|twin)"
)
_CLINICIAN_LABEL = (
    r"(?:providers?|physician|attending|surgeon|doctor|clinician|pcp|nurse(?: practitioner)?|consultant|resident|fellow|author"
    r"|dictated by|(?:electronically |digitally |e-?)?signed(?: by)?|reviewed by|transcribed by|seen by|authenticated by"
    r"|verified by|co-?signed(?: by)?|entered by|performed by|read by|ordered by|referred by|anesthesiologist|radiologist"
    r"|pathologist|pharmacist|therapist|interpreted by|cardiologist|oncologist|case manager|social worker|referring"
    r"|ordering|scribe|midwife|dietitian)"
)
_PATIENT_LABEL = (
    r"(?:(?:patient|pt|client|subject|legal|full|preferred|maiden|first|last|middle|given|family|resident|member|guarantor)(?:'s)?"
    r"[ _]?name|surname|name(?: of patient)?|patient|pt|client)"
)
_RELATIVE_LABEL = rf"(?:{_RELATIVE}(?:'s)?(?: name)?)"
_KIN_LABEL = r"(?:next of kin|nok|emergency contact|spouse|guardian|health care proxy|power of attorney|contact person)(?: name)?"


def _labelled(label: str, *, mark: str = r"[ \t]{0,3}[:=][ \t]{0,4}") -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/])(?i:{label}){mark}(?P<value>{_LAST_FIRST}|{_ANY_CASE})")


#: Category, pattern, what a text must hold for it to be tried; the value is cut where words are no name.
_PATTERNS: Final[tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...]] = (
    ("patient_name", _labelled(_PATIENT_LABEL), ("name", "patient", "pt", "client")),
    ("clinician_name", _labelled(_CLINICIAN_LABEL), (":", "=")),
    ("relative_name", _labelled(_KIN_LABEL), ("kin", "nok", "contact", "spouse", "guardian", "proxy", "attorney")),
    (
        "clinician_name",
        re.compile(rf"(?<![\w/])(?i:{_CLINICIAN_LABEL}|by)[ \t]{{1,3}}(?P<value>{_LAST_FIRST}|{_TWO_WORDS})"),
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
    ),
    (
        "clinician_name",
        re.compile(
            rf"(?<!\w)(?:Dr|DR|dr|Drs|Doctor|doctor|Prof|Professor|Nurse)\.?[ \t]{{1,2}}(?P<value>{_SPEECH_ORDER})"
        ),
        ("dr", "doctor", "prof", "nurse"),
    ),
    (
        "clinician_name",
        re.compile(rf"(?<!\w)(?i:dr)\.?[ \t](?P<value>{_LETTER}{{3,}}(?:-{_LETTER}+)?)(?=[ ,.;:\n)]|$)"),
        ("dr",),
    ),
    ("clinician_name", re.compile(rf"(?<!\w)(?P<value>{_LAST_FIRST}|{_TWO_WORDS}),?[ ]{_DEGREE}"), ()),
    (
        "full_name",
        re.compile(rf"(?<!\w)(?i:mr|mrs|ms|miss|mx)\.?[ \t]{{1,2}}(?P<value>{_SPEECH_ORDER})"),
        ("mr", "ms", "miss", "mx"),
    ),
    ("full_name", re.compile(rf"(?<!\w)(?:mr|mrs|ms)\.[ \t](?P<value>{_LETTER}{{3,}})"), ("mr.", "mrs.", "ms.")),
    (
        "relative_name",
        re.compile(
            rf"(?<!\w)(?i:{_RELATIVE})(?:'s name is|,? (?:is )?(?:named|called)|,| is|[ ]?\()?[ ](?P<value>{_SPEECH_ORDER})"
            rf"|(?<!\w)(?i:{_RELATIVE})[ ]?\((?P<bracketed>{_SPEECH_ORDER})"
        ),
        (
            *(
                "wife",
                "husband",
                "spouse",
                "partner",
                "mother",
                "father",
                "mom",
                "mum",
                "dad",
                "parent",
                "sister",
                "brother",
            ),
            *(
                "son",
                "daughter",
                "aunt",
                "uncle",
                "cousin",
                "grand",
                "niece",
                "nephew",
                "guardian",
                "caregiver",
                "carer",
            ),
            *("neighb", "friend", "roommate", "fianc", "kin", "contact", "twin"),
        ),
    ),
    (
        "patient_name",
        re.compile(
            rf"(?<!\w)(?P<value>{_TWO_WORDS}),?(?: is| was)?(?: an?)?,?[ ](?:\w+[ ])?"
            r"(?:\d{1,3}|[a-z]+(?:-[a-z]+)?)[ -](?:year|yr|month|y\.?o|y/o)"
        ),
        ("year", "yr", "month", "yo", "y.o", "y/o"),
    ),
    (
        "patient_name",
        re.compile(
            rf"(?<!\w)(?P<value>{_LAST_FIRST}|{_TWO_WORDS})[ ]?[,(;|]?[ ]?(?i:dob|d\.o\.b|born|mrn|date of birth|age[d:]|ssn|medical record)"
        ),
        ("dob", "d.o.b", "born", "mrn", "date of birth", "age", "ssn", "medical record"),
    ),
    (
        "patient_name",
        re.compile(rf"(?<!\w)(?:[Pp]atient|[Pp]t\.?|[Cc]lient|[Rr]esident),?[ ](?:named[ ])?(?P<value>{_TWO_WORDS})"),
        ("patient", "pt", "client", "resident"),
    ),
    (
        "full_name",
        re.compile(
            rf"(?i:\bmy name is|\bname is|\bnamed|\bcalled|\bi am|\bi'm|\bthis is|\bdear|\bhi|\bhello|\bregards,|\bsincerely,)\s{{1,2}}(?P<value>{_SPEECH_ORDER})"
        ),
        ("name", "called", "i am", "i'm", "this is", "dear", "hi", "hello", "regards", "sincerely"),
    ),
    (
        "full_name",
        re.compile(
            rf"(?:^|[.!?\n][ ]?)[ ]?(?P<value>{_TWO_WORDS})[ ](?:is|was|has|had|presents|presented|returns|returned|reports|reported"
            r"|denies|denied|states|stated|comes|came|underwent|arrived|lives|works|called|says|said|notes|endorses)\b"
        ),
        (),
    ),
    (
        "patient_name",
        re.compile(
            r"(?i:\b(?:patient|pt|client)(?:'s)? initials|\binitials)[ \t]{0,2}[:=]?[ \t]{0,2}(?P<value>(?:[A-Z]\.?){2,4})(?!\w)"
        ),
        ("initials",),
    ),
    (
        "nickname",
        re.compile(
            rf"(?i:\bnickname(?:d| is)?|\bgoes by|\ba\.?k\.?a\.?|\bprefers to be called|\bknown as)[ :]{{1,2}}[\"“']?(?P<value>{_CAPITAL_WORD})"
        ),
        ("nickname", "goes by", "aka", "a.k.a", "prefers", "known as"),
    ),
)
#: Words at which a name ends or that are none: of notes' labels, of forms and of the language.
_NO_NAME: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "none",
        "nil",
        "not",
        "of",
        "on",
        "or",
        "our",
        "out",
        "she",
        "so",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "today",
        "unknown",
        "unspecified",
        "up",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "will",
        "with",
        "you",
        "your",
        "year",
        "years",
        "old",
        "yo",
        "male",
        "female",
        "man",
        "woman",
        "boy",
        "girl",
        "dob",
        "age",
        "sex",
        "gender",
        "mrn",
        "date",
        "dates",
        "birth",
        "visit",
        "provider",
        "location",
        "address",
        "phone",
        "fax",
        "email",
        "cell",
        "home",
        "work",
        "id",
        "number",
        "ssn",
        "account",
        "acct",
        "insurance",
        "medicare",
        "medicaid",
        "chief",
        "complaint",
        "cc",
        "hpi",
        "ros",
        "history",
        "present",
        "illness",
        "past",
        "medical",
        "surgical",
        "family",
        "social",
        "allergies",
        "medications",
        "current",
        "problems",
        "vitals",
        "exam",
        "physical",
        "assessment",
        "plan",
        "diagnosis",
        "impression",
        "labs",
        "results",
        "review",
        "systems",
        "general",
        "constitutional",
        "cardiovascular",
        "respiratory",
        "gastrointestinal",
        "neurological",
        "psychiatric",
        "skin",
        "heent",
        "neck",
        "lungs",
        "heart",
        "abdomen",
        "extremities",
        "patient",
        "patients",
        "pt",
        "doctor",
        "dr",
        "nurse",
        "physician",
        "attending",
        "clinic",
        "hospital",
        "center",
        "department",
        "unit",
        "ward",
        "room",
        "seen",
        "reports",
        "reported",
        "denies",
        "denied",
        "states",
        "stated",
        "presents",
        "presented",
        "complains",
        "complained",
        "returns",
        "returned",
        "admitted",
        "discharged",
        "signed",
        "electronically",
        "reviewed",
        "dictated",
        "transcribed",
        "signature",
        "name",
        "names",
        "first",
        "last",
        "middle",
        "full",
        "maiden",
        "alive",
        "deceased",
        "living",
        "dead",
        "negative",
        "positive",
        "normal",
        "abnormal",
        "yes",
        "na",
        "n/a",
        "see",
        "pending",
        "left",
        "right",
        "bilateral",
        "upper",
        "lower",
        "acute",
        "chronic",
        "mild",
        "moderate",
        "severe",
        "pain",
        "cancer",
        "diabetes",
        "hypertension",
        "asthma",
        "disease",
        "syndrome",
        "mother",
        "father",
        "brother",
        "sister",
        "wife",
        "husband",
        "son",
        "daughter",
        "aunt",
        "uncle",
        "married",
        "single",
        "divorced",
        "widowed",
        "retired",
        "occupation",
        "marital",
        "status",
        "children",
        "tobacco",
        "alcohol",
        "drugs",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "followup",
        "follow-up",
        "follow",
        "md",
        "do",
        "rn",
        "np",
        "emergency",
        "primary",
        "care",
        "internal",
        "medicine",
        "family",
        "practice",
        "surgery",
        "radiology",
        "cardiology",
        "oncology",
        "neurology",
        "laboratory",
        "pharmacy",
        "street",
        "avenue",
        "road",
        "suite",
        "new",
        "old",
        "recent",
        "well",
        "very",
        "also",
        "however",
        "although",
        "since",
        "after",
        "before",
        "because",
        "while",
        "during",
        "overall",
        "currently",
        "previously",
        "i",
        "ii",
        "iii",
        "iv",
        "please",
        "call",
        "continue",
        "start",
        "stop",
        "take",
        "given",
        "due",
        "follows",
        "note",
        "notes",
        "noted",
        "report",
        "blood",
        "pressure",
        "heart",
        "rate",
        "mr",
        "mrs",
        "ms",
        "miss",
        "mx",
        "next",
        "kin",
        "contact",
        "spouse",
        "guardian",
        "number",
        "type",
        "race",
        "ethnicity",
        "religion",
        "language",
        "english",
        "spanish",
        "transfer",
        "service",
        "referral",
        "reason",
        "subjective",
        "objective",
        "code",
        "status",
        "full",
        "consent",
        "encounter",
        "both",
        "all",
        "other",
        "each",
        "one",
        "two",
        "three",
        "did",
        "does",
        "can",
        "could",
        "would",
        "should",
        "may",
        "might",
        "must",
        "now",
        "still",
        "just",
        "only",
        "over",
        "under",
        "again",
        "more",
        "less",
        "about",
        "per",
        "via",
    ]
)
#: Words that are first or last names and words of the language: no name by themselves in a text in lower case.
_FEWEST_LETTERS_ALONE: Final = 4
_TOKEN = re.compile(_WORD)


class NameRecognizer:
    """Finds names of patients, relatives, clinicians and others."""

    name = "names"
    categories = frozenset({"full_name", "patient_name", "clinician_name", "relative_name", "nickname"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the names that stand beside something, then their other places."""
        known: dict[str, str] = {}
        for category, regex, triggers in _PATTERNS:
            if not source.holds(triggers):
                continue
            for match in regex.finditer(source.text):
                group = "value" if match["value"] is not None else "bracketed"
                span = _cut(source.text, *match.span(group))
                if span is None:
                    continue
                yield EntitySpan(*span, category, self.name)
                known.setdefault(source.text[slice(*span)], category)
        yield from self._elsewhere(source.text, known)

    def _elsewhere(self, text: str, known: dict[str, str]) -> Iterator[EntitySpan]:
        """Yield the other places of names that were found, whole and by their longer parts."""
        wanted: dict[str, str] = {}
        for written, category in known.items():
            wanted.setdefault(written, category)
            words = _TOKEN.findall(written)
            if len(name_parts(written)) < 2:
                continue
            for word in words:
                alone = len(word) >= _FEWEST_LETTERS_ALONE and not is_allowed(word) and word.lower() not in _NO_NAME
                if alone and word[0].isupper():
                    wanted.setdefault(word, category)
        if not wanted:
            return
        longest = sorted(wanted, key=lambda written: (-len(written), written))
        regex = re.compile(rf"(?<![\w'’-])(?:{'|'.join(map(re.escape, longest))})(?![\w-]|['’](?!s\b)\w)")
        for match in regex.finditer(text):
            yield EntitySpan(*match.span(), wanted[match[0]], self.name)


def _cut(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the part of a stretch that is a name: up to the first word that is none; None where nothing is left."""
    kept: list[re.Match[str]] = []
    for word in _TOKEN.finditer(text, start, end):
        if word[0].lower().rstrip(".") in _NO_NAME or text[word.end() : word.end() + 1] == ":":
            break
        kept.append(word)
    while kept and re.fullmatch(_PARTICLE, kept[-1][0], re.IGNORECASE):
        kept.pop()
    if not kept or sum(len(word[0].strip(".")) for word in kept) < 2:
        return None
    if any(is_allowed(text[kept[0].start() : word.end()]) for word in kept) or is_allowed(kept[-1][0]):
        return None
    last = kept[-1]
    # A full stop after an initial belongs to it; the last one may end the sentence.
    finish = last.end() - (1 if last[0].endswith(".") and len(last[0]) > 2 and last[0].count(".") == 1 else 0)
    return kept[0].start(), finish
