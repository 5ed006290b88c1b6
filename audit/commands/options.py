"""Options that several commands take: the judge, policy, cluster, note template, identity.

Owns their names and their help. Loads no judge.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from clinaudit.audit.choices import DEFAULT, SHIPPED, JudgeChoice, JudgeDecoding
from clinaudit.reports.schema.identity import identity_problem

Command = TypeVar("Command", bound=Callable[..., Any])


class _Path(click.Path):
    """A path; an empty one, such as an unset variable of a script gives, would mean the present directory.

    `.` is that directory by its place, so that it has a name to be told by.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("a path is empty; name one (. is the present directory)", param, ctx)
        path = super().convert(value, param, ctx)
        return path.absolute() if isinstance(path, Path) and not path.name else path


# Not `readable`: a path that cannot be read is reported where it is opened, with another exit status than bad usage.
PATH = _Path(path_type=Path, readable=False)
_JUDGES = click.Choice(get_args(JudgeChoice))
_POLICIES = ", ".join(SHIPPED)


def not_empty(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Return a value, or that none was given; one that is empty is bad usage."""
    if value == "":
        raise click.BadParameter("it is empty")
    return value


def choice_of_judge() -> list[Callable[[Command], Command]]:
    """Return the options that choose the judge, in the order of the help."""
    return [
        click.option("--judge", type=_JUDGES, help="Who judges: the lexicon, or a served model.  [default: lexicon]"),
        click.option(
            "--judge-url", metavar="URL", help="Base URL of the judge openai, such as http://127.0.0.1:8000/v1."
        ),
        click.option(
            "--judge-model", metavar="NAME", help="Model that the judge openai answers with, by its whole name."
        ),
        click.option("--judge-key-file", type=PATH, metavar="FILE", help="File that holds its key, closed to others."),
        click.option(
            "--judge-decoding",
            type=click.Choice(get_args(JudgeDecoding)),
            help="Temperature 0 and a seed; or as the provider decodes, for a model that takes neither: then each "
            "question is asked three times, and what two answers share counts.  [default: deterministic]",
        ),
    ]


def judge_options() -> list[Callable[[Command], Command]]:
    """Return all options of an audit's judges, in the order of the help."""
    return [
        *choice_of_judge(),
        click.option(
            "--judge-note-tokens",
            type=click.IntRange(min=1),
            metavar="TOKENS",
            help="A patient's notes that it is given at once, the latest kept.  [default: 100000]",
        ),
        click.option(
            "--judge-labels",
            type=PATH,
            metavar="LABELS",
            help="Labelled texts (JSONL) of your own to score the judge on.  [default: the set that ships]",
        ),
        click.option("--second-judge", type=_JUDGES, help="Compare the verdicts with those of this other judge."),
    ]


def policy_option(*, default: str = DEFAULT) -> Callable[[Command], Command]:
    """Return the option that names the policy, which `clinaudit.audit.gate.policy` reads; the help says `default`."""
    return click.option(
        "--policy",
        type=PATH,
        metavar="FILE",
        help=f"TOML policy, or one that ships: {_POLICIES}.  [default: {default}]",
    )


def ray_option() -> Callable[[Command], Command]:
    """Return the option that names a Ray cluster for the work."""
    return click.option(
        "--ray-address", metavar="HOST:PORT", help="Ray cluster that takes the work: same results (docs/scale.md)."
    )


def template_option() -> Callable[[Command], Command]:
    """Return the option that names the layout of the notes."""
    return click.option(
        "--template", type=PATH, help="Note-template profile: a file, or the name of one that ships.  [default: soap]"
    )


def identity_options() -> list[Callable[[Command], Command]]:
    """Return the options that say which model was audited, by whom and when; they change no result."""
    return [
        click.option(
            "--model-name", metavar="TEXT", callback=_identity, help="Name and version of the model, for the report."
        ),
        click.option("--institution", metavar="TEXT", callback=_identity, help="Whose audit this is, for the report."),
        click.option(
            "--date", metavar="YYYY-MM-DD", callback=_identity, help="Date of the audit; never taken from the clock."
        ),
    ]


def _identity(_context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    problem = None if value is None else identity_problem(option.name or "", value)
    if problem is not None:
        raise click.BadParameter(f"it {problem}")
    return value


def with_options(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Return a decorator that adds the options in the order in which they are given."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add
