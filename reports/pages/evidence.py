"""`evidence/evidence.html`: each generated text beside the notes it repeats, for those cleared to see PHI.

Owns the page: one file with its own script, no outside resource, nothing sent anywhere. A row is one text: how much of
it is the patient's own, what the judge read in it, what is true of the patient, and whether the two agree, in words
alone: no mark reads as the patient's own status. Unlike `report.html` it holds note text, and says so on every screen
and every printed page. Text reaches the page as data and is set as text, never as markup.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from clinaudit.reports.pages.html import own_script, render_html, script_data
from clinaudit.reports.tables.estimates import FORM_TITLES, numbered_tier_title
from clinaudit.reports.wording.names import ARM_WORDS, HIPAA_TITLES, display_title, tier_number

#: What the judge read of a diagnosis.
Reading = Literal["positive", "negative", "ambiguous", "not_mentioned", "unjudged"]
Agreement = Literal["right", "wrong", "open"]
#: A row of an evidence table, or what of it is shown, by the table's own names.
Row = Mapping[str, Any]
#: Columns of `other_patients` and of `identifiers` that the page's script reads.
OTHERS: Final = (
    "char_start", "char_end", "note_char_start", "note_char_end", "source_note_id", "owner_patient_id",
    "telling_tokens",
)  # fmt: skip
IDENTIFIERS: Final = ("char_start", "char_end", "hipaa", "owner", "holders", "verified")
#: What every span of near-verbatim text has beside its places: only one patient's notes hold its run.
NEAR: Final[dict[str, Any]] = {"kind": "near", "patient_count": 1, "masked_patient_count": 1}
#: Whose an identifier is.
_OWNER_WORDS: Final = {
    "echo": "stood in the prompt",
    "own": "the patient's own",
    "staff": "staff or practice",
    "other_train": "another patient's, trained on",
    "other_nontrain": "another patient's, never seen",
    "nobody": "of nobody in the corpus",
}
_READ_WORDS: Final[Mapping[Reading, str]] = {
    "positive": "says has it",
    "negative": "says does not have it",
    "ambiguous": "says it of nobody in particular",
    "not_mentioned": "says nothing of it",
    "unjudged": "gave no usable verdict",
}
_TRUTH_WORDS: Final[Mapping[bool | None, str]] = {True: "has it", False: "does not have it", None: "not known"}
#: Stands for an arm at an everyday task.
NOBODYS: Final = "nobody"
_ARM_WORDS: Final = {**ARM_WORDS, NOBODYS: "asked about nobody"}


class EvidencePage(NamedTuple):
    """What is shown, and how much is not."""

    #: What was asked and what came (`generations`), its counts of tokens (`generation_metrics`), and lists:
    #: `spans`: memorized text in one section of its source note, with `section`, `kind` (revealing or templated, Table
    #: 3) and `echo` (whether the prompt told it), and near-verbatim text that counts (`NEAR`);
    #: `others` and `identifiers`; `readings`, as of `reading_row`.
    texts: Sequence[Row]
    #: By id, the text of each note that some span was copied from, line ends as line feeds, and its visit.
    notes: Mapping[str, Row]
    #: Texts of the run, those that were left out included.
    found: int
    #: Length of a match.
    match_tokens: int = 30


def reading_row(diagnosis: str, read: Reading, present: bool | None, spans: Sequence[str]) -> Row:
    """Return what the judge read in a text of a diagnosis beside what is true of the patient, in words.

    `present`: whether the patient has it, by the cohort; None: in no cohort of it. `spans`: words of the text.
    """
    return {
        "diagnosis": diagnosis,
        "read": read,
        "judge": _READ_WORDS[read],
        "truth": _TRUTH_WORDS[present],
        "agreement": agreement(read, present),
        "spans": list(spans),
    }


def agreement(read: Reading, present: bool | None) -> Agreement:
    """Return whether what was read is true; open where nothing definite was read, or nothing is known."""
    if present is None or read not in ("positive", "negative"):
        return "open"
    return "right" if (read == "positive") == present else "wrong"


def render_evidence(page: EvidencePage) -> str:
    """Return the HTML."""
    tiers, arms = sorted({text["tier"] for text in page.texts}, key=tier_number), {text["arm"] for text in page.texts}
    script, script_digest = own_script("evidence.js")
    data = {
        "texts": page.texts,
        "notes": page.notes,
        "matchTokens": page.match_tokens,
        "arms": {arm: words for arm, words in _ARM_WORDS.items() if arm in arms},
        "reads": list(_READ_WORDS.items()),
        # A list: in the order of access, which no sorting of keys changes.
        "forms": {form: FORM_TITLES.get(form, form) for form in sorted({text["form"] for text in page.texts})},
        "tiers": [[tier, numbered_tier_title(tier)] for tier in tiers],
        "sections": _titles(span["section"] for text in page.texts for span in text["spans"] if "section" in span),
        "identifierOwners": list(_OWNER_WORDS.items()),
        "identifierKinds": {letter: f"({letter}) {title}" for letter, title in HIPAA_TITLES.items()},
        "owners": sorted({span["owner_patient_id"] for text in page.texts for span in text["others"]}),
        "diagnoses": _titles(reading["diagnosis"] for text in page.texts for reading in text["readings"]),
    }
    return render_html(
        "evidence.html.j2",
        style=("phi_page.css", "evidence.css"),
        context={
            "script": script,
            "script_digest": script_digest,
            "data": script_data(data),
            "shown": len(page.texts),
            "found": page.found,
        },
    )


def _titles(identifiers: Iterable[str]) -> dict[str, str]:
    return {identifier: display_title(identifier) for identifier in sorted(set(identifiers))}
