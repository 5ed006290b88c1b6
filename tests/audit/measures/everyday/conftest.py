"""Fixtures of the tests of everyday tasks."""

from pathlib import Path

import pytest
from support.chat_tokenizers import CHATML, save_chat_tokenizer

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer


@pytest.fixture(scope="session")
def tokenizer(tokenizer_directory: Path) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


@pytest.fixture(scope="session")
def chat_tokenizer(tokenizer_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> ModelTokenizer:
    return ModelTokenizer(save_chat_tokenizer(tokenizer_directory, tmp_path_factory.mktemp("chat"), CHATML))
