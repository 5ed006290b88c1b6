"""`check --show`: one patient's prompts, and the latest note with its sections and templated text (PHI; terminal).

What a note holds is printed as text: it steers no terminal.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby

import click

from clinaudit.audit.preview.survey import also_shows_text, reason_words, unlimited_writer
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.facts import FactReader, identity_reader
from clinaudit.priors.table_agreement import Standing
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile

_WARNING = click.style("PHI: this screen shows a patient's own notes. Close it, and keep no copy.", fg="red", bold=True)
_WORDS: Mapping[Standing, str] = {
    Standing.STANDS: "stands in the notes",
    Standing.DIFFERS: "the notes have another, or none",
    Standing.UNTOLD: "not told by the notes",
}


def patient_view(settings: AuditSettings, patient_id: str) -> Iterator[str]:
    """Yield what is known of a patient and asked about them, a text a line or block, with a terminal's styles.

    Raises `BadInputError` where the corpus has no notes of such a patient.
    """
    profile = load_profile(settings.template)
    corpus = read_corpus(settings.corpus, stated=identity_reader(profile))
    if patient_id not in corpus.ids:
        raise BadInputError("--show names no patient of the corpus who has notes; give a patient_id as it stands there")
    facts = FactReader(profile).read(corpus, corpus.ids[patient_id])
    note = NoteReader(profile).read(facts.note)
    yield _WARNING
    yield f"layout: {harmless_text(facts.layout)}"
    found = {
        "in the latest note": facts.in_note.keys(),
        "in its prose alone": facts.in_prose.keys(),
        "placed by the template, and not found": facts.placed - facts.in_note.keys() - facts.in_prose.keys(),
    }
    yield from (f"{where}: {', '.join(sorted(of))}" for where, of in found.items() if of)
    yield from (f"patients table, {fact}: {_WORDS[standing]}" for fact, standing in facts.table.items())
    writer = unlimited_writer(profile, max_new_tokens=settings.max_new_tokens)
    for prior in (prior for tier in settings.probed.tiers for prior in writer.write(facts, tier, (), "text")):
        fit = {True: "fits, as far as this patient tells", False: "does not fit the notes", None: ""}[prior.unbroken]
        shows = f", also shows: {also_shows_text(prior.also_shows)}" if prior.also_shows else ""
        older = ", of an earlier note: the latest lacks the tier's facts" if prior.earlier_note else ""
        said = f"excluded: {reason_words(prior.tier, prior.reason or '')}" if prior.excluded else fit + shows + older
        yield click.style(f"\n── {prior.tier}, {prior.form}: {said}", bold=True)
        if prior.prompt:
            yield _block(prior.prompt)
    yield click.style("\n── the latest note, by section; templated text is underlined", bold=True)
    for section in note.sections:
        yield click.style(f"[{harmless_text(section.name)}]", bold=True)
        span = range(section.span_chars.start, section.span_chars.end)
        runs = [(templated, list(run)) for templated, run in groupby(span, key=lambda at: bool(note.templated[at]))]
        texts = [(templated, _block(note.text[run[0] : run[-1] + 1])) for templated, run in runs]
        yield "".join(click.style(text, dim=True, underline=True) if templated else text for templated, text in texts)
    yield _WARNING


def _block(text: str) -> str:
    return "\n".join(map(harmless_text, text.replace("\r\n", "\n").replace("\r", "\n").split("\n")))
