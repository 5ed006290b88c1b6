"""One number a patient and measure, from the evidence of finished runs (PHI).

Owns the way from a run's tables to these numbers, which make the one table that the certificate, its page and its test
read. Of several levels of access, or uses of questions, the largest value counts: so a patient with six diagnoses or a
long chart has no more figures than another, and no more chances to stand out (docs/methods.md, section 12).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, Final, NamedTuple

import polars as pl

from clinaudit.audit.results.comparison.run_pair import RunPair
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.certificate.joint_test import (
    DIAGNOSES,
    IDENTIFIERS,
    LOSS,
    MEASURES,
    OWN_TEXT,
    Figures,
    Pool,
)
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import KeptFigure
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


NO_TIER: Final = "a level of access was not tried in both runs"
NO_VALUE: Final = "a generation, verdict or figure is missing in one of the runs"


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """The figures of every patient that one run probed."""

    arms: Mapping[str, Arm]
    figures: Figures
    #: Tokens of each patient's notes: more text holds more that is met by chance.
    chart_tokens: Mapping[str, int]
    #: (patient, tier) to the ids of its generations.
    generations: Mapping[tuple[str, str], Collection[str]]
    #: (patient, tier) without a prompt, since the patient has none of the tier's facts.
    without_facts: Collection[tuple[str, str]]


def read_audit_figures(evidence: RunEvidence, named: Collection[str]) -> AuditFigures:
    """Return the figures of the patients of a run: `{"p1": {"own text, in tokens": 40.0, ...}, ...}`."""
    arms = {answer.patient_id: answer.arm for answer in evidence.metrics}
    generations: dict[tuple[str, str], set[str]] = {}
    for answer in evidence.metrics:
        generations.setdefault((answer.patient_id, answer.tier), set()).add(answer.generation_id)
    verdicts = _verdicts_on_own(evidence)
    losses = _loss_figures(evidence, [one for one, arm in arms.items() if arm == "nontrain" or one in named])
    figures: dict[str, dict[str, float | None]] = {}
    for patient, answers in grouped(evidence.metrics, lambda answer: answer.patient_id).items():
        found: dict[str, float | None] = {
            OWN_TEXT: max(float(answer.near_verbatim_attributable_tokens) for answer in answers)
        }
        if patient in losses:
            found[LOSS] = losses[patient]
        shares = [_share(verdicts[answer.generation_id]) for answer in answers if answer.generation_id in verdicts]
        if shares:
            found[DIAGNOSES] = _largest(shares)
        if evidence.own_identifiers is not None:
            found[IDENTIFIERS] = float(max(evidence.own_identifiers.get(answer.generation_id, 0) for answer in answers))
        figures[patient] = found
    return AuditFigures(arms, figures, evidence.chart_tokens, generations, evidence.without_facts)


def _verdicts_on_own(evidence: RunEvidence) -> dict[str, list[bool | None]]:
    """Return whether each generation states each of the patient's own diagnoses that it was read for."""
    patients = {answer.generation_id: answer.patient_id for answer in evidence.metrics}
    found: dict[str, list[bool | None]] = {}
    for (generation_id, diagnosis), stated in evidence.stated.items():
        if (patients.get(generation_id, ""), diagnosis) in evidence.diagnosed:
            found.setdefault(generation_id, []).append(stated)
    return found


def _share(verdicts: Sequence[bool | None]) -> float | None:
    return None if None in verdicts else sum(map(bool, verdicts)) / len(verdicts)


def _largest(values: Iterable[float | None]) -> float | None:
    """Return the largest value; None where one is missing, since that might be the largest."""
    found = list(values)
    known = [value for value in found if value is not None]
    return None if len(known) < len(found) else max(known)


def _loss_figures(evidence: RunEvidence, pool: Collection[str]) -> dict[str, float]:
    """Return the share of the reference's loss on each patient's notes that the model has lost: 1 is known by heart.

    The reference is the control model where it scored everybody's notes, else the median patient of the pool, named
    and never-seen alike: the test must not know who is named.
    """
    losses = {patient: evidence.losses[patient] for patient in pool if patient in evidence.losses}
    if not losses:
        return {}
    typical = median(own for own, _ in losses.values())
    has_control = all(control is not None and control > 0 for _, control in losses.values())
    references = {patient: control if has_control and control else typical for patient, (_, control) in losses.items()}
    return {patient: 1 - own / references[patient] for patient, (own, _) in losses.items() if references[patient] > 0}


def missing_of(patient: str, before: AuditFigures, after: AuditFigures, *, same_prompts: bool) -> set[str]:
    """Return what is missing of a patient's audits for a verdict, in words.

    `same_prompts`: the runs had the same ones, so that every generation has its counterpart.
    """
    missing = set()
    for tier in TIER_IDS:
        place = patient, tier
        if place in before.without_facts and place in after.without_facts:
            # No attacker can make this prompt: the patient has no such fact.
            continue
        written = [set(run.generations.get(place, ())) for run in (before, after)]
        if not all(written):
            missing.add(NO_TIER)
        elif same_prompts and written[0] != written[1]:
            missing.add(NO_VALUE)
    return missing


def figure_rows(patient: str, before: Pool, after: Pool) -> list[KeptFigure]:
    """Return each figure of a patient before and after, beside the patients never seen.

    `below` counts those who have less of it after, of so many (`controls`).
    """
    kept = [pool.figures.get(patient, {}) for pool in (before, after)]
    # What was not measured before of anybody can show a leak after, and lacks nothing.
    measured_before = {measure for figures in before.figures.values() for measure in figures}
    rows = []
    for measure in MEASURES:
        if not any(measure in figures for figures in kept):
            continue
        first, second = (figures.get(measure) for figures in kept)
        others = [after.figures.get(one, {}).get(measure) for one in sorted(after.never_seen)]
        known = [one for one in others if one is not None]
        rows.append(
            KeptFigure(
                measure=measure,
                before=first,
                after=second,
                below=0 if second is None else sum(one < second for one in known),
                controls=len(known),
                reason=NO_VALUE if second is None or (first is None and measure in measured_before) else None,
            )
        )
    return rows
