"""Runs an import of a test, and says how it was refused."""

from pathlib import Path
from typing import Any

import pytest
from support.corpus_tables import SECRET

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.importers import Kind, plan_import
from clinaudit.priors.importers.export import Imported, ImportRequest


def import_export(kind: Kind, source: Path, destination: Path, **options: Any) -> Imported:
    """Import with the panel that ships; the options are those of `ImportRequest`."""
    request = ImportRequest(kind=kind, source=source, destination=destination, panel=load_panel(), **options)
    return plan_import(request).run(lambda _bytes: None)


def refusal_of(kind: Kind, source: Path, destination: Path, **options: Any) -> str:
    """Return what an import is refused with; it quotes nothing of the export and leaves nothing behind."""
    beside = set(destination.parent.iterdir())
    with pytest.raises(BadInputError) as caught:
        import_export(kind, source, destination, **options)
    rendered = caught.value.render()
    assert SECRET not in rendered
    assert set(destination.parent.iterdir()) == beside
    return rendered


def write_own(folder: Path, table: str | bytes, columns: str, name: str = "notes.csv") -> tuple[Path, Path]:
    """Write a site's own table and its column map into a folder, made if new; return the two paths."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(table if isinstance(table, bytes) else table.encode())
    (folder / "columns.toml").write_text(columns, encoding="utf-8")
    return folder / name, folder / "columns.toml"


def import_own(
    folder: Path, table: str | bytes, columns: str, name: str = "notes.csv", **options: Any
) -> tuple[Imported, Corpus]:
    """Import a site's own table; return what was made, and the corpus."""
    source, path = write_own(folder, table, columns, name)
    imported = import_export("csv", source, folder / "corpus", columns=path, **options)
    return imported, read_corpus(folder / "corpus")


def refusal_of_own(folder: Path, table: str | bytes, columns: str, **options: Any) -> str:
    """Return what an import of a site's own table is refused with."""
    source, path = write_own(folder, table, columns)
    return refusal_of("csv", source, folder / "corpus", columns=path, **options)
