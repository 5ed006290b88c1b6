"""The judge that the tests of this room ask."""

import pytest
from support.lexicon.reading import PANEL

from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge


@pytest.fixture(scope="module")
def judge():
    return LexiconJudge(tuple(PANEL.values()))
