"""The labels of a site's banners and the fact that each holds, its dates, and the known words that name what is found.

A label is the words before a colon, several a line. Owns which fact it holds, how a site writes dates, and the headers
and labels of the shipped profiles, by which a proposal names what it finds. A date is told by a table or by a word;
never by its place.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from clinaudit.templates.dates import NAMED_FORMATS, other_order, read_as_written, read_date, without_birth
from clinaudit.templates.header_styles import BANNER_FACTS, LABEL_END, bare
from clinaudit.templates.learning import MOST, LearningSample
from clinaudit.templates.profile import PROFILES_PATH, PatternTable, ProfileTable
from clinaudit.templates.text_file import read_toml_file

#: Where two profiles say different things of one word, the first counts.
_ORDER = ("soap", "capitals", "dictation", "mimic-discharge", "uk-gp")
#: Facts that have headers of their own below the banner.
_LISTED = ("marital_status", "occupation", "children")
_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


class _KnownHeader(NamedTuple):
    section: str
    #: Opens a part of a section (a body system), rather than a section.
    is_leaf: bool
    #: The fact that stands under it, or None.
    fact: str | None


@dataclass(frozen=True, slots=True)
class _KnownWords:
    """Headers and labels of all shipped profiles, lower-case."""

    headers: Mapping[str, _KnownHeader]
    #: Label -> fact.
    labels: Mapping[str, str]
    #: Labels of what is no fact.
    other_labels: frozenset[str]
    #: Body systems that stand under several sections, and those sections.
    ambiguous: frozenset[str]
    parents: tuple[str, ...]
    #: Headers under which everything is templated.
    templated: frozenset[str]
    patterns: tuple[PatternTable, ...]

    @property
    def anchors(self) -> tuple[str, ...]:
        """Headers that open a section below the banner: where they stand, a note's sections begin."""
        return tuple(
            header
            for header, known in self.headers.items()
            if not known.is_leaf and known.fact not in _LISTED and len(header) > 1
        )


@cache
def known_words() -> _KnownWords:
    """Return the words of the profiles that ship.

    A word that is a label of who, when or where in one profile is no header of a section here.
    """
    paths = [PROFILES_PATH / f"{name}.toml" for name in _ORDER]
    tables = [ProfileTable.model_validate(read_toml_file(path, role="the note template")) for path in paths]
    labels: dict[str, str] = {}
    facts: dict[str, str] = {}
    for fact, field in (item for table in tables for item in table.fields.items()):
        labels = dict.fromkeys(field.labels, fact) | labels
        if fact in BANNER_FACTS:
            labels = dict.fromkeys(field.headers, fact) | labels
        else:
            facts = dict.fromkeys(field.headers, fact) | facts
    headers: dict[str, _KnownHeader] = {}
    for section in (section for table in tables for section in table.sections):
        for header in (*section.headers, *section.aliases, *section.leaves):
            if header not in labels:
                is_leaf = header in section.leaves
                headers.setdefault(header, _KnownHeader(section.name, is_leaf, facts.get(header)))
    for section_name, further in _WORDS["further"].items():
        for header in further:
            headers.setdefault(header, _KnownHeader(section_name, is_leaf=False, fact=None))
    return _KnownWords(
        headers=headers,
        labels=labels,
        other_labels=frozenset(label for table in tables for label in table.other_labels),
        ambiguous=frozenset(leaf for table in tables for leaf in table.ambiguous.leaves),
        parents=tuple(name for table in tables for name in table.ambiguous.parents),
        templated=frozenset(bare(table.templated.header) for table in tables if table.templated.header),
        patterns=tuple(item for table in tables for item in table.patterns),
    )


def fact_of_label(label: str) -> str | None:
    """Return the fact that a label's words name, or None."""
    return known_words().labels.get(label) or _told(label, _WORDS["labels"])


def fact_of_header(header: str) -> str | None:
    """Return the fact that stands under a header, as its words say, or None."""
    known = known_words().headers.get(header)
    return known.fact if known is not None else _told(header, _WORDS["headers"])


