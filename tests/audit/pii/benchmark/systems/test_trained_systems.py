"""The trained system: it learns what it is shown, the same each time, and is read back; tokens and tags."""

import random
from pathlib import Path

import pytest
from support.pii.marked_samples import sample_of

from clinaudit.audit.pii.benchmark.planned_systems import train_or_read
from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.systems.bilstm_crf import NAME, spans_of_tags, split_tokens, tag_tokens
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.runtime.console.progress import Progress

NAMES = ["Ann", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana"]


def toy_samples(number: int, *, seed: int) -> list[Sample]:
    """Sentences in which every number is an age and every name a nickname."""
    drawn = random.Random(seed)
    samples = []
    for _ in range(number):
        name, age = drawn.choice(NAMES), str(drawn.randrange(20, 80))
        samples.append(sample_of(f"My friend [A nickname|{name}] turned [A age|{age}] today."))
    return samples


def trained(root: Path, samples: list[Sample], *, epochs: int = 1, seed: int = 3) -> tuple[Detector, float]:
    return train_or_read(root, samples, epochs=epochs, seed=seed, progress=Progress(quiet=True))


def test_it_learns_a_toy_language_and_is_read_back(tmp_path) -> None:
    texts = toy_samples(60, seed=1)
    first, seconds = trained(tmp_path / "trained", texts, epochs=30)
    found = [first.detect(text.description) for text in texts]
    places = [[(span.start, span.end, span.category) for span in spans] for spans in found]
    assert places == [[(one.start, one.end, one.category) for one in text.entities()] for text in texts]
    kept = sorted(path.name for path in (tmp_path / "trained").iterdir())
    again, seconds_before = trained(tmp_path / "trained", texts, epochs=30)
    assert seconds == seconds_before
    assert sorted(path.name for path in (tmp_path / "trained").iterdir()) == kept
    assert [again.detect(text.description) for text in texts] == found
    assert again.detect("") == again.detect(" \n\t ") == []


def test_one_epoch_on_thirty_samples_is_the_same_each_time(tmp_path) -> None:
    detectors = [trained(tmp_path / name, toy_samples(30, seed=1))[0] for name in "ab"]
    one, other = ([found.detect(text.description) for text in toy_samples(20, seed=2)] for found in detectors)
    assert one == other
    assert [path.name for path in (tmp_path / "a").iterdir()] == [path.name for path in (tmp_path / "b").iterdir()]


def test_what_was_trained_otherwise_is_trained_anew(tmp_path) -> None:
    trained(tmp_path, toy_samples(5, seed=1))
    trained(tmp_path, toy_samples(5, seed=2))
    trained(tmp_path, toy_samples(5, seed=1), epochs=2)
    trained(tmp_path, toy_samples(5, seed=1), seed=4)
    assert len(list(tmp_path.iterdir())) == 4


def test_an_interrupted_training_leaves_nothing_that_counts(tmp_path, monkeypatch) -> None:
    from clinaudit.audit.pii.benchmark.systems import bilstm_crf

    def stop(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bilstm_crf, "train_bilstm_crf", stop)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path, toy_samples(5, seed=1))
    assert all(path.name.startswith(".") for path in tmp_path.iterdir())
    assert trained(tmp_path, toy_samples(5, seed=1))[0].name == "bilstm_crf"


TEXT = "Ann Bell, 67kg, paid $5,200 on 2024-03-01."


def test_tokens_are_words_and_single_signs() -> None:
    tokens = split_tokens("Ann_B 67kg\n$5,2")
    assert [token.text for token in tokens] == ["Ann", "_", "B", "67kg", "$", "5", ",", "2"]
    assert all("Ann_B 67kg\n$5,2"[token.start : token.end] == token.text for token in tokens)


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
    assert [token.text for token, tag in zip(tokens, tags, strict=True) if tag != "O"] == ["67kg"]


def test_a_tag_inside_without_a_beginning_begins_an_entity() -> None:
    tokens = split_tokens("one two three")
    found = spans_of_tags(tokens, ["I-age", "I-city", "I-city"])
    assert [(span.start, span.end, span.category) for span in found] == [(0, 3, "age"), (4, 13, "city")]
