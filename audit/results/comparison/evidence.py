"""The evidence of a finished run, read back into the records that it was written from (PHI).

Owns the way from tables to records.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clinaudit.audit.measures.cohorts.cohort import CohortMember
from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.disclosure.stage import collect_readings, outcomes_by_place
from clinaudit.audit.measures.extraction import MOST_QUERIES
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.judge.stage import outcomes_of
from clinaudit.audit.measures.judge.verdict import Judgement, from_row
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.priors.prompts import Prior
from clinaudit.priors.renderings import BY_CONTROL, DRAWN, OF_CONTROL, Rendering
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.results import RunResults


@dataclass(frozen=True)
class RunEvidence:
    """The tables of one run, each read once, on first use; a table that the run does not have is empty."""

    run: RunDirectory
    results: RunResults = field(repr=False)
    #: Patients whose rows count although the run probed them beside its targets (`--include-patients`).
    included: frozenset[str] = frozenset()

    @cached_property
    def metrics(self) -> list[GenerationMetrics]:
        """Counts of each generation that is an answer: what was refused is not shown to be gone."""
        metrics = (GenerationMetrics(**row) for row in self._own_rows("generation_metrics"))
        return [row for row in metrics if row.is_answer]

    @cached_property
    def generations(self) -> list[Generation]:
        """The generations that the run kept (`audit` alone keeps them), without the characters of their tokens."""
        return self._generations(self._own_rows("generations"))

    @staticmethod
    def _generations(rows: Iterable[dict[str, Any]]) -> list[Generation]:
        return [
            Generation(
                generation_id=row["generation_id"],
                patient_id=row["patient_id"],
                arm=row["arm"],
                tier=row["tier"],
                rendering=row["rendering"],
                diagnoses=tuple(row["diagnoses"]),
                cohorts=tuple(row["diagnoses"]),
                prompt=row["prompt"],
                text=row["text"],
                token_ids=tuple(row["token_ids"]),
                token_chars=(),
                finish_reason=row["finish_reason"],
                refused=row["refused"],
            )
            for row in rows
        ]

    @cached_property
    def priors(self) -> list[Prior]:
        """Every prompt; where there is none, the reason."""
        return [Prior(**{**row, "diagnoses": tuple(row["diagnoses"])}) for row in self._own_rows("priors")]

    @cached_property
    def cohorts(self) -> dict[str, list[CohortMember]]:
        """The members of the matched cohorts, by diagnosis."""
        members: dict[str, list[CohortMember]] = {}
        for row in self._rows("cohorts"):
            diagnosis = row.pop("diagnosis")
            members.setdefault(diagnosis, []).append(CohortMember(**row))
        return members

    @cached_property
    def diagnosed(self) -> set[tuple[str, str]]:
        """Who has which diagnosis, of all whom the run probed: (patient, diagnosis)."""
        annotated = {(row["patient_id"], row["diagnosis"]) for row in self._rows("annotations") if row["present"]}
        members = ((one.patient_id, diagnosis) for diagnosis, of in self.cohorts.items() for one in of if one.present)
        return annotated | {*members}

    @cached_property
    def judgements(self) -> dict[tuple[str, str], Judgement]:
        """The judge's verdicts, by generation and diagnosis."""
        return {(row["generation_id"], row["diagnosis"]): from_row(row) for row in self._rows("judgements")}

    @cached_property
    def readings(self) -> dict[str, dict[str, list[Reading]]]:
        """The readings of complete matched sets, by diagnosis and tier."""
        outcomes = outcomes_of(self.judgements)
        form: Rendering = "chat" if any(row.rendering == "chat" for row in self.generations) else "text"
        control = self._generations(row for row in self._rows("generations") if row["rendering"] == OF_CONTROL[form])
        collected = collect_readings(
            self.cohorts,
            self.priors,
            self.generations,
            outcomes,
            tiers=[tier for tier in TIER_IDS if tier in self._tiers],
            control=outcomes_by_place(control, outcomes) or None,
        )
        return {
            diagnosis: {tier: list(readings.readings) for tier, readings in tiers.items()}
            for diagnosis, tiers in collected.items()
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

    @cached_property
    def _tiers(self) -> set[str]:
        return {row.tier for row in self.metrics}

    def _own_rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of the tiers' own figures, without those of renderings beside them."""
        beside = {DRAWN, *BY_CONTROL, *self.results.renderings}
        return [row for row in self._rows(name) if row["rendering"] not in beside]

    def _rows(self, name: str) -> list[dict[str, Any]]:
        rows = []
        if (self.run.evidence / f"{name}.parquet").is_file():
            rows += read_table(self.run.evidence, name)
        if self.included and (self.run.included / f"{name}.parquet").is_file():
            # A row without a patient belongs to a generation, and is found by it alone.
            rows += [
                row
                for row in read_table(self.run.included, name)
                if row.get("patient_id") is None or row["patient_id"] in self.included
            ]
        return rows


#: Of the run before and of the run after.
EvidencePair = tuple[RunEvidence, RunEvidence]


def _longest(lengths: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, length in lengths:
        found[key] = max(length, found.get(key, 0))
    return found
