"""The deletion certificate: named patients before and after, and what follows (docs/comparing-runs.md).

Owns the order: what audits and answers show of each, one joint test over all of it, the verdicts. The named patients
are the forget set of the unlearning literature, the retained ones its retain set; controls are held out. What may be
published is decided in `without_names`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clinaudit.audit.results.comparison.run_pair import ComparedRun, RunPair
from clinaudit.audit.unlearning.certificate.audit_figures import audit_rows, queries_rows, read_audit_figures
from clinaudit.audit.unlearning.certificate.bench_result import (
    BenchResult,
    answer_rows,
    lacks_answers,
    measure_result,
)
from clinaudit.audit.unlearning.certificate.collapse import CheckedTexts, check_texts
from clinaudit.audit.unlearning.certificate.collateral import measure_collateral
from clinaudit.audit.unlearning.certificate.evidence import EvidencePair
from clinaudit.audit.unlearning.certificate.joint_test import JointTests, Measured, run_joint_tests
from clinaudit.audit.unlearning.certificate.training_record import TrainingRecord
from clinaudit.audit.unlearning.certificate.verdict import (
    ANSWERS_COLLAPSED,
    NOT_PROBED,
    NOT_TRAINED,
    NOTHING_TELLS,
    OTHER_CORPUS,
    OWN_COLLAPSE,
    PURGED,
    UNCHECKED,
    UNWEIGHED,
    Found,
    worst_of,
)
from clinaudit.audit.unlearning.certificate.without_names import exact_forgetting, published_forgetting, share_above
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.reports.schema.certificate import (
    BenchBlocks,
    Certificate,
    CertificateRow,
    CertifiedModel,
    PatientCertificate,
    QuestionBlock,
    QuestionRow,
    TrainedAgain,
)
from clinaudit.reports.schema.forgetting import Forgetting, Trigger
from clinaudit.reports.schema.identity import read_identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who is to be forgotten, and what the site gives beside the two runs."""

    named: Sequence[str]
    #: What the site says of the request; it decides nothing.
    trigger: Trigger | None = None
    #: That the model after was trained again, without the named patients.
    training_record: TrainingRecord | None = None
    #: The answers of the model after to a benchmark's questions.
    bench: BenchResult | None = None


class Certified(NamedTuple):
    """The certificate by patient (PHI), the same without names, and what of it may be published."""

    certificate: Certificate
    exact: Forgetting
    published: Forgetting


class _OfAudits(NamedTuple):
    before: Measured
    after: Measured
    #: Of the patients whom both runs probed.
    rows: Mapping[str, Sequence[CertificateRow]]
    #: Those of them whom the model before was trained on.
    asked: Collection[str]
    texts: CheckedTexts


class _OfAnswers(NamedTuple):
    before: Measured
    after: Measured
    rows: Mapping[str, Sequence[QuestionRow]]
    #: Those whom the benchmark asks about.
    asked: Collection[str]
    blocks: BenchBlocks


def certify(request: Request, pair: RunPair, evidence: EvidencePair | None) -> Certified:
    """Certify the named patients; without the evidence of both runs nobody is shown to be forgotten."""
    found = {patient: Found() for patient in request.named}
    audits = None if evidence is None else _read_audits(request, pair, evidence, found)
    answers = None if request.bench is None else _read_answers(request.bench, evidence, found)
    if audits is None:
        for one in found.values():
            one.lacking.add(PURGED)
    origins = [origin for origin in (audits, answers) if origin is not None]
    asked: Collection[str] = origins[0].asked if origins else ()
    tests = run_joint_tests(
        [origin.before for origin in origins if origin.before.figures],
        [origin.after for origin in origins],
        [patient for patient in request.named if patient in asked],
    )
    for patient, one in found.items():
        one.decide(tests.after, tests.before, patient)
        if patient in tests.unweighed:
            one.lacking.add(UNWEIGHED)
        if request.training_record is not None:
            # It was not made to forget: that it writes otherwise than the model before hides nothing.
            one.collapses.clear()
            one.lacking.discard(UNCHECKED)
    certificate = _write_certificate(request, pair, found, audits, answers, tests)
    sizes = {} if audits is None else audits.texts.sizes
    published = published_forgetting(certificate, tests, sizes)
    return Certified(certificate, exact_forgetting(certificate, tests), published)


