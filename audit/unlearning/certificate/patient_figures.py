"""One number a patient and measure, from the evidence of finished runs (PHI).

Of several levels of access, or uses of questions, the largest value counts: so a patient with six diagnoses or a long
chart has no more figures than another, and no more chances to stand out (docs/methods.md, section 12).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Final, NamedTuple

import polars as pl

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_frame, schema_of
from clinaudit.audit.unlearning.certificate import joint_test
from clinaudit.audit.unlearning.certificate.joint_test import Figures, Pool
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import KeptFigure
from clinaudit.reports.schema.record import Arm


class WrittenText(NamedTuple):
    """One generation, as it is checked for a collapse."""

    patient_id: str
    tier: str
    token_ids: Sequence[int]
    finish_reason: str


@dataclass(frozen=True)
class RunEvidence:
    """The tables of one run, read where they are needed; a table that the run does not have is empty."""

    run: RunDirectory
    #: Patients whose rows count although the run probed them beside its targets (`--include-patients`).
    included: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Whether the run has a table."""
        return (self.run.evidence / f"{name}.parquet").is_file()

    def table(self, name: str) -> pl.DataFrame:
        """Return a table's rows of targets and included patients."""
        frame = read_frame(self.run.evidence, name) if self.has(name) else pl.DataFrame(schema=schema_of(name))
        # A row without a role belongs to a generation or a patient, and is found by these alone.
        return frame.filter(self._counts) if "role" in frame.columns else frame

    @property
    def _counts(self) -> pl.Expr:
        return (pl.col("role") == "target") | pl.col("patient_id").is_in(list(self.included))

    def of_model(self, name: str) -> pl.DataFrame:
        """Return the rows of the tiers' own form; of a run that asked in a chat alone, those of the chat."""
        rows = self.table(name).filter(model="audited")
        text = rows.filter(form="text")
        return rows.filter(form="chat") if text.is_empty() else text

    @cached_property
    def answers(self) -> pl.DataFrame:
        """Rows of `generation_metrics` but refusals: one that repeats nobody's notes is not shown to have forgotten."""
        of_others = ("other_patient_tokens", "other_patient_sampled_tokens", "other_patient_chance_tokens")
        repeats = pl.sum_horizontal(pl.col("memorized_tokens", *of_others).fill_null(0)) > 0
        return self.of_model("generation_metrics").filter(pl.col("refused").not_().fill_null(True) | repeats)

    @cached_property
    def generations(self) -> list[WrittenText]:
        """The generations that the run kept (`audit` alone keeps them)."""
        return [WrittenText(*row) for row in self.of_model("generations").select(WrittenText._fields).iter_rows()]

    @cached_property
    def note_losses(self) -> pl.DataFrame:
        """Mean loss a token of each scored note: patient_id, note_id, audited, control; null where it is not scored."""
        columns = ("patient_id", "note_id", "audited", "control")
        if not self.has("scores"):
            return pl.DataFrame(schema=dict.fromkeys(columns[:2], pl.String) | dict.fromkeys(columns[2:], pl.Float64))
        loss = -pl.col("log_probs").cast(pl.List(pl.Float64)).list.mean()
        of_model = [loss.filter(pl.col("model") == model).first().alias(model) for model in columns[2:]]
        return (
            pl.scan_parquet(self.run.evidence / "scores.parquet")
            .filter(self._counts, pl.col("log_probs").list.len() > 0)
            .group_by(columns[:2])
            .agg(of_model)
            .collect()
        )

    @cached_property
    def losses(self) -> dict[str, tuple[float, float | None]]:
        """Mean loss a token over the notes of each patient, of the model and of the control model.

        A patient with a note whose loss is missing or infinite has none: what is missing may be what leaks.
        """
        means = [_unless_null(pl.col(model), pl.col(model).mean()).alias(model) for model in ("audited", "control")]
        by_patient = self.note_losses.group_by("patient_id").agg(means).filter(pl.col("audited").is_finite())
        return {patient: (own, control) for patient, own, control in by_patient.rows()}

    @cached_property
    def chart_tokens(self) -> Mapping[str, int]:
        """Tokens of all notes of each patient: more text holds more that is met by chance."""
        return dict(self.table("patients").select("patient_id", "tokens").iter_rows())

    @cached_property
    def arms(self) -> Mapping[str, Arm]:
        """The arm of every patient who was probed."""
        return dict(self.answers.select("patient_id", "arm").iter_rows())

    @cached_property
    def asked(self) -> Mapping[tuple[str, str], set[str]]:
        """The ids of the generations of each patient and tier."""
        by_place = self.answers.group_by("patient_id", "tier").agg("generation_id")
        return {(patient, tier): {*ids} for patient, tier, ids in by_place.iter_rows()}

    @cached_property
    def without_facts(self) -> set[tuple[str, str]]:
        """Patients and tiers without a prompt, since the patient has none of the tier's facts."""
        no_fact = self.of_model("priors").filter("excluded", reason="no distinguishing fact")
        return set(no_fact.select("patient_id", "tier").iter_rows())

    def pool(self, named: Collection[str]) -> Pool:
        """Return what the model keeps of patients, the named apart from those never seen."""
        never_seen = {patient for patient, arm in self.arms.items() if arm == "nontrain" and patient not in named}
        return Pool(read_figures(self, named), never_seen, self.chart_tokens)


