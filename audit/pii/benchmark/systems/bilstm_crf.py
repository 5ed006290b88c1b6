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
from itertools import groupby
from typing import Final, TypeVar

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torchcrf import CRF  # type: ignore[import-untyped]

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.taxonomy import EntitySpan, categories

NAME: Final = "bilstm_crf"
#: PII-Bench, 4.1.
_LEARNING_RATE: Final = 1e-3
_BATCH: Final = 32
#: [choice] The paper names no sizes; these are small, for two CPU cores. Of words, shapes and endings; of the LSTM.
_SIZES: Final = (64, 16, 24)
_HIDDEN: Final = 64
_DROPOUT: Final = 0.5
#: A word of one text alone is read as unknown, so that the network learns what to do with words it never saw.
_LEAST_COUNT: Final = 2
_PADDING: Final = 0
_UNKNOWN: Final = 1
#: Longer texts are read in parts, so that memory stays small; they are cut between tokens.
_MOST_TOKENS: Final = 400
#: A token is a run of letters and digits, or one other sign: entities begin and end between tokens.
_TOKEN: Final = re.compile(r"[^\W_]+|[^\w\s]|_")
_OUTSIDE: Final = "O"


#: Where a token stands in its text, and what it is.
Token = re.Match[str]


def split_tokens(text: str) -> list[Token]:
    """Return the tokens of a text in order; white space is no token."""
    return list(_TOKEN.finditer(text))


def tag_tokens(tokens: Sequence[Token], spans: Sequence[EntitySpan]) -> list[str]:
    """Return each token's tag: `B-` or `I-category`, else `O`; a token that an entity holds in part is the entity's."""
    tags: list[str] = []
    waiting = sorted(spans, reverse=True)
    mark = "B"
    for token in tokens:
        while waiting and waiting[-1].end <= token.start():
            waiting.pop()
            mark = "B"
        is_inside = bool(waiting) and token.end() > waiting[-1].start
        tags.append(f"{mark}-{waiting[-1].category}" if is_inside else _OUTSIDE)
        mark = "I" if is_inside else mark
    return tags


def spans_of_tags(tokens: Sequence[Token], tags: Sequence[str]) -> Iterator[EntitySpan]:
    """Yield the entities that tags tell; an `I-` that follows no entity of its category begins one."""
    category, start, end = "", 0, 0
    for token, tag in zip(tokens, tags, strict=True):
        mark, _, named = tag.partition("-")
        if mark == "I" and named == category:
            end = token.end()
            continue
        if category:
            yield EntitySpan(start, end, category, NAME)
        category, start, end = named, token.start(), token.end()
    if category:
        yield EntitySpan(start, end, category, NAME)


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """What the network knows by number."""

    #: Of words, shapes and endings; 0 is padding, 1 what training did not hold.
    features: tuple[dict[str, int], ...]
    #: B-, I- and O of the types.
    tags: list[str]
    categories: list[str]

    def numbers(self, tokens: Sequence[Token]) -> torch.Tensor:
        """Return each token's word, shape and ending: tokens x 3."""
        rows = [
            [of.get(one, _UNKNOWN) for of, one in zip(self.features, _features(token), strict=True)] for token in tokens
        ]
        return torch.tensor(rows)


def _features(token: Token) -> tuple[str, str, str]:
    """Return a token's word, its shape (`Xxxxx` is `Xx`, `2024` `dddd`, `AB12` `Xd`) and its last three letters."""
    text, word = token[0], token[0].casefold()
    signs = ["d" if sign.isdigit() else "X" if sign.isupper() else "x" if sign.isalpha() else sign for sign in text]
    shape = "d" * min(len(text), 6) if text.isdigit() else "".join(sign for sign, _ in groupby(signs))[:8]
    return word, shape, word[-3:]


