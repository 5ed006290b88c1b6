"""Identifiers of certain kinds, each with its label, as five countries write them; for tests of the rules."""

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

#: Country and kind -> labels, and forms of the value: `#` a figure, `%` one above 1, `?` a letter, `DATE` a day.
_FORMS: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("US", "record"): (
        ("MRN", "Medical record number", "Med rec", "Patient ID", "MR#", "Chart"),
        ("%#######", "%#-##-##", "??%#####", "AX-%#######", "%##-##-####"),
    ),
    ("US", "phone"): (
        ("Phone", "Tel.", "Cell", "Home phone", "Call", "Fax"),
        ("(%##) %##-####", "%##-%##-####", "%##.%##.####", "+1 %## %## ####", "1-%##-%##-####", "%##-%##-#### ext. ##"),
    ),
    ("US", "ssn"): (("SSN", "Social security number", "SS#"), ("%##-%#-%###", "%## %# %###", "%##%#%###")),
    ("US", "plan"): (
        ("Member ID", "Policy", "Policy number", "Subscriber ID", "Medicare", "Insurance ID"),
        ("W%########", "??? %## ## ####", "1EG4-TE5-MK%#", "1EG4TE5MK%#", "???/%###/##", "%###-##-?"),
    ),
    ("US", "account"): (("Account", "Acct", "Encounter no.", "CSN"), ("?%###-####", "%########", "%### #### ##")),
    ("US", "licence"): (("Driver's license", "DL no.", "Passport"), ("?%#######", "??%######")),
    ("UK", "record"): (
        ("NHS No", "NHS number", "Hospital No.", "Hosp No"),
        ("%## ### ####", "%##-###-####", "?%#####"),
    ),
    ("UK", "phone"): (
        ("Tel", "Mob", "Mobile", "Home tel", "Telephone"),
        ("07%## ######", "07%## ### ###", "020 7%## ####", "01%## ######", "+44 7%## ######", "0044 20 7%## ####"),
    ),
    ("UK", "ssn"): (("NI number", "NINO"), ("AB %# ## ## C", "JG%#####A")),
    ("CA", "record"): (("Health card", "OHIP", "PHN", "HCN"), ("%###-###-###-??", "%### ### ###", "%#########")),
    ("CA", "quebec"): (("RAMQ", "Health card no."), ("???? %### ####",)),
    ("CA", "ssn"): (("SIN",), ("%## ### ###", "%##-###-###")),
    ("CA", "phone"): (("Phone", "Cell", "Tel"), ("(%##) %##-####", "%##-%##-#### x ###", "+1 %## %##-####")),
    ("AU", "record"): (("UR number", "URN", "MRN", "IHI"), ("%######", "8003 60## #### ####")),
    ("AU", "plan"): (("Medicare", "Medicare no.", "DVA no."), ("%### ##### #", "%#########", "NX%#####")),
    ("AU", "phone"): (("Ph", "Mob", "Phone"), ("04%# ### ###", "(0%) 9### ####", "03 9%## ####", "+61 4%# ### ###")),
    ("DE", "record"): (("Fallnummer", "Patienten-ID", "Fall-Nr."), ("%#########", "%###-######")),
    ("DE", "plan"): (("Versichertennummer", "Vers.-Nr.", "Versicherten-Nr."), ("?%########", "? %## ### ###")),
    ("DE", "phone"): (
        ("Tel.", "Telefon", "Handy", "Fax"),
        ("0221 %####-##", "0171 %######", "0221/%#####", "030 %#######", "+49 221 %###-##", "+49 (0)171 %######"),
    ),
    ("any", "email"): (("E-mail", "Email", "Write to"), ("????.???%@clinic.example.org", "????_??%#@mail.example")),
    ("any", "extension"): (("Pager", "Bleep", "Ext.", "Extension"), ("%###",)),
    ("US", "date"): (("Seen", "Admitted", "Discharged on", "DOB", "Date of birth (mm/dd/yyyy)"), ("DATE",)),
    ("UK", "date"): (("Seen on", "Admission", "DOB", "D.O.B."), ("DATE",)),
    ("CA", "date"): (("Visit date", "Date of birth", "Birthdate"), ("DATE",)),
    ("AU", "date"): (("Review on", "DOB -", "Surgery"), ("DATE",)),
    ("DE", "date"): (("geb.", "Geburtsdatum", "am"), ("DATE",)),
}
_DAYS = {
    "US": ("%m/%d/%Y", "%B %d, %Y", "%m-%d-%Y", "%m/%d/%y", "%a %b %d, %Y"),
    "UK": ("%d/%m/%Y", "%d %B %Y", "%d.%m.%Y", "%d %b %y", "%A %d %B %Y"),
    "CA": ("%Y-%m-%d", "%d-%b-%Y", "%Y/%m/%d"),
    "AU": ("%d/%m/%y", "%d/%m/%Y", "%d %b %Y"),
    "DE": ("%d.%m.%Y", "%d.%m.%y"),
}
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
    kinds = list(_FORMS)
    for number in range(count):
        country, kind = kinds[number % len(kinds)]
        labels, forms = _FORMS[country, kind]
        label, form = rng.choice(labels), rng.choice(forms)
        value = _day(rng, _DAYS[country]) if form == "DATE" else "".join(_sign(rng, sign) for sign in form)
        if kind == "email":
            value = value.lower()
        between = " " if label.endswith(("#", "-", " on", "am", "to", "Seen")) else rng.choice(_BETWEEN)
        before, behind = rng.choice(_TEXTS).split("{}")
        end = "." if behind.startswith(" C") else ""
        yield Labelled(f"{country} {kind}", f"{before}{label}{between}", value, f"{end}{behind}")


def _sign(rng: Random, sign: str) -> str:
    choices = {"#": "0123456789", "%": "23456789", "?": "ABCEGHJKLMNPRSTWXYZ"}
    return rng.choice(choices.get(sign, sign))


def _day(rng: Random, forms: tuple[str, ...]) -> str:
    return (date(1930, 1, 1) + timedelta(days=rng.randrange(35_000))).strftime(rng.choice(forms))
