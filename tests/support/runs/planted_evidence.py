"""An evidence page of invented texts: more of them than are shown at once, each kind of mark and of reading, and what
is hard to lay out (a long note, words without a break, signs of two UTF-16 units)."""

from collections.abc import Sequence

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.pages.evidence import (
    DiagnosisReading,
    EvidencePage,
    GeneratedText,
    IdentifierSpan,
    LeakedSpan,
    OthersSpan,
    Reading,
    SourceText,
    SpanKind,
)

SECTIONS = ("history_of_present_illness", "plan")
DIAGNOSES = ("hiv", "alcohol_use_disorder")
#: The viewer shows so many at first.
FIRST = 25
_KINDS: Sequence[SpanKind] = ("revealing", "mixed", "templated")
_OPENING = "\U0001f600 Seen in clinic today. "
_LEAKED = "Returned with a cough of nine days, slept badly, and took no medication for it. "
_WORDS = "x" * 300 + " "
_STATED = "reactive test"
_READINGS: Sequence[Reading] = ("positive", "negative", "ambiguous", "not_mentioned", "unjudged")
_TRUTHS = (True, False, None)


def planted_evidence(texts: int = 60) -> EvidencePage:
    """Text `i` is of patient `pt-i`; its tier, section, diagnosis, reading, kind and K go round by `i`."""
    shown = [_text(i) for i in range(texts)]
    notes = [
        SourceText(f"note-{i:02}", "2024-03-05" if i % 2 else None, _OPENING + _LEAKED + _WORDS + _filling(i))
        for i in range(texts)
    ]
    return EvidencePage(texts=shown, notes=notes, found=texts + 7 if texts else 0)


def _text(i: int) -> GeneratedText:
    kind = _KINDS[i % 3]
    start = len("Note: ")
    shift = len(_OPENING)
    # Every tenth states a diagnosis and repeats nothing.
    spans = () if i % 10 == 9 else (_span(i, kind, start, shift, 0, 30), _span(i, kind, start, shift, 30, len(_LEAKED)))
    is_judged = i % 10 == 9 or i % 4 == 0
    readings = (DiagnosisReading(DIAGNOSES[i % 2], _READINGS[i % 5], _TRUTHS[i % 3], (_STATED,)),) if is_judged else ()
    return GeneratedText(
        generation_id=f"g{i:02}",
        patient_id=f"pt-{i:02}" + ("-0123456789abcdef" * 4 if i == 1 else ""),
        arm="train" if i % 3 else "nontrain",
        tier=TIER_IDS[i % len(TIER_IDS)],
        form=("text", "chat")[i % 2],
        prompt=f"PROMPT-{i:02} " + _WORDS,
        text="Note: " + _LEAKED + f"A {_STATED} is on file. " + _WORDS + _filling(i),
        tokens=120,
        attributable_tokens=90 - i,
        spans=spans,
        readings=readings,
        # Every fifth holds text of another patient, whose note is the next text's.
        others=(_of_another(i),) if i % 5 == 3 else (),
        # Every sixth holds a verified identifier; every sixth from the first, one of nobody.
        identifiers=(_identifier(i),) if i % 6 in (0, 1) else (),
    )


def _of_another(i: int) -> OthersSpan:
    start = len("Note: " + _LEAKED + f"A {_STATED} is on file. ")
    note = (i + 1) % FIRST
    return OthersSpan(
        start=start,
        end=start + len(_WORDS),
        note_start=len(_OPENING + _LEAKED),
        note_end=len(_OPENING + _LEAKED + _WORDS),
        note_id=f"note-{note:02}",
        owner=f"pt-{note:02}",
        revealing_tokens=30,
    )


def _identifier(i: int) -> IdentifierSpan:
    is_verified = i % 6 == 0
    return IdentifierSpan(
        start=len("Note: Returned with a cough of "),
        end=len("Note: Returned with a cough of nine days"),
        hipaa="C",
        owner="own" if is_verified else "nobody",
        holders=(f"pt-{i:02}",) if is_verified else (),
        verified=is_verified,
    )


def _span(i: int, kind: SpanKind, start: int, shift: int, begin: int, end: int) -> LeakedSpan:
    return LeakedSpan(
        start=start + begin,
        end=start + end,
        note_start=shift + begin,
        note_end=shift + end,
        note_id=f"note-{i:02}",
        section=SECTIONS[i % 2],
        kind=kind,
        echo=begin > 0 and i % 5 == 0,
        patient_count=1 if i % 4 else 3,
        masked_patient_count=1 if i % 4 else 3,
        copy_forward_count=2,
        stitched=i % 7 == 0,
    )


def _filling(i: int) -> str:
    """Some of the notes are longer than a sheet of paper."""
    return "\n".join(f"Line {line}: nothing of note was found on examination." for line in range(90 if i == 0 else 6))
