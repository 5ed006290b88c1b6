"""The lists of words and names, and what they say of a word: a name, or of medicine, of notes, of the language.

Owns the reading of the text files beside this module and of philter-lite's lists (BSD-3-Clause; Norgeot et al. 2020):
words that are no names, first and last names; and what distinguishes a name from an eponym, a drug, a finding and a
word of the language. A word can stand in several lists: "mary" and "white" are listed as no names as well. Of
philter-lite only the data file is read: its code is never imported.
"""

import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.values.normal_form import fold_words
from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import drug_words

_RE: Final = Patterns(__name__)
_SHORT_LISTS: Final = tomllib.loads(files(__package__).joinpath("short_lists.toml").read_text("utf-8"))


def is_plain_word(word: str) -> bool:
    """Whether a word is listed as no name; so are some that are names too: "surgeon", "metformin", "mary"."""
    return _fold(word) in _lists()["nonames"]


def is_first_name(word: str) -> bool:
    """Whether a word, or each part of a hyphenated one, is listed as a first name."""
    return _is_in_lists(word, ("firstnames",))


def is_last_name(word: str) -> bool:
    """Whether a word, or each part of a hyphenated one, is listed as a last name."""
    return _is_in_lists(word, ("lastnames",))


def is_short_last_name(word: str) -> bool:
    """Whether two letters, written as a name, are a last name and no word of notes: "Wu", and not "On" or "Pt"."""
    small = word.lower()
    is_one = (
        len(word) == 2 and word.istitle() and small in _lists()["lastnames"] and small not in read_words("no_names")
    )
    return is_one and not (is_allowed(word.upper()) or is_allowed(word))


def is_sure_name(word: str) -> bool:
    """Whether a word is listed as a name and not as a word: "Keturah", "Villanueva-Cruz", and not "Mary"."""
    return _is_in_lists(word, ("firstnames", "lastnames")) and not is_plain_word(word)


@lru_cache(maxsize=100_000)
def _is_in_lists(word: str, lists: tuple[str, ...]) -> bool:
    def is_listed(folded: str) -> bool:
        return any(folded in _lists()[name] for name in lists)

    parts = [_fold(part) for part in _RE.parts.split(word) if part]
    # Of two letters there are too many abbreviations.
    return len(_fold(word)) > 2 and (is_listed(_fold(word)) or (bool(parts) and all(map(is_listed, parts))))


