"""Identifiers of certain kinds, each with its label, as five countries write them; for tests of the rules."""

import tomllib
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
#: What stands between a label and its value, and around both.
_BETWEEN = (": ", " ", ":", " - ")
_TEXTS = (
    "Cough for three days. {} Continue albuterol, A1c 7.2%.",
    "{}\nBP 120/80, HR 72, pain 3/10.",
    "| {} | asthma |",
    "Asthma, stable ({}); apixaban 5 mg twice daily.",
)


class Labelled(NamedTuple):
    """A text with one identifier in it: what stands before and behind it, too."""

    kind: str
    before: str
    value: str
    behind: str

    @property
    def text(self) -> str:
        return self.before + self.value + self.behind


def labelled_texts(count: int, *, seed: int) -> Iterator[Labelled]:
    """Yield texts, each country and kind in turn."""
    rng = Random(seed)
    for number in range(count):
        row = _TABLE["forms"][number % len(_TABLE["forms"])]
        country, kind = row["country"], row["kind"]
        label, form = rng.choice(row["labels"]), rng.choice(row["values"])
        value = _day(rng, _TABLE["days"][country]) if form == "DATE" else "".join(_sign(rng, sign) for sign in form)
        if kind == "email":
            value = value.lower()
        between = " " if label.endswith(("#", "-", " on", "am", "to", "Seen")) else rng.choice(_BETWEEN)
        before, behind = rng.choice(_TEXTS).split("{}")
        end = "." if behind.startswith(" C") else ""
        yield Labelled(f"{country} {kind}", f"{before}{label}{between}", value, f"{end}{behind}")


def _sign(rng: Random, sign: str) -> str:
    choices = {"#": "0123456789", "%": "23456789", "?": "ABCEGHJKLMNPRSTWXYZ"}
    return rng.choice(choices.get(sign, sign))


def _day(rng: Random, forms: list[str]) -> str:
    return (date(1930, 1, 1) + timedelta(days=rng.randrange(35_000))).strftime(rng.choice(forms))
