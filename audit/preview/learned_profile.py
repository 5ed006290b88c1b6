"""A note-template profile that is learned from a corpus (`clinaudit template learn`), and what it leaves open.

The preview holds words of the profile and counts; never a note's text or a patient's name.
"""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from clinaudit.audit.preview.fit import find_misfits
from clinaudit.audit.runtime.run.directory import write_atomically
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.facts import read_facts
from clinaudit.priors.tiers import TIERS, Fact
from clinaudit.templates.learning import MINIMUM_PATIENTS, LearningSample
from clinaudit.templates.learning.proposal import profile_text, propose_profile
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.profile import NoteProfile, read_profile
from clinaudit.templates.shown_text import HOW_TO_BREAK, HOW_TO_READ, form_of, show, unbroken_form

#: More notes tell no more about how they are laid out.
MOST_PATIENTS = 2000
_WANTED = frozenset(fact for tier in TIERS if tier.is_fragment for fact in tier.facts)


@dataclass(frozen=True, slots=True)
class LearnedProfile:
    """A profile that was written."""

    profile: NoteProfile
    #: What `clinaudit template learn` prints.
    preview: str


def learn_profile(corpus_path: Path, out: Path) -> LearnedProfile:
    """Write the profile that the latest notes of a corpus suggest to the new file `out`.

    Raises `BadInputError` where `out` exists, or the notes share no headers; and as `read_corpus` does.
    """
    _require_free(out)
    if not out.parent.is_dir():
        raise BadInputError(f"there is no folder {out.parent.name} for {out.name}; make it, or give --out another path")
    corpus = read_corpus(corpus_path)
    patients = list(corpus.patients)
    if len(patients) > MOST_PATIENTS:  # as many as are read of a large corpus, evenly over all
        patients = [patients[place * len(patients) // MOST_PATIENTS] for place in range(MOST_PATIENTS)]
    sample = [_sample(corpus, patient_id) for patient_id in patients]
    proposal = propose_profile(sample)
    if proposal is None:
        # In what form notes are that keeps their headers from being found, and what reads them.
        reasons = []
        for find, said in (
            (form_of, f"are {{}}, or hold it: {HOW_TO_READ}"),
            (unbroken_form, f"have {{}}: {HOW_TO_BREAK}"),
        ):
            forms = Counter(form for note in sample if (form := find(note.text)) is not None)
            reasons += [f"{found} notes {said.format(form)}" for form, found in sorted(forms.items())]
        hint = (
            "What keeps them from being found is listed"
            if reasons
            else "If your notes have headers that a reader sees, write a profile by hand (docs/note-templates.md)"
        )
        raise BadInputError(
            f"the notes of {len(patients)} patients have no structure that recurs: fewer than half of them share two "
            f"headers, or fewer than {MINIMUM_PATIENTS} do. No profile was written, and without headers no prompt can "
            f"quote a note. {hint}",
            reasons,
        )
    # A profile's name is of letters, digits, blanks and hyphens.
    name = re.sub(r"[^\w -]+", " ", out.stem).strip() or "proposed"
    text = profile_text(proposal, name=name)
    profile = read_profile(text, out.name)
    _, findings = find_misfits(read_facts(corpus, profile, patients), profile)
    more = f" (of {len(corpus.patients)})" if len(patients) < len(corpus.patients) else ""
    shown = [f"Read the latest note of {len(patients)} patients{more}."]
    if absent := ", ".join(fact for fact in Fact if fact in _WANTED and fact not in proposal.placed):
        shown.append(f"No place was found for {absent}: prompts leave them out.")
    # Another process may have made it meanwhile.
    _require_free(out)
    # It may name a site's headers, and is for its owner alone until it has been reviewed.
    write_atomically(out, text)
    return LearnedProfile(profile, "\n".join([*shown, *(finding.text for finding in findings)]))


def _require_free(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise BadInputError(
            f"{out.name} exists, and is not overwritten; give --out another name, or move the file away"
        )


def _sample(corpus: Corpus, patient_id: str) -> LearningSample:
    patient, latest = corpus.patients[patient_id], corpus.latest_note(patient_id)
    said: dict[str, str | date | None] = {
        "name": patient.name,
        "dob": patient.dob,
        "age": None if patient.age is None or patient.age_is_pooled else str(patient.age),
        "sex": patient.sex,
        "marital_status": patient.marital_status,
        "occupation": patient.occupation,
        "visit_date": latest.visit_date,
        "provider": latest.provider,
        "practice": latest.practice,
    }
    text = show(normalize_newlines(latest.text)).text
    return LearningSample(text, {fact: value for fact, value in said.items() if value})
