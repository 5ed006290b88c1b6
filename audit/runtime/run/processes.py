"""Work in several processes of this machine: a function over items, whose results come in the items' order.

The processes are forked: what they share with this one, such as a site's names, is neither sent nor copied. They end
with it, however it ends. A shard function uses no polars: polars' threads are not forked, so that even making a frame
may wait for ever. It returns columns, of which its caller makes frames.
"""

import ctypes
import gc
import inspect
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

from clinaudit.errors import IncompleteError

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Items a process that wait for it or whose results wait to be taken.
_AHEAD: Final = 3


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def batches(items: Iterable[Item], size: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Yield items some at a time: as many as it takes until their sizes add up to `most`."""
    batch, reached = list[Item](), 0
    for item in items:
        batch.append(item)
        reached += size(item)
        if reached >= most:
            yield batch
            batch, reached = [], 0
    if batch:
        yield batch


class Processes:
    """Applies functions to items, in processes that hold what is shared; without a pool in this process itself."""

    def __init__(self, shared: Any, pool: ProcessPoolExecutor | None = None, count: int = 1) -> None:
        self._shared = shared
        self._pool = pool
        self.count = count

    def map(self, function: Callable[[Any, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(shared, item)` of each item, in order; `function` is a module's, and few items are in memory.

        Raises what the function raises, and `IncompleteError` where a process ended before its work did.
        """
        if self._pool is None:
            for item in items:
                yield function(self._shared, item)
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(self._pool.submit(_apply, function, item))
                if len(waiting) >= _AHEAD * self.count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise IncompleteError(
                "one of the processes ended before its work did, for want of memory perhaps; run the same command "
                "again, with fewer --processes"
            ) from None
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def open_processes(shared: Any, count: int | None) -> Iterator[Processes]:
    """Yield `count` processes (None: one per core) that hold what is `shared`; of one, this process does the work.

    What the functions need must be loaded before: a process has what this one has at that time.
    """
    # Let the system have what this process freed: the allocator keeps it, beside what the next stage takes. The GNU
    # library has the function; another one may give memory back by itself.
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
    count = count or usable_cores()
    if count == 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield Processes(shared)
        return
    pool = ProcessPoolExecutor(
        count, mp_context=multiprocessing.get_context("fork"), initializer=_begin, initargs=(shared,)
    )
    # Signals that end a process come after the fork: what is raised while Python forks is lost.
    came: list[int] = []
    kept = _ENDING if threading.current_thread() is threading.main_thread() else ()
    handlers = {number: signal.signal(number, lambda number, _: came.append(number)) for number in kept}
    try:
        try:
            # The first task makes all processes.
            pool.submit(int)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            for late in came:
                signal.raise_signal(late)
        yield Processes(shared, pool, count)
    finally:
        pool.shutdown(cancel_futures=True)


_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: In a process of a pool: what it shares with the one that made it.
_SHARED: Any = None


def _begin(shared: Any) -> None:
    global _SHARED
    _SHARED = shared
    # What is here stays as it is: looking for garbage in it would copy it, page by page, into each process.
    gc.freeze()
    # The processes are as many as the cores: a tokenizer's threads would add none.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # An interrupt reaches every process of a terminal: the one that made this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _ENDING[1:]:
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Seen with polars 2.1: filter, sort, join, group_by and the like hang once this process's parent has used one.
    # Which ones need no thread is not ours to know, so that all methods are refused. A frame can still be held.
    polars: Any = sys.modules.get("polars")
    if polars is not None:
        polars.concat = _refused
        # Through these polars runs its expressions, or makes frames, though their names are not public.
        inner = ("__init__", "_collect_eager")
        for kind in (polars.DataFrame, polars.LazyFrame, polars.Series):
            for name, method in list(vars(kind).items()):
                if inspect.isfunction(method) and (name in inner or not name.startswith("_")):
                    setattr(kind, name, _refused)


def _refused(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("a shard uses no polars: it makes columns, of which its caller makes frames")


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _apply(function: Callable[[Any, Item], Result], item: Item) -> Result:
    return function(_SHARED, item)
