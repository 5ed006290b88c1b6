"""Does what a language model names count only where what stands beside it speaks of a person or a place?"""

import pytest

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.named_people import AgreedNames


@pytest.mark.parametrize(
    ("text", "category", "agreed"),
    [
        ("Then [Qiang Sun] came.", "full_name", "full_name"),
        ("To whom it may concern: [Qiang Sun] is here.", "full_name", "full_name"),
        ("We spoke of [Qiang Sun].", "full_name", "full_name"),
        ("I saw [Quex] today.", "full_name", "full_name"),
        ("[Quex] lives alone.", "full_name", "full_name"),
        # Whatever the model calls somebody who does what people do.
        ("[Quex] said no.", "company", "full_name"),
        ("[Quex] and his wife.", "city", "full_name"),
        ("She lives in [Quexford].", "city", "city"),
        ("Walks near [Lake Quex].", "landmark", "landmark"),
        # Nothing beside it, or nothing of a person.
        ("[Headaches]", "full_name", None),
        ("[Quexing] for 3 weeks.", "full_name", None),
        ("[Quexford] was normal.", "city", None),
        ("Bought at [Quex Stores].", "company", None),
        ("[Ripple Quex], daily.", "company", None),
        # Clinical words, abbreviations and small letters never.
        ("I saw [Headaches] today.", "full_name", None),
        ("I saw [FBC] today.", "full_name", None),
        ("Sent to [MSU].", "city", None),
        ("I saw [hypothyroid] today.", "full_name", None),
        ("We spoke of [Prediabetes Sun].", "full_name", None),
        ("I saw [Sertraline] today.", "full_name", None),
        ("Works in [RLQX].", "city", None),
        ("Of [the West Coast].", "landmark", None),
    ],
)
def test_the_context_decides(text: str, category: str, agreed: str | None) -> None:
    written = text[text.index("[") + 1 : text.index("]")]
    start = text.index("[")
    named = [EntitySpan(start, start + len(written), category, "a stub")]
    found = AgreedNames(lambda _: named).detect(text.replace("[", "").replace("]", ""))
    assert [span.category for span in found] == ([] if agreed is None else [agreed])
