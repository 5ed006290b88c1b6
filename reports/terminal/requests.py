"""Several deletion requests in plain text, for `clinaudit unlearn requests`. At most 100 columns.

Owns which columns of their table fit on a terminal.
"""

from collections.abc import Sequence
from typing import Final

from clinaudit.reports.schema.requests import CertifiedRequest
from clinaudit.reports.tables.requests import requests_table, verdicts_sentence
from clinaudit.reports.terminal.layout import align_columns, wrap

_COLUMNS: Final = ("Request", "Audit after", "Model after", "Patients at once", "Verdict")


def requests_text(requests: Sequence[CertifiedRequest]) -> str:
    """Return how many have which verdict, and a line a request."""
    table = requests_table(requests)
    places = [table.columns.index(name) for name in _COLUMNS]
    rows = [[row[place] for place in places] for row in (table.columns, *table.rows)]
    return f"{wrap(verdicts_sentence(requests), indent='  ')}\n\n{align_columns(rows)}\n\n"
