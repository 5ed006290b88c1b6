"""Facts that a note template finds in the wrong place for most notes of a layout: what is found there is doubtful.

That shows over many patients only: a date that no format reads, one name for everybody. Owns which findings make a fact
doubtful; a prompt that rests on one does not fit its patient. Knows nothing of prompts.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.profile_fit import MINIMUM_SHARE, Kind, measure_fit
from clinaudit.priors.tiers import HISTORY, Fact
from clinaudit.templates.profile import NoteProfile

_KINDS: Final = frozenset({Kind.VALUE_UNREAD, Kind.VALUE_REPEATED, Kind.DATE_ORDER_OTHER, Kind.BIRTH_AFTER_VISIT})
_DATES: Final = frozenset({Fact.DOB, Fact.VISIT_DATE})


def mark_doubtful_facts(facts: Mapping[str, PatientFacts], profile: NoteProfile) -> dict[str, PatientFacts]:
    """Return the facts of all patients (by id), with those marked that are doubtful in the layout of their note."""
    doubtful: dict[str, set[Fact]] = {}
    rare: dict[str, set[Fact]] = {}
    for finding in measure_fit(facts, profile).findings:
        if finding.kind in _KINDS and finding.layout is not None and finding.found < MINIMUM_SHARE * finding.of:
            marked = doubtful.setdefault(finding.layout, set())
            marked.add(Fact(finding.subject))
            if finding.kind is Kind.BIRTH_AFTER_VISIT:
                marked |= _DATES
        elif finding.kind is Kind.FACT_MISSING and finding.layout is not None and 2 * finding.found < finding.of:
            # A section may be missing from a note; from most notes of a layout it is missing for the template alone.
            rare.setdefault(finding.layout, set()).update(HISTORY.intersection({finding.subject}))
    return {patient_id: _mark(known, doubtful, rare) for patient_id, known in facts.items()}


def _mark(
    known: PatientFacts, by_layout: Mapping[str, set[Fact]], rare_by_layout: Mapping[str, set[Fact]]
) -> PatientFacts:
    doubtful, rare = (of.get(known.layout, set()) for of in (by_layout, rare_by_layout))
    # Without an age or a date of birth in the table the age follows from the note's dates.
    follows = {Fact.AGE} if doubtful & _DATES and known.from_table.isdisjoint({Fact.AGE, Fact.DOB}) else set()
    earlier = {tier: _mark(older, by_layout, rare_by_layout) for tier, older in known.earlier.items()}
    return replace(known, doubtful=frozenset(doubtful | follows), rarely_found=frozenset(rare), earlier=earlier)
