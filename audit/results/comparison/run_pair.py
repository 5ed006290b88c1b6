"""Two runs to be compared: whether their metrics mean the same, and the patients of both, paired (PHI).

Owns which settings must be equal. A mitigation changes the model, and may change the corpus. Any other difference would
be confounded with the mitigation's effect (docs/for-ml-engineers.md). Owns who makes a pair for the differences of own
text and of diagnoses, from the evidence of both. A patient counts once, by the mean over its answers; where it has
several prompts, by those that both runs answered. A member of a cohort makes a pair where both runs judged it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clinaudit.audit.measures.disclosure import (
    COHORT_PLACE,
    NOT_MENTIONED,
    OUTCOMES,
    POSITIVE,
    STATUSES,
    auroc_error,
    measure_auroc,
    paired_error,
    read_cohorts,
)
from clinaudit.audit.measures.generation.estimates import PLACES, Tables, with_place
from clinaudit.audit.measures.memorization.estimates import leave_short_budgets_out
from clinaudit.audit.results.publication.published_files import has_evidence, read_published, read_record
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.audit.runtime.run.manifest import require_finished_run, verify
from clinaudit.audit.statistics.auroc import difference_error
from clinaudit.audit.statistics.estimates import difference_row, mean_row
from clinaudit.audit.statistics.intervals import paired_difference
from clinaudit.errors import BadInputError
from clinaudit.reports.estimates.frame import Row, at
from clinaudit.reports.schema.comparison import Change, Difference
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.run_results import RunReport

_KEYS: Final = (*PLACES, "patient_id")
_TABLES: Final = ("generation_metrics", "cohorts", "priors", "generations", "judgements")
#: Metric -> the tokens of which it is the share of an answer's; of a patient the mean over its answers.
_FRACTIONS: Final = {
    "memorized_fraction": "memorized_tokens",
    "attributable_fraction": "attributable_tokens",
    "near_verbatim_attributable_fraction": "near_verbatim_attributable_tokens",
    "other_patient_fraction": "other_patient_tokens",
}
#: Metric -> the tokens of which a patient has any in some answer.
_ANY: Final = {"hit_rate": "memorized_tokens", "attributable_patients": "attributable_tokens"}
#: Patients of one arm by status, outcome in A and in B: `(2, 5, 5)`.
Joint = NDArray[np.float64]


def compare_evidence(first: Path, second: Path, *, match_tokens: int) -> list[Change]:
    """Return the paired changes of two runs, given their folders of evidence; of what one has not measured, none.

    `match_tokens` is the length of a match: answers whose budget was shorter are left out, as in each run's table.
    """
    runs = [
        {name: pl.scan_parquet(path) for name in _TABLES if (path := folder / f"{name}.parquet").is_file()}
        for folder in (first, second)
    ]
    changes: list[Change] = []
    if all("generation_metrics" in tables for tables in runs):
        changes += compare_text(*(_read_answers(tables, match_tokens) for tables in runs))
    if all(tables.keys() >= {"cohorts", "priors", "generations", "judgements"} for tables in runs):
        changes += compare_readings(*(read_cohorts(tables).kept for tables in runs))
    return changes


def _read_answers(tables: Tables, match_tokens: int) -> pl.DataFrame:
    asked = with_place(tables["generation_metrics"]).filter(pl.col("arm") != "control").collect()
    return leave_short_budgets_out(asked, tables, match_tokens)


def pair_answers(first: pl.DataFrame, second: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the answers to compare of each patient who has some in both runs.

    Those to prompts that both runs asked make the pair, or all where there are none.
    """
    of_both = first.join(second, on=[*_KEYS, "generation_id"], how="semi")

    def keep(rows: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
        shared = rows.join(of_both, on=[*_KEYS, "generation_id"], how="semi")
        alone = rows.join(of_both, on=_KEYS, how="anti").join(other, on=_KEYS, how="semi")
        return pl.concat([shared, alone])

    return keep(first, second), keep(second, first)


def compare_text(first: pl.DataFrame, second: pl.DataFrame) -> Iterator[Change]:
    """Yield the changes of own and others' text at every place of both runs; rows of `generation_metrics`, placed."""
    a, b = map(_by_patient, pair_answers(first, second))
    both = a.join(b, on=_KEYS, suffix=" b").sort(_KEYS)
    for place, group in both.group_by(PLACES, maintain_order=True):
        where = dict(zip(PLACES, map(str, place), strict=True))
        for metric in (*_FRACTIONS, *_ANY):
            yield _change(metric, group[metric].to_numpy(), group[f"{metric} b"].to_numpy(), where)


def _by_patient(rows: pl.DataFrame) -> pl.DataFrame:
    share = {metric: pl.col(tokens) / pl.col("tokens").clip(1) for metric, tokens in _FRACTIONS.items()}
    has = {metric: (pl.col(tokens) > 0).any().cast(pl.Float64) for metric, tokens in _ANY.items()}
    return rows.group_by(_KEYS).agg(*(of.mean().alias(metric) for metric, of in share.items()), **has)


def _change(metric: str, before: NDArray[np.float64], after: NDArray[np.float64], place: Mapping[str, str]) -> Change:
    """Return the change of one value a patient, `(patients,)` each; of a share with who came and who went."""
    found = paired_difference(before, after)
    row = at(metric, **place)._replace(value=found.value, low=found.low, high=found.high, reason=found.reason or "")
    a, b = (
        mean_row(metric, float(values.sum()), int((values > 0).sum()), len(values), **place)
        for values in (before, after)
    )
    if metric in _FRACTIONS:
        return Change.of(a, b, row, pairs=len(before))
    came, went = int((after > before).sum()), int((after < before).sum())
    return Change.of(a, b, row, pairs=len(before), a_only=went, b_only=came)


def compare_readings(first: pl.DataFrame, second: pl.DataFrame) -> Iterator[Change]:
    """Yield the changes of what training adds to the disclosure of a diagnosis, from what was read in both runs.

    Rows as of `read_cohorts(...).kept`. A member whose arm or status differs between the runs makes no pair. What
    training adds is trained on minus never seen, or minus the control where nobody was held out.
    """
    keys = (*COHORT_PLACE, "patient_id", "arm", "present")
    pairs = first.join(second, on=keys, suffix="_b")
    by_arm = {"train": ("train", "outcome"), "nontrain": ("nontrain", "outcome"), "control": ("train", "control")}
    for place, group in pairs.sort(keys).group_by(COHORT_PLACE, maintain_order=True):
        where = dict(zip(COHORT_PLACE, map(str, place), strict=True))
        joints = {arm: _count(group.filter(pl.col("arm") == of), column) for arm, (of, column) in by_arm.items()}
        other = next((arm for arm in ("nontrain", "control") if joints[arm].sum()), None)
        if other is not None and joints["train"].sum():
            yield from _compare_arms(joints["train"], joints[other], where | {"arm": f"train-{other}"})


def _count(group: pl.DataFrame, column: str) -> Joint:
    """Return patients by status and by what was read of them in A and in B, without those unjudged in either."""
    counts = np.zeros((len(STATUSES), len(OUTCOMES), len(OUTCOMES)))
    for present, before, after in group.select("present", column, f"{column}_b").drop_nulls().iter_rows():
        if "unjudged" not in (before, after):
            counts[int(not present), OUTCOMES.index(before), OUTCOMES.index(after)] += 1
    return counts


def _compare_arms(train: Joint, other: Joint, place: Mapping[str, str]) -> Iterator[Change]:
    pairs = int(train.sum() + other.sum())
    areas = [_auroc_rows(joint, place) for joint in (train, other)]
    if all(areas):
        sides = [difference_row(areas[0][side], areas[1][side], place["arm"]) for side in range(2)]
        value = (areas[0][2].value or 0.0) - (areas[1][2].value or 0.0)
        # The error of the first score less the second: B less A.
        error = difference_error(*(paired_error("auroc_all", joint.swapaxes(1, 2)) for joint in (train, other)))
        low, high = error.interval(value, floor=-2.0)
        difference = at("auroc_all", **place)._replace(value=value, low=float(low), high=float(high))
        yield Change.of(sides[0], sides[1], difference, pairs=pairs)
    for metric in ("sensitivity", "false_positive_rate", "mention_rate"):
        changes = [_change_of_share(metric, joint, place) for joint in (train, other)]
        if None not in changes:
            first, second = (of for of in changes if of is not None)
            a, b, difference = (
                difference_row(first.row(side), second.row(side), place["arm"]) for side in ("a", "b", "difference")
            )
            yield Change.of(a, b, difference, pairs=(first.pairs or 0) + (second.pairs or 0))


def _auroc_rows(joint: Joint, place: Mapping[str, str]) -> list[Row]:
    """Return the AUROC in A and in B, and the change; none without both groups."""
    counts = [joint.sum(axis=2), joint.sum(axis=1)]
    if not joint.sum(axis=(1, 2)).all():
        return []
    rows = []
    for of in counts:
        value = float(measure_auroc("auroc_all", of))
        low, high = auroc_error("auroc_all", of).interval(value, floor=0.0)
        rows.append(at("auroc_all", **place)._replace(value=value, low=float(low), high=float(high)))
    return [*rows, at("auroc_all", **place)._replace(value=(rows[1].value or 0.0) - (rows[0].value or 0.0))]


def _change_of_share(metric: str, joint: Joint, place: Mapping[str, str]) -> Change | None:
    statuses = {"sensitivity": [0], "false_positive_rate": [1]}.get(metric, [0, 1])
    table = joint[statuses].sum(axis=0).astype(int)
    if not table.sum():
        return None
    patients = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
    holds = patients != NOT_MENTIONED if metric == "mention_rate" else patients == POSITIVE
    before, after = holds.astype(np.float64)
    return _change(metric, before, after, place)


#: May differ: what a mitigation changes; what is asked beside the greedy answers, and compared where both runs have it;
#: what no generation or verdict depends on; and what is only stated.
_FREE: Final = frozenset(
    {"MODEL", "--base-model", "GENERATIONS", "--score", "--everyday", "--tasks", "--control-model"}
    | {"--control", "--max-batch", "--policy", "--training-log", "--judge-labels"}
)
#: Do not change what a metric means, but may move it a little: they are named in the warnings.
_DRIFT: Final = frozenset({"--engine", "clinaudit"})
#: What `--allow-different-corpus` lets differ.
_CORPUS: Final = frozenset({"CORPUS", "prompts"})
_ABSENT: Final = "not recorded"
_DIGEST_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One of the two runs."""

    run: RunDirectory
    record: Mapping[str, Any]
    #: What the run published; its evidence is read where it is needed.
    published: RunReport
    has_evidence: bool

    @property
    def ngram(self) -> int:
        """Tokens of a match."""
        return int(self._settings["--ngram"])

    @property
    def model(self) -> str | None:
        """Digest of the model; None where only its generations were given."""
        return self._settings.get("MODEL")

    @property
    def corpus(self) -> str | None:
        """Digest of the corpus that it was audited against."""
        return self._settings.get("CORPUS")

    @property
    def _settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.record["settings"]
        return settings


@dataclass(frozen=True, slots=True)
class RunPair:
    """The run before and the run after, found comparable."""

    a: ComparedRun
    b: ComparedRun
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    #: Whether one prompt of one patient means the same in both runs.
    same_prompts: bool

    @property
    def has_evidence(self) -> bool:
        """Whether the evidence of both runs still stands."""
        return self.a.has_evidence and self.b.has_evidence


def open_pair(first: Path, second: Path, *, allow_different_corpus: bool) -> RunPair:
    """Read and verify two runs; raises `BadInputError` naming every setting that keeps them from being compared."""
    a, b = _open(first), _open(second)
    recorded = [_recorded(run.record) for run in (a, b)]
    differing = {
        name: (recorded[0].get(name, _ABSENT), recorded[1].get(name, _ABSENT))
        for name in sorted(recorded[0].keys() | recorded[1].keys())
        if recorded[0].get(name) != recorded[1].get(name)
    }
    free = _FREE | _DRIFT | (_CORPUS if allow_different_corpus else frozenset())
    refused = [name for name in differing if name not in free]
    if refused:
        problems = [f"{name}: {_short(differing[name][0])} and {_short(differing[name][1])}" for name in refused]
        hint = "audit both models against one corpus with one set of settings"
        if set(refused) <= _CORPUS:
            hint += ", or say --allow-different-corpus to compare the patients common to both"
        raise BadInputError(f"the runs cannot be compared, they differ in {', '.join(refused)}; {hint}", problems)
    differences = tuple(
        Difference(name=name, a=_named(name, was, a, "one"), b=_named(name, now, b, "another"))
        for name, (was, now) in differing.items()
    )
    same_prompts = not set(differing) & _CORPUS
    return RunPair(a, b, differences, tuple(_warnings(a, b, set(differing))), same_prompts)


def require_comparable(before: Path, planned: Mapping[str, Any]) -> None:
    """Raise `BadInputError` where a finished run has another model or other settings than those of a planned audit.

    So nobody trains a model and audits it to learn then that the two audits cannot be compared.
    """
    recorded = _recorded(_open(before).record)
    free = _FREE - {"MODEL", "--base-model"} | _DRIFT
    differing = [
        name
        for name in sorted(recorded.keys() & planned.keys() - free)
        if json.dumps(recorded[name], sort_keys=True) != json.dumps(planned[name], sort_keys=True)
    ]
    if differing:
        raise BadInputError(
            f"the audit {before.name} differs from what would be audited now in {', '.join(differing)}; give its "
            "options by --config, or leave --before out, and it is made here"
        )


def _open(path: Path) -> ComparedRun:
    run = require_finished_run(path)
    verify(run)
    record = read_record(run)
    if not isinstance(record.get("settings"), dict):
        raise BadInputError(f"{path.name} does not say how it was made (run.json has no settings); audit again")
    return ComparedRun(run, record, read_published(run), has_evidence(run))


def read_people(pair: RunPair) -> dict[str, str]:
    """Return the id by which a person counts, by each id of a person who has several in the corpus of either run."""
    tables = [run.run.evidence for run in (pair.a, pair.b) if (run.run.evidence / "people.parquet").is_file()]
    return {row["patient_id"]: row["person_id"] for table in tables for row in read_table(table, "people")}


def require_evidence(pair: RunPair) -> None:
    """Raise `BadInputError` where patients cannot be paired, since the evidence of a run was purged."""
    purged = [run.run.root.name for run in (pair.a, pair.b) if not run.has_evidence]
    if purged:
        raise BadInputError(
            f"--exact needs the evidence of both runs, and that of {' and '.join(purged)} was purged; leave --exact out"
            " to compare the published figures"
        )


def _recorded(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what bears on comparability, by the name of the option that sets it."""
    digests = record.get("digests") or {}
    return {
        **record["settings"],
        "clinaudit": record.get("clinaudit"),
        "--judge": record.get("judge"),
        "prompts": digests.get("prompts") if isinstance(digests, dict) else None,
    }


def _named(name: str, value: object, run: ComparedRun, which: str) -> str:
    """Return a setting by a name that a reader knows; of a file without one only that the runs had two."""
    if name == "MODEL":
        return read_identity(run.record).model_name or f"unnamed ({_short(value)})"
    if name == "--policy" and run.published.results.verdict is not None:
        return run.published.results.verdict.policy
    return which if isinstance(value, str) and _short(value) != value else _short(value)


def _short(value: object) -> str:
    """Return a setting in few words; a digest by its first digits."""
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    is_digest = len(text) == 64 and not set(text) - set("0123456789abcdef")
    return text[:_DIGEST_CHARS] if is_digest else text


def _warnings(a: ComparedRun, b: ComparedRun, differing: set[str]) -> list[str]:
    found = []
    if not {"MODEL", "GENERATIONS"} & differing:
        found.append("Both runs are of the same model: whatever differs is drift of the machine, not a mitigation.")
    for name in sorted(_DRIFT & differing):
        found.append(f"The runs differ in {name.removeprefix('--')}: small differences may be due to that alone.")
    if a.record.get("engine") != b.record.get("engine") and "--engine" not in differing:
        found.append("The engines ran on other devices or versions: small differences may be due to that alone.")
    if _CORPUS & differing:
        found.append(
            "The corpora differ: each run's text was matched with its own corpus, from prompts made of its own notes. "
            "Pairs are the patients who have the same id in both. A run of the new model on the old corpus tells more."
        )
    return found
