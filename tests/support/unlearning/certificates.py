"""Certificates made by the command, and what they say."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.runs.compared_pair import Planted, plant

from clinaudit.audit.commands.main import run as command


class Certified(NamedTuple):
    """What a certificate says; empty where the command refused to make one."""

    status: int
    certificate: dict[str, Any]
    page: str
    #: `forgetting` of `compare.json`.
    published: dict[str, Any]

    @property
    def by_patient(self) -> dict[str, str]:
        """The verdict on each named patient."""
        return {one["patient_id"]: one["verdict"] for one in self.certificate["patients"]}

    @property
    def verdicts(self) -> set[str]:
        """The verdicts on the named patients."""
        return set(self.by_patient.values())

    @property
    def reasons(self) -> set[str]:
        """Why, of all named patients together."""
        return {reason for one in self.certificate["patients"] for reason in one["reasons"]}

    def patient(self, patient_id: str) -> dict[str, Any]:
        """Return the certificate of one patient."""
        return next(one for one in self.certificate["patients"] if one["patient_id"] == patient_id)

    def rows(self, measure: str, *, tier: str = "encounter") -> list[dict[str, Any]]:
        """Return what one measure at one tier says of each patient."""
        rows = (row for one in self.certificate["patients"] for row in one["measures"])
        return [row for row in rows if (row["tier"], row["measure"]) == (tier, measure)]


#: Patients never seen without whom five named ones cannot be decided.
ENOUGH = 95


def plant_enough(root: Path, **options: Any) -> Planted:
    """Plant two runs with as many patients never seen as five named ones need."""
    return plant(root, **{"held_out": ENOUGH, **options})


def certify(before: Path, after: Path, out: Path, *options: str, ids: Sequence[str]) -> Certified:
    """Certify these patients by the command."""
    listed = out.with_suffix(".txt")
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("\n".join(ids), encoding="utf-8")
    status = command(["compare", str(before), str(after), "--forgotten", str(listed), "--out", str(out), *options])
    evidence, published = out / "evidence", out / "compare.json"
    if not (evidence / "certificate.json").is_file():
        return Certified(status, {}, "", {})
    return Certified(
        status,
        json.loads((evidence / "certificate.json").read_text(encoding="utf-8")),
        (evidence / "certificate.html").read_text(encoding="utf-8"),
        json.loads(published.read_text(encoding="utf-8"))["forgetting"] if published.is_file() else {},
    )


def certify_planted(planted: Planted, out: Path, *options: str, ids: Sequence[str] | None = None) -> Certified:
    """Certify the named patients of two planted runs, or these."""
    return certify(planted.a, planted.b, out, *options, ids=planted.named if ids is None else ids)
