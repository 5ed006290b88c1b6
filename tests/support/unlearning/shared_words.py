"""Similarity without a model of sentences, which can be counted by hand: shared words of all words."""

from collections.abc import Sequence


class SharedWords:
    """Stands for an embedder."""

    name = "shared words"

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        words = ([set(text.lower().split()) for text in pair] for pair in pairs)
        return [len(one & other) / max(1, len(one | other)) for one, other in words]
