"""Patient specificity K: in how many patients' notes a text stands verbatim (paper 3.2.1; contract, section 4).

Owns the Aho-Corasick scan over the train split (Aho and Corasick 1975, by pyahocorasick). Knows nothing of regions or
generations: it is given texts with line feeds only, and patients with their notes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from clinaudit.templates.sections import normalize_newlines


def count_patients(texts: Collection[str], patients: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return for each text the number of patients of whom at least one note holds it verbatim.

    `texts` hold line feeds only and are not empty; each item of `patients` is one patient's notes. Occurrences never
    cross from one note into the next.
    """
    import ahocorasick

    counts: Counter[str] = Counter(dict.fromkeys(texts, 0))
    if not counts:
        return {}
    automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
    for text in counts:
        automaton.add_word(text, text)
    automaton.make_automaton()
    for notes in patients:
        # `iter`, not `iter_long`: nested and overlapping texts must all be seen.
        held = {text for note in notes for _, text in automaton.iter(normalize_newlines(note))}
        counts.update(held)
    return dict(counts)
