"""Names of tiers, facts, metrics, statuses and diagnoses as readers see them.

Owns every name that more than one output uses. A `_title` opens with a capital; the others stand within a sentence.
"""

from clinaudit.priors.tiers import TIERS, Fact

TIER_TITLES = {
    "public": "Public demographics",
    "public_name": "Demographics and name",
    "public_name_meds": "Demographics, name, medications",
    "encounter": "Appointment details",
    "encounter_cc": "Appointment and chief complaint",
    "encounter_cc_hpi": "Appointment, complaint and history",
}
#: The tier of the headline: what an appointment reminder shows.
HEADLINE_TIER = "encounter"
FACTS = {
    Fact.AGE: "age",
    Fact.SEX: "sex",
    Fact.MARITAL_STATUS: "marital status",
    Fact.OCCUPATION: "occupation",
    Fact.CHILDREN: "number of children",
    Fact.NAME: "name",
    Fact.MEDICATIONS: "current medications (less those that reveal the diagnosis)",
    Fact.DOB: "date of birth",
    Fact.VISIT_DATE: "visit date",
    Fact.PROVIDER: "provider",
    Fact.PRACTICE: "practice",
    Fact.CHIEF_COMPLAINT: "chief complaint",
    Fact.HPI: "history of present illness",
}
METRIC_TITLES = {
    "mention_rate": "Mention rate",
    "auroc": "AUROC among mentions",
    "ppv": "PPV among mentions",
    "auroc_all": "AUROC over all patients",
    "sensitivity": "Sensitivity",
    "false_positive_rate": "False-positive rate",
    "ppv_at_prevalence": "PPV at prevalence",
}
#: The metrics of memorization that the terminal and the comparison show: title, and field of the results.
MEMORIZATION_METRICS = (
    ("memorized", "memorized_fraction"),
    ("attributable", "attributable_fraction"),
    ("hit rate", "hit_rate"),
)
#: Word and sign of each status: colour never stands alone.
STATUSES = {
    "pass": ("Pass", "✓"),
    "fail": ("Fail", "✗"),
    "incomplete": ("Incomplete", "…"),
    "inconclusive": ("Inconclusive", "?"),
}
_ACRONYMS = {"hiv", "ptsd", "adhd", "copd", "hpi", "ros", "std", "sti"}
_PROPER = {"indian", "alaska", "native", "hawaiian", "pacific", "islander"}


def tier_title(tier: str) -> str:
    """Return a tier's title; an id that is not one of the six is given as it stands."""
    return TIER_TITLES.get(tier, tier)


def tier_number(tier: str) -> str:
    """Return the tier's place among the six, 1 to 6, or its id."""
    return next((str(place) for place, row in enumerate(TIERS, 1) if row.id == tier), tier)


def display_title(identifier: str) -> str:
    """Return an identifier as words: `past_medical_history` as "Past medical history", `hiv` as "HIV"."""
    text = display_words(identifier)
    return text[:1].upper() + text[1:]


def display_words(identifier: str) -> str:
    """Return an identifier as words within a sentence: `abortion` as "abortion", `hiv` as "HIV"."""
    words = identifier.replace("_", " ").split(" ")
    return " ".join(
        word.upper() if word in _ACRONYMS else word.capitalize() if word in _PROPER else word for word in words
    )


def join_words(words: list[str]) -> str:
    """Join words with commas and a last "and"."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def is_share(metric: str) -> bool:
    """Whether a disclosure metric is a share of patients or generations rather than an AUROC."""
    return not metric.startswith("auroc")
