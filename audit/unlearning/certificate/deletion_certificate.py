"""The deletion certificate: a request before and after, and what follows (docs/forgetting.md).

Owns the order: one table of figures of audits and answers, one joint test over it, the verdict of the request. The
named patients are the forget set of the unlearning literature, the retained ones its retain set; controls are held out.
What may be published is decided in `without_names`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from clinaudit.audit.results.comparison.run_pair import ComparedRun, RunPair, open_pair, read_people
from clinaudit.audit.unlearning.certificate.bench_result import (
    BenchResult,
    add_answers,
    lacks_answers,
    measure_answers,
    read_bench_result,
)
from clinaudit.audit.unlearning.certificate.collapse import CheckedTexts, check_texts
from clinaudit.audit.unlearning.certificate.collateral import measure_collateral, measure_forget_quality, measure_price
from clinaudit.audit.unlearning.certificate.evidence import EvidencePair, read_evidence
from clinaudit.audit.unlearning.certificate.joint_test import Pool, run_joint_tests
from clinaudit.audit.unlearning.certificate.patient_figures import (
    AuditFigures,
    figure_rows,
    missing_of,
    read_audit_figures,
)
from clinaudit.audit.unlearning.certificate.training_record import TrainingRecord, read_training_record
from clinaudit.audit.unlearning.certificate.verdict import (
    ANSWERS_COLLAPSED,
    COLLAPSED,
    NOT_PROBED,
    NOT_TRAINED,
    NOTHING_TELLS,
    OTHER_CORPUS,
    OWN_COLLAPSE,
    PURGED,
    UNCHECKED,
    UNWEIGHED,
    Found,
    decide,
    reasons_of_request,
)
from clinaudit.audit.unlearning.certificate.without_names import exact_forgetting, published_forgetting
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.priors.corpus.patient import PatientList
from clinaudit.reports.schema.certificate import (
    BenchBlock,
    Certificate,
    CertifiedModel,
    PatientCertificate,
    PriceFigure,
    TrainedAgain,
)
from clinaudit.reports.schema.forgetting import Forgetting, Trigger
from clinaudit.reports.schema.identity import read_identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a site gives beside two runs; every part may be missing."""

    #: What the site says of the request; it decides nothing.
    trigger: Trigger | None = None
    #: File that says whom the model after was trained on: not the named patients.
    training_record: Path | None = None
    #: A result of `unlearn evaluate` or `unlearn score`, and which of its models is that after.
    bench: Path | None = None
    bench_model: str | None = None
    #: The audit of another model that was trained again without the named, to compare with; it decides nothing.
    retrained: Path | None = None
    #: How many of the named asked before, in earlier requests: every certificate tests them again.
    earlier: int = 0


class Certified(NamedTuple):
    """The certificate by patient (PHI), the same without names, and what of it may be published."""

    certificate: Certificate
    exact: Forgetting
    published: Forgetting


class _Kept(NamedTuple):
    """What both models keep of patients, and of which named ones that can be asked."""

    before: Pool
    after: Pool
    asked: Sequence[str]


def certify_runs(pair: RunPair, listed: PatientList, given: Given) -> Certified:
    """Certify that the model after forgot the patients of a list; raises `BadInputError` for what cannot be used.

    Without the evidence of both runs nothing is shown but leaks of answers.
    """
    person_of = read_people(pair)
    named = listed.as_people(person_of).ids
    record = bench = quality = texts = None
    if given.training_record is not None:
        record = read_training_record(given.training_record, pair, named, person_of)
    if given.bench is not None:
        digests = {"digest": pair.b.model, "corpus_digest": pair.a.corpus}
        bench = read_bench_result(given.bench, model=given.bench_model, **digests)
    found = {patient: Found() for patient in named}
    price: list[PriceFigure] = []
    kept = _Kept(Pool({}, (), {}), Pool({}, (), {}), ())
    if pair.has_evidence:
        evidence = read_evidence(pair, included=named)
        kept, texts, price = _read_audits(record, pair, evidence, found)
    else:
        for one in found.values():
            one.lacking.add(PURGED)
    if given.retrained is not None:
        reference = open_pair(pair.b.run.root, given.retrained, allow_different_corpus=False)
        if pair.has_evidence:
            quality = measure_forget_quality(evidence[1], read_evidence(reference, included=named)[1], named)
    if bench is not None:
        kept = _with_answers(kept, bench, found, has_audits=pair.has_evidence)
    is_by_record = record is not None
    tests = run_joint_tests(*kept)
    rows = {patient: figure_rows(patient, kept.before, kept.after) for patient in kept.asked}
    for patient, one in found.items():
        one.lacking.update(row.reason for row in rows.get(patient, ()) if row.reason is not None)
        if patient in tests.unweighed:
            one.lacking.add(UNWEIGHED)
        if is_by_record:
            one.waive()
        if not rows.get(patient) and not one.lacking:
            one.lacking.add(NOTHING_TELLS)
    reasons = reasons_of_request(tests, is_by_record=is_by_record)
    p_values = {} if texts is None else {one: texts.named.p_value(one) for one in texts.named.as_large}
    health = [] if texts is None else texts.health
    before, after = tests.before, tests.after
    certificate = Certificate(
        verdict=decide(list(found.values()), tests, reasons, is_by_record=is_by_record),
        reasons=reasons,
        before=_model_of(pair.a),
        after=_model_of(pair.b),
        trigger=given.trigger,
        earlier=given.earlier,
        training_record=None if record is None else TrainedAgain(started_from=record.started_from),
        collapsed=has_collapsed(health),
        joint=tests.joint,
        health=health,
        patients=[
            PatientCertificate(
                patient_id=patient,
                stood_out_before=before.finds(patient),
                stands_out_after=after.finds(patient),
                reasons=one.reasons,
                figures=rows.get(patient, []),
                as_large=after.as_large.get(patient),
                p_value=after.p_value(patient) if patient in after.as_large else None,
                p_value_before=before.p_value(patient) if patient in before.as_large else None,
                p_value_texts=p_values.get(patient),
                largest=after.largest.get(patient),
            )
            for patient, one in found.items()
        ],
        price=price,
        bench=None
        if bench is None
        else BenchBlock(
            model=bench.model,
            split=bench.split,
            form=bench.form,
            health=list(bench.health),
            collapsed=has_collapsed(bench.health),
            collateral=measure_collateral(bench, found.keys()),
        ),
        forget_quality=quality,
    )
    published = published_forgetting(certificate, {} if texts is None else texts.sizes)
    return Certified(certificate, exact_forgetting(certificate), published)


