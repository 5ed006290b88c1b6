"""A proposed profile as a TOML file whose comments say why each entry is proposed, and for how many patients.

It holds words and shares of patients; the text of no note.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from clinaudit.templates.learning import share
from clinaudit.templates.learning.proposal import Proposal

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
    lines += [*_settings(proposal), *_sections(proposal), *_patterns(proposal), *_fields(proposal)]
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
    for fact in proposal.absent:
        if fact in _FACT_WORDS:
            yield f"# CHECK: nothing was found that holds the {fact}: {_FACT_WORDS[fact]}."
    yield f"not_in_notes = {_list(proposal.absent)}"


def _sections(proposal: Proposal) -> Iterator[str]:
    yield "\n# Sections, in the order of the notes."
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
    if proposal.headers.doubtful:
        yield "\n# These stand where headers do; no shipped profile has them. Add to a section those that are headers:"
        yield from (
            f"#   {_text(word)}  {share(found, proposal.patients)}" for word, found in proposal.headers.doubtful.items()
        )


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


def _patterns(proposal: Proposal) -> Iterator[str]:
    for use in proposal.patterns:
        where = "anywhere in the note" if use.in_whole_note else "in the banner, without a label"
        yield f"\n# Found {where}: {share(use.patients, proposal.patients)}."
        yield "[[patterns]]" + ('\nwhere = "note"' if use.in_whole_note else "")
        yield f"regex = {_regex(use.regex)}"


def _counted(key: str, words: Mapping[str, int], patients: int) -> str:
    """Return an entry of words, each with the share of the patients whose note has it."""
    items = (f"  {_text(word)},  # {share(found, patients)}" for word, found in words.items())
    return "\n".join([f"{key} = [", *items, "]"])


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    # JSON's escapes are those of a basic string of TOML, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _regex(regex: str) -> str:
    plain = "'''" not in regex and not regex.endswith("'") and regex.isprintable()
    return f"'''{regex}'''" if plain else _text(regex)
