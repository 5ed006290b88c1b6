"""Lists of words that stand as text files beside this module.

Owns their reading: a number sign begins a comment. Knows nothing of what a list is for.
"""

from functools import cache
from importlib.resources import files


@cache
def read_lines(name: str) -> tuple[str, ...]:
    """Return the entries of a list that has one on each line, in its order."""
    lines = files(__package__).joinpath(f"{name}.txt").read_text("utf-8").splitlines()
    entries = (line.partition("#")[0].strip() for line in lines)
    return tuple(entry for entry in entries if entry)


@cache
def read_words(name: str) -> frozenset[str]:
    """Return the words of a list that has several on each line."""
    return frozenset(word for line in read_lines(name) for word in line.split())
