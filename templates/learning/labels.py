"""Labels in banners: the words before a colon, several a line, the fact that each holds, what its values look like."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from clinaudit.templates.dates import NAMED_FORMATS, other_order, read_date
from clinaudit.templates.learning import MOST, LearningSample
from clinaudit.templates.learning.known_words import fact_of_label, known_words
from clinaudit.templates.names import LABEL_END

#: Every format that a proposal may name; those that differ in the order of day and month alone stand for each other.
_FORMATS = tuple(
    dict.fromkeys((*NAMED_FORMATS["month_first"], *NAMED_FORMATS["day_first"], "%Y/%m/%d", "%d %B, %Y", "%Y%m%d"))
)
_DAY_FIRST = frozenset(form for form in NAMED_FORMATS["day_first"] if other_order(form) is not None)
#: In RE2 and in Python alike, but for `\pL`, which Python has no word for.
DATES = (
    r"\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}",
    r"\d{1,2}[ -][A-Z][a-z]{2,8}\.?[ -]\d{2,4}",
    r"[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4}",
)
DATE = f"(?:{'|'.join(DATES)})"
#: "y.o." with its last dot: a value that ended before it would leave ".o." behind.
YEARS = r"(?: ?(?:y\. ?o\.?|(?:years? old|year-old|yrs?|years?|y/o|yo|y)\b)|-year-old\b)"
AGE = rf"\d{{1,3}}{YEARS}?"
SEXES = ("[Ff]emale|[Mm]ale", "FEMALE|MALE", "[Ww]oman|[Mm]an", "[MF]")
SEX = f"(?:{'|'.join(SEXES)})"
TITLE = r"(?:Drs?|Nurse|Sister|ANP|PA|Prof|Mr|Mrs|Ms|Miss)"
DEGREE = r"(?:MD|M\.D\.|DO|NP|PA-C|PA|RN|MBBS|MRCGP|FRCP)"
_CLINICIAN = re.compile(rf"{TITLE}\.? [A-Z].*|.*,? {DEGREE}\.?")
#: How patients are called as well as some clinicians.
_COURTESY = re.compile(r"(?:Mr|Mrs|Ms|Miss)\.? [A-Z].*")
PLACE_WORD = (
    r"(?:Clinic|Hospital|Surgery|Practice|Centre|Center|Health|Medical|Infirmary|Group|Associates|Ward|Department|Unit"
    r"|Team)"
)
_PLACE = re.compile(rf".*\b{PLACE_WORD}\b.*", re.IGNORECASE)
#: Words of a name that begin small: "van den Berg, A.", "Ana de la Cruz".
PARTICLES = r"(?:(?:van|von|der|den|de|het|ter|ten|zu|da|di|do|dos|del|della|la|le|el|al|bin|ibn) )*"
_NAME = re.compile(rf"{PARTICLES}[^\W\d_a-z][^\W\d_]*[\w.'’-]*(?:,? {PARTICLES}[^\W\d_a-z][\w.'’-]*){{1,3}}")
#: Dates over more years than this are of births, not of visits.
_VISIT_YEARS = 25


def shape_of(values: Sequence[str]) -> str | None:
    """Return the fact whose shape most of the values have, or None; dates are births where they spread over decades."""
    days = [day for value in values if (day := any_date(value)) is not None]
    if len(days) > MOST * len(values):
        return "dob" if max(days).year - min(days).year > _VISIT_YEARS else "visit_date"
    shapes: tuple[tuple[str, re.Pattern[str]], ...] = (
        ("sex", re.compile(SEX)),
        # A number alone may be anything.
        ("age", re.compile(rf"\d{{1,3}}{YEARS}")),
        ("provider", _CLINICIAN),
        ("practice", _PLACE),
    )
    # Names of patients differ; those that many share are of places or of clinicians.
    counts = Counter(values)
    differ = len(counts) > MOST * len(values) and max(counts.values()) <= MOST * len(values)
    if differ and _share(values, _COURTESY) > MOST:
        return "name" if fits("name", values) else None
    for fact, shape in shapes:
        if _share(values, shape) > MOST:
            return fact
    return "name" if differ and _share(values, _NAME) > MOST else None


def fits(fact: str, values: Sequence[str]) -> bool:
    """Whether most of the values can be of a fact; a clinician may be written in any way, a place in letters."""
    if fact in ("dob", "visit_date"):
        return sum(any_date(value) is not None for value in values) > MOST * len(values)
    if fact == "name":
        # "Ada Lund (59 y.o. F)" holds more than a name.
        return sum(not any(char.isdigit() for char in value) for value in values) > MOST * len(values)
    if fact == "practice":
        # "Hospital no: 692512-4" names none.
        return sum(any(char.isalpha() for char in value) for value in values) > MOST * len(values)
    shape = {"sex": re.compile(SEX, re.IGNORECASE), "age": re.compile(AGE)}.get(fact)
    return shape is None or _share(values, shape) > MOST


def same(fact: str, value: str, known: str | date) -> bool:
    """Whether a note's value is what a table says."""
    if isinstance(known, date):
        return any(read_date(value, (form,)) == known for form in _FORMATS)
    if fact == "sex":
        return value[:1].lower() == known[:1].lower() and re.fullmatch(SEX, value, re.IGNORECASE) is not None
    if fact == "age":
        return re.fullmatch(AGE, value) is not None and value.startswith(known)
    return _words(value) == _words(known)