class _Network(nn.Module):
    def __init__(self, vocabulary: _Vocabulary) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(
            nn.Embedding(len(known) + 2, size, padding_idx=_PADDING)
            for known, size in zip(vocabulary.features, _SIZES, strict=True)
        )
        self.dropout = nn.Dropout(_DROPOUT)
        self.lstm = nn.LSTM(sum(_SIZES), _HIDDEN, batch_first=True, bidirectional=True)
        self.emission = nn.Linear(2 * _HIDDEN, len(vocabulary.tags))
        self.category = nn.Linear(2 * _HIDDEN, len(vocabulary.categories))
        self.crf = CRF(len(vocabulary.tags), batch_first=True)

    def scores(self, features: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of tags and of categories: batch x tokens x each; `features` is batch x tokens x 3."""
        embedded = torch.cat([one(features[..., at]) for at, one in enumerate(self.embeddings)], dim=-1)
        packed = pack_padded_sequence(self.dropout(embedded), lengths, batch_first=True, enforce_sorted=False)
        read, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        hidden = self.dropout(read)
        return self.emission(hidden), self.category(hidden)


class BilstmCrf:
    """Finds the categories that it was trained on."""

    name = NAME

    def __init__(self, network: _Network, vocabulary: _Vocabulary) -> None:
        self._network = network.eval()
        self._vocabulary = vocabulary

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        spans: list[EntitySpan] = []
        with torch.inference_mode():
            for part in _cut(split_tokens(text), _MOST_TOKENS):
                features = self._vocabulary.numbers(part)[None]
                tag_scores, category_scores = self._network.scores(features, torch.tensor([len(part)]))
                (best,) = self._network.crf.decode(tag_scores, mask=torch.ones(1, len(part), dtype=torch.bool))
                for span in spans_of_tags(part, [self._vocabulary.tags[number] for number in best]):
                    # Of a type the category that scores best over the tokens.
                    inside = [place for place, token in enumerate(part) if span.start <= token.start() < span.end]
                    pairs = zip(
                        category_scores[0][inside].sum(dim=0).tolist(), self._vocabulary.categories, strict=True
                    )
                    _, named = max(pair for pair in pairs if categories()[pair[1]].type == span.category)
                    spans.append(span._replace(category=named))
        return spans


Item = TypeVar("Item")
#: Each token's features, tag, and category (that of no entity is not learned).
_Example = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
#: What `cross_entropy` leaves out.
_NO_CATEGORY: Final = -100


def train_bilstm_crf(samples: Sequence[Sample], *, epochs: int, seed: int, advance: Callable[[int], None]) -> BilstmCrf:
    """Return a trained tagger; `advance` is called for each text learned from. Equal texts and seed, equal weights."""
    tokens = [split_tokens(sample.description) for sample in samples]
    tags = [tag_tokens(split, sample.gold_spans()) for split, sample in zip(tokens, samples, strict=True)]
    vocabulary = _learn_vocabulary(tokens, tags)
    examples = [part for row in zip(tokens, tags, strict=True) for part in _examples(*row, vocabulary)]
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


def _of_type(tag: str) -> str:
    """Return the tag of a category as that of its type."""
    return f"{tag[0]}-{categories()[tag[2:]].type}" if tag != _OUTSIDE else tag


def _learn_vocabulary(tokens: Sequence[Sequence[Token]], tags: Sequence[Sequence[str]]) -> _Vocabulary:
    seen = [_features(token) for split in tokens for token in split]
    words = Counter(word for word, _, _ in seen)
    known = [one for one in seen if words[one[0]] >= _LEAST_COUNT]
    names = ({word for word, _, _ in known}, {shape for _, shape, _ in seen}, {ending for _, _, ending in known})
    learned = {tag for tagged in tags for tag in tagged} - {_OUTSIDE}
    return _Vocabulary(
        features=tuple({name: at for at, name in enumerate(sorted(of), start=_UNKNOWN + 1)} for of in names),
        tags=[_OUTSIDE, *sorted(set(map(_of_type, learned)))],
        categories=sorted({tag[2:] for tag in learned}),
    )


def _examples(tokens: Sequence[Token], tags: Sequence[str], vocabulary: _Vocabulary) -> Iterator[_Example]:
    number_of = {tag: number for number, tag in enumerate(vocabulary.tags)}
    category_of = {name: number for number, name in enumerate(vocabulary.categories)}
    for part, tagged in zip(_cut(tokens, _MOST_TOKENS), _cut(tags, _MOST_TOKENS), strict=True):
        named = [category_of.get(tag[2:], _NO_CATEGORY) for tag in tagged]
        yield vocabulary.numbers(part), torch.tensor([number_of[_of_type(tag)] for tag in tagged]), torch.tensor(named)


def _loss(network: _Network, batch: Sequence[_Example]) -> torch.Tensor:
    features, tags, named = map(list, zip(*batch, strict=True))
    lengths = torch.tensor([len(tagged) for tagged in tags])
    tag_scores, category_scores = network.scores(pad_sequence(features, batch_first=True), lengths)
    mask = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
    loss: torch.Tensor = -network.crf(tag_scores, pad_sequence(tags, batch_first=True), mask=mask, reduction="mean")
    learned = pad_sequence(named, batch_first=True, padding_value=_NO_CATEGORY)
    if (learned != _NO_CATEGORY).any():
        loss = loss + nn.functional.cross_entropy(category_scores.flatten(0, 1), learned.flatten())
    return loss


def _cut(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))
