"""A proposed profile: headers and their styles, places of facts and date formats, found in notes and written as TOML.

The file's comments say why each entry is proposed, and for how many patients. It holds words and shares of patients;
the text of no note.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from clinaudit.templates.header_styles import FACTS
from clinaudit.templates.learning import MOST, LearningSample, enough, labels, share
from clinaudit.templates.learning.header_candidates import ChosenHeaders, HeaderUse, choose_headers, find_header_uses
from clinaudit.templates.learning.labels import DATES, LabelledValue, LabelUse, fact_of_header, known_words
from clinaudit.templates.profile import PatternTable

#: Words that head other things too: they place a fact where no other header does.
_VAGUE = frozenset({"history", "problem", "hx"})
#: A pattern that places a fact in a smaller share of the notes is not proposed.
_PATTERN_SHARE = 0.2
#: A line that is a date alone, or a date and a time.
_DATE_LINE = (
    r"^[ \t]*(?:(?i:mon|tue|wed|thu|fri|sat|sun)\pL*,? )?(?P<visit_date>\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}"
    r"|\d{1,2}(?:st|nd|rd|th)?(?: of)?[ -]\pL{3,9}\.?,?[ -]\d{4}|\pL{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})"
    r"(?:[T@, ]+\d{1,2}[:.]\d{2}[^\n]{0,20})?[ \t]*$"
)
_BIRTH = re.compile(r"\b(?:birth|born|dob|d\.o\.b)\b", re.IGNORECASE)
#: In non-blank lines: where a note has no known header, no more than this is its banner.
_LONGEST_BANNER = 15
#: Sections of facts, whatever word heads them.
_SECTIONS = {"chief_complaint": "Chief Complaint", "hpi": "History of Present Illness", "medications": "Medications"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed for a corpus, with the number of patients for all it holds."""

    #: Patients whose note was looked at.
    patients: int
    headers: ChosenHeaders
    labels: tuple[LabelUse, ...]
    #: Regular expressions that place facts, in the order in which they are tried, with the patients in whose note each
    #: finds a fact that none before it does.
    patterns: tuple[tuple[PatternTable, int], ...]
    #: Fact -> headers under which it stands, the most frequent first.
    under: Mapping[str, tuple[str, ...]]
    date_formats: tuple[str, ...]
    #: Whether something tells the order of day and month.
    order_is_certain: bool

    @property
    def placed(self) -> frozenset[str]:
        """Facts that have a place."""
        by_label = {use.fact for use in self.labels if use.fact}
        by_pattern = {fact for item, _ in self.patterns for fact in item.pattern.groups}
        return frozenset(by_label | by_pattern | self.under.keys())


def propose_profile(notes: Sequence[LearningSample]) -> Proposal | None:
    """Return what the notes suggest, one note a patient; None where no header recurs."""
    least = enough(len(notes))
    header_uses = [find_header_uses(note.text) for note in notes]
    ends = [_banner_end(note.text, use) for note, use in zip(notes, header_uses, strict=True)]
    chosen = choose_headers(header_uses, ends, least=least)
    if chosen is None:
        return None
    banners = [note.text[:end] for note, end in zip(notes, ends, strict=True)]
    of_notes = labels.find_labels(banners, least=least)
    uses = [
        use
        for use in labels.assign_facts(notes, of_notes)
        if use.patients >= least and use.label not in chosen.patients
    ]
    # Lines that a table says are somebody's name, or a place's, are no headers.
    names = {said.lower() for note in notes for said in note.known.values() if isinstance(said, str)}
    known = {header: found for header, found in chosen.patients.items() if header not in names}
    chosen = replace(chosen, patients=known)
    # Body systems alone open no section.
    if chosen.patients.keys() <= known_words().ambiguous:
        return None
    by_label = {use.fact for use in uses if use.fact and use.patients > MOST * len(notes)}
    patterns, by_pattern = _patterns(notes, banners, by_label, least=least)
    formats, certain = _formats(notes, of_notes, uses, by_pattern)
    return Proposal(
        patients=len(notes),
        headers=chosen,
        labels=tuple(uses),
        patterns=patterns,
        under=_facts_under(chosen, {use.fact for use in uses if use.fact}, least=least),
        date_formats=formats or ("%Y-%m-%d",),
        order_is_certain=certain,
    )


def _banner_end(text: str, use: HeaderUse) -> int:
    if use.sections_start is not None:
        return use.sections_start
    end = filled = 0
    for line in text.splitlines(keepends=True):
        if filled == _LONGEST_BANNER or (filled > 1 and not line.strip()):
            break
        filled += bool(line.strip())
        end += len(line)
    return end


