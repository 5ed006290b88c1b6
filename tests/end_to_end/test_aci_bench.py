"""A second real input: ACI-Bench, where notes lack dates, colons, ages and names (skips where it is absent)."""

import json
from pathlib import Path

import pytest
from support.runs.tables import exact_of

from clinaudit.audit.commands.main import run

ACI_BENCH = Path(__file__).resolve().parents[3] / "shared" / "data" / "aci-bench"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository"),
]


def test_audit_completes_says_what_is_missing_and_never_passes(tiny_demo, tmp_path, capsys):
    """What the model knows is none of it: that of the demo will do."""
    out = tmp_path / "run"
    arguments = ["audit", str(tiny_demo.model), str(ACI_BENCH), "--out", str(out), "--quiet", "--no-everyday"]
    status = run([*arguments, "--engine", "transformers", "--max-new-tokens", "60"])
    assert status in (1, 8)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert results["verdict"]["status"] == ("fail" if status == 1 else "inconclusive")
    assert "encounter" not in results["settings"]["tiers"]
    assert any("these tiers: encounter" in warning for warning in results["warnings"])
    assert any("visit date" in warning for warning in results["corpus"]["warnings"])
    assert results["corpus"]["labels"] == "lexicon"
    (row,) = exact_of(out).rows("excluded", tier="encounter", arm="train", part="no distinguishing fact")
    assert row.count_low
    assert "No distinguishing fact" in (out / "annex.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(["show", str(out)]) == 0
    assert "warning" in capsys.readouterr().out
