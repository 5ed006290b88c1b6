"""Which of a patient's notes a served model is shown."""

from collections.abc import Collection, Sequence
from typing import Final

#: Characters of notes in one question: some 25,000 tokens.
MOST_NOTE_CHARS: Final = 100_000


def notes_to_send(texts: Sequence[str], *, facts: Collection[str] = ()) -> list[str]:
    """Return as many of a patient's notes as there is room for, one at least, in their order.

    Those that hold one of some facts come first, then the latest; a note that is longer by itself is cut at its end.
    """
    latest_first = range(len(texts) - 1, -1, -1)
    holding = [place for place in latest_first if any(fact in texts[place] for fact in facts)]
    sent: dict[int, str] = {}
    room = MOST_NOTE_CHARS
    for place in dict.fromkeys((*holding, *latest_first)):
        if sent and len(texts[place]) > room:
            break
        sent[place] = texts[place][:MOST_NOTE_CHARS]
        room -= len(sent[place])
    return [sent[place] for place in sorted(sent)]
