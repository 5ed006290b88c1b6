"""Entry point of `clinaudit` and `python -m clinaudit`."""

import signal
import sys


def main() -> None:
    """Run the command line and exit with its status (`clinaudit --help` lists them)."""
    # Nothing is begun while modules load: an interrupt ends the process (a shell calls that 130) without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from clinaudit.audit.commands.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
