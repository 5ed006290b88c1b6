"""An evidence page of invented texts: more of them than are shown at once, each kind of mark and of reading, and what
is hard to lay out (a long note, words without a break, signs of two UTF-16 units)."""

from collections.abc import Sequence
from typing import Any

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.pages.evidence import NEAR, EvidencePage, Reading, Row, reading_row

SECTIONS = ("history_of_present_illness", "plan")
DIAGNOSES = ("hiv", "alcohol_use_disorder")
#: The viewer shows so many at first.
FIRST = 25
_OPENING = "\U0001f600 Seen in clinic today. "
_LEAKED = "Returned with a cough of nine days, slept badly, and took no medication for it. "
_WORDS = "x" * 300 + " "
_STATED = "reactive test"
_READINGS: Sequence[Reading] = ("positive", "negative", "ambiguous", "not_mentioned", "unjudged")


def planted_evidence(texts: int = 60) -> EvidencePage:
    """Text `i` is of patient `pt-i`; its tier, section, diagnosis, reading, kind and K go round by `i`."""
    notes = {
        f"note-{i:02}": {
            "visit_date": "2024-03-05" if i % 2 else None,
            "text": _OPENING + _LEAKED + _WORDS + _filling(i),
        }
        for i in range(texts)
    }
    return EvidencePage([text_row(**_text(i)) for i in range(texts)], notes, found=texts + 7 if texts else 0)


def text_row(**given: Any) -> Row:
    """Return a text of the page; of what is not given, nothing."""
    lists: Any = {name: [] for name in ("spans", "others", "identifiers", "readings")}
    asked = {"patient_id": "p1", "arm": "train", "tier": "encounter", "form": "text", "prompt": "", "text": ""}
    counts = {"tokens": 120, "other_patient_tokens": 0, "attributable_tokens": 0}
    near = given.get("attributable_tokens", 0)
    return {**counts, "near_verbatim_attributable_tokens": near, **lists, **asked, **given}


def span_row(char_start: int, char_end: int, note_char_start: int, note_id: str, **given: Any) -> Row:
    """Return memorized text of a note, or with an `owner_patient_id` another patient's."""
    place = {"char_start": char_start, "char_end": char_end, "note_char_start": note_char_start}
    place |= {"note_char_end": note_char_start + char_end - char_start}
    ones = dict.fromkeys(("patient_count", "masked_patient_count", "copy_forward_count"), 1)
    return {**place, "source_note_id": note_id, "section": "plan", "kind": "revealing", "echo": False, **ones,
            "stitched": False, **given}  # fmt: skip


def _text(i: int) -> dict[str, Any]:
    start = len("Note: ")
    # Every tenth states a diagnosis and repeats nothing, or every other of them a few words, with edits around them.
    ends = () if i % 10 == 9 else ((0, 30), (30, len(_LEAKED)))
    is_judged = i % 10 == 9 or i % 4 == 0
    of_another = start + len(_LEAKED + f"A {_STATED} is on file. ")
    note = (i + 1) % FIRST
    is_verified = i % 6 == 0
    value = {"char_start": start + _LEAKED.index("nine"), "char_end": start + _LEAKED.index(", slept"), "hipaa": "C"}
    whose = {"owner": "own" if is_verified else "nobody", "holders": [f"pt-{i:02}"] if is_verified else []}
    return {
        "generation_id": f"g{i:02}",
        "patient_id": f"pt-{i:02}" + ("-0123456789abcdef" * 4 if i == 1 else ""),
        "arm": "train" if i % 3 else "nontrain",
        "tier": TIER_IDS[i % len(TIER_IDS)],
        "form": ("text", "chat")[i % 2],
        "prompt": f"PROMPT-{i:02} " + _WORDS,
        "text": "Note: " + _LEAKED + f"A {_STATED} is on file. " + _WORDS + _filling(i),
        "attributable_tokens": 90 - i,
        "spans": [
            span_row(
                start + begin,
                start + end,
                len(_OPENING) + begin,
                f"note-{i:02}",
                section=SECTIONS[i % 2],
                kind=("revealing", "templated")[i % 2],
                echo=begin > 0 and i % 5 == 0,
                patient_count=1 if i % 4 else 3,
                masked_patient_count=1 if i % 4 else 3,
                copy_forward_count=2,
                stitched=i % 7 == 0,
            )
            for begin, end in ends
        ]
        + [
            {
                **NEAR,
                "char_start": start,
                "char_end": start + 30,
                "note_char_start": len(_OPENING),
                "note_char_end": len(_OPENING) + 30,
                "source_note_id": f"note-{i:02}",
            }
        ]
        * (i % 20 == 19),
        "readings": [reading_row(DIAGNOSES[i % 2], _READINGS[i % 5], (True, False, None)[i % 3], [_STATED])]
        * is_judged,
        # Every fifth holds text of another patient, whose note is the next text's.
        "others": [
            span_row(
                of_another,
                of_another + len(_WORDS),
                len(_OPENING + _LEAKED),
                f"note-{note:02}",
                owner_patient_id=f"pt-{note:02}",
                telling_tokens=30,
            )
        ]
        * (i % 5 == 3),
        # Every sixth holds a verified identifier; every sixth from the first, one of nobody.
        "identifiers": [{**value, **whose, "verified": is_verified}] * (i % 6 in (0, 1)),
    }


def _filling(i: int) -> str:
    """Some of the notes are longer than a sheet of paper."""
    return "\n".join(f"Line {line}: nothing of note was found on examination." for line in range(90 if i == 0 else 6))
