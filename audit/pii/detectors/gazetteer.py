"""The detector by the site's own lists: names, birth dates and ids of its patients, its clinicians and practices.

Owns which wordings of a site's names count. They come from the patients table and from where the note template has
them. Near-complete for patients who are known, and blind to everybody else. Knows nothing of whose answer a text is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from clinaudit.audit.pii.detectors.rules import regex
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_name_again, read_words
from clinaudit.audit.pii.taxonomy import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.values.dates_in_text import find_dates
from clinaudit.audit.pii.values.known_values import FoldedWords
from clinaudit.audit.pii.values.normal_form import fold_words, name_parts
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note, Patient
from clinaudit.priors.identity import IdentityReader
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.shown_text import is_tag

#: A first or last name alone counts from this many letters on.
_FEWEST_LETTERS_ALONE: Final = 4
_FEWEST_LETTERS_CUED: Final = 2
#: A word is a name of the site, and no word of its language, where the patients whose notes hold it are at most so many
#: times those who bear it, and some more: relatives, and clinicians of that name.
_HOLDERS_A_BEARER: Final = 2
_MORE_HOLDERS: Final = 2
#: Notes beyond this number teach nothing more about which words are common.
_MOST_NOTES_COUNTED: Final = 20_000
_FEWEST_ID_CHARS: Final = 4
#: Text of notes that a process reads at a time, in characters, and what the last patient has more.
_SHARD_CHARS: Final = 1 << 20
#: For a filter, words before a name with a capital.
_CUES: Final = regex(
    r"(?:${kin}|${close}|re|cc|attn|regarding|contact|client|named?|is|saw|seen?|with|by|of|for|from|told|asked|called|and|rn)"
)


class Gazetteer:
    """Finds names, birth dates and ids of a site's own patients, and names of its clinicians and practices."""

    name = "site's own names"

    def __init__(
        self,
        corpus: Corpus,
        profile: NoteProfile,
        progress: Progress,
        *,
        widely: bool = False,
        runner: ShardRunner = ALL_CORES,
    ) -> None:
        """Read every patient; `widely`, for a filter: a word of a name counts beside any cue."""
        self._widely = widely
        self._terms: dict[str, str] = {}
        #: First and last names that count alone, where the text writes them as names.
        self._alone: dict[str, str] = {}
        #: First and last names that count after a title.
        self._after_title: dict[str, str] = {}
        self._births: set[str] = set()
        #: The most words of a term, by its first word; 0 of a word that begins none and counts after a title.
        self._longest: dict[str, int] = {}
        bearers: dict[str, Counter[str]] = {"patient_name": Counter(), "clinician_name": Counter()}
        people: dict[tuple[str, ...], str] = {}
        patients = [*corpus.patients.values(), *corpus.validation.values()]
        read = ((one, corpus.notes_of(one.patient_id)) for one in patients)
        shards = batches(read, lambda one: sum(len(visit.text) for visit in one[1]), _SHARD_CHARS)
        with progress.stage("reading the site's names", total=len(patients), unit="patients") as advance:
            found = chain.from_iterable(runner.map(read_site_shard, profile, shards))
            for patient, (names, clinicians, births, practices) in zip(patients, found, strict=True):
                for patient_id in (patient.patient_id, *patient.other_ids):
                    if len(patient_id) >= _FEWEST_ID_CHARS:
                        self._add(fold_words(patient_id), "mrn")
                for practice in practices:
                    if " " in practice:
                        self._add(practice, "clinic")
                self._births |= births
                people |= dict.fromkeys(names, "patient_name")
                for parts in clinicians:
                    people.setdefault(parts, "clinician_name")
                bearers["patient_name"].update(set(chain.from_iterable(names)))
                bearers["clinician_name"].update(set(chain.from_iterable(clinicians)))
                advance(1)
        holders = _holders(corpus, {word for parts in people for word in parts})
        for parts, category in people.items():
            for form in _forms(parts):
                self._add(form, category)
            for word in parts if widely else (parts[0], parts[-1]):
                if len(word) >= (_FEWEST_LETTERS_CUED if widely else _FEWEST_LETTERS_ALONE):
                    self._after_title.setdefault(word, category)
                    self._longest.setdefault(word, 0)
                if len(word) < _FEWEST_LETTERS_ALONE or is_allowed(word):
                    continue
                # A clinician's name stands in the notes of every patient whom they see: those are the bearers.
                known = bearers[category][word]
                if holders[word] <= _HOLDERS_A_BEARER * known + _MORE_HOLDERS:
                    self._alone.setdefault(word, category)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        return resolve_overlaps([*self._named(text, FoldedWords(text)), *self._born(text)])

    def _named(self, text: str, words: FoldedWords) -> Iterator[EntitySpan]:
        texts = words.texts
        in_small_letters = text.islower()
        for place in [place for place, word in enumerate(texts) if word in self._longest]:
            word = texts[place]
            start, end = words.start(place), words.end(place)
            for count in range(self._longest[word], 0, -1):
                last = place + count
                category = self._terms.get(" ".join(texts[place:last]))
                if category is not None and last <= len(texts):
                    yield EntitySpan(start, words.end(last - 1), category, self.name)
                    break
            else:
                alone = (
                    word in self._alone
                    and (in_small_letters or text[start].isupper() or is_name_again(text, start, end))
                    # "Smith-Magenis" is a syndrome.
                    and "-" not in (text[start - 1 : start], text[end : end + 1])
                )
                before = texts[place - 1] if place else ""
                if alone or (
                    word in self._after_title
                    and (before in read_words("titles_of_anybody") or self._is_cued(text, word, before, (start, end)))
                ):
                    yield EntitySpan(start, end, self._after_title[word], self.name)
            if self._widely and place + 2 < len(texts) and text[words.start(place + 1)].isupper():
                # "Hope M. Rivers", of whom the tables have no middle name.
                category = self._terms.get(f"{word} {texts[place + 2]}", "")
                if category in ("patient_name", "clinician_name"):
                    yield EntitySpan(start, words.end(place + 2), category, self.name)

    def _is_cued(self, text: str, word: str, before: str, place: tuple[int, int]) -> bool:
        """Whether a word of a name is that name by what stands beside it, though it may be a word as well."""
        start, end = place
        is_after = _CUES.fullmatch(before) is not None and word not in read_words("months_and_days")
        is_cued = is_after or text[end : end + 2] in ("'s", "’s")
        return self._widely and is_cued and text[start].isupper() and is_name_again(text, start, end)

    def _born(self, text: str) -> Iterator[EntitySpan]:
        for found in find_dates(text) if self._births else ():
            if not self._births.isdisjoint(found.readings):
                yield EntitySpan(found.start, found.end, "birth_date", self.name)

    def _add(self, term: str, category: str) -> None:
        if term:
            self._terms.setdefault(term, category)
            first, *_ = words = term.split()
            self._longest[first] = max(self._longest.get(first, 0), len(words))