def _patterns(
    notes: Sequence[LearningSample], banners: Sequence[str], placed: Collection[str], *, least: int
) -> tuple[tuple[tuple[PatternTable, int], ...], list[dict[str, str]]]:
    """Return the expressions that place facts that no label does, and what they find in each note, by fact.

    They are those of the shipped profiles, and a line that is a date alone. That is of the visit, but where a table or
    the line above says that it is of the birth.
    """
    chosen: list[tuple[PatternTable, int]] = []
    found: list[dict[str, str]] = [{} for _ in notes]
    lone = (PatternTable(regex=_DATE_LINE.replace("visit_date", fact)) for fact in ("visit_date", "dob"))
    for item in (*lone, *known_words().patterns):
        facts = {*item.pattern.groups}
        in_tables = sum(note.known.keys() >= facts for note in notes)
        # A fact in prose is looked for where no table has it: prose is a poor witness.
        if facts & {*placed} or (item.in_whole_note and in_tables > MOST * len(notes)):
            continue
        texts = [note.text for note in notes] if item.in_whole_note else banners
        places = [item.pattern.spans(text) for text in texts]
        held = [{fact: text[slice(*at)] for fact, at in own.items()} for text, own in zip(texts, places, strict=True)]
        new = sum(not of_note.keys() <= known.keys() for of_note, known in zip(held, found, strict=True))
        if new < max(least, _PATTERN_SHARE * len(notes)):
            continue
        # An expression that has a word for births needs no other witness.
        begins = [next((at for fact, (at, _) in own.items() if fact in DATES), 0) for own in places]
        above = (text[:at].rpartition("\n")[0] for text, at in zip(texts, begins, strict=True))
        witnesses = () if "dob|" in item.regex else [lines.rstrip().rpartition("\n")[2] for lines in above]
        if all(_is_right(fact, held, notes, witnesses) for fact in facts):
            chosen.append((item, new))
            found = [of_note | known for of_note, known in zip(held, found, strict=True)]
    return tuple(chosen), found


def _is_right(
    fact: str, held: Sequence[Mapping[str, str]], notes: Sequence[LearningSample], above: Sequence[str]
) -> bool:
    """Whether what was found can be this fact, and is what the tables have where they tell; a birth needs a witness."""
    values = [own[fact] for own in held if fact in own]
    # A heading that stands in all notes is nobody's name.
    if not values or not (labels.shape_of(values) == fact if fact == "name" else labels.fits(fact, values)):
        return not values

    def share(of: str) -> float | None:
        told = [
            labels.same(of, own[fact], note.known[of])
            for own, note in zip(held, notes, strict=True)
            if fact in own and of in note.known
        ]
        return sum(told) / len(told) if told else None

    # A table may have the age of another day.
    if fact != "age" and (by_table := share(fact)) is not None:
        return by_table > MOST
    if fact not in DATES or not above:
        return True
    is_birth = sum(_BIRTH.search(line) is not None for line in above) > MOST * len(values)
    return is_birth if fact == "dob" else not is_birth and (share("dob") or 0.0) <= MOST


def _facts_under(chosen: ChosenHeaders, labelled: Collection[str], *, least: int) -> dict[str, tuple[str, ...]]:
    by_fact: dict[str, list[str]] = {}
    for header in sorted(chosen.patients, key=lambda header: (-chosen.patients[header], header)):
        fact = fact_of_header(header)
        # A fact whose most frequent header is rare has no place in the notes.
        if fact is not None and fact not in labelled and (fact in by_fact or chosen.patients[header] >= least):
            by_fact.setdefault(fact, []).append(header)
    found: dict[str, tuple[str, ...]] = {}
    for fact, (first, *others) in by_fact.items():
        # Words that only hint at a fact place it where none does that is known to; "Hx" beside "History" is no worse.
        usable = known_words().headers.keys() - (set() if first in _VAGUE else _VAGUE)
        found[fact] = (first, *(item for item in others if item in usable))
    return found


def _formats(
    notes: Sequence[LearningSample],
    of_notes: Sequence[Sequence[LabelledValue]],
    uses: Sequence[LabelUse],
    by_pattern: Sequence[Mapping[str, str]],
) -> tuple[tuple[str, ...], bool]:
    fact_of = {use.label: use.fact for use in uses if use.fact in DATES}
    values: list[str] = []
    known: dict[str, list[date]] = {}
    for note, of_note, found in zip(notes, of_notes, by_pattern, strict=True):
        held = [(fact, item.value) for item in of_note if (fact := fact_of.get(item.label))]
        for fact, value in [*held, *((fact, found[fact]) for fact in DATES if fact in found)]:
            values.append(value)
            if isinstance(said := note.known.get(fact), date):
                known.setdefault(value, []).append(said)
    return labels.choose_formats(values, known)


_INTRODUCTION = """\
# Proposed by `clinaudit template learn` from one note each of {patients} patients. Review it before you use it, and
# before it leaves this machine: its words are those of your notes. Each was found for at least 5% of the
# patients, and for no fewer than 5; a header that a shipped profile knows for 2 or more. A comment says for how many.
# What is wrong, change or delete: docs/note-templates.md says how.
"""
_FACT_WORDS = {
    "chief_complaint": "tier encounter_cc has nobody",
    "hpi": "tier encounter_cc_hpi has nobody",
    "name": "the tiers know the name from a table alone",
}