def _read_audits(request: Request, pair: RunPair, evidence: EvidencePair, found: Mapping[str, Found]) -> _OfAudits:
    """Return what both audits show of each patient, and note what they lack, and whether texts collapsed."""
    before, after = map(read_audit_figures, evidence)
    if request.training_record is not None:
        request.training_record.require_fitting(after.arms, request.named)
    kept_before, kept_after = (run.beside_never_seen(request.named) for run in (before, after))
    never_seen = kept_after.never_seen
    rows: dict[str, list[CertificateRow]] = {}
    for patient, one in found.items():
        if patient not in before.arms or patient not in after.arms:
            one.lacking.add(NOT_PROBED)
            continue
        own = audit_rows(patient, before, after, kept_after, same_prompts=pair.same_prompts)
        one.lacking.update(row.reason for row in own if row.reason is not None)
        if not own:
            # Of a patient without any fact nobody can ask.
            one.lacking.add(NOTHING_TELLS)
        if before.arms[patient] != "train":
            one.lacking.add(NOT_TRAINED)
        if not pair.same_prompts:
            # The model may still reproduce text that the de-identified notes no longer hold, and that is not searched.
            one.lacking.add(OTHER_CORPUS)
        rows[patient] = own
    others = before.arms.keys() - set(request.named)
    retained = {patient for patient in others if before.arms[patient] == "train"}
    groups = {"retained": retained, "controls": others - retained}
    texts = check_texts([run.generations for run in evidence], groups, list(rows), never_seen, ngram=pair.b.ngram)
    for patient in rows:
        found[patient].check_texts(has_collapsed(texts.health), texts.named, patient)
        if patient in texts.silenced:
            found[patient].collapses.add(OWN_COLLAPSE)
        rows[patient] += queries_rows(*evidence, patient, never_seen)
    asked = {patient for patient in rows if before.arms[patient] == "train"}
    return _OfAudits(kept_before, kept_after, rows, asked, texts)


def _read_answers(result: BenchResult, evidence: EvidencePair | None, found: Mapping[str, Found]) -> _OfAnswers:
    """Return what answers show of each patient, and note what they lack, and whether they collapsed."""
    before, after = measure_result(result, found.keys())
    collapsed = has_collapsed(result.health)
    rows: dict[str, list[QuestionRow]] = {}
    for patient, one in found.items():
        lacking = lacks_answers(result, patient, after.figures)
        if lacking is not None:
            one.lacking.add(lacking)
            continue
        rows[patient] = answer_rows(patient, before, after)
        one.lacking.update(row.reason for row in rows[patient] if row.reason is not None)
        if collapsed:
            # Whom the benchmark does not ask about, its answers say nothing of.
            one.collapses.add(ANSWERS_COLLAPSED)
    questions = QuestionBlock(
        model=result.model, split=result.split, form=result.form, health=list(result.health), collapsed=collapsed
    )
    collateral = measure_collateral(result, found.keys(), evidence)
    return _OfAnswers(before, after, rows, rows.keys(), BenchBlocks(questions=questions, collateral=collateral))


def _write_certificate(
    request: Request,
    pair: RunPair,
    found: Mapping[str, Found],
    audits: _OfAudits | None,
    answers: _OfAnswers | None,
    tests: JointTests,
) -> Certificate:
    before, after, record = tests.before, tests.after, request.training_record
    texts = None if audits is None else audits.texts
    by_texts = {} if texts is None else {patient: texts.named.p_value(patient) for patient in texts.named.as_large}
    patients = []
    for patient, one in found.items():
        largest = after.largest.get(patient)
        patients.append(
            PatientCertificate(
                patient_id=patient,
                verdict=one.verdict,
                leaked_before=patient in before.as_large and before.fails(patient),
                reasons=one.reasons,
                measures=[] if audits is None else list(audits.rows.get(patient, ())),
                questions=[] if answers is None else list(answers.rows.get(patient, ())),
                as_large=after.as_large.get(patient),
                p_value=after.p_value(patient) if patient in after.as_large else None,
                p_value_before=before.p_value(patient) if patient in before.as_large else None,
                p_value_texts=by_texts.get(patient),
                largest=None if largest is None else ", ".join(largest),
            )
        )
    health = [] if texts is None else texts.health
    return Certificate(
        verdict=worst_of(found.values()),
        before=_model_of(pair.a),
        after=_model_of(pair.b),
        trigger=request.trigger,
        training_record=None if record is None else TrainedAgain(started_from=record.started_from),
        collapsed=has_collapsed(health),
        joint=tests.joint,
        controls_above_level=share_above(tests),
        health=health,
        differences=list(pair.differences),
        patients=patients,
        bench=None if answers is None else answers.blocks,
    )


def _model_of(run: ComparedRun) -> CertifiedModel:
    identity = read_identity(run.record)
    return CertifiedModel(digest=run.model, name=identity.model_name, audited=identity.date)
