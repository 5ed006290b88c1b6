"""Tokens and tags of labelled texts, there and back."""

import pytest

from clinaudit.audit.pii.benchmark.systems.bilstm_crf import spans_of_tags, split_tokens, tag_tokens
from clinaudit.audit.pii.entity_span import EntitySpan

TEXT = "Ann Bell, 67kg, paid $5,200 on 2024-03-01."


def test_tokens_are_words_and_single_signs() -> None:
    tokens = split_tokens("Ann_B 67kg\n$5,2")
    assert [token.text for token in tokens] == ["Ann", "_", "B", "67kg", "$", "5", ",", "2"]
    assert all("Ann_B 67kg\n$5,2"[token.start : token.end] == token.text for token in tokens)


@pytest.mark.parametrize("touching", [False, True])
def test_tags_tell_the_spans_they_were_made_of(touching: bool) -> None:
    spans = [EntitySpan(0, 8, "full_name", "x"), EntitySpan(21, 27, "tax_payment", "x")]
    if touching:
        spans.insert(1, EntitySpan(8, 9, "nickname", "x"))
    tokens = split_tokens(TEXT)
    tags = tag_tokens(tokens, spans)
    assert tags[:3] == ["B-full_name", "I-full_name", "B-nickname" if touching else "O"]
    assert list(spans_of_tags(tokens, tags, found_by="x")) == spans


def test_a_token_that_an_entity_holds_in_part_is_the_entitys() -> None:
    tokens = split_tokens(TEXT)
    tags = tag_tokens(tokens, [EntitySpan(10, 12, "weight", "x")])
    assert [token.text for token, tag in zip(tokens, tags, strict=True) if tag != "O"] == ["67kg"]


def test_a_tag_inside_without_a_beginning_begins_an_entity() -> None:
    tokens = split_tokens("one two three")
    found = spans_of_tags(tokens, ["I-age", "I-city", "I-city"], found_by="x")
    assert [(span.start, span.end, span.category) for span in found] == [(0, 3, "age"), (4, 13, "city")]
