"""What the certificate reads of the evidence of a finished run (PHI).

Owns the way from tables to what is asked of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from clinaudit.audit.results.comparison.run_pair import RunPair
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.reports.schema.record import Arm


class Answer(NamedTuple):
    """What one generation holds of its patient."""

    generation_id: str
    patient_id: str
    arm: Arm
    tier: str
    #: Tokens of the patient's own text, with an edit or two.
    near_verbatim_attributable_tokens: int


class WrittenText(NamedTuple):
    """One generation, as it is checked for a collapse."""

    patient_id: str
    tier: str
    token_ids: Sequence[int]
    finish_reason: str


@dataclass(frozen=True)
class RunEvidence:
    """The tables of one run, each read once, on first use; a table that the run does not have is empty."""

    run: RunDirectory
    #: Patients whose rows count although the run probed them beside its targets (`--include-patients`).
    included: frozenset[str] = frozenset()

    @cached_property
    def metrics(self) -> list[Answer]:
        """Counts of each generation; a refusal that repeats nobody's notes is not shown to have forgotten."""
        rows = filter(_is_answer, self._own_rows("generation_metrics"))
        return [Answer(*(row[name] for name in Answer._fields)) for row in rows]

    @cached_property
    def generations(self) -> list[WrittenText]:
        """The generations that the run kept (`audit` alone keeps them)."""
        return [WrittenText(*(row[name] for name in WrittenText._fields)) for row in self._own_rows("generations")]

    @cached_property
    def without_facts(self) -> set[tuple[str, str]]:
        """(patient, tier) without a prompt, since the patient has none of the tier's facts."""
        rows = self._own_rows("priors")
        return {
            (row["patient_id"], row["tier"])
            for row in rows
            if row["excluded"] and row["reason"] == "no distinguishing fact"
        }

    @cached_property
    def diagnosed(self) -> set[tuple[str, str]]:
        """Who has which diagnosis, of all whom the run probed: (patient, diagnosis)."""
        rows = [*self._rows("annotations"), *self._rows("cohorts")]
        return {(row["patient_id"], row["diagnosis"]) for row in rows if row["present"]}

    @cached_property
    def stated(self) -> dict[tuple[str, str], bool | None]:
        """Whether the judge read that the patient has it, by generation and diagnosis; None without a verdict."""
        return {
            (row["generation_id"], row["diagnosis"]): None
            if row["diagnosis_mentioned"] is None
            else row["patient_has_diagnosis"] == "positive"
            for row in self._rows("judgements")
        }

    @cached_property
    def own_identifiers(self) -> dict[str, int] | None:
        """Distinct identifiers of the patient in each generation that has one; None: none were looked for."""
        if not self._has("identifiers"):
            return None
        found: dict[str, set[tuple[str, str]]] = {}
        for row in self._rows("identifiers"):
            if row["owner"] == "own" and row["verified"]:
                found.setdefault(row["generation_id"], set()).add((row["kind"], row["value"]))
        return {generation_id: len(values) for generation_id, values in found.items()}

    @cached_property
    def note_losses(self) -> pl.DataFrame:
        """Mean loss a token of each scored note: patient_id, note_id, audited, control; null where it was not scored.

        Infinite where a token has no finite log p.
        """
        columns = ("patient_id", "note_id", "audited", "control")
        if not self._has("scores"):
            return pl.DataFrame(schema=dict.fromkeys(columns[:2], pl.String) | dict.fromkeys(columns[2:], pl.Float64))
        counts = (pl.col("role") == "target") | pl.col("patient_id").is_in(list(self.included))
        loss = -pl.col("log_probs").cast(pl.List(pl.Float64)).list.mean()
        of_model = [loss.filter(pl.col("model") == model).first().alias(model) for model in columns[2:]]
        return (
            pl.scan_parquet(self.run.evidence / "scores.parquet")
            .filter(counts, pl.col("log_probs").list.len() > 0)
            .group_by(columns[:2])
            .agg(of_model)
            .collect()
        )

    @cached_property
    def losses(self) -> dict[str, tuple[float, float | None]]:
        """Mean loss a token over the notes of each patient, and the control model's where it scored the same notes.

        Patients with a note whose loss is missing or infinite have none: what is missing may be what leaks.
        """
        means = [
            pl.when(pl.col(model).is_null().any()).then(None).otherwise(pl.col(model).mean()).alias(model)
            for model in ("audited", "control")
        ]
        by_patient = self.note_losses.group_by("patient_id").agg(means).filter(pl.col("audited").is_finite())
        return {patient: (own, control) for patient, own, control in by_patient.rows()}

    @cached_property
    def chart_tokens(self) -> Mapping[str, int]:
        """Tokens of all notes of each patient."""
        return {row["patient_id"]: row["tokens"] for row in self._rows("patients")}

    def _own_rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of the tiers' own form; of a run that asked in a chat alone, those of the chat."""
        rows = [row for row in self._rows(name) if row["model"] == "audited"]
        return [row for row in rows if row["form"] == "text"] or [row for row in rows if row["form"] == "chat"]

    def _has(self, name: str) -> bool:
        return (self.run.evidence / f"{name}.parquet").is_file()

    def _rows(self, name: str) -> list[dict[str, Any]]:
        # A row without a role belongs to a generation or a patient, and is found by these alone.
        return [
            row
            for row in (read_table(self.run.evidence, name) if self._has(name) else ())
            if row.get("role", "target") == "target" or row["patient_id"] in self.included
        ]


#: Of the run before and of the run after.
EvidencePair = tuple[RunEvidence, RunEvidence]


def read_evidence(pair: RunPair, *, included: Iterable[str] = ()) -> EvidencePair:
    """Return the evidence of both runs; its tables are read lazily. `included` patients count though no targets."""
    a, b = (RunEvidence(run.run, frozenset(included)) for run in (pair.a, pair.b))
    return a, b


def _is_answer(row: dict[str, Any]) -> bool:
    found = ("memorized_tokens", "other_patient_tokens", "other_patient_sampled_tokens", "other_patient_chance_tokens")
    return not row["refused"] or any(row[name] for name in found)
