"""Direct identifiers planted in texts in formats that hide them from patterns, for tests of the filter."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from urllib.parse import quote

from faker import Faker

#: Carriers: clinical sentences, with the label that a note would give the value.
_CARRIERS = {
    "patient_name": ("Patient: {}.", "The patient, {}, was seen for asthma.", "Mr. {} reports wheezing."),
    "ssn": ("SSN: {}.", "Social Security number {} on file."),
    "mrn": ("MRN: {}.", "Medical record number: {}."),
    "phone": ("Phone: {}.", "Call back at {} with the result."),
    "email": ("E-mail: {}.", "Send the summary to {} please."),
    "birth_date": ("DOB: {}.", "Date of birth: {}."),
    "date": ("Seen on {} with cough.", "Discharged on {} on albuterol."),
    "credit_card": ("Card number {} charged.",),
    "street_address": ("Address: {}.", "She lives at {}."),
    "ip_address": ("Logged in from {}.",),
}
_CYRILLIC = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
_ZERO_WIDTH = "\u200b"


@dataclass(frozen=True)
class Planted:
    """A text with one identifier in it."""

    category: str
    format: str
    #: The identifier as it is written plainly, and as it stands in the text.
    plain: str
    written: str
    text: str


def _halves(value: str, between: str) -> str:
    middle = len(value) // 2
    return value[:middle] + between + value[middle:]


FORMATS: dict[str, Callable[[str], str]] = {
    "plain": lambda value: value,
    "split lines": lambda value: _halves(value, "\n"),
    "spaced": " ".join,
    "full width": lambda value: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value),
    "look-alikes": lambda value: value.translate(_CYRILLIC),
    "zero width": _ZERO_WIDTH.join,
    "soft hyphens": lambda value: _halves(value, "\u00ad"),
    "bidi": lambda value: f"\u202a{_halves(value, chr(0x200F))}\u202c",
    "entities": lambda value: "".join(f"&#{ord(character)};" for character in value),
    "percent": lambda value: quote(value, safe="") if not value.isalnum() else "".join(f"%{ord(c):02X}" for c in value),
    "upper case": str.upper,
    "no-break space": lambda value: value.replace(" ", "\u00a0").replace("-", "\u2011"),
}
#: The value with its label, encoded: a number alone in base64 says nobody what it is.
ENCODED: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
}


def planted_texts(count: int, *, seed: int) -> Iterator[Planted]:
    """Yield texts, each category in each format in turn."""
    fake = Faker("en_US")
    fake.seed_instance(seed)
    rng = Random(seed)
    values: dict[str, Callable[[], str]] = {
        "patient_name": lambda: f"{fake.first_name()} {fake.last_name()}",
        "ssn": fake.ssn,
        "mrn": lambda: fake.numerify("########"),
        "phone": lambda: fake.numerify("(617) %##-####"),
        "email": fake.email,
        "birth_date": lambda: fake.date_of_birth(minimum_age=20, maximum_age=80).strftime("%m/%d/%Y"),
        "date": lambda: fake.date_this_decade().strftime("%B %d, %Y"),
        "credit_card": lambda: fake.credit_card_number("visa16"),
        "street_address": fake.street_address,
        "ip_address": fake.ipv4_public,
    }
    cells = [(category, form) for form in (*FORMATS, *ENCODED) for category in values]
    for number in range(count):
        category, form = cells[number % len(cells)]
        plain = values[category]().replace("\n", " ")
        carrier = rng.choice(_CARRIERS[category])
        if form in ENCODED:
            written = ENCODED[form](carrier.format(plain))
            sentence = f"Attachment: {written}"
        else:
            written = FORMATS[form](plain)
            sentence = carrier.format(written)
        text = f"Cough for three days, no fever. {sentence} Continue albuterol, A1c 7.2%, follow up as needed."
        yield Planted(category, form, plain, written, text)
