"""Names that the generator gives: of persons, by origin, from Faker; of towns and organizations, put together of parts.

Owns the locales and the putting together. Knows nothing of what else is told of anybody.
"""

import random
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.benchmark.generator.catalog import vocabulary

if TYPE_CHECKING:
    from faker import Faker

#: Locales of names and their shares, so that recall can be told by origin. All are written in Latin letters.
ORIGINS: Final[Mapping[str, float]] = {
    "en_US": 0.46,
    "es_MX": 0.08,
    "en_IN": 0.06,
    "vi_VN": 0.06,
    "zh_CN": 0.06,
    "pl_PL": 0.06,
    "tr_TR": 0.06,
    "pt_BR": 0.05,
    "yo_NG": 0.06,
    "zu_ZA": 0.05,
}
_ROMANIZED: Final = frozenset({"zh_CN"})


class Names:
    """Draws names of persons; loads a locale when it is first needed."""

    def __init__(self) -> None:
        self._fakers: dict[str, Faker] = {}

    def faker(self, locale: str, rng: random.Random) -> "Faker":
        """Return the library's generator of a locale, drawing from `rng`."""
        if locale not in self._fakers:
            from faker import Faker

            self._fakers[locale] = Faker(locale)
        faker = self._fakers[locale]
        faker.random = rng  # type: ignore[attr-defined]  # a property of the proxy, which its stubs leave out
        return faker

    def draw_name(self, rng: random.Random, gender: str) -> tuple[str, str, str]:
        """Return the locale, a given name and a surname."""
        (origin,) = rng.choices(list(ORIGINS), list(ORIGINS.values()))
        return origin, *self.draw_name_of(rng, origin, gender)

    def draw_name_of(self, rng: random.Random, origin: str, gender: str) -> tuple[str, str]:
        """Return a given name and a surname of a locale, composed (NFC)."""
        faker = self.faker(origin, rng)
        if origin in _ROMANIZED:
            pair = faker.first_romanized_name(), faker.last_romanized_name()
        elif gender == "female":
            pair = faker.first_name_female(), faker.last_name_female()
        elif gender == "male":
            pair = faker.first_name_male(), faker.last_name_male()
        else:
            pair = faker.first_name_nonbinary(), faker.last_name()
        given, surname = (unicodedata.normalize("NFC", name) for name in pair)
        return given, surname


def draw_stem(rng: random.Random) -> str:
    """Return the stem of an invented place."""
    place = vocabulary()["place"]
    middle = rng.choice(place["middles"]) if rng.random() < 0.5 else ""
    return str(rng.choice(place["beginnings"]) + middle + rng.choice(place["endings"]))


def draw_town(rng: random.Random) -> str:
    """Return the name of an invented town."""
    return str(rng.choice(vocabulary()["place"]["patterns"])).format(stem=draw_stem(rng))


def draw_organization(rng: random.Random, kind: str) -> str:
    """Return the name of an invented organization, landmark or ward, put together of the parts of its table."""
    words = vocabulary()
    table = words[kind]
    pattern: str = rng.choice(table["patterns"])
    parts = {
        "stem": draw_stem(rng),
        "stem2": draw_stem(rng),
        "adjective": rng.choice(words["words"]["adjectives"]),
        "animal": rng.choice(words["words"]["animals"]),
        "n": str(rng.randint(1, 48)),
        "letter": rng.choice("ABCDEFGH"),
    }
    for plural, singular in _PARTS.items():
        if plural in table:
            parts[singular] = rng.choice(table[plural])
    return pattern.format(**parts)


#: Lists of a table, and the slot that takes one of them.
_PARTS: Final = {
    "sectors": "sector",
    "tails": "tail",
    "matters": "matter",
    "natures": "nature",
    "verbs": "verb",
    "causes": "cause",
    "saints": "saint",
    "specialties": "specialty",
    "compass": "compass",
}
