"""The lexicon judge: what each sentence says of the patient, written down before the judge was run on it."""

import random
import re

import pytest

from clinaudit.audit.judge.lexicon.context import cut_clauses
from clinaudit.audit.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.judge.scoring.labelled_texts import load_labelled_set
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


#: Written after the rules, to try them: right at first were 61 of the first 70 and 46 of the other 60.
HARDER_CASES: tuple[tuple[str, str, str | None], ...] = (
    ("45 yo F here for f/u of anxiety and htn. denies cp, sob.", "anxiety", "positive"),
    ("Denies SI/HI, depression, anxiety, or hallucinations.", "anxiety", "negative"),
    ("No fevers, chills, or anxiety. Depression stable.", "depression", "positive"),
    ("father: positive for bipolar disorder ;", "bipolar", "ambiguous"),
    ("Anxiety runs in her family.", "anxiety", "ambiguous"),
    ("Pt's mom says he has been anxious at school.", "anxiety", "positive"),
    ("Her husband, who has PTSD, drove her today.", "ptsd", "ambiguous"),
    ("Stress from caring for her mother with depression.", "depression", "ambiguous"),
    ("She is worried about her son, who has bipolar disorder.", "bipolar", "ambiguous"),
    ("Since her father died she has had depression.", "depression", "positive"),
    ("History significant for HIV, diagnosed 2009; CD4 count 512.", "hiv", "positive"),
    ("HIV: NR", "hiv", "negative"),
    ("hiv ag/ab, 4th gen: non reactive", "hiv", "negative"),
    ("HIV (-) in 2019", "hiv", "negative"),
    ("Declined HIV testing.", "hiv", "ambiguous"),
    ("Counseled on safe sex and HIV prevention.", "hiv", "ambiguous"),
    ("Labs: HIV neg, RPR NR, HCV neg", "hiv", "negative"),
    ("Last HIV test: 2018.", "hiv", "ambiguous"),
    ("The patient does not currently carry a diagnosis of PTSD.", "ptsd", "negative"),
    ("PTSD: none", "ptsd", "negative"),
    ("PC-PTSD screen positive", "ptsd", "positive"),
    ("meets DSM-5 criteria for PTSD", "ptsd", "positive"),
    ("He has nightmares about the accident.", "ptsd", "positive"),
    ("no nightmares or flashbacks reported", "ptsd", "negative"),
    ("abortion: none", "abortion", "negative"),
    ("OB history: G4 P2, TAB 2", "abortion", "positive"),
    ("Discussed abortion options with patient.", "abortion", "ambiguous"),
    ("She is considering abortion.", "abortion", "positive"),
    ("Spontaneous abortions x2, no elective abortions.", "abortion", "negative"),
    ("no h/o lithium use", "bipolar", "negative"),
    ("Lithium level 0.8.", "bipolar", "positive"),
    ("discontinued Lamictal in 2019", "bipolar", "positive"),
    ("MDQ negative, bipolar disorder excluded.", "bipolar", "negative"),
    ("psychiatrist does not believe this is bipolar disorder", "bipolar", "negative"),
    ("mental health history: bipolar disorder; anxiety; no prior hospitalizations", "bipolar", "positive"),
    ("mental health history: bipolar disorder; anxiety; no prior hospitalizations", "anxiety", "positive"),
    ("Psychiatric: Positive for depression. Negative for suicidal ideas.", "depression", "positive"),
    ("Psychiatric: no anxiety, no depression", "depression", "negative"),
    ("psychiatric: see hpi. mood: euthymic, not depressed or anxious", "depression", "negative"),
    ("Alert, oriented, in no acute distress, affect appropriate, not depressed", "depression", "negative"),
    ("over the last 2 weeks: feeling down, depressed or hopeless: not at all", "depression", "negative"),
    ("Anxiety and depression - controlled with Lexapro.", "depression", "positive"),
    ("essential hypertension without complications, depression, gerd", "depression", "positive"),
    ("Depression screening completed today.", "depression", "ambiguous"),
    ("Patient screened for depression with PHQ-9; score 14.", "depression", "ambiguous"),
    ("Patient advised that caffeine can worsen anxiety.", "anxiety", "ambiguous"),
    ("Continue current meds for anxiety.", "anxiety", "positive"),
    ("refill alprazolam 0.5mg #30", "anxiety", "positive"),
    ("not currently on any medication for anxiety", "anxiety", "positive"),
    ("Patient has never taken Xanax.", "anxiety", "negative"),
    ("allergies:\nlast reviewed on 1/02/2003\nZoloft: hives\n", "depression", "ambiguous"),
    ("assessment:\n1. hypertension\n2. major depressive disorder\nplan: rtc 3 months", "depression", "positive"),
    ("Negative for: anxiety, depression, insomnia", "depression", "negative"),
    ("anxiety [ ] depression [x]", "depression", "positive"),
    ("(+) anxiety (-) depression", "anxiety", "positive"),
    ("(+) anxiety (-) depression", "depression", "negative"),
    ("Postpartum depression was diagnosed in 2012 and resolved.", "depression", "positive"),
    ("no h/o depression or mania", "bipolar", "negative"),
    ("Without a history of anxiety.", "anxiety", "negative"),
    ("patient is without complaint of anxiety", "anxiety", "negative"),
    ("Reports no anxiety.", "anxiety", "negative"),
    ("feels anxious about upcoming surgery but denies depression", "depression", "negative"),
    ("feels anxious about upcoming surgery but denies depression", "anxiety", "positive"),
    ("Work-up for HIV was unremarkable.", "hiv", "negative"),
    ("Sister - abortion at 19", "abortion", "ambiguous"),
    (
        "maternal grandmother: positive for anxiety and depression ; mother: positive for hypertension",
        "anxiety",
        "ambiguous",
    ),
    ("depression (father, paternal aunt)", "depression", "ambiguous"),
    ("Depression: Mother, Sister", "depression", "ambiguous"),
    ("Works with patients who have PTSD", "ptsd", "ambiguous"),
    ("Pt w/ hx of MDD & GAD, on Lexapro 10mg.", "anxiety", "positive"),
    ("Pt w/ hx of MDD & GAD, on Lexapro 10mg.", "depression", "positive"),
    ("She denies feeling depressed, hopeless or anxious.", "anxiety", "negative"),
    ("Psych - neg", "anxiety", None),
    ("Review of systems negative for depression, anxiety.", "anxiety", "negative"),
    ("no anxiety, no depression, no suicidal ideation", "depression", "negative"),
    ("Mood: good. Anxiety: 0/10. Depression: 0/10.", "anxiety", "negative"),
    ("PHQ-9: 18 consistent with moderately severe depression", "depression", "positive"),
    ("Patient with no past psychiatric history presents with new depression.", "depression", "positive"),
    ("No psychiatric history. Worsening anxiety since divorce.", "anxiety", "positive"),
    ("Her mother had bipolar disorder and she has anxiety.", "anxiety", "positive"),
    ("Her mother had bipolar disorder and she has anxiety.", "bipolar", "ambiguous"),
    ("FH: depression - sister", "depression", "ambiguous"),
    ("Family hx: neg for mental illness. PMH: anxiety", "anxiety", "positive"),
    ("no known family history of PTSD or depression", "ptsd", "ambiguous"),
    ("Adopted; family history unknown. Has PTSD from childhood abuse.", "ptsd", "positive"),
    ("Exposed to HIV via needle stick, on PEP.", "hiv", "ambiguous"),
    ("At risk for HIV due to IV drug use.", "hiv", "ambiguous"),
    ("HIV status unknown", "hiv", "ambiguous"),
    ("History of HIV on ART, VL undetectable", "hiv", "positive"),
    ("long-term nonprogressor HIV infection (Z21)", "hiv", "positive"),
    ("HIV screening test nonreactive.", "hiv", "negative"),
    ("Ordered: CBC, CMP, HIV, hepatitis panel", "hiv", "positive"),
    ("HIV antibody (10/2/2020): negative; hep C: negative", "hiv", "negative"),
    ("hx of D&C for elective abortion", "abortion", "positive"),
    ("She had 2 abortions and 1 live birth.", "abortion", "positive"),
    ("Obstetric history: abortions: 1 elective", "abortion", "positive"),
    ("reports no miscarriages or abortions", "abortion", "negative"),
    ("Pregnancy ended in induced abortion at 7 wks, O04.80", "abortion", "positive"),
    ("Opposes abortion for religious reasons.", "abortion", "positive"),
    ("denies any periods of elevated mood, decreased need for sleep, or racing thoughts", "bipolar", "negative"),
    ("Diagnosed bipolar at 19, non-compliant with lithium", "bipolar", "positive"),
    ("on lamotrigine for seizures", "bipolar", "positive"),
    ("screened negative for bipolar", "bipolar", "negative"),
    ("bipolar 1, mixed", "bipolar", "positive"),
    ("ex-husband had PTSD and was abusive", "ptsd", "ambiguous"),
    ("therapist suspects complex ptsd", "ptsd", "positive"),
    ("trauma history but no ptsd", "ptsd", "negative"),
    ("startle response, nightmares, avoidance: all denied", "ptsd", "negative"),
    ("Anticipatory guidance: discussed signs of depression.", "depression", "ambiguous"),
    ("reviewed side effects of sertraline", "depression", "positive"),
    ("Anxiety is a normal response to stress.", "anxiety", "ambiguous"),
    ("Chest pain not related to anxiety.", "anxiety", "negative"),
    ("Palpitations due to anxiety.", "anxiety", "positive"),
    ("Depression has improved; no anxiety.", "depression", "positive"),
    ("The pt states he is not suicidal and that his depression is better.", "depression", "positive"),
    ("denies worsening depression", "depression", "positive"),
    ("Ativan given prior to MRI", "anxiety", "positive"),
    ("never had anxiety before this year", "anxiety", "positive"),
    ("Depression?: Yes", "depression", "positive"),
    ("Depression?: No", "depression", "negative"),
    ("Do you have depression? no", "depression", "negative"),
    ("NEGATIVE FOR DEPRESSION", "depression", "negative"),
    ("psychiatric:negative for anxiety and depression", "anxiety", "negative"),
    ("neurological: negative for dizziness.psychiatric: negative for anxiety", "anxiety", "negative"),
    ("fhx: +depression (mom), +hiv (cousin)", "hiv", "ambiguous"),
    ("anxiety/depression: denies", "anxiety", "negative"),
    ("hx anxiety/depression", "depression", "positive"),
    # tablets of a list in capitals, and counts of abortions
    ("TAB 10 mg daily", "abortion", None),
    ("LISINOPRIL TAB 10MG", "abortion", None),
    ("AMLODIPINE 5 MG 1 TAB", "abortion", None),
    ("NORCO 7.5/325 TAKE 1-2 TAB AS NEEDED", "abortion", None),
    ("LEVOTHYROXINE TAB 0.05 MG", "abortion", None),
    ("ob history: 2 vaginal deliveries, 1 TAB", "abortion", "positive"),
    ("TAB 1, SAB 0", "abortion", "positive"),
    # relatives without a verb
    ("HIV negative. partner HIV positive", "hiv", "negative"),
    ("partner HIV positive", "hiv", "ambiguous"),
    ("mother bipolar, father healthy", "bipolar", "ambiguous"),
    ("Brother depression, sister well.", "depression", "ambiguous"),
    ("Lives with partner. HIV positive since 2010.", "hiv", "positive"),
    ("here with mother depressed mood for two weeks", "depression", "positive"),
    ("per mother anxiety is worse", "anxiety", "positive"),
)

