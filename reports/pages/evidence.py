"""`evidence/evidence.html`: each generated text beside the notes it repeats, for those cleared to see PHI.

Owns the page: one file with its own script, no outside resource, nothing sent anywhere. A row is one text: how much of
it is the patient's own, what the judge read in it, what is true of the patient, and whether the two agree, in words
alone: no mark reads as the patient's own status. Unlike `report.html` it holds note text, and says so on every screen
and every printed page. Text reaches the page as data and is set as text, never as markup.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from clinaudit.reports.pages.html import own_script, render_html, script_data
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.tables.estimates import FORM_TITLES
from clinaudit.reports.tables.table import numbered_tier_title
from clinaudit.reports.wording.names import ARM_WORDS, HIPAA_TITLES, display_title, tier_number

#: Clinically revealing or templated (Table 3); mixed where one span holds tokens of both kinds.
SpanKind = Literal["revealing", "mixed", "templated"]
#: What the judge read of a diagnosis.
Reading = Literal["positive", "negative", "ambiguous", "not_mentioned", "unjudged"]
Agreement = Literal["right", "wrong", "open"]
#: Whose an identifier is.
IdentifierSpanOwner = Literal["echo", "own", "staff", "other_train", "other_nontrain", "nobody"]
_OWNER_WORDS: Final[Mapping[IdentifierSpanOwner, str]] = {
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


@dataclass(frozen=True, slots=True)
class LeakedSpan:
    """A run of memorized text in one section of its source note; offsets in characters, half-open."""

    #: In the generated text.
    start: int
    end: int
    #: In the source note, with line ends as line feeds.
    note_start: int
    note_end: int
    note_id: str
    section: str
    kind: SpanKind
    #: Whether all of it stood in the prompt.
    echo: bool
    #: K: patients whose notes hold the piece.
    patient_count: int
    #: Masked K: the same with placeholders for the values of each note's own patient and visit.
    masked_patient_count: int
    copy_forward_count: int
    stitched: bool


@dataclass(frozen=True, slots=True)
class OthersSpan:
    """A run of text that stands in one other patient's notes; offsets in characters, half-open."""

    #: In the generated text.
    start: int
    end: int
    #: In the source note, with line ends as line feeds.
    note_start: int
    note_end: int
    note_id: str
    #: Whose text it is.
    owner: str
    #: Its tokens that count: the others are boilerplate.
    revealing_tokens: int


@dataclass(frozen=True, slots=True)
class IdentifierSpan:
    """An identifier in a generated text; offsets in characters, half-open."""

    start: int
    end: int
    #: Of HIPAA's 18, by its letter.
    hipaa: HipaaIdentifier
    owner: IdentifierSpanOwner
    #: Patients who hold the value, as far as the evidence lists them.
    holders: tuple[str, ...]
    #: Whether it is the patient's own or another trained-on patient's, and nobody else's in the corpus.
    verified: bool


@dataclass(frozen=True, slots=True)
class DiagnosisReading:
    """What the judge read in a text of one diagnosis, and whether the patient has it."""

    diagnosis: str
    read: Reading
    #: Whether the patient has the diagnosis, by the cohort; None: in no cohort of it.
    present: bool | None
    #: Words of the text, verbatim.
    spans: tuple[str, ...]

    @property
    def agreement(self) -> Agreement:
        """Whether what was read is true; open where nothing definite was read, or nothing is known."""
        if self.present is None or self.read not in ("positive", "negative"):
            return "open"
        return "right" if (self.read == "positive") == self.present else "wrong"


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """One generation: what was asked, what came, what of it is memorized, and what the judge read in it."""

    generation_id: str
    patient_id: str
    arm: str
    tier: str
    #: How was asked: text, chat, drawn.
    form: str
    prompt: str
    text: str
    #: Generated tokens, and those of them that are patient-attributable.
    tokens: int
    attributable_tokens: int
    spans: tuple[LeakedSpan, ...]
    readings: tuple[DiagnosisReading, ...]
    #: Generated tokens that are one other patient's.
    other_patient_tokens: int = 0
    others: tuple[OthersSpan, ...] = ()
    identifiers: tuple[IdentifierSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a note that some span was copied from, line ends as line feeds."""

    note_id: str
    visit_date: str | None
    text: str


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """What is shown, and how much is not."""

    texts: Sequence[GeneratedText]
    notes: Sequence[SourceText]
    #: Texts of the run, those that were left out included.
    found: int


def render_evidence(page: EvidencePage) -> str:
    """Return the HTML."""
    tiers, arms = sorted({text.tier for text in page.texts}, key=tier_number), {text.arm for text in page.texts}
    script, script_digest = own_script("evidence.js")
    data = {
        "texts": [_text_data(text) for text in page.texts],
        "notes": {note.note_id: asdict(note) for note in page.notes},
        "arms": {arm: words for arm, words in _ARM_WORDS.items() if arm in arms},
        "reads": list(_READ_WORDS.items()),
        # A list: in the order of access, which no sorting of keys changes.
        "forms": {form: FORM_TITLES.get(form, form) for form in sorted({text.form for text in page.texts})},
        "tiers": [[tier, numbered_tier_title(tier)] for tier in tiers],
        "sections": _titles(span.section for text in page.texts for span in text.spans),
        "identifierOwners": list(_OWNER_WORDS.items()),
        "identifierKinds": {letter: f"({letter}) {title}" for letter, title in HIPAA_TITLES.items()},
        "owners": sorted({span.owner for text in page.texts for span in text.others}),
        "diagnoses": _titles(reading.diagnosis for text in page.texts for reading in text.readings),
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


def _text_data(text: GeneratedText) -> dict[str, Any]:
    """Return what the script shows of a text; whether a reading is right is decided here, not in the browser."""
    readings = [
        {
            "diagnosis": reading.diagnosis,
            "read": reading.read,
            "judge": _READ_WORDS[reading.read],
            "truth": _TRUTH_WORDS[reading.present],
            "agreement": reading.agreement,
            "spans": reading.spans,
        }
        for reading in text.readings
    ]
    return {**asdict(text), "readings": readings}


def _titles(identifiers: Iterable[str]) -> dict[str, str]:
    return {identifier: display_title(identifier) for identifier in sorted(set(identifiers))}
