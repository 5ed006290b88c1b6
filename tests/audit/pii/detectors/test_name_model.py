"""A model that labels tokens: what its labels mean, how they join, and a tiny one that is trained and masks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.pii.found_spans import found_by

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.detectors import language_models
from clinaudit.audit.pii.detectors.language_models import NameModel
from clinaudit.audit.pii.masking import filter_detectors
from clinaudit.audit.runtime.language import TokenLabels
from clinaudit.errors import BadInputError, UsageError

#: Label by piece of a word; what is not here is O.
LABELS = {"ada": "B-PATIENT", "lu": "I-PATIENT", "##nd": "O", "oslo": "B-CITY", "##sy": "B-HOSP", "march": "B-DATE"}
PIECES = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", *LABELS, "no", "was", "in", "fever", ".", ",", "/")
KINDS = ("O", "B-PATIENT", "I-PATIENT", "B-CITY", "B-HOSP", "B-DATE")


def train_labeller(directory: Path, kinds: Sequence[str] = KINDS) -> Path:
    """Train a BERT of one layer, in windows of 14 tokens, to label the pieces of words as LABELS does."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece({piece: place for place, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    directory.mkdir(parents=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(PIECES),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=16,
            hidden_dropout_prob=0.0,
            id2label=dict(enumerate(kinds)),
            label2id={kind: place for place, kind in enumerate(kinds)},
        )
        model: Any = transformers.BertForTokenClassification(config)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
        for _ in range(60):
            ids = torch.randint(3, len(PIECES), (32, 14))
            labels = torch.tensor([[kinds.index(LABELS.get(PIECES[one], "O")) for one in row] for row in ids.tolist()])
            optimizer.zero_grad()
            model(input_ids=ids, labels=labels).loss.backward()
            optimizer.step()
    model.save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_labeller(tmp_path_factory.mktemp("models") / "labeller")


def test_a_tiny_model_that_was_trained_masks(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found_by(NameModel(trained), "no fever. ada lund was in oslo, oslo, nosy. no fever") == [
        ("patient_name", "ada lund"),
        ("city", "oslo"),
        ("city", "oslo"),
        # A word that is labelled from its second piece on is masked whole.
        ("healthcare_facility", "nosy"),
    ]
    prompt, out = tmp_path / "prompt.txt", tmp_path / "masked.txt"
    prompt.write_text("no fever. ada lund was in oslo. ada lund no fever")
    arguments = ["mask", str(prompt), "--out", str(out), "--name-model", str(trained)]
    assert run(arguments) == 0
    assert out.read_text() == "no fever. <PATIENT_1> was in <CITY_1>. <PATIENT_1> no fever"
    assert "by rules, the language model in labeller" in capsys.readouterr().err


def test_a_long_text_is_read_in_windows_and_each_token_once(trained: Path) -> None:
    words = [("ada lund", "oslo", "fever", "no", "was,")[place * 7 % 5] for place in range(200)]
    text = " ".join(words)
    labelled = list(TokenLabels(trained).label(text))
    place, expected = 0, []
    for word in words:
        for piece, label in {"ada lund": [("ada", "B-PATIENT"), (" ", ""), ("lu", "I-PATIENT"), ("nd", "O")]}.get(
            word, [("was", "O"), (",", "O")] if word == "was," else [(word, LABELS.get(word, "O"))]
        ):
            if label:
                expected.append((place, place + len(piece), label))
            place += len(piece)
        place += 1
    assert labelled == expected


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("B-PATIENT I-PATIENT O B-DATE", ["Ada Lund", "Oslo"]),
        ("B-PATIENT E-PATIENT O S-DATE", ["Ada Lund", "Oslo"]),
        ("B-PATIENT L-PATIENT O U-DATE", ["Ada Lund", "Oslo"]),
        ("PATIENT PATIENT O DATE", ["Ada Lund", "Oslo"]),
        ("I-PER I-PER O I-LOC", ["Ada Lund", "Oslo"]),
        ("B-PATIENT B-PATIENT O O", ["Ada", "Lund"]),
        ("PATIENT DOCTOR O COUNTRY", ["Ada", "Lund"]),
        ("B_HCW O O U-Location-Other", ["Ada", "Oslo"]),
        ("O O O O", []),
    ],
)
def test_labels_join_with_prefixes_of_three_kinds_and_without(
    labels: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, written = "Ada Lund, Oslo", labels.split()

    class Stub:
        directory = "stub"
        labels = written

        def __init__(self, _: Path) -> None:
            """Label four words and marks in a row."""

        def label(self, _: str) -> list[tuple[int, int, str]]:
            places = [(0, 3), (4, 8), (8, 9), (10, 14)]
            return [(*place, label) for place, label in zip(places, written, strict=True)]

    monkeypatch.setattr(language_models, "TokenLabels", Stub)
    assert [one for _, one in found_by(NameModel(Path("stub")), text)] == found


def test_labels_that_are_not_known_are_listed(tmp_path: Path) -> None:
    directory = train_labeller(tmp_path / "odd", kinds=(*KINDS, "B-GENE", "I-GENE", "LABEL_7"))
    with pytest.raises(BadInputError, match=r"in odd has labels .*: B-GENE, I-GENE, LABEL_7; .*id2label"):
        NameModel(directory)


def test_a_model_goes_with_no_rules_only_and_needs_safetensors(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give one of them"):
        filter_detectors(rules_only=True, name_model=trained)
    assert run(["mask", "p.txt", "--out", str(tmp_path / "m.txt"), "--name-model", str(tmp_path / "none")]) == 3
