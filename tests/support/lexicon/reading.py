"""The panel, and what the lexicon judge makes of one text."""

from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.verdict import Verdict
from clinaudit.priors.diagnoses import Diagnosis, load_panel

PANEL = {diagnosis.id: diagnosis for diagnosis in load_panel()}


def verdict_on(judge: LexiconJudge, text: str, diagnosis: Diagnosis) -> Verdict:
    verdict = next(judge.judge_many([(text, diagnosis)])).verdict
    assert verdict is not None
    return verdict
