"""The deletion certificate: a request before and after, its verdict, and what may be published (docs/forgetting.md).

Read this first. The named patients are the forget set of the unlearning literature, the retained ones its retain set;
controls are held out.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from clinaudit.audit.results.comparison.run_pair import RunPair, open_pair, read_people
from clinaudit.audit.unlearning.certificate import bench_result as answers
from clinaudit.audit.unlearning.certificate import patient_figures as audits
from clinaudit.audit.unlearning.certificate.collapse import CheckedTexts, check_texts
from clinaudit.audit.unlearning.certificate.joint_test import JointTest, JointTests, Pool, run_joint_tests
from clinaudit.audit.unlearning.certificate.training_record import TrainingRecord, read_training_record
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.priors.corpus.patient import PatientList
from clinaudit.reports.schema import certificate as schema
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.wording.figures import count_words, is_hidden

FEW_NEVER_SEEN: Final = "there are too few patients never seen for the joint test to fail"
NOTHING_BEFORE: Final = "the joint test does not fail for the old model: that it passes now would show nothing"
DOUBTED: Final = (
    "the audit of the new model says that it may not be as it was trained: that it repeats little shows nothing then"
)
NOTHING_TELLS: Final = "no figure of the patient could tell whether the patient is forgotten"
UNWEIGHED: Final = "too few patients have a figure that the patient has for the joint test to weigh it"
PURGED: Final = "the evidence of a run was purged"
NOT_PROBED: Final = "the patient was not probed in both runs (an audit probes the members of its cohorts)"
OTHER_CORPUS: Final = (
    "the runs had different corpora: text of the run after was not matched with the patient's notes of before"
)
NOT_TRAINED: Final = "the patient was not in the training data of the run before"
COLLAPSED: Final = "the collapse check failed: the texts of the new model are no longer like those of the old model"
ANSWERS_COLLAPSED: Final = "answers to a benchmark's questions do not read as those of the old model"
UNCHECKED: Final = "the collapse check could not be made"
SILENCED: Final = "about this patient the new model writes a few words at most, and the old one wrote more"
OWN_COLLAPSE: Final = (
    "what the new model writes about this patient stands out among its texts about patients never seen: it is shorter, "
    "more repetitive or unlike text"
)
#: True of the runs, whoever is named.
OF_THE_RUNS: Final = frozenset({PURGED, OTHER_CORPUS, COLLAPSED, ANSWERS_COLLAPSED, UNCHECKED, DOUBTED})


@dataclass(slots=True)
class Found:
    """What was found of one named patient beside its figures, in words."""

    breaks: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)

    def waive(self) -> None:
        """Drop what bears on no model that was trained again: it was not made to forget, and need not have known."""
        self.breaks.clear()
        self.lacking -= {UNCHECKED, NOT_TRAINED}

    @property
    def reasons(self) -> list[str]:
        """What keeps the request from passing, of this patient."""
        return sorted(self.breaks | self.lacking)


def reasons_of_request(tests: JointTests, *, is_by_record: bool) -> list[str]:
    """Return what the joint test lacks for anybody to pass; a training record needs no positive control."""
    if not tests.after.can_fail or not (is_by_record or tests.before.can_fail):
        return [FEW_NEVER_SEEN]
    return [] if is_by_record or any(map(tests.before.fails, tests.before.as_large)) else [NOTHING_BEFORE]


def decide(
    found: Collection[Found], tests: JointTests, reasons: Collection[str], *, is_by_record: bool
) -> schema.ForgettingVerdict:
    """Return the verdict of the request: the first that holds; `reasons` are those of `reasons_of_request`.

    A leak that is shown wins. A model that no longer writes as before is broken, unless a training record says that it
    was never made to forget. Passing is never by lack of data.
    """
    if any(map(tests.after.fails, tests.after.as_large)):
        return "still leaks"
    if any(one.breaks for one in found):
        return "broken"
    if reasons or not found or any(one.lacking for one in found):
        return "not shown"
    return "never trained on" if is_by_record else "forgotten"


def exact_forgetting(certificate: schema.Certificate) -> schema.Forgetting:
    """Return the certificate without names, with its exact counts (PHI)."""
    patients = certificate.patients
    sides = ([one.stood_out_before for one in patients], [one.stands_out_after for one in patients])
    # None where the test could find nobody.
    before, after = (
        None if all(one is None for one in found) else f"{sum(map(bool, found)):,} of {len(found):,}" for found in sides
    )
    return schema.Forgetting(
        verdict=certificate.verdict,
        named=f"{len(patients):,}",
        before=before,
        after=after,
        collapsed=certificate.collapsed,
        is_trained_again=certificate.training_record is not None,
        health=certificate.health,
        reasons=sorted({*certificate.reasons, *(reason for patient in patients for reason in patient.reasons)}),
    )


def published_forgetting(certificate: schema.Certificate) -> schema.Forgetting:
    """Return what may be published.

    Of the collapse check that is whether each question passed: a share of generations would count patients. Of 1 to 10
    named patients that is the verdict, and what is true of the runs: who asked for them may know how many
    they are, and a known total gives a small cell away. Of more, a count is published where neither it nor the rest is
    1 to 10.
    """
    exact, named = exact_forgetting(certificate), len(certificate.patients)
    is_few = is_hidden(named)
    before = sum(one.stood_out_before or False for one in certificate.patients)
    after = sum(one.stands_out_after or False for one in certificate.patients)
    return exact.model_copy(
        update={
            "named": count_words(named),
            # ">1 of 12" would be 11 of them, since 10 and fewer are "<11".
            "before": None if is_few or is_hidden(before, named) else exact.before,
            "after": None if is_few or is_hidden(after, named) else exact.after,
            "health": [
                check.model_copy(
                    update={"a": None, "b": None, "limit": None, "reason": check.reason or schema.NOT_PUBLISHED}
                )
                for check in exact.health
            ],
            # A reason is shown where somebody has it, or of how many are named: of few that is a count.
            "reasons": [reason for reason in exact.reasons if reason in OF_THE_RUNS or not is_few],
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a site gives beside two runs; every part may be missing."""

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

    certificate: schema.Certificate
    exact: schema.Forgetting
    published: schema.Forgetting


