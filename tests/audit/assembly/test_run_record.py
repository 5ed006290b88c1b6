"""Digests of a run: of its prompts, whatever a control model was asked, and of what stays hidden."""

import hashlib
from pathlib import Path

from support.patient_facts import NOTE, facts_of, writer_of

from clinaudit.audit.assembly.run_record import audited_prompts, hidden_digest
from clinaudit.audit.measures.generation.stage import plan_prompts
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.renderings import ProbedTiers

TIERS = ("public", "encounter_cc")


def test_a_control_model_s_prompts_are_not_in_the_digest_and_all_others_are(tmp_path):
    def prompts_of(probed: ProbedTiers) -> bytes:
        writer = writer_of(panel=load_panel(), limit=1000, context=10**6)
        facts = {"p": facts_of(tmp_path, NOTE.replace("CC: low mood", "CC: depression follow-up"))}
        return audited_prompts(plan_prompts({"p": ("depression",)}, facts=facts, probed=probed, writer=writer))

    asked = prompts_of(ProbedTiers(TIERS))
    assert prompts_of(ProbedTiers(TIERS, asks_control=True)) == asked
    assert prompts_of(ProbedTiers(TIERS[:1])) != asked
    assert b"depression follow-up" in asked


def write_corpus(folder: Path, *texts: str) -> Corpus:
    folder.mkdir()
    rows = [f"p{place},n{place},{text}" for place, text in enumerate(texts)]
    (folder / "notes.csv").write_text("\n".join(["patient_id,note_id,text", *rows]) + "\n", encoding="utf-8")
    return read_corpus(folder)


def test_a_hidden_digest_is_the_same_on_one_corpus_and_another_on_another(tmp_path):
    same, again = (
        write_corpus(tmp_path / "a", "cc: cough", "cc: fall"),
        write_corpus(tmp_path / "b", "cc: cough", "cc: fall"),
    )
    other = write_corpus(tmp_path / "c", "cc: cough", "cc: fall.")
    digest = hidden_digest(same, b"p0\np1\n")
    assert digest == hidden_digest(again, b"p0\np1\n")
    others = {hidden_digest(other, b"p0\np1\n"), hidden_digest(same, b"p0\n"), hashlib.sha256(b"p0\np1\n").hexdigest()}
    assert digest not in others
    assert len(others) == 3
