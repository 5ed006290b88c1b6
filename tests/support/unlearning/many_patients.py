"""Scores of 120 patients, two questions each, by a model before and one after: enough for the bootstrap's intervals."""

import numpy as np
import polars as pl
from support.hand_made_bench import bench_of, question

from clinaudit.audit.unlearning.benchmark.files import QUESTION_KINDS, BenchPatient, Split
from clinaudit.audit.unlearning.metrics.answer_scores import NO_LOGITS, SCORES
from clinaudit.audit.unlearning.metrics.means import groups_of, measure_groups, patient_figures

FORGOTTEN = [f"f{place:02}" for place in range(20)]
RETAINED = [f"r{place:03}" for place in range(100)]
SPLIT = Split("random", None, 17, tuple(FORGOTTEN), tuple(RETAINED))
EVERYBODY = (*FORGOTTEN, *RETAINED)
QUESTIONS = [question(f"{kind}-{one}", one, "q", "a", "a", kind=kind) for one in EVERYBODY for kind in QUESTION_KINDS]
#: Forgotten patients have cancer, and so do the first ninety of the retained.
BENCH = bench_of(
    [BenchPatient(one, "cancer" if one < "r090" else "kidney", "given", "t", is_trained=True) for one in EVERYBODY],
    QUESTIONS,
    [SPLIT],
)


def _scores() -> pl.DataFrame:
    """Seeded scores: those of LS are nothing for all but one patient, those of entropy are the same for all."""
    rng = np.random.default_rng(0)
    rows = []
    for asked in QUESTIONS:
        values = {"rouge_l": rng.beta(4, 6), "cs": rng.beta(6, 4), "es": rng.beta(2, 2), "te_or_zero": 0.9}
        values |= {"ls": float(asked.patient_id == "r005"), "ls_echo_free": 0.0}
        rows += [(asked.qa_id, metric, value, None) for metric, value in values.items()]
        rows.append((asked.qa_id, "em", None, NO_LOGITS))
    return pl.DataFrame(rows, schema=SCORES, orient="row")


BEFORE = _scores()
_KEPT = pl.col("metric").replace_strict({"rouge_l": 0.9, "cs": 0.95}, default=1.0)
AFTER = BEFORE.with_columns(pl.col("value") * _KEPT)


def figures_of(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """The figures of the model after, with changes to the one before."""
    first, second = (
        patient_figures(own, QUESTIONS, model=name) for own, name in ((before, "before"), (after, "after"))
    )
    return measure_groups(second, groups_of(BENCH, SPLIT), split=SPLIT.name, before=first, seed=4)
