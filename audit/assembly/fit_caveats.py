"""The caveats of a note template or a patients table that does not fit the notes: a poor fit must not read as no leak.

Owns the words, without counts and without a word of the corpus or the template: they are published. Knows nothing of
how fit is measured.
"""

from collections.abc import Collection, Mapping
from typing import Final

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.profile_fit import MINIMUM_SHARE, Kind
from clinaudit.priors.table_fit import measure_table_fit
from clinaudit.priors.text_fit import measure_whole_fit
from clinaudit.templates.profile import NoteProfile

_LESS: Final = "A model that is asked so may give less than it holds."
_WORDS: Final[Mapping[Kind, str]] = {
    Kind.TABLE_OF_OTHERS: (
        "For many patients nothing shows that their row of the patients table is their own. Their notes have another "
        "name, date of birth or sex, as where a table is joined to other patients, or have none of these. Prompts of "
        "background facts may ask about somebody else, and then show nothing of what the model holds."
    ),
    Kind.TABLE_DIFFERS: "For many patients the notes have another value than the patients table, or none ({subjects}).",
    Kind.NO_LAYOUT: "Many notes fit no layout of the note template, and were read under its last one. " + _LESS,
    Kind.LAYOUT_UNUSED: "Some layout of the note template fits no note: its signature or required facts may be wrong.",
    Kind.FACT_MISSING: "The note template does not find these facts in many notes: {subjects}. " + _LESS,
    Kind.VALUE_UNREAD: "Many values that the note template finds are not what they should be: {subjects}. " + _LESS,
    Kind.VALUE_REPEATED: "The note template finds one and the same value in most notes: {subjects}. " + _LESS,
    Kind.DATE_ORDER_UNTOLD: "Whether day or month comes first in the notes' dates cannot be told: {subjects}.",
    Kind.DATE_ORDER_OTHER: "Many dates can be read only with day and month exchanged: {subjects}. " + _LESS,
    Kind.BIRTH_AFTER_VISIT: "Many dates of birth are after the visit: the note template may exchange the two.",
    Kind.FACT_DENIED: (
        "The note template says that these facts do not stand in the notes, and they do: {subjects}. Prompts may show "
        "what their tier may not know."
    ),
    Kind.NOT_PLAIN: "Many notes are RTF or HTML, in which the note template finds few headers and facts. " + _LESS,
    Kind.NO_HEADER: "Many notes have no header of the note template: sections and fragments of notes are few or wrong.",
}


def find_fit_caveats(facts: Collection[PatientFacts], profile: NoteProfile) -> list[str]:
    """Return a caveat for each kind of problem that touches more than a tenth of what it is about."""
    by_id = {known.patient_id: known for known in facts}
    findings = [*measure_table_fit(facts).findings, *measure_whole_fit(by_id, profile).findings]
    subjects: dict[Kind, list[str]] = {}
    for finding in findings:
        # Fewer would tell of single patients.
        if finding.level == "problem" and finding.kind in _WORDS and finding.found < MINIMUM_SHARE * finding.of:
            subjects.setdefault(finding.kind, []).append(finding.subject)
    return [_WORDS[kind].format(subjects=", ".join(dict.fromkeys(named))) for kind, named in subjects.items()]
