"""The trained system: it learns what it is shown, the same each time; tokens and tags."""

import random

import pytest
from support.pii.marked_samples import sample_of

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.systems.bilstm_crf import (
    NAME,
    spans_of_tags,
    split_tokens,
    tag_tokens,
    train_bilstm_crf,
)
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan

NAMES = ["Ann", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana"]


def toy_samples(number: int, *, seed: int) -> list[Sample]:
    """Sentences in which every number is an age and every name a nickname."""
    drawn = random.Random(seed)
    samples = []
    for _ in range(number):
        name, age = drawn.choice(NAMES), str(drawn.randrange(20, 80))
        samples.append(sample_of(f"My friend [A nickname|{name}] turned [A age|{age}] today."))
    return samples


def trained(samples: list[Sample], *, epochs: int = 1) -> Detector:
    return train_bilstm_crf(samples, epochs=epochs, seed=3, advance=lambda _: None)


def test_it_learns_a_toy_language() -> None:
    texts = toy_samples(40, seed=1)
    detector = trained(texts, epochs=25)
    found = [[(span.start, span.end, span.category) for span in detector.detect(text.description)] for text in texts]
    assert found == [[(one.start, one.end, one.category) for one in text.entities()] for text in texts]
    assert detector.detect("") == detector.detect(" \n\t ") == []


def test_one_epoch_on_thirty_samples_is_the_same_each_time() -> None:
    detectors = [trained(toy_samples(30, seed=1)) for _ in "ab"]
    one, other = ([found.detect(text.description) for text in toy_samples(20, seed=2)] for found in detectors)
    assert one == other


TEXT = "Ann Bell, 67kg, paid $5,200 on 2024-03-01."


def test_tokens_are_words_and_single_signs() -> None:
    tokens = split_tokens("Ann_B 67kg\n$5,2")
    assert [token[0] for token in tokens] == ["Ann", "_", "B", "67kg", "$", "5", ",", "2"]


@pytest.mark.parametrize("touching", [False, True])
def test_tags_tell_the_spans_they_were_made_of(touching: bool) -> None:
    spans = [EntitySpan(0, 8, "full_name", NAME), EntitySpan(21, 27, "tax_payment", NAME)]
    if touching:
        spans.insert(1, EntitySpan(8, 9, "nickname", NAME))
    tokens = split_tokens(TEXT)
    tags = tag_tokens(tokens, spans)
    assert tags[:3] == ["B-full_name", "I-full_name", "B-nickname" if touching else "O"]
    assert list(spans_of_tags(tokens, tags)) == spans


def test_a_token_that_an_entity_holds_in_part_is_the_entitys() -> None:
    tokens = split_tokens(TEXT)
    tags = tag_tokens(tokens, [EntitySpan(10, 12, "weight", "x")])
    assert [token[0] for token, tag in zip(tokens, tags, strict=True) if tag != "O"] == ["67kg"]


def test_a_tag_inside_without_a_beginning_begins_an_entity() -> None:
    tokens = split_tokens("one two three")
    found = spans_of_tags(tokens, ["I-age", "I-city", "I-city"])
    assert [(span.start, span.end, span.category) for span in found] == [(0, 3, "age"), (4, 13, "city")]
