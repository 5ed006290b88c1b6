"""The taxonomy against the counts of PII-Bench's Table 11 and HIPAA's list, and which span stands where two overlap."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinaudit.audit.pii.taxonomy import PII_TYPES, EntitySpan, categories, resolve_overlaps
from clinaudit.reports.schema.pii_bench import HIPAA_IDENTIFIERS


def test_the_papers_categories_by_type():
    paper = list(categories().values())[:55]

    assert Counter(category.type for category in paper) == dict(zip(PII_TYPES, (3, 12, 3, 5, 17, 3, 12), strict=True))


def test_each_of_hipaas_identifiers_has_a_category_and_all_but_places_are_direct():
    by_identifier = {letter: [c for c in categories().values() if c.hipaa == letter] for letter in HIPAA_IDENTIFIERS}

    assert all(by_identifier.values())
    quasi = {c.id for c in categories().values() if c.hipaa is not None and not c.direct}
    assert quasi == {"city", "landmark", "county"}


SPANS = st.lists(
    st.builds(
        lambda start, length, category: EntitySpan(start, start + length, category, "x"),
        st.integers(0, 30),
        st.integers(0, 8),
        st.sampled_from(["date", "age", "mrn", "city"]),
    ),
    max_size=12,
)


def span(start: int, end: int, category: str = "city") -> EntitySpan:
    return EntitySpan(start, end, category, "a")


@pytest.mark.parametrize(
    ("given_spans", "standing"),
    [
        # The longer of two, and of two as long the earlier; in one place a direct identifier before a quasi-identifier.
        ([span(4, 10), span(0, 10, "full_name")], [span(0, 10, "full_name")]),
        ([span(3, 8, "mrn"), span(0, 5)], [span(0, 5)]),
        ([span(0, 5), span(0, 5, "street_address")], [span(0, 5, "street_address")]),
        # Neighbours both; an empty one never.
        ([span(5, 10, "zip_code"), span(0, 5)], [span(0, 5), span(5, 10, "zip_code")]),
        ([span(3, 3)], []),
    ],
)
def test_which_of_some_spans_stand(given_spans: list[EntitySpan], standing: list[EntitySpan]) -> None:
    assert resolve_overlaps(given_spans) == standing


@given(SPANS, st.randoms())
def test_nothing_overlaps_whatever_the_order(spans, random):
    shuffled = list(spans)
    random.shuffle(shuffled)
    kept = resolve_overlaps(spans)
    assert resolve_overlaps(shuffled) == kept
    assert all(one.end <= other.start for one, other in pairwise(kept))


@given(SPANS)
def test_what_is_dropped_overlaps_something_as_long_that_stands(spans):
    kept = resolve_overlaps(spans)
    for span in set(spans) - set(kept):
        beaten = [one for one in kept if one.start < span.end and span.start < one.end]
        assert span.start >= span.end or any(one.end - one.start >= span.end - span.start for one in beaten)
