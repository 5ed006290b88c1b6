"""BiLSTM-CRF, the paper's traditional baseline (PII-Bench, 4.1; Huang et al. 2015, arXiv 1508.01991).

Words, their shapes and their endings are embedded, read by an LSTM in both directions, and tagged with one of the seven
types by a conditional random field, as in the paper. Which category of the type it is, which the paper's row does not
tell, a linear layer beside it says: a field over all categories would take an hour where this takes minutes. Adam at
1e-3, batches of 32 and 50 passes as the paper has it; the sizes of the layers are ours, for it names none.

Owns the split of a text into tokens, the tags that are learned (B-, I- and O), the network and its training.
Loads torch: imported lazily.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn
from torchcrf import CRF  # type: ignore[import-untyped]

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories

NAME = "bilstm_crf"
#: PII-Bench, 4.1.
_LEARNING_RATE = 1e-3
_BATCH = 32
#: [choice] The paper names no sizes; these are small, for two CPU cores.
_WORD_SIZE, _SHAPE_SIZE, _ENDING_SIZE, _HIDDEN = 64, 16, 24, 64
_DROPOUT = 0.5
#: A word of one text alone is read as unknown, so that the network learns what to do with words it never saw.
_LEAST_COUNT = 2
_PADDING, _UNKNOWN = 0, 1
_ENDING_CHARS = 3
#: Longer texts are read in parts, so that memory stays small; they are cut between tokens.
_MOST_TOKENS = 400
#: A token is a run of letters and digits, or one other sign: entities begin and end between tokens.
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class Token:
    """Characters `start` to `end` (half-open) of a text."""

    text: str
    start: int
    end: int


def split_tokens(text: str) -> list[Token]:
    """Return the tokens of a text in order; white space is no token."""
    return [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]


def tag_tokens(tokens: Sequence[Token], spans: Sequence[EntitySpan]) -> list[str]:
    """Return each token's tag: `B-category` at an entity's first token, `I-category` at the others, else `O`.

    A token that an entity holds in part is the entity's.
    """
    tags = [OUTSIDE] * len(tokens)
    waiting = iter(sorted(spans))
    span = next(waiting, None)
    begun = False
    for number, token in enumerate(tokens):
        while span is not None and span.end <= token.start:
            span, begun = next(waiting, None), False
        if span is not None and token.end > span.start:
            tags[number] = f"{'I' if begun else 'B'}-{span.category}"
            begun = True
    return tags


def spans_of_tags(tokens: Sequence[Token], tags: Sequence[str]) -> Iterator[EntitySpan]:
    """Yield the entities that tags tell; an `I-` that follows no entity of its category begins one."""
    category, start, end = "", 0, 0
    for token, tag in zip(tokens, tags, strict=True):
        mark, _, named = tag.partition("-")
        if mark == "I" and named == category:
            end = token.end
            continue
        if category:
            yield EntitySpan(start, end, category, NAME)
        category, start, end = named, token.start, token.end
    if category:
        yield EntitySpan(start, end, category, NAME)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the network knows by number: words, shapes, endings and tags."""

    words: dict[str, int]
    shapes: dict[str, int]
    endings: dict[str, int]
    #: B-, I- and O of the types.
    tags: list[str]
    categories: list[str]


