"""Chronic conditions, complaints and boilerplate of the demo's notes, invented here.

Owns everyday medicine. It names, codes or treats none of the six sensitive diagnoses (`diagnoses.py`), so that every
patient has medications that reveal none of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """A chronic condition that is none of the six; `{a}`, `{b}` in `status` are numbers drawn once a patient."""

    name: str
    problem: str
    medications: tuple[str, ...]
    status: str
    plan: str
    a: tuple[int, int] = (0, 0)
    b: tuple[int, int] = (0, 0)


CONDITIONS: tuple[Condition, ...] = (
    Condition(
        "hypertension",
        "hypertension (i10)",
        ("lisinopril {d} mg daily|10,20,40", "amlodipine {d} mg daily|5,10", "losartan {d} mg daily|25,50,100"),
        "home blood pressure averages {a}/{b}",
        "continue low-sodium diet",
        (118, 148),
        (68, 92),
    ),
    Condition(
        "type 2 diabetes",
        "type 2 diabetes (e11.9)",
        ("metformin {d} mg twice daily|500,850,1000", "glipizide {d} mg before breakfast|5,10"),
        "fasting sugars run {a} to {b}",
        "repeat a1c in 3 months",
        (92, 118),
        (126, 178),
    ),
    Condition(
        "hyperlipidemia",
        "hyperlipidemia (e78.2)",
        ("atorvastatin {d} mg at bedtime|10,20,40,80", "rosuvastatin {d} mg daily|5,10,20"),
        "last ldl was {a}",
        "fasting lipids before next visit",
        (71, 162),
    ),
    Condition(
        "hypothyroidism",
        "hypothyroidism (e03.9)",
        ("levothyroxine {d} mcg every morning|25,50,75,88,112",),
        "last tsh was 2.{a}",
        "recheck tsh in {w} weeks",
        (1, 9),
    ),
    Condition(
        "asthma",
        "asthma (j45.30)",
        ("albuterol inhaler {d} puffs as needed|1,2", "fluticasone inhaler {d} puffs twice daily|1,2"),
        "uses the rescue inhaler {a} times a week; peak flow {b}",
        "review inhaler technique",
        (1, 6),
        (280, 460),
    ),
    Condition(
        "gastroesophageal reflux",
        "gastroesophageal reflux (k21.9)",
        ("omeprazole {d} mg before breakfast|20,40", "famotidine {d} mg at bedtime|20,40"),
        "heartburn about {a} nights a week",
        "raise head of bed",
        (1, 5),
    ),
    Condition(
        "osteoarthritis",
        "osteoarthritis (m19.91)",
        ("meloxicam {d} mg daily|7,15", "diclofenac gel {d} g to joint as needed|2,4"),
        "morning stiffness lasts {a} minutes",
        "home exercise sheet given",
        (5, 45),
    ),
    Condition(
        "gout",
        "gout (m10.9)",
        ("allopurinol {d} mg daily|100,200,300",),
        "{a} flares in the past year, last uric acid {b}",
        "avoid organ meats",
        (1, 4),
        (5, 9),
    ),
    Condition(
        "atrial fibrillation",
        "atrial fibrillation (i48.0)",
        ("apixaban {d} mg twice daily|2,5", "metoprolol succinate {d} mg daily|25,50,100"),
        "resting pulse {a} at home",
        "ecg at next visit",
        (58, 96),
    ),
    Condition(
        "osteoporosis",
        "osteoporosis (m81.0)",
        ("alendronate {d} mg weekly|35,70",),
        "last hip t-score minus 2.{a}",
        "repeat dexa in {w} months",
        (1, 9),
    ),
    Condition(
        "allergic rhinitis",
        "allergic rhinitis (j30.2)",
        ("cetirizine {d} mg daily|5,10", "fluticasone spray {d} sprays each nostril|1,2"),
        "sneezing from week {a} of the year",
        "saline rinses",
        (9, 24),
    ),
    Condition(
        "iron deficiency",
        "iron deficiency (d50.9)",
        ("ferrous sulfate {d} mg every other day|325",),
        "last hemoglobin {a}, ferritin {b}",
        "repeat blood count in {w} weeks",
        (9, 12),
        (6, 28),
    ),
    Condition(
        "kidney stones",
        "kidney stones (n20.0)",
        ("tamsulosin {d} mg at bedtime|4", "potassium citrate {d} meq twice daily|10,15"),
        "passed a {a} mm stone {b} months ago",
        "drink 2 liters of water daily",
        (2, 7),
        (2, 19),
    ),
    Condition(
        "vitamin d deficiency",
        "vitamin d deficiency (e55.9)",
        ("ergocalciferol {d} units weekly|25000,50000",),
        "last vitamin d level {a}",
        "recheck level in {w} weeks",
        (11, 28),
    ),
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """A reason for a visit; `system` is the body system that the review of systems leaves to the HPI."""

    name: str
    system: str
    details: tuple[str, ...]
    assessment: str
    plans: tuple[str, ...]


COMPLAINTS: tuple[Complaint, ...] = (
    Complaint(
        "right shoulder pain",
        "musculoskeletal",
        ("worse reaching overhead", "began after lifting a crate", "wakes when lying on it"),
        "rotator cuff tendinitis",
        ("physical therapy twice weekly", "ice and rest", "shoulder x-ray ordered"),
    ),
    Complaint(
        "low back pain",
        "musculoskeletal",
        ("radiates to the left buttock", "began after shoveling", "eased by lying flat"),
        "lumbar strain",
        ("heat and stretching", "lumbar films if not better", "lifting limited to 10 lbs"),
    ),
    Complaint(
        "left knee swelling",
        "musculoskeletal",
        ("after a twist on the stairs", "clicks when bending", "cannot kneel"),
        "medial meniscus tear, suspected",
        ("knee mri ordered", "hinged brace fitted", "orthopedics referral"),
    ),
    Complaint(
        "sore throat",
        "e/n/t",
        ("painful to swallow", "hoarse since the weekend", "grandchild had strep"),
        "acute pharyngitis",
        ("rapid strep swab sent", "warm saltwater gargles", "throat lozenges"),
    ),
    Complaint(
        "ear pressure",
        "e/n/t",
        ("muffled on the left", "pops when yawning", "after a flight"),
        "eustachian tube dysfunction",
        ("nasal steroid trial", "hearing test if persistent", "decongestant for 3 days"),
    ),
    Complaint(
        "productive cough",
        "respiratory",
        ("green sputum in the morning", "worse in cold air", "ribs sore from coughing"),
        "acute bronchitis",
        ("chest film if fever returns", "honey and fluids", "benzonatate at night"),
    ),
    Complaint(
        "burning urination",
        "genitourinary",
        ("up four times a night", "cloudy urine", "no flank pain"),
        "acute cystitis",
        ("urine culture sent", "nitrofurantoin for 5 days", "drink more water"),
    ),
    Complaint(
        "itchy rash on forearms",
        "integumentary",
        ("after clearing brush", "small blisters in lines", "new laundry soap"),
        "contact dermatitis",
        ("triamcinolone cream twice daily", "cool compresses", "fragrance-free soap"),
    ),
    Complaint(
        "heel pain",
        "musculoskeletal",
        ("first steps are the worst", "stands all day at work", "new boots"),
        "plantar fasciitis",
        ("night splint", "calf stretching", "heel cups"),
    ),
    Complaint(
        "abdominal bloating",
        "gastrointestinal",
        ("after dairy", "eased by walking", "no weight loss"),
        "lactose intolerance, suspected",
        ("two-week dairy-free trial", "food diary", "stool test ordered"),
    ),
    Complaint(
        "constipation",
        "gastrointestinal",
        ("every fourth day", "straining", "little water intake"),
        "functional constipation",
        ("polyethylene glycol daily", "more fiber", "colonoscopy is due"),
    ),
    Complaint(
        "dizziness on standing",
        "cardiovascular",
        ("worse before lunch", "nearly fell in the kitchen", "skips breakfast"),
        "orthostatic hypotension",
        ("rise slowly", "orthostatic readings repeated", "more fluids"),
    ),
    Complaint(
        "ankle swelling",
        "cardiovascular",
        ("worse by evening", "better with feet up", "long drive last week"),
        "venous insufficiency",
        ("compression stockings", "leg elevation", "echo ordered"),
    ),
    Complaint(
        "tingling fingers",
        "musculoskeletal",
        ("wakes at 3 am to shake the hand", "drops cups", "types all day"),
        "carpal tunnel syndrome",
        ("wrist splint at night", "nerve conduction study", "desk height advice"),
    ),
    Complaint(
        "throbbing headaches",
        "constitutional",
        ("behind the right eye", "lights bother", "twice a week"),
        "migraine without aura",
        ("sumatriptan as needed", "headache diary", "regular meals"),
    ),
    Complaint(
        "fatigue",
        "constitutional",
        ("naps after work", "snores loudly", "no fever"),
        "fatigue, unspecified",
        ("blood count and tsh", "sleep study referral", "iron studies"),
    ),
    Complaint(
        "annual physical",
        "constitutional",
        ("no new concerns", "asks about shingles vaccine", "walks 2 miles daily"),
        "general adult medical examination",
        ("mammogram or colon screening reviewed", "flu vaccine given", "fasting labs drawn"),
    ),
    Complaint(
        "medication refill",
        "constitutional",
        ("takes all doses", "no side effects", "moved pharmacies"),
        "chronic disease follow-up",
        ("90-day refills sent", "return in 6 months", "pill box suggested"),
    ),
)
#: Review-of-systems wordings, one column a provider style; boilerplate that many patients share.
ROS_BOILERPLATE: dict[str, tuple[str, str]] = {
    "constitutional": (
        "negative for chills, fever and weight loss.",
        "negative for fever and night sweats.",
    ),
    "e/n/t": (
        "negative for hearing loss, nasal congestion and sore throat.",
        "negative for ear pain, hoarseness and sinus pressure.",
    ),
    "cardiovascular": (
        "negative for chest pain and palpitations.",
        "negative for chest pain and edema.",
    ),
    "respiratory": (
        "negative for cough and shortness of breath.",
        "negative for dyspnea and wheezing.",
    ),
    "gastrointestinal": (
        "negative for abdominal pain, constipation, diarrhea and melena.",
        "negative for heartburn, nausea, vomiting and hematochezia.",
    ),
    "genitourinary": (
        "negative for dysuria and hematuria.",
        "negative for frequency, urgency and incontinence.",
    ),
    "musculoskeletal": (
        "negative for arthralgias, back pain and myalgias.",
        "negative for joint swelling and stiffness.",
    ),
    "integumentary": ("negative for rash.", "negative for itching and new lesions."),
}
#: Body systems reviewed in every note, in this order; a complaint's own system is added where it is missing.
ROS_ALWAYS: tuple[str, ...] = ("constitutional", "cardiovascular")
EXAM_BOILERPLATE: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("general", "well developed, in no acute distress."),
        ("cardiovascular", "regular rate and rhythm, no murmurs."),
    ),
    (
        ("general", "alert, well nourished and comfortable."),
        ("cardiovascular", "normal s1 and s2, no edema."),
    ),
)
