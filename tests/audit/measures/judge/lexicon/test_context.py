"""Where the clauses of a note end."""

import pytest

from clinaudit.audit.measures.judge.lexicon.context import cut_clauses


@pytest.mark.parametrize("sign", [".", "!", "?"])
def test_a_run_of_signs_ends_one_clause_at_its_end(sign: str) -> None:
    text = f"No anxiety{sign * 5} Depression{sign * 3}x"
    ends = text.index(" Depression")
    assert [text[slice(*clause)] for clause in cut_clauses(text)] == [text[:ends], text[ends:]]
