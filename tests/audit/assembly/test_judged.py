"""What is said of a judge: whoever is named with --include-patients leaves no trace in it."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from support.evidence_frames import evidence

from clinaudit.audit.assembly import pipeline
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.scoring import load_labelled_set
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.diagnoses import load_panel


@pytest.mark.parametrize(("role", "is_judged"), [("target", True), ("included", False)])
def test_a_judge_is_named_where_targets_were_judged(role, *, is_judged):
    panel, written = load_panel(), dict[str, pl.DataFrame]()
    inputs: Any = SimpleNamespace(
        judge=LexiconJudge(panel), labelled=load_labelled_set(None, panel), sensitive=panel, panel=panel
    )
    run: Any = SimpleNamespace(store=None, runner=None, progress=Progress(quiet=True), write=written.update)
    answer = {"generation_id": "g", "patient_id": "p", "role": role, "text": "HIV, stable.", "diagnoses": ["hiv"]}
    assert pipeline._judge(inputs, evidence(generations=[answer])["generations"].collect(), run) is is_judged
    assert written["judgements"]["patient_has_diagnosis"].to_list() == ["positive"]
    assert written["scored_texts"].is_empty() is not is_judged
