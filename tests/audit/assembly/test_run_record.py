"""The digest of prompts: runs that differ in what they asked a control model alone can be compared."""

from pathlib import Path

from support.patient_facts import NOTE, facts_of, writer_of

from clinaudit.audit.assembly.run_record import audited_prompts
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.prompts import write_priors
from clinaudit.priors.renderings import ProbedTiers

TIERS = ("public", "encounter_cc")


def test_a_control_model_s_prompts_are_not_in_the_digest_and_all_others_are(tmp_path: Path) -> None:
    def prompts_of(probed: ProbedTiers) -> bytes:
        writer = writer_of(panel=load_panel(), limit=1000, context=10**6)
        facts = {"p": facts_of(tmp_path, NOTE.replace("CC: low mood", "CC: depression follow-up"))}
        return audited_prompts(write_priors({"p": ("depression",)}, facts=facts, probed=probed, writer=writer))

    asked = prompts_of(ProbedTiers(TIERS))
    assert prompts_of(ProbedTiers(TIERS, asks_control=True)) == asked
    assert prompts_of(ProbedTiers(TIERS[:1])) != asked
    assert b"depression follow-up" in asked