#: Written before the rules that they try, both sides of each: right at first were 73 of the first 105 (51 of the 60
#: positive) and, with those rules, 34 of the other 40 (21 of the 23 positive).
LATER_CASES: tuple[tuple[str, str, str | None], ...] = (
    ("Psychiatric: Depression - No, Anxiety - Yes", "anxiety", "positive"),
    ("Psychiatric: Depression - No, Anxiety - Yes", "depression", "negative"),
    ("Depression: No, PTSD: Yes, Bipolar: No", "ptsd", "positive"),
    ("Depression: No, PTSD: Yes, Bipolar: No", "bipolar", "negative"),
    ("Depression: No, PTSD: Yes, Bipolar: No", "depression", "negative"),
    ("HIV - Yes, Hepatitis C - No", "hiv", "positive"),
    ("Hepatitis C - Yes, HIV - No", "hiv", "negative"),
    ("Asthma: N, HIV: Y, TB: N", "hiv", "positive"),
    ("Asthma: Y, HIV: N, TB: N", "hiv", "negative"),
    ("Abortion - Yes (2012), Miscarriage - No", "abortion", "positive"),
    ("Miscarriage - Yes, Abortion - No", "abortion", "negative"),
    ("Miscarriage: no, abortion: yes", "abortion", "positive"),
    ("Bipolar disorder = no, anxiety = yes", "anxiety", "positive"),
    ("Bipolar disorder = no, anxiety = yes", "bipolar", "negative"),
    ("Nightmares (no), flashbacks (yes)", "ptsd", "positive"),
    ("Mania - no. Nightmares - no.", "ptsd", "negative"),
    ("Depression - no suicidal ideation, on sertraline", "depression", "positive"),
    ("Anxiety - no change since last visit", "anxiety", "positive"),
    ("PTSD: no longer seeing a therapist", "ptsd", "positive"),
    ("HIV - no opportunistic infections, adherent", "hiv", "positive"),
    ("Bipolar disorder: no recent episodes", "bipolar", "positive"),
    ("Abortion - no complications", "abortion", "positive"),
    ("Family history: Depression - Yes, Diabetes - No", "depression", "ambiguous"),
    ("Depression: [ ] Yes [x] No", "depression", "negative"),
    ("Depression: [x] Yes [ ] No", "depression", "positive"),
    ("Anxiety ☐ Yes ☒ No", "anxiety", "negative"),
    ("Anxiety ☒ Yes ☐ No", "anxiety", "positive"),
    ("History of abortion: Yes [ ] No [x]", "abortion", "negative"),
    ("History of abortion: Yes [x] No [ ]", "abortion", "positive"),
    ("HIV (x) yes ( ) no", "hiv", "positive"),
    ("HIV ( ) yes (x) no", "hiv", "negative"),
    ("☒ PTSD ☐ Bipolar ☐ HIV", "ptsd", "positive"),
    ("☒ PTSD ☐ Bipolar ☐ HIV", "bipolar", "negative"),
    ("Psych: +anxiety, -depression", "anxiety", "positive"),
    ("Psych: +anxiety, -depression", "depression", "negative"),
    ("ROS: -nightmares, -flashbacks, +insomnia", "ptsd", "negative"),
    ("ROS: +nightmares, -chest pain", "ptsd", "positive"),
    ("Denies SI, +anxiety", "anxiety", "positive"),
    ("no SI/HI, +depressed mood", "depression", "positive"),
    ("Psych: -mania, +depressed mood, -SI", "bipolar", "negative"),
    ("Psych: -SI, +mania", "bipolar", "positive"),
    ("PMH: +HIV, -HTN, -DM", "hiv", "positive"),
    ("PMH: +HTN, -HIV, -DM", "hiv", "negative"),
    ("OB: +TAB 2011, -SAB", "abortion", "positive"),
    ("Problems:\n-HIV\n-hypertension", "hiv", "positive"),
    ("Assessment:\n-bipolar disorder, stable\n-HTN", "bipolar", "positive"),
    ("Plan\n-depression: continue sertraline, +CBT", "depression", "positive"),
    ("A/P: HTN - depression - GERD", "depression", "positive"),
    ("PTSD (post-traumatic stress disorder): Not present", "ptsd", "negative"),
    ("PTSD (post-traumatic stress disorder): Present", "ptsd", "positive"),
    ("Bipolar disorder: absent", "bipolar", "negative"),
    ("Depression is not present.", "depression", "negative"),
    ("HIV infection - not present", "hiv", "negative"),
    ("Anxiety: not endorsed", "anxiety", "negative"),
    ("Anxiety well controlled, SI not present", "anxiety", "positive"),
    ("Anxiety is not present at rest but occurs while driving.", "anxiety", "positive"),
    ("PTSD: not well controlled", "ptsd", "positive"),
    ("Depression: not responding to sertraline", "depression", "positive"),
    ("HIV: not on ART at present", "hiv", "positive"),
    ("Bipolar disorder: not taking lithium", "bipolar", "positive"),
    ("PTSD was considered but not supported.", "ptsd", "negative"),
    ("Bipolar disorder was considered, but criteria were not met.", "bipolar", "negative"),
    ("HIV was suspected but ruled out.", "hiv", "negative"),
    ("Depression was considered but felt to be unlikely.", "depression", "negative"),
    ("Considered generalized anxiety disorder but rejected it.", "anxiety", "negative"),
    ("Bipolar disorder was suspected but not confirmed.", "bipolar", "positive"),
    ("PTSD was considered and is likely.", "ptsd", "positive"),
    ("Depression was diagnosed but not treated.", "depression", "positive"),
    ("Abortion was considered but not available, mifepristone obtained online.", "abortion", "positive"),
    ("HIV was diagnosed but therapy not started.", "hiv", "positive"),
    ("Sister underwent an abortion.", "abortion", "ambiguous"),
    ("Her daughter terminated a pregnancy.", "abortion", "ambiguous"),
    ("Her daughter recently terminated a pregnancy.", "abortion", "ambiguous"),
    ("Her partner left after she terminated a pregnancy.", "abortion", "positive"),
    ("She underwent an abortion; her sister was with her.", "abortion", "positive"),
    ("Her sister drove her home when she underwent an abortion.", "abortion", "positive"),
    ("Lives with brother who is bipolar.", "bipolar", "ambiguous"),
    ("Lives with brother and is bipolar.", "bipolar", "positive"),
    ("Lives with her mother, who has depression.", "depression", "ambiguous"),
    ("Lives with mother who is worried about his depression.", "depression", "positive"),
    ("Stays with a friend who has HIV.", "hiv", "ambiguous"),
    ("Lives with partner who knows about his HIV.", "hiv", "positive"),
    ("Father developed PTSD after the war.", "ptsd", "ambiguous"),
    ("Lives with father, developed PTSD after the war.", "ptsd", "positive"),
    ("Cousin contracted HIV in prison.", "hiv", "ambiguous"),
    ("Mother struggles with anxiety.", "anxiety", "ambiguous"),
    ("Mother noticed anxiety in the patient.", "anxiety", "positive"),
    ("Accompanied by husband, who reports her nightmares are worse.", "ptsd", "positive"),
    ("Discussed risks of HIV transmission.", "hiv", "ambiguous"),
    ("Counseled on reducing HIV transmission.", "hiv", "ambiguous"),
    ("Discussed risk of HIV transmission to his partner; viral load still detectable on Biktarvy.", "hiv", "positive"),
    ("Worried about the risks of contracting HIV.", "hiv", "ambiguous"),
    ("Discussed risks of untreated depression in pregnancy.", "depression", "positive"),
    ("Reviewed risks of stopping lithium.", "bipolar", "positive"),
    ("Risks of sertraline in pregnancy reviewed.", "depression", "positive"),
    ("No prior terminations.", "abortion", "negative"),
    ("Two prior terminations.", "abortion", "positive"),
    ("Previous terminations: 1", "abortion", "positive"),
    ("Elective terminations x2", "abortion", "positive"),
    ("Prior termination of employment for absences.", "abortion", None),
    ("Terminations of pregnancy: 0", "abortion", "negative"),
    ("two elective abortions and a pregnancy termination", "abortion", "positive"),
    ("No manic episodes.", "bipolar", "negative"),
    ("Several depressive episodes since college.", "depression", "positive"),
    ("panic disorders run in the family", "anxiety", "ambiguous"),
    ("Mood disorder - No; HIV - Yes; TB - No", "hiv", "positive"),
    ("PTSD (yes), depression (no)", "depression", "negative"),
    ("Depression? Y  Anxiety? N", "depression", "positive"),
    ("Seizures: no, bipolar disorder: yes, asthma: no", "bipolar", "positive"),
    ("Seizures: yes, bipolar disorder: no, asthma: no", "bipolar", "negative"),
    ("Anxiety - no meds needed at this time, doing therapy", "anxiety", "positive"),
    ("Prior abortion: [ ] yes [ ] no", "abortion", "positive"),
    ("PTSD: [x] no [ ] yes", "ptsd", "negative"),
    ("Bipolar disorder ☐ No ☒ Yes", "bipolar", "positive"),
    ("ROS: +fatigue, -depression", "depression", "negative"),
    ("Psych: +SI, -anxiety, -mania", "anxiety", "negative"),
    ("PMH: -HTN +PTSD", "ptsd", "positive"),
    ("Dx: PTSD -HIV +HCV", "hiv", "negative"),
    ("Problem list: asthma, -HIV on Biktarvy", "hiv", "positive"),
    ("HIV -ve, HCV +ve", "hiv", "negative"),
    ("HIV: present since 1999", "hiv", "positive"),
    ("Bipolar disorder: present in mother", "bipolar", "ambiguous"),
    ("Suicidal ideation: not present. Depression: present.", "depression", "positive"),
    ("HIV was considered but the test was never done.", "hiv", "positive"),
    ("PTSD was initially considered, but she did not meet full criteria.", "ptsd", "negative"),
    ("Bipolar disorder considered but not ruled out.", "bipolar", "positive"),
    ("Her aunt received a diagnosis of bipolar disorder.", "bipolar", "ambiguous"),
    ("Her husband was present while she underwent a medical abortion.", "abortion", "positive"),
    ("Patient, a mother of two, underwent an elective abortion.", "abortion", "positive"),
    ("Mother of three underwent surgical abortion in 2015.", "abortion", "positive"),
    ("She lives with her dad who has been hospitalized for bipolar disorder.", "bipolar", "ambiguous"),
    ("Lives with his wife who has noticed nightmares.", "ptsd", "positive"),
    ("Lives with her mom, who is treating his anxiety with tea.", "anxiety", "positive"),
    ("He has a friend who is HIV positive.", "hiv", "ambiguous"),
    ("Cared for by a daughter who is a nurse; has depression.", "depression", "positive"),
    ("Reviewed modes of HIV transmission and condom use.", "hiv", "ambiguous"),
    ("Discussed HIV transmission to partners; he is adherent to Biktarvy.", "hiv", "positive"),
    ("Discussed her HIV transmission risk at delivery, on Triumeq.", "hiv", "positive"),
    ("Likely route of HIV acquisition was IV drug use in 2003.", "hiv", "positive"),
    ("Previous termination at 10 weeks.", "abortion", "positive"),
    ("Denies previous terminations.", "abortion", "negative"),
    ("Had two terminations of pregnancy.", "abortion", "positive"),
    ("Sister experienced postpartum depression.", "depression", "ambiguous"),
    ("Fear of contracting HIV.", "hiv", "ambiguous"),
)

