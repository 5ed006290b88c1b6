"""`check --show`: one patient's prompts, and the latest note with its sections and templated text (PHI; terminal).

What a note holds is printed as text: it steers no terminal and is no markup.
"""

from collections.abc import Iterator, Mapping

from rich.text import Text

from clinaudit.audit.preview.prompt_fit import unlimited_writer, write_unscrubbed
from clinaudit.audit.preview.survey_text import also_shows_text, reason_words
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.facts import FactReader, identity_reader
from clinaudit.priors.table_agreement import Standing
from clinaudit.priors.tiers import Fact
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.templates.note import LaidOutNote, NoteReader
from clinaudit.templates.profile import load_profile

_HEAD, _TEMPLATED, _WARNING = "bold", "dim underline", "bold red"
_WORDS: Mapping[Standing, str] = {
    Standing.STANDS: "stands in the notes",
    Standing.DIFFERS: "the notes have another, or none",
    Standing.UNTOLD: "not told by the notes",
}


def patient_view(settings: AuditSettings, patient_id: str) -> Iterator[Text]:
    """Yield what is known of a patient and asked about them, a text a line or block.

    Raises `BadInputError` where the corpus has no notes of such a patient.
    """
    profile = load_profile(settings.template)
    corpus = read_corpus(settings.corpus, stated=identity_reader(profile))
    if patient_id not in corpus.ids:
        raise BadInputError("--show names no patient of the corpus who has notes; give a patient_id as it stands there")
    facts = FactReader(profile).read(corpus, corpus.ids[patient_id])
    note = NoteReader(profile).read(facts.note)
    writer = unlimited_writer(profile, max_new_tokens=settings.max_new_tokens)
    yield Text("PHI: this screen shows a patient's own notes. Close it, and keep no copy.", _WARNING)
    yield Text(f"layout: {harmless_text(facts.layout)}")
    yield Text(f"in the latest note: {_list(sorted(facts.in_note))}")
    if facts.in_prose:
        yield Text(f"in its prose alone: {_list(sorted(facts.in_prose))}")
    missing = sorted(facts.placed - facts.in_note.keys() - facts.in_prose.keys())
    if missing:
        yield Text(f"placed by the template, and not found: {_list(missing)}")
    for fact, standing in facts.table.items():
        said = f"patients table, {fact}: {_WORDS[standing]}"
        yield Text(said, _WARNING if standing is Standing.DIFFERS else "")
    for prior in write_unscrubbed(facts, settings.probed, writer):
        fit = {True: "fits, as far as this patient tells", False: "does not fit the notes", None: ""}[prior.unbroken]
        shows = f", also shows: {also_shows_text(prior.also_shows)}" if prior.also_shows else ""
        older = ", of an earlier note: the latest lacks the tier's facts" if prior.earlier_note else ""
        said = f"excluded: {reason_words(prior.tier, prior.reason or '')}" if prior.excluded else fit + shows + older
        yield Text(f"\n── {prior.tier}, {prior.form}: {said}", _HEAD)
        if prior.prompt:
            yield _block(prior.prompt)
    yield Text("\n── the latest note, by section; templated text is underlined", _HEAD)
    for section in note.sections:
        yield Text(f"[{harmless_text(section.name)}]", _HEAD)
        yield _marked(note, section.span_chars.start, section.span_chars.end)
    yield Text("PHI: this screen shows a patient's own notes. Close it, and keep no copy.", _WARNING)


def _list(facts: list[Fact]) -> str:
    return ", ".join(facts) or "nothing"


def _block(text: str) -> Text:
    return Text("\n".join(map(harmless_text, text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))))


def _marked(note: LaidOutNote, start: int, end: int) -> Text:
    block = _block(note.text[start:end])
    at = start
    while at < end:
        stop = at
        while stop < end and note.templated[stop] == note.templated[at]:
            stop += 1
        if note.templated[at]:
            block.stylize(_TEMPLATED, at - start, stop - start)
        at = stop
    return block
