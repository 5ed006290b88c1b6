"""Audit coverage of a corpus (`clinaudit check`): what an audit would cover, found without running a model.

Owns the counts of tiers, and of cohorts before cohort matching. Without a tokenizer, token budgets are not checked.
"""

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.description import SplitDescription, describe_corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.facts import PatientFacts, read_facts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.tiers import TIERS
from clinaudit.templates.profile import load_profile

#: No limit on tokens: `check` has no tokenizer.
_UNLIMITED = 1 << 40


@dataclass(frozen=True, slots=True)
class Coverage:
    """What an audit of a corpus would cover, before cohort matching."""

    #: What `clinaudit check` prints.
    text: str
    #: Patients for whom a prompt can be made, by tier: in the training data, and outside it.
    tiers: Mapping[str, tuple[int, int]]
    #: The smallest of the four groups that a diagnosis' cohort is matched from; None without a table of diagnoses.
    smallest_groups: Mapping[str, int] | None


def describe_coverage(corpus_path: Path, *, template: Path | None) -> Coverage:
    """Return what an audit would cover; raises as `read_corpus` and `load_profile` do."""
    profile = load_profile(template)
    corpus = read_corpus(corpus_path, scratch=Path(tempfile.gettempdir()))
    facts = read_facts(corpus, profile, corpus.patients)
    writer = PromptWriter(
        profile,
        panel=load_panel(),
        count_prompt_tokens=len,
        count_note_tokens=len,
        max_new_tokens=_UNLIMITED,
        context_length=_UNLIMITED * 2,
    )
    tiers, tier_lines = _count_tiers(facts, writer)
    groups = _count_groups(corpus)
    lines = [*_describe(corpus), "", *tier_lines, "", *_describe_cohorts(corpus, groups)]
    smallest = None if groups is None else {diagnosis: min(cells.values()) for diagnosis, cells in groups.items()}
    return Coverage(text="\n".join(lines) + "\n", tiers=tiers, smallest_groups=smallest)


def _describe(corpus: Corpus) -> list[str]:
    about = describe_corpus(corpus)

    def split(name: str, counts: SplitDescription) -> str:
        return (
            f"  {name:9} {counts.patients:6} patients, {counts.notes} notes ({counts.dated_notes} dated); "
            f"in the tables: age {counts.known_age}, sex {counts.known_sex}, name {counts.known_name}, "
            f"dob {counts.known_dob}"
        )

    lines = ["The corpus is valid.", split("train", about.train), split("nontrain", about.nontrain)]
    if about.shared_texts:
        lines.append(
            f"  SHARED: {about.shared_texts} note texts stand in both splits "
            f"({about.patients_with_shared_texts} patients); "
            "what the model repeats of them cannot be attributed to training"
        )
    if about.shared_identities:
        lines.append(
            f"  SHARED: {about.shared_identities} pairs of name and date of birth stand in both splits "
            f"({about.patients_with_shared_identities} patients); these may be the same people"
        )
    lines += [f"  note: {warning}" for warning in about.warnings]
    return lines


def _count_tiers(
    facts: Mapping[str, PatientFacts], writer: PromptWriter
) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Return the patients of each tier in both splits, and the lines that say so, with who is left out and why."""
    counts: dict[str, tuple[int, int]] = {}
    lines = ["Patients for whom a prompt can be made, by tier (train / nontrain):"]
    for tier in TIERS:
        made: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for known in facts.values():
            rows = writer.write(known, tier, (), "opening" if tier.is_fragment else "text")
            made[known.arm] += any(not row.excluded for row in rows)
            reasons.update({row.reason or "" for row in rows if row.excluded})
        counts[tier.id] = made["train"], made["nontrain"]
        why = "".join(f"; {count} excluded: {reason}" for reason, count in sorted(reasons.items()))
        lines.append(f"  {tier.id:17} {made['train']:6} / {made['nontrain']}{why}")
    return counts, lines


def _count_groups(corpus: Corpus) -> dict[str, dict[tuple[Split, bool], int]] | None:
    """Return the patients by diagnosis, split and whether they have it; None without a table of diagnoses."""
    labels = corpus.diagnosis_labels
    if labels is None:
        return None
    cells: list[tuple[Split, bool]] = [("train", True), ("train", False), ("nontrain", True), ("nontrain", False)]
    groups = {diagnosis.id: dict.fromkeys(cells, 0) for diagnosis in load_panel()}
    for (patient_id, name), present in labels.items():
        if name in groups and patient_id in corpus.patients:
            groups[name][corpus.patients[patient_id].split, present] += 1
    return groups


def _describe_cohorts(corpus: Corpus, groups: Mapping[str, Mapping[tuple[Split, bool], int]] | None) -> list[str]:
    if groups is None:
        return ["No diagnoses table: an audit would read diagnoses off the notes with the lexicon."]
    lines = ["Patients by diagnosis, before matching (positive / negative):"]
    unknown = sum(name not in groups for _, name in corpus.diagnosis_labels or {})
    if unknown:
        lines.append(
            f"  note: {unknown} rows name a diagnosis that is not in the built-in panel (ids are lower-case, such as "
            "hiv); without an entry in the configuration an audit will not use them"
        )
    for diagnosis, counts in groups.items():
        lines.append(
            f"  {diagnosis:11} train {counts['train', True]} / {counts['train', False]}, "
            f"nontrain {counts['nontrain', True]} / {counts['nontrain', False]}"
        )
    return lines