def _told(name: str, facts: Mapping[str, Sequence[str]]) -> str | None:
    words = f" {' '.join(name.replace(chr(39), ' ').replace('/', ' ').split())} "
    return next((fact for fact, telling in facts.items() if any(f" {word} " in words for word in telling)), None)


#: Every format that a proposal may name; those that differ in the order of day and month alone stand for each other.
_FORMATS = tuple(dict.fromkeys((*NAMED_FORMATS["month_first"], *NAMED_FORMATS["day_first"])))
_DAY_FIRST = frozenset(form for form in NAMED_FORMATS["day_first"] if other_order(form) is not None)
DATES = ("dob", "visit_date")
_AGE = re.compile(r"\d{1,3}(?:[ -]?(?:y\. ?o\.?|years?[ -]old|yrs?|years?|y/o|yo|y))?", re.IGNORECASE)
_SEX = re.compile(r"female|male|woman|man|[MF]", re.IGNORECASE)
TITLE = r"(?:Drs?|Nurse|Sister|ANP|PA|Prof|Mr|Mrs|Ms|Miss)"
_CLINICIAN = re.compile(rf"{TITLE}\.? [A-Z].*|.*,? (?:MD|M\.D\.|DO|NP|PA-C|PA|RN|MBBS|MRCGP|FRCP)\.?")
#: How patients are called as well as some clinicians.
_COURTESY = re.compile(r"(?:Mr|Mrs|Ms|Miss)\.? [A-Z].*")
_PLACE = re.compile(
    r".*\b(?:Clinic|Hospital|Surgery|Practice|Centre|Center|Health|Medical|Infirmary|Group|Associates|Ward|Department|Unit"
    r"|Team)\b.*",
    re.IGNORECASE,
)
#: Words of a name that begin small: "van den Berg, A.", "Ana de la Cruz".
_PARTICLES = r"(?:(?:van|von|der|den|de|het|ter|ten|zu|da|di|do|dos|del|della|la|le|el|al|bin|ibn) )*"
_NAME = re.compile(rf"{_PARTICLES}[^\W\d_a-z][^\W\d_]*[\w.'’-]*(?:,? {_PARTICLES}[^\W\d_a-z][\w.'’-]*){{1,3}}")
#: Dates of the other order are slips of the pen where they are a smaller share.
_SLIPS = 0.02
#: What may be a date in a spelling that is not read: two numbers, or four digits (`Dec 1991`, a spreadsheet's `33583`).
_LIKE_A_DATE = re.compile(r"\d\D+\d|\d{4}")


def shape_of(values: Sequence[str]) -> str | None:
    """Return the fact whose shape most of the values have, or None; dates are told by `assign_facts`."""
    shapes: tuple[tuple[str, re.Pattern[str]], ...] = (
        ("sex", _SEX),
        # A number alone may be anything.
        ("age", re.compile(rf"(?!\d+$){_AGE.pattern}", re.IGNORECASE)),
        ("provider", _CLINICIAN),
        ("practice", _PLACE),
    )
    plain = [without_birth(value) for value in values]
    # Names of patients differ; those that many share are of places or of clinicians.
    counts = Counter(values)
    differ = len(counts) > MOST * len(values) and max(counts.values()) <= MOST * len(values)
    if differ and _share(plain, _COURTESY) > MOST:
        return "name" if fits("name", values) else None
    for fact, shape in shapes:
        if _share(values, shape) > MOST:
            return fact
    return "name" if differ and _share(plain, _NAME) > MOST else None


def fits(fact: str, values: Sequence[str]) -> bool:
    """Whether most of the values can be of a fact; a clinician may be written in any way, a place in letters."""
    if fact in DATES:
        return sum(read_date(value, _FORMATS) is not None for value in values) > MOST * len(values)
    if fact == "name":
        # "Ada Lund, MRN 4711" holds more than a name.
        return sum(not any(char.isdigit() for char in without_birth(value)) for value in values) > MOST * len(values)
    if fact == "practice":
        # "Hospital no: 692512-4" names none.
        return sum(any(char.isalpha() for char in value) for value in values) > MOST * len(values)
    shape = {"sex": _SEX, "age": _AGE}.get(fact)
    return shape is None or _share(values, shape) > MOST


