"""Texts and what the filter makes of them by rules alone: what is masked, and what stays as it is."""

MASKED = (
    # A number beside a label is masked in whatever groups.
    ("MRN 00 12 34 56 was seen.", "MRN <MRN_1> was seen."),
    ("Her MRN is 4 8 2 9 1 3.", "Her MRN is <MRN_1>."),
    ("MRN: 00-12/34.56", "MRN: <MRN_1>"),
    ("policy # 88 1234 5 today", "policy # <PLAN_NUMBER_1> today"),
    ("Member ID: W 2281 0993 4", "Member ID: <PLAN_NUMBER_1>"),
    ("Medicare number 1EG4 TE5 MK73", "Medicare number <PLAN_NUMBER_1>"),
    ("Medicaid CIN AB12345C on file", "Medicaid CIN <PLAN_NUMBER_1> on file"),
    ("SSN 4-1-2-5-5-6-7-8-9 noted", "SSN <SSN_1> noted"),
    ("Soc. Sec. 412/55/6789", "Soc. Sec. <SSN_1>"),
    ("NI AB 12 34 56 C", "NI <SSN_1>"),
    ("NHS number 943 476 5919", "NHS number <MRN_1>"),
    ("Record 556677 reviewed", "Record <CODE_1> reviewed"),
    ("Pt #4829 13, claim 4481 22 771", "Pt #<CODE_1>, claim <CODE_2>"),
    ("DL: D123 4567 8901", "DL: <DRIVER_LICENCE_1>"),
    ("00123456 is her MRN", "<MRN_1> is her MRN"),
    ("ref 4-1-2-5-5-6-7-8-9", "ref <CODE_1>"),
    ("His truck outside, 4KLM 293, was hit", "His truck outside, <VEHICLE_ID_1>, was hit"),
    # What stands after the number is none of it.
    ("MRN 00482913 A1c 7.2", "MRN <MRN_1> A1c 7.2"),
    ("MRN 00 48 29 13 120/80", "MRN <MRN_1> 120/80"),
    ("MRN 11482913 500 mg", "MRN <MRN_1> 500 mg"),
    ("MRN 00482913 02/14/2024", "MRN <MRN_1> <DATE_1>"),
    # Encoded, a number says who it is of as well as plain.
    ("Attachment: NDEyLTU1LTY3ODk= end", "Attachment: <SSN_1> end"),
    ("code NDEyNTU2Nzg5 here", "code <CODE_1> here"),
    ("NTU1LTAxMzQ= is hers", "<PHONE_1> is hers"),
    # A number is masked whosever it is.
    ("SSN of mom 123-45-6789", "SSN of mom <SSN_1>"),
    ("Her mother's SSN is 123-45-6789.", "Her mother's SSN is <SSN_1>."),
    ("SSN (wife): 123-45-6789", "SSN (wife): <SSN_1>"),
    ("SSN, wife: 123 45 6789", "SSN, wife: <SSN_1>"),
    ("SSN - husband - 123 45 6789", "SSN - husband - <SSN_1>"),
    ("ssn mother in law 123 45 6789", "ssn mother in law <SSN_1>"),
    ("SSN of mom's sister 123456789", "SSN of mom's sister <SSN_1>"),
    ("social security number of his wife: 123 45 6789", "social security number of his wife: <SSN_1>"),
    ("123 45 6789 is mom's SSN", "<SSN_1> is mom's SSN"),
    ("MRN of baby 00123456, MRN (twin) 00123457", "MRN of baby <MRN_1>, MRN (twin) <MRN_2>"),
    ("Policy number of husband 88123456", "Policy number of husband <PLAN_NUMBER_1>"),
    # By its form alone, be it of a kind that nobody was given; other numbers have another.
    ("the id is 123-45-6789", "the id is <SSN_1>"),
    ("NDC 0069-2587-10, CAS 50-78-2", "NDC 0069-2587-10, CAS 50-78-2"),
    ("policy covers the patient 2 of 3 days", "policy covers the patient 2 of 3 days"),
    # A name that opens a line is masked where only somebody does so.
    ("Zuri came in today. Zuri denies fever.", "<PERSON_1> came in today. <PERSON_1> denies fever."),
    ("Hope came in today.", "<PERSON_1> came in today."),
    ("HPI\nZuri reports pain.", "HPI\n<PERSON_1> reports pain."),
    ("Zuri here for f/u", "<PERSON_1> here for f/u"),
    *(
        (text, text)
        for text in (
            *("Patient came in today", "Mother reports fever", "Surgeon told him", "Counselor says so"),
            *("Nobody came in today", "Endocrinology says so", "Cultures came back negative"),
            *("Interpreter here today", "Toddler is here with mom"),
        )
    ),
    # Short telephone numbers and the rest of an address are masked.
    ("sister Ola, 555-0134", "sister <RELATIVE_1>, <PHONE_1>"),
    ("Her sister Ola 555 0134 came", "Her sister <RELATIVE_1> <PHONE_1> came"),
    ("Mom's cell: 555-01-34", "Mom's cell: <PHONE_1>"),
    ("Tel. 0161 496 0123", "Tel. <PHONE_1>"),
    ("call 1-800-FLOWERS today", "call <PHONE_1> today"),
    ("reach her at (617) 555 HELP", "reach her at <PHONE_1>"),
    ("lives at 14 Elm, Apt 3B, Dedham 02026", "lives at <ADDRESS_1>, <CITY_1> <ZIP_1>"),
    ("12 Oak Street, Flat 2, Salem, MA 01970 now", "<ADDRESS_1>, <CITY_1>, MA <ZIP_1> now"),
    ("lives on 221B Baker, Flat 2, London NW1 6XE", "lives on <ADDRESS_1>, <CITY_1> <ZIP_1>"),
    ("Home: 8 Birch", "Home: <ADDRESS_1>"),
    ("Rural Route 2 Box 118, Hadley", "<ADDRESS_1>, <CITY_1>"),
    ("Postcode: SW1A 1AA", "Postcode: <ZIP_1>"),
    ("near SW1A 1AA, or K1A 0B1", "near <ZIP_1>, or <ZIP_2>"),
    ("ZIP 0 2 0 2 6", "ZIP <ZIP_1>"),
    # Days and ages in any form are masked.
    ("Visit 14/3 went well", "Visit <DATE_1> went well"),
    ("admitted Tues 14th, better", "admitted Tues <DATE_1>, better"),
    ("Seen on the 14th for cough", "Seen on the <DATE_1> for cough"),
    ("the 14th of last month", "the <DATE_1> of last month"),
    ("seen 14 3 2023 in clinic", "seen <DATE_1> in clinic"),
    ("seen 14,3,2023 or 2023 3 14", "seen <DATE_1> or <DATE_2>"),
    ("d.o.b 14 03 50", "d.o.b <DATE_1>"),
    ("born 14.III.2023, seen 2-XI-23", "born <DATE_1>, seen <DATE_2>"),
    ("LMP 3-14, since 2023-03", "LMP <DATE_1>, since <DATE_2>"),
    ("DOB1950-11-11 here", "DOB<BIRTH_DATE_1> here"),
    ("DOB_1950-11-11 here", "DOB_<BIRTH_DATE_1> here"),
    ("in his 96th year of life", "in his <AGE_OVER_89_1> year of life"),
    ("in her tenth decade", "in her <AGE_OVER_89_1> decade"),
    ("She is in her late nineties.", "She is in her <AGE_OVER_89_1>."),
    ("Age 1092 months", "Age <AGE_OVER_89_1>"),
    ("aged 34,000 days", "aged <AGE_OVER_89_1>"),
    ("She is 92.5 years old", "She is <AGE_OVER_89_1> years old"),
    # Names are masked to their end and no further.
    ("A.K. is a pleasant writer; A.K. was admitted.", "<PATIENT_1> is a pleasant writer; <PATIENT_1> was admitted."),
    ("AK is a 45-year-old; pt J.S. has asthma", "<PATIENT_1> is a <AGE_1>; pt <PATIENT_2> has asthma"),
    ("see smith_john_ct.pdf now", "see <CODE_1> now"),
    ("C:\\scans\\Smith_John\\ct.dcm opened", "<CODE_1> opened"),
    ("/data/Ada Lund/mri.nii and Ada Lund CT.pdf", "<CODE_1> and <CODE_2>"),
    ("Mr. Bartolone has asthma. Bartolone was well.", "Mr. <PERSON_1> has asthma. <PERSON_1> was well."),
    ("daughter maria bartolone called", "daughter <RELATIVE_1> called"),
    ("patient Bartolone, Maria came", "patient <PERSON_1> came"),
    ("her surname is Bartolone", "her surname is <PERSON_1>"),
    ("mr. smith-jones called", "mr. <PERSON_1> called"),
    ("Mr. John Smith SSN 412-55-6789", "Mr. <PERSON_1> SSN <SSN_1>"),
    ("JOHN SMITH SSN 412-55-6789", "<PATIENT_1> SSN <SSN_1>"),
    ("Dr. May Cell 617-555-0134", "Dr. <CLINICIAN_1> Cell <PHONE_1>"),
    # Days without a year are masked.
    (
        "Apixaban started 5/30, rash 6/3, next visit 7/11.",
        "Apixaban started <DATE_1>, rash <DATE_2+4d>, next visit <DATE_3+42d>.",
    ),
    ("The last dose 6/2.", "The last dose <DATE_1>."),
    ("It hurt between 2/3 and 2/10.", "It hurt between <DATE_1> and <DATE_2+7d>."),
    ("Pain 3/10, rash 7/10, seen 6/2.", "Pain 3/10, rash <DATE_1>, seen <DATE_2>."),
    ("She fell in march.", "She fell in <DATE_1>."),
    ("She called last Tuesday, and since Friday is worse.", "She called last <DATE_1>, and since <DATE_2> is worse."),
    ("He was born in the fall of '46.", "He was born in the <BIRTH_DATE_1>."),
    ("born '46, in the home", "born <BIRTH_DATE_1>, in the home"),
    # A day after a test or its result is masked.
    ("HIV neg 10/28", "HIV neg <DATE_1>"),
    ("neg on 10/28/24", "neg on <DATE_1>"),
    ("rapid strep negative, 3/14", "rapid strep negative, <DATE_1>"),
    ("HIV neg 10/28, RPR neg 11/5.", "HIV neg <DATE_1>, RPR neg <DATE_2+8d>."),
    ("PPD read 10/30, CT 11/2 clear", "PPD read <DATE_1>, CT <DATE_2+3d> clear"),
    ("A1c 7.2 (10/28)", "A1c 7.2 (<DATE_1>)"),
    ("BCx 10/28 pending", "BCx <DATE_1> pending"),
    # Each day of a list has its tag.
    ("Labs drawn 10/28 and 11/05", "Labs drawn <DATE_1> and <DATE_2+8d>"),
    ("10/28, 11/05 and 12/1", "<DATE_1>, <DATE_2+8d> and <DATE_3+34d>"),
    ("Dressing changed 10/28, 11/05, 12/1.", "Dressing changed <DATE_1>, <DATE_2+8d>, <DATE_3+34d>."),
    ("drawn 10/28, 11/05 and two more on 12/1", "drawn <DATE_1>, <DATE_2+8d> and two more on <DATE_3+34d>"),
    # Days of one year keep their intervals.
    ("Started nitrofurantoin July 29th, rash on Aug 2nd.", "Started nitrofurantoin <DATE_1>, rash on <DATE_2+4d>."),
    # The order goes back: of another year, perhaps.
    ("Seen Dec 30th, and on Jan 2nd.", "Seen <DATE_1>, and on <DATE_2>."),
    # February may have a 29th.
    ("Seen Feb 20th, and on March 2nd.", "Seen <DATE_1>, and on <DATE_2>."),
    ("Seen Feb 20th, and on Feb 22nd.", "Seen <DATE_1>, and on <DATE_2+2d>."),
    # One has a year, so that the other's is not this one for sure.
    ("Seen 07/29/2023, and on Aug 2nd.", "Seen <DATE_1>, and on <DATE_2>."),
    ("Seen July 29th, in August, and on Aug 9th.", "Seen <DATE_1>, in <DATE_2>, and on <DATE_3+11d>."),
    # What bears a name stays beside whoever does.
    (
        "Dr. Foley inserted a Foley catheter. Foley catheter in place. The Foley was removed. Foley agrees.",
        "Dr. <CLINICIAN_1> inserted a Foley catheter. Foley catheter in place. The Foley was removed."
        " <CLINICIAN_1> agrees.",
    ),
    ("Ms. Crohn has Crohn's disease.", "Ms. <PERSON_1> has Crohn's disease."),
    ("Mr. White has a white count of 12, no rose.", "Mr. <PERSON_1> has a white count of 12, no rose."),
    ("Mr. Lund's LDL is 98.", "Mr. <PERSON_1>'s LDL is 98."),
    # A facility is told from a person.
    ("Admitted to Mercy Ridge Hospital", "Admitted to <FACILITY_1>"),
    ("Mercy Ridge Hospital called today", "<FACILITY_1> called today"),
    ("Seen at Mercy Ridge Hospital on 10/28.", "Seen at <FACILITY_1> on <DATE_1>."),
    ("Transferred from Grace Hill Clinic", "Transferred from <CLINIC_1>"),
    ("Faith Regional Medical Center and Ada Lund Memorial Hospital", "<FACILITY_1> and <FACILITY_2>"),
    # Of a name with a title more is known, and the word may belong to what follows.
    ("Dr. Mercy Ridge saw her at Mercy Ridge Hospital", "Dr. <CLINICIAN_1> saw her at <FACILITY_1>"),
    ("Ada Lund Hospital day 3", "<PERSON_1> day 3"),
    ("Patient Ada Lund Hospital course was short.", "<PERSON_1> course was short."),
    ("Ada Lund Clinic visit", "<PERSON_1> visit"),
    # What tells where and as what somebody lives is masked.
    ("She lives in silverton.", "She lives in <CITY_1>."),
    ("lives in cedar bend with pain", "lives in <CITY_1> with pain"),
    ("moved to tacoma last year", "moved to <CITY_1> last year"),
    ("from boston, ma, for asthma", "from <CITY_1>, ma, for asthma"),
    ("retired glazier, 58", "retired <OCCUPATION_1>, 58"),
    ("Real estate agent. A sign painter, a court reporter.", "<OCCUPATION_1>. A <OCCUPATION_2>, a <OCCUPATION_3>."),
    ("land surveyor and tile setter", "<OCCUPATION_1> and <OCCUPATION_2>"),
    # A name alone is told by what it has.
    ("Reviewed Raman's labs.", "Reviewed <PERSON_1>'s labs."),
    ("Frost's old CT was normal.", "<PERSON_1>'s old CT was normal."),
    ("Spoke with nurse kelly at mercy general.", "Spoke with nurse <PERSON_1> at mercy general."),
    # A name beside them is one.
    ("Ms. Thompson, knee pain. Thompson test negative.", "Ms. <PERSON_1>, knee pain. Thompson test negative."),
    ("Mr. Cva came.", "Mr. <PERSON_1> came."),
    # A first name that is shorthand as well.
    ("PATIENT: ED SMITH\n", "PATIENT: <PATIENT_1>\n"),
    ("HER BROTHER ED HARRIS", "HER BROTHER <RELATIVE_1>"),
    ("AK is a 45-year-old", "<PATIENT_1> is a <AGE_1>"),
    ("Occupation: driver\nEx-smoker", "Occupation: <OCCUPATION_1>\nEx-smoker"),
    # Age and sex of a banner are masked.
    (
        "Name: Ada Lund   58   F   MRN 123456\n\nThis 58-year-old woman coughs.",
        "Name: <PATIENT_1>   <AGE_1>   <GENDER_1>   MRN <MRN_1>\n\nThis <AGE_1> <GENDER_2> coughs.",
    ),
    (
        "Ada Lund | F | 58 | 12 Jan 2020\n\n58yo woman, teacher, with cough.",
        "<PERSON_1> | <GENDER_1> | <AGE_1> | <DATE_1>\n\n<AGE_1>yo <GENDER_2>, <OCCUPATION_1>, with cough.",
    ),
    ("Patient: Ada Lund (F) DOB 03/04/1960", "Patient: <PATIENT_1> (<GENDER_1>) DOB <BIRTH_DATE_1>"),
    ("Ada Lund\n58 years\nM\nSmoker\n", "<PERSON_1>\n<AGE_1> years\n<GENDER_1>\nSmoker\n"),
    ("Age/Sex: 58/M", "Age/Sex: <AGE_1>/<GENDER_1>"),
    ("Age / Sex : 58 / M", "Age / Sex : <AGE_1> / <GENDER_1>"),
    ("Sex/Age: F, 93", "Sex/Age: <GENDER_1>, <AGE_OVER_89_1>"),
    ("58 M\nCough.", "<AGE_1> <GENDER_1>\nCough."),
    # In no banner a letter and a number are neither.
    ("Cough.\nM\n58\nHR 58, T 37", "Cough.\nM\n58\nHR 58, T 37"),
    ("Mr. Lund, HR 72, BP 120/80, M protein", "Mr. <PERSON_1>, HR 72, BP 120/80, M protein"),
    ("Dr. Lund, F/U in 2 weeks, M/W/F", "Dr. <CLINICIAN_1>, F/U in 2 weeks, M/W/F"),
    # Another number than the age.
    ("Name: Ada Lund   72   98%\nShe is 58 years old.", "Name: <PATIENT_1>   72   98%\nShe is <AGE_1> years old."),
    # Occupations are masked.
    ("Job: chef.", "Job: <OCCUPATION_1>."),
    ("He works in landscaping.", "He works in <OCCUPATION_1>."),
    ("Employed in healthcare, lives alone", "Employed in <OCCUPATION_1>, lives alone"),
    ("by trade I am a qualified paralegal.", "by trade I am a qualified <OCCUPATION_1>."),
    ("being a full-time cellist pays the rent", "being a full-time <OCCUPATION_1> pays the rent"),
    ("Retired nurse.", "Retired <OCCUPATION_1>."),
    ("He works in the yard.", "He works in the yard."),
    # Two people have two tags and one has one.
    ("John Smith's son John Smith Jr. came.", "<PERSON_1>'s son <RELATIVE_1>. came."),
    ("John Smith III and John Smith IV came.", "<PERSON_1> III and <PERSON_2> IV came."),
    ("Mr. Lee's wife, Mrs. Lee, called.", "Mr. <PERSON_1>'s wife, Mrs. <PERSON_2>, called."),
    # It can be either's.
    ("Mr. Lee's wife, Mrs. Lee. Lee is well.", "Mr. <PERSON_1>'s wife, Mrs. <PERSON_2>. <PERSON_3> is well."),
    ("Mr. John Lee and Mrs. Lee. Mr. Lee agrees.", "Mr. <PERSON_1> and Mrs. <PERSON_2>. Mr. <PERSON_1> agrees."),
    # A doctor of the patient's last name is somebody else.
    (
        "Patient: Ada Lund. Dr. Lund saw her. Mrs. Lund is well.",
        "Patient: <PATIENT_1>. Dr. <CLINICIAN_1> saw her. Mrs. <PATIENT_1> is well.",
    ),
    # One person, with a title or without.
    (
        "Mrs. Ada Lund came. Ada Lund left. Ms. Lund agrees. Ada is well.",
        "Mrs. <PERSON_1> came. <PERSON_1> left. Ms. <PERSON_1> agrees. <PERSON_1> is well.",
    ),
    ("Dr. Orla Estermont came. Dr. Estermont left.", "Dr. <CLINICIAN_1> came. Dr. <CLINICIAN_1> left."),
    # The last digits of a number.
    (
        "SSN 123-45-6789, ends in 6789; the last four are 6789",
        "SSN <SSN_1>, ends in <CODE_1>; the last four are <CODE_1>",
    ),
    ("MRN 00482913; 2913 on the band", "MRN <MRN_1>; <MRN_2> on the band"),
    ("His card ending in 4471 was charged, xxxx-4471.", "His card ending in <CODE_1> was charged, xxxx-<CODE_1>."),
    # Places on a map, and devices.
    ("Found at 42.3601, -71.0589, cold.", "Found at <ADDRESS_1>, cold."),
    ("at 42°21'36\"N 71°03'32\"W", "at <ADDRESS_1>"),
    ("at geo:42.3601,-71.0589 today", "at <ADDRESS_1> today"),
    ("Accession: S22-12345; pathology S23-004512", "Accession: <CODE_1>; pathology <CODE_2>"),
    ("UDI (01)00643169007222(17)160712(21)PJN1", "UDI <DEVICE_ID_1>"),
    # Names in small letters.
    ("Mr. Lund came. spoke with lund about results", "Mr. <PERSON_1> came. spoke with <PERSON_1> about results"),
    ("daughter maria called. dr. foley saw.", "daughter <RELATIVE_1> called. dr. <CLINICIAN_1> saw."),
    ("pt john smith has asthma", "pt <PATIENT_1> has asthma"),
    ("Mom is named theodora.", "Mom is named <PERSON_1>."),
    # Towns, and the states beside them.
    ("She was seen at a clinic in Gary, IN.", "She was seen at a clinic in <CITY_1>, IN."),
    ("seen by Gary, MD", "seen by <PERSON_1>, MD"),
    # People by their role, and numbers by what they count.
    ("Godson Cornelius and nurse Priscilla came.", "Godson <PERSON_1> and nurse <PERSON_2> came."),
    ("Judge Marchetti on claim 4481-22-771", "Judge <PERSON_1> on claim <CODE_1>"),
    ("This is the note of Yevgenia Petrosyan.", "This is the note of <PERSON_1>."),
    ("Interpreter ID 448213, user name okwuosa_77", "Interpreter ID <CODE_1>, user name <HANDLE_1>"),
    ("Patient Name/DOB: Lund R / 02-17-1931", "Patient Name/DOB: <PERSON_1> / <DATE_1>"),
    ("Mrs. Lund is in Gilbert AZ.", "Mrs. <PERSON_1> is in <CITY_1> AZ."),
    # Banners of a hospital, a letter, and columns.
    (
        "PATIENT NAME......: HAROLD WARD\nHOSPITAL NO.......: 377004-3",
        "PATIENT NAME......: <PERSON_1>\nHOSPITAL NO.......: <MRN_1>",
    ),
    (
        "DOB 18 Jan 2005, NHS No 350 313 1201\n747 Jayne Union, Plymouth DT8Y 3QE",
        "DOB <BIRTH_DATE_1>, NHS No <MRN_1>\n<ADDRESS_1>, <CITY_1> <ZIP_1>",
    ),
    ("NHS No 778 877 5091\n228 O'Connor Way, Dedham", "NHS No <MRN_1>\n<ADDRESS_1>, <CITY_1>"),
    (
        "Lakeshore Internal Medicine          Singh, Russell   MRN: 05968751\nGeneral Internal Medicine",
        "<CLINIC_1>          <PATIENT_1>   MRN: <MRN_1>\nGeneral Internal Medicine",
    ),
    # A whole value, and no verb after a name.
    ("She is 5 ft 3 and weighs 120 lbs.", "She is <HEIGHT_1> and weighs <WEIGHT_1>."),
    ("She is 5 ft 3 in, and 5 ft 11.", "She is <HEIGHT_1>, and <HEIGHT_2>."),
    ("mrs. birgit cranecott rang.", "mrs. <PATIENT_1> rang."),
    ("pt john smith vomited twice", "pt <PATIENT_1> vomited twice"),
    ("here last Tuesday, 3/5, and on 9/14.", "here last <DATE_1>, <DATE_2>, and on <DATE_3+193d>."),
    ("She lives in Austin, Texas, by choice.", "She lives in <CITY_1>, Texas, by choice."),
    ("12 Elm Street, Austin, TX 78701", "<ADDRESS_1>, <CITY_1>, TX <ZIP_1>"),
    # Scores and doses beside a day.
    *(
        (f"{scores}. Seen 7/11.", f"{scores}. Seen <DATE_1>.")
        for scores in (
            "Strength 4/5, murmur 2/6, pain 3/10, pulses 2/2, reflexes 2+",
            "Strength 5/5 in the right arm, 4/5 in the left, a 2/6 systolic murmur, pain 3/10 at rest, 7/10 on moving",
            "Motor: R 4/5, L 5/5. DTR 2/4, PHQ 9/27, GCS 15/15, BP 120/80",
            "Apgar 8/10 and 9/10, blood cultures 2/4 bottles, 3/4 criteria",
            "AKI 2/2 dehydration, Lotrel 5/10 daily, 2 1/2 tablets, 1/2 NS, half of it, 24/7",
        )
    ),
)
#: Of these nothing is masked.
KEPT = (
    # Values and words of a note are neither numbers nor names.
    "Plan: 325 mg aspirin. BP 120/80, HR 90.",
    "on 2-4 L NC, pain 3/10, take 1/2 tablet",
    "CrCl 45 mL/min. Patient CrCl is 30. No LOC. MRI DWI negative. Hx: DWI x2, LOC. Per Dispo, home today.",
    "Abd: soft, nontender. Dispo: home. BI-RADS 4 lesion. CTA Abd/Pelvis",
    "Growth of Staph aureus. Klebsiella was treated. Her Klebsiella is resistant. Strep Viridans was seen.",
    "Candida Glabrata is sensitive. Proteus Mirabilis and Serratia Marcescens. Staph Epidermidis",
    "Boston collar placed. Discharged in Boston collar, Miami J collar and Philadelphia collar.",
    "Pain went from 8/10 to 3/10 after morphine, strength from 4/5 to 5/5.",
    "Ferritin 150-1000, platelets 150-4000, TSH (ref 0.4-4.0), GFR 60",
    "vancomycin 12 IV 2000 mg; T2N0M0; ANA 1:40",
    "E.D. is crowded. I.V. was placed. E.D. was full.",
    "on the 4th rib; 3rd toe; grade 2/6 murmur; CIN 2-3 on biopsy",
    "MS is a chronic disease. UC is a chronic disease.",
    "CPT 99213, code 99214, NDC 0002-8215-01",
    "Growth over 24/7 care, unit 4, case 12, visit 3, lot 12 of 40",
    "Policy of the ward; account of the illness; member of the team",
    "Mother: Gout. Father: Stroke. Sister: Lupus.",
    "FEV1 was 1.2, last A1c 7.2, sat 98",
    "in his third decade, the 14th week; van accident, T12 fracture, plates at L4-L5",
    # Shares and scores are no days of tests nor of lists.
    "stool guaiac neg 3/3, strep neg 1/2 swabs",
    "Nodes positive 3/12; bcx positive 2/4 bottles",
    "Apgar 8/9, 9/10",
    "MoCA 26/30, MMSE 12/30",
    "4/5 strength, 3/5, 5/5",
    "CT 2/2 trauma",
    # Months, as British notes write them.
    "BP at path 3/12 ago",
    "Took 1/2 tablet and 1/4 tablet",
    # Without a word of time nothing is a day.
    "Cuff repair: 4/5 with 3/10 at rest, 5/30 repeats.",
    "A march fracture; she can march in place. Methotrexate on Mondays.",
    "Started 1/2 tablet; rash 2/2 amoxicillin; increased 1/2 pack.",
    # Words and values of a note stay.
    "she will follow in may, a rose in grant funding",
    "Thomas test positive; the Baker cyst was aspirated.",
    "Glasgow Coma Scale is 15 and the pupils are equal.",
    "Dose with a ratio of 1:10, ANA 1:40.",
    "The last four were 142, 138, 151 and 120. Pain ends in the calf.",
    "She moved from Zambia; lives in Texas.",
    "Growth of E. Coli and S. Aureus. Nurse Practitioner visit.",
    "Knee swelling x 6 mo, amoxicillin x 10 days.",
    "Switched from Heparin SC to Lovenox SC; oxygen in NC.",
    "flexion 0° to 120°, urine gravity 1.020, 1.015",
    "the course ended 2019, seen 1 of 4 times, CPT 99214",
    # What stands in their places stays.
    "lives in a house, in fear, in assisted living; moved to the icu",
    "moved to sitting, moved to hospice care and comfort. Grew up in poverty.",
    "lives in ohio, moved to texas",
    "The agent of choice; the retired valve; an alkylating agent, 20 mg",
    "potassium 4, chloride 101, pain agent",
    # Clinical words are no names.
    "FHx: father CVA LAS, mother well",
    "Mother CVA LAS",
    "Driver. Ex-smoker.",
    "Nurse: Ex-smoker",
    "Patient: Ex-smoker, lives alone",
    "Husband: Ex-smoker Builder",
    "Patient is Ex-smoker Non-drinker",
    "Friend Thompson test",
    "Wife: Anxiety Depression",
    "Patient sees a counselor once a week. Her trainer wrapped her foot. Consult with her physical therapist.",
    "As he is now 8 years post-op, he walks.",
    "VITALS\n\nBP: 169/74.\nHR: 88 bpm.\nSpO2: 98%.",
)
#: Nor where a language model looks too.
KEPT_BY_A_MODEL = (
    "Given Bactrim DS twice daily. Started Zosyn and Vanc for sepsis.",
    "NIHSS 4 on arrival. PD-L1 was 60%. Ki-67 20%, HER2 negative.",
    "SpO2 98% on RA. Wilson disease was ruled out. Bishop score of 6.",
    "Zerlinib 5 mg daily and Humira. Keytruda for NSCLC, Eliquis 5 mg.",
    "Glasgow Coma Scale 15, CHA2DS2-VASc 4, HAS-BLED 2. Received Shingrix and Prevnar.",
    "Colonoscopy showed Diverticulosis. EKG and CXR normal. CIN 2-3 on biopsy.",
)
