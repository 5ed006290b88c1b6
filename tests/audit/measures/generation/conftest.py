"""Fixtures of the tests of generation."""

import pytest

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer


@pytest.fixture(scope="session")
def tokenizer(tokenizer_directory):
    return ModelTokenizer(tokenizer_directory)
