"""Work in shards, in processes of this machine or by the workers of a Ray cluster: the one module that imports ray.

A shard function is a module's function of what all shards share and of its shard, and depends on nothing else. Results
come in the order of the shards, so that they do not depend on who did them. What it may do with polars, `processes`
says. Each node is checked before any PHI goes there (docs/performance.md, "What is checked").

Workers are actors that are given one shard at a time. A shard whose worker died is done again by another. This module
decides that, not Ray, which would wait for the place of the dead worker, be it on a node that never comes back, and was
seen to use up all its retries within seconds of a node's end; nor does Ray keep a task's model on a GPU.
"""

import importlib.util
import logging
import os
import platform
import resource
import socket
import ssl
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from clinaudit.audit.runtime.console import quiet_stderr
from clinaudit.audit.runtime.run.directory import confine_libraries, library_versions, take_libraries_offline
from clinaudit.audit.runtime.run.processes import open_processes
from clinaudit.errors import ClinauditError, IncompleteError, UnsafeError, UsageError, place_of

#: Ray's own settings, for the driver and each node: with these Ray refuses whoever lacks certificate or token.
SETTINGS: Final = {"RAY_USE_TLS": "1", "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
_TLS_FILES: Final = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")


def require_secure_settings(address: str | None) -> None:
    """Check address (None: no cluster) and environment; `UsageError` and `UnsafeError` for what Ray must have."""
    if address is None:
        return
    _split_address(address)
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--ray-address needs Ray, which is not installed; install clinaudit[ray]")
    missing = _missing_settings()
    if missing:
        raise UnsafeError(f"PHI would travel unprotected: Ray lacks {', '.join(missing)}; see docs/performance.md")


def _missing_settings() -> list[str]:
    missing = [f"{name}={value}" for name, value in SETTINGS.items() if os.environ.get(name) != value]
    return missing + [name for name in _TLS_FILES if not os.environ.get(name)]


def _split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError("--ray-address takes HOST:PORT, where the cluster's head listens")
    return host.strip("[]"), int(port)


def _require_answer(address: str) -> None:
    try:
        socket.create_connection(_split_address(address), timeout=10).close()
    except OSError:
        raise IncompleteError(
            f"no Ray cluster answers at {address}; what was finished is kept; "
            "start the cluster, then run the same command again"
        ) from None


def require_tls(address: str) -> None:
    """Make a TLS handshake with the head, or raise `UnsafeError`: Ray itself would try again for minutes."""
    _require_answer(address)
    try:
        context = ssl.create_default_context(cafile=os.environ["RAY_TLS_CA_CERT"])
        context.load_cert_chain(os.environ["RAY_TLS_SERVER_CERT"], os.environ["RAY_TLS_SERVER_KEY"])
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(_split_address(address), timeout=10) as plain:
            context.wrap_socket(plain, server_hostname=_split_address(address)[0]).close()
    except OSError as error:  # ssl.SSLError is one
        raise UnsafeError(
            f"the cluster at {address} does not prove itself by TLS ({type(error).__name__}); it needs a certificate "
            "of RAY_TLS_CA_CERT that names this address; see docs/performance.md"
        ) from None


def _own_versions() -> dict[str, str]:
    # They must be equal on all nodes for equal results.
    return {"clinaudit": version("clinaudit"), "python": platform.python_version(), **library_versions()}


def require_safe_node(session: Path) -> None:
    """Raise `UnsafeError` where this node lacks a setting, or others may read what Ray writes below `session`."""
    problems = [f"it lacks {name}" for name in _missing_settings()]
    # Ray opens its own folders to all; one above them must be closed.
    if all(folder.stat().st_mode & 0o077 for folder in (session, *session.parents)):
        problems.append("others may read its files (give `ray start` a --temp-dir in a directory of mode 700)")
    if problems:
        raise UnsafeError(f"a node of the cluster is not safe for PHI: {'; '.join(problems)}; see docs/performance.md")


Shared = TypeVar("Shared")
Shard = TypeVar("Shard")
Result = TypeVar("Result")


class LocalRunner:
    """Runs shards in processes of this machine (None: one per core); what the first shard loads they have."""

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
            return _lost(place_of(error))


def _lost(what: str) -> IncompleteError:
    return IncompleteError(
        f"the work on the cluster stopped ({what}); what was finished is kept; mend the cluster, then run the same "
        "command again, or without --ray-address"
    )


def _prepare(versions: Mapping[str, str], _: None) -> None:
    # Before it is given anything of a patient.
    import ray

    if not ray.get_runtime_context().get_accelerator_ids().get("GPU"):
        # Ray leaves every GPU of the node to a worker that was given none.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    session = _session(ray)
    require_safe_node(session)
    own = _own_versions()
    differing = sorted(name for name in {*versions, *own} if versions.get(name) != own.get(name))
    if differing:
        raise UsageError(
            f"a node of the cluster has other versions of {', '.join(differing)} than this machine, so that its "
            "results could differ; install the same there"
        )
    # A core dump would hold PHI, in whatever place the system writes it to.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    take_libraries_offline(session)
    confine_libraries(session)
    # One worker for each processor: a library's own threads would overload it.
    os.environ.update(dict.fromkeys(("RAYON_NUM_THREADS", "POLARS_MAX_THREADS"), "1"))


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
        self._versions = _own_versions()

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
        taken = {"CPU": 1, "GPU": 1} if gpu and self._room({"GPU": 1}) else {"CPU": cpus, "GPU": 0}
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

        errors = self._ray.exceptions.RayError
        try:
            for _ in range(len(waiting)):
                start()
            while waiting or any(job is not None for _, job in under_way.values()):
                try:
                    finished, _ = self._ray.wait(list(under_way), num_returns=1, timeout=5.0)
                except errors as error:
                    raise _lost(type(error).__name__) from None
                if not finished:
                    _require_answer(self._address)
                    if not self._room(taken):
                        raise _lost("no node is left that could work")
                    continue
                worker, job = under_way.pop(finished[0])
                try:
                    answer = self._ray.get(finished[0])
                except errors as error:
                    if not {kind.__name__ for kind in type(error).mro()} & _DEATHS:
                        raise _lost(type(error).__name__) from None
                    answer = _DIED
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

    def _room(self, taken: dict[str, int]) -> int:
        """Return how many workers that each take so much there is room for, on the nodes that are alive."""
        asked = [(name, number) for name, number in taken.items() if number]
        alive = (node["Resources"] for node in self._ray.nodes() if node["Alive"])
        return sum(min(int(held.get(name, 0) // number) for name, number in asked) for held in alive)


#: What runs a function over shards.
ShardRunner: TypeAlias = LocalRunner | RayRunner


@contextmanager
def open_runner(ray_address: str | None, processes: int | None = None) -> Iterator[ShardRunner]:
    """Connect to a Ray cluster, if it is safe (`UnsafeError`); without an address work is done here by `processes`."""
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
