"""The systems that find identifying text, as a table: what each is, and how it is made ready.

Owns the names under which they stand in tables and files, and what each needs. A served model is asked elsewhere
(served_model.py): it answers whole questions. Every import of a library is late.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from clinaudit.audit.pii.entity_span import Detector

#: What `--systems` takes beside the served model.
SystemName = Literal["rules", "presidio", "spacy", "tagger", "bilstm_crf", "gliner"]


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system that reads a text and gives spans."""

    id: SystemName
    name: str
    #: One sentence.
    how: str
    kind: Literal["rules", "trained", "model"]


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What the systems are made with."""

    #: Passes over the texts, by trained system.
    epochs: dict[SystemName, int] = field(default_factory=dict)
    gliner: Path | None = None


#: Makes a trained system ready: from its folder, where it was trained before.
Trainer = Callable[[SystemName], Detector]

ROWS: Final[tuple[SystemRow, ...]] = (
    SystemRow("rules", "rules", "Patterns, check digits and word lists; no model.", "rules"),
    SystemRow("presidio", "presidio", "Presidio's own recognizers over a blank pipeline; no model.", "rules"),
    SystemRow("spacy", "rules + spaCy", "The rules, and names, places and organizations by en_core_web_sm.", "model"),
    SystemRow("tagger", "trained tagger", "spaCy's recognizer, trained from scratch on generated samples.", "trained"),
    SystemRow("bilstm_crf", "BiLSTM-CRF", "The paper's traditional baseline, trained on generated samples.", "trained"),
    SystemRow("gliner", "GLiNER", "A recognizer that is told the categories in words; weights from a folder.", "model"),
)
TRAINED: Final = frozenset(row.id for row in ROWS if row.kind == "trained")


def make_detector(system: SystemName, options: SystemOptions, train: Trainer) -> Detector:
    """Return a system, ready to read; raises `UsageError` or `BadInputError` where it lacks what it needs."""
    if system in TRAINED:
        return train(system)
    if system == "gliner":
        from clinaudit.audit.pii.systems.gliner import load_gliner
        from clinaudit.errors import UsageError

        if options.gliner is None:
            raise UsageError("the system gliner needs --gliner DIR, the folder of its weights")
        return load_gliner(options.gliner)
    if system == "presidio":
        from clinaudit.audit.pii.detectors.presidio import PresidioDetector

        return PresidioDetector()
    if system == "spacy":
        from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector

        return SpacyDetector()
    from clinaudit.audit.pii.detectors.rules import RuleDetector

    return RuleDetector()
