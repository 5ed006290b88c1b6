"""The fixed words of the annex: methods in short, the glossary, and who was compared with whom.

The terms of the field stand here, and nowhere before the annex.
"""

import tomllib
from pathlib import Path
from typing import Final

from clinaudit.reports.schema.results import RunResults

_WORDS: Final = tomllib.loads(Path(__file__).with_name("annex.toml").read_text(encoding="utf-8"))
#: A term, and what it means.
Terms = tuple[tuple[str, str], ...]
METHODS: Final[Terms] = tuple(_WORDS["methods"].items())
GLOSSARY: Final[Terms] = tuple(_WORDS["glossary"].items())
#: The paper's Appendix J: the ten sections that hold most of what its model repeats.
SECTIONS: Final[Terms] = tuple(_WORDS["sections"].items())
_LABELS: Final = {
    "table": "Diagnosis labels come from a table of the site.",
    "lexicon": "Diagnosis labels come from annotating the notes with a lexicon, not from a table.",
    "openai": "Diagnosis labels come from a language model that read the notes, not from a table.",
}


def labels_sentence(labels: str) -> str:
    """Return where the diagnosis labels come from."""
    return _LABELS[labels]


def compared_sentence(results: RunResults, controls: object) -> str:
    """Return which groups were compared; `controls` is the setting of that name, or None where it is not known."""
    if all(cohort.status == "unavailable" for cohort in results.cohorts.values()):
        return ""
    without = {
        "sensitive": "Those without it (controls) have another diagnosis of the panel.",
        "any": "Those without it (controls) need have no other diagnosis of the panel.",
    }.get(str(controls), "--controls says whether those without it (controls) have another diagnosis of the panel.")
    seen = "all trained on" if results.disclosure.is_from_control else "trained on and never seen"
    return (
        f"Compared for each diagnosis: patients with and without it, {seen}, matched by age, sex and"
        f" number of notes. {without} The prevalence is among candidates, the patients trained on who could be matched:"
        " it is not any hospital's rate, and “PPV at prevalence” uses it."
    )
