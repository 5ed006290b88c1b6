"""Work in shards, in processes of this machine or by the workers of a Ray cluster: the one module that imports ray.

A shard function is a module's function of what all shards share and of its shard, and depends on nothing else: it gives
the same wherever it runs. Results come in the order of the shards, so that they do not depend on who did them. What it
may do with polars, `processes` says.

Owns the connection, the check of each node before any PHI goes there, and the workers: actors that are given one shard
at a time. A shard whose worker died is done again by another. This module decides that, not Ray, which would wait for
the place of the dead worker, be it on a node that never comes back, and was seen to use up all its retries within
seconds of a node's end; nor does Ray keep a task's model on a GPU.
"""

import logging
import os
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from clinaudit.audit.runtime.cluster.ray_security import (
    own_versions,
    prepare_worker,
    require_answer,
    require_safe_node,
    require_secure_settings,
    require_tls,
)
from clinaudit.audit.runtime.console.streams import quiet_stderr
from clinaudit.audit.runtime.run.processes import open_processes
from clinaudit.errors import ClinauditError, IncompleteError, UnsafeError, UsageError

Shared = TypeVar("Shared")
Shard = TypeVar("Shard")
Result = TypeVar("Result")


class LocalRunner:
    """Runs shards in processes of this machine (None: one per core), with what this process has in memory.

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
    ) -> Iterator[Result]:
        """Yield `function(shared, shard)` of each shard, in order; shards are taken when there is room for them."""
        rest = iter(shards)
        for first in islice(rest, 1):
            yield function(shared, first)
        for second in islice(rest, 1):
            with open_processes(shared, self._processes) as pool:
                yield from pool.map(function, chain([second], rest))


ALL_CORES: Final = LocalRunner()
#: A shard during which so many workers died is not tried again: it kills them.
MAX_ATTEMPTS: Final = 4
_DIED: Final = object()
#: Errors of Ray that a dead worker leaves; a result is lost with the node that held it.
_DEATHS: Final = frozenset(
    ("RayActorError", "NodeDiedError", "WorkerCrashedError", "OutOfMemoryError", "ObjectLostError")
)


class _Worker:
    """A worker process, one shard at a time."""

    def hold(self, shared: Any) -> None:
        self._shared = shared

    def run(self, function: Callable[[Any, Any], Any], shard: Any) -> Any:
        # Nothing is raised here: Ray would write the traceback, which may quote PHI, to its logs.
        try:
            return function(self._shared, shard)
        except ClinauditError as error:
            return error
        except Exception as error:  # noqa: BLE001
            place = traceback.extract_tb(error.__traceback__)[-1]
            return _lost(f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}")


def _lost(what: str) -> IncompleteError:
    return IncompleteError(
        f"the work on the cluster stopped ({what}); what was finished is kept; mend the cluster, then run the same "
        "command again, or without --ray-address"
    )


def _prepare(versions: dict[str, str], _: None) -> None:
    """Prepare a worker: what it does before it is given anything of a patient."""
    import ray

    if not ray.get_runtime_context().get_accelerator_ids().get("GPU"):
        # Ray leaves every GPU of the node to a worker that was given none.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    prepare_worker(_session(ray), versions)


def _session(ray: Any) -> Path:
    """Return the directory of this node's session, which holds its sockets."""
    own = ray.get_runtime_context().get_node_id()
    (socket,) = (node["ObjectStoreSocketName"] for node in ray.nodes() if node["NodeID"] == own)
    return Path(socket).parent.parent.resolve()