class _Kept(NamedTuple):
    """What both models keep of patients, and of which named ones that can be asked."""

    before: Pool
    after: Pool
    asked: Sequence[str]


def certify_runs(pair: RunPair, listed: PatientList, given: Given) -> Certified:
    """Certify that the model after forgot the listed patients; raises `BadInputError` for what cannot be used.

    Without the evidence of both runs nothing is shown but leaks of answers.
    """
    person_of = read_people(pair)
    named = listed.as_people(person_of).ids
    record = bench = quality = None
    if given.training_record is not None:
        record = read_training_record(given.training_record, pair, named, person_of)
    if given.bench is not None:
        digests = {"digest": pair.b.model, "corpus_digest": pair.a.corpus}
        bench = answers.read_bench_result(given.bench, model=given.bench_model, **digests)
    found = {patient: Found() for patient in named}
    price: list[schema.PriceFigure] = []
    kept, texts = _Kept(Pool({}, (), {}), Pool({}, (), {}), ()), CheckedTexts([], JointTest(0, {}, {}), ())
    if pair.has_evidence:
        evidence = [audits.RunEvidence(run.run, frozenset(named)) for run in (pair.a, pair.b)]
        kept, texts, price = _read_audits(record, pair, evidence, found)
    else:
        for one in found.values():
            one.lacking.add(PURGED)
    if given.retrained is not None:
        reference = open_pair(pair.b.run.root, given.retrained, allow_different_corpus=False)
        if pair.has_evidence:
            retrained = audits.RunEvidence(reference.b.run, frozenset(named))
            quality = answers.measure_forget_quality(evidence[1], retrained, named)
    if bench is not None:
        kept = _with_answers(kept, bench, found, has_audits=pair.has_evidence)
    is_by_record = record is not None
    tests = run_joint_tests(*kept)
    rows = {patient: audits.figure_rows(patient, kept.before, kept.after) for patient in kept.asked}
    for patient, one in found.items():
        one.lacking.update(row.reason for row in rows.get(patient, ()) if row.reason is not None)
        if patient in tests.unweighed:
            one.lacking.add(UNWEIGHED)
        if is_by_record:
            one.waive()
        if not rows.get(patient) and not one.lacking:
            one.lacking.add(NOTHING_TELLS)
    reasons = reasons_of_request(tests, is_by_record=is_by_record)
    # What both audits doubt was so before: a model that had hardly learned, or never saw such notes.
    doubts = [set(run.published.results.doubts) for run in (pair.a, pair.b)]
    reasons += [DOUBTED] if doubts[1] - doubts[0] else []
    before, after = tests.before, tests.after
    models = [
        schema.CertifiedModel(digest=run.model, name=identity.model_name, audited=identity.date)
        for run in (pair.a, pair.b)
        for identity in [read_identity(run.record)]
    ]
    certificate = schema.Certificate(
        verdict=decide(list(found.values()), tests, reasons, is_by_record=is_by_record),
        reasons=reasons,
        before=models[0],
        after=models[1],
        earlier=given.earlier,
        training_record=None if record is None else schema.TrainedAgain(started_from=record.started_from),
        collapsed=has_collapsed(texts.health),
        joint=tests.joint,
        health=texts.health,
        patients=[
            schema.PatientCertificate(
                patient_id=patient,
                stood_out_before=before.finds(patient),
                stands_out_after=after.finds(patient),
                reasons=one.reasons,
                figures=rows.get(patient, []),
                as_large=after.as_large.get(patient),
                p_value=after.p_value(patient),
                p_value_before=before.p_value(patient),
                p_value_texts=texts.named.p_value(patient),
                largest=after.largest.get(patient),
            )
            for patient, one in found.items()
        ],
        price=price,
        bench=None if bench is None else answers.describe_bench(bench, found.keys()),
        forget_quality=quality,
    )
    return Certified(certificate, exact_forgetting(certificate), published_forgetting(certificate))


