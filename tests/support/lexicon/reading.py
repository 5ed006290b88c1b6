"""The panel, the sentences of `sentences.txt` by table, and what the lexicon judge makes of one text."""

import json
from pathlib import Path

from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.verdict import Verdict
from clinaudit.priors.diagnoses import Diagnosis, load_panel

PANEL = {diagnosis.id: diagnosis for diagnosis in load_panel()}
#: (text, diagnosis, what it says of the patient; None: no mention).
Case = tuple[str, str, str | None]


def _read_sentences() -> dict[str, list[Case]]:
    tables: dict[str, list[Case]] = {}
    for line in Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rows = tables.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            diagnosis, status, text = line.split(" ", 2)
            rows.append((json.loads(text), diagnosis, None if status == "none" else status))
    return tables


_TABLES = _read_sentences()
#: Written before the rules; then all sentences that are read rightly, and those that are not.
FIRST_CASES = _TABLES["CASES"]
MISSES = [case for name, cases in _TABLES.items() if name.endswith("MISSES") for case in cases]
ALL_CASES = [case for name, cases in _TABLES.items() if not name.endswith("MISSES") for case in cases]


def verdict_on(judge: LexiconJudge, text: str, diagnosis: Diagnosis) -> Verdict:
    return next(judge.judge_many([(text, diagnosis)]))
