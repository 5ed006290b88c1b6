"""Prompts decoded in shards by the workers of a runner; each worker loads the model once.

Owns the shards, and the check that all workers load the same model. Knows nothing of where outputs are kept.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

from clinaudit.audit.choices import EngineName
from clinaudit.audit.cluster.shards import ShardRunner
from clinaudit.audit.model.audited_model import AuditedModel
from clinaudit.audit.model.engines.memory import EngineOptions
from clinaudit.audit.model.engines.protocol import Engine, GenerationOutput, GenerationRequest
from clinaudit.audit.model.engines.selection import choose_threads, make_engine
from clinaudit.audit.model.files import inspect_adapted, inspect_model
from clinaudit.errors import BadInputError

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