class _Network(nn.Module):
    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.word = nn.Embedding(len(vocabulary.words) + 2, _WORD_SIZE, padding_idx=_PADDING)
        self.shape = nn.Embedding(len(vocabulary.shapes) + 2, _SHAPE_SIZE, padding_idx=_PADDING)
        self.ending = nn.Embedding(len(vocabulary.endings) + 2, _ENDING_SIZE, padding_idx=_PADDING)
        self.dropout = nn.Dropout(_DROPOUT)
        self.lstm = nn.LSTM(_WORD_SIZE + _SHAPE_SIZE + _ENDING_SIZE, _HIDDEN, batch_first=True, bidirectional=True)
        self.emission = nn.Linear(2 * _HIDDEN, len(vocabulary.tags))
        self.category = nn.Linear(2 * _HIDDEN, len(vocabulary.categories))
        self.crf = CRF(len(vocabulary.tags), batch_first=True)

    def scores(self, features: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of tags and of categories: batch x tokens x each; `features` is batch x tokens x 3."""
        embedded = torch.cat(
            [self.word(features[..., 0]), self.shape(features[..., 1]), self.ending(features[..., 2])], dim=-1
        )
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(embedded), lengths, batch_first=True, enforce_sorted=False
        )
        read, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        hidden = self.dropout(read)
        return self.emission(hidden), self.category(hidden)


class BilstmCrf:
    """Finds the categories that it was trained on."""

    name = NAME

    def __init__(self, network: _Network, vocabulary: Vocabulary) -> None:
        self._network = network.eval()
        self._vocabulary = vocabulary

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        tokens = split_tokens(text)
        spans: list[EntitySpan] = []
        with torch.inference_mode():
            for part in _cut(tokens, _MOST_TOKENS):
                features = torch.tensor([_features(part, self._vocabulary)])
                tag_scores, category_scores = self._network.scores(features, torch.tensor([len(part)]))
                (best,) = self._network.crf.decode(tag_scores, mask=torch.ones(1, len(part), dtype=torch.bool))
                tags = [self._vocabulary.tags[number] for number in best]
                found = spans_of_tags(part, tags)
                spans += [self._with_category(span, part, category_scores[0]) for span in found]
        return spans

    def _with_category(self, span: EntitySpan, tokens: Sequence[Token], scores: torch.Tensor) -> EntitySpan:
        """Return a span of a type with the type's category that scores best over its tokens."""
        inside = [place for place, token in enumerate(tokens) if span.start <= token.start < span.end]
        summed = scores[inside].sum(dim=0).tolist()
        pairs = zip(summed, self._vocabulary.categories, strict=True)
        _, best = max((score, name) for score, name in pairs if categories()[name].type == span.category)
        return span._replace(category=best)


def train_bilstm_crf(samples: Sequence[Sample], *, epochs: int, seed: int, advance: Callable[[int], None]) -> BilstmCrf:
    """Return a trained tagger; `advance` is called for each text learned from. Equal texts and seed, equal weights."""
    tokens = [split_tokens(sample.description) for sample in samples]
    marked = [
        tag_tokens(split, list(_apart(sample.gold_spans()))) for split, sample in zip(tokens, samples, strict=True)
    ]
    named = [[tag.partition("-")[2] for tag in tagged] for tagged in marked]
    tags = [[_of_type(tag) for tag in tagged] for tagged in marked]
    vocabulary = _learn_vocabulary(tokens, tags, named)
    examples = [part for row in zip(tokens, tags, named, strict=True) for part in _parts(*row, vocabulary)]
    order = random.Random(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _Network(vocabulary).train()
        optimizer = torch.optim.Adam(network.parameters(), lr=_LEARNING_RATE)
        for _ in range(epochs):
            order.shuffle(examples)
            # Texts of about equal length stand in one batch: less padding. The batches come in random order.
            batches = list(_cut(sorted(examples, key=lambda example: len(example[1])), _BATCH))
            order.shuffle(batches)
            for batch in batches:
                optimizer.zero_grad()
                _loss(network, batch).backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(network.parameters(), 5.0)
                optimizer.step()
                advance(len(batch))
    return BilstmCrf(network, vocabulary)


def _apart(spans: Sequence[EntitySpan]) -> Iterator[EntitySpan]:
    end = 0
    for span in spans:
        if span.start >= end:
            end = span.end
            yield span


def _of_type(tag: str) -> str:
    mark, _, category = tag.partition("-")
    return f"{mark}-{categories()[category].type}" if category else tag


Item = TypeVar("Item")
#: Each token's features, tag, and category (that of no entity is not learned).
_Example = tuple[list[list[int]], list[int], list[int]]
#: What `cross_entropy` leaves out.
_NO_CATEGORY = -100


def _loss(network: _Network, batch: Sequence[_Example]) -> torch.Tensor:
    lengths = torch.tensor([len(tags) for _, tags, _ in batch])
    longest = int(lengths.max())
    features = torch.full((len(batch), longest, 3), _PADDING)
    tags = torch.zeros((len(batch), longest), dtype=torch.long)
    named = torch.full((len(batch), longest), _NO_CATEGORY)
    for row, (found, tagged, names) in enumerate(batch):
        features[row, : len(tagged)] = torch.tensor(found)
        tags[row, : len(tagged)] = torch.tensor(tagged)
        named[row, : len(names)] = torch.tensor(names)
    mask = torch.arange(longest)[None, :] < lengths[:, None]
    tag_scores, category_scores = network.scores(features, lengths)
    loss: torch.Tensor = -network.crf(tag_scores, tags, mask=mask, reduction="mean")
    if (named != _NO_CATEGORY).any():
        loss = loss + nn.functional.cross_entropy(category_scores.flatten(0, 1), named.flatten())
    return loss


def _learn_vocabulary(
    tokens: Sequence[Sequence[Token]], tags: Sequence[Sequence[str]], named: Sequence[Sequence[str]]
) -> Vocabulary:
    words = Counter(token.text.casefold() for split in tokens for token in split)
    return Vocabulary(
        words=_number(word for word, count in words.items() if count >= _LEAST_COUNT),
        shapes=_number(_shape(token.text) for split in tokens for token in split),
        endings=_number(word[-_ENDING_CHARS:] for word, count in words.items() if count >= _LEAST_COUNT),
        tags=[OUTSIDE, *sorted({tag for tagged in tags for tag in tagged} - {OUTSIDE})],
        categories=sorted({name for row in named for name in row} - {""}),
    )


def _number(names: Iterator[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(set(names)), start=_UNKNOWN + 1)}


def _parts(
    tokens: Sequence[Token], tags: Sequence[str], named: Sequence[str], vocabulary: Vocabulary
) -> Iterator[_Example]:
    number_of = {tag: number for number, tag in enumerate(vocabulary.tags)}
    category_of = {name: number for number, name in enumerate(vocabulary.categories)}
    for part, tagged, names in zip(*(_cut(row, _MOST_TOKENS) for row in (tokens, tags, named)), strict=True):
        yield (
            _features(part, vocabulary),
            [number_of[tag] for tag in tagged],
            [category_of.get(name, _NO_CATEGORY) for name in names],
        )


def _cut(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _features(tokens: Sequence[Token], vocabulary: Vocabulary) -> list[list[int]]:
    """Return the numbers of each token's word, shape and ending."""
    found = []
    for token in tokens:
        word = token.text.casefold()
        found.append(
            [
                vocabulary.words.get(word, _UNKNOWN),
                vocabulary.shapes.get(_shape(token.text), _UNKNOWN),
                vocabulary.endings.get(word[-_ENDING_CHARS:], _UNKNOWN),
            ]
        )
    return found


def _shape(token: str) -> str:
    """Return a token's shape: `Xxxxx` is `Xx`, `2024` is `dddd`, `AB12` is `Xd`; digits are counted up to six."""
    if token.isdigit():
        return "d" * min(len(token), 6)
    signs = ["d" if sign.isdigit() else "X" if sign.isupper() else "x" if sign.isalpha() else sign for sign in token]
    return "".join(sign for place, sign in enumerate(signs) if place == 0 or signs[place - 1] != sign)[:8]
