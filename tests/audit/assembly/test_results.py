"""How many prompts fit: those that quote a note, those of background facts, and those that could not be made.

And how many patients they were written for.
"""

import hashlib
from pathlib import Path
from unittest.mock import patch

from support.patient_facts import corpus_of
from support.tallies import number

from clinaudit.audit.assembly.results import count_stages, count_units, summarize_prompts, tally_stage
from clinaudit.audit.assembly.run_record import hidden_digest
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.generation.stage import generation_id
from clinaudit.audit.measures.judge.verdict import Judgement
from clinaudit.audit.preview.prompt_fit import count_prompts, unlimited_writer
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.facts import read_facts
from clinaudit.priors.prompts import Prior, write_priors
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.templates.profile import load_profile

FULL = (
    "patient: Ada Lund\ndob: 02/03/1960\nvisit date: 05/01/2024\nprovider: Jo Ek, MD\nlocation: Elm\n"
    "cc: cough\nhpi: dry\nplan: x\n"
)
TABLE = "patient_id,split,name\na,train,Ada Lund\nb,train,Ada Lund\nc,train,Ian Roth\nd,nontrain,Ada Lund\n"


def test_fit_is_of_the_prompts_that_there_are(tmp_path: Path) -> None:
    texts = {"a": FULL, "b": FULL.replace("cc: cough\n", ""), "c": FULL, "d": FULL.replace("dob: 02/03/1960\n", "")}
    # Each is a patient of its own, whatever name the notes share.
    with patch("clinaudit.priors.corpus.corpus.find_people", return_value={}):
        corpus = corpus_of(
            tmp_path, [{"patient_id": key, "note_id": key, "text": text} for key, text in texts.items()], TABLE
        )
    profile, probed = load_profile(), ProbedTiers(TIER_IDS)
    facts, writer = read_facts(corpus, profile, corpus.patients), unlimited_writer(profile, max_new_tokens=10)
    priors = write_priors(dict.fromkeys(corpus.patients, ()), facts=facts, probed=probed, writer=writer)
    found = {
        tier: {arm: (number(fit.fit["unbroken"]), number(fit.fit["broken"])) for arm, fit in arms.items()}
        for tier, arms in summarize_prompts(priors, probed).items()
    }
    # No medication list stands in the notes, and the template's place for one is no place of a fragment.
    assert found == {
        # The row of c is another's. Nothing public is known of d.
        "public": {"train": (2, 1)},
        "public_name": {"train": (2, 1), "nontrain": (1, 0)},
        # The note of d has no date of birth.
        "encounter": {"train": (3, 0), "nontrain": (0, 1)},
        # That of b has no chief complaint: no prompt at this tier, and one without it at the next.
        "encounter_cc": {"train": (2, 0), "nontrain": (0, 1)},
        "encounter_cc_hpi": {"train": (3, 0), "nontrain": (0, 1)},
    }
    # The notes of a and c are alike, so that a prompt of either is about nobody.
    shared = summarize_prompts(priors, probed)["encounter"]
    assert [number(shared[arm].own["own"]) for arm in ("train", "nontrain")] == [1, 1]
    counted = {count.tier: count for count in count_prompts(facts.values(), probed, writer)}
    arm = counted["encounter"].arms["train"]
    assert (arm.made, arm.fitting, arm.own, arm.earlier, dict(arm.also_shows)) == (3, 3, 1, 0, {})


def prior(patient: str, prompt: str, *diagnoses: str, reason: str | None = None) -> Prior:
    return Prior(patient, "train", "public_name_meds", "text", diagnoses, prompt, 10, reason is not None, reason)


def test_patients_are_counted_once_however_many_prompts_they_have() -> None:
    # The list of medications is scrubbed for each diagnosis: a has two prompts, of which one was answered.
    asked = [prior("a", "lithium", "hiv"), prior("a", "zidovudine", "bipolar"), prior("b", "none", "hiv", "bipolar")]
    priors = [*asked, prior("c", "", "hiv", reason="no distinguishing fact")]
    found = count_units(priors, {generation_id(asked[0]), generation_id(asked[2])})
    assert found["priors"] == tally_stage(planned=2, done=2, excluded={"public_name_meds: no distinguishing fact": 1})
    assert found["generations"] == tally_stage(planned=2, done=1)
    assert count_units(priors, set(map(generation_id, asked)))["generations"] == tally_stage(planned=2, done=2)


def test_a_judgement_is_done_where_the_judge_has_answered() -> None:
    asked = [
        Generation(
            generation_id=f"g{patient}",
            patient_id=patient,
            arm="train",
            tier="encounter",
            rendering="opening",
            diagnoses=("hiv",),
            cohorts=(),
            prompt="p",
            text="",
            token_ids=(),
            token_chars=(),
            finish_reason="stop",
        )
        for patient in ("a", "b")
    ]
    judged = {(of.generation_id, "hiv"): Judgement(None, "lexicon", 1, None) for of in asked}
    assert count_stages([], asked, judged)["judgements"] == tally_stage(planned=2, done=2)
    del judged["gb", "hiv"]
    assert count_stages([], asked, judged)["judgements"] == tally_stage(planned=2, done=1)


def test_prompts_that_differ_in_blanks_and_tags_alone_are_nobodys_own() -> None:
    def own(*prompts: str) -> int:
        asked = [
            Prior(str(number), "train", "encounter", "opening", (), prompt, 10, False, None, unbroken=True)
            for number, prompt in enumerate(prompts)
        ]
        return number(summarize_prompts(asked, ProbedTiers(TIER_IDS))["encounter"]["train"].own["own"])

    assert own("patient: Ada\ncc:", "patient: Bo\ncc:") == 2
    assert own("patient: ___ \ncc:", "patient: ___   \ncc:", "patient: _____\ncc:") == 0
    assert own("patient: [**Name 12**]\ncc:", "patient: [**Name 7**]\ncc:") == 0


def write_corpus(folder: Path, *texts: str) -> Corpus:
    folder.mkdir()
    rows = [f"p{place},n{place},{text}" for place, text in enumerate(texts)]
    (folder / "notes.csv").write_text("\n".join(["patient_id,note_id,text", *rows]) + "\n", encoding="utf-8")
    return read_corpus(folder)


def test_a_hidden_digest_is_the_same_on_one_corpus_and_another_on_another(tmp_path: Path) -> None:
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
