"""What the certificate reads of the evidence of a finished run (PHI).

Owns the way from tables to what is asked of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from clinaudit.audit.measures.extraction import MOST_QUERIES
from clinaudit.audit.results.comparison.run_pair import RunPair
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.reports.schema.record import Arm


class Answer(NamedTuple):
    """Counts of one generation."""

    generation_id: str
    patient_id: str
    arm: Arm
    tier: str
    tokens: int
    memorized_tokens: int
    attributable_tokens: int

    @property
    def attributable_part(self) -> float:
        """Share of its tokens that are the patient's own."""
        return self.attributable_tokens / self.tokens if self.tokens else 0.0


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
    def longest_matches(self) -> dict[str, int]:
        """Tokens of the longest region of each generation that has one."""
        regions: dict[tuple[str, int], tuple[int, int]] = {}
        for row in self._rows("regions"):
            key = row["generation_id"], row["region_id"]
            start, end = regions.get(key, (row["token_start"], row["token_end"]))
            regions[key] = min(start, row["token_start"]), max(end, row["token_end"])
        return _longest((key, end - start) for (key, _), (start, end) in regions.items())

    @cached_property
    def longest_near_matches(self) -> dict[str, int]:
        """Tokens of the longest near-verbatim region of each generation that has one."""
        return _longest(
            (row["generation_id"], row["token_end"] - row["token_start"]) for row in self._rows("near_verbatim")
        )

    @cached_property
    def queries(self) -> dict[tuple[str, str], float]:
        """Queries that the model takes, by patient and tier, `MOST_QUERIES` where it takes more.

        Patients of whose notes no window counts, and runs without scores, have none.
        """
        return {
            (row["patient_id"], row["tier"]): MOST_QUERIES if row["queries"] is None else row["queries"]
            for row in self._rows("queries_needed")
            if row["model"] == "audited" and row["token_end"] is not None
        }

    def _own_rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of the tiers' own form; of a run that asked in a chat alone, those of the chat."""
        rows = [row for row in self._rows(name) if row["model"] == "audited"]
        return [row for row in rows if row["form"] == "text"] or [row for row in rows if row["form"] == "chat"]

    def _rows(self, name: str) -> list[dict[str, Any]]:
        if not (self.run.evidence / f"{name}.parquet").is_file():
            return []
        # A row without a role belongs to a generation or a patient, and is found by these alone.
        return [
            row
            for row in read_table(self.run.evidence, name)
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


def _longest(lengths: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, length in lengths:
        found[key] = max(length, found.get(key, 0))
    return found
