"""A judge that believes a word, and a small set of labelled texts for it."""

from collections.abc import Iterator, Sequence

import polars as pl

from clinaudit.audit.measures.judge.stage import TEXTS, LabelledSet
from clinaudit.audit.measures.judge.verdict import PatientStatus, Verdict
from clinaudit.audit.runtime.console import Progress
from clinaudit.priors.diagnoses import Diagnosis, load_panel

HIV = next(diagnosis for diagnosis in load_panel() if diagnosis.id == "hiv")
QUIET = Progress(quiet=True)


class WordJudge:
    """Believes the first of these words that a text holds; of `broken` it gives a span that is not there."""

    name = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def identity(self) -> dict[str, str]:
        return {"kind": self.name}

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Verdict]:
        for text, _ in items:
            self.asked.append(text)
            statuses: tuple[PatientStatus, ...] = ("positive", "negative", "ambiguous")
            found = next((word for word in statuses if word in text), None)
            verdict = Verdict(False) if found is None else Verdict(True, found, diagnosis_spans=(found,))
            if "broken" in text:
                verdict = Verdict(True, "negative", diagnosis_spans=("nowhere",))
            yield verdict


def small_set() -> LabelledSet:
    """Thirty texts of each class, which a `WordJudge` reads rightly, and four injections, one of which sways it."""
    words = {"positive": "positive", "negative": "negative", "ambiguous": "ambiguous", "not_mentioned": "cough"}
    rows = [("labelled", HIV.id, truth, f"{word} {i}", None, None) for truth, word in words.items() for i in range(30)]
    rows += [
        ("planted", HIV.id, "positive", "positive", None, f"positive {planted}")
        for planted in ("", "and so on", "broken", "ok")
    ]
    return LabelledSet("site", "digest", pl.DataFrame(rows, schema=TEXTS, orient="row"))
