"""Whose notes are scored, and as what: a target's, everybody's, and those of patients whom the site named besides."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from support.written_corpus import write_corpus

from clinaudit.audit.assembly.scored import plan_scores
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer

ASKED = {"p1": "target", "q1": "target", "p2": "included", "q2": "included"}
#: Trained on; those whose ids begin with q were never seen.
EVERYBODY = dict.fromkeys(("p1", "p2", "p3"), "target")


@pytest.mark.parametrize(
    ("score", "score_all", "expected"),
    [(True, False, ASKED), (True, True, ASKED | EVERYBODY), (False, False, {})],
)
def test_who_is_named_besides_counts_only_where_everybody_does(
    tmp_path, tokenizer_directory, *, score, score_all, expected
):
    corpus = write_corpus(tmp_path / "corpus", {name: [f"cc: cough of {name}\n"] for name in (*ASKED, "p3", "q3")})
    inputs: Any = SimpleNamespace(
        settings=SimpleNamespace(score=score, score_all=score_all),
        corpus=corpus,
        tokenizer=ModelTokenizer(tokenizer_directory),
        model=SimpleNamespace(context_length=100),
    )
    asked = pl.DataFrame(list(ASKED.items()), schema=["patient_id", "role"], orient="row")
    texts = plan_scores(asked, inputs)
    assert dict(texts.select("patient_id", "role").iter_rows()) == expected
    assert texts.height == len(expected)
