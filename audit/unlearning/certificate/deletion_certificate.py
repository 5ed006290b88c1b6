"""The deletion certificate: named patients before and after, and what follows (docs/comparing-runs.md).

Owns the order: what audits, answers and trials show of each, one joint test over all of it, the verdicts. The named
patients are the forget set of the unlearning literature, the retained ones its retain set; controls are held out. What
may be published is decided in `coarse_comparison`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.results.comparison.evidence import RunEvidence
from clinaudit.audit.results.comparison.run_pair import ComparedRun, RunPair
from clinaudit.audit.statistics.counts import share_range
from clinaudit.audit.statistics.intervals import estimate_share
from clinaudit.audit.unlearning.certificate.audit_figures import AuditFigures, ComparedFigures, queries_rows
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.canaries import SealedCanaries, check_canaries, count_written
from clinaudit.audit.unlearning.certificate.collapse import CheckedTexts, check_texts
from clinaudit.audit.unlearning.certificate.compared_answers import Evidence, measure_collateral
from clinaudit.audit.unlearning.certificate.joint_figures import (
    Family,
    JointTests,
    audit_family,
    bench_families,
    run_joint_tests,
)
from clinaudit.audit.unlearning.certificate.question_block import answer_rows, describe_answers, lacks_answers
from clinaudit.audit.unlearning.certificate.robustness_block import describe_detectability, describe_trials, trial_rows
from clinaudit.audit.unlearning.certificate.training_record import TrainingRecord
from clinaudit.audit.unlearning.certificate.verdict import (
    ANSWERS_COLLAPSED,
    CANARY,
    NOT_PROBED,
    NOT_TRAINED,
    NOTHING_TELLS,
    OF_THE_RUNS,
    OTHER_CORPUS,
    OWN_COLLAPSE,
    PURGED,
    UNCHECKED,
    UNWEIGHED,
    Found,
    count_verdicts,
    worst_of,
)
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.reports.schema.certificate import (
    BenchBlocks,
    CanaryCheck,
    CanaryTally,
    Certificate,
    CertificateRow,
    CertifiedModel,
    PatientCertificate,
    QuestionRow,
    Shortfall,
    TrainedAgain,
    Trigger,
)
from clinaudit.reports.schema.comparison import Forgetting, LevelCounts
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.numbers import Estimate, exact_estimate, exactly
from clinaudit.reports.tally.coarse_comparison import coarsen_forgetting

_NAMED: Final = "named"
_NO_CONTROLS: Final = "there are no patients never seen to compare with"
#: Of `beside`: what was weighed, in words.
SEALED_CANARIES: Final = "sealed canaries"
ANSWERS: Final = "answers to a benchmark's questions"
TRIALS: Final = "whether forgetting survives being tried"
TRAINED_AGAIN: Final = "the training record of the model after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who is to be forgotten, and what the site gives beside the two runs."""

    named: Sequence[str]
    #: What the site says of the request; it decides nothing.
    trigger: Trigger | None = None
    #: The run of a model that was retrained without the named patients, found comparable.
    reference: RunEvidence | None = None
    #: That the model after was trained again, without the named patients.
    training_record: TrainingRecord | None = None
    canaries: SealedCanaries | None = None
    #: The answers of the model after to a benchmark's questions.
    bench: BenchResult | None = None

    @property
    def beside(self) -> list[str]:
        """What is weighed beside the two runs, in words."""
        given = {
            TRAINED_AGAIN: self.training_record is not None,
            SEALED_CANARIES: self.canaries is not None,
            ANSWERS: self.bench is not None,
            TRIALS: self.bench is not None and self.bench.robustness is not None,
        }
        return [words for words, is_given in given.items() if is_given]


@dataclass(frozen=True, slots=True)
class Certified:
    """The certificate by patient (PHI), the same without names, and what of it may be published."""

    certificate: Certificate
    exact: Forgetting
    published: Forgetting


