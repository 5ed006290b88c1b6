"""The identity that a run has: what an earlier audit, or `clinaudit report`, left in its `run.json`.

Knows nothing of what a page makes of it.
"""

from clinaudit.audit.results.publication.published_files import RUN_RECORD, read_record
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import IntegrityError
from clinaudit.reports.schema.identity import Identity, read_identity


def kept_identity(run: RunDirectory) -> Identity:
    """Return the identity in a run's `run.json`; an empty one where there is none to read."""
    if not (run.root / RUN_RECORD).is_file():
        return Identity()
    try:
        return read_identity(read_record(run))
    except IntegrityError:
        # The audit that runs now replaces the damaged file; `report` has verified it.
        return Identity()
