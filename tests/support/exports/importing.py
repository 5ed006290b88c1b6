"""Runs an import of a test, and says how it was refused."""

from collections.abc import Collection
from pathlib import Path

import pytest
from support.corpus_tables import SECRET

from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.importers import Kind, System, plan_import
from clinaudit.priors.importers.export import Imported, ImportRequest


def import_export(
    kind: Kind,
    source: Path,
    destination: Path,
    *,
    columns: Path | None = None,
    complete: Collection[System] = (),
    train_patients: Path | None = None,
    source_values: System | None = None,
    blank: Collection[str] = (),
    allow_rejected: bool = False,
) -> Imported:
    """Import with the panel that ships."""
    request = ImportRequest(
        kind=kind,
        source=source,
        destination=destination,
        panel=load_panel(),
        columns=columns,
        complete=complete,
        train_patients=train_patients,
        source_values=source_values,
        blank=blank,
        allow_rejected=allow_rejected,
    )
    return plan_import(request).run(lambda _bytes: None)


def refusal_of(kind: Kind, source: Path, destination: Path, *, columns: Path | None = None) -> str:
    """Return what an import is refused with; it quotes nothing of the export and leaves nothing behind."""
    beside = set(destination.parent.iterdir())
    with pytest.raises(BadInputError) as caught:
        import_export(kind, source, destination, columns=columns)
    rendered = caught.value.render()
    assert SECRET not in rendered
    assert set(destination.parent.iterdir()) == beside
    return rendered
