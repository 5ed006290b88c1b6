"""For how many patients a prompt can be made, and how many of the prompts fit the notes; and the file of all prompts.

Counts are over patients one at a time: a corpus may not fit in memory. Prompts are as they are before scrubbing.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clinaudit.audit.runtime.run.durable_files import write_lines_atomically
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import Prior, PromptWriter
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.templates.markup import said_in
from clinaudit.templates.profile import NoteProfile

#: Characters a token, for estimates without a tokenizer: about what English clinical text has.
CHARACTERS_A_TOKEN = 4
#: No limit: the model's context is not known here.
_UNLIMITED = 1 << 40
_COLUMNS = ("patient_id", "tier", "form", "prompt", "excluded", "reason")


@dataclass(frozen=True, slots=True)
class PromptCount:
    """The prompts of one tier; counts of patients."""

    tier: str
    #: By arm: `made`; `missed`, since the template does not find what it places in the note; `fitting`, where the
    #: prompt is the beginning of the patient's own note, and of background facts the table's row is the patient's;
    #: `own`, where no other patient is asked with the same text; `earlier`, of an earlier note than the latest.
    arms: Mapping[Split, Counter[str]]
    #: Patients without a prompt, by reason.
    excluded: Mapping[str, int]
    #: By what else the note's beginning shows, and by the header of a section that it runs on into, since the template
    #: does not know it.
    also_shows: Mapping[str, int]
    runs_on: Mapping[str, int]


def unlimited_writer(profile: NoteProfile, *, max_new_tokens: int, panel: Sequence[Diagnosis] = ()) -> PromptWriter:
    """Return a writer of prompts without a model: tokens are estimated, and no prompt is too long.

    Without a `panel` it writes unscrubbed prompts alone.
    """
    return PromptWriter(
        profile,
        panel=panel,
        count_prompt_tokens=len,
        count_note_tokens=estimate_tokens,
        max_new_tokens=max_new_tokens,
        context_length=_UNLIMITED,
    )


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, rounded up."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def write_unscrubbed(facts: PatientFacts, probed: ProbedTiers, writer: PromptWriter) -> Iterator[Prior]:
    """Yield the one prior of a patient for each tier, as text."""
    for tier in probed.tiers:
        yield from writer.write(facts, tier, (), probed.written_forms[0])


def count_prompts(
    patients: Iterable[PatientFacts],
    probed: ProbedTiers,
    writer: PromptWriter,
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> list[PromptCount]:
    """Return the counts for each tier; calls `advance(1)` for each patient."""
    rows: dict[str, list[tuple[int, Prior]]] = {}
    for known in patients:
        for prior in write_unscrubbed(known, probed, writer):
            # Without its text: all of them may not fit in memory.
            rows.setdefault(prior.tier, []).append((hash(said_in(prior.prompt)), replace(prior, prompt="")))
        advance(1)
    return [_count_tier(tier, asked) for tier, asked in rows.items()]


def _count_tier(tier: str, asked: Sequence[tuple[int, Prior]]) -> PromptCount:
    made = [(text, prior) for text, prior in asked if not prior.excluded]
    left_out = [prior for _, prior in asked if prior.excluded]
    holders = Counter(text for text, _ in made)
    arms: dict[Split, Counter[str]] = {"train": Counter(), "nontrain": Counter()}
    for text, prior in made:
        fits, is_own = prior.unbroken is True, holders[text] == 1
        arms[prior.arm].update(made=1, fitting=fits, own=is_own, earlier=prior.earlier_note)
    for prior in left_out:
        arms[prior.arm].update(missed=prior.unbroken is False)
    return PromptCount(
        tier,
        arms,
        excluded=dict(sorted(Counter(prior.reason or "" for prior in left_out).items())),
        also_shows=Counter(shown for _, prior in made for shown in prior.also_shows),
        runs_on=Counter(header for _, prior in made for header in prior.runs_on),
    )


def write_prompts(path: Path, facts: Mapping[str, PatientFacts], probed: ProbedTiers, writer: PromptWriter) -> None:
    """Write a line for each patient and tier into a file of mode 0600, which is there whole or not at all."""
    priors = (prior for known in facts.values() for prior in write_unscrubbed(known, probed, writer))
    # Characters beyond ASCII are escaped: a lone surrogate of a note breaks no reader.
    rows = ({name: getattr(prior, name) for name in _COLUMNS} | {"fits": prior.unbroken} for prior in priors)
    write_lines_atomically(path, map(json.dumps, rows))
