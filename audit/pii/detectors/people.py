"""What is asked of a name of somebody beyond its pattern: which of its words are one, and where it stands again.

A name that was found beside a label, a title or a relative is then found at its other places in the same text, whole
and by its last name. Names in small letters count where words call for one ("pt john smith") and a common given name
stands there: without such words many names are words as well. Organizations are asked for a name of their own.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final

from clinaudit.audit.pii.detectors.name_lists import is_first_name, is_plain_word, is_sure_name
from clinaudit.audit.pii.detectors.places import is_beside_state
from clinaudit.audit.pii.detectors.rule_table import Rule, regex, words
from clinaudit.audit.pii.detectors.word_lists import (
    is_abstract,
    is_allowed,
    is_clinical_term,
    is_eponym,
    is_known_name,
    is_word,
    read_words,
    without_labels,
)
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.values.normal_form import name_parts
from clinaudit.audit.pii.values.value_scan import places_of

#: Words at which a name ends or that are none: of notes' labels, of forms and of the language.
_NO_NAME: Final = read_words("no_names")
#: Those of them that are first or last names as well.
_NAMES_TOO: Final = frozenset(
    {"per", "may", "will", "april", "june", "august", "an", "long", "rice", "colon", "ward", "gerd", "man", "english"}
)
_FEWEST_LETTERS_ALONE: Final = 4
#: A word written as a name, and perhaps an initial, before a last name; not the first word of a sentence.
_FIRST_NAME: Final = regex(r"(?<=[^\s.!?:\n])[ ](?P<first>${capital_word})(?:[ ]${capital_word})?[ ]$")
_FIRST_NAME_CHARS: Final = 40
_GENITIVE: Final = re.compile(r"(?<=\w\w)['’]s$")
_TOKEN: Final = regex("${name_word}")
#: Letters that are words as well: "A. Lund" and "Ada A. Lund" are names, "A holter" is none.
_INITIAL: Final = re.compile(r"[AaIi]\.|[AI]")
#: What a name does not end with: a particle, or a letter that goes on as a word ("Ada Lund I saw").
_NO_END: Final = regex(r"(?i:${particle})|[AI]")
_DEGREE: Final = regex("${degree}")


def find_names_elsewhere(text: str, found: Iterable[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield names that stand beside something, then their other places."""
    spans, known = list(found), dict[str, str]()
    for span in spans:
        known.setdefault(text[span.start : span.end], span.category)
    # "Ms. Lund" is the patient where "Ada Lund" is: the first longer name that ends so.
    of_last: dict[str, str] = {}
    for written, category in known.items():
        if " " in written:
            of_last.setdefault(written.rpartition(" ")[2], category)
    for span in spans:
        written = text[span.start : span.end]
        yield EntitySpan(span.start, span.end, of_last.get(written, known[written]), span.found_by)
    yield from _elsewhere(text, known)


def _elsewhere(text: str, known: dict[str, str]) -> Iterator[EntitySpan]:
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
            yield EntitySpan(_with_first_name(text, start), start + len(written), wanted[written], "names")


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
    return len(kept) > 2 and text[: last.start()].rstrip().endswith(",") and bool(_DEGREE.fullmatch(last[0]))


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


