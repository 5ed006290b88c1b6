"""What `clinaudit mask` leaves of the identifiers that stand in a text, by category, and what it withholds.

    python benchmarks/mask_misses.py [--rules-only | --name-model DIR] [--each 100] [--seed 0]
        [--notes FILE.jsonl [--tags FILE]]

Masks samples of the benchmark, `--each` of every subset and domain, without their questions, so that nothing may stay.
Their people are invented and in no corpus: what is found is found by rules and a small language model (or the one in a
directory, or with `--rules-only` none). An identifier is left where its whole text stands, at the borders of tokens, in
a text that was given out. With `--notes` (rows `{"text"}`) it says besides how many of these are withheld, and of what
kind their tags are; nothing is known of who is named in them. `--tags` is a new file for what was masked, in its
context: to be read by eye, and PHI where the notes are.
"""

import argparse
import json
import resource
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from clinaudit.audit.pii.benchmark.generator.generation import draw_samples
from clinaudit.audit.pii.benchmark.sample import Domain, Sample, Subset, occurrences
from clinaudit.audit.pii.masking import PromptMasker, filter_detectors
from clinaudit.audit.pii.masking.not_masked import CLINICAL_CONTENT
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.estimates.intervals import beta_bounds

KINDS = ("direct identifiers", "quasi-identifiers", "clinical content (never masked)")


def kind_of(category: str) -> str:
    """Return which of `KINDS` a category is."""
    if category in CLINICAL_CONTENT:
        return KINDS[2]
    return KINDS[0] if categories()[category].direct else KINDS[1]


def without(text: str, hidden: Sequence[tuple[int, int]]) -> str:
    """Return a text with a mark in place of each hidden stretch."""
    ends = [0, *(end for _, end in hidden)]
    starts = [*(start for start, _ in hidden), len(text)]
    return "<>".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def share(part: int, whole: int) -> str:
    """Return a share with its 95% interval, each entity taken as one trial."""
    if not whole:
        return "none there"
    low, high = beta_bounds(part, whole)
    return f"{part:,} of {whole:,}, {part / whole:.1%} ({low:.1%} to {high:.1%})"


def measure_samples(masker: PromptMasker, samples: Sequence[Sample], domain: Domain) -> None:
    """Print what is left of the entities of a domain's samples."""
    left, known, withheld = Counter[str](), Counter[str](), 0
    by_sample: list[bool] = []
    wrong = chars = 0
    for sample in samples:
        hidden = [(one.start, one.end) for one in masker.hidden_in(sample.description)]
        if hidden == [(0, len(sample.description))]:
            withheld += 1
            continue
        entities = {(entity.text, entity.category) for subject in sample.subjects for entity in subject.entities}
        masked_text = without(sample.description, hidden)
        named = {
            place
            for text, _ in entities
            for start, end in occurrences(text, sample.description)
            for place in range(start, end)
        }
        wrong += sum(place not in named for start, end in hidden for place in range(start, end))
        chars += len(sample.description)
        direct_left = False
        for text, category in entities:
            known[category] += 1
            if occurrences(text, masked_text):
                left[category] += 1
                direct_left |= categories()[category].direct
        by_sample.append(direct_left)
    print(f"\n{domain}: {len(samples):,} samples, {withheld:,} withheld")
    print(f"  with a direct identifier left: {share(sum(by_sample), len(by_sample))}")
    print(f"  wrongly tagged characters: {1000 * wrong / max(1, chars):.1f} a thousand")
    for kind in KINDS:
        of_kind = [one for one in known if kind_of(one) == kind]
        total = share(sum(left[one] for one in of_kind), sum(known[one] for one in of_kind))
        print(f"  {kind} left: {total}")
        for category in sorted(of_kind, key=lambda one: (-left[one] / known[one], one)):
            if left[category]:
                print(f"    {category}: {share(left[category], known[category])}")
        if kept := sorted(category for category in of_kind if not left[category]):
            print(f"    none left of: {', '.join(kept)}")


def measure_notes(masker: PromptMasker, texts: Sequence[str], tags: Path | None) -> None:
    """Print how many notes are withheld, and what kinds of tags they have."""
    done = [masker.mask((text, None)) for text in texts]
    withheld = sum(one.text is None for one in done)
    print(f"\nnotes: {len(texts):,}, {sum(map(len, texts)):,} characters; {withheld:,} withheld")
    rows, kinds = [], Counter[str]()
    for number, (text, one) in enumerate(zip(texts, done, strict=True)):
        for hidden in masker.hidden_in(text) if one.text is not None else ():
            kinds[hidden.category or "tag"] += 1
            context = (text[max(0, hidden.start - 50) : hidden.start], text[hidden.start : hidden.end])
            rows.append((number, hidden.category, *context, text[hidden.end : hidden.end + 50]))
    print(f"  tags: {len(rows):,}: {', '.join(f'{kind} {count}' for kind, count in kinds.most_common())}")
    if tags is not None:
        with tags.open("x", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    """Read the options, and measure."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rules-only", action="store_true")
    options.add_argument("--name-model", type=Path)
    options.add_argument("--each", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--notes", type=Path)
    options.add_argument("--tags", type=Path)
    given = options.parse_args()
    masker = PromptMasker(filter_detectors(rules_only=given.rules_only, name_model=given.name_model))
    begin, chars = time.process_time(), 0
    for domain in get_args(Domain):
        samples = draw_samples(each=given.each, subsets=get_args(Subset), domains=[domain], seed=given.seed)
        chars += sum(len(sample.description) for sample in samples)
        measure_samples(masker, samples, domain)
    seconds = time.process_time() - begin
    print(f"\n{chars:,} characters of samples; {chars / seconds:,.0f} a second of processor time")
    if given.notes is not None:
        texts = [json.loads(line)["text"] for line in given.notes.read_text(encoding="utf-8").splitlines()]
        measure_notes(masker, texts, given.tags)
    print(f"\n{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MiB")


if __name__ == "__main__":
    main()
