"""How a question tells which patient it means without naming anybody: by the complaint of a visit and rare conditions.

Owns the choice of details: as few as single the patient out among all of the corpus, three at most. A detail that the
answer holds, or that identifies, is never one. Source: AMNESIA, appendix B.2, where a question must need this patient's
details and may hold no identifying information; without a name only clinical detail can tell whose they are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.unlearning.benchmark.questions.findings import Finding

MOST_DETAILS: Final = 3
#: Conditions first: a sentence reads better with them, and lists of medicines change.
_DETAIL_KINDS: Final = ("condition", "medication")


@dataclass(frozen=True, slots=True, order=True)
class Detail:
    """Something that a patient has and others may share: `kind` is `complaint`, `condition` or `medication`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Description:
    """The words for a patient."""

    #: `the patient seen for ear pressure with gout who takes famotidine`.
    words: str
    #: Whether nobody else of the corpus fits them.
    is_unique: bool
    #: Whether they tell anything at all.
    tells: bool = True


class Describer:
    """Describes patients of a corpus; built from the findings of all of them."""

    def __init__(self, findings: Mapping[str, Sequence[Finding]], is_identifying: Callable[[str], bool]) -> None:
        self._findings = findings
        self._is_identifying = is_identifying
        self._holders: defaultdict[Detail, set[str]] = defaultdict(set)
        for patient_id, found in findings.items():
            for detail in _details(found):
                self._holders[detail].add(patient_id)

    def describe(
        self, patient_id: str, *, anchors: Sequence[str], hidden: Iterable[str], say_anchors: bool = True
    ) -> Description:
        """Return words for a patient, seen for the complaints `anchors`, that tell nothing of `hidden` (values).

        Where `say_anchors` is False the question itself names the complaints.
        """
        secrets = [text.lower() for text in hidden if text]
        usable = [
            detail
            for detail in dict.fromkeys(_details(self._findings[patient_id]))
            if detail.kind != "complaint"
            and not any(secret in detail.text or detail.text in secret for secret in secrets)
            and not self._is_identifying(detail.text)
        ]
        usable.sort(key=lambda detail: _DETAIL_KINDS.index(detail.kind))
        left: set[str] | None = None
        for anchor in anchors:
            left = self._still(left, Detail("complaint", anchor.lower()))
        chosen: list[Detail] = []
        while usable and len(chosen) < MOST_DETAILS and (left is None or len(left) > 1 or not (chosen or say_anchors)):
            # `min` takes the first of equals: the order of the chart.
            best = min(usable, key=lambda detail: len(self._still(left, detail)))
            usable.remove(best)
            chosen.append(best)
            left = self._still(left, best)
        words = _words(chosen, anchors if say_anchors else ())
        return Description(words, left is not None and len(left) <= 1, tells=bool(chosen or anchors))

    def _still(self, left: set[str] | None, detail: Detail) -> set[str]:
        """Return who is left when a detail is told; None: nothing has been told yet."""
        return self._holders[detail] if left is None else left & self._holders[detail]


def _details(findings: Iterable[Finding]) -> Iterable[Detail]:
    for finding in findings:
        if finding.complaint is not None:
            yield Detail("complaint", finding.complaint.lower())
        if finding.kind in _DETAIL_KINDS:
            yield Detail(finding.kind, finding.subject.lower())


def _words(details: Iterable[Detail], anchors: Sequence[str]) -> str:
    of_kind = {kind: [detail.text for detail in details if detail.kind == kind] for kind in _DETAIL_KINDS}
    seen = f" seen for {anchors[0].lower()}" if anchors else ""
    having = f" with {_join(of_kind['condition'])}" if of_kind["condition"] else ""
    taking = f" who takes {_join(of_kind['medication'])}" if of_kind["medication"] else ""
    return f"the patient{seen}{having}{taking}"


def _join(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