def any_date(text: str) -> date | None:
    """Return the date that `text` is in some format; the order of day and month may be the wrong one."""
    return read_date(text, _FORMATS)


def choose_formats(values: Iterable[str], known: Mapping[str, Iterable[date]]) -> tuple[tuple[str, ...], bool]:
    """Return the formats that dates are written in, the most frequent first, and whether their order is certain.

    `known` gives for a value the dates that a table has in its place. Where nothing tells day from month, the order is
    the American one, and not certain.
    """
    found = list(values)
    counts = Counter(form for value in found for form in _FORMATS if read_date(value, (form,)) is not None)
    votes = Counter[bool]()
    for value in found:
        readings = [form for form in counts if other_order(form) is not None and read_date(value, (form,)) is not None]
        told = [form for form in readings if read_date(value, (form,)) in set(known.get(value, ()))]
        orders = {form in _DAY_FIRST for form in told or readings}
        if len(orders) == 1:
            votes[orders.pop()] += 1
    day_first = votes[True] > votes[False]
    chosen: list[str] = []
    left = found
    while left:
        usable = [form for form in counts if other_order(form) is None or (form in _DAY_FIRST) == day_first]
        gain = {form: sum(read_date(value, (form,)) is not None for value in left) for form in usable}
        best = max(usable, key=lambda form: gain[form], default=None)
        if best is None or gain[best] == 0:
            break
        chosen.append(best)
        left = [value for value in left if read_date(value, (best,)) is None]
    numeric = any(other_order(form) is not None for form in chosen)
    return tuple(chosen), not numeric or votes.total() > 0


def narrowed(forms: Sequence[str], values: Iterable[str]) -> str:
    """Return as one expression those of the forms that some value has; all of them where none is enough."""
    found = set(values)
    used = [form for form in forms if any(re.fullmatch(form, value) for value in found)]
    chosen = used if used and all(re.fullmatch("|".join(used), value) for value in found) else forms
    return chosen[0] if len(chosen) == 1 and "|" not in chosen[0] else f"(?:{'|'.join(chosen)})"


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


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """A label in a banner."""

    #: Lower-case, without its colon.
    label: str
    value: str
    #: Line of the banner, from 0, and where in it the label starts, in characters.
    line: int
    start: int


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A label of a group of notes, and what it holds."""

    label: str
    #: The fact it holds; None where it is none, or one that another label holds.
    fact: str | None
    #: Patients in whose banner it stands, with a value.
    patients: int
    #: Patients whose table has the value that the note has here, and patients whose table has this fact.
    confirmed: int
    of: int


def find_labels(banners: Sequence[str], *, least: int) -> list[list[LabelledValue]]:
    """Return the labels of each banner in order; those of fewer than `least` banners are none."""
    found = [
        [(number, match) for number, line in enumerate(banner.split("\n")) for match in _BEFORE_COLON.finditer(line)]
        for banner in banners
    ]
    counts = Counter(
        suffix
        for matches in found
        for suffix in {suffix for _, match in matches for suffix in _suffixes(match["words"])}
    )
    return [_values(matches, counts, least) for matches in found]


def assign_facts(notes: Sequence[LearningSample], labels: Sequence[Sequence[LabelledValue]]) -> list[LabelUse]:
    """Return the labels of a group of notes, most frequent first, each with its fact.

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
    for place, use in enumerate(uses):
        shape = None if use.fact or _is_other(use.label) else shape_of([value for _, value in values[use.label]])
        if shape is not None and shape not in taken:
            taken.add(shape)
            uses[place] = LabelUse(use.label, shape, use.patients, 0, 0)
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
    told = None if _is_other(label) else fact_of_label(label)
    is_told = told is not None and fits(told, [value for _, value in held])
    return LabelUse(label, told if is_told else None, len(held), 0, 0)


def _is_other(label: str) -> bool:
    return label in known_words().other_labels


def _suffixes(words: str) -> list[str]:
    """Return the words that may be the label, the fewest first."""
    parts = words.lower().split(" ")
    return [" ".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


def _values(matches: Sequence[tuple[int, re.Match[str]]], counts: Counter[str], least: int) -> list[LabelledValue]:
    chosen: list[tuple[int, re.Match[str], str]] = []
    for line, match in matches:
        suffixes = _suffixes(match["words"])
        frequent = [item for item in suffixes if counts[item] >= max(least, _AS_FREQUENT * counts[suffixes[0]])]
        before = match.string[: match.end("words") - len(frequent[-1])] if frequent else ""
        follows = bool(chosen) and chosen[-1][0] == line
        # A reader of notes takes no label in the middle of a line, but after another or what parts it from the rest.
        if frequent and (follows or not before.strip(_LEAD) or before[-2:].isspace() or before.rstrip()[-1] in _GAP):
            chosen.append((line, match, frequent[-1]))
    starts = [match.end("words") - len(label) for _, match, label in chosen]
    found: list[LabelledValue] = []
    for place, (line, match, label) in enumerate(chosen):
        is_last = place + 1 == len(chosen) or chosen[place + 1][0] != line
        text = match.string[match.end() :] if is_last else match.string[match.end() : starts[place + 1]]
        value = text.strip(" \t" if is_last else _GAP)
        if value.endswith(")") and "(" not in value:
            value = value[:-1].rstrip()
        found.append(LabelledValue(label, value, line, starts[place]))
    return found
