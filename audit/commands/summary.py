"""The summary that commands print on stdout at the end: its length and colour. Too heavy for `--help`: import late."""

import os
import sys
from pathlib import Path

from clinaudit.audit.runtime.console.streams import say
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.terminal.layout import wants_colour
from clinaudit.reports.terminal.rules import Basis, rules_text
from clinaudit.reports.terminal.summary import summary_text, verdict_text


def say_summary(results: RunResults, report: Path, *, exact: bool = False, quiet: bool = False) -> None:
    """Print the summary (`quiet`: the verdict alone) and the path of the report; `exact`: of the exact figures."""
    colour = wants_colour(sys.stdout, os.environ)
    if quiet:
        say(verdict_text(results, colour=colour), color=colour)
    else:
        say(summary_text(results, exact=exact, colour=colour), color=colour)
    say(f"report: {report}")


def say_rules(decision: GateDecision, *, basis: Basis) -> None:
    """Print a verdict rule by rule."""
    colour = wants_colour(sys.stdout, os.environ)
    say(rules_text(decision, basis=basis, colour=colour), color=colour)
