"""`clinaudit gate` and `policy` (docs/policy.md): the verdict under a policy, and the policies that ship."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clinaudit.audit.commands.options import PATH, policy_option, value_option
from clinaudit.audit.commands.show import say_rules
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.audit.runtime.console.streams import say
from clinaudit.errors import BadInputError, UsageError

if TYPE_CHECKING:
    from clinaudit.audit.runtime.run.directory import RunDirectory
    from clinaudit.reports.schema.verdict import Verdict


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@policy_option(default="the run's own")
@click.option("--exact", is_flag=True, help="Print the exact figures of RUN/evidence beside the rules (PHI).")
@value_option("--out DIR", "Write gate.json and junit.xml of this verdict to DIR; of another policy in RUN/evidence.")
@click.option("--json", "as_json", is_flag=True, help="Print gate.json instead.")
@click.option("--quiet", is_flag=True, help="Print nothing: the exit status is the verdict.")
def gate(run_directory: Path, policy: Path | None, exact: bool, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Give the verdict on RUN, rule by rule; the exit status is the verdict. Decides nothing anew for RUN's own policy.

    With the policy of the audit this is the verdict that the audit recorded, before and after a purge. Another policy
    is decided on the exact figures in RUN/evidence. Verdicts under many limits would tell a figure, so files of
    another policy stay in RUN/evidence; after a purge no other policy can be decided.

    \b
    Example:
      clinaudit gate run/
      clinaudit gate run/ --exact
      clinaudit gate run/ --out verdict/
      clinaudit gate run/ --policy strict
    """
    from clinaudit.audit.results.gate.verdict import EXIT_STATUS
    from clinaudit.audit.results.publication.published_files import read_exact, read_published
    from clinaudit.audit.results.publication.run_verdict import find_verdict
    from clinaudit.audit.runtime.run.manifest import require_finished_run, verify
    from clinaudit.reports.exports.verdict_files import verdict_json

    finished = require_finished_run(run_directory)
    verify(finished)
    verdict, is_own = find_verdict(finished, given=policy)
    if out is not None:
        _refuse_place(out, finished, stays_inside=not is_own)
        _write(out, verdict, finished, stays_inside=not is_own)
    if as_json and not quiet:
        say(verdict_json(verdict), nl=False)
    elif not quiet:
        say_rules(verdict, read_exact(finished) if exact else read_published(finished))
    return EXIT_STATUS[verdict.status]


def _refuse_place(out: Path, run: "RunDirectory", *, stays_inside: bool) -> None:
    """Raise `UsageError` where no verdict may be written: that of another policy stays in the evidence."""
    from clinaudit.audit.runtime.run.manifest import is_run

    place = out.resolve()
    evidence, work = run.evidence.resolve(), run.work.resolve()
    if stays_inside and (evidence not in (place, *place.parents) or work in (place, *place.parents)):
        raise UsageError(
            "the verdict of another policy is written only where PHI stays; name a directory in RUN/evidence"
        )
    if not stays_inside and any(map(is_run, (place, *place.parents))):
        raise UsageError("--out names a directory of RUN or of another run, whose files are fixed; name one outside it")
    if out.exists() and not out.is_dir():
        raise UsageError("--out names something that is not a directory; name a new or an existing directory")


def _write(out: Path, verdict: "Verdict", run: "RunDirectory", *, stays_inside: bool) -> None:
    from clinaudit.audit.results.publication.published_files import verdict_texts
    from clinaudit.audit.runtime.run.directory import hold_lock_of_finished
    from clinaudit.audit.runtime.run.durable_files import make_private_directory, write_atomically
    from clinaudit.audit.runtime.run.manifest import is_purged, replace_files

    texts = verdict_texts(verdict)
    if not stays_inside:
        if not out.is_dir():
            make_private_directory(out)
        for name in texts:
            # Of another run: half of it must not stand beside this one.
            (out / name).unlink(missing_ok=True)
        for name, text in texts.items():
            write_atomically(out / name, text)
        return
    # Files of the evidence are listed in the manifest.
    folder = out.resolve().relative_to(run.root.resolve())
    with hold_lock_of_finished(run):
        # A purge may have ended since the evidence was read: nothing of it may come back.
        if is_purged(run) or not run.evidence.is_dir():
            raise BadInputError("this run was purged meanwhile; leave --policy out")
        if not out.is_dir():
            make_private_directory(out)
        replace_files(run, {str(folder / name): text.encode("utf-8") for name, text in texts.items()})


@click.group()
def policy() -> None:
    """List the policies that ship, or print one to copy and change.

    \b
    Example:
      clinaudit policy list
      clinaudit policy show strict > ours.toml
    """


@policy.command("list")
def list_policies() -> int:
    """List the policies that ship, the strictest first: what each is for, and its limits.

    \b
    Example:
      clinaudit policy list
    """
    from clinaudit.audit.results.gate.policy import describe_shipped

    say(describe_shipped())
    return 0


@policy.command()
@click.argument("name", metavar="NAME")
def show(name: str) -> int:
    """Print the policy NAME as it ships: TOML that explains its limits.

    \b
    Example:
      clinaudit policy show strict
      clinaudit policy show default > ours.toml
    """
    from clinaudit.audit.results.gate.policy import POLICIES_PATH

    if name not in SHIPPED:
        raise BadInputError(f"no policy {name!r} ships; those that do: {', '.join(SHIPPED)}")
    say((POLICIES_PATH / f"{name}.toml").read_text(encoding="utf-8"), nl=False)
    return 0