class RayRunner:
    """The cluster's workers."""

    is_here = False

    def __init__(self, ray: Any, address: str) -> None:
        self._ray = ray
        self._address = address
        self._versions = own_versions()

    def map(
        self,
        function: Callable[[Shared, Shard], Result],
        shared: Shared,
        shards: Iterable[Shard],
        *,
        cpus: int = 1,
        gpu: bool = False,
    ) -> Iterator[Result]:
        """Yield each shard's result, in order; what comes early waits.

        A worker has `cpus` processors and, with `gpu`, one GPU where the cluster has any. Raises `UnsafeError` where a
        node is not safe, and `IncompleteError` where the cluster is lost, or a shard keeps killing its workers.
        """
        # What a worker takes; one that decodes on a GPU needs hardly any processors.
        with_gpu = gpu and any(held.get("GPU", 0) >= 1 for held in self._held())
        taken = {"CPU": 1, "GPU": 1} if with_gpu else {"CPU": cpus, "GPU": 0}
        room = self._room(taken)
        if not room:
            raise UsageError(
                f"no node of the cluster gives {cpus} processors; start one with --num-cpus {cpus} or more"
            )
        source = enumerate(shards)
        #: What is to be done next; first what a worker did that died.
        waiting = deque(islice(source, room))
        early, place = dict[int, Result](), 0
        deaths = Counter[int | None]()
        sent = self._ray.put(shared)
        options = {"num_cpus": taken["CPU"], "num_gpus": taken["GPU"], "max_restarts": 0, "max_task_retries": 0}
        make_worker = self._ray.remote(**options)(_Worker)
        workers: list[Any] = []
        #: The worker of each answer that is awaited, and its shard; None: it is being prepared.
        under_way: dict[Any, tuple[Any, tuple[int, Shard] | None]] = {}

        def start() -> None:
            worker = make_worker.remote()
            workers.append(worker)
            worker.hold.remote(self._versions)
            under_way[worker.run.remote(_prepare, None)] = worker, None

        def end(worker: Any) -> None:
            workers.remove(worker)
            self._ray.kill(worker)

        try:
            for _ in range(len(waiting)):
                start()
            while waiting or any(job is not None for _, job in under_way.values()):
                reference = self._next_finished(list(under_way), taken)
                if reference is None:
                    continue
                worker, job = under_way.pop(reference)
                answer = self._answer(reference)
                if answer is _DIED:
                    end(worker)
                    deaths[job and job[0]] += 1
                    if deaths[None] > MAX_ATTEMPTS * room:
                        raise _lost("its workers end before they begin")
                    if job is not None:
                        if deaths[job[0]] == MAX_ATTEMPTS:
                            raise _lost(f"a shard ended {MAX_ATTEMPTS} workers, for want of memory perhaps")
                        waiting.appendleft(job)
                    start()
                    continue
                if isinstance(answer, ClinauditError):
                    raise answer
                if job is None:
                    # Not before it said that its node is safe, which may have joined just now.
                    worker.hold.remote(sent)
                else:
                    early[job[0]] = answer
                waiting.extend(() if waiting else islice(source, 1))
                if waiting:
                    job = waiting.popleft()
                    under_way[worker.run.remote(function, job[1])] = worker, job
                else:
                    # Its room may be needed for a shard whose node dies.
                    end(worker)
                while place in early:
                    yield early.pop(place)
                    place += 1
        finally:
            for worker in workers:
                self._ray.kill(worker)

    def _held(self) -> list[dict[str, float]]:
        """Return the resources of each node that is alive."""
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _room(self, taken: dict[str, int]) -> int:
        """Return how many workers that each take so much there is room for."""
        asked = [(name, number) for name, number in taken.items() if number]
        return sum(min(int(held.get(name, 0) // number) for name, number in asked) for held in self._held())

    def _next_finished(self, references: list[Any], taken: dict[str, int]) -> Any:
        """Return a finished reference; None after a while without one, if the cluster still answers and has room."""
        try:
            finished, _ = self._ray.wait(references, num_returns=1, timeout=5.0)
        except self._ray.exceptions.RayError as error:
            raise _lost(type(error).__name__) from None
        if finished:
            return finished[0]
        require_answer(self._address)
        if not self._room(taken):
            raise _lost("no node is left that could work")
        return None

    def _answer(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            if {kind.__name__ for kind in type(error).mro()} & _DEATHS:
                return _DIED
            raise _lost(type(error).__name__) from None


#: What runs a function over shards.
ShardRunner: TypeAlias = LocalRunner | RayRunner


@contextmanager
def open_runner(ray_address: str | None, processes: int | None = None) -> Iterator[ShardRunner]:
    """Connect to a Ray cluster; without an address work is done here, in so many `processes` (None: one per core).

    Raises `UnsafeError` where PHI would not be safe there.
    """
    if ray_address is None:
        yield LocalRunner(processes)
        return
    require_secure_settings(ray_address)
    require_tls(ray_address)
    # Ray's C++ core writes to stderr before it has a log file. It also ends the process once the head is gone; it must
    # do so later than we notice it ourselves, since its exit status would read as a verdict.
    os.environ.update({"RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_gcs_rpc_server_reconnect_timeout_s": "600"})
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
            raise UnsafeError("the cluster's dashboard is on; start its head with --include-dashboard=false")
        require_safe_node(_session(ray))
        yield RayRunner(ray, ray_address)
    finally:
        with quiet_stderr():
            ray.shutdown()
