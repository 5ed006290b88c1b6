"""One model, saved as models come: the whole audit gives the figures of the plain one, or refuses and says why."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.runs.command_line import command, run_command
from support.runs.tables import exact_of
from support.runs.tiny_demo import TinyDemo

from clinaudit.audit.assembly.again import make_again
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.reports.estimates.frame import Row

pytestmark = pytest.mark.simulation

OPTIONS: Final = (
    "--engine", "transformers", "--tier", "encounter", "--max-new-tokens", "160",
    "--ngram", "20", "--diagnosis", "hiv", "--patients-per-cell", "6", "--no-ordinary", "--no-score", "--processes",
    "1", "--quiet",
)  # fmt: skip
END: Final = "<|endoftext|>"
Change = Callable[[Path], None]


def edit(file: Path, **values: Any) -> None:
    """Set keys of a JSON file; None takes one out."""
    content = json.loads(file.read_text()) if file.exists() else {}
    content.update(values)
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not None}))


def rules(model: Path, **parts: Any) -> None:
    """Set parts of tokenizer.json, of `model` some keys."""
    file = model / "tokenizer.json"
    content = json.loads(file.read_text())
    content["model"].update(parts.pop("of_model", {}))
    file.write_text(json.dumps(content | parts))


def weights(model: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(model / "model.safetensors")
    change(tensors)
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})


def appends(model: Path, token: int) -> None:
    """A post-processor that writes a token behind every text."""
    word = next(
        word
        for word, number in json.loads((model / "tokenizer.json").read_text())["model"]["vocab"].items()
        if number == token
    )
    one, two = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    end = {"SpecialToken": {"id": word, "type_id": 0}}
    special = {word: {"id": word, "ids": [token], "tokens": [word]}}
    rules(
        model,
        post_processor={
            "type": "TemplateProcessing",
            "single": [one, end],
            "pair": [one, two, end],
            "special_tokens": special,
        },
    )


def asked_for_by_training(model: Path) -> None:
    cut = {"direction": "Right", "max_length": 20, "strategy": "LongestFirst", "stride": 0}
    fill = {
        "strategy": {"Fixed": 300},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": END,
    }
    rules(model, of_model={"dropout": 0.3}, truncation=cut, padding=fill)


def named_in_the_map_alone(model: Path) -> None:
    edit(model / "tokenizer_config.json", eos_token=None, pad_token=None)
    edit(model / "special_tokens_map.json", eos_token={"content": END})
    edit(model / "config.json", eos_token_id=None)
    (model / "generation_config.json").unlink()


def marks_of_the_site(model: Path) -> None:
    """Words of the notes, made special: they are text all the same."""
    vocabulary = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = json.loads((model / "tokenizer.json").read_text())["added_tokens"]
    words = [word for word in ("hpi", "plan", "ros", "cc") if word in vocabulary]
    assert words
    rules(
        model,
        added_tokens=added + [{"id": vocabulary[word], "content": word, "special": True, **flags} for word in words],
    )


def wants_other_decoding(model: Path) -> None:
    edit(
        model / "generation_config.json",
        repetition_penalty=3.0,
        do_sample=True,
        temperature=2.0,
        eos_token_id=[0, 9999],
    )


def saved_without_head(model: Path) -> None:
    """Names without their first part, and a head that was trained apart beside."""

    def change(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            tensors[name.removeprefix("model.")] = tensors.pop(name)
        tensors["lm_head.weight"] = tensors["embed_tokens.weight"] + 1

    weights(model, change)


def fewer_embeddings(model: Path) -> None:
    name = "model.embed_tokens.weight"
    edit(model / "config.json", vocab_size=600)
    weights(model, lambda tensors: tensors.update({name: tensors[name][:600].clone()}))


#: Siblings that are the same model.
ALIKE: Final[dict[str, Change]] = {
    "dropout, truncation and padding": asked_for_by_training,
    "a separator behind every text": lambda model: appends(model, 1),
    "the class of another tokenizer": lambda model: edit(
        model / "tokenizer_config.json", tokenizer_class="BertTokenizer"
    ),
    "no decoder": lambda model: rules(model, decoder=None),
    "an end that the map alone names": named_in_the_map_alone,
    "words of the notes as marks": marks_of_the_site,
    "decoding of its own": wants_other_decoding,
    "no architectures": lambda model: edit(model / "config.json", architectures=None),
    "float64": lambda model: weights(
        model, lambda tensors: tensors.update({name: own.double() for name, own in tensors.items()})
    ),
}
#: Siblings that are not, and what is said.
OTHERS: Final[dict[str, tuple[Change, str]]] = {
    "a classifier's head beside": (
        lambda model: weights(model, lambda tensors: tensors.update({"score.weight": torch.ones(2, 96)})),
        r"hold 1 weights that config\.json has no place for, and that are not used \(score\.weight\)",
    ),
    "a weight that is missing": (
        lambda model: weights(model, lambda tensors: tensors.pop("model.norm.weight")),
        r"lack 1 of its weights \(model\.norm\.weight\)",
    ),
    "a tied head that was trained apart": (
        lambda model: weights(model, lambda own: own.update({"lm_head.weight": own["model.embed_tokens.weight"] + 1})),
        r"ties to others, from which they differ \(lm_head\.weight\)",
    ),
    "the same in a network saved without its head": (saved_without_head, r"from which they differ \(lm_head\.weight\)"),
    "shards of an older saving": (
        lambda model: shutil.copy(model / "model.safetensors", model / "model-00003-of-00003.safetensors"),
        r"the weights must be one file, model\.safetensors, .* remove model-00003-of-00003\.safetensors",
    ),
    "an encoder-decoder": (lambda model: edit(model / "config.json", is_encoder_decoder=True), "is an encoder-decoder"),
    "fewer embeddings than tokens": (fewer_embeddings, "number 600, and 99 more, and the model has 600 embeddings"),
    "a config of the tokenizer that is no JSON": (
        lambda model: (model / "tokenizer_config.json").write_text("{broken"),
        r"not valid JSON: .*tokenizer_config\.json",
    ),
}  # fmt: skip


def audit(demo: TinyDemo, folder: Path, change: Change | None = None) -> tuple[int, str, list[Row]]:
    """Audit a changed copy of the model; return status, what was said, and the figures of memorization."""
    model = folder / "model"
    shutil.copytree(demo.model, model)
    if change is not None:
        change(model)
    done = run_command(command(TinyDemo(demo.corpus, model), folder / "run", *OPTIONS))
    is_done = (folder / "run" / "manifest.json").exists()
    figures = [row for row in exact_of(folder / "run") if row.tier == "encounter" and row.form] if is_done else []
    return done.returncode, done.stderr, figures


@pytest.fixture(scope="module")
def plain(tiny_demo: TinyDemo, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    status, said, figures = audit(tiny_demo, tmp_path_factory.mktemp("plain"))
    assert (status, said) == (8, "")
    assert any(row.metric == "memorized_fraction" and row.arm == "train" and (row.value or 0) > 0.05 for row in figures)
    return figures


@pytest.mark.parametrize("name", ALIKE)
def test_the_same_model_has_the_same_figures(name: str, plain: list[Row], tiny_demo: TinyDemo, tmp_path: Path) -> None:
    status, said, figures = audit(tiny_demo, tmp_path, ALIKE[name])
    assert (status, figures) == (8, plain), said
    # What it wrote it writes again, asked alone.
    texts = read_table(tmp_path / "run" / "evidence", "generations")[:6]
    again = [
        make_again(tmp_path / "run", row["generation_id"], tmp_path / "model", engine="transformers", base=None)
        for row in texts
    ]
    assert [made.text for made in again] == [row["text"] for row in texts]


@pytest.mark.parametrize("name", OTHERS)
def test_another_model_is_refused_and_named(name: str, tiny_demo: TinyDemo, tmp_path: Path) -> None:
    change, words = OTHERS[name]
    status, said, figures = audit(tiny_demo, tmp_path, change)
    assert (status, figures) == (3, [])
    assert re.search(words, " ".join(said.split())), said
    assert "BUG" not in said
