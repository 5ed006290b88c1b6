"""For how many patients a prompt can be made, and how many prompts fit the notes; and the file of the prompts."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.runtime.run.durable_files import write_lines_atomically
from clinaudit.audit.runtime.served.question import estimate_tokens
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.prompts import Prior, PromptWriter
from clinaudit.templates.markup import said_in
from clinaudit.templates.profile import NoteProfile

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
    excluded: Counter[str]
    #: By what else the note's beginning shows, and by the header of a section that it runs on into, since the template
    #: does not know it.
    also_shows: Counter[str]
    runs_on: Counter[str]


def unlimited_writer(profile: NoteProfile, *, max_new_tokens: int, panel: Sequence[Diagnosis] = ()) -> PromptWriter:
    """Return a writer of prompts without a model: tokens are estimated, and no prompt is too long."""
    return PromptWriter(
        profile,
        panel=panel,
        count_prompt_tokens=len,
        count_note_tokens=estimate_tokens,
        max_new_tokens=max_new_tokens,
        context_length=_UNLIMITED,
    )


def count_prompts(priors: Iterable[Prior]) -> list[PromptCount]:
    """Return the counts for each tier; of several prompts of a patient, scrubbed for diagnoses, all must fit."""
    tiers: dict[str, dict[str, list[Prior]]] = {}
    for prior in priors:
        tiers.setdefault(prior.tier, {}).setdefault(prior.patient_id, []).append(prior)
    return [_count_tier(tier, list(asked.values())) for tier, asked in tiers.items()]


def _count_tier(tier: str, patients: Sequence[Sequence[Prior]]) -> PromptCount:
    arms: dict[Split, Counter[str]] = {"train": Counter(), "nontrain": Counter()}
    count = PromptCount(tier, arms, Counter(), Counter(), Counter())
    said = [{said_in(prior.prompt) for prior in of if not prior.excluded} for of in patients]
    holders = Counter(text for texts in said for text in texts)
    for of, texts in zip(patients, said, strict=True):
        made = [prior for prior in of if not prior.excluded]
        if not made:
            arms[of[0].arm].update(missed=any(prior.unbroken is False for prior in of))
            count.excluded[min(prior.reason or "" for prior in of)] += 1
            continue
        arms[made[0].arm].update(
            made=1,
            fitting=all(prior.unbroken is True for prior in made),
            own=all(holders[text] == 1 for text in texts),
            earlier=any(prior.earlier_note for prior in made),
        )
        count.also_shows.update({shown for prior in made for shown in prior.also_shows})
        count.runs_on.update({header for prior in made for header in prior.runs_on})
    return count


def write_prompts(path: Path, priors: Iterable[Prior]) -> None:
    """Write a line for each prompt into a file of mode 0600, which is there whole or not at all."""
    # Characters beyond ASCII are escaped: a lone surrogate of a note breaks no reader.
    rows = ({name: getattr(prior, name) for name in _COLUMNS} | {"fits": prior.unbroken} for prior in priors)
    write_lines_atomically(path, map(json.dumps, rows))
