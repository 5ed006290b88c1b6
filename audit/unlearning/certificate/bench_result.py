"""The answers to a benchmark as a certificate reads them, and what bears on no verdict (docs/forgetting.md).

On no verdict bear what forgetting cost others (AMNESIA, Figure 4) and forget quality (open-unlearning). No message
quotes what stands in a file, which names patients.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from pydantic import ValidationError

from clinaudit.audit.statistics.intervals import NOBODY_PAIRED, clopper_pearson_of_mean, paired_difference
from clinaudit.audit.statistics.patient_means import harmonic_mean
from clinaudit.audit.unlearning.benchmark.categories import OTHER
from clinaudit.audit.unlearning.certificate.joint_test import ANSWERS, Pool
from clinaudit.audit.unlearning.certificate.patient_figures import RunEvidence
from clinaudit.audit.unlearning.evaluation.evaluate import CHECKS_FILE, RECORD_FILE
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.audit.unlearning.metrics.means import AFE_PARTS, HARMONIC, find_estimate, measure_groups, pooled
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.schema.certificate import AnswerCheck, BenchBlock, ForgetQuality, PriceFigure
from clinaudit.reports.schema.unlearning import CHECKS, AnswerGroup, EvaluatedModel, EvaluationRecord, PatientRole
from clinaudit.templates.text_file import read_text_file

_ROLE: Final = "the result of --bench"
_AGAIN: Final = "run `clinaudit unlearn evaluate` (or `unlearn score`) again"
NOT_ASKED: Final = "the benchmark asks nothing about the patient"
NEVER_TRAINED: Final = "the benchmark says that the patient was never trained on"
#: Of AFE (AMNESIA, equation 3): exact memorization is seen by nobody who is given answers alone.
AFE: Final = tuple(part for part in AFE_PARTS if part != "em")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The answers of the model after beside those of the model before, on one split."""

    model: str
    split: str
    form: str
    seed: int
    #: Of the split's patients.
    roles: Mapping[str, PatientRole]
    categories: Mapping[str, str]
    #: `PATIENT_FIGURES` of the model after, and of the model before, where there is one.
    after: pl.DataFrame
    before: pl.DataFrame | None
    #: Whether the answers of the model after still read as those of the model before; empty where there is none.
    health: tuple[AnswerCheck, ...]


def read_bench_result(path: Path, *, model: str | None, digest: str | None, corpus_digest: str | None) -> BenchResult:
    """Return what a result says of the model after.

    `model` names it; None: the one of the `digest`. Raises `UsageError` where there is no such model, `BadInputError`
    for another corpus than that audited, and `IntegrityError` for files that are damaged.
    """
    name = printable(path.name)
    if not (path / RECORD_FILE).is_file():
        raise BadInputError(f"{name} holds no finished evaluation ({RECORD_FILE} is missing); {_AGAIN}")
    try:
        record = EvaluationRecord.model_validate_json(read_text_file(path / RECORD_FILE, role=_ROLE))
    except ValidationError:
        # pydantic quotes what it could not read.
        raise _damaged(RECORD_FILE) from None
    if corpus_digest is not None and record.corpus_digest != corpus_digest:
        raise BadInputError(f"{_ROLE} {name} is of another corpus than the audits; evaluate with a benchmark of theirs")
    after = _find_model(record, model=model, digest=digest, place=name)
    split = after.split if after.split is not None else record.splits[0].split
    try:
        figures, roles = (
            pl.read_parquet(path / "evidence" / f"{table}.parquet") for table in ("patient_figures", "roles")
        )
        checks = pl.read_csv(path / CHECKS_FILE, schema=CHECKS).filter(split=split, model=after.name)
        health = [AnswerCheck(**row) for row in checks.drop("split", "model").iter_rows(named=True)]
        of_split = roles.filter(split=split)
        before = None if record.before in (None, after.name) else figures.filter(model=record.before)
        return BenchResult(
            model=after.name,
            split=split,
            form=record.form,
            seed=record.seed,
            roles=dict(of_split.select("patient_id", "role").iter_rows()),
            categories=dict(of_split.select("patient_id", "category").iter_rows()),
            after=figures.filter(model=after.name),
            before=before,
            health=tuple(health),
        )
    except (pl.exceptions.PolarsError, OSError, ValidationError):
        raise _damaged("a table") from None


def _find_model(record: EvaluationRecord, *, model: str | None, digest: str | None, place: str) -> EvaluatedModel:
    for one in record.models:
        if one.name == model or (model is None and digest is not None and one.digest == digest):
            return one
    if model is not None:
        raise UsageError("--bench-model names no model of --bench; give one of those that stand there")
    raise UsageError(
        f"no model of {place} has the digest of RUN_B's; evaluate that model, or, where it is served or its answers "
        "were made elsewhere, name it with --bench-model"
    )


def _damaged(what: str) -> IntegrityError:
    return IntegrityError(f"{what} of --bench is not as clinaudit writes it now; {_AGAIN}")


