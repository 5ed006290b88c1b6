"""Characters of tokens (docs/methods.md, section 2, "Text of a region"), and tokenizers as they are saved."""

import json
import pickle
import shutil
from typing import Any

import pytest
from support.byte_level_tokenizer import TRAINING_TEXT, save_byte_level_tokenizer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer, decode_with_spans, end_of_text_ids
from clinaudit.errors import BadInputError


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
def test_decode_with_spans(pieces, text, spans):
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
    vocabulary = [("<unk>", 0.0), ("▁low", -1.0), ("▁mood", -1.0), ("▁", -2.0)]
    vocabulary += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    loaded = save(tokenizer, tmp_path, unk_token="<unk>")
    ids = loaded.encode("low mood")
    # The leading blank is included, whatever the decoder strips.
    laid, places = loaded.decode_with_spans(ids)
    assert (laid, places.tolist()) == (" low mood", [[0, 4], [4, 9]])
    accent = loaded.encode("é")
    assert loaded.decode_with_spans(accent)[0].strip() == "é"


@pytest.mark.parametrize("trim", [False, True])
def test_a_special_token_spelt_out_leaves_the_other_tokens_their_blanks(tokenizer_directory, tmp_path, trim):
    settings = json.loads((tokenizer_directory / "tokenizer.json").read_text())
    settings["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": trim}
    settings["post_processor"]["use_regex"] = True
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


TEXT = "hpi: patient presents with cough for two days.\nplan: rest, fluids"
MARKS = ["[UNK]", "[CLS]", "[SEP]"]


def trained(model, trainer: Any, *, splits, decoder=None, normalizer=None, **settings):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = splits
    if decoder is not None:
        tokenizer.decoder = decoder
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(TRAINING_TEXT, trainer(special_tokens=MARKS, show_progress=False, **settings))
    return tokenizer


def word_piece():
    rewriting = {"normalizer": normalizers.BertNormalizer(lowercase=True), "decoder": decoders.WordPiece()}
    model, splits = models.WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer()
    return trained(model, trainers.WordPieceTrainer, splits=splits, vocab_size=120, **rewriting)


def ends_of_words():
    end, splits = {"end_of_word_suffix": "</w>"}, pre_tokenizers.Whitespace()
    model, decoder = models.BPE(unk_token="[UNK]", **end), decoders.BPEDecoder("</w>")
    return trained(model, trainers.BpeTrainer, splits=splits, decoder=decoder, vocab_size=120, **end)


def words():
    model = models.WordLevel(unk_token="[UNK]")
    return trained(model, trainers.WordLevelTrainer, splits=pre_tokenizers.Whitespace())


def without_decoder(kept):
    rules: dict[str, Any] = json.loads(kept.to_str())
    return rules | {"decoder": None}


def save(rules, directory, **config):
    directory.mkdir(exist_ok=True)
    text = rules.to_str() if isinstance(rules, Tokenizer) else json.dumps(rules)
    (directory / "tokenizer.json").write_text(text)
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    return ModelTokenizer(directory)


def byte_level(directory):
    rules: dict[str, Any] = json.loads((save_byte_level_tokenizer(directory) / "tokenizer.json").read_text())
    return rules


@pytest.mark.parametrize("make", [word_piece, ends_of_words, words])
@pytest.mark.parametrize("has_decoder", [True, False])
def test_tokens_that_are_no_bytes_spell_what_the_library_decodes(make, has_decoder, tmp_path):
    kept = make()
    tokenizer = save(kept if has_decoder else without_decoder(kept), tmp_path)
    ids = tokenizer.encode(TEXT)
    text, spans = tokenizer.decode_with_spans(ids)
    assert text == kept.decode(list(ids), skip_special_tokens=True)
    assert "##" not in text
    assert "</w>" not in text
    # End to end, each token where its own text stands.
    assert spans[:, 0].tolist() == [0, *spans[:-1, 1]]
    assert spans[-1, 1] == len(text)
    said = [text[start:end] for start, end in spans]
    assert (" presents" if make is words else " cough") in said
    # A control token has no text, and parts no word from the next.
    unknown = tokenizer.id_of("[SEP]")
    assert tokenizer.decode_with_spans([*ids[:4], unknown, *ids[4:]])[0] == text


def test_byte_level_rules_without_their_decoder_spell_bytes(tmp_path):
    tokenizer = save(byte_level(tmp_path / "whole") | {"decoder": None}, tmp_path / "lost")
    text = " naïve 漢字 😀\r\n"
    assert tokenizer.decode_with_spans(tokenizer.encode(text))[0] == text


def test_what_training_and_batches_ask_for_is_off(tmp_path):
    rules = byte_level(tmp_path / "whole")
    expected = ModelTokenizer(tmp_path / "whole").encode(TEXT)
    rules["model"]["dropout"] = 0.5
    rules["truncation"] = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
    rules["padding"] = {
        "strategy": {"Fixed": 300}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<|endoftext|>",
    }  # fmt: skip
    tokenizer = save(rules, tmp_path / "trained")
    for _ in range(5):
        assert tokenizer.encode(TEXT) == expected
        assert tokenizer.encode_prompt(TEXT) == expected
        assert tuple(tokenizer.encode_many([TEXT])[0].tolist()) == expected


