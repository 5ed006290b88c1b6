"""What docs/methods.md, section 2, "Boilerplate" says of a note, character by character, the slow, obvious way.

The six rules are taken as they are. Of clinical terms it knows a few, as whole words: those that tests write.
"""

import re

from clinaudit.templates.note import NoteReader, Rule
from clinaudit.templates.profile import load_profile

_PROFILE = load_profile()
_READER = NoteReader(_PROFILE)
TERMS = (
    "hiv",
    "abortions",
    "anxiety",
    "f41.1",
    "biktarvy",
    "flashbacks",
    "aspirin",
    "depo-medrol",
    "bipolar\ndisorder",
    # The name of a type, over a line break: on one line "hiv" is a term already.
    "hiv\n1",
    "hiv\n2",
)
CUES = ("positive", "diagnosed", "history of")
NEGATIONS = {
    *("no", "not", "never", "neither", "nor", "none", "non", "denies", "denied", "denying", "negative", "without"),
    "absent",
}
TITLES = {"dr", "mr", "mrs", "ms", "miss", "prof"}


def plain(note: str) -> str:
    return "".join(
        " " if char.isspace() and char not in "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029" else char
        for char in note
    )


def places(word: str, text: str) -> list[int]:
    """Where a text has a word, or words, whole."""
    found = []
    for start in range(len(text) - len(word) + 1):
        end = start + len(word)
        joined = (start > 0 and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum())
        if text[start:end] == word and not joined:
            found.append(start)
    return found


def term_places(term: str, text: str) -> list[tuple[int, int]]:
    """Where a text has a term whole, whatever white space stands between its words."""
    words = r"\s+".join(map(re.escape, term.split()))
    return [found.span() for found in re.finditer(rf"(?<![^\W_]){words}(?![^\W_])", text)]


def clauses(text: str, cuts: set[int]) -> list[tuple[int, int]]:
    """The clauses of a text, which partition it; `cuts` end one, too."""
    ends = []
    for index, char in enumerate(text):
        word = re.findall(r"\w*$", text[:index])[0]
        kept = char == "." and (text[index + 1 : index + 2].isdigit() or word in TITLES or re.fullmatch("[a-z]", word))
        if (char in ".;\n" and not kept) or index + 1 in cuts:
            ends.append(index + 1)
    ends = [*ends, len(text)] if not ends or ends[-1] < len(text) else ends
    return list(zip([0, *ends], ends, strict=False))


CONTRASTS = {
    *("but", "except", "positive", "whereas", "although", "though", "however", "yet", "while", "because", "since"),
    *("until", "after", "when"),
}
TELLING = {
    *("i", "he", "she", "they", "it", "we", "you", "his", "her", "hers", "their", "theirs", "him", "them", "my", "our"),
    *("who", "whose", "which", "that", "is", "are", "was", "were", "be", "been", "has", "had", "have", "does", "did"),
    *("do", "will", "would", "can", "could", "may", "might", "say", "says", "said", "told", "tells", "report"),
    *("reports", "reported", "admit", "admits", "admitted", "state", "states", "stated", "endorse", "endorses"),
    *("endorsed", "confide", "confides", "confided", "disclose", "discloses", "disclosed", "diagnosed", "confirmed"),
    "came",
}


def end_of_denial(text: str, start: int, end: int) -> int:
    """Where the list of a "negative for" ends: before a contrast, or the first item that is long or tells."""
    begin = start + re.search(r"negative[ \t]+for\b", text[start:end]).end()
    contrasts = [begin + at for word in CONTRASTS for at in places(word, text[begin:end])]
    stop = min(contrasts, default=end)
    item, words = begin, [(found.start() + begin, found[0]) for found in re.finditer(r"\S+", text[begin:stop])]
    count, tells, cut = 0, False, None
    for place, word in words:
        count += 1
        tells |= not TELLING.isdisjoint(re.findall(r"\w+", word))
        if count > 6 or tells:
            cut = item
            break
        joins = re.fullmatch(r"\W*(and|or|nor)\W*", word) or (word.endswith(",") or "," in re.sub(r",\d", "", word))
        if joins:
            item, count = place + len(word), 0
    stop = stop if cut is None else cut
    if cut is not None or contrasts:
        while text[stop - 1] in " \t,(":
            stop -= 1
    return stop


def boilerplate_characters(note: str) -> list[bool]:
    """Whether each character of a note with line feeds only is boilerplate."""
    text = plain(note).lower()
    by_rule = _READER.read(note).spans_by_rule
    taken: set[int] = set()
    cuts: set[int] = set()
    for start, end in by_rule[Rule.NEGATIVE_ROS]:
        end = end_of_denial(text, start, end)
        taken |= set(range(start, end))
        cuts.add(end)
    headers = {at for span in by_rule[Rule.HEADER_PREFIX] for at in range(*span)}
    taken |= headers
    taken |= {at for rule in (Rule.BY_NAME_LINE, Rule.SEE_REFERENCE) for span in by_rule[rule] for at in range(*span)}
    time = r"(,?[ \t]+(at[ \t]+)?\d\d?:\d\d(:\d\d)?([ \t]?[ap]\.?m\b\.?)?)?"
    stamps = {
        Rule.LAST_REVIEWED: r"[ \t]*last[ \t]+reviewed([ \t]+on\b)?([ \t]+\d{1,4}[/.-]\d\d?([/.-]\d{2,4})?)?" + time,
        Rule.DATE_TIME_LINE: r"[ \t]*\d\d?[/-]\d\d?[/-]\d{2,4}" + time,
    }
    for rule, stamp in stamps.items():
        for start, end in by_rule[rule]:
            found = re.match(stamp, text[start:end])
            taken |= set(range(start, start + len(found[0]))) if found else set()
    for start, end in clauses(text, cuts):
        clause = text[start:end]
        tells = any(start < after and at < end for term in TERMS for at, after in term_places(term, text))
        for cue in CUES:
            words = re.compile(rf"\b{cue}\b".replace(" ", r"\s+"))
            for found in words.finditer(clause):
                before = clause[: found.start()]
                negated = NEGATIONS & set(re.findall(r"\w+", before)) or re.search(r"n['’]t\b", before)
                tells |= start + found.start() not in headers and not negated
        if tells:
            taken -= set(range(start, end))
    return [at in taken for at in range(len(text))]
