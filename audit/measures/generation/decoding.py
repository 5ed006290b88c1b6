"""How prompts are decoded: in shards by the workers of a runner, and some of them alone, too, to measure drift.

Each worker loads the model once; all must load the same one. In a batch sums are taken in another order than alone, and
greedy decoding may then take another token (docs/methods.md, section 1): the drift check changes no generation.
"""

import random
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

from clinaudit.audit.runtime.choices import EngineName
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.model.audited_model import AuditedModel, choose_threads, make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import Engine, GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.model.files import inspect_adapted, inspect_model
from clinaudit.audit.runtime.run.store import RunStore, StoredGeneration
from clinaudit.errors import BadInputError
from clinaudit.priors.prompts import Prior
from clinaudit.reports.schema.results import DriftEvidence
from clinaudit.reports.tally.leaves import Inside, Setting
from clinaudit.reports.tally.tally import DriftTally

#: Requests in a shard: the batch of the engines, so that none of them waits.
_SHARD_REQUESTS = 64
_Decoded = tuple[dict[str, str], GenerationOutput]


@dataclass(frozen=True, slots=True)
class _Loading:
    """What a worker loads; equal records are loaded once."""

    engine: EngineName
    directory: Path
    digest: str
    context_length: int
    #: The threads that this machine would take: results depend on them.
    threads: int
    #: Of an adapter, whose base `directory` is; None without one.
    adapter: Path | None
    options: EngineOptions


def decode_in_shards(
    model: AuditedModel,
    requests: Sequence[GenerationRequest],
    alone: Sequence[GenerationRequest],
    *,
    context_length: int,
    runner: ShardRunner,
) -> Generator[_Decoded]:
    """Yield each output with the identity of the engine that made it, shard by shard; each of `alone` is a shard.

    Raises `BadInputError` where a node lacks the model or has another one.
    """
    if model.files is None:
        raise ValueError("a served model has no files that a worker could load")
    threads = choose_threads(model.files, model.options)
    loading = _Loading(
        model.engine,
        model.files.directory,
        model.digest,
        context_length,
        threads,
        None if model.files.adapter is None else model.files.adapter.directory,
        model.options,
    )
    shards = (tuple(requests[begin : begin + _SHARD_REQUESTS]) for begin in range(0, len(requests), _SHARD_REQUESTS))
    singles = ((request,) for request in alone)
    for _, (identity, outputs) in runner.map(_decode_shard, loading, chain(shards, singles), cpus=threads, gpu=True):
        for output in outputs:
            yield identity, output


def _decode_shard(
    loading: _Loading, requests: tuple[GenerationRequest, ...]
) -> tuple[dict[str, str], list[GenerationOutput]]:
    """Decode some requests, in a worker; return its engine's identity and the outputs."""
    engine = _load(loading)
    return engine.identity(), list(engine.generate(requests))


@lru_cache(maxsize=1)
def _load(loading: _Loading) -> Engine:
    places = [loading.directory, *([] if loading.adapter is None else [loading.adapter])]
    for place in places:
        if not place.is_dir():
            raise BadInputError(f"a node of the cluster has no model at {place}; put it at the same path on every node")
    directory, adapter = loading.directory, loading.adapter
    files = inspect_model(directory) if adapter is None else inspect_adapted(adapter, base=directory)
    if files.digest != loading.digest:
        raise BadInputError(
            f"a node of the cluster has another model at {loading.directory}; put the audited one there"
        )
    return make_engine(
        loading.engine, files, context_length=loading.context_length, threads=loading.threads, options=loading.options
    )


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
