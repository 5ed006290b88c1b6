"""Work in shards, in this process or by the workers of a Ray cluster: the one module that imports ray.

A shard function is a module's function. It depends on nothing but its two arguments, and gives the same result wherever
it runs.

Owns the connection, the checks on each node before any PHI goes there, and the workers: actors that are given one shard
at a time. A shard whose worker died is done again by another worker. This module decides that, not Ray, so that a node
that never comes back blocks nothing. Knows nothing of what a shard function does.
"""

import logging
import math
import os
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from clinaudit.audit.runtime.cluster.ray_security import (
    SWITCHES,
    NodeReport,
    own_versions,
    report_node,
    require_answer,
    require_secure_settings,
    require_tls,
)
from clinaudit.audit.runtime.console.streams import quiet_stderr
from clinaudit.audit.runtime.run.processes import open_processes
from clinaudit.errors import ClinauditError, IncompleteError, UnsafeError, UsageError

Shared = TypeVar("Shared")
Shard = TypeVar("Shard")
Result = TypeVar("Result")


class ShardRunner(Protocol):
    """Runs a function over shards."""

    #: Whether it works on this machine, in what this process has in memory.
    is_here: bool

    def map(
        self,
        function: Callable[[Shared, Shard], Result],
        shared: Shared,
        shards: Iterable[Shard],
        *,
        cpus: int = 1,
        gpu: bool = False,
    ) -> Iterator[tuple[int, Result]]:
        """Yield each shard's index and `function(shared, shard)`, as they finish, in any order.

        A shard is taken when a worker is free, so that few are in memory at a time. A worker has `cpus` processors and,
        with `gpu`, one GPU where the cluster has any.
        """
        ...


class LocalRunner:
    """Runs shards in processes of this machine (None: one per core).

    The first runs in this process: what it loads and compiles the others then have.
    """

    is_here = True

    def __init__(self, processes: int | None = None) -> None:
        self._processes = processes

    def map(
        self,
        function: Callable[[Shared, Shard], Result],
        shared: Shared,
        shards: Iterable[Shard],
        *,
        cpus: int = 1,  # noqa: ARG002 (this process has what it has)
        gpu: bool = False,  # noqa: ARG002
    ) -> Iterator[tuple[int, Result]]:
        """Yield each shard's index and result, in order."""
        rest = iter(shards)
        for first in islice(rest, 1):
            yield 0, function(shared, first)
        for second in islice(rest, 1):
            with open_processes(shared, self._processes) as pool:
                yield from enumerate(pool.map(function, chain([second], rest)), start=1)


ALL_CORES: Final = LocalRunner()


def in_order(found: Iterable[tuple[int, Result]]) -> Iterator[Result]:
    """Yield the results of a map in the order of their shards; those that come early wait."""
    waiting: dict[int, Result] = {}
    place = 0
    for index, result in found:
        waiting[index] = result
        while place in waiting:
            yield waiting.pop(place)
            place += 1


