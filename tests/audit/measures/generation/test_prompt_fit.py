"""How many prompts fit, from notes to rows: those that quote a note, and those of background facts."""

from dataclasses import asdict
from unittest.mock import patch

from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.measures.generation.estimates import estimate_prompts
from clinaudit.audit.measures.generation.stage import prompt_table
from clinaudit.audit.preview.prompt_fit import count_prompts, unlimited_writer
from clinaudit.priors.facts import read_facts
from clinaudit.priors.prompts import Prior, write_priors
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.estimates.frame import Estimates

FULL = (
    "patient: Ada Lund\ndob: 02/03/1960\nvisit date: 05/01/2024\nprovider: Jo Ek, MD\nlocation: Elm\n"
    "cc: cough\nhpi: dry\nplan: x\n"
)
TABLE = "patient_id,split,name\na,train,Ada Lund\nb,train,Ada Lund\nc,train,Ian Roth\nd,nontrain,Ada Lund\n"


def estimate(priors: list[Prior]) -> Estimates:
    prompts = prompt_table(asdict(prior) | {"role": "target"} for prior in priors)
    return Estimates(estimate_prompts({"priors": prompts.lazy()}))


def test_fit_is_of_the_prompts_that_there_are(tmp_path):
    texts = {"a": FULL, "b": FULL.replace("cc: cough\n", ""), "c": FULL, "d": FULL.replace("dob: 02/03/1960\n", "")}
    # Each is a patient of its own, whatever name the notes share.
    with patch("clinaudit.priors.corpus.corpus.find_people", return_value={}):
        corpus = corpus_of(
            tmp_path, [{"patient_id": key, "note_id": key, "text": text} for key, text in texts.items()], TABLE
        )
    probed = ProbedTiers(TIER_IDS)
    facts, writer = read_facts(corpus, PROFILE, corpus.patients), unlimited_writer(PROFILE, max_new_tokens=10)
    priors = write_priors(dict.fromkeys(corpus.patients, ()), facts=facts, probed=probed, writer=writer)
    table = estimate(priors)
    found = {
        tier: {row.arm: (row.count_low, row.of_low) for row in table.rows("prompt_unbroken", tier=tier)}
        for tier in table.values_of("tier", "prompt_unbroken")
    }
    # No medication list stands in the notes, and the template's place for one is no place of a fragment.
    assert found == {
        # The row of c is another's. Nothing public is known of d.
        "public": {"train": (2, 3)},
        "public_name": {"train": (2, 3), "nontrain": (1, 1)},
        # The note of d has no date of birth.
        "encounter": {"train": (3, 3), "nontrain": (0, 1)},
        # That of b has no chief complaint: no prompt at this tier, and one without it at the next.
        "encounter_cc": {"train": (2, 2), "nontrain": (0, 1)},
        "encounter_cc_hpi": {"train": (3, 3), "nontrain": (0, 1)},
    }
    # The notes of a and c are alike, so that a prompt of either is about nobody.
    assert [row.count_low for row in table.rows("prompt_own", tier="encounter")] == [1, 1]
    # `check` counts the same.
    counted = {count.tier: count for count in count_prompts(priors)}
    encounter = counted["encounter"]
    assert encounter.arms["train"] == {"made": 3, "fitting": 3, "own": 1, "earlier": 0}
    assert not encounter.also_shows