def certify(request: Request, pair: RunPair, evidence: Evidence | None) -> Certified:
    """Certify the named patients; without the evidence of both runs nobody is shown to be forgotten."""
    named, result = request.named, request.bench
    found = {patient: Found() for patient in named}
    families: list[Family] = []
    asked: set[str] = set()
    rows: dict[str, list[CertificateRow]] = {}
    queries: Mapping[str, list[CertificateRow]] = {}
    texts: CheckedTexts | None = None
    groups: dict[str, set[str]] = {}
    if evidence is None:
        for one in found.values():
            one.lacking.add(PURGED)
    else:
        family, before, after = audit_family(evidence, named, request.reference)
        if request.training_record is not None:
            request.training_record.require_fitting(after.arms, named)
        families.append(family)
        compared = ComparedFigures(
            before=before,
            after=after,
            never_seen=family.never_seen,
            same_prompts=pair.same_prompts,
            reference=family.reference if request.reference is not None else None,
        )
        rows = _read_rows(compared, found)
        queries = queries_rows(*evidence, named, family.never_seen)
        asked = {patient for patient in rows if before.arms[patient] == "train"}
        groups = _group(before, named)
        others = {name: members for name, members in groups.items() if name != _NAMED}
        generations = [run.generations for run in evidence]
        texts = check_texts(generations, others, list(rows), family.never_seen, ngram=pair.b.ngram)
        for patient in rows:
            found[patient].check_texts(has_collapsed(texts.health), texts.named, patient)
            if patient in texts.silenced:
                found[patient].collapses.add(OWN_COLLAPSE)
    questions: dict[str, list[QuestionRow]] = {}
    blocks: BenchBlocks | None = None
    shortfalls: list[Shortfall] = []
    if result is not None:
        of_bench = list(bench_families(result, named))
        families += of_bench
        if evidence is None:
            asked = {patient for patient in named if lacks_answers(result, patient, of_bench[0].after) is None}
        questions = _ask_bench(result, of_bench, found)
        blocks, shortfalls = _describe_bench(result, named, evidence, families[-len(of_bench)].never_seen)
    tests = run_joint_tests(families, [patient for patient in named if patient in asked])
    for patient, one in found.items():
        one.decide(tests.after, tests.before, patient)
        if patient in tests.unweighed:
            one.lacking.add(UNWEIGHED)
        if request.training_record is not None:
            # It was not made to forget: that it writes otherwise than the model before hides nothing.
            one.collapses.clear()
            one.lacking.discard(UNCHECKED)
    tallies, canaries = _look_for_canaries(request, evidence, found, groups)
    patients = [
        _certificate_of(patient, found[patient], tests, texts).model_copy(
            update={
                "measures": [*rows.get(patient, []), *queries.get(patient, [])],
                "questions": questions.get(patient, []),
                "canaries": tallies.get(patient),
            }
        )
        for patient in named
    ]
    return _conclude(
        request,
        pair,
        _Decided(found, patients, tests, texts, canaries, blocks, [*tests.shortfalls, *shortfalls]),
    )


def _read_rows(compared: ComparedFigures, found: Mapping[str, Found]) -> dict[str, list[CertificateRow]]:
    """Return the rows of the patients whom both runs probed, and note what is missing of each."""
    rows: dict[str, list[CertificateRow]] = {}
    for patient, one in found.items():
        if patient not in compared.before.arms or patient not in compared.after.arms:
            one.lacking.add(NOT_PROBED)
            continue
        rows[patient] = compared.rows(patient)
        one.lacking.update(row.reason for row in rows[patient] if row.reason is not None)
        if not rows[patient]:
            # Of a patient without any fact nobody can ask.
            one.lacking.add(NOTHING_TELLS)
        if compared.before.arms[patient] != "train":
            one.lacking.add(NOT_TRAINED)
        if not compared.same_prompts:
            # The model may still reproduce text that the de-identified notes no longer hold, and that is not searched.
            one.lacking.add(OTHER_CORPUS)
    return rows


def _ask_bench(
    result: BenchResult, families: Sequence[Family], found: Mapping[str, Found]
) -> dict[str, list[QuestionRow]]:
    """Return what answers and trials show of each patient, and note what they lack, and whether answers collapsed."""
    answers, trials = families[0], families[1] if len(families) > 1 else None
    rows: dict[str, list[QuestionRow]] = {}
    for patient, one in found.items():
        lacking = lacks_answers(result, patient, answers.after)
        if lacking is not None:
            one.lacking.add(lacking)
            continue
        own = answer_rows(patient, answers.after, answers.before, answers.reference, answers.never_seen)
        one.lacking.update(row.reason for row in own if row.reason is not None)
        if trials is not None:
            own += trial_rows(patient, trials.after, trials.reference, trials.never_seen)
        if has_collapsed(result.health):
            # Whom the benchmark does not ask about, its answers say nothing of.
            one.collapses.add(ANSWERS_COLLAPSED)
        rows[patient] = own
    return rows


def _describe_bench(
    result: BenchResult, named: Sequence[str], evidence: Evidence | None, controls: Collection[str]
) -> tuple[BenchBlocks, list[Shortfall]]:
    detectability, shortfalls = describe_detectability(result)
    asked = [patient for patient in named if result.patients.get(patient) is not None]
    blocks = BenchBlocks(
        questions=describe_answers(result, asked, controls),
        robustness=describe_trials(result, named),
        detectability=detectability,
        collateral=measure_collateral(result, named, evidence),
    )
    return blocks, shortfalls


