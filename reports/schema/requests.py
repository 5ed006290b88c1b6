"""Published records of several deletion requests: what `requests.json` holds (docs/comparing-runs.md, "Many requests").

Owns their shape: what each certificate published, as it stands there. No field is computed over several requests.
"""

from typing import Literal

from clinaudit.reports.schema.comparison import Difference, PublishedForgetting
from clinaudit.reports.schema.record import Record


class CertifiedRequest(Record):
    """One request: its certificate without names."""

    #: As the site calls it.
    name: str
    #: Of the audit after, as the site gave it (ISO 8601); None where it gave none.
    date: str | None
    #: Digests of the model before and after, shortened; None where both runs are of one model.
    model: Difference | None
    forgetting: PublishedForgetting


class CertifiedRequests(Record):
    """Everything `requests.json` holds, in the order in which the requests were named."""

    schema_version: Literal["1.0"] = "1.0"
    requests: list[CertifiedRequest]
