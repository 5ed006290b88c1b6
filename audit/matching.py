"""Verbatim matching: which generated tokens stand in the patient's own notes (paper 3.2.1; contract, section 4).

Owns n-gram matches, memorized tokens, regions and prompt echo, all in token ids. Knows nothing of text. Windows are
compared as the ids themselves, never as a hash alone, so that no match is false.
"""

from collections.abc import Iterable, Sequence

from clinaudit.templates.spans import Span, merge_overlapping

#: τ of the paper (3.2.1).
DEFAULT_NGRAM = 30

Windows = frozenset[tuple[int, ...]]


def windows_of(sequences: Iterable[Sequence[int]], *, n: int) -> Windows:
    """Return every window of `n` consecutive ids that stands in one of the sequences."""
    return frozenset(
        tuple(sequence[start : start + n]) for sequence in sequences for start in range(len(sequence) - n + 1)
    )


def find_matches(generated: Sequence[int], windows: Windows, *, n: int) -> list[Span]:
    """Return the spans (tokens) of all windows of the generation that are among `windows`, by start."""
    return [
        Span(start, start + n)
        for start in range(len(generated) - n + 1)
        if tuple(generated[start : start + n]) in windows
    ]


def merge_overlapping_matches(matches: Iterable[Span]) -> list[Span]:
    """Merge matches that share at least one token into regions; matches that only touch stay apart."""
    return merge_overlapping(matches)


def covered_tokens(spans: Iterable[Span], *, length: int) -> list[bool]:
    """Return for each of `length` tokens whether one of the spans holds it."""
    covered = [False] * length
    for start, end in spans:
        covered[start:end] = [True] * (end - start)
    return covered