#: What the judge still gets wrong: it would take reading beyond the clause, or knowing what a thing is for.
KNOWN_MISSES: tuple[tuple[str, str, str | None], ...] = (
    ("volunteers at an HIV clinic", "hiv", "ambiguous"),
    ("Patient's brother committed suicide; he struggled with depression.", "depression", "ambiguous"),
    ("Educational handouts: Depression; HIV and you.", "hiv", "ambiguous"),
    # A tablet of a list in capitals; but "1 TAB" is how a count of abortions is written, too.
    ("METOPROLOL 1 TAB", "abortion", None),
    ("Abortion was considered but she decided to continue the pregnancy.", "abortion", "negative"),
)


@pytest.fixture(scope="module")
def judge() -> LexiconJudge:
    return LexiconJudge(tuple(PANEL.values()))


def _verdict(judge: LexiconJudge, text: str, diagnosis: Diagnosis) -> Verdict:
    verdict = next(judge.judge_many([(text, diagnosis)])).verdict
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(("text", "diagnosis", "status"), CASES + HARDER_CASES + LATER_CASES)
def test_status(judge: LexiconJudge, text: str, diagnosis: str, status: str | None) -> None:
    verdict = _verdict(judge, text, PANEL[diagnosis])
    assert verdict.patient_has_diagnosis == status
    assert verdict.diagnosis_mentioned == (status is not None)
    assert invalid_reason(verdict, text) is None


