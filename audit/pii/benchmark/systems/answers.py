"""What each system says of a sample in the three tasks; which entity is whose, where a system does not say it itself.

The rule. A text is split into turns: a line that opens with a speaker (`Name:`, `Nurse:` or `[PER_1]:`) begins one, and
so does a post of a thread (`[Member A]`, `Member A asks:`); an empty line ends one. An entity belongs to the nearest
name that stands before it in its turn; where none does, to the turn's speaker; where the turn has none, to the name met
last, or else to the next one. A name that follows "I'm", "my name is", "me" or "it's" is the speaker's own. Two names
are one person's where one holds all words of the other. A text without names and speakers is about one subject.

Relevance is decided by rules, and task 3 is task 1 less task 2.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from pydantic import Field

from clinaudit.audit.pii.benchmark.sample import PredictedEntity, PredictedSubject, Prediction, Sample, less
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.relevance import needed_spans
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, PiiType, categories
from clinaudit.reports.schema.pii_bench import BenchTask

_RE: Final = Patterns(__name__)

_LABEL: Final = r"[^\W\d_][\w.'’-]*(?:[ \t]+[\w.'’()-]+){0,4}"
#: The head of a line: a post of a thread, a speaker, or one after the other.
_HEAD: Final = re.compile(
    rf"^[ \t>*-]*(?:(?P<post>\[[^\]\n]{{1,40}}\]|(?i:post of |reply of )?(?i:member|user|guest)[ \t]+\w+"
    rf"(?:[ \t]+[a-z]+)?)(?P<mark>[ \t]*:)?(?=\s)[ \t]*)?(?:(?P<speaker>{_LABEL})[ \t]*:(?=\s))?",
    re.M,
)
_OWN_NAME_CHARS: Final = 48
#: Of these categories an entity is a person's name. A clinician's is nobody's but the clinician's own.
_NAMES: Final = frozenset({"full_name", "nickname", "social_handle", "patient_name", "relative_name", "clinician_name"})


@dataclass(eq=False, slots=True)
class _Person:
    #: Words of each name; of a speaker without a name, the label.
    names: list[frozenset[str]] = field(default_factory=list)
    spans: list[EntitySpan] = field(default_factory=list)


def assign_subjects(text: str, spans: Sequence[EntitySpan]) -> list[list[EntitySpan]]:
    """Return the spans of each subject, subjects by their first span."""
    ordered = sorted(spans)
    heads = _heads(text, [span for span in ordered if span.category in _NAMES])
    people: list[_Person] = []
    waiting: list[EntitySpan] = []
    last: _Person | None = None

    def called(words: frozenset[str]) -> _Person:
        known = (one for one in people if any(words <= name or name <= words for name in one.names))
        if (found := next(known, None)) is None:
            people.append(found := _Person())
        found.names += [words] if words not in found.names else []
        return found

    for start, end in pairwise(
        sorted({0, len(text), *heads, *(match.end() for match in _RE.turn_ends.finditer(text))})
    ):
        speaker = None
        if start in heads:
            label = heads[start]
            speaker = last = None if label is None else called(label)
        for span in (span for span in ordered if start <= span.start < end):
            if span.category in _NAMES:
                last = called(_words(text[span.start : span.end]))
                before = text[max(start, span.start - _OWN_NAME_CHARS) : span.start]
                if speaker is not None and _RE.own_name.search(before):
                    if speaker is not last:
                        # Two who turn out to be one.
                        speaker.names += last.names
                        speaker.spans += last.spans
                        people.remove(last)
                    last = speaker
                last.spans += waiting
                waiting = []
            (waiting if last is None else last.spans).append(span)
    if waiting:
        # No name follows: the last person's, or everything is about one subject.
        (people[-1] if people else called(frozenset())).spans.extend(waiting)
    return sorted((sorted(person.spans) for person in people if person.spans), key=lambda found: found[0])


def _heads(text: str, named: Sequence[EntitySpan]) -> dict[int, frozenset[str] | None]:
    """Return who speaks from where on, by the words of the label; None where a post begins that names no speaker.

    A label is a speaker where a name was found in it, or where it opens two lines or more: `Address:` opens one.
    """
    found = [match for match in _HEAD.finditer(text) if match["post"] or match["speaker"]]
    times = Counter(match["speaker"] for match in found)
    heads: dict[int, frozenset[str] | None] = {}
    post = ""
    for match in found:
        label = match["speaker"]
        if match["post"]:
            poster = _RE.poster.search(match["post"])
            if poster is None and match["mark"]:
                # `[PER_1]:` is a speaker and no thread.
                label = match["post"]
                times[label] = 2
            else:
                post = match["post"] if poster is None else poster[1]
                heads[match.start()] = None
        if label is None:
            continue
        begin, end = match.span("speaker") if match["speaker"] else match.span("post")
        if any(begin <= span.start < end for span in named):
            heads[match.start()] = _words(label)
        elif times[label] > 1:
            # The same part may be played by others in another post.
            heads[match.start()] = frozenset({f"{post}: {label}"})
    return heads


def _words(name: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _RE.word.findall(name)) or frozenset({name.casefold()})


Advance = Callable[[int], None]


class SampleAnswers(Prediction):
    """A system's answers on one sample, with a model's own words."""

    raw: dict[BenchTask, str] = Field(default_factory=dict)
    #: Why an answer could not be used, in fixed words.
    reasons: dict[BenchTask, str] = Field(default_factory=dict)


def answer_by_detector(
    system: str, detector: Detector, samples: Iterable[Sample], advance: Advance
) -> Iterator[SampleAnswers]:
    """Yield the answers of a system that gives spans: subjects and relevance are decided by rules."""
    for sample in samples:
        text, spans = sample.description, detector.detect(sample.description)
        subjects = [
            _subject((text[span.start : span.end], categories()[span.category].type) for span in found)
            for found in assign_subjects(text, spans)
        ]
        yield _answers(system, sample, subjects, spans, query=sample.query)
        advance(1)


def answer_by_gold(
    system: str, samples: Iterable[Sample], advance: Advance, *, mask_all: bool = False
) -> Iterator[SampleAnswers]:
    """Yield the answers of an oracle that is given every entity; with `mask_all` it takes none to be needed."""
    for sample in samples:
        subjects = [_subject((one.text, one.type) for one in subject.entities) for subject in sample.subjects]
        yield _answers(system, sample, subjects, sample.gold_spans(), query=None if mask_all else sample.query)
        advance(1)


def _subject(entities: Iterable[tuple[str, PiiType]]) -> PredictedSubject:
    return PredictedSubject(entities=[PredictedEntity(text=text, type=kind) for text, kind in dict.fromkeys(entities)])


def _answers(
    system: str, sample: Sample, subjects: list[PredictedSubject], spans: Sequence[EntitySpan], *, query: str | None
) -> SampleAnswers:
    text = sample.description
    related = needed_spans(text, spans, query)
    needed = list(dict.fromkeys(text[span.start : span.end] for span in related))
    masked = less((text[span.start : span.end] for span in spans), needed)
    return SampleAnswers(sample=sample.id, system=system, subjects=subjects, query_related=needed, masked=masked)
