"""Two finished runs of planted evidence, made in no time: named patients leak in A, and in B as the test says.

Runs without a fault of the test's own are made once a process and copied.
"""

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
from support.invented_verdict import invented_verdict

from clinaudit.audit.measures.disclosure import estimate_disclosure
from clinaudit.audit.measures.generation.estimates import with_place
from clinaudit.audit.measures.judge.verdict import SPAN_FIELDS
from clinaudit.audit.measures.memorization.estimates import estimate_fractions, estimate_patients
from clinaudit.audit.results.publication.published_files import ESTIMATES, RESULTS, RUN_RECORD
from clinaudit.audit.runtime.run.directory import RunDirectory, write_atomically
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.audit.statistics.estimates import add_differences
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.estimates.frame import Estimates, one_table
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.exports import write_csv
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.run_results import RunResults, to_json

NGRAM = 30
TOKENS = 120
SETTINGS: dict[str, Any] = {
    "MODEL": "a" * 64,
    "CORPUS": "c" * 64,
    "--tokenizer": "d" * 64,
    "--ngram": NGRAM,
    "--seed": 0,
    "--max-new-tokens": TOKENS,
    "--tier": list(TIER_IDS),
}

Ids = list[int]
#: Patient, tier and ids as the model wrote them, to what stands in run B; None: no generation.
Fault = Callable[[str, str, Ids], Ids | None]


class Planted(NamedTuple):
    """Both runs, and who is in them."""

    a: Path
    b: Path
    train: list[str]
    held_out: list[str]
    named: list[str]

    @property
    def patients(self) -> list[str]:
        return [*self.train, *self.held_out]


def unharmed(patient: str, tier: str, ids: Ids) -> Ids:
    return ids


def plant(
    root: Path,
    *,
    fault: Fault = unharmed,
    leaking: Mapping[str, int] | None = None,
    held_out: int = 30,
    settings_b: Mapping[str, Any] | None = None,
    stated: Sequence[str] = (),
) -> Planted:
    """Make both runs; `leaking`: named patients whose longest match in B has so many tokens."""
    train = [f"pt-train-{i:02}" for i in range(40)]
    planted = Planted(root / "a", root / "b", train, [f"pt-held-{i:02}" for i in range(held_out)], train[:5])
    settings = {**SETTINGS, "MODEL": "b" * 64, **(settings_b or {})}
    given = {"leaking": dict(leaking or {}), "settings": settings, "stated": list(stated)}
    made = Path(_made(json.dumps([planted[2:], given])).name)
    for run in (planted.a, planted.b) if fault is unharmed else (planted.a,):
        shutil.copytree(made / run.name, run, dirs_exist_ok=True)
    if fault is not unharmed:
        _write(planted.b, _everybody(planted), fault, 2, **given)
    return planted


@cache
def _made(described: str) -> "tempfile.TemporaryDirectory[str]":
    folder, (who, given) = tempfile.TemporaryDirectory(prefix="compared-pair-"), json.loads(described)
    planted = Planted(Path(folder.name) / "a", Path(folder.name) / "b", *who)
    as_a = {"leaking": dict.fromkeys(planted.named, 60), "settings": SETTINGS, "stated": planted.named}
    _write(planted.a, _everybody(planted), unharmed, 1, **as_a)
    _write(planted.b, _everybody(planted), unharmed, 2, **given)
    return folder


def _everybody(planted: Planted) -> list[tuple[str, str]]:
    return [*((one, "train") for one in planted.train), *((one, "nontrain") for one in planted.held_out)]


#: How everybody is asked.
_ASKED: Final = {"role": "target", "model": "audited", "form": "text", "draw": 0}


