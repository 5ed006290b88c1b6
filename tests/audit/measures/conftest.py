"""Tokenizers that the tests of measures share."""

import pytest
from support.chat_tokenizers import CHATML, save_chat_tokenizer

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer


@pytest.fixture(scope="session")
def tokenizer(tokenizer_directory):
    return ModelTokenizer(tokenizer_directory)


@pytest.fixture(scope="session")
def chat_tokenizer(tokenizer_directory, tmp_path_factory):
    return ModelTokenizer(save_chat_tokenizer(tokenizer_directory, tmp_path_factory.mktemp("chat"), CHATML))
