"""The reference engine: multiple string matching by an Aho-Corasick automaton (1975; pyahocorasick) over the corpus.

Right for small sets of texts and for short texts. The automaton takes 17 kB for each text of some hundred characters.
It reads 18 MB a second for 10,000 of them, less for more (docs/performance.md). Knows nothing of regions or models.
"""

from collections import Counter
from collections.abc import Callable, Collection

from clinaudit.priors.corpus.packed_notes import PackedNotes


def count_patients_by_automaton(
    texts: Collection[str], notes: PackedNotes, *, advance: Callable[[int], None]
) -> Counter[str]:
    """Return for each text K, the number of patients with at least one note that holds it; calls `advance(bytes)`."""
    import ahocorasick

    counts: Counter[str] = Counter(dict.fromkeys(texts, 0))
    automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
    for text in counts:
        automaton.add_word(text, text)
    automaton.make_automaton()
    for patient in range(notes.patient_count):
        held: set[str] = set()
        for index in range(notes.first_notes[patient], notes.first_notes[patient + 1]):
            # `iter`, not `iter_long`: nested and overlapping texts must all be seen.
            held.update(text for _, text in automaton.iter(notes.note(index)))
            advance(int(notes.ends[index] - notes.starts[index]))
        counts.update(held)
    return counts