def _unless_null(values: pl.Expr, figure: pl.Expr) -> pl.Expr:
    """Return a figure of values, null where one is missing: that might be the largest."""
    return pl.when(values.is_null().any()).then(None).otherwise(figure)


def read_figures(evidence: RunEvidence, named: Collection[str]) -> Figures:
    """Return the figures of the patients of a run: `{"p1": {"own text, in tokens": 40.0, ...}, ...}`."""
    answers, arms = evidence.answers, evidence.arms
    pool = [one for one, arm in arms.items() if arm == "nontrain" or one in named]
    measured = {
        joint_test.OWN_TEXT: _largest(answers, pl.col("near_verbatim_attributable_tokens").cast(pl.Float64)),
        joint_test.LOSS: _known_by_heart(evidence, pool),
        joint_test.DIAGNOSES: _diagnoses_said(evidence),
    }
    if evidence.has("identifiers"):
        own = evidence.table("identifiers").filter("verified", owner="own")
        counts = own.group_by("generation_id").agg(pl.struct("kind", "value").n_unique().alias("found"))
        joined = answers.join(counts, on="generation_id", how="left")
        measured[joint_test.IDENTIFIERS] = _largest(joined, pl.col("found").fill_null(0).cast(pl.Float64))
    return {
        patient: {measure: values[patient] for measure, values in measured.items() if patient in values}
        for patient in arms
    }


def _largest(rows: pl.DataFrame, value: pl.Expr) -> dict[str, float | None]:
    return dict(rows.group_by("patient_id").agg(_unless_null(value, value.max()).alias("value")).iter_rows())


def _diagnoses_said(evidence: RunEvidence) -> dict[str, float | None]:
    """Return the largest share of the patient's own judged diagnoses that one generation states; None: no verdict."""
    held = (evidence.table(name).filter("present") for name in ("annotations", "cohorts"))
    diagnosed = pl.concat([rows.select("patient_id", "diagnosis") for rows in held])
    stated = pl.when(pl.col("diagnosis_mentioned").is_not_null()).then(
        pl.col("patient_has_diagnosis").eq_missing("positive")
    )
    shares = (
        evidence.table("judgements")
        .join(evidence.answers.select("generation_id", "patient_id"), on="generation_id")
        .join(diagnosed, on=["patient_id", "diagnosis"], how="semi")
        .group_by("generation_id", "patient_id")
        .agg(_unless_null(stated, stated.mean()).alias("share"))
    )
    return _largest(shares, pl.col("share"))


def _known_by_heart(evidence: RunEvidence, pool: Collection[str]) -> dict[str, float | None]:
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


NO_TIER: Final = "a level of access was not tried in both runs"
NO_VALUE: Final = "a generation, verdict or figure is missing in one of the runs"


def missing_of(patient: str, before: RunEvidence, after: RunEvidence, *, same_prompts: bool) -> set[str]:
    """Return what is missing of a patient's audits for a verdict, in words; `same_prompts` must be answered by both."""
    missing = set()
    for place in ((patient, tier) for tier in TIER_IDS):
        if place in before.without_facts and place in after.without_facts:
            # No attacker can make this prompt: the patient has no such fact.
            continue
        written = [run.asked.get(place) for run in (before, after)]
        if not all(written):
            missing.add(NO_TIER)
        elif same_prompts and written[0] != written[1]:
            missing.add(NO_VALUE)
    return missing


def figure_rows(patient: str, before: Pool, after: Pool) -> list[KeptFigure]:
    """Return each figure of a patient before and after, and how many of those never seen have less of it after."""
    kept = [pool.figures.get(patient, {}) for pool in (before, after)]
    # What was not measured before of anybody can show a leak after, and lacks nothing.
    measured_before = {measure for figures in before.figures.values() for measure in figures}
    rows = []
    for measure in joint_test.MEASURES:
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
