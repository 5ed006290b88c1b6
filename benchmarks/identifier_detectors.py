"""How fast each detector of identifiers reads, how precise its names are, and whose names it misses.

    python benchmarks/identifier_detectors.py CORPUS [--people FILE] [--notes N]
    python benchmarks/identifier_detectors.py --repeated

Characters a second of processor time, over the first notes of a corpus. With a list of the people whom these notes
name, one a line: the share of name hits that are one of them. Then the share of names found by where they come from:
names of several locales, planted into sentences in which something stands beside them. With --repeated alone: how long
the filter takes to look for all values of one record once more, as the record grows; linear where the ratio is 2.
"""

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from faker import Faker

from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.detectors.presidio import PresidioDetector
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector
from clinaudit.audit.pii.detectors.word_lists import is_allowed
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.pii.masking.repeated import FoldedText, find_values
from clinaudit.audit.pii.masking.tags import Hidden
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.templates.profile import load_profile

LOCALES = (
    *(
        "en_US",
        "en_GB",
        "en_IN",
        "es_MX",
        "fr_FR",
        "de_DE",
        "it_IT",
        "pl_PL",
        "nl_NL",
        "sv_SE",
        "no_NO",
        "tr_TR",
        "pt_BR",
    ),
    *(
        "vi_VN",
        "ro_RO",
        "hr_HR",
        "cs_CZ",
        "id_ID",
        "fil_PH",
        "yo_NG",
        "ig_NG",
        "ha_NG",
        "zu_ZA",
        "tw_GH",
        "az_AZ",
        "hu_HU",
    ),
)
SENTENCES = (
    *(
        "Patient: {}\nDOB: 03/14/1950",
        "Seen today by {}, MD, for cough.",
        "{} is a 50-year-old woman.",
        "Her wife {} called.",
    ),
    *("Electronically signed by {}", "Emergency contact: {}\n", "Dear {},\nyour results", "I spoke with {} about it."),
)


def main() -> None:
    """Print what is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--repeated", action="store_true")
    parser.add_argument("--people", type=Path)
    parser.add_argument("--notes", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.repeated:
        _measure_repeated()
        return
    if arguments.corpus is None:
        parser.error("give a corpus, or --repeated")
    corpus = read_corpus(arguments.corpus)
    texts = list(_texts(corpus, arguments.notes))
    names = {item.id for item in categories().values() if item.type == "PER"}
    people = set(arguments.people.read_text(encoding="utf-8").splitlines()) if arguments.people else None
    started = time.process_time()
    gazetteer = Gazetteer(corpus, load_profile(), Progress(quiet=True))
    print(f"gazetteer of {corpus.note_count} notes: {time.process_time() - started:.1f} s to build")
    direct = [item.id for item in categories().values() if item.hipaa is not None]
    by_title: dict[str, Detector] = {
        "rules, all categories": RuleDetector(),
        "rules, HIPAA's categories": RuleDetector(kinds=direct),
        "gazetteer": gazetteer,
        "presidio": PresidioDetector(),
        "rules + spaCy": SpacyDetector(),
    }
    for title, detector in by_title.items():
        _measure(title, detector, texts, names, people)
    for title in ("rules, all categories", "rules + spaCy"):
        by_origin = sorted((_recall(by_title[title], locale), locale) for locale in LOCALES)
        worst = ", ".join(f"{locale} {recall:.3f}" for recall, locale in by_origin[:4])
        mean = sum(recall for recall, _ in by_origin) / len(by_origin)
        print(f"{title}: names found, worst origins {worst}; mean of {len(LOCALES)} origins {mean:.3f}")


def _texts(corpus: Corpus, most: int) -> Iterator[str]:
    notes = [note for patient_id in corpus.patients for note in corpus.notes_of(patient_id)]
    yield from (note.text for note in notes[:most])


def _measure(title: str, detector: Detector, texts: Sequence[str], names: set[str], people: set[str] | None) -> None:
    detector.detect(texts[0] + " 123-45-6780")
    started = time.process_time()
    spans = [detector.detect(text) for text in texts]
    seconds = time.process_time() - started
    hits = [
        text[span.start : span.end]
        for text, found in zip(texts, spans, strict=True)
        for span in found
        if span.category in names
    ]
    line = f"{title}: {sum(map(len, texts)) / seconds:,.0f} characters/s, {len(hits)} hits of names"
    if people is not None and hits:
        right = sum(hit in people for hit in hits)
        terms = sum(hit not in people and any(map(is_allowed, hit.split())) for hit in hits)
        line += f", {right} right ({right / len(hits):.3f}), {terms} eponyms, drugs or devices"
    print(line)


def _measure_repeated() -> None:
    """Print the seconds of the search for masked values in records of 0.25, 0.5 and 1 MB, full of people."""
    before = None
    for size in (250_000, 500_000, 1_000_000):
        text, hidden = _full_record(size)
        values = [(text[one.start : one.end], one) for one in hidden]
        started = time.process_time()
        find_values(FoldedText(text, hidden), values)
        seconds = time.process_time() - started
        ratio = "" if before is None else f", {seconds / before:.1f} times the half"
        print(f"{len(text):,} characters, {len(values):,} values: {seconds:.2f} s{ratio}")
        before = seconds


def _full_record(size: int) -> tuple[str, list[Hidden]]:
    fake = Faker("en_US")
    fake.seed_instance(3)
    text, hidden, length = [], [], 0
    while length < size:
        for written, category in (
            (fake.name(), "patient_name"),
            (", MRN ", None),
            (fake.numerify("########"), "mrn"),
            (", phone ", None),
            (fake.numerify("617-%##-####"), "phone"),
            (" seen for cough, no fever; glucose 110.\n", None),
        ):
            if category is not None:
                hidden.append(Hidden(length, length + len(written), category))
            text.append(written)
            length += len(written)
    return "".join(text), hidden


def _recall(detector: Detector, locale: str) -> float:
    fake = Faker(locale)
    fake.seed_instance(random.Random(locale).randrange(2**31))
    found = 0
    drawn = [f"{fake.first_name()} {fake.last_name()}" for _ in range(40)]
    for name in drawn:
        for sentence in SENTENCES:
            text = sentence.format(name)
            start = text.index(name)
            found += any(span.start <= start and span.end >= start + len(name) for span in detector.detect(text))
    return found / (len(drawn) * len(SENTENCES))


if __name__ == "__main__":
    main()
