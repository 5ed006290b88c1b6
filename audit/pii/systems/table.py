"""The systems that find identifying text, as a table: what each is, and how it is made ready.

Owns the names under which they stand in tables and files. A served model is asked elsewhere (served_model.py): it
answers whole questions. Every import of a library is late.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.audit.pii.entity_span import Detector

#: What `--systems` takes beside the served model.
SystemName = Literal["rules", "presidio", "spacy", "bilstm_crf"]


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system that reads a text and gives spans."""

    id: SystemName
    name: str
    #: One sentence.
    how: str
    kind: Literal["rules", "trained", "model"]


ROWS: Final[tuple[SystemRow, ...]] = (
    SystemRow("rules", "rules", "Patterns, check digits and word lists; no model.", "rules"),
    SystemRow("presidio", "presidio", "Presidio's own recognizers over a blank pipeline; no model.", "rules"),
    SystemRow("spacy", "rules + spaCy", "The rules, and names, places and organizations by en_core_web_sm.", "model"),
    SystemRow("bilstm_crf", "BiLSTM-CRF", "The paper's traditional baseline, trained on generated samples.", "trained"),
)
#: The one system that is trained here.
TRAINED: Final[SystemName] = "bilstm_crf"


def make_detector(system: SystemName, train: Callable[[], Detector]) -> Detector:
    """Return a system, ready to read; `train` makes the trained one ready, from its folder where it was trained before.

    Raises `BadInputError` where it lacks what it needs.
    """
    if system == TRAINED:
        return train()
    if system == "presidio":
        from clinaudit.audit.pii.detectors.presidio import PresidioDetector

        return PresidioDetector()
    if system == "spacy":
        from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector

        return SpacyDetector()
    from clinaudit.audit.pii.detectors.rules import RuleDetector

    return RuleDetector()
