"""Drift: some prompts are decoded alone, too (docs/methods.md, section 1).

In a batch sums are taken in another order than alone, and greedy decoding may then take another token. The check
changes no generation.
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.run.store import RunStore, StoredGeneration
from clinaudit.priors.prompts import Prior
from clinaudit.reports.schema.results import DriftEvidence
from clinaudit.reports.tally.leaves import Inside, Setting
from clinaudit.reports.tally.tally import DriftTally

#: Prompts that are decoded alone; fewer where fewer are planned.
DRIFT_PROMPTS: Final = 32
#: Tokens of each that are decoded alone at most: alone, each costs as much as one for a whole batch. On the demo
#: the check takes 3% of generation's processor time (5.5% with 64).
DRIFT_TOKENS: Final = 48
_ALONE: Final = "alone "


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """Which prompts may be decoded alone, and the seed of the choice.

    Prompts of patients in no figure are none of them: what is published of drift must not depend on these.
    """

    priors: Sequence[Prior]
    seed: int


def choose_alone(requests: Iterable[GenerationRequest], *, seed: int, done: Collection[str]) -> list[GenerationRequest]:
    """Return the requests to decode alone, but for those `done`: a seeded choice of all, whatever is kept already."""
    by_key = {request.key: request for request in requests}
    chosen = random.Random(seed).sample(sorted(by_key), min(DRIFT_PROMPTS, len(by_key)))
    return [
        replace(by_key[key], key=_ALONE + key, max_new_tokens=min(DRIFT_TOKENS, by_key[key].max_new_tokens))
        for key in chosen
        if key not in done
    ]


def keep_if_alone(output: GenerationOutput, store: RunStore) -> bool:
    """Keep an output that was decoded alone; return whether it was."""
    if not output.key.startswith(_ALONE):
        return False
    alone = StoredGeneration(output.token_ids, output.finish_reason, output.text)
    store.add_alone(output.key.removeprefix(_ALONE), alone)
    return True


def measure_drift(store: RunStore, patient_of: Mapping[str, str]) -> DriftTally | None:
    """Compare what was decoded alone with what was kept; `patient_of` has each generation's patient.

    None where nothing was decoded alone.
    """
    kept, alone = store.generations(), store.alone()
    keys = sorted(alone.keys() & kept.keys() & patient_of.keys())
    if not keys:
        return None
    shares = {key: equal_leading_share(kept[key], alone[key].token_ids) for key in keys}
    differing = [key for key in keys if shares[key] < 1]
    return DriftTally(
        # Which cells are empty is public; the number of prompts is a setting, so that no class may stand beside it.
        differing="some" if differing else "none",
        tokens=Setting(DRIFT_TOKENS),
        evidence=Inside(
            DriftEvidence(
                prompts=len(keys),
                patients=len({patient_of[key] for key in keys}),
                differing=len(differing),
                differing_patients=len({patient_of[key] for key in differing}),
                equal_leading_share=sum(shares.values()) / len(keys),
            )
        ),
    )


def equal_leading_share(kept: StoredGeneration, alone: Sequence[int]) -> float:
    """Return the share of tokens before the first that differs, of the longer of the two; 1 where both are empty."""
    first, other = kept.token_ids[:DRIFT_TOKENS], tuple(alone)
    if kept.finish_reason == "repetition":
        # What the repetition guard cut off is not there to be compared.
        other = other[: len(first)]
    longer = max(len(first), len(other))
    equal = next(
        (at for at, (a, b) in enumerate(zip(first, other, strict=False)) if a != b), min(len(first), len(other))
    )
    return equal / longer if longer else 1.0