def same(fact: str, value: str, known: str | date) -> bool:
    """Whether a note's value is what a table says."""
    if isinstance(known, date):
        return any(read_date(value, (form,)) == known for form in _FORMATS)
    if fact == "sex":
        return value[:1].lower() == known[:1].lower() and _SEX.fullmatch(value) is not None
    if fact == "age":
        return _AGE.fullmatch(value) is not None and value.startswith(known)
    return _words(without_birth(value) if fact == "name" else value) == _words(known)


def choose_formats(values: Iterable[str], known: Mapping[str, Iterable[date]]) -> tuple[tuple[str, ...], bool]:
    """Return the formats that dates are written in, the most frequent first, and whether their order is certain.

    `known` gives for a value the dates that a table has in its place. Where nothing tells day from month, the order is
    the American one, and not certain; nor is it where some dates tell one order and others the other.
    """
    left = list(values)
    votes = Counter[bool]()
    for value in left:
        readings = [
            form for form in _FORMATS if other_order(form) is not None and read_date(value, (form,)) is not None
        ]
        told = [form for form in readings if read_date(value, (form,)) in set(known.get(value, ()))]
        orders = {form in _DAY_FIRST for form in told or readings}
        if len(orders) == 1:
            votes[orders.pop()] += 1
    day_first = votes[True] > votes[False]
    usable = [form for form in _FORMATS if other_order(form) is None or (form in _DAY_FIRST) == day_first]
    chosen: list[str] = []
    while left:
        # Of formats that read as many the one is chosen in which most are written: it writes what a table holds.
        gain = {form: [read_date(value, (form,)) is not None for value in left].count(True) for form in usable}
        exact = {form: [read_as_written(value, form) is not None for value in left].count(True) for form in usable}
        best = max(usable, key=lambda form: (gain[form], exact[form]))
        if gain[best] == 0:
            break
        chosen.append(best)
        left = [value for value in left if read_date(value, (best,)) is None]
    numeric = any(other_order(form) is not None for form in chosen)
    others = min(votes[True], votes[False])
    return tuple(chosen), not numeric or (votes.total() > 0 and others <= _SLIPS * votes.total())


def _share(values: Sequence[str], shape: re.Pattern[str]) -> float:
    return sum(shape.fullmatch(value) is not None for value in values) / len(values) if values else 0.0


def _words(text: str) -> list[str]:
    return sorted(re.findall(r"[^\W_]+", text.lower()))


#: Up to four words before a colon; the last is no number, or "at 10:30" would hold a label.
_WORD = r"[^\W_][\w.'’/#&()-]*"
#: Dots in a row are no part of it: they lead to the value.
_LAST = r"[^\W\d_](?:[\w'’/#&()-]|\.(?!\.))*"
_BEFORE_COLON = re.compile(rf"(?P<words>(?:{_WORD}[ ]){{0,3}}{_LAST})(?:[ \t]*[*_]{{0,2}})?{LABEL_END}[*_]{{0,2}}")
#: The words before a label are no part of it where they make it rarer than this share.
_AS_FREQUENT = 0.8
#: What may stand before a label that leads its line.
_LEAD = " \t-*•·▪◦_"
#: What may stand between a value and the label after it.
_GAP = " \t|;,/("


class LabelledValue(NamedTuple):
    """A label in a banner, lower-case and without its colon, and what follows it."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A label, and what it holds."""

    label: str
    #: The fact it holds; None where it is none, or one that another label holds.
    fact: str | None
    #: Patients in whose banner it stands, with a value.
    patients: int
    #: Patients whose table has the value that the note has here, and patients whose table has this fact.
    confirmed: int = 0
    of: int = 0
    #: The date that the label's words tell and that its values seem to be, where no format reads most of them.
    unread: str | None = None


