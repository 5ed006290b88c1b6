"""A real Ray cluster that loses one of its two nodes in each stage of an analysis."""

import importlib
import importlib.util
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster.nodes import kill_other, start_other, two_nodes, wait_for
from support.runs.command_line import PROGRAM, run_command

from clinaudit.audit.runtime.cluster import RayRunner

_MEASURES = "clinaudit.audit.measures.memorization."
#: So small that each stage has several shards.
_SMALL = {
    (f"{_MEASURES}stage", "SHARD_CHARS"): 1 << 13,
    (f"{_MEASURES}patient_specificity", "SHARD_BYTES"): 1 << 13,
    (f"{_MEASURES}other_patients", "OWNERS_AT_A_TIME"): 4,
    (f"{_MEASURES}masked_notes", "PART_BYTES"): 1 << 13,
    ("clinaudit.audit.pii.detectors.gazetteer", "_SHARD_CHARS"): 1 << 13,
    ("clinaudit.audit.pii.owners", "_BATCH_CHARS"): 1 << 12,
    ("clinaudit.audit.preview.fit", "_SHARD_NOTES"): 10,
}
_STAGES = {
    *("match_shard", "search_shard", "attribute_shard", "mask_shard", "count_in_shard"),
    *("read_site_shard", "_values_of", "_look_through", "read_shard"),
}


def write_generations(corpus: Path, path: Path) -> None:
    """Write some of each patient, of parts of the own notes and of another patient's."""
    rng = random.Random(0)
    notes = [json.loads(line) for line in (corpus / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for number, note in enumerate(notes):
            texts = [one["text"] for one in (note, rng.choice(notes))]
            text = " ".join(one[begin : begin + 500] for one in texts for begin in [rng.randrange(len(one))])
            row = {"generation_id": f"g{number}", "patient_id": note["patient_id"], "tier": "public", "text": text}
            file.write(json.dumps(row) + "\n")


@pytest.mark.slow
@pytest.mark.simulation
def test_an_analysis_that_loses_a_node_in_each_stage_has_the_same_bytes(secrets, tiny_demo, tmp_path, monkeypatch):
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    for (module, name), size in _SMALL.items():
        monkeypatch.setattr(importlib.import_module(module), name, size)
    generations = tmp_path / "generations.jsonl"
    write_generations(tiny_demo.corpus, generations)
    analyze = [PROGRAM, "analyze", str(generations), str(tiny_demo.corpus), "--tokenizer", str(tiny_demo.model)]
    analyze += ["--quiet", "--ngram", "20"]
    here = tmp_path / "here"
    assert run_command([*analyze, "--out", str(here), "--processes", "2"]).returncode == 0

    done: Counter[str] = Counter()
    usual = RayRunner.map
    with two_nodes(secrets, secrets.folder / "l") as cluster:

        def losing(self: Any, function: Any, shared: Any, shards: Any, **resources: Any) -> Iterator[Any]:
            def alive() -> set[str]:
                return {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}

            before = alive()
            found = usual(self, function, shared, shards, **resources)
            yield next(found)
            kill_other(cluster)
            for one in found:
                done[function.__name__] += 1
                yield one
            start_other(cluster, secrets.ip)
            wait_for(lambda: len(after := alive()) == 2 and len(before & after) == 1, cluster.nodes[1])

        monkeypatch.setattr(RayRunner, "map", losing)
        on_cluster = run_command(
            [*analyze, "--out", str(cluster.run), "--ray-address", cluster.address], environment=cluster.environment
        )
    assert (on_cluster.returncode, on_cluster.stderr) == (0, "")
    assert set(done) == _STAGES, done
    for path in here.rglob("*"):
        name = path.relative_to(here)
        if path.is_file() and "work" not in name.parts and not path.name.startswith("manifest."):
            assert (cluster.run / name).read_bytes() == path.read_bytes(), name
