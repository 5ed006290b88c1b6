"""Options that several commands take: who judges and at what price, and the policy.

Owns their names, their help, and how a price is written. Knows no judge.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clinaudit.audit.served.cost import Price

Command = TypeVar("Command", bound=Callable[..., Any])
# Not `readable`: what cannot be read is told from what is no option's value, where it is opened.
_FILE = click.Path(path_type=Path, readable=False)
_JUDGES = click.Choice(["lexicon", "openai"])


def judge_options() -> list[Callable[[Command], Command]]:
    """Return the options, in the order of the help."""
    return [
        click.option("--judge", type=_JUDGES, help="Who reads generations.  [default: lexicon]"),
        click.option(
            "--judge-url", metavar="URL", help="Base URL of the judge openai, such as http://127.0.0.1:8000/v1."
        ),
        click.option(
            "--judge-model", metavar="NAME", help="Model that the judge openai answers with, by its whole name."
        ),
        click.option("--judge-key-file", type=_FILE, metavar="FILE", help="File that holds its key, closed to others."),
        click.option(
            "--judge-note-tokens",
            type=click.IntRange(min=1),
            metavar="TOKENS",
            help="A patient's notes that it is given at once, the latest kept.  [default: 100000]",
        ),
        price_option(),
        click.option(
            "--judge-labels",
            type=_FILE,
            metavar="LABELS",
            help="Labelled texts (JSONL) of your own to score the judge on.  [default: the set that ships]",
        ),
        click.option("--second-judge", type=_JUDGES, help="Compare the verdicts with those of this other judge."),
    ]


def price_option() -> Callable[[Command], Command]:
    """Return the option that `judge-check` takes, too."""
    return click.option(
        "--judge-price",
        metavar="IN,OUT",
        callback=_price,
        help="What a million prompt and a million answer tokens cost it, to be told what judging costs.",
    )


def _price(_context: click.Context, _option: click.Parameter, value: str | None) -> Price | None:
    if value is None:
        return None
    try:
        prompt, completion = map(float, value.split(","))
        return Price(prompt, completion)
    except ValueError:
        raise click.BadParameter("it takes two numbers, 0 or more, such as 0.15,0.60") from None


def policy_option() -> Callable[[Command], Command]:
    """Return the option; `clinaudit.audit.gate.policy` reads what it names."""
    return click.option(
        "--policy",
        # Not `readable`: what cannot be read is told from what is no option's value, where it is opened.
        type=click.Path(path_type=Path, readable=False),
        metavar="FILE",
        help="TOML policy, or one that ships: strict, default, research.  [default: default]",
    )