def find_labels(banners: Sequence[str], *, least: int) -> list[list[LabelledValue]]:
    """Return the labels of each banner in order; those of fewer than `least` banners are none."""
    found = [[[*_BEFORE_COLON.finditer(line)] for line in banner.split("\n")] for banner in banners]
    counts = Counter(
        suffix
        for lines in found
        for suffix in {suffix for line in lines for match in line for suffix in _suffixes(match["words"])}
    )
    return [[item for line in lines for item in _values(line, counts, least)] for lines in found]


def assign_facts(notes: Sequence[LearningSample], labels: Sequence[Sequence[LabelledValue]]) -> list[LabelUse]:
    """Return the labels of notes, most frequent first, each with its fact.

    The tables tell first: a label holds the fact whose value most often stands there. Then the label's words, then the
    shape of its values.
    """
    values: dict[str, list[tuple[int, str]]] = {}
    for index, of_note in enumerate(labels):
        seen: set[str] = set()
        for item in of_note:
            if item.value and item.label not in seen:
                seen.add(item.label)
                values.setdefault(item.label, []).append((index, item.value))
    uses = [_by_table_or_words(label, held, notes) for label, held in values.items()]
    taken = {use.fact for use in uses}
    open_places = [
        place for place, use in enumerate(uses) if not use.fact and not use.unread and not _is_other(use.label)
    ]
    for place in open_places:
        shape = shape_of([value for _, value in values[uses[place].label]])
        if uses[place].fact is None and shape is not None and shape not in taken:
            taken.add(shape)
            uses[place] = replace(uses[place], fact=shape)
    return sorted(uses, key=lambda use: (-use.patients, use.label))


def _by_table_or_words(label: str, held: Sequence[tuple[int, str]], notes: Sequence[LearningSample]) -> LabelUse:
    known: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for index, value in held:
        for fact, said in notes[index].known.items():
            known[fact] += 1
            equal[fact] += same(fact, value, said)
    best = max(sorted(equal), key=lambda fact: equal[fact] / known[fact], default=None)
    if best is not None and equal[best] > MOST * known[best]:
        return LabelUse(label, best, len(held), equal[best], known[best])
    values = [value for _, value in held]
    told = None if _is_other(label) else fact_of_label(label)
    if told is None or fits(told, values):
        return LabelUse(label, told, len(held))
    is_like_one = sum(_LIKE_A_DATE.search(value) is not None for value in values) > MOST * len(values)
    return LabelUse(label, None, len(held), unread=told if told in DATES and is_like_one else None)


def _is_other(label: str) -> bool:
    return label in known_words().other_labels


def _suffixes(words: str) -> list[str]:
    """Return the words that may be the label, the fewest first."""
    parts = words.lower().split(" ")
    return [" ".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


def _values(matches: Iterable[re.Match[str]], counts: Counter[str], least: int) -> Iterator[LabelledValue]:
    """Yield the labels of a line."""
    chosen: list[tuple[re.Match[str], str]] = []
    for match in matches:
        suffixes = _suffixes(match["words"])
        frequent = [item for item in suffixes if counts[item] >= max(least, _AS_FREQUENT * counts[suffixes[0]])]
        before = match.string[: match.end("words") - len(frequent[-1])] if frequent else ""
        # A reader of notes takes no label in the middle of a line, but after another or what parts it from the rest.
        if frequent and (chosen or not before.strip(_LEAD) or before[-2:].isspace() or before.rstrip()[-1] in _GAP):
            chosen.append((match, frequent[-1]))
    for (match, label), following in zip_longest(chosen, chosen[1:]):
        end = following[0].end("words") - len(following[1]) if following else None
        value = match.string[match.end() : end].strip(_GAP if following else " \t")
        if value.endswith(")") and "(" not in value:
            value = value[:-1].rstrip()
        yield LabelledValue(label, value)
