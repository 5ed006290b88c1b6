"""The token cache: equal to the tokenizer, never trusted where damaged, private."""

import sqlite3
import stat

import pytest

from clinaudit.audit.runtime.model.token_cache import open_token_cache
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import StorageError

TEXTS = ["cc: cough\nhpi: two days", "", "naïve 漢字 😀\r\n", "cc: cough\nhpi: two days"]


class CountingTokenizer:
    """A tokenizer that says how many texts it was asked for."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.tokenizer = tokenizer
        self.asked = 0

    def encode_many(self, texts):
        self.asked += len(texts)
        return self.tokenizer.encode_many(texts)


@pytest.fixture
def tokenizer(tokenizer_directory) -> CountingTokenizer:
    return CountingTokenizer(ModelTokenizer(tokenizer_directory))


@pytest.fixture
def run(tmp_path) -> RunDirectory:
    run = RunDirectory(tmp_path / "run")
    run.create()
    return run


def expected(tokenizer: CountingTokenizer) -> list[list[int]]:
    return [list(tokenizer.tokenizer.encode(text)) for text in TEXTS]


def test_ids_and_lengths_equal_the_tokenizer_and_are_kept(run, tokenizer) -> None:
    with open_token_cache(run, "one", tokenizer) as cache:
        assert cache.lengths(TEXTS) == list(map(len, expected(tokenizer)))
        assert [ids.tolist() for ids in cache.ids(TEXTS)] == expected(tokenizer)
    asked = tokenizer.asked
    with open_token_cache(run, "one", tokenizer) as cache:
        assert [ids.tolist() for ids in cache.ids(TEXTS)] == expected(tokenizer)
        assert cache.lengths(TEXTS) == list(map(len, expected(tokenizer)))
        assert tokenizer.asked == asked
    # Another tokenizer's ids are other ids.
    with open_token_cache(run, "two", tokenizer) as cache:
        cache.ids(TEXTS[:1])
        assert tokenizer.asked == asked + 1


def test_the_file_is_private_and_lies_in_the_runs_work(run, tokenizer) -> None:
    with open_token_cache(run, "one", tokenizer) as cache:
        cache.ids(TEXTS)
    (file,) = run.work.glob("tokens.sqlite")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"cough" not in file.read_bytes()


def test_a_row_that_was_changed_is_tokenized_again(run, tokenizer) -> None:
    with open_token_cache(run, "one", tokenizer) as cache:
        cache.ids(TEXTS)
    for damage in (
        "ids = substr(ids, 1, length(ids) - 1)",
        "ids = zeroblob(length(ids))",
        "ids = x''",
        "ids = substr(ids, 5)",
        "ids = 'text'",
        "length = length + 1",
        "length = -1",
        "length = 'many'",
        # Another text's row, as a damaged index leads to.
        "ids = (SELECT ids FROM tokens AS other WHERE other.key <> tokens.key), "
        "length = (SELECT length FROM tokens AS other WHERE other.key <> tokens.key)",
    ):
        with sqlite3.connect(run.work / "tokens.sqlite") as connection:
            connection.execute(f"UPDATE tokens SET {damage}")
        connection.close()
        with open_token_cache(run, "one", tokenizer) as cache:
            assert cache.lengths(TEXTS) == list(map(len, expected(tokenizer)))
            assert [ids.tolist() for ids in cache.ids(TEXTS)] == expected(tokenizer)


def test_a_page_that_was_damaged_is_found_late_and_mended(run, tokenizer) -> None:
    texts = [f"note {number} " * 50 for number in range(200)]
    with open_token_cache(run, "one", tokenizer) as cache:
        wanted = [ids.tolist() for ids in cache.ids(texts)]
    file = run.work / "tokens.sqlite"
    whole = file.read_bytes()
    for page in range(1, len(whole) // 4096, 5):
        file.write_bytes(whole[: page * 4096] + bytes(4096) + whole[(page + 1) * 4096 :])
        for _ in range(2):
            with open_token_cache(run, "one", tokenizer) as cache:
                assert cache.lengths(texts) == list(map(len, wanted))
                assert [ids.tolist() for ids in cache.ids(texts)] == wanted


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_anything_but_a_file_of_its_own_is_refused(run, tokenizer, tmp_path, kind: str) -> None:
    file = run.work / "tokens.sqlite"
    file.mkdir() if kind == "directory" else file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match=r"tokens\.sqlite"), open_token_cache(run, "one", tokenizer):
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_cache_is_made_anew(run, tokenizer, content: bytes) -> None:
    (run.work / "tokens.sqlite").write_bytes(content)
    with open_token_cache(run, "one", tokenizer) as cache:
        assert [ids.tolist() for ids in cache.ids(TEXTS)] == expected(tokenizer)