def _fold(word: str) -> str:
    """Return the letters of a word, small and without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if letter.isalpha())


@cache
def _lists() -> dict[str, frozenset[str]]:
    """Return the lists by name; a line of the file is one of them: reading all of it as TOML takes seconds."""
    found = find_spec("philter_lite")
    if found is None or found.origin is None:
        raise BadInputError(
            "the word lists of philter-lite are not installed: pip install --no-deps philter-lite==0.6.0"
        )
    lists = {}
    with Path(found.origin).with_name("filters").joinpath("set.toml").open(encoding="utf-8") as file:
        for line in file:
            name, _, written = line.partition(" = ")
            lists[name] = frozenset(json.loads(written.rstrip().removesuffix("]").removesuffix(",") + "]"))
    return lists


@cache
def read_words(name: str) -> frozenset[str]:
    """Return the entries of a list: several on a line, `_` for a blank within one, `#` before a remark."""
    written = _SHORT_LISTS.get(name) or files(__package__).joinpath(f"{name}.txt").read_text("utf-8")
    return frozenset(
        entry.replace("_", " ") for line in written.splitlines() for entry in line.partition("#")[0].split()
    )


@cache
def read_labels(model: str) -> Mapping[str, str]:
    """Return what the labels of a model are: a category of the taxonomy, or `none` (`model_labels.toml`)."""
    rows = tomllib.loads(files(__package__).joinpath("model_labels.toml").read_text("utf-8"))[model]
    return {label: category for category, labels in rows.items() for label in labels.split()}


def _ending(name: str) -> re.Pattern[str]:
    """Return what matches words in small letters that end as one of a list, after two letters at least."""
    return re.compile(rf"[a-z]{{2,}}(?:{'|'.join(sorted(read_words(name)))})")


#: Of findings, procedures and specialties, and the stems by which nonproprietary names of drugs are made (USAN).
_FINDING: Final = _ending("endings_of_findings")
_DRUG_STEM: Final = _ending("stems_of_drugs")


@cache
def _allowed_terms() -> frozenset[str]:
    lists = ("allowed_terms", "brands", "organisms")
    return frozenset(map(fold_words, (*drug_words(), *(term for name in lists for term in read_words(name)))))


@cache
def _brands() -> frozenset[str]:
    return frozenset(map(str.lower, read_words("brands")))


@lru_cache(maxsize=100_000)
def is_allowed(text: str) -> bool:
    """Whether a text is a term, or ends as findings do; an abbreviation is one only as written: "MS", not "Ms"."""
    if text.strip(".,;:()").removesuffix("s") in read_words("clinical_shorthand"):
        return True
    folded = fold_words(text)
    both = folded, folded.removesuffix("s")
    is_term = any(one in _allowed_terms() for one in both)
    return is_term or (folded not in read_words("names_like_findings") and any(map(_FINDING.fullmatch, both)))


def is_clinical_term(word: str) -> bool:
    """Whether a word is of medicine and the name of nobody: shorthand, an organism, a drug, a finding; no eponym."""
    folded = fold_words(word)
    return (
        word in read_words("clinical_shorthand")
        or folded in read_words("organisms")
        or folded in drug_words()
        or (folded not in read_words("names_like_findings") and _FINDING.fullmatch(folded) is not None)
    )


def is_drug(word: str) -> bool:
    """Whether a word is a drug: of the list, or made as names of drugs are."""
    return fold_words(word) in drug_words() or _DRUG_STEM.fullmatch(word.lower()) is not None


def is_dosed_drug(text: str, start: int, end: int) -> bool:
    """Whether a stretch ends with a word made as names of drugs are, and a dose follows it: "Zerlinib 5 mg"."""
    last = text[start:end].rpartition(" ")[2].lower()
    return _DRUG_STEM.fullmatch(last) is not None and _RE.dose.match(text, end) is not None


_CHARS: Final = 30


def is_name_again(text: str, start: int, end: int) -> bool:
    """Whether a word of a name is that name here: no eponym, and in small letters no other word."""
    written = text[start:end]
    after_article = _RE.after_article.search(text, max(0, start - _CHARS), start) and not _RE.family.match(text, end)
    if written[0].islower():
        return not after_article and not is_word(written)
    joined = _RE.hyphenated.search(text, max(0, start - _CHARS), start)
    whole = f"{joined[0] if joined else ''}{written}{(_RE.hyphenated_on.match(text, end) or [''])[0]}"
    if is_eponym(text, start, end) or ("-" in whole and is_allowed(whole)):
        return False
    return not (is_allowed(written) and (after_article or _RE.of_a_device.match(text, end)))


def without_labels(text: str, start: int, end: int) -> int:
    """Return where a name ends without labels in capitals or before a value: "John Smith SSN" is "John Smith"."""
    while (last := _RE.last_word.search(text[start:end])) is not None:
        name, word = text[start : start + last.start()], last[1]
        is_loud = word.isupper() and len(word) > 1 and not name.isupper()
        if word.replace(".", "").lower() not in read_words("labels") or not (
            is_loud or _RE.value_after.match(text, end)
        ):
            break
        end = start + last.start()
    return end


@lru_cache(maxsize=100_000)
def is_word(written: str) -> bool:
    """Whether a word in small letters may be one of the language, of notes or of medicine rather than a name."""
    small = written.lower()
    return small in read_words("words_and_names") or small in read_words("no_names") or is_allowed(small)


def is_known_name(word: str) -> bool:
    """Whether a word is a first or last name, of those that are words too, or common."""
    small = word.lower()
    is_word_too = small in read_words("words_and_names") or small in read_words("given_words")
    return is_word_too or word.title() in read_words("given_names")


def is_of_notes(word: str) -> bool:
    """Whether a word where a name may stand is one of notes, forms or the language; "May" and "A." are names too."""
    small = word.lower().rstrip(".")
    is_name = _RE.initial.fullmatch(word) is not None or (small in read_words("notes_and_names") and not word.islower())
    return small in read_words("no_names") and not is_name


@lru_cache(maxsize=100_000)
def _is_unlisted(word: str) -> bool:
    """Whether a word in small letters is one of no list: long enough and spoken, so that it is no abbreviation."""
    is_spoken = len(word) >= 4 and _RE.vowel.search(word) is not None
    is_listed = is_plain_word(word) or is_word(word) or is_allowed(word.upper())
    return is_spoken and not is_listed and _RE.verb.fullmatch(word) is None


#: What rules ask of words, by name, beside the lists.
_KINDS: Final[Mapping[str, Callable[[str], object]]] = {
    "abstract": _RE.abstract.match,
    "clinical": is_clinical_term,
    "first_name": is_first_name,
    "initial": re.compile("[A-Z]").fullmatch,
    "known": is_known_name,
    "nobody": lambda word: is_of_notes(word) or is_clinical_term(word) or _RE.abstract.match(word),
    "note": is_of_notes,
    "plain": is_plain_word,
    "small": str.islower,
    "sure_name": is_sure_name,
    "term": is_allowed,
    "unlisted": _is_unlisted,
    "verb": _RE.verb.fullmatch,
    "word": is_word,
}


def says(asked: str) -> Callable[[str], bool]:
    """Return what says whether a word is all that is asked: `given_names|known -term`, of a list or known, no term."""

    def asks(one: str) -> Callable[[str], object]:
        name = one.removeprefix("-")
        entries = frozenset[str]() if name in _KINDS else frozenset(map(str.lower, read_words(name)))
        is_one = _KINDS.get(name) or (lambda word: word.lower().strip(".") in entries)
        return (lambda word: not is_one(word)) if one != name else is_one

    each = [list(map(asks, any_of.split("|"))) for any_of in asked.split()]
    return lambda word: all(any(is_one(word) for is_one in any_of) for any_of in each)


_GERMAN_CHARS: Final = 150


def _is_of_german(text: str, start: int, end: int) -> bool:
    """Whether a line is German: there every noun is written as a name is; who does something is somebody."""
    if _RE.does_in_german.match(text, end):
        return False
    before = text[max(0, start - _GERMAN_CHARS) : start].rpartition("\n")[2]
    beside = re.findall(r"[a-zäöüß]+", before + text[end : end + _GERMAN_CHARS].partition("\n")[0])
    return len(read_words("words_of_german").intersection(beside)) >= 2


def is_eponym(text: str, start: int, end: int) -> bool:
    """Whether what is beside a stretch bears its name: "Baker cyst", "Charles" of "Charles Bonnet syndrome"."""
    second = _RE.second_name.match(text, end) if " " not in text[start:end] else None
    return _is_eponym(text, start, end) or (second is not None and _is_eponym(text, start, second.end()))


def _is_eponym(text: str, start: int, end: int) -> bool:
    before = _RE.other_half_before.search(text, max(0, start - _CHARS), start)
    other = _RE.other_half.match(text, end)
    stop = other.end() if other else end
    after = _RE.of_what.match(text, stop)
    follows = after[1].lower() if after else ""
    written, begin = text[start:end], max(0, start - _CHARS)
    is_one = " " not in written
    is_pair = " and " in text[before.start() if before else start : start] or " and " in text[end:stop]
    is_known = is_pair or is_allowed(written)
    if after and (
        (is_pair and follows == "chart")
        or {follows, follows.removesuffix("s")} & read_words("described" if is_one else "described_by_two")
        or (is_one and _FINDING.fullmatch(follows) is not None)
        or any(is_allowed(f"{written} {word}") for word in {follows, *after[0].split()[:1]})
        or (is_known and {follows, follows.removesuffix("s")} & read_words("named_after"))
    ):
        return True
    if _RE.of_a_test.match(text, stop):
        return True
    if is_one:
        former = _RE.word_before.search(text, begin, start)
        is_two = is_known or before is not None or "-" in text[start:stop]
        if (
            _RE.scored.match(text, stop)
            or (is_two and _RE.result.match(text, stop))
            or (is_known and _RE.figure.match(text, stop))
            or (former and is_allowed(f"{former[1]} {written}"))
        ):
            return True
        maker = _RE.maker_before.search(text, begin, start)
        if maker and maker[1].lower() in _brands():
            return True
        is_name = is_first_name(written) or is_last_name(written)
        if not is_name and (follows in read_words("things") or _is_of_german(text, start, end)):
            return True
    if text[max(0, start - 1) : start] == "?" and _RE.suspected.match(text, end):
        return True
    return text[end : end + 1] == ")" and _RE.by_technique.search(text, begin, start) is not None
