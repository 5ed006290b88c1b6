"""A proposed profile as a TOML file whose comments say why each entry is proposed, and for how many patients.

It holds words and shares of patients; the text of no note.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from clinaudit.templates.learning import frequency_class
from clinaudit.templates.learning.proposal import Proposal, ProposedLayout

_INTRODUCTION = """\
# Proposed by `clinaudit template learn` from one note each of {patients} patients. Review it before you use it, and
# before it leaves this machine: its words are those of your notes. Each was found for at least 5% of a layout's
# patients, and for no fewer than 5; a header that a shipped profile knows for 2 or more. A comment says for how many.
# What is wrong, change or delete: docs/note-templates.md says how.
"""
_FACT_WORDS = {
    "chief_complaint": "tier encounter_cc has nobody",
    "hpi": "tier encounter_cc_hpi has nobody",
    "name": "the tiers know the name from a table alone",
}


def profile_text(proposal: Proposal, *, name: str = "proposed") -> str:
    """Return the profile; the proposal must have a layout."""
    # A layout that a signature tells is not that of the notes that are left.
    several = len(proposal.layouts) > 1 or proposal.layouts[0].signature is not None
    lines = [_INTRODUCTION.format(patients=proposal.patients), f"name = {_text(name)}"]
    if proposal.strays:
        left = f"# The notes of {proposal.strays} patients are of no layout that recurs; nothing is from them.\n"
        lines.insert(1, left)
    if not several:
        lines += ["", *_settings(proposal.layouts[0])]
    lines += _sections(proposal)
    if several:
        for number, layout in enumerate(proposal.layouts, start=1):
            lines += ["", *_layout(number, layout, proposal.patients)]
    else:
        lines += [*_patterns(proposal.layouts[0], "[[patterns]]"), *_fields(proposal.layouts[0], "fields.")]
    return "\n".join(lines) + "\n"


def _settings(layout: ProposedLayout) -> Iterator[str]:
    """Yield the entries that a layout and a whole profile may give."""
    if not layout.order_is_certain:
        yield "# CHECK: no date tells day from month, or dates of both orders occur. If 03/04/2024 is in April,"
        yield "# exchange %m and %d; where both occur, write a layout for each."
    yield f"date_formats = {_list(layout.date_formats)}"
    yield f"header_styles = {_list(layout.headers.styles)}"
    others = [use for use in layout.labels if use.fact is None]
    if others:
        yield "# Labels of no fact: they end the value before them. If one holds a fact, move it to that fact's field."
        yield _counted("other_labels", {use.label: use.patients for use in others}, layout.patients)
    for use in others:
        if use.unread:
            yield f"# CHECK: the dates behind {_text(use.label)} are not read (docs/note-templates.md, Dates)."
    for fact in layout.absent:
        if fact in _FACT_WORDS:
            yield f"# CHECK: nothing was found that holds the {fact}: {_FACT_WORDS[fact]}."
    yield f"not_in_notes = {_list(layout.absent)}"


def _sections(proposal: Proposal) -> Iterator[str]:
    yield "\n# Sections, in the order of the notes. Shares are of all patients."
    for section in proposal.sections:
        yield "\n[[sections]]"
        yield f"name = {_text(section.name)}"
        for key, words in (("headers", section.headers), ("leaves", section.leaves)):
            if words:
                yield _counted(key, words, proposal.patients)
    if proposal.ambiguous:
        yield "\n# Body systems: they belong to the last of these sections before them."
        yield "[ambiguous]"
        yield f"parents = {_list(proposal.parents)}"
        yield _counted("leaves", proposal.ambiguous, proposal.patients)
    if proposal.templated_header is not None:
        yield "\n# Everything under this header counts as boilerplate, up to the next header."
        yield f"[templated]\nheader = {_text(proposal.templated_header)}"
    if proposal.doubtful:
        yield "\n# These stand where headers do; no shipped profile has them. Add to a section those that are headers:"
        yield from (
            f"#   {_text(word)}  {frequency_class(found, proposal.patients)}"
            for word, found in proposal.doubtful.items()
        )


def _layout(number: int, layout: ProposedLayout, patients: int) -> Iterator[str]:
    yield f"# Layout {number}: {frequency_class(layout.patients, patients)}. Shares below are of its patients."
    yield "[[layouts]]"
    yield f"name = {_text(f'layout {number}')}"
    if layout.signature is not None:
        yield f"# In {layout.signature.own} of its {layout.patients} notes, and in {layout.signature.others} others."
        yield f"signature = {_regex(layout.signature.regex)}"
    else:
        yield "# Nothing tells its notes from the others: a note that fits no layout above is read under this one."
    yield from _settings(layout)
    yield from _fields(layout, "fields.", is_nested=True)
    yield from _patterns(layout, "[[layouts.patterns]]")


def _fields(layout: ProposedLayout, prefix: str, *, is_nested: bool = False) -> Iterator[str]:
    by_label: dict[str, list[tuple[str, str]]] = {}
    for use in layout.labels:
        if use.fact is not None:
            why = frequency_class(use.patients, layout.patients)
            if use.of:
                why += f"; a table has the same value for {use.confirmed} of {use.of}"
            by_label.setdefault(use.fact, []).append((use.label, why))
    for fact in sorted({*by_label, *layout.under}):
        # In a layout the fields are dotted keys, since tables of their own could not be followed by its patterns.
        start = f"{prefix}{fact}." if is_nested else ""
        if not is_nested:
            yield f"\n[{prefix}{fact}]"
        if fact in by_label:
            yield f"{start}labels = ["
            yield from (f"  {_text(label)},  # {why}" for label, why in by_label[fact])
            yield "]"
        if fact in layout.under:
            headers = {header: layout.headers.patients[header] for header in layout.under[fact]}
            yield _counted(f"{start}headers", headers, layout.patients)


def _patterns(layout: ProposedLayout, title: str) -> Iterator[str]:
    for use in layout.patterns:
        where = "anywhere in the note" if use.in_whole_note else "in the banner, without a label"
        yield f"\n# Found {where}: {frequency_class(use.patients, layout.patients)}."
        yield title + ('\nwhere = "note"' if use.in_whole_note else "")
        yield f"regex = {_regex(use.regex)}"


def _counted(key: str, words: Mapping[str, int], patients: int) -> str:
    """Return an entry of words, each with the share of the patients whose note has it."""
    items = (f"  {_text(word)},  # {frequency_class(found, patients)}" for word, found in words.items())
    return "\n".join([f"{key} = [", *items, "]"])


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    # JSON's escapes are those of a basic string of TOML, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _regex(regex: str) -> str:
    plain = "'''" not in regex and not regex.endswith("'") and regex.isprintable()
    return f"'''{regex}'''" if plain else _text(regex)
