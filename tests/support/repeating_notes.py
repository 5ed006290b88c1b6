"""Notes that repeat themselves, their corpus, and prompts of them."""

from pathlib import Path

import polars as pl
from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.measures.generation.stage import Decoding, make_prompt_writer, plan_prompts
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import read_facts
from clinaudit.priors.tiers import ProbedTiers

QUIET = Progress(quiet=True)
HEAD = "patient: Ada Lund\ndob: 02/03/1960\nvisit date: 05/01/2024\nprovider: Jo Ek, MD\ncc: cough\n"
LINE = "left knee: no swelling, no warmth, full range of motion, no tenderness at rest.\n"
OTHER = "right hip: pain on rotation since Monday, gait slow, uses a stick outdoors.\n"
#: A note that says one line twice.
REPEATING = f"{HEAD}hpi:\n{LINE}{OTHER}{LINE}plan: rest\n"
PLAIN = f"{HEAD}hpi:\n{LINE}{OTHER}plan: rest\n"


def corpus_with(directory: Path, notes: dict[str, list[str]]) -> Corpus:
    return corpus_of(
        directory,
        [
            {"patient_id": patient, "note_id": f"{patient}{at}", "text": text}
            for patient, texts in notes.items()
            for at, text in enumerate(texts)
        ],
    )


def plan(corpus: Corpus, tokenizer: ModelTokenizer) -> tuple[pl.DataFrame, Decoding]:
    """Return the prompts of all patients that end before the history of present illness."""
    model = AuditedModel(
        engine="transformers",
        digest="",
        tokenizer_directory=tokenizer.directory,
        tokenizer_digest="",
        context_length=4000,
        files=None,
        served=None,
        approved_hosts=(),
    )
    decoding = Decoding(model, tokenizer, max_new_tokens=1000)
    prompts = plan_prompts(
        dict.fromkeys(corpus.patients, ()),
        facts=read_facts(corpus, PROFILE, corpus.patients),
        probed=ProbedTiers(("encounter_cc",)),
        writer=make_prompt_writer(PROFILE, panel=(), decoding=decoding),
    )
    return prompts, decoding
