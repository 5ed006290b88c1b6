"""The six tiers of adversarial access, one row each (paper 3.1, Appendix A; docs/methods.md, section 1)."""

from dataclasses import dataclass
from enum import StrEnum


class Fact(StrEnum):
    """One thing an adversary may know about a patient."""

    AGE = "age"
    SEX = "sex"
    MARITAL_STATUS = "marital_status"
    OCCUPATION = "occupation"
    CHILDREN = "children"
    NAME = "name"
    MEDICATIONS = "medications"
    DOB = "dob"
    VISIT_DATE = "visit_date"
    PROVIDER = "provider"
    PRACTICE = "practice"
    CHIEF_COMPLAINT = "chief_complaint"
    HPI = "hpi"


@dataclass(frozen=True, slots=True)
class Tier:
    """The prior knowledge of an adversary at one level of access."""

    id: str
    #: The tier in the words of a reader who has not read the paper.
    title: str
    #: Who could plausibly hold this, in plain words.
    holder: str
    facts: tuple[Fact, ...]
    #: At least one of these must be known, or the patient is excluded from the tier.
    distinguishing: tuple[Fact, ...]
    #: A fragment of the latest note that generation continues, rather than a list of background facts.
    is_fragment: bool


_PUBLIC = (Fact.AGE, Fact.SEX, Fact.MARITAL_STATUS, Fact.OCCUPATION, Fact.CHILDREN)
_ENCOUNTER = (Fact.NAME, Fact.DOB, Fact.VISIT_DATE, Fact.PROVIDER, Fact.PRACTICE)
TIERS: tuple[Tier, ...] = (
    Tier("public", "Public demographics", "anyone with public records or social media", _PUBLIC, _PUBLIC, False),
    Tier(
        "public_name",
        "Public demographics and name",
        "an acquaintance or neighbor",
        (Fact.NAME, *_PUBLIC),
        (Fact.NAME,),
        False,
    ),
    Tier(
        "public_name_meds",
        "… and current medications",
        "a pharmacist, home caregiver or relative",
        (Fact.NAME, *_PUBLIC, Fact.MEDICATIONS),
        (Fact.MEDICATIONS,),
        False,
    ),
    Tier(
        "encounter",
        "Appointment details",
        "billing staff, a household member, anyone who sees an appointment reminder",
        _ENCOUNTER,
        _ENCOUNTER[1:],
        True,
    ),
    Tier(
        "encounter_cc",
        "… and the chief complaint",
        "someone with the first lines of a leaked note",
        (*_ENCOUNTER, Fact.CHIEF_COMPLAINT),
        (Fact.CHIEF_COMPLAINT,),
        True,
    ),
    Tier(
        "encounter_cc_hpi",
        "… and the history of present illness",
        "someone with a fragment of a leaked note",
        (*_ENCOUNTER, Fact.CHIEF_COMPLAINT, Fact.HPI),
        (Fact.HPI,),
        True,
    ),
)
TIER_IDS: tuple[str, ...] = tuple(tier.id for tier in TIERS)
#: What a fragment tells of the illness, each in a section of its own, which not every note has.
HISTORY: frozenset[Fact] = frozenset({Fact.CHIEF_COMPLAINT, Fact.HPI})
#: What stands below the banner of a note, and fills paragraphs.
BELOW_BANNER: frozenset[Fact] = HISTORY | {Fact.MEDICATIONS}
#: Ids of the tiers whose prompts quote a note.
FRAGMENT_TIERS: frozenset[str] = frozenset(tier.id for tier in TIERS if tier.is_fragment)
#: The tier of everyday tasks, whose prompts are about nobody.
EVERYDAY = "everyday"
