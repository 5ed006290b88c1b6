"""Small models of many families, each of which knows one note: both engines find it, or say why they cannot.

What they decode is the rest of the note, and what they score is held against one plain forward pass for each text; what
transformers' own loop decodes, `test_kinds_of_models`. vLLM runs in a process of its own, as in `test_vllm_engine`.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.models.families import ENDED, FAMILIES, ask, main, make_family, note_ids, to_decode, to_score
from support.models.score_twin import scores_by_definition

from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import covered_tokens, find_matches
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.runtime.model.pretrained import load_pretrained

pytestmark = [
    pytest.mark.simulation,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
]
ENGINES = ("transformers", "vllm")
#: Nats by which the scores of two engines may differ.
CLOSE = 1e-3
#: Who may refuse, and the word that its reason must hold. vLLM has one code of positions for all lengths of text; the
#: state of a state space takes up a batch's padding.
REASONS = {
    ("phi3, longrope", "vllm"): "longrope",
    ("mamba2, state space", "transformers"): "state.space|mamba",
    ("mamba2, state space", "vllm"): "state.space|mamba",
    ("falcon-h1, attention and state space", "transformers"): "state.space|falcon.?h1",
    ("codegen, two lengths", "vllm"): "CodeGen",
}
#: The model that vLLM loads twice in one process, as a control model of the same family would be.
AGAIN = "again"
BOTH = [(family, engine) for family in FAMILIES for engine in ENGINES]


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    room = tmp_path_factory.mktemp("families")
    for place, family in enumerate(FAMILIES.values()):
        make_family(family, room / str(place))
    return {name: room / str(place) for place, name in enumerate(FAMILIES)}


@pytest.fixture(scope="module")
def said(directories: dict[str, Path]) -> dict[tuple[str, str], dict[str, Any]]:
    """What each engine says of each family."""
    asked = [*directories.items(), (AGAIN, directories["olmo2"])]
    done = subprocess.run(
        [sys.executable, "-c", f"from {main.__module__} import main; main()", *(str(place) for _, place in asked)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(asked), f"vLLM ended after {len(lines)} families: {done.stderr}"
    by_vllm = {(name, "vllm"): json.loads(line) for (name, _), line in zip(asked, lines, strict=True)}
    return by_vllm | {(name, "transformers"): ask(place, "transformers") for name, place in directories.items()}


def answered(said: dict[tuple[str, str], dict[str, Any]], family: str, engine: str) -> dict[str, Any]:
    """Return the answers; skip the test where the engine may refuse and does."""
    answer = said[family, engine]
    if "refused" in answer and (family, engine) in REASONS:
        pytest.skip("refused")
    assert "refused" not in answer, answer["refused"]
    return answer


@pytest.mark.parametrize(("family", "engine"), BOTH)
def test_the_note_is_found_in_a_batch_and_alone(directories, said, family: str, engine: str) -> None:
    together, alone = answered(said, family, engine)["outputs"]
    files = inspect_model(directories[family])
    ids = note_ids(files)
    notes = concatenate_sequences([ids])
    assert together == alone
    for request in to_decode(ids, files.context_length):
        decoded, finish = together[request.key]
        rest = list(ids[len(request.prompt_ids) :][: request.max_new_tokens])
        (begins,) = find_matches(concatenate_sequences([decoded]), notes, match_tokens=30)
        assert covered_tokens(begins, match_tokens=30).mean() == 1.0
        assert (decoded, finish) == (rest, "stop" if request.key == ENDED else "length")


@pytest.mark.parametrize(("family", "engine"), BOTH)
def test_scores_are_those_of_one_plain_pass_for_each_text(directories, said, family: str, engine: str) -> None:
    answer = answered(said, family, engine)
    files = inspect_model(directories[family])
    for scores in answer["scores"]:
        for text in to_score(note_ids(files), files.context_length):
            # Loaded anew: some codes of positions depend on the texts that came before.
            network = load_pretrained(files, dtype=torch.float32).eval()
            (expected, *_) = scores_by_definition(network, [text])[text.key]
            assert np.abs(expected - scores[text.key]).max() < CLOSE
            # The note is known by heart.
            assert min(expected) > np.log(0.5)


@pytest.mark.parametrize(("family", "engine"), REASONS)
def test_a_refusal_has_its_reason(said, family: str, engine: str) -> None:
    answer = said[family, engine]
    if "refused" not in answer:
        pytest.skip("it answers")
    assert answer["status"] == 3
    assert re.search(REASONS[family, engine], answer["refused"], re.IGNORECASE), answer["refused"]


def test_a_second_model_of_a_family_is_read_as_the_first(said) -> None:
    assert said[AGAIN, "vllm"] == answered(said, "olmo2", "vllm")