#: A shard during which so many workers died is not tried again: it kills them.
MAX_ATTEMPTS = 4
#: Without a result for so long, check that the cluster still answers.
_NEWS_S = 5.0
_PROBE_S = 120
_DIED = object()
_DRIVER_SWITCHES = {
    **SWITCHES,
    # Ray's C++ core writes to stderr before it has a log file. It also ends the process once the head is gone; it must
    # do so later than we notice it ourselves, since its exit status would read as a verdict.
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",
}


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failure of a shard function: one of our errors, or the place of a bug."""

    error: ClinauditError | None
    place: str


class _Worker:
    """A worker process, one shard at a time."""

    def __init__(self) -> None:
        self._shared: Any = None

    def report(self) -> NodeReport:
        return report_node()

    def run(self, function: Callable[[Any, Any], Any], shard: Any, *shared: Any) -> Any:
        # What all shards share comes with the first: a node is not given it before it has reported.
        if shared:
            (self._shared,) = shared
        # Nothing is raised here: Ray would write the traceback, which may quote PHI, to its logs.
        try:
            return function(self._shared, shard)
        except ClinauditError as error:
            return _Failure(error, "")
        except Exception as error:  # noqa: BLE001
            place = traceback.extract_tb(error.__traceback__)[-1]
            return _Failure(None, f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}")


@dataclass(slots=True)
class _Job:
    """A shard under way."""

    index: int
    shard: Any
    attempts: int = 0


@contextmanager
def open_runner(ray_address: str | None, work: Path, processes: int | None = None) -> Iterator[ShardRunner]:
    """Connect to a Ray cluster, the files of whose node on this machine must lie under `work`.

    Without an address the work is done here, in so many `processes` (None: one per core).

    Raises `UnsafeError` where PHI would not be safe there.
    """
    if ray_address is None:
        yield LocalRunner(processes)
        return
    require_secure_settings(ray_address)
    require_tls(ray_address)
    os.environ.update(_DRIVER_SWITCHES)
    with quiet_stderr():
        import ray

        try:
            context = ray.init(
                address=ray_address, log_to_driver=False, configure_logging=False, logging_level=logging.CRITICAL
            )
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise UnsafeError(
                f"the cluster at {ray_address} lets nobody in with this token, or has no node on this machine "
                f"({type(error).__name__}); give all nodes the same token and start one here; see docs/performance.md"
            ) from None
    try:
        if context.dashboard_url:
            raise UnsafeError("the cluster's dashboard is on: start it with `clinaudit ray-node`")
        runner = RayRunner(ray, ray_address)
        runner.require_safe_nodes(work)
        yield runner
    finally:
        with quiet_stderr():
            ray.shutdown()


class RayRunner:
    """The cluster's workers."""

    is_here = False

    def __init__(self, ray: Any, address: str) -> None:
        self._ray = ray
        self._address = address
        self._versions = own_versions()

    def require_safe_nodes(self, work: Path) -> None:
        """Check every node's report before anything is sent; raises `UnsafeError`, or `UsageError` for versions."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        probe = self._ray.remote(num_cpus=0, max_retries=0)(report_node)
        own = self._ray.get_runtime_context().get_node_id()
        for node in self._alive():
            if node["NodeID"] == own and not _session(node).is_relative_to(work.resolve()):
                raise UnsafeError(
                    "Ray's files on this machine lie outside the run; start its node with "
                    "`clinaudit ray-node --out RUN`"
                )
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            try:
                report = self._ray.get(probe.options(scheduling_strategy=place).remote(), timeout=_PROBE_S)
            except self._ray.exceptions.RayError as error:
                raise self._lost(type(error).__name__) from None
            self._require_safe(report)

    def map(
        self,
        function: Callable[[Shared, Shard], Result],
        shared: Shared,
        shards: Iterable[Shard],
        *,
        cpus: int = 1,
        gpu: bool = False,
    ) -> Iterator[tuple[int, Result]]:
        """Yield each shard's index and result as they finish; each worker has one shard at a time.

        Raises `IncompleteError` where the cluster is lost, or a shard keeps killing its workers.
        """
        source = (_Job(index, shard) for index, shard in enumerate(shards))
        size, start_worker = self._workers(cpus, gpu=gpu)
        # Shards whose worker died are put here again, and come first.
        waiting = deque(job for _, job in zip(range(size), source, strict=False))
        if not waiting:
            return
        #: Workers that died before they were given a shard.
        never_started = 0
        sent = self._ray.put(shared)
        workers = [start_worker() for _ in waiting]
        idle: list[Any] = []
        given: set[Any] = set()
        #: The job of each worker; None: it reports on its node first, which may have joined since.
        under_way: dict[Any, tuple[Any, _Job | None]] = {worker.report.remote(): (worker, None) for worker in workers}
        try:
            while True:
                while idle and (job := waiting.popleft() if waiting else next(source, None)):
                    worker = idle.pop()
                    shares = () if worker in given else (sent,)
                    given.add(worker)
                    under_way[worker.run.remote(function, job.shard, *shares)] = (worker, job)
                if not waiting and not any(job for _, job in under_way.values()):
                    return
                reference = self._next_finished(list(under_way))
                if reference is None:
                    if not self._room(cpus, gpu=gpu)[0]:
                        raise self._lost("no node is left that could work")
                    continue
                worker, job = under_way.pop(reference)
                answer = self._answer(reference)
                if answer is _DIED:
                    workers.remove(worker)
                    self._ray.kill(worker)
                    if job is not None:
                        waiting.append(self._retried(job))
                    else:
                        never_started += 1
                        if never_started > MAX_ATTEMPTS * size:
                            raise self._lost("its workers end before they begin")
                    workers.append(start_worker())
                    under_way[workers[-1].report.remote()] = (workers[-1], None)
                    continue
                idle.append(worker)
                if job is None:
                    self._require_safe(answer)
                elif isinstance(answer, _Failure):
                    raise answer.error or self._lost(answer.place)
                else:
                    yield job.index, answer
        finally:
            for worker in workers:
                self._ray.kill(worker)

    def _workers(self, cpus: int, *, gpu: bool) -> tuple[int, Callable[[], Any]]:
        """Return how many workers the cluster has room for, and a function that starts one."""
        room, cpus, gpus = self._room(cpus, gpu=gpu)
        if not room:
            raise UsageError(
                f"no node of the cluster gives {cpus} processors; start one with --num-cpus {cpus} or more"
            )
        worker = self._ray.remote(num_cpus=cpus, num_gpus=int(gpus), max_restarts=0, max_task_retries=0)(_Worker)
        return room, worker.remote

    def _room(self, cpus: int, *, gpu: bool) -> tuple[int, int, bool]:
        """Return how many workers there is room for, the processors of each, and whether each has a GPU."""
        resources = [node["Resources"] for node in self._alive()]
        gpus = gpu and any(held.get("GPU", 0) >= 1 for held in resources)
        # A worker that decodes on a GPU needs hardly any processors.
        cpus = 1 if gpus else cpus
        room = sum(int(min(held.get("CPU", 0) // cpus, held.get("GPU", 0) if gpus else math.inf)) for held in resources)
        return room, cpus, gpus

    def _next_finished(self, references: list[Any]) -> Any:
        """Return a finished reference; None after a while without one, if the cluster still answers."""
        try:
            finished, _ = self._ray.wait(references, num_returns=1, timeout=_NEWS_S)
        except self._ray.exceptions.RayError as error:
            raise self._lost(type(error).__name__) from None
        if finished:
            return finished[0]
        require_answer(self._address)
        return None

    def _answer(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError):
            return _DIED
        except errors.RayError as error:
            raise self._lost(type(error).__name__) from None

    def _retried(self, job: _Job) -> _Job:
        job.attempts += 1
        if job.attempts == MAX_ATTEMPTS:
            raise IncompleteError(
                f"a shard ended {MAX_ATTEMPTS} workers of the cluster, for want of memory perhaps; what was done is "
                "kept; mend it and run the same command again, or without --ray-address"
            )
        return job

    def _require_safe(self, report: NodeReport) -> None:
        if report.problems:
            raise UnsafeError(f"a node of the cluster is not safe for PHI: {'; '.join(report.problems)}")
        differing = sorted(
            name
            for name in self._versions.keys() | report.versions.keys()
            if self._versions.get(name) != report.versions.get(name)
        )
        if differing:
            raise UsageError(
                f"a node of the cluster has other versions of {', '.join(differing)} than this machine, so that its "
                "results could differ; install the same there"
            )

    def _alive(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def _lost(self, what: str) -> IncompleteError:
        return IncompleteError(
            f"the work on the cluster at {self._address} stopped ({what}); what was finished is kept; "
            "mend the cluster, then run the same command again, or without --ray-address"
        )


def _session(node: dict[str, Any]) -> Path:
    """Return the directory of a node's session, which holds its sockets."""
    return Path(node["ObjectStoreSocketName"]).parent.parent.resolve()
