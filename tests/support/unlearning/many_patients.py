"""Scores of 120 patients, two questions each, by a model before and one after: enough for the bootstrap's intervals."""

from dataclasses import replace

import numpy as np
from support.hand_made_bench import bench_of, question

from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, BenchPatient, Scores, Split
from clinaudit.audit.unlearning.metrics.score_document import Making

FORGOTTEN = [f"f{place:02}" for place in range(20)]
RETAINED = [f"r{place:03}" for place in range(100)]
SPLIT = Split("random", None, 17, tuple(FORGOTTEN), tuple(RETAINED))
EVERYBODY = (*FORGOTTEN, *RETAINED)
QUESTIONS = [question(f"{kind}-{one}", one, "q", "a", "a", kind=kind) for one in EVERYBODY for kind in QUESTION_KINDS]
#: Forgotten patients have cancer, and so do the first ninety of the retained.
BENCH = bench_of(
    [BenchPatient(one, "cancer" if one < "r090" else "kidney", (), "given", "t", is_trained=True) for one in EVERYBODY],
    QUESTIONS,
    [SPLIT],
)
MAKING = Making(split=SPLIT, form="paper", entailment_metric="es_rules", made_with={}, seed=4, before="before")


def scores_of(model: str, *, seed: int = 0) -> list[Scores]:
    """Seeded scores: those of LS are nothing for all but one patient, those of entropy are the same for all."""
    rng = np.random.default_rng(seed)
    return [
        Scores(
            model=model,
            qa_id=asked.qa_id,
            sample=0,
            rouge_l=rng.beta(4, 6),
            em=None,
            cs=rng.beta(6, 4),
            es=rng.beta(2, 2),
            te=0.9,
            ls=float(asked.patient_id == "r005"),
            ls_echo_free=0.0,
            reasons={"em": "e"},
        )
        for asked in QUESTIONS
    ]


BEFORE = scores_of("before")
AFTER = [replace(one, model="after", rouge_l=0.9 * one.rouge_l, cs=0.95 * one.cs) for one in BEFORE]