@pytest.mark.parametrize(("text", "diagnosis", "status"), KNOWN_MISSES)
def test_known_misses_are_still_missed(judge: LexiconJudge, text: str, diagnosis: str, status: str) -> None:
    assert _verdict(judge, text, PANEL[diagnosis]).patient_has_diagnosis != status


def test_spans_are_verbatim_distinct_and_by_kind(judge: LexiconJudge) -> None:
    text = "Anxiety (F41.1). anxiety; takes Xanax. PANIC\r\nATTACKS. xanax. Anxiety"
    verdict = _verdict(judge, text, PANEL["anxiety"])
    assert verdict.diagnosis_spans == ("Anxiety", "F41.1", "anxiety")
    assert verdict.medication_spans == ("Xanax", "xanax")
    assert verdict.symptom_spans == ("PANIC\r\nATTACKS",)


def test_mentions_say_where_and_why(judge: LexiconJudge) -> None:
    text = "Denies anxiety. Mother: anxiety. On Xanax."
    (mentions,) = judge.read_mentions(text, [PANEL["anxiety"]])
    assert [(mention.span_chars.start, mention.status, mention.rule) for mention in mentions] == [
        (7, "negative", "negation"),
        (24, "ambiguous", "family_holder"),
        (36, "positive", "default"),
    ]