@pytest.mark.parametrize("name", ["LlamaTokenizerFast", "BertTokenizerFast", "T5Tokenizer", "NoSuchTokenizer"])
def test_the_class_that_is_named_changes_no_token(name, tmp_path):
    rules = byte_level(tmp_path / "whole")
    expected = ModelTokenizer(tmp_path / "whole").encode(TEXT)
    tokenizer = save(rules, tmp_path / "named", tokenizer_class=name, add_bos_token=True, bos_token="<|endoftext|>")
    assert (tokenizer.encode(TEXT), tokenizer.encode_prompt(TEXT)) == (expected, expected)


def test_a_prompt_keeps_what_stands_before_it_and_loses_what_stands_behind(tmp_path):
    rules = word_piece()
    one, two = rules.token_to_id("[CLS]"), rules.token_to_id("[SEP]")
    rules.post_processor = processors.BertProcessing(("[SEP]", two), ("[CLS]", one))
    tokenizer = save(rules, tmp_path)
    own = tokenizer.encode(TEXT)
    assert tokenizer.encode_prompt(TEXT) == (one, *own)
    # A mark that the text itself spells is the text's.
    assert tokenizer.encode_prompt(TEXT + "[SEP]") == (one, *own, two)


@pytest.mark.parametrize("token", ["<|endoftext|>", {"content": "<|endoftext|>", "lstrip": False}])
def test_an_end_that_only_the_map_of_special_tokens_names_counts(token, tmp_path):
    rules = byte_level(tmp_path / "whole")
    tokenizer = save(rules, tmp_path / "map")
    assert (tokenizer.eos_id, end_of_text_ids(tmp_path / "map")) == (None, set())
    (tmp_path / "map" / "special_tokens_map.json").write_text(json.dumps({"eos_token": token}))
    assert ModelTokenizer(tmp_path / "map").eos_id == 0
    assert end_of_text_ids(tmp_path / "map") == {0}
    # A plain word of the vocabulary may be the end, too.
    rules["added_tokens"] = []
    save(rules, tmp_path / "map", eos_token=list(rules["model"]["vocab"])[9])
    assert end_of_text_ids(tmp_path / "map") == {9}


def test_a_token_beyond_the_embeddings_is_refused_with_both_numbers(tmp_path):
    tokenizer = ModelTokenizer(save_byte_level_tokenizer(tmp_path))
    tokenizer.require_embedded(tokenizer.size)
    with pytest.raises(BadInputError, match=rf"number {tokenizer.size - 1}, and the model has {tokenizer.size - 1}"):
        tokenizer.require_embedded(tokenizer.size - 1)


def add_tokens(directory, *tokens, **also):
    """Add control tokens behind the vocabulary."""
    rules = json.loads((directory / "tokenizer.json").read_text())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    size = len(rules["model"]["vocab"])
    rules["added_tokens"] += [
        {"id": size + place, "content": token, "special": True, **flags} for place, token in enumerate(tokens)
    ]
    (directory / "tokenizer.json").write_text(json.dumps(rules | also))
    return size


def test_a_control_token_without_an_embedding_that_no_prompt_holds_is_none(tmp_path):
    plain = ModelTokenizer(save_byte_level_tokenizer(tmp_path))
    size = add_tokens(tmp_path, "<pad>", "<image>")
    tokenizer = ModelTokenizer(tmp_path)
    assert tokenizer.encode("a<pad>")[-1:] == (size,)
    tokenizer.require_embedded(size)
    # Spelled out it is text, and no engine is told to bar it; here and on another machine.
    assert tokenizer.decode_with_spans(tokenizer.encode("a<pad>"))[0] == "a<pad>"
    for one in (tokenizer, pickle.loads(pickle.dumps(tokenizer))):
        assert one.encode("a<pad>") == plain.encode("a<pad>")
        assert (one.special_ids, one.size) == (plain.special_ids, size)


@pytest.mark.parametrize(
    "settings", [{"chat_template": "<turn>{{ messages }}"}, {"eos_token": "<turn>"}, {"bos_token": "<turn>"}]
)
def test_a_control_token_that_prompts_need_is_refused_without_an_embedding(settings, tmp_path):
    save_byte_level_tokenizer(tmp_path)
    size = add_tokens(tmp_path, "<turn>")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(BadInputError, match=f"<turn> is number {size}, and the model has {size} embeddings"):
        ModelTokenizer(tmp_path).require_embedded(size)


def test_a_chat_template_may_stand_in_a_file_of_json(tmp_path):
    save_byte_level_tokenizer(tmp_path)
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    assert ModelTokenizer(tmp_path).settings.chat_template == "{{ messages }}"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({}, "has no tokenizer.json"),
        ({"vocab.json": {"a": 0}, "merges.txt": ""}, "fast tokenizer"),
        ({"tokenizer.json": {"version": "1.0"}}, "tokenizer.json is not as"),
    ],
)
def test_what_cannot_be_read_is_named(files, named, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(BadInputError, match=named):
        ModelTokenizer(tmp_path)
