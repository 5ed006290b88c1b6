"""What the text of the notes says against a note-template profile: facts that it calls absent, and texts not plain.

Owns the search for what `not_in_notes` denies, by the words and shapes with which `template learn` finds facts. Knows
nothing of prompts. Findings hold words of the profile and counts; never a note's text or a patient's id.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.profile_fit import MINIMUM_SHARE, Finding, Kind, ProfileFit, measure_fit
from clinaudit.templates.learning.known_words import fact_of_label
from clinaudit.templates.learning.proposal import LayoutSearch
from clinaudit.templates.learning.sample import MINIMUM_PATIENTS, MOST, SampleNote
from clinaudit.templates.markup import HOW_TO_READ, form_of
from clinaudit.templates.names import NO_LAYOUT, named_layout
from clinaudit.templates.note_fields import placed_sources
from clinaudit.templates.profile import Layout, NoteProfile
from clinaudit.templates.sections import normalize_newlines

#: More of a layout's notes tell no more of what stands in most.
_MOST_NOTES: Final = 100
#: Facts whose shape alone tells them in a banner.
_SHAPED: Final = frozenset({"name", "dob", "age", "sex", "visit_date"})


def measure_whole_fit(facts: Mapping[str, PatientFacts], profile: NoteProfile) -> ProfileFit:
    """Return how the profile fits the notes asked with, and what their text says against it, problems first."""
    fit = measure_fit(facts, profile)
    sources = [source for known in facts.values() for source in known.sources]
    rules = {layout.name: layout for layout in profile.layouts}
    found = [*fit.findings]
    for name in {known.layout: None for known in sources if known.layout != NO_LAYOUT}:
        patients = [known for known in sources if known.layout == name]
        patients = patients[:: -(-len(patients) // _MOST_NOTES)]
        found += [*_denied(rules.get(name, profile.layouts[-1]), patients), *_not_plain(patients)]
    return replace(fit, findings=tuple(sorted(found, key=lambda finding: finding.level != "problem")))


def _denied(layout: Layout, patients: Sequence[PatientFacts]) -> Iterator[Finding]:
    """Yield the facts that the layout says do not stand in its notes, and that stand in most."""
    denied = layout.fields.keys() - placed_sources(layout).keys()
    name = patients[0].layout
    for fact, found in sorted(_standing(patients).items() if denied else ()):
        if fact in denied and found > MOST * len(patients):
            text = (
                f"{named_layout(name)}: not_in_notes names {fact}, and {found} of {len(patients)} notes looked at hold "
                "it; say where it stands: prompts may hold it at tiers that do not know it"
            )
            yield Finding(Kind.FACT_DENIED, "problem", name, fact, len(patients) - found, len(patients), text)


def _standing(patients: Sequence[PatientFacts]) -> Counter[str]:
    """Return facts -> notes that hold them, as the learner finds them."""
    notes = [SampleNote(normalize_newlines(known.note), {}) for known in patients]
    layout = LayoutSearch(notes, least=MINIMUM_PATIENTS).layout_of(range(len(notes)))
    counts = Counter[str]()
    if layout is not None:
        # What a value only looks like may be another fact: the words of its label tell.
        told = {use.fact: use.patients for use in layout.labels if use.fact and fact_of_label(use.label) == use.fact}
        shaped = {fact: line.patients for line in layout.lines for fact in line.facts if fact in _SHAPED}
        headers = {fact: layout.headers.patients[words[0]] for fact, words in layout.under.items()}
        counts.update({**headers, **shaped, **told})
    return counts


def _not_plain(patients: Sequence[PatientFacts]) -> Iterator[Finding]:
    name, forms = patients[0].layout, (form_of(known.note) for known in patients)
    for form, found in sorted(Counter(form for form in forms if form is not None).items()):
        level: Literal["problem", "note"] = "problem" if found > (1 - MINIMUM_SHARE) * len(patients) else "note"
        text = (
            f"{named_layout(name)}: {found} of {len(patients)} notes looked at are {form}, or hold it; headers and "
            f"facts are looked for in plain text. If the model learned them as plain text, {HOW_TO_READ}"
        )
        yield Finding(Kind.NOT_PLAIN, level, name, "sections", len(patients) - found, len(patients), text)
