"""Entry point of `clinaudit` and `python -m clinaudit`."""

import os
import signal
import sys


def main() -> None:
    """Run the command line and exit with its status (`clinaudit --help` lists them)."""
    # Nothing is begun while modules load: an interrupt ends the process (a shell calls that 130) without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Read once, where polars is loaded: its allocator keeps freed memory for ten seconds, some 50 MB of it in a run of
    # 8,000 generations.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
    from clinaudit.audit.commands.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
