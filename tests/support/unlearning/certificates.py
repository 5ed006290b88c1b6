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
    def verdict(self) -> str:
        """The verdict of the request."""
        return str(self.certificate["verdict"])

    @property
    def after(self) -> list[str]:
        """The named patients who stand out after."""
        return [one["patient_id"] for one in self.certificate["patients"] if one["stands_out_after"]]

    @property
    def before(self) -> list[str]:
        """The named patients who stood out before."""
        return [one["patient_id"] for one in self.certificate["patients"] if one["stood_out_before"]]

    @property
    def reasons(self) -> set[str]:
        """Why the request does not pass, of the runs and of all named patients together."""
        of_patients = {reason for one in self.certificate["patients"] for reason in one["reasons"]}
        return of_patients | set(self.certificate["reasons"])

    def patient(self, patient_id: str) -> dict[str, Any]:
        """Return the certificate of one patient."""
        return next(one for one in self.certificate["patients"] if one["patient_id"] == patient_id)

    def rows(self, measure: str) -> list[dict[str, Any]]:
        """Return what one measure says of each patient."""
        rows = (row for one in self.certificate["patients"] for row in one["figures"])
        return [row for row in rows if row["measure"] == measure]


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