def _read_audits(
    record: TrainingRecord | None, pair: RunPair, evidence: Sequence[audits.RunEvidence], found: Mapping[str, Found]
) -> tuple[_Kept, CheckedTexts, list[schema.PriceFigure]]:
    """Return what both audits show of each patient, and note what they lack, whether texts collapsed, and the price."""
    named = found.keys()
    before, after = evidence
    if record is not None:
        record.require_fitting(after.arms, named)
    probed = [patient for patient in named if patient in before.arms and patient in after.arms]
    for patient, one in found.items():
        if patient not in probed:
            one.lacking.add(NOT_PROBED)
            continue
        one.lacking |= audits.missing_of(patient, before, after, same_prompts=pair.same_prompts)
        if before.arms[patient] != "train":
            one.lacking.add(NOT_TRAINED)
        if not pair.same_prompts:
            # The model may still reproduce text that the de-identified notes no longer hold, and that is not searched.
            one.lacking.add(OTHER_CORPUS)
    others = before.arms.keys() - named
    retained = {patient for patient in others if before.arms[patient] == "train"}
    groups = {"retained": retained, "controls": others - retained}
    pools = [run.pool(named) for run in (before, after)]
    texts = check_texts([run.generations for run in evidence], groups, probed, pools[1].never_seen, ngram=pair.b.ngram)
    collapsed = has_collapsed(texts.health)
    for patient in probed:
        if collapsed:
            found[patient].breaks.add(COLLAPSED)
        elif collapsed is None:
            found[patient].lacking.add(UNCHECKED)
        if patient in texts.silenced:
            found[patient].breaks.add(SILENCED)
        elif texts.named.fails(patient):
            found[patient].breaks.add(OWN_COLLAPSE)
    # Whom no model was trained on has nothing to forget; a record says of everybody that B never saw them.
    asked = [patient for patient in probed if record is not None or before.arms[patient] == "train"]
    measures = {measure for figures in pools[1].figures.values() for measure in figures}
    # What the run after does not measure must not be the reason why the test fails for the run before.
    figures = {
        patient: {measure: value for measure, value in own.items() if measure in measures}
        for patient, own in pools[0].figures.items()
    }
    return _Kept(pools[0]._replace(figures=figures), pools[1], asked), texts, answers.measure_price(evidence, groups)


def _with_answers(kept: _Kept, result: answers.BenchResult, found: Mapping[str, Found], *, has_audits: bool) -> _Kept:
    """Return what is kept with the answers as one measure more, and note whom they say nothing of."""
    before, after = ({} if of is None else answers.measure_answers(of) for of in (result.before, result.after))
    never_trained = {one for one, role in result.roles.items() if role == "never_trained"} - found.keys()
    asked = []
    for patient, one in found.items():
        lacking = answers.lacks_answers(result, patient, after)
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
        answers.add_answers(pools[0], before, never_trained) if before else kept.before,
        answers.add_answers(pools[1], after, never_trained),
        kept.asked if has_audits else asked,
    )
