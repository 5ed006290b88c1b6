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

from clinaudit.audit.api.functions import load_results
from clinaudit.audit.assembly.again import make_again
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.reports.estimates.frame import Row

pytestmark = pytest.mark.simulation

OPTIONS: Final = (
    "--engine", "transformers", "--tier", "encounter", "--max-new-tokens", "160",
    "--ngram", "20", "--diagnosis", "hiv", "--patients-per-cell", "6", "--no-everyday", "--no-score", "--processes",
    "1", "--quiet",
)  # fmt: skip
Change = Callable[[Path], None]


def edit(file: Path, **values: Any) -> None:
    """Set keys of a JSON file; None takes one out."""
    content = json.loads(file.read_text()) if file.exists() else {}
    content.update(values)
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not None}))


def rules(model: Path, **parts: Any) -> None:
    """Set parts of tokenizer.json."""
    edit(model / "tokenizer.json", **parts)


def weights(model: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(model / "model.safetensors")
    change(tensors)
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})


def appends(model: Path, token: int) -> None:
    """A post-processor that writes a token behind every text."""
    vocabulary = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"]
    word = next(word for word, number in vocabulary.items() if number == token)
    one, two = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    end = {"SpecialToken": {"id": word, "type_id": 0}}
    special = {word: {"id": word, "ids": [token], "tokens": [word]}}
    parts = {"single": [one, end], "pair": [one, two, end], "special_tokens": special}
    rules(model, post_processor={"type": "TemplateProcessing", **parts})


def marks_of_the_site(model: Path) -> None:
    """Words of the notes, made special: they are text all the same."""
    read = json.loads((model / "tokenizer.json").read_text())
    vocabulary = read["model"]["vocab"]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    words = [word for word in ("hpi", "plan", "ros", "cc") if word in vocabulary]
    assert words
    marks = [{"id": vocabulary[word], "content": word, **flags} for word in words]
    rules(model, added_tokens=read["added_tokens"] + marks)


def wants_other_decoding(model: Path) -> None:
    other = {"repetition_penalty": 3.0, "do_sample": True, "temperature": 2.0, "eos_token_id": [0, 9999]}
    edit(model / "generation_config.json", **other)


def swap_layers(tensors: dict[str, torch.Tensor]) -> None:
    """Put each of the two layers in the other's place: all shapes are as before."""
    for name in [name for name in tensors if "layers.0." in name]:
        other = name.replace("layers.0.", "layers.1.")
        tensors[name], tensors[other] = tensors[other], tensors[name]


def fewer_embeddings(model: Path) -> None:
    name = "model.embed_tokens.weight"
    edit(model / "config.json", vocab_size=600)
    weights(model, lambda tensors: tensors.update({name: tensors[name][:600].clone()}))


#: Siblings that are the same model.
ALIKE: Final[dict[str, Change]] = {
    "a separator behind every text": lambda model: appends(model, 1),
    "words of the notes as marks": marks_of_the_site,
    "decoding of its own": wants_other_decoding,
    "float64": lambda model: weights(
        model, lambda tensors: tensors.update({name: own.double() for name, own in tensors.items()})
    ),
}
#: Siblings that are not, and what is said.
OTHERS: Final[dict[str, tuple[Change, str]]] = {
    "an encoder-decoder": (lambda model: edit(model / "config.json", is_encoder_decoder=True), "is an encoder-decoder"),
    "fewer embeddings than tokens": (fewer_embeddings, "number 600, and 99 more, and the model has 600 embeddings"),
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
    assert again == [(row["text"], row["text"]) for row in texts]


def test_a_model_that_is_not_as_it_was_trained_is_named_on_the_first_screen(
    tiny_demo: TinyDemo, tmp_path: Path
) -> None:
    status, said, figures = audit(tiny_demo, tmp_path, lambda model: weights(model, swap_layers))
    assert status == 8
    assert not any(row.value for row in figures if row.metric == "memorized_fraction")
    assert "hardly likelier than counts of words" in " ".join(said.split())
    verdict = load_results(tmp_path / "run").decision
    assert verdict is not None
    assert (verdict.status, len(verdict.doubts)) == ("inconclusive", 1)
    assert "may not be as it was trained" in verdict.reason
    assert "hardly likelier than counts of words" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("name", OTHERS)
def test_another_model_is_refused_and_named(name: str, tiny_demo: TinyDemo, tmp_path: Path) -> None:
    change, words = OTHERS[name]
    status, said, figures = audit(tiny_demo, tmp_path, change)
    assert (status, figures) == (3, [])
    assert re.search(words, " ".join(said.split())), said
    assert "BUG" not in said