def read_name_beside(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield the part of a stretch that is a name: up to the first word that is none."""
    text = match.string
    kept: list[re.Match[str]] = []
    for word in _TOKEN.finditer(text, *match.span("value")):
        is_no_name = _is_no_name(word[0], is_first=not kept, may_be_small=rule.is_sure and not kept)
        if is_no_name or text[word.end() : word.end() + 1] == ":":
            break
        kept.append(word)
        if _GENITIVE.search(word[0]):
            # "Lund's LDL": what somebody has is none of their name.
            break
    while kept and (_NO_END.fullmatch(kept[-1][0]) or _is_degree(text, kept)):
        kept.pop()
    if len(kept) < rule.fewest_words or sum(len(word[0].strip(".")) for word in kept) < 2:
        return
    if not rule.is_sure and all(is_allowed(word[0]) for word in kept):
        return
    last = kept[-1]
    # A full stop after an initial belongs to it; the last one may end the sentence.
    genitive = _GENITIVE.search(last[0])
    if genitive is not None:
        yield kept[0].start(), last.start() + genitive.start(), rule.kind
        return
    finish = last.end() - (1 if last[0].endswith(".") and len(last[0]) > 2 and last[0].count(".") == 1 else 0)
    yield kept[0].start(), finish, rule.kind


#: Who opens a line without a name.
_NAMELESS: Final = words(
    r"(?:${kin}|${close}|${role}|${staff}|(?:no|any|some|every)(?:body|one|thing)|parent|surgeon|physician|toddler|infant"
    r"|child|kid|dog|lab)s?"
)


def is_given_name(match: "re.Match[str]") -> bool:
    """Whether a word is a given name: the list of them holds no words of the language, places or eponyms."""
    return match[0] in read_words("given_names") and not is_allowed(match[0]) and not is_beside_state(match)


def opens_a_line(match: "re.Match[str]") -> bool:
    """Whether the first word of a line is a name: one of a given name, or no word of the language or of notes."""
    word = match["value"]
    is_somebody = word.lower() in read_words("occupations") or _NAMELESS.fullmatch(word) is not None
    return is_known_name(word) or not (is_somebody or is_word(word) or is_abstract(word))


def is_loud_name(match: "re.Match[str]") -> bool:
    """Whether capitals throughout are a first name and a last one: no word of notes or of medicine."""
    first, *others = match["value"].split()
    return first.title() in read_words("given_names") and not any(
        word.lower() in read_words("no_names") or is_allowed(word) for word in (first, *others)
    )


def is_turned_name(match: "re.Match[str]") -> bool:
    """Whether a last name stands before a given one: no word of the language or of notes, and no time."""
    return match["given"] in read_words("given_names") and not any(
        part.lower() in read_words("months_and_days") or is_word(part) for part in match["last"].split()
    )


def are_initials(match: "re.Match[str]") -> bool:
    """Whether letters are initials: no abbreviation that notes are full of."""
    letters = re.sub(r"[^A-Z]", "", match["value"])
    return letters not in read_words("no_initials") and ("." in match["value"] or not is_allowed(letters))


#: What somebody did, and what is said of a name, rather than a part of one.
_VERB: Final = re.compile(r"[a-z]{3,}(?:ed|ing|ly)|rang|wrote|sat|stood|weighs|written|wrong")
_PIECE: Final = re.compile(r"[^\s,.;:]+\.?")


def read_small_name(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield a name in small letters up to the first word of the language; its first word is a common first name.

    Where nothing but a name follows (`is_sure`), any word that is none of the language may begin one.
    """
    first, *others = _PIECE.finditer(match.string, *match.span("value"))
    if first[0].title() not in read_words("given_names") and not (rule.is_sure and _may_be_small(first[0])):
        return
    end = first.end()
    for word in others:
        if not _may_be_small(word[0]):
            break
        end = word.end()
    yield first.start(), end, rule.kind


def _may_be_small(word: str) -> bool:
    """Whether a word in small letters may be of a name: none of the language, and none that says what was done."""
    return not is_word(word.strip(".")) and _VERB.fullmatch(word) is None


_VOWEL: Final = re.compile("[aeiouy]")
#: What is said of a bed rather than who lies in it.
_OF_A_BED: Final = frozenset(
    {"empty", "male", "female", "man", "woman", "lady", "gentleman", "pt", "patient", "baby", "boy", "girl"}
    | {"new", "closed", "held", "fall"}
)


def _is_unlisted(word: str) -> bool:
    """Whether a word in small letters is one of no list: long enough and spoken, so that it is no abbreviation."""
    is_spoken = len(word) >= _FEWEST_LETTERS_ALONE and _VOWEL.search(word) is not None
    return is_spoken and not (is_plain_word(word) or is_word(word) or is_allowed(word.upper())) and _may_be_small(word)


def is_unlisted_name(match: "re.Match[str]") -> bool:
    """Whether a word where a name stands is one of no list."""
    return _is_unlisted(re.split(r"[. ]+", match["value"] or match["other"])[-1])


def is_no_state_of_a_bed(match: "re.Match[str]") -> bool:
    """Whether who lies in a bed stands after it: names or words of no list, and none that says what is."""
    found = match["value"].lower().split()
    if any(word in _OF_A_BED or is_clinical_term(word) for word in found):
        return False
    return all(is_known_name(word) or is_first_name(word) or _is_unlisted(word) for word in found)


def read_unlisted_name(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield words in small letters that are of no list; without `is_sure` the first one is listed as a name."""
    place = end = match.start("value")
    for number, word in enumerate(match["value"].split(" ")):
        if not _is_unlisted(word) or (not number and not rule.is_sure and not is_sure_name(word)):
            break
        end = place + len(word)
        place = end + 1
    if end > match.start("value"):
        yield match.start("value"), end, rule.kind


def is_known_first_name(match: "re.Match[str]") -> bool:
    """Whether a first name stands there: one that is listed, and no word unless it is known as a name too."""
    first = (match["value"] or match["other"]).split()[0]
    return is_first_name(first) and not is_allowed(first) and (not is_plain_word(first) or is_known_name(first))


def is_named_somebody(match: "re.Match[str]") -> bool:
    """Whether each word of a name is listed as a first name or is no word, and none is of notes or of medicine."""
    groups = match.groupdict()
    found = re.findall(r"[^\W\d_][\w'’-]{2,}", groups.get("name") or groups.get("nick") or "")
    return bool(found) and not any(
        _is_of_notes(word)
        or is_clinical_term(word)
        or is_abstract(word)
        or (is_plain_word(word) and not is_first_name(word))
        for word in found
        if word[0].isupper()
    )


def is_loud_turned_name(match: "re.Match[str]") -> bool:
    """Whether capitals are a last name and a first one: the first is listed, or the last is double and no word."""
    last, given = match["last"], match["given"]
    if is_word(last) or is_word(given) or is_plain_word(last) or is_plain_word(given):
        return False
    return is_first_name(given) or "-" in last


#: What somebody has is none of their name ("Lund's LDL").
_WHAT_THEY_HAVE: Final = re.compile(r"(?<=\w)['’]s(?!\w)")
_WHAT_THEY_ARE: Final = words(r"[ ](?:(?:${carer}|physician|doctor)\b(?=[ ]|$)|M\.?D\b)")


def keep_apart(_text: str, found: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return the spans of which none overlaps another."""
    return resolve_overlaps(found)


def read_placed_name(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield the name at a place where nothing but one can stand: every capitalized word is one ("April", "Good")."""
    start = match.start("name")
    # "Dr. H. Lund Consultant Physician": what somebody is, on the next line of a letter.
    end = start + len(_WHAT_THEY_HAVE.split(_WHAT_THEY_ARE.split(match["name"])[0])[0])
    yield start, without_labels(match.string, start, end), rule.kind


def _words_of(match: "re.Match[str]") -> list[str]:
    """Return the words of what may be a name, without what is written short."""
    return [word for word in re.split(r"[\s,^]+", match["name"]) if word and not word.endswith(".")]


def _is_of_notes(word: str) -> bool:
    """Whether a word is one of notes; "May" and "Will" are names too."""
    return _is_no_name(word, is_first=True, may_be_small=word.isupper())


def is_of_no_note(match: "re.Match[str]") -> bool:
    """Whether what stands where a name may stand does not begin with a word of notes or of medicine."""
    first = next(iter(_words_of(match)), match["name"].strip(".,"))
    return not (_is_of_notes(first) or is_allowed(first))


def is_a_colleague(match: "re.Match[str]") -> bool:
    """Whether a name stands after who does something: "Attending Graves", and no "Attending Physician"."""
    found = _words_of(match)
    return bool(found) and not (
        any(_is_of_notes(word) or is_clinical_term(word) or is_abstract(word) for word in found)
        or is_eponym(match.string, match.start("name"), match.end("name"))
    )


def are_no_words(match: "re.Match[str]") -> bool:
    """Whether nothing of what is written last name first is a word of notes or of medicine."""
    return not any(_is_of_notes(word) or is_clinical_term(word) or is_abstract(word) for word in _words_of(match))


#: Who speaks in a transcript, and what is said: a question, or a sentence in small letters.
_SPEAKER: Final = words(
    r"^[ \t>*]*(?:[^\n:]{1,30}:[ ])?(?:[\[(]?\d{1,2}:\d{2}[^\n\])]{0,10}[\])]?[ ])?[\[*]*"
    r"(?P<who>doctor|dr|nurse|provider|patient|clinician|pt|therapist|physician|interviewer|agent|caller|parent|${kin}"
    r"|interpreter|pharmacist|counsell?or|user|assistant|client)[\]*]*:[ \t](?P<said>\S[^\n]*)"
)
_SPEECH: Final = re.compile(r"\?\s*$|[a-z'’]+[ ][a-z'’]+[ ][a-z'’]+[^\n]*[.!]\s*$")
_ALL_SAID: Final = re.compile(r"[.,!]?[ \t]*(?:\n|$)")
_AROUND_CHARS: Final = 500


def _lines_around(match: "re.Match[str]") -> list[str]:
    return match.string[max(0, match.start() - _AROUND_CHARS) : match.end() + _AROUND_CHARS].splitlines()


#: Before a field's "name": of what it is, if of nobody.
_OF_A_THING: Final = words(
    r"\b(?:tests?|device|drug|medication|med|medicine|brand|generic|trade|product|file|procedure|study|plan|group|organism"
    r"|vaccine|lab|panel|order|item|model|event|form|field|display|document|report|exam|protocol|trial|pet|dog)[ _]$"
)
_THING_CHARS: Final = 14


def reads_as_a_name(match: "re.Match[str]") -> bool:
    """Whether somebody's name follows: nothing else's, and in a transcript two capitalized words that are all of it."""
    text, group = match.string, "name" if "name" in match.re.groupindex else "value"
    if _OF_A_THING.search(text, max(0, match.start() - _THING_CHARS), match.start()):
        return False
    if not text[max(0, match.start(group) - 6) : match.start(group)].rstrip(" \t").endswith(":"):
        return True
    turns = [turn for turn in map(_SPEAKER.match, _lines_around(match)) if turn is not None]
    # Of a header's fields each is somebody's, and none a sentence.
    if len({turn["who"].lower() for turn in turns}) < 2 or not any(_SPEECH.search(turn["said"]) for turn in turns):
        return True
    found = match[group].split()
    is_all = len(found) > 1 and _ALL_SAID.match(text, match.end(group)) is not None
    return is_all and all(word[0].isupper() and not _is_of_notes(word.strip(".,")) for word in found)


_MAIL_ADDRESS: Final = re.compile(r"<[^<>\n]*>|\S+@\S+")
_ANYBODY: Final = regex(
    r"(?P<name>(?:${short_name}[ ]?){0,2}${one_name}(?:,[ ]?${one_name})?${another_name}{0,2})(?!\w|[ ]?\d)"
)
_HEADERS: Final = words(r"^(?:from|to|b?cc|sent|subject|date|reply-to)[ ]?:")
_FEWEST_HEADERS: Final = 2


def read_mail_names(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield everybody whom a header of mail names: "Cc: A. Krag; B. Lund <b@x.org>"; a lone "To:" is none."""
    headers = sum(_HEADERS.match(line) is not None for line in _lines_around(match))
    if headers < _FEWEST_HEADERS and "@" not in match["name"]:
        return
    place = match.start("name")
    # What is no name keeps its length, so that places stay.
    line = _MAIL_ADDRESS.sub(lambda found: ";" * len(found[0]), match["name"])
    for found in _ANYBODY.finditer(line):
        if are_no_words(found):
            yield place + found.start(), place + found.end(), rule.kind


def read_wordy_name(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield the words of a name up to the first of notes; where less calls for it, one of them is known as a name."""
    found = list(takewhile(_may_name, _WHAT_THEY_HAVE.split(match["name"])[0].split()))
    is_whole = len(found) >= min(2, len(match["name"].split())) and min(len(found[0]), len(found[-1])) > 1
    # In capitals any two words look like a name.
    is_sure = rule.is_sure and not match[0].isupper()
    if is_whole and (is_sure or is_known_name(found[0]) or is_known_name(found[-1])):
        start = match.start("name")
        yield start, start + len(" ".join(found)), rule.kind


def _may_name(word: str) -> bool:
    """Whether a word may be one of a name: known as one, and none of notes or of medicine."""
    small = word.lower()
    return is_known_name(word) or not (small in read_words("no_names") or is_allowed(word) or is_abstract(word))


_NOT_A_NAME: Final = frozenset(
    {"the", "a", "an", "our", "this", "that", "her", "his", "at", "in", "to", "from", "she", "he", "they"}
    | {"children's", "women's"}
)

#: What a hospital calls its departments by.
_NO_PRACTICE: Final = frozenset(
    {"general", "department", "dept", "division", "section", "academic", "outpatient", "inpatient", "chief", "family"}
)


def _first_word(match: re.Match[str]) -> str:
    return (match["value"] or match.groupdict()["other"]).split()[0]


def has_own_name(match: re.Match[str]) -> bool:
    """Whether more than an article or a pronoun stands before the word that says what it is."""
    return _first_word(match).lower() not in _NOT_A_NAME


def is_practice(match: re.Match[str]) -> bool:
    """Whether a name stands before a specialty; "General Internal Medicine" is one of a hospital's departments."""
    first = _first_word(match)
    small = first.lower()
    is_word_of_notes = small in read_words("months_and_days") or _is_of_notes(first) or is_abstract(first)
    return small not in _NO_PRACTICE and not (is_word_of_notes or is_allowed(first)) and has_own_name(match)


def is_public(match: re.Match[str]) -> bool:
    """Whether a department is the state's: a hospital's bears the name of its specialty."""
    return not re.search(
        r"Medicine|Surgery|Radiology|Pathology|Neurology|Cardiology|Oncology|Psychiatry|Pediatrics|An(?:a)?esthesia|Urology"
        r"|Orthop|Obstetrics|Ophthalm|Dermatology|Nursing|Otolaryng|Gastroenterology|Nephrology|Endocrinology|Rehabilitation",
        match[0],
    )