def profile_text(proposal: Proposal, *, name: str = "proposed") -> str:
    """Return the profile."""
    lines = [_INTRODUCTION.format(patients=proposal.patients), f"name = {_text(name)}", ""]
    lines += [*_settings(proposal), *_sections(proposal), *_pattern_lines(proposal), *_fields(proposal)]
    return "\n".join(lines) + "\n"


def _settings(proposal: Proposal) -> Iterator[str]:
    if not proposal.order_is_certain:
        yield "# CHECK: no date tells day from month, or dates of both orders occur. If 03/04/2024 is in April,"
        yield "# exchange %m and %d; where both occur, write a layout for each."
    yield f"date_formats = {_list(proposal.date_formats)}"
    yield f"header_styles = {_list(proposal.headers.styles)}"
    others = [use for use in proposal.labels if use.fact is None]
    if others:
        yield "# Labels of no fact: they end the value before them. If one holds a fact, move it to that fact's field."
        yield _counted("other_labels", {use.label: use.patients for use in others}, proposal.patients)
    for use in others:
        if use.unread:
            yield f"# CHECK: the dates behind {_text(use.label)} are not read (docs/note-templates.md, Dates)."
    absent = sorted(FACTS - proposal.placed)
    for fact in absent:
        if fact in _FACT_WORDS:
            yield f"# CHECK: nothing was found that holds the {fact}: {_FACT_WORDS[fact]}."
    yield f"not_in_notes = {_list(absent)}"


def _headers_by_section(proposal: Proposal) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """Return the headers of each section and its leaves, with their patients, in the order of the notes."""
    fact_of = {header: fact for fact, headers in proposal.under.items() for header in headers}
    sections: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    for header, found in proposal.headers.patients.items():
        if header not in known_words().ambiguous:
            known, fact = known_words().headers.get(header), fact_of.get(header)
            name, is_leaf = (header.title(), False) if known is None else (known.section, known.is_leaf)
            if fact in _SECTIONS and (known is None or fact != "medications"):
                name, is_leaf = _SECTIONS[fact], False
            sections.setdefault(name, ({}, {}))[is_leaf][header] = found
    # A section of leaves alone would have no header to open it.
    return {name: (headers or leaves, leaves if headers else {}) for name, (headers, leaves) in sections.items()}


def _sections(proposal: Proposal) -> Iterator[str]:
    sections, patients = _headers_by_section(proposal), proposal.headers.patients
    yield "\n# Sections, in the order of the notes."
    for name, (headers, leaves) in sections.items():
        yield "\n[[sections]]"
        yield f"name = {_text(name)}"
        for key, words in (("headers", headers), ("leaves", leaves)):
            if words:
                yield _counted(key, words, proposal.patients)
    if ambiguous := {header: found for header, found in patients.items() if header in known_words().ambiguous}:
        yield "\n# Body systems: they belong to the last of these sections before them."
        yield "[ambiguous]"
        yield f"parents = {_list(name for name in known_words().parents if name in sections)}"
        yield _counted("leaves", ambiguous, proposal.patients)
    for header in sorted(known_words().templated.intersection(patients))[:1]:
        yield "\n# Everything under this header counts as boilerplate, up to the next header."
        yield f"[templated]\nheader = {_text(header)}"


def _fields(proposal: Proposal) -> Iterator[str]:
    by_label: dict[str, list[tuple[str, str]]] = {}
    for use in proposal.labels:
        if use.fact is not None:
            why = share(use.patients, proposal.patients)
            if use.of:
                why += f"; a table has the same value for {use.confirmed} of {use.of}"
            by_label.setdefault(use.fact, []).append((use.label, why))
    for fact in sorted({*by_label, *proposal.under}):
        yield f"\n[fields.{fact}]"
        if fact in by_label:
            yield "labels = ["
            yield from (f"  {_text(label)},  # {why}" for label, why in by_label[fact])
            yield "]"
        if fact in proposal.under:
            headers = {header: proposal.headers.patients[header] for header in proposal.under[fact]}
            yield _counted("headers", headers, proposal.patients)


def _pattern_lines(proposal: Proposal) -> Iterator[str]:
    for item, found in proposal.patterns:
        where = "anywhere in the note" if item.in_whole_note else "in the banner, without a label"
        yield f"\n# Found {where}: {share(found, proposal.patients)}."
        yield "[[patterns]]" + ('\nwhere = "note"' if item.in_whole_note else "")
        is_plain = "'''" not in item.regex and not item.regex.endswith("'") and item.regex.isprintable()
        yield f"regex = '''{item.regex}'''" if is_plain else f"regex = {_text(item.regex)}"


def _counted(key: str, words: Mapping[str, int], patients: int) -> str:
    """Return an entry of words, each with the share of the patients whose note has it."""
    items = (f"  {_text(word)},  # {share(found, patients)}" for word, found in words.items())
    return "\n".join([f"{key} = [", *items, "]"])


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    # JSON's escapes are those of a basic string of TOML, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
