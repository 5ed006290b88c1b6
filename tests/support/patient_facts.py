"""Facts read from a small corpus of one patient, and what writes prompts of them (a character is a token)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from support.corpus_tables import write_tables

from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import FactReader, PatientFacts
from clinaudit.priors.fragments import Draft, quote_opening
from clinaudit.priors.prompts import NO_FINDINGS, PromptWriter, Revealed
from clinaudit.priors.tiers import TIERS
from clinaudit.templates.profile import NoteProfile, load_profile

PROFILE = load_profile()
TIER = {tier.id: tier for tier in TIERS}

NOTE = (
    "patient: Ada Lund\ndob: 02/03/1960\nvisit date: 05/01/2024\nroom: 4\nprovider: Jo Ek, MD\nlocation: Elm Clinic\n"
    "CC: low mood\nhpi: 64-year-old female, tired.\nros:\npsychiatric: negative for anxiety.\n"
    "social history:\nmarital status: widowed\noccupation: cook\nchildren: 3\n"
    "current medications:\n- sertraline 50 mg daily\n- metformin 500 mg, twice daily; aspirin\n"
    "last reviewed on 5/01/2024 by Ek, Jo\nplan: rest\n"
)


def corpus_of(directory: Path, notes: Iterable[Mapping[str, object]], patients: str | None = None) -> Corpus:
    return read_corpus(write_tables(directory, notes=notes, patients=patients))


def note_rows(texts: Iterable[tuple[str, str]]) -> list[dict[str, object]]:
    """Return a row of the notes table for each patient and text."""
    return [{"patient_id": patient, "note_id": patient, "text": text} for patient, text in texts]


def facts_of_notes(directory: Path, *texts: str) -> PatientFacts:
    """Return the facts of one patient with these notes `n0`, `n1`, ..., oldest first."""
    rows = [
        {"patient_id": "p", "note_id": f"n{place}", "text": text, "visit_date": f"2024-0{place + 1}-01"}
        for place, text in enumerate(texts)
    ]
    return FactReader(PROFILE).read(corpus_of(directory, rows), "p")


def facts_of(tmp_path: Path, text: str, patients: str | None = None, **columns: object) -> PatientFacts:
    corpus = corpus_of(tmp_path, [{"patient_id": "p", "note_id": "n", "text": text, **columns}], patients)
    return FactReader(PROFILE).read(corpus, "p")


def opening(tmp_path: Path, note: str, tier: str, **columns: object) -> Draft:
    found = quote_opening(facts_of(tmp_path, note, **columns), TIER[tier])
    assert isinstance(found, Draft)
    return found


def writer_of(
    profile: NoteProfile = PROFILE,
    *,
    panel: Sequence[Diagnosis] = (),
    before_prompt: int = 0,
    limit: int = 1000,
    context: int = 10**6,
    revealed: Revealed = NO_FINDINGS,
) -> PromptWriter:
    """`before_prompt`: the tokens that a tokenizer puts before a text."""
    return PromptWriter(
        profile,
        panel=panel,
        count_prompt_tokens=lambda text: len(text) + before_prompt,
        encode=list,
        max_new_tokens=limit,
        context_length=context,
        revealed=revealed,
    )
