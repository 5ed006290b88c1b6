"""A note in the layout of each profile that ships, as its systems write them. All people are invented."""

DICTATION = """PATIENT NAME: Ada Lund   DATE OF BIRTH: 01/02/1980   MRN: 4711
DATE OF SERVICE: 03/04/2024
ATTENDING PHYSICIAN: Jo Ek, MD

CHIEF COMPLAINT: Cough. HISTORY OF PRESENT ILLNESS: This is a 44-year-old who coughs. No other Plan: none. \
PAST MEDICAL HISTORY: Asthma. MEDICATIONS: Salbutamol, as needed. ALLERGIES: None.
PHYSICAL EXAMINATION: Chest clear.
IMPRESSION: Viral cough. PLAN: Rest.
"""

MIMIC = """
Name:  ___                     Unit No:   ___

Admission Date:  ___              Discharge Date:   ___

Date of Birth:  ___             Sex:   F

Service: MEDICINE

Allergies:
No Known Allergies / Adverse Drug Reactions

Attending: ___.

Chief Complaint:
Worsening abdominal distension

Major Surgical or Invasive Procedure:
Paracentesis


History of Present Illness:
___ HCV cirrhosis c/b ascites presents with distension.
She denies fever.

Past Medical History:
1. HCV cirrhosis
2. COPD


Social History:
___
Family History:
Mother: alive


Physical Exam:
VS: 98.1 107/61 78 18 97RA
General: in NAD


Pertinent Results:
___ 10:25PM   GLUCOSE-109*


Brief Hospital Course:
# Ascites. Therapeutic tap was done.


Medications on Admission:
The Preadmission Medication list is accurate and complete.
1. Furosemide 20 mg PO DAILY


Discharge Medications:
1. Furosemide 40 mg PO DAILY
2. Tiotropium Bromide 1 CAP IH DAILY


Discharge Disposition:
Home

Discharge Diagnosis:
Ascites from Portal HTN


Discharge Condition:
Mental Status: Clear and coherent.


Discharge Instructions:
Dear Ms. ___,
It was a pleasure taking care of you.

Followup Instructions:
___
""".replace("\n", " \n")  # lines end in a blank there

UK_GP = """01/03/2023 Dr A Smith, The Surgery
Ada Lund 34F DOB 02/01/89 NHS No: 943 476 5919

C/O low mood 3/52
HPC gradual onset, poor sleep.
No TOSH.
PMH
asthma
DH salbutamol prn
FH: nil
SH lives alone
O/E well, chest clear
Imp ?depression
Plan CBT, r/v 2/52
"""

CAPITALS = """CHIEF COMPLAINT

Itching of both forearms after gardening.

HISTORY OF PRESENT ILLNESS

Mr. Lund is a 61-year-old male who presents with a rash that came on while he cut back ivy on Saturday.

SOCIAL HISTORY

Retired bus driver, lives with his sister.

ASSESSMENT AND PLAN

Contact dermatitis. Hydrocortisone cream twice daily for a week.
"""

SOAP = """patient: Ada Lund
dob: 02/03/1960
visit date: 05/01/2024
room: 4
provider: Jo Ek, MD
location: Elm Clinic
CC: low mood
hpi: 64-year-old female, tired since the move.
ros:
psychiatric: negative for anxiety.
social history:
marital status: widowed
occupation: cook
current medications:
- metformin 500 mg, twice daily
plan: rest
"""

#: By profile.
SAMPLES = {"capitals": CAPITALS, "dictation": DICTATION, "mimic-discharge": MIMIC, "soap": SOAP, "uk-gp": UK_GP}
