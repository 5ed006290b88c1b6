"""Small models of many families: each engine decodes and scores them as plain transformers, or says why it cannot.

Kinds that transformers alone is asked about: `test_kinds_of_models`. vLLM runs in a process of its own, as in
`test_vllm_engine`.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from support.models.families import CONTEXT, FAMILIES, ask, main, prompts
from support.models.score_twin import scores_by_definition, texts_to_score
from support.models.tiny_models import generated_alone, save_kind

from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.runtime.model.pretrained import load_pretrained

pytestmark = [
    pytest.mark.simulation,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
]
#: Nats by which the scores of two engines may differ.
CLOSE = 1e-3
#: Who may refuse, and the word that its reason must hold. vLLM has one code of positions for all lengths of text; the
#: state of a state space takes up a batch's padding.
REASONS = {
    ("phi3", "vllm"): "longrope",
    ("mamba2", "transformers"): "mamba",
    ("mamba2", "vllm"): "state.space|mamba",
    ("falcon_h1", "transformers"): "falcon.?h1",
    ("codegen", "vllm"): "CodeGen",
}
#: The model that vLLM loads twice in one process, as a control model of the same family would be.
AGAIN = "again"
BOTH = [(family, engine) for family in FAMILIES for engine in ("transformers", "vllm")]


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    room = tmp_path_factory.mktemp("families")
    for family, settings in FAMILIES.items():
        save_kind(room / family, family, **settings)
    return {family: room / family for family in FAMILIES}


@pytest.fixture(scope="module")
def said(directories):
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


@pytest.mark.parametrize(("family", "engine"), BOTH)
def test_a_family_is_read_as_by_one_plain_pass_for_each_text_or_refused_with_a_reason(
    directories, said, family, engine
):
    answer = said[family, engine]
    if "refused" in answer:
        assert answer["status"] == 3
        assert (family, engine) in REASONS, answer["refused"]
        assert re.search(REASONS[family, engine], answer["refused"], re.IGNORECASE), answer["refused"]
        return
    network = load_pretrained(inspect_model(directories[family]), dtype=torch.float32).eval()
    expected = {request.key: list(generated_alone(network, request)) for request in prompts()}
    assert answer["outputs"] == [expected, expected]
    texts = texts_to_score(network.config.vocab_size, CONTEXT)
    # Loaded anew: some codes of positions depend on the texts that came before.
    network = load_pretrained(inspect_model(directories[family]), dtype=torch.float32).eval()
    by_definition = scores_by_definition(network, texts)
    for scores in answer["scores"]:
        assert max(np.abs(by_definition[text.key][0] - scores[text.key]).max() for text in texts) < CLOSE


def test_a_second_model_of_a_family_is_read_as_the_first(said):
    assert said[AGAIN, "vllm"] == said["olmo2", "vllm"]
    assert "refused" not in said[AGAIN, "vllm"]
