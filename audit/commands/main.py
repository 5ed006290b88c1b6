"""The command line: the group of commands, and the one place where an error becomes a line and an exit status.

Knows no option of a command. Everything heavy is imported inside the command that needs it, so that `--help` answers
at once.
"""

import os
import signal
import threading
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import version

import click

from clinaudit.audit.commands.audit import analyze, audit, demo
from clinaudit.audit.commands.check import check, judge_check, template
from clinaudit.audit.commands.compare import compare
from clinaudit.audit.commands.forget import forget
from clinaudit.audit.commands.gate import gate, policy
from clinaudit.audit.commands.import_corpus import import_corpus
from clinaudit.audit.commands.mask import mask, unmask
from clinaudit.audit.commands.pii import pii
from clinaudit.audit.commands.show import again, evidence, purge, report, show, verify
from clinaudit.audit.commands.unlearn import unlearn
from clinaudit.audit.runtime.console import ends_in_order, warn
from clinaudit.errors import ClinauditError, StorageError, place_of
from clinaudit.reports.wording.escaped_text import harmless_text

_INTERRUPTED = 130
_USAGE = 2
#: A bug of clinaudit: finished work is kept, and the status must not read as a pass.
_BUG = 4


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return the exit status. An error is one line on stderr, never a traceback."""
    # Warnings of libraries may quote the data that they work on.
    warnings.simplefilter("ignore")
    # Every file is PHI, or for its owner to hand out: no other user may read it.
    os.umask(0o077)
    if threading.current_thread() is threading.main_thread():
        # A shell's background job starts with the interrupt ignored; here it always stops the work, in good order.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # Not `main.main`: it prints a line of its own when it is interrupted.
        with ends_in_order(), main.make_context("clinaudit", list(arguments)) as context:
            status = main.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError:
        warn("error[USAGE]: no command given; see clinaudit --help")
        return _USAGE
    except click.ClickException as error:
        warn(f"error[USAGE]: {' '.join(error.format_message().split()).rstrip('.')}; see clinaudit --help")
        return _USAGE
    except (KeyboardInterrupt, click.Abort):
        warn("error[INTERRUPTED]: stopped; run the same command again to go on")
        return _INTERRUPTED
    except ClinauditError as error:
        # The message may quote a setting that a run recorded: escape it.
        warn("\n".join(map(harmless_text, error.render().split("\n"))))
        return error.status
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        warn(f"error[STORAGE]: {reason}{_where(error)}; mend it and run the same command again")
        return StorageError.status
    except Exception as error:  # noqa: BLE001 (a traceback could hold note text; its last place tells where)
        warn(f"error[BUG]: {place_of(error)}; please report this line")
        return _BUG
    return status if isinstance(status, int) else 0


def _where(error: OSError) -> str:
    """Return what could not be read or written, where that is known."""
    # Of a rename the second name is the one that the user knows: the first is that of an unfinished file.
    name = error.filename2 or error.filename
    if isinstance(name, str | bytes):
        return f" ({harmless_text(os.fsdecode(name))})"
    # The help and the version, which click prints.
    is_printing = traceback.extract_tb(error.__traceback__)[-1].filename == click.utils.__file__
    return " (standard output)" if is_printing else ""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("clinaudit"), message="clinaudit %(version)s")
def main() -> None:
    """Find out what a clinical language model gives away about the patients it was trained on.

    \b
    Example:
      clinaudit demo                                   see it work on invented patients
      clinaudit check corpus/                          what an audit would cover
      clinaudit audit model/ corpus/ --out run/        the audit; the exit status is the verdict
      clinaudit gate run/ --policy policy.toml         the verdict again, under another policy

    Exit status: 0 pass, 1 fail, 2 usage, 3 bad input, 4 incomplete (run again to go on), 5 refused as unsafe,
    6 storage, 7 integrity, 8 inconclusive, 130 interrupted.
    """


for _command in (audit, demo, import_corpus, check, analyze, report, show, again, verify, compare, forget, gate, policy,
                 template, judge_check, pii, evidence, purge, mask, unlearn, unmask):  # fmt: skip
    main.add_command(_command)
