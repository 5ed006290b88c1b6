"""Fixtures of the tests of generation."""

from pathlib import Path

import pytest

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer


@pytest.fixture(scope="session")
def tokenizer(tokenizer_directory: Path) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)
