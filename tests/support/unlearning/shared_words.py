"""Similarity without a model of sentences, which can be counted by hand: shared words of all words."""


class SharedWords:
    """Stands for an embedder."""

    name = "shared words"

    def similarity(self, first: str, second: str) -> float:
        one, other = set(first.lower().split()), set(second.lower().split())
        return len(one & other) / max(1, len(one | other))