def _look_for_canaries(
    request: Request, evidence: Evidence | None, found: Mapping[str, Found], groups: Mapping[str, set[str]]
) -> tuple[Mapping[str, CanaryTally], CanaryCheck | None]:
    """Return the canaries; runs that kept no texts have nothing to look for them in, and then nobody is certified."""
    if request.canaries is None or evidence is None or not all(run.written for run in evidence):
        return {}, None
    tallies = count_written(request.canaries, *(run.written for run in evidence))
    for patient, one in found.items():
        if patient in tallies and tallies[patient].after:
            one.leaks.add(CANARY)
    return tallies, check_canaries(request.canaries, tallies, groups)


def _certificate_of(patient: str, found: Found, tests: JointTests, texts: CheckedTexts | None) -> PatientCertificate:
    is_asked = patient in tests.after.as_large
    largest = tests.after.largest.get(patient)
    return PatientCertificate(
        patient_id=patient,
        verdict=found.verdict,
        leaked_before=patient in tests.before.as_large and tests.before.fails(patient),
        reasons=found.reasons,
        measures=[],
        as_large=tests.after.as_large.get(patient),
        p_value=tests.after.p_value(patient) if is_asked else None,
        p_value_before=tests.before.p_value(patient) if is_asked else None,
        p_value_texts=texts.named.p_value(patient) if texts is not None and patient in texts.named.as_large else None,
        largest=None if largest is None else ", ".join(largest),
    )


def _group(run: AuditFigures, named: Collection[str]) -> dict[str, set[str]]:
    """Return who is named, who else was trained on, and who was never seen, of all whom a run probed."""
    probed = run.arms.keys()
    return {
        _NAMED: set(named),
        "retained": {patient for patient in probed - set(named) if run.arms[patient] == "train"},
        "controls": {patient for patient in probed - set(named) if run.arms[patient] != "train"},
    }


def _model_of(run: ComparedRun) -> CertifiedModel:
    identity = read_identity(run.record)
    return CertifiedModel(digest=run.model, name=identity.model_name, audited=identity.date)


@dataclass(frozen=True, slots=True)
class _Decided:
    found: Mapping[str, Found]
    patients: list[PatientCertificate]
    tests: JointTests
    #: None without the evidence of both runs.
    texts: CheckedTexts | None
    canaries: CanaryCheck | None
    blocks: BenchBlocks | None
    shortfalls: list[Shortfall]


def _conclude(request: Request, pair: RunPair, decided: _Decided) -> Certified:
    patients, test = decided.patients, decided.tests.after
    health = [] if decided.texts is None else decided.texts.health
    sizes = {} if decided.texts is None else decided.texts.sizes
    share = Estimate(value=None, n=0, reason=_NO_CONTROLS)
    if test.never_seen:
        share = estimate_share(decided.tests.never_seen_above, test.never_seen)
    verdict = worst_of(decided.found.values())
    collapsed = has_collapsed(health)
    reasons = {reason for patient in patients for reason in patient.reasons}
    certificate = Certificate(
        verdict=verdict,
        before=_model_of(pair.a),
        after=_model_of(pair.b),
        trigger=request.trigger,
        has_reference=request.reference is not None,
        training_record=None
        if request.training_record is None
        else TrainedAgain(started_from=request.training_record.started_from),
        collapsed=collapsed,
        joint=decided.tests.joint,
        controls_above_level=exact_estimate(share),
        health=health,
        differences=list(pair.differences),
        patients=patients,
        shortfalls=decided.shortfalls,
        canaries=decided.canaries,
        bench=decided.blocks,
    )
    collateral = None if decided.blocks is None else decided.blocks.collateral
    exact = Forgetting(
        verdict=verdict,
        named=exactly(len(patients)),
        patients={of: exactly(number) for of, number in count_verdicts(decided.found).items()},
        before=_of_level(sum(patient.leaked_before for patient in patients), len(patients)),
        controls=_of_level(decided.tests.never_seen_above, test.never_seen) if test.never_seen else None,
        controls_above_level=exact_estimate(share),
        collapsed=collapsed,
        is_trained_again=request.training_record is not None,
        health=health,
        reasons=sorted(reasons),
        beside=request.beside,
        collateral={one.group: {name: exactly(count) for name, count in one.bins.items()} for one in collateral or ()},
    )
    published = coarsen_forgetting(exact, group_sizes=sizes, run_reasons=sorted(reasons & OF_THE_RUNS))
    if published.controls is not None:
        shown = share_range(published.controls.above, published.controls.within)
        published = published.model_copy(update={"controls_above_level": shown})
    return Certified(certificate, exact, published)


def _of_level(above: int, patients: int) -> LevelCounts:
    return LevelCounts(above=exactly(above), within=exactly(patients - above))
