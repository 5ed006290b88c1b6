"""Signals that end a process, taken as an interrupt is, so that half-written files are removed on the way out.

Knows nothing of the files. A process that is killed outright (SIGKILL) removes nothing.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on SIGTERM and SIGHUP within the block, unless they are ignored or taken already."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
