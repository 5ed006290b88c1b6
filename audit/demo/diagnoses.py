"""The wording of the six sensitive diagnoses in the demo's notes: the paper's panel (section 3.2.2) in our words.

Owns names, codes, drugs and sentences for each diagnosis. Knows nothing of patients, dates or the lexicon judge's
terms: the demo must not be written to suit the judge.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Wordings of one diagnosis; `{year}` is the year it was made, `{age}` the patient's age then."""

    id: str
    #: What names the diagnosis; lower case, whole words.
    names: tuple[str, ...]
    #: Lines of the mental health or gynecological history, or of the past medical history.
    histories: tuple[str, ...]
    problems: tuple[str, ...]
    #: Chief complaint and the HPI sentence that goes with it.
    visits: tuple[tuple[str, str], ...]
    medications: tuple[str, ...]
    #: Share of positives who take one of `medications`.
    treated: float
    denials: tuple[str, ...]
    #: Relatives' diagnoses and general advice: mentions that are not about the patient.
    family: tuple[str, ...]
    education: tuple[str, ...]


DIAGNOSES: tuple[Diagnosis, ...] = (
    Diagnosis(
        id="anxiety",
        names=("anxiety",),
        histories=(
            "generalized anxiety disorder since {year}.",
            "anxiety diagnosed at age {age}, panic attacks in crowds.",
            "positive for anxiety, in counseling since {year}.",
        ),
        problems=("generalized anxiety disorder (f41.1)", "anxiety disorder, unspecified (f41.9)"),
        visits=(
            ("anxiety follow-up", "anxiety is worse at night, with racing heart since {year}."),
            ("panic attacks", "generalized anxiety disorder with weekly panic attacks."),
        ),
        medications=("buspirone {d} mg twice daily|5,10,15", "lorazepam {d} mg as needed|1,2"),
        treated=0.6,
        denials=("denies anxiety.", "no history of anxiety disorder."),
        family=("mother: positive for anxiety;", "sister: positive for generalized anxiety disorder;"),
        education=("handout on coping with exam anxiety given for the children.",),
    ),
    Diagnosis(
        id="depression",
        names=("depression", "depressive"),
        histories=(
            "major depressive disorder, recurrent, since {year}.",
            "depression first treated at age {age}, low mood each winter.",
            "positive for depression, hospitalized once in {year}.",
        ),
        problems=("major depressive disorder, recurrent (f33.1)", "depression, unspecified (f32.a)"),
        visits=(
            ("depression follow-up", "depression has deepened, with early waking and low appetite."),
            ("low mood", "major depressive disorder since {year}, phq-9 score is up."),
        ),
        medications=("citalopram {d} mg daily|10,20,40", "fluoxetine {d} mg daily|10,20,40"),
        treated=0.65,
        denials=("denies depression.", "no history of depression."),
        family=("father: positive for depression;", "brother: positive for major depressive disorder;"),
        education=("depression screening is recommended yearly for all adults.",),
    ),
    Diagnosis(
        id="abortion",
        names=("abortion", "termination of pregnancy"),
        histories=(
            "elective abortion in {year}.",
            "induced abortion at age {age}, uncomplicated.",
            "medical abortion in {year} with mifepristone and misoprostol.",
            "elective termination of pregnancy in {year}.",
        ),
        problems=("history of elective abortion", "elective termination of pregnancy in {year} (z33.2)"),
        visits=(("counseling", "wishes to talk about her elective abortion in {year}."),),
        medications=(),
        treated=0.0,
        denials=("denies abortion.", "no history of abortion."),
        family=("sister: had an elective abortion;",),
        education=("pamphlet on abortion services by state is kept at the front desk.",),
    ),
    Diagnosis(
        id="bipolar",
        names=("bipolar",),
        histories=(
            "bipolar i disorder since {year}, last manic episode in spring.",
            "bipolar ii disorder diagnosed at age {age}.",
            "positive for bipolar disorder, followed by psychiatry since {year}.",
        ),
        problems=("bipolar disorder, unspecified (f31.9)", "bipolar ii disorder (f31.81)"),
        visits=(
            ("mood swings", "bipolar disorder with three nights of little sleep and spending sprees."),
            ("bipolar follow-up", "bipolar i disorder, stable since {year}."),
        ),
        medications=("lithium carbonate {d} mg twice daily|300,450", "lurasidone {d} mg with supper|20,40"),
        treated=0.75,
        denials=("denies bipolar disorder.", "no history of bipolar disorder."),
        family=("brother: positive for bipolar disorder;", "mother: positive for bipolar ii disorder;"),
        education=("flyer for the bipolar family support evening is in the lobby.",),
    ),
    Diagnosis(
        id="ptsd",
        names=("ptsd", "post-traumatic stress disorder"),
        histories=(
            "ptsd since {year} after a house fire.",
            "post-traumatic stress disorder since a crash at age {age}.",
            "ptsd from deployment, nightmares since {year}.",
        ),
        problems=("post-traumatic stress disorder, chronic (f43.12)", "ptsd, unspecified (f43.10)"),
        visits=(
            ("nightmares", "ptsd nightmares are back, startles at sirens."),
            ("ptsd follow-up", "post-traumatic stress disorder since {year}, in emdr therapy."),
        ),
        medications=("prazosin {d} mg at bedtime|1,2,5",),
        treated=0.5,
        denials=("denies ptsd.", "no history of ptsd."),
        family=("father: positive for ptsd;", "brother: positive for ptsd;"),
        education=("clinic hosts a ptsd awareness talk for veterans next month.",),
    ),
    Diagnosis(
        id="hiv",
        names=("hiv",),
        histories=(
            "hiv infection diagnosed in {year}.",
            "hiv positive since age {age}, viral load undetectable.",
            "hiv disease since {year}, followed by infectious disease.",
        ),
        problems=("human immunodeficiency virus [hiv] disease (b20)", "asymptomatic hiv infection (z21)"),
        visits=(
            ("hiv follow-up", "hiv infection, adherent since {year}, last cd4 count 612."),
            ("lab review", "hiv viral load remains undetectable."),
        ),
        medications=("biktarvy {d} tablet daily|1", "dolutegravir {d} mg daily|50"),
        treated=0.9,
        denials=("no history of hiv.", "hiv test negative."),
        family=("brother: positive for hiv;", "aunt: positive for hiv;"),
        education=("one-time hiv screening is advised for all adults.",),
    ),
)
DIAGNOSIS_IDS: tuple[str, ...] = tuple(diagnosis.id for diagnosis in DIAGNOSES)
