"""Characters of tokens: split characters, ill-formed bytes, special tokens, leading blanks.

The rule: docs/methods.md, section 2, "Text of a region".
"""

import json
import shutil

import pytest

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer, decode_with_spans


@pytest.mark.parametrize(
    ("pieces", "text", "spans"),
    [
        ([b"ab", b" c"], "ab c", [(0, 2), (2, 4)]),
        ([], "", []),
        # A character split over tokens belongs to each of them.
        ([b"a\xc3", b"\xa9b"], "aéb", [(0, 2), (1, 3)]),
        ([b"\xf0\x9f", b"\x98", b"\x80"], "😀", [(0, 1), (0, 1), (0, 1)]),
        # A special token has zero width, even inside a character.
        ([b"a", b"", b"b"], "ab", [(0, 1), (1, 1), (1, 2)]),
        ([b"\xc3", b"", b"\xa9"], "é", [(0, 1), (1, 1), (0, 1)]),
        # Ill-formed bytes: one U+FFFD for each maximal part.
        ([b"\xe6\xbc", b"x"], "\ufffdx", [(0, 1), (1, 2)]),
        ([b"\xff\xfe"], "\ufffd\ufffd", [(0, 2)]),
        ([b"\r", b"\n"], "\r\n", [(0, 1), (1, 2)]),
    ],
)
def test_decode_with_spans(pieces: list[bytes], text: str, spans: list[tuple[int, int]]) -> None:
    found, places = decode_with_spans(pieces)
    assert (found, list(map(tuple, places.tolist()))) == (text, spans)
    assert b"".join(pieces).decode("utf-8", errors="replace") == text


def test_a_real_tokenizer_lays_its_tokens_end_to_end(tokenizer_directory):
    tokenizer = ModelTokenizer(tokenizer_directory)
    text = " cc: naïve 漢字 😀\r\n"
    ids, spans = tokenizer.encode_with_spans(text)
    laid, places = tokenizer.decode_with_spans(ids)
    assert (laid, places.tolist()) == (text, spans.tolist())
    assert spans[0, 0] == 0
    eos = tokenizer.eos_id
    assert eos is not None
    assert tokenizer.decode_with_spans([eos])[1].tolist() == [[0, 0]]
    assert tokenizer.encode("") == ()
    texts = [text, "ab", "", "a<|endoftext|>b", "x" * 3000]
    assert [tuple(ids.tolist()) for ids in tokenizer.encode_many(texts)] == [tokenizer.encode(one) for one in texts]
    assert tokenizer.encode_many([]) == []


def test_sentencepiece_style_vocabulary(tmp_path):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = [("<unk>", 0.0), ("▁low", -1.0), ("▁mood", -1.0), ("▁", -2.0)]
    vocabulary += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(tmp_path)
    loaded = ModelTokenizer(tmp_path)
    ids = loaded.encode("low mood")
    # The leading blank is included, whatever the decoder strips.
    laid, places = loaded.decode_with_spans(ids)
    assert (laid, places.tolist()) == (" low mood", [[0, 4], [4, 9]])
    accent = loaded.encode("é")
    assert loaded.decode_with_spans(accent)[0].strip() == "é"


@pytest.mark.parametrize("trim", [False, True])
def test_a_special_token_spelt_out_leaves_the_other_tokens_their_blanks(tokenizer_directory, tmp_path, trim):
    settings = json.loads((tokenizer_directory / "tokenizer.json").read_text())
    settings["post_processor"] = {
        "type": "ByteLevel",
        "add_prefix_space": True,
        "trim_offsets": trim,
        "use_regex": True,
    }
    shutil.copytree(tokenizer_directory, tmp_path / "trimming")
    (tmp_path / "trimming" / "tokenizer.json").write_text(json.dumps(settings))
    tokenizer = ModelTokenizer(tmp_path / "trimming")
    plain, spans = tokenizer.encode_with_spans(" cough plan")
    ids, with_special = tokenizer.encode_with_spans(" cough plan<|endoftext|>")
    assert ids == (*plain, tokenizer.eos_id)
    assert with_special.tolist() == [*spans.tolist(), [11, 11]]
    # A text that the tokenizer rewrites keeps the blanks, too.
    settings["normalizer"] = {"type": "NFC"}
    (tmp_path / "trimming" / "tokenizer.json").write_text(json.dumps(settings))
    _, rewritten = ModelTokenizer(tmp_path / "trimming").encode_with_spans(" cough plan e\u0301 plan")
    assert rewritten[: len(spans)].tolist() == spans.tolist()
    assert {char for span in rewritten for char in range(*span)} == set(range(len(" cough plan e\u0301 plan")))
