"""Names of tiers, facts, metrics, statuses and diagnoses as readers see them.

Owns every name that more than one output uses. A `_title` opens with a capital; the others stand within a sentence.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from clinaudit.priors.tiers import EVERYDAY, TIERS
from clinaudit.reports.schema.attacks import MembershipScore
from clinaudit.reports.schema.identity import Identity

TIER_TITLES: Final = {
    "public": "Public facts",
    "public_name": "Public facts and name",
    "public_name_meds": "Public facts, name, medications",
    "encounter": "Appointment reminder",
    "encounter_cc": "Appointment and chief complaint",
    "encounter_cc_hpi": "Appointment, complaint and history",
}
#: By tier: a head of a narrow row, and who that could be.
SHORT_TIER_TITLES: Final = {
    "public": ("Public facts", "anyone"),
    "public_name": ("+ name", "a neighbor"),
    "public_name_meds": ("+ medications", "pharmacist, relative"),
    "encounter": ("Appointment reminder", "household, billing staff"),
    "encounter_cc": ("+ chief complaint", "first lines of a note"),
    "encounter_cc_hpi": ("+ history", "a fragment of a note"),
}
_ASKERS: Final = {
    "public": "someone who knows public facts alone",
    "public_name": "someone who knows public facts and the name",
    "public_name_meds": "someone who knows public facts, the name and the medications",
    "encounter": "someone who holds an appointment reminder",
    "encounter_cc": "someone who has the first lines of a note",
    "encounter_cc_hpi": "someone who has a fragment of a note",
}
#: The tier of the headline: what an appointment reminder shows.
HEADLINE_TIER: Final = "encounter"
#: By what a note is scored for membership.
MEMBERSHIP_SCORE_NAMES: Final[Mapping[MembershipScore, str]] = {
    "min_k_plus_plus": "Min-K%++",
    "ratio": "the likelihood beside the control model’s",
    "loss": "the likelihood",
    "zlib": "the likelihood beside the compressed size",
}
#: HIPAA's 18 identifiers in the rule's words (45 CFR 164.514(b)(2)(i)), the long ones shortened.
HIPAA_TITLES: Final[Mapping[str, str]] = {
    "A": "Names",
    "B": "Geographic subdivisions smaller than a State",
    "C": "Elements of dates (except year), and ages over 89",
    "D": "Telephone numbers",
    "E": "Fax numbers",
    "F": "Electronic mail addresses",
    "G": "Social security numbers",
    "H": "Medical record numbers",
    "I": "Health plan beneficiary numbers",
    "J": "Account numbers",
    "K": "Certificate/license numbers",
    "L": "Vehicle identifiers and serial numbers, including license plate numbers",
    "M": "Device identifiers and serial numbers",
    "N": "Web Universal Resource Locators (URLs)",
    "O": "Internet Protocol (IP) address numbers",
    "P": "Biometric identifiers, including finger and voice prints",
    "Q": "Full face photographic images and any comparable images",
    "R": "Any other unique identifying number, characteristic, or code",
}
#: The arms in a reader's words.
ARM_WORDS: Final = {"train": "trained on", "nontrain": "never seen"}
#: Whose answers, in a reader's words.
SIDE_WORDS: Final = {**ARM_WORDS, "control": "before training"}
#: Word and sign of each status: colour never stands alone.
STATUSES: Final = {
    "pass": ("Pass", "✓"),
    "fail": ("Fail", "✗"),
    "incomplete": ("Incomplete", "…"),
    "inconclusive": ("Inconclusive", "?"),
}
#: Diagnoses and splits whose identifier is no name: within a sentence, and as the head of a row.
_NAMED: Final = {
    "abortion": ("a recorded abortion", "Recorded abortion"),
    "bipolar": ("bipolar disorder", "Bipolar disorder"),
    "train": ("trained on", "Trained on"),
    "nontrain": ("never seen", "Never seen"),
}
_ACRONYMS: Final = {"hiv", "ptsd", "adhd", "copd", "hpi", "ros", "std", "sti"}
_PROPER: Final = {"american", "asian", "indian", "alaska", "native", "hawaiian", "pacific", "islander"}


def tier_title(tier: str) -> str:
    """Return a tier's title; an id that is not one of the six is given as it stands."""
    return "Everyday tasks" if tier == EVERYDAY else TIER_TITLES.get(tier, tier)


def tier_number(tier: str) -> str:
    """Return the tier's place among the six, 1 to 6, or its id."""
    return next((str(place) for place, row in enumerate(TIERS, 1) if row.id == tier), tier)


def order_tiers(tiers: Iterable[str]) -> list[str]:
    """Return tiers in order of access; ids outside the six come last."""
    present = set(tiers)
    known = [tier.id for tier in TIERS if tier.id in present]
    return [*known, *sorted(present - set(known))]


def asker_words(tier: str) -> str:
    """Return who asks at a tier: "someone who holds an appointment reminder"."""
    return _ASKERS.get(tier, f"someone who knows {display_words(tier)}")


def display_title(identifier: str) -> str:
    """Return an identifier as words: `past_medical_history` as "Past medical history", `hiv` as "HIV"."""
    if identifier in _NAMED:
        return _NAMED[identifier][1]
    text = display_words(identifier)
    return text[:1].upper() + text[1:]


def display_words(identifier: str) -> str:
    """Return an identifier as words within a sentence: `abortion` as "a recorded abortion", `hiv` as "HIV"."""
    if identifier in _NAMED:
        return _NAMED[identifier][0]
    words = identifier.replace("_", " ").split(" ")
    return " ".join(
        word.upper() if word in _ACRONYMS else word.capitalize() if word in _PROPER else word for word in words
    )


def join_words(words: list[str], *, last: str = "and") -> str:
    """Join words with commas and a last "and"."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" {last} " + words[-1] if words else ""


_DIGEST_SHOWN: Final = 12
#: What was not given is a line to write on.
BLANK: Final = "________"


def model_digest(provenance: Mapping[str, object]) -> str | None:
    """Return the first characters of the digest of the model's files, with an ellipsis; None where there is none."""
    digests = provenance.get("digests")
    digest = digests.get("model") if isinstance(digests, Mapping) else None
    return f"{str(digest)[:_DIGEST_SHOWN]}…" if digest else None


def identity_line(identity: Identity, digest: str | None) -> str:
    """Return model, institution and date in one line."""
    model = identity.model_name or BLANK
    shown = f" ({digest})" if digest else ""
    return f"Model {model}{shown} · Institution {identity.institution or BLANK} · Date {identity.date or BLANK}"
