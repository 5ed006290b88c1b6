"""`--include-patients`: asked as targets are, in the evidence alone, and in no published byte."""

import re

import polars as pl
import pytest

from clinaudit.audit.assembly.pipeline import run_audit
from clinaudit.audit.measures.cohorts import cohort
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError, UsageError

pytestmark = pytest.mark.slow


def audit(tiny_demo, run, ids):
    listed = run.with_suffix(".txt")
    if ids is not None:
        listed.write_text("\n".join(ids) + "\n", encoding="utf-8")
    settings = AuditSettings(
        model=str(tiny_demo.model),
        corpus=tiny_demo.corpus,
        out=run,
        engine="transformers",
        tier=("public_name_meds", "encounter"),
        diagnosis=("hiv",),
        patients_per_cell=2,
        max_new_tokens=40,
        include_patients=None if ids is None else listed,
        quiet=True,
        everyday=False,
    )
    run_audit(settings)


def published(run):
    """Every file outside the evidence; the manifest without the evidence's lines."""
    files = [path for path in run.rglob("*") if path.is_file() and run / "evidence" not in path.parents]
    texts = {str(path.relative_to(run)): path.read_bytes().decode("utf-8") for path in files}
    texts["manifest.json"] = re.sub(r' *"evidence/.*\n', "", texts["manifest.json"])
    return texts


def rows(folder, table):
    return pl.read_parquet(folder / f"{table}.parquet").to_dicts()


def test_included_patients_are_in_their_own_evidence_and_in_nothing_else(tiny_demo, tmp_path, monkeypatch):
    monkeypatch.setattr(cohort, "SAMPLE_SIZE", 1)
    plain, with_named = tmp_path / "plain", tmp_path / "named"
    audit(tiny_demo, plain, None)
    targets = {row["patient_id"] for row in rows(plain / "evidence", "priors")}
    corpus = pl.read_csv(tiny_demo.corpus / "patients.csv").filter(pl.col("split") == "train")
    others = sorted(set(corpus["patient_id"]) - targets)
    target, named = min(targets), others[:3]
    audit(tiny_demo, with_named, [target, *named])

    assert published(with_named) == published(plain)
    own = with_named / "evidence"
    for table in ("priors", "generations", "generation_metrics"):
        found = rows(own, table)
        assert [row for row in found if row["role"] == "target"] == rows(plain / "evidence", table)
        assert {row["patient_id"] for row in found if row["role"] == "included"} == set(named)
    beside = {row["generation_id"]: row for row in rows(own, "generations") if row["role"] == "included"}
    for table in ("identifiers", "judgements"):
        found = [row for row in rows(own, table) if row["generation_id"] not in beside]
        assert found == rows(plain / "evidence", table)
    judged = {row["generation_id"] for row in rows(own, "judgements")} & beside.keys()
    assert judged == {key for key, row in beside.items() if row["diagnoses"] == ["hiv"]} != set()

    with pytest.raises(UsageError, match="--include-patients"):
        audit(tiny_demo, with_named, [target, *named[:2]])
    with pytest.raises(BadInputError) as refused:
        audit(tiny_demo, tmp_path / "unknown", [named[0], "", "Eve Unknown"])
    assert refused.value.problems == ("unknown.txt line 3: no patient with notes has this id",)
    assert "Eve" not in str(refused.value)
    assert not (tmp_path / "unknown").exists()