def _write(root: Path, everybody: Sequence[tuple[str, str]], fault: Fault, seed: int, **given: Any) -> None:
    leaks, settings, stated = given["leaking"], given["settings"], given["stated"]
    run = RunDirectory(root)
    run.create()
    chance = random.Random(seed)
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("generations", "generation_metrics", "regions", "judgements", "cohorts", "priors")
    }
    prompt = {"diagnoses": ["hiv"], "prompt": "p", "max_new_tokens": TOKENS, "excluded": False}
    for patient, arm in everybody:
        for tier in TIER_IDS:
            ids = fault(patient, tier, _write_text(chance))
            name = f"{tier}/{patient}"
            own = {"generation_id": name, "patient_id": patient, "arm": arm, "tier": tier, **_ASKED}
            tables["priors"].append({**own, **prompt})
            if ids is None:
                continue
            leak = min(leaks.get(patient, 0), len(ids)) if tier == "encounter" else 0
            text = {"text": "t", "token_ids": ids, "finish_reason": "length"}
            tables["generations"].append({**own, **prompt, **text})
            attributable = ("attributable_tokens", "near_verbatim_attributable_tokens")
            leaked = dict.fromkeys(("memorized_tokens", *attributable), leak)
            once = dict.fromkeys(("regions", "source_notes"), int(leak > 0))
            nothing = {"echo_tokens": 0, "stitched_regions": 0, "other_patient_tokens": 0}
            tables["generation_metrics"].append({**own, "tokens": len(ids), **leaked, **once, **nothing})
            if leak:
                place = {"generation_id": name, "token_start": 0, "token_end": leak, "source_note_id": "n"}
                rest = {"region_id": 0, "piece": 0, "char_start": 0, "char_end": 1, "text": "t", "stitched": False}
                ones = dict.fromkeys(("copy_forward_count", "patient_count", "masked_patient_count"), 1)
                tables["regions"].append({**place, **rest, **ones})
            is_stated = patient in stated and tier == "encounter"
            spans = {**{kind: [] for kind in SPAN_FIELDS}, "diagnosis_spans": ["t"] if is_stated else []}
            verdict = {"diagnosis_mentioned": is_stated, "patient_has_diagnosis": "positive" if is_stated else None}
            judged = {"generation_id": name, "diagnosis": "hiv", **verdict, **spans, "judge": "j"}
            tables["judgements"].append({**judged, "attempts": 1, "invalid_reason": None})
    # Half of each arm has the diagnosis; a set takes one of each cell.
    for arm in ARMS:
        patients = [patient for patient, of in everybody if of == arm]
        half = len(patients) // 2
        for place, patient in enumerate(patients):
            member = {"diagnosis": "hiv", "patient_id": patient, "arm": arm, "present": place < half}
            tables["cohorts"].append({**member, "match_id": f"s{place % half}", "propensity": 0.5})
    for name, rows in tables.items():
        write_table(run.evidence, name, rows)
    digests = {"judge": {"kind": "lexicon"}, "digests": {"prompts": "e"}}
    record = {"clinaudit": "test", "settings": dict(settings), **digests}
    exact = _estimate(run)
    write_atomically(run.evidence / ESTIMATES, write_csv(exact))
    write_atomically(run.root / ESTIMATES, write_csv(publish(exact)))
    write_atomically(run.root / RESULTS, to_json(RunResults(verdict=invented_verdict(Estimates(exact)))))
    write_atomically(run.root / RUN_RECORD, json.dumps(record))
    write_manifest(run)


def _estimate(run: RunDirectory) -> pl.DataFrame:
    """Return own text and disclosure as an audit estimates them."""
    names = ("generation_metrics", "cohorts", "priors", "generations", "judgements")
    tables = {name: pl.scan_parquet(run.evidence / f"{name}.parquet") for name in names}
    answers = with_place(tables["generation_metrics"]).collect()
    text = add_differences(one_table([estimate_fractions(answers), estimate_patients(answers)]))
    return one_table([text, estimate_disclosure(tables, prevalences={}, judge_sensitivity=None)])


def _write_text(chance: random.Random) -> Ids:
    """A text of a language in which each of 60 words has three that may follow it."""
    ids = [chance.randrange(60)]
    while len(ids) < TOKENS:
        ids.append((ids[-1] * 7 + chance.choice((1, 5, 11))) % 60)
    return ids
