"""The reading of one patient of a corpus for `check --show`. Owns what of it is needed; prints nothing."""

import tempfile
from pathlib import Path

from clinaudit.audit.settings import AuditSettings
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.facts import FactReader, PatientFacts, identity_reader
from clinaudit.priors.prompt_fit import unlimited_writer
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.templates.note import NoteReader, NoteText
from clinaudit.templates.profile import load_profile


def read_patient(settings: AuditSettings, patient_id: str) -> tuple[PatientFacts, NoteText, ProbedTiers, PromptWriter]:
    """Return one patient's facts and latest note, and what writes the prompts; raises `BadInputError` for no such."""
    profile = load_profile(settings.template)
    corpus = read_corpus(settings.corpus, scratch=Path(tempfile.gettempdir()), stated=identity_reader(profile))
    if patient_id not in corpus.ids:
        raise BadInputError("--show names no patient of the corpus who has notes; give a patient_id as it stands there")
    facts = FactReader(profile).read(corpus, corpus.ids[patient_id])
    note = NoteReader(profile).read(facts.latest.note_id, facts.note)
    writer = unlimited_writer(profile, max_new_tokens=settings.max_new_tokens)
    return facts, note, settings.probed, writer
