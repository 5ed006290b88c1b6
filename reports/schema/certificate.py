"""Records of the deletion certificate: by patient (PHI, for `evidence/` alone), and without names (docs/forgetting.md).

A is the run before, B the one after. The certificate without names is a part of `compare.json`; its counts of patients
are words, which in a published comparison follow the rule on small cells.
"""

from typing import Final, Literal

from pydantic import Field

from clinaudit.reports.schema.record import Estimate, Record


class AnswerCheck(Record):
    """One question of a collapse check: whether a group's texts still read as those of the model before (A)."""

    #: Of answers `forget`, `retain` or `never_trained`; of an audit's generations `retained` (trained on, not named) or
    #: `controls` (never seen).
    group: str
    question: str
    #: What the model after (B) may be at most, or must be at least, in words.
    allowed: str
    #: Null where there is too little text for it, and in what is published.
    a: float | None
    b: float | None
    limit: float | None
    #: Null: it could not be asked, which is no pass.
    passed: bool | None
    reason: str | None = None


#: Of a request as a whole. `never trained on` is by a training record: the model after never saw the named, and none of
#: them stands out.
ForgettingVerdict = Literal["still leaks", "broken", "not shown", "never trained on", "forgotten"]
#: The reason of a measured value that is not given.
NOT_PUBLISHED: Final = "not published"
#: With which `clinaudit compare --forgotten` ends.
EXIT_STATUS: Final[dict[ForgettingVerdict, int]] = {
    "never trained on": 0,
    "forgotten": 0,
    "still leaks": 1,
    "broken": 1,
    "not shown": 8,
}


class Forgetting(Record):
    """The deletion certificate without names; counts of patients in words: "13", "<11", ">84 of 95"."""

    verdict: ForgettingVerdict
    named: str
    #: Named patients who stood out in A, and who stand out in B, of all; null where 1 to 10 are named, do, or do not.
    before: str | None
    after: str | None
    collapsed: bool | None
    #: By its training record B was trained again without the named, and not made to forget: then no collapse decides.
    is_trained_again: bool = False
    health: list[AnswerCheck]
    #: Why the request does not pass, in words; of 1 to 10 named patients only what is true of the runs.
    reasons: list[str]


class KeptFigure(Record):
    """What both models keep of a named patient by one measure, over all levels of access the largest (PHI)."""

    measure: str
    before: float | None
    after: float | None
    #: Patients never seen who have less of it in B, of so many who have the figure.
    below: int = 0
    controls: int = 0
    #: What is missing for a verdict; None where nothing is.
    reason: str | None = None


class PriceFigure(Record):
    """What forgetting cost a group of others, the mean of the models before and after.

    Of notes: exp of minus the mean loss on a patient's notes. Of answers: model utility (MU).
    """

    #: `retained` (trained on, not named), `controls` (never seen); of retained ones with the disease of a named patient
    #: `same`, and `others`.
    group: str
    before: Estimate
    after: Estimate
    change: Estimate


class BenchBlock(Record):
    """What the answers to a benchmark's questions add to a certificate."""

    model: str
    split: str
    #: `addressed` or `paper`.
    form: str
    #: Whether answers still read as those of the model before; empty where none was asked.
    health: list[AnswerCheck]
    #: Null where that could not be asked.
    collapsed: bool | None
    #: None without a model before.
    collateral: list[PriceFigure] | None


class CertifiedModel(Record):
    """One of the two models; each is null where it is not known."""

    #: Of its files, or of the address and name of one that is served.
    digest: str | None
    #: As the site calls it.
    name: str | None
    #: Date of its audit (ISO 8601).
    audited: str | None


class TrainedAgain(Record):
    """What the training record of B says of its beginning."""

    #: Digest of the model whose weights it began with; None: weights that never saw a patient of the corpus.
    started_from: str | None


class SmallestLeak(Record):
    """The smallest leak that would show in one measure, were it the patient's only one."""

    measure: str
    #: In tokens, identifiers or a share; None: none shows, since too few patients have the measure, or a never-seen one
    #: stands out more than any share could.
    value: float | None


class JointDecision(Record):
    """The joint test of the named patients against those never seen, over all figures (docs/methods.md, section 12)."""

    #: Those whom it can be asked of: probed, and trained on.
    named: int
    #: Who have all figures that the named have, in B and in A.
    never_seen: int
    never_seen_before: int
    #: Patients never seen without whom the test cannot fail.
    enough: int
    #: Of those never seen, how many may stand out as much as a patient who is shown to leak; None: nobody can be shown.
    most_as_large: int | None
    #: Of the one who stands out most, adjusted for all named; None without any.
    p_value: float | None
    p_value_before: float | None
    #: By the patients never seen in A and in B: what the test would see.
    smallest: list[SmallestLeak]


class ForgetQuality(Record):
    """Whether losses on the notes of the named tell B from a model trained again without them; it decides nothing."""

    #: Notes of the named that both models scored.
    notes: int
    #: Of Kolmogorov and Smirnov's test of two samples.
    statistic: float | None
    #: Large where they are not told apart.
    p_value: float | None
    reason: str | None = None


class PatientCertificate(Record):
    """One named patient (PHI)."""

    patient_id: str
    #: Whether the patient is shown to stand out among patients never seen, in A and in B; null where the patient was
    #: not in the test, or it could find no leak.
    stood_out_before: bool | None
    stands_out_after: bool | None
    #: What keeps the request from passing, of this patient.
    reasons: list[str]
    #: One a measure.
    figures: list[KeptFigure]
    #: Patients never seen who stand out as much, or more, over all figures; None: not in the joint test.
    as_large: int | None = None
    #: Adjusted for all named patients; in B, and in A.
    p_value: float | None = None
    p_value_before: float | None = None
    #: The same test of how the texts in B read, on which collapse is decided; None where it was not made.
    p_value_texts: float | None = None
    #: The measure of the largest excess; None where there is none.
    largest: str | None = None


class Certificate(Record):
    """The deletion certificate by patient; PHI, for `evidence/` alone."""

    schema_version: Literal["5.0"] = "5.0"
    #: Of the request as a whole.
    verdict: ForgettingVerdict
    #: What the joint test lacks for anybody to pass.
    reasons: list[str]
    before: CertifiedModel
    after: CertifiedModel
    #: How many of the patients are of earlier requests.
    earlier: int = 0
    #: That B was trained again without the named, so that a collapse decides nothing; None without a training record.
    training_record: TrainedAgain | None = None
    collapsed: bool | None
    joint: JointDecision
    health: list[AnswerCheck]
    patients: list[PatientCertificate]
    #: What it cost others; empty where the audits scored no notes. It decides nothing.
    price: list[PriceFigure] = Field(default_factory=list)
    #: None where no benchmark was given.
    bench: BenchBlock | None = None
    #: None where no audit of a retrained reference was given.
    forget_quality: ForgetQuality | None = None
