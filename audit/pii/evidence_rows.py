"""The rows of `identifiers.parquet`: each place of an identifier, its text, its owner and its holders. PHI.

Owns the columns. Knows nothing of how an owner is told, nor of the file.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.audit.generation.record import Generation
from clinaudit.audit.pii.found_values import FoundIdentifier
from clinaudit.audit.pii.owners import OwnedValue
from clinaudit.audit.pii.site_index import SiteIndex
from clinaudit.audit.pii.values.normal_form import IdentifierValue

#: Holders of one value that are listed; their number is told beside them.
MOST_LISTED: Final = 100


def identifier_rows(
    generation: Generation,
    found: Sequence[FoundIdentifier],
    owned: Sequence[OwnedValue],
    values: Sequence[IdentifierValue],
    index: SiteIndex,
) -> Iterator[dict[str, object]]:
    """Yield the rows of one generation, one for each place."""
    by_value = {item.value: item for item in owned}
    for item in sorted(found, key=lambda item: (item.start, item.end)):
        own, holders = by_value[item.value], index.holders[item.value]
        yield {
            "generation_id": generation.generation_id,
            "char_start": item.start,
            "char_end": item.end,
            "text": generation.text[item.start : item.end],
            "category": item.category,
            "hipaa": item.hipaa,
            "kind": values[item.value].kind,
            "value": values[item.value].text,
            "owner": own.owner,
            "verified": own.verified,
            "holders": [index.patient_ids[number] for number in holders[:MOST_LISTED]],
            "holder_count": len(holders),
            "found_by": item.found_by,
        }
