"""The taxonomy against the counts of PII-Bench's Table 11, and against HIPAA's list."""

from collections import Counter

from clinaudit.audit.pii.taxonomy import PII_TYPES, categories
from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS


def test_papers_categories_by_type_and_by_who_draws_their_values():
    paper = [category for category in categories().values() if category.source == "paper"]

    assert Counter(category.type for category in paper) == dict(zip(PII_TYPES, (3, 12, 3, 5, 17, 3, 12), strict=True))
    assert Counter(category.drawn_by for category in paper) == {"rule": 36, "model": 19}


def test_each_of_hipaas_identifiers_has_a_category_and_all_but_places_are_direct():
    by_identifier = {letter: [c for c in categories().values() if c.hipaa == letter] for letter in HIPAA_IDENTIFIERS}

    assert all(by_identifier.values())
    quasi = {c.id for c in categories().values() if c.hipaa is not None and not c.direct}
    assert quasi == {"city", "landmark", "county"}
