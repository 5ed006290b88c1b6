"""Which identifiers of a description its question needs, without a model: the honest floor of PII-Bench's second task.

A span is needed where its category is, and where it is about whom the question asks. What cannot be told is not needed.
"""

from collections.abc import Collection, Iterable

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.relevance.intents import needed_categories
from clinaudit.audit.pii.relevance.subjects import DescribedSubjects
from clinaudit.audit.pii.taxonomy import categories


def needed_spans(text: str, spans: Iterable[EntitySpan], query: str | None) -> list[EntitySpan]:
    """Return those of the spans of a text that a question needs, in their order; names never (PII-Bench, 3.2).

    `spans` are all that was found: names among them tell whom the others are about.
    """
    found = list(spans)
    needed = needed_categories(query)
    if query is None or not needed:
        return []
    return spans_about(text, found, query, of=needed)


def spans_about(text: str, spans: Collection[EntitySpan], query: str, *, of: Collection[str]) -> list[EntitySpan]:
    """Return the spans of categories `of` that are about whom a question asks; names never."""
    table = categories()
    wanted = [span for span in spans if span.category in of and table[span.category].type != "PER"]
    described = DescribedSubjects(text, spans)
    asked = described.asked_about(query)
    if asked is None or not described.subjects:
        return wanted
    return [span for span in wanted if any(subject in asked for subject in described.about(span))]