def _read_audits(
    record: TrainingRecord | None, pair: RunPair, evidence: EvidencePair, found: Mapping[str, Found]
) -> tuple[_Kept, CheckedTexts, list[PriceFigure]]:
    """Return what both audits show of each patient, and note what they lack, whether texts collapsed, and the price."""
    named = found.keys()
    before, after = (read_audit_figures(run, named) for run in evidence)
    if record is not None:
        record.require_fitting(after.arms, named)
    probed = [patient for patient in named if patient in before.arms and patient in after.arms]
    for patient, one in found.items():
        if patient not in probed:
            one.lacking.add(NOT_PROBED)
            continue
        one.lacking |= missing_of(patient, before, after, same_prompts=pair.same_prompts)
        if before.arms[patient] != "train":
            one.lacking.add(NOT_TRAINED)
        if not pair.same_prompts:
            # The model may still reproduce text that the de-identified notes no longer hold, and that is not searched.
            one.lacking.add(OTHER_CORPUS)
    others = before.arms.keys() - named
    retained = {patient for patient in others if before.arms[patient] == "train"}
    groups = {"retained": retained, "controls": others - retained}
    pools = [_pool_of(run, named) for run in (before, after)]
    texts = check_texts([run.generations for run in evidence], groups, probed, pools[1].never_seen, ngram=pair.b.ngram)
    collapsed = has_collapsed(texts.health)
    for patient in probed:
        if collapsed:
            found[patient].breaks.add(COLLAPSED)
        elif collapsed is None:
            found[patient].lacking.add(UNCHECKED)
        if texts.named.fails(patient) or patient in texts.silenced:
            found[patient].breaks.add(OWN_COLLAPSE)
    # Whom no model was trained on has nothing to forget; a record says of everybody that B never saw them.
    asked = [patient for patient in probed if record is not None or before.arms[patient] == "train"]
    measures = {measure for figures in pools[1].figures.values() for measure in figures}
    # What the run after does not measure must not be the reason why the test fails for the run before.
    figures = {
        patient: {measure: value for measure, value in own.items() if measure in measures}
        for patient, own in pools[0].figures.items()
    }
    return _Kept(pools[0]._replace(figures=figures), pools[1], asked), texts, measure_price(evidence, groups)


def _pool_of(run: AuditFigures, named: Collection[str]) -> Pool:
    never_seen = {patient for patient, arm in run.arms.items() if arm == "nontrain" and patient not in named}
    return Pool(run.figures, never_seen, run.chart_tokens)


def _with_answers(kept: _Kept, result: BenchResult, found: Mapping[str, Found], *, has_audits: bool) -> _Kept:
    """Return what is kept with the answers as one measure more, and note whom they say nothing of."""
    before, after = ({} if of is None else measure_answers(of) for of in (result.before, result.after))
    never_trained = {one for one, role in result.roles.items() if role == "never_trained"} - found.keys()
    asked = []
    for patient, one in found.items():
        lacking = lacks_answers(result, patient, after)
        if lacking is not None:
            one.lacking.add(lacking)
            continue
        asked.append(patient)
        if has_collapsed(result.health):
            # Whom the benchmark does not ask about, its answers say nothing of.
            one.breaks.add(ANSWERS_COLLAPSED)
    pools = [kept.before if has_audits else None, kept.after if has_audits else None]
    return _Kept(
        # Without a model before the test of it rests on the audits alone.
        add_answers(pools[0], before, never_trained) if before else kept.before,
        add_answers(pools[1], after, never_trained),
        kept.asked if has_audits else asked,
    )


def _model_of(run: ComparedRun) -> CertifiedModel:
    identity = read_identity(run.record)
    return CertifiedModel(digest=run.model, name=identity.model_name, audited=identity.date)