def test_judgements_come_in_order_whatever_the_texts(judge: LexiconJudge) -> None:
    items = [(text, PANEL[diagnosis]) for text, diagnosis, _ in CASES]
    random.Random(0).shuffle(items)
    expected = [_verdict(judge, text, diagnosis) for text, diagnosis in items]
    by_text = sorted(items, key=lambda item: item[0])
    assert [judgement.verdict for judgement in judge.judge_many(items)] == expected
    assert [judgement.verdict for judgement in judge.judge_many(by_text)] == [
        _verdict(judge, text, diagnosis) for text, diagnosis in by_text
    ]
    assert all(
        (judgement.judge, judgement.attempts, judgement.invalid_reason) == ("lexicon", 1, None)
        for judgement in judge.judge_many(items)
    )


def test_a_diagnosis_of_ones_own(judge: LexiconJudge) -> None:
    gout = Diagnosis("gout", "gout", ("gout",), ("M10",), ("allopurinol",))
    assert _verdict(judge, "No gout. Takes allopurinol.", gout).patient_has_diagnosis == "positive"
    assert _verdict(judge, "No gout.", gout).patient_has_diagnosis == "negative"


def test_identity_tells_panels_apart_and_is_stable() -> None:
    whole, part = LexiconJudge(load_panel()).identity(), LexiconJudge(load_panel(only=["hiv"])).identity()
    assert whole == LexiconJudge(load_panel()).identity()
    assert whole["kind"] == "lexicon"
    assert {key for key in whole if whole[key] != part[key]} == {"lexicon"}