#: The parts of names.
_Names = set[tuple[str, ...]]


def read_site_shard(
    profile: NoteProfile, shard: list[tuple[Patient, tuple[Note, ...]]]
) -> list[tuple[_Names, _Names, set[str], set[str]]]:
    """Return of each patient the names, the clinicians, birth dates in ISO 8601, and folded practices."""
    reader = IdentityReader(profile)
    return [
        (
            _names(name for one in own for name in one.names),
            _names(name for one in own for name in one.providers),
            {day.isoformat() for one in own for day in one.birth_dates},
            {fold_words(practice) for one in own for practice in one.practices if not is_tag(practice)},
        )
        for own in (reader.read(patient, notes) for patient, notes in shard)
    ]


def _names(written: Iterable[str]) -> _Names:
    """Return the parts of what can be a person's name: two words at least, and no figure among them."""
    names = (name_parts(name) for name in written if not is_tag(name))
    return {parts for parts in names if len(parts) > 1 and not any(character.isdigit() for character in "".join(parts))}


def _forms(parts: tuple[str, ...]) -> set[str]:
    """Return the ways of writing a full name: with and without what stands between, last name first, first initial."""
    first, last, between = parts[0], parts[-1], parts[1:-1]
    initials = tuple(word[0] for word in between)
    given = {(first,), (first, *between), (first, *initials)}
    if len(last) >= _FEWEST_LETTERS_ALONE:
        given |= {(first[0],), (first[0], *initials)}
    # A last name of two words may stand first.
    orders = {(*parts[1:], first), *((*one, last) for one in given), *((last, *one) for one in given)}
    return {" ".join(order) for order in orders}


def _holders(corpus: Corpus, wanted: set[str]) -> Counter[str]:
    """Return for each word the number of patients whose notes hold it, among the first notes of the corpus."""
    holders: Counter[str] = Counter()
    notes = 0
    for patient_id in (*corpus.patients, *corpus.validation):
        held: set[str] = set()
        for note in corpus.notes_of(patient_id):
            held.update(FoldedWords(note.text).texts)
            notes += 1
        holders.update(held & wanted)
        if notes >= _MOST_NOTES_COUNTED:
            break
    return holders
