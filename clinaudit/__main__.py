"""Entry point of `clinaudit` and `python -m clinaudit`."""

import sys


def main() -> None:
    """Run the command line and exit with its status (docs/commands.md, "clinaudit")."""
    from clinaudit.audit.commands.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
