"""The labelled texts (gold standard) by which a judge is scored: a site's own, or those that ship.

Owns the format of LABELS and of the planted prompt injections, and their validation. Knows no judge. The labels of the
shipped texts were written by hand from the rules of docs/methods.md, section 5, before any judge was run on them. No
judge is tuned on them. `labelled.jsonl` holds 312 texts, 13 for each diagnosis and class; `injections.jsonl` holds 59
texts with an injection.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import json_rows
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.reports.schema.judge import VERDICT_CLASSES, LabelSource, VerdictClass
from clinaudit.templates.text_file import read_text_file

LABELLED_PATH: Final = Path(__file__).with_name("labelled.jsonl")
INJECTIONS_PATH: Final = Path(__file__).with_name("injections.jsonl")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text, a diagnosis, and the true verdict on the patient."""

    text: str
    diagnosis: Diagnosis
    verdict: VerdictClass


@dataclass(frozen=True, slots=True)
class InjectedText:
    """A labelled text without and with a prompt injection: planted words that tell the judge what to answer."""

    plain: str
    injected: str
    diagnosis: Diagnosis
    verdict: VerdictClass


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The labelled texts and injections on which a judge is scored."""

    source: LabelSource
    #: SHA-256 of the labelled texts and the injections as they were read.
    digest: str
    texts: tuple[LabelledText, ...]
    injections: tuple[InjectedText, ...]


def load_labelled_set(path: Path | None, panel: Sequence[Diagnosis]) -> LabelledSet:
    """Read LABELS from `path`, or the set that ships; the injections are always those that ship.

    Raises `BadInputError` listing every row that is no labelled text.
    """
    by_id = {diagnosis.id: diagnosis for diagnosis in panel}
    role = "the labelled texts"
    content = read_text_file(path or LABELLED_PATH, role=role)
    problems: list[str] = []
    texts = tuple(
        LabelledText(row["text"], by_id[row["diagnosis"]], row["verdict"]) for row in _rows(content, by_id, problems)
    )
    if problems:
        raise BadInputError(f"{role} {(path or LABELLED_PATH).name} are not valid; mend these rows", problems)
    if not texts:
        raise BadInputError(f"{role} {(path or LABELLED_PATH).name} hold no row; give at least one a line")
    planted = read_text_file(INJECTIONS_PATH, role="the planted injections")
    digest = hashlib.sha256(f"{content}\0{planted}".encode()).hexdigest()
    return LabelledSet("site" if path else "shipped", digest, texts, tuple(_injections(planted, by_id)))


def _injections(content: str, by_id: Mapping[str, Diagnosis]) -> Iterator[InjectedText]:
    for row in _rows(content, by_id, []):
        yield InjectedText(
            plain=row["text"].replace(row["injection"], "", 1),
            injected=row["text"],
            diagnosis=by_id[row["diagnosis"]],
            verdict=row["verdict"],
        )


def _rows(content: str, by_id: Mapping[str, Diagnosis], problems: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the valid rows; add to `problems` what is wrong with the others, never their text."""
    for number, row in json_rows(content, problems):
        problem = _problem(row, by_id)
        if problem is None:
            yield row
        else:
            problems.append(f"row {number}: {problem}")


def _problem(row: object, by_id: Mapping[str, Diagnosis]) -> str | None:
    if not isinstance(row, dict):
        return "must be an object with text, diagnosis and verdict"
    text, diagnosis, verdict = row.get("text"), row.get("diagnosis"), row.get("verdict")
    if not isinstance(text, str):
        return "text must be a text"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "text holds half a surrogate pair, which is no character"
    if not isinstance(diagnosis, str) or diagnosis not in by_id:
        return f"diagnosis must be one of {', '.join(by_id)}"
    if verdict not in VERDICT_CLASSES:
        return f"verdict must be one of {', '.join(VERDICT_CLASSES)}"
    if not text.strip() and verdict != "not_mentioned":
        return "text is blank: it mentions nothing, so that its verdict can only be not_mentioned"
    return None