@pytest.mark.parametrize(
    ("module", "table", "value"),
    [
        ("context", "WRAPPED_LINE_CHARS", 80),
        ("context", "MAX_CLAUSE_CHARS", 1000),
        ("context", "_SECTION", re.compile("family:")),
        ("context", "_NEGATED_LIST", re.compile("denies:")),
        ("context", "_CLAUSE_END", re.compile(";")),
        ("judge", "BEFORE_CHARS", 100),
        ("judge", "AFTER_CHARS", 100),
    ],
)
def test_another_table_or_reach_makes_another_judge(
    judge: LexiconJudge, monkeypatch: pytest.MonkeyPatch, module: str, table: str, value: object
) -> None:
    before = judge.identity()
    monkeypatch.setattr(f"clinaudit.audit.judge.lexicon.{module}.{table}", value)
    after = judge.identity()
    assert {key for key in before if before[key] != after[key]} == {"rules"}


def test_the_reach_around_a_mention_bounds_no_rule(judge: LexiconJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    labelled = load_labelled_set(None, tuple(PANEL.values()))
    items = [(text, PANEL[diagnosis]) for text, diagnosis, _ in CASES + HARDER_CASES + LATER_CASES]
    items += [(item.text, item.diagnosis) for item in labelled.texts]
    before = [judgement.verdict for judgement in judge.judge_many(items)]
    monkeypatch.setattr("clinaudit.audit.judge.lexicon.judge.BEFORE_CHARS", 3000)
    monkeypatch.setattr("clinaudit.audit.judge.lexicon.judge.AFTER_CHARS", 1600)
    assert [judgement.verdict for judgement in judge.judge_many(items)] == before


PIECES = (
    *(text for text, _, _ in CASES),
    *(term for diagnosis in PANEL.values() for term in (*diagnosis.names, *diagnosis.medications, *diagnosis.icd10)),
    *(
        "no ",
        "denies ",
        ", ",
        "; ",
        ".",
        "\n",
        "\r\n",
        "\r",
        "\t",
        " - ",
        ":",
        "family history:",
        "allergies:",
        "(",
        ")",
        "0",
    ),
    *(
        "é",
        "\u0130",
        "\u2028",
        "\u00a0",
        "\U0001f9ec",
        "ß",
        "\u200b",
        "e\u0301",
        "\x00",
        "’",
        "\ufffd",
        "ſertraline",
        "\u212a",
    ),
)


@pytest.mark.parametrize("seed", range(40))
def test_verdicts_on_random_notes_are_valid(judge: LexiconJudge, seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choice(PIECES) + rng.choice(("", " ", " ", "\n")) for _ in range(rng.randrange(1, 120)))
    diagnoses = list(PANEL.values())
    for diagnosis, judgement, mentions in zip(
        diagnoses,
        judge.judge_many([(text, diagnosis) for diagnosis in diagnoses]),
        judge.read_mentions(text, diagnoses),
        strict=True,
    ):
        assert judgement.verdict is not None
        assert invalid_reason(judgement.verdict, text) is None, diagnosis.id
        assert judgement.verdict.diagnosis_mentioned == bool(mentions)
        assert all(text[slice(*mention.span_chars)] == mention.text for mention in mentions)
        assert set(judgement.verdict.spans) == {mention.text for mention in mentions}


@pytest.mark.parametrize(
    "text",
    [
        "no anxiety " * 4_000,
        "no anxiety\n" * 4_000,
        "denies " + "anxiety, " * 4_000,
        "x" * 200_000 + " anxiety",
        "anxiety" + " " * 200_000 + "disorder",
        "mother " * 4_000 + "anxiety",
        "(" * 50_000 + "anxiety" + "," * 50_000,
        "anxiety " + "." * 200_000 + "x",
        "anxiety " + "!." * 100_000 + "x",
        "anxiety " + "?" * 200_000 + "x",
    ],
    ids=["one line", "lines", "list", "one word", "blanks", "relatives", "signs", "dots", "exclamations", "questions"],
)
def test_endless_texts_are_judged(judge: LexiconJudge, text: str) -> None:
    verdict = _verdict(judge, text, PANEL["anxiety"])
    assert verdict.diagnosis_mentioned
    assert invalid_reason(verdict, text) is None


def test_endless_phrases_of_another_meaning_are_no_mention(judge: LexiconJudge) -> None:
    verdict = _verdict(judge, "TAB PO " * 30_000, PANEL["abortion"])
    assert not verdict.diagnosis_mentioned


@pytest.mark.parametrize("sign", [".", "!", "?"])
def test_a_run_of_signs_ends_one_clause_at_its_end(sign: str) -> None:
    text = f"No anxiety{sign * 5} Depression{sign * 3}x"
    ends = text.index(" Depression")
    assert [text[slice(*clause)] for clause in cut_clauses(text)] == [text[:ends], text[ends:]]


def test_nothing_is_logged(
    judge: LexiconJudge, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for text, diagnosis, _ in CASES:
        _verdict(judge, text, PANEL[diagnosis])
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
