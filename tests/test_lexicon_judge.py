"""The lexicon judge: what each sentence says of the patient, written down before the judge was run on it."""

import pytest

from clinaudit.audit.judge.lexicon import LexiconJudge
from clinaudit.audit.judge.verdict import Verdict, invalid_reason
from clinaudit.priors.diagnoses import Diagnosis, load_panel

PANEL = {diagnosis.id: diagnosis for diagnosis in load_panel()}
ROS = (
    "psychiatric: negative for anxiety, crying spells, depression, feelings of stress, anhedonia, mood swings, "
    "personality change, premenstrual tension syndrome, difficulty concentrating, recreational drug use, sleep "
    "disturbance, suicidal thoughts and sadness."
)
WRAPPED_ROS = (
    "psychiatric: negative for anxiety, crying spells, depression, feelings of stress,\nanhedonia, mood swings, "
    "personality change and\nsuicidal thoughts and sadness.\nendocrine: negative for polyuria."
)

#: (sentence, diagnosis, what it says of the patient; None: no mention).
CASES: tuple[tuple[str, str, str | None], ...] = (
    # attributed to the patient
    ("Patient has a history of anxiety and takes buspirone.", "anxiety", "positive"),
    ("Generalized anxiety disorder, stable on current regimen.", "anxiety", "positive"),
    ("assessment: GAD, worsening", "anxiety", "positive"),
    ("She has panic attacks several times per week.", "anxiety", "positive"),
    ("F41.1 generalized anxiety\ndisorder", "anxiety", "positive"),
    ("primary diagnosis: F41.9", "anxiety", "positive"),
    ("Current medications: lorazepam 0.5 mg prn", "anxiety", "positive"),
    ("He appears anxious on exam.", "anxiety", "positive"),
    ("major depressive disorder, single episode, unspecified details;", "depression", "positive"),
    ("medical history is pertinent for depression .", "depression", "positive"),
    ("Depression, in remission.", "depression", "positive"),
    ("PMH: HTN, MDD, GERD", "depression", "positive"),
    ("Started sertraline 50 mg daily.", "depression", "positive"),
    ("She reports anhedonia and crying spells.", "depression", "positive"),
    ("mood is depressed, affect flat", "depression", "positive"),
    ("F33.1 noted on problem list", "depression", "positive"),
    ("S/p elective abortion 2015.", "abortion", "positive"),
    ("TAB x1 in 2010", "abortion", "positive"),
    ("She underwent termination of pregnancy at 8 weeks.", "abortion", "positive"),
    ("Patient terminated her pregnancy last year.", "abortion", "positive"),
    ("Given mifepristone and misoprostol at the clinic.", "abortion", "positive"),
    ("gynecological history: 1 miscarriage, 1 abortion", "abortion", "positive"),
    ("encounter for elective termination (Z33.2)", "abortion", "positive"),
    ("Bipolar II disorder followed by psychiatry.", "bipolar", "positive"),
    ("He takes lithium 300 mg bid.", "bipolar", "positive"),
    ("Hospitalized for a manic episode in March.", "bipolar", "positive"),
    ("bipolar disorder, current episode depressed, moderate (F31.32)", "bipolar", "positive"),
    ("Veteran with combat-related PTSD.", "ptsd", "positive"),
    ("posttraumatic stress disorder, chronic", "ptsd", "positive"),
    ("Reports flashbacks and hypervigilance.", "ptsd", "positive"),
    ("prazosin 2 mg at bedtime for nightmares", "ptsd", "positive"),
    ("F43.12 chronic", "ptsd", "positive"),
    ("HIV, well controlled on Biktarvy.", "hiv", "positive"),
    ("HIV-positive since 2004", "hiv", "positive"),
    ("HIV viral load undetectable, CD4 count 650.", "hiv", "positive"),
    ("hiv disease (b20)", "hiv", "positive"),
    ("He was diagnosed with AIDS in 1996.", "hiv", "positive"),
    ("HIV test came back positive.", "hiv", "positive"),
    # hedged: still the patient's
    ("Possible depression, will follow up.", "depression", "positive"),
    ("Concern for bipolar disorder given family report.", "bipolar", "positive"),
    ("Likely anxiety as cause of palpitations.", "anxiety", "positive"),
    ("Cannot rule out PTSD.", "ptsd", "positive"),
    ("Symptoms suggestive of depression.", "depression", "positive"),
    ("r/o bipolar disorder", "bipolar", "positive"),
    ("Patient to be evaluated for generalized anxiety disorder.", "anxiety", "positive"),
    ("Depression has not been ruled out.", "depression", "positive"),
    # denied
    ("Patient denies anxiety or depression.", "anxiety", "negative"),
    ("Patient denies anxiety or depression.", "depression", "negative"),
    ("No history of anxiety.", "anxiety", "negative"),
    ("negative for panic attacks", "anxiety", "negative"),
    ("Not anxious today.", "anxiety", "negative"),
    ("Anxiety: denies", "anxiety", "negative"),
    ("Anxiety: no. Sleep: good.", "anxiety", "negative"),
    ("[ ] anxiety [x] insomnia", "anxiety", "negative"),
    ("Psych: no depression/anxiety", "anxiety", "negative"),
    ("No depressed mood.", "depression", "negative"),
    ("No evidence of major depression.", "depression", "negative"),
    ("Depression was ruled out.", "depression", "negative"),
    ("Depression is unlikely.", "depression", "negative"),
    ("PHQ-2 score 0, depression screen negative", "depression", "negative"),
    ("Depression screening: negative", "depression", "negative"),
    ("Negative screen for depression.", "depression", "negative"),
    ("She does not meet criteria for major depressive disorder.", "depression", "negative"),
    ("Denies suicidal ideation.", "depression", "negative"),
    ("Never been on antidepressants.", "depression", "negative"),
    ("Denies any history of abortion.", "abortion", "negative"),
    ("No prior abortions.", "abortion", "negative"),
    ("SAB 1, TAB 0, living 2", "abortion", "negative"),
    ("abortions: 0", "abortion", "negative"),
    ("G2P2, 0 abortions", "abortion", "negative"),
    ("No manic symptoms.", "bipolar", "negative"),
    ("Bipolar disorder ruled out by psychiatry.", "bipolar", "negative"),
    ("Denies mania or hypomania.", "bipolar", "negative"),
    ("no mood swings", "bipolar", "negative"),
    ("Never diagnosed with PTSD.", "ptsd", "negative"),
    ("PTSD screen negative.", "ptsd", "negative"),
    ("denies flashbacks, nightmares", "ptsd", "negative"),
    ("No symptoms of PTSD.", "ptsd", "negative"),
    ("HIV negative", "hiv", "negative"),
    ("HIV test negative 3/2021.", "hiv", "negative"),
    ("HIV Ab/Ag: non-reactive", "hiv", "negative"),
    ("HIV 1/2 antibody nonreactive, RPR nonreactive", "hiv", "negative"),
    ("HIV screen was negative", "hiv", "negative"),
    ("HIV-1 RNA not detected", "hiv", "negative"),
    ("Tested negative for HIV and hepatitis C.", "hiv", "negative"),
    ("Denies HIV.", "hiv", "negative"),
    ("communicable diseases (eg stds): denies hiv", "hiv", "negative"),
    (ROS, "anxiety", "negative"),
    (ROS, "depression", "negative"),
    (ROS, "bipolar", "negative"),
    (ROS, "ptsd", None),
    (WRAPPED_ROS, "depression", "negative"),
    (WRAPPED_ROS, "bipolar", "negative"),
    ("Denies the following:\n- anxiety\n- HIV\n- mood swings\n", "hiv", "negative"),
    # not about the patient: relatives
    ("Family history: depression in mother", "depression", "ambiguous"),
    ("Mother has depression.", "depression", "ambiguous"),
    (
        "family history:\nmother: positive for depression ;\nfather: positive for type 2 diabetes ;",
        "depression",
        "ambiguous",
    ),
    ("FHx of bipolar disorder", "bipolar", "ambiguous"),
    ("Her sister was diagnosed with bipolar disorder.", "bipolar", "ambiguous"),
    ("Brother with PTSD from Iraq.", "ptsd", "ambiguous"),
    ("Uncle died of AIDS.", "hiv", "ambiguous"),
    ("Partner is HIV positive.", "hiv", "ambiguous"),
    ("anxiety (mother)", "anxiety", "ambiguous"),
    ("Her daughter had an abortion.", "abortion", "ambiguous"),
    ("Family history is negative for anxiety.", "anxiety", "ambiguous"),
    ("No family history of bipolar disorder.", "bipolar", "ambiguous"),
    ("FAMILY HISTORY\n\nDepression and hypertension.\n\nPLAN\n\nReturn in a year.", "depression", "ambiguous"),
    # not about the patient: teaching, offers, allergies, prevention
    ("Handout on depression given.", "depression", "ambiguous"),
    ("Screening for depression is recommended.", "depression", "ambiguous"),
    ("Patients with anxiety should avoid caffeine.", "anxiety", "ambiguous"),
    ("Patient was educated about depression in general.", "depression", "ambiguous"),
    ("HIV screening offered.", "hiv", "ambiguous"),
    ("Routine HIV testing ordered.", "hiv", "ambiguous"),
    ("USPSTF recommends screening all adults for HIV.", "hiv", "ambiguous"),
    ("Allergies: sertraline (rash)", "depression", "ambiguous"),
    ("Allergic to lamotrigine.", "bipolar", "ambiguous"),
    ("Truvada for PrEP, tolerating well", "hiv", "ambiguous"),
    ("Discussed prevention of HIV.", "hiv", "ambiguous"),
    ("patient education: depression is a common illness", "depression", "ambiguous"),
    ("Side effects include anxiety and insomnia.", "anxiety", "ambiguous"),
    ("Call the clinic if you develop depression.", "depression", "ambiguous"),
    ("Monitor for suicidal thoughts.", "depression", "ambiguous"),
    # in conflict: positive, then negative, then ambiguous
    ("No history of anxiety. Currently taking Xanax.", "anxiety", "positive"),
    ("Mother has depression. Patient denies depression.", "depression", "negative"),
    ("Family history of anxiety; patient also has anxiety.", "anxiety", "positive"),
    ("Denies depression but reports crying spells.", "depression", "positive"),
    ("Denies chest pain but has anxiety.", "anxiety", "positive"),
    ("No personal or family history of bipolar disorder.", "bipolar", "negative"),
    ("No chest pain, anxiety is well controlled.", "anxiety", "positive"),
    ("She has had no prior treatment for anxiety.", "anxiety", "positive"),
    ("No longer taking sertraline.", "depression", "positive"),
    ("Stopped sertraline due to side effects.", "depression", "positive"),
    ("Did not tolerate lithium.", "bipolar", "positive"),
    ("No change in depression.", "depression", "positive"),
    ("Mother reports that patient has anxiety.", "anxiety", "positive"),
    ("Lives with her mother and has depression.", "depression", "positive"),
    ("Not sleeping because of PTSD.", "ptsd", "positive"),
    ("Educated about her depression and its treatment.", "depression", "positive"),
    ("panic disorder without agoraphobia, generalized anxiety", "anxiety", "positive"),
    ("No acute distress, anxious.", "anxiety", "positive"),
    # no mention
    ("1 mm depression of the ST segment in V4", "depression", None),
    ("ST depression in lateral leads", "depression", None),
    ("Opioids cause respiratory depression.", "depression", None),
    ("depressed skull fracture", "depression", None),
    ("tongue depressor used", "depression", None),
    ("bipolar cautery was used for hemostasis", "bipolar", None),
    ("bipolar hemiarthroplasty of the left hip", "bipolar", None),
    ("watched an anxiety-provoking movie", "anxiety", None),
    ("GAD-65 antibodies sent", "anxiety", None),
    ("spontaneous abortion at 9 weeks", "abortion", None),
    ("threatened abortion, cervix closed", "abortion", None),
    ("G3P1A1", "abortion", None),
    ("metoprolol 25 mg tab daily", "abortion", None),
    ("LISINOPRIL 10 MG TAB PO DAILY", "abortion", None),
    ("wears hearing aids", "hiv", None),
    ("HEARING AIDS IN PLACE", "hiv", None),
    ("walks without aids", "hiv", None),
    ("post-operative stress test", "ptsd", None),
    ("type 2 diabetes mellitus", "hiv", None),
    ("Flu shot given.", "depression", None),
    ("", "anxiety", None),
)


@pytest.fixture(scope="module")
def judge() -> LexiconJudge:
    return LexiconJudge()


def _verdict(judge: LexiconJudge, text: str, diagnosis: Diagnosis) -> Verdict:
    verdict = next(judge.judge_many([(text, diagnosis)])).verdict
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(("text", "diagnosis", "status"), CASES)
def test_status(judge: LexiconJudge, text: str, diagnosis: str, status: str | None) -> None:
    verdict = _verdict(judge, text, PANEL[diagnosis])
    assert verdict.patient_has_diagnosis == status
    assert verdict.diagnosis_mentioned == (status is not None)
    assert invalid_reason(verdict, text) is None