def measure_answers(figures: pl.DataFrame) -> dict[str, float | None]:
    """Return what answers keep of each patient: 1 - AFE of the use of questions of which most is kept; or None."""
    count = pl.col("n").sum()
    means = (
        figures.filter(pl.col("metric").is_in(AFE))
        .group_by("patient_id", "use", "metric", maintain_order=True)
        .agg(pl.when(count > 0).then((pl.col("value") * pl.col("n")).sum() / count))
        .group_by("patient_id", "use", maintain_order=True)
        .agg("value")
    )
    found: dict[str, list[float | None]] = {}
    for patient, _, parts in means.iter_rows():
        has_all = None not in parts and len(parts) == len(AFE)
        found.setdefault(patient, []).append(float(1 - harmonic_mean(1 - np.array(parts))) if has_all else None)
    return {
        patient: None if None in own else max(one for one in own if one is not None) for patient, own in found.items()
    }


def add_answers(pool: Pool | None, answers: Mapping[str, float | None], never_trained: Collection[str]) -> Pool:
    """Return the pool with what answers keep as one measure more; who was not asked is no control any more."""
    figures = {} if pool is None else pool.figures
    added = {
        patient: {**figures.get(patient, {}), **({ANSWERS: answers[patient]} if patient in answers else {})}
        for patient in {*figures, *answers}
    }
    asked = {patient for patient in never_trained if patient in answers}
    never_seen = asked if pool is None else asked & {*pool.never_seen}
    return Pool(added, never_seen, {} if pool is None else pool.chart_tokens)


def lacks_answers(result: BenchResult, patient: str, after: Collection[str]) -> str | None:
    """Return why the answers say nothing of a patient; None where they do."""
    role = result.roles.get(patient)
    if role == "never_trained":
        return NEVER_TRAINED
    return None if role is not None and patient in after else NOT_ASKED


def describe_bench(result: BenchResult, named: Collection[str]) -> BenchBlock:
    """Return what the answers add to the certificate of the named patients."""
    return BenchBlock(
        model=result.model,
        split=result.split,
        form=result.form,
        health=list(result.health),
        collapsed=has_collapsed(result.health),
        collateral=measure_collateral(result, named),
    )


_MU: Final = "mu_without_em"
NOT_SCORED: Final = "the notes of the named were not scored in both runs"


def measure_collateral(result: BenchResult, named: Collection[str]) -> list[PriceFigure] | None:
    """Return MU of retained patients, by whether they share a named one's disease; None without a model before.

    MU (AMNESIA, equation 2) is without exact memorization, which nobody sees who is given answers alone. Who has no
    disease of the taxonomy shares it with nobody.
    """
    if result.before is None:
        return None
    diseases = {result.categories[patient] for patient in named if patient in result.categories} - {OTHER}
    groups: dict[AnswerGroup, set[str]] = {"same": set(), "others": set()}
    for patient, role in result.roles.items():
        if role == "retain" and patient not in named:
            groups["same" if result.categories[patient] in diseases else "others"].add(patient)
    parts = pl.col("metric").is_in(HARMONIC[_MU][0])
    before, after = (pooled(of.filter(parts), use="all") for of in (result.before, result.after))
    now = measure_groups(after, groups, split=result.split, before=before, seed=result.seed)
    earlier = measure_groups(before, groups, split=result.split, seed=result.seed)

    sides = {"before": (earlier, _MU), "after": (now, _MU), "change": (now, f"{_MU}_change")}
    return [
        PriceFigure(
            group=group,
            **{
                side: find_estimate(rows, otherwise="no answer has it", group=group, metric=metric)
                for side, (rows, metric) in sides.items()
            },
        )
        for group in groups
    ]


def measure_price(evidence: Sequence[RunEvidence], groups: Mapping[str, Collection[str]]) -> list[PriceFigure]:
    """Return exp(-loss), a mean over each group's patients, of both models, and the change; empty without scores."""
    losses = [run.losses for run in evidence]
    found = []
    for group, patients in groups.items():
        scored = sorted(losses[0].keys() & losses[1].keys() & set(patients))
        if scored:
            before, after = (np.exp([-own[patient][0] for patient in scored]) for own in losses)
            first, second = (
                clopper_pearson_of_mean(float(of.sum()), of.size, reason=NOBODY_PAIRED) for of in (before, after)
            )
            change = paired_difference(before, after)
            found.append(PriceFigure(group=group, before=first, after=second, change=change))
    return found


def measure_forget_quality(after: RunEvidence, reference: RunEvidence, named: Collection[str]) -> ForgetQuality:
    """Return whether losses on the notes of the named tell the model after from one trained again without them.

    Kolmogorov and Smirnov's test of two samples over the notes that both scored (Maini et al. 2024, TOFU, arXiv
    2401.06121, where it is over truth ratios); a large p: not told apart, which of few notes shows little.
    """
    from scipy.stats import ks_2samp

    of_named = pl.col("patient_id").is_in(list(named)) & pl.col("audited").is_not_null()
    first, second = (run.note_losses.filter(of_named) for run in (after, reference))
    shared = first.join(second, on=["patient_id", "note_id"])
    if shared.is_empty():
        return ForgetQuality(notes=0, statistic=None, p_value=None, reason=NOT_SCORED)
    found = ks_2samp(shared["audited"], shared["audited_right"])
    return ForgetQuality(notes=len(shared), statistic=float(found.statistic), p_value=float(found.pvalue))
