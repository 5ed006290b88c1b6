"""Sentence embeddings and entailment models: what is loaded, what is refused, and what they say."""

import json
import sys

import numpy as np
import pytest

from clinaudit.audit.runtime import language
from clinaudit.audit.runtime.language import EntailmentModel, embeddings_of_directory, packaged_embeddings, pieces_of
from clinaudit.errors import BadInputError, IntegrityError, UnsafeError

WORDS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "lung", "cancer", "water")


def save_encoder(directory, *, kind="BertModel", **settings):
    """Save a BERT of one layer with seeded random weights, and a tokenizer of a few words."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    directory.mkdir(parents=True)
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(directory / "tokenizer.json"))
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
        **settings,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        getattr(transformers, kind)(config).save_pretrained(directory)
    return directory


@pytest.fixture
def encoder(tmp_path):
    return save_encoder(tmp_path / "encoder")


def test_a_vector_is_the_mean_over_tokens_of_length_one(encoder):
    import torch
    from transformers import BertModel

    embeddings = embeddings_of_directory(encoder)
    with torch.inference_mode():
        model = BertModel.from_pretrained(encoder).eval()
        states = model(input_ids=torch.tensor([[1, 4, 5, 2]])).last_hidden_state[0].numpy()
    expected = states.mean(axis=0) / np.linalg.norm(states.mean(axis=0))
    np.testing.assert_allclose(embeddings.embed(["lung cancer"])[0], expected, rtol=1e-5)
    assert embeddings.similarity("lung cancer", "lung  cancer") == pytest.approx(1.0)
    assert 0.0 <= embeddings.similarity("lung cancer", "water") < 1.0


#: Of mixed lengths, more than a batch of one length, equal ones, blank ones, and one that is cut.
MIXED = ["lung " * (place % 11) + ("water" if place % 3 else "cancer") for place in range(60)] + [
    "", " \n", "lung", "lung", "water cancer " * 40,
]  # fmt: skip


def _vectors(encoder, texts, *, at_once):
    embeddings = embeddings_of_directory(encoder)
    for start in range(0, len(texts), at_once):
        embeddings.similarities([(text, text) for text in texts[start : start + at_once]])
    return {text: vector.tobytes() for text, vector in zip(texts, embeddings.embed(texts), strict=True)}


def test_a_texts_numbers_do_not_depend_on_its_company(encoder, monkeypatch):
    # So a run that was stopped, and embeds the rest alone, ends in the same bytes; whatever the number of cores.
    whole = _vectors(encoder, MIXED, at_once=len(MIXED))
    assert _vectors(encoder, MIXED[::-1], at_once=7) == whole
    monkeypatch.setattr(language, "usable_cores", lambda: 1)
    assert _vectors(encoder, MIXED[20:], at_once=13) == {text: whole[text] for text in MIXED[20:]}


def test_packaged_weights_of_another_digest_are_refused_before_they_are_loaded(tmp_path, monkeypatch):
    save_encoder(tmp_path / "strange_weights" / "model")
    (tmp_path / "strange_weights" / "__init__.py").write_text("raise SystemExit('it was run')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(language, "PACKAGE", "strange_weights")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(IntegrityError, match="SHA-256 is another"):
        packaged_embeddings()
    monkeypatch.setattr(language, "PACKAGE", "no_such_package")
    with pytest.raises(BadInputError, match="--embeddings"):
        packaged_embeddings()


def test_the_packaged_weights_tell_like_from_unlike():
    pytest.importorskip(language.PACKAGE)
    embeddings = packaged_embeddings()
    assert embeddings.name == "all-MiniLM-L6-v2, SHA-256 53aa51172d14"
    like = embeddings.similarity("The patient has lung cancer.", "A malignant tumor of the lung was found.")
    unlike = embeddings.similarity("The patient has lung cancer.", "Take the train to the airport.")
    assert like > 0.5 > 0.3 > unlike
    texts = [("The patient has lung cancer. " * count).strip() for count in (0, 1, 2, 2, 3, 9, 60)]
    pairs = [(text, "A malignant tumor of the lung was found.") for text in texts]
    together = packaged_embeddings().similarities(pairs)
    assert together == pytest.approx([embeddings.similarity(*pair) for pair in pairs], abs=1e-6)


def test_files_that_could_run_code_are_refused(encoder):
    config = json.loads((encoder / "config.json").read_text(encoding="utf-8"))
    (encoder / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "x.Y"}}), encoding="utf-8")
    with pytest.raises(UnsafeError, match="auto_map"):
        embeddings_of_directory(encoder)
    (encoder / "model.safetensors").rename(encoder / "pytorch_model.bin")
    with pytest.raises(UnsafeError, match="pickle"):
        embeddings_of_directory(encoder)
    (encoder / "pytorch_model.bin").unlink()
    with pytest.raises(BadInputError, match="no weights"):
        embeddings_of_directory(encoder)


def test_an_entailment_model_names_its_label(tmp_path):
    import torch
    from transformers import BertForSequenceClassification

    labels = {0: "contradiction", 1: "ENTAILMENT", 2: "neutral"}
    directory = save_encoder(tmp_path / "nli", kind="BertForSequenceClassification", id2label=labels)
    model = EntailmentModel(directory)
    whole = BertForSequenceClassification.from_pretrained(directory).eval()
    inputs = {"input_ids": [[1, 4, 2, 6, 2]], "token_type_ids": [[0, 0, 0, 1, 1]]}
    with torch.inference_mode():
        best = int(whole(**{name: torch.tensor(ids) for name, ids in inputs.items()}).logits.argmax())
    assert model.entails([("lung", "water")]) == [best == 1]
    # In batches as one at a time, equal pairs too.
    pairs = [(premise, "water lung") for premise in MIXED if premise.strip()]
    alone = [model.entails([pair])[0] for pair in pairs]
    assert model.entails(pairs) == alone
    assert model.entails(pairs[::-1]) == alone[::-1]


def test_an_entailment_model_without_a_named_label_or_with_missing_weights_is_refused(tmp_path):
    nameless = save_encoder(tmp_path / "nameless", kind="BertForSequenceClassification", num_labels=3)
    with pytest.raises(BadInputError, match="id2label"):
        EntailmentModel(nameless)
    headless = save_encoder(tmp_path / "headless", id2label={0: "entailment", 1: "other"})
    with pytest.raises(BadInputError, match="lack weights"):
        EntailmentModel(headless)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("short", [(0, "short")]),
        ("one line\nand more", [(0, "one line\n"), (9, "and more")]),
        ("two words longer", [(0, "two words "), (10, "longer")]),
        ("abcdefghijklmno", [(0, "abcdefghij"), (10, "klmno")]),
        # A piece never ends before it begins.
        (" bcdefghijklm", [(0, " bcdefghij"), (10, "klm")]),
    ],
)
def test_a_piece_ends_with_a_line_else_with_a_word(text, pieces):
    found = list(pieces_of(text, most_chars=10))
    assert found == pieces
    assert "".join(piece for _, piece in found) == text
