"""What the page and the terminal say of the benchmark of filters: names, and the sentences that come first.

Owns every phrase that more than one of its tables and figures uses, and how a figure is looked up. A score is a number
from 0 to 1, a share of identifiers a percentage; the paper's own figures always say that they are from the paper.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.pii_bench import (
    BenchDomain,
    BenchFigure,
    BenchGrouping,
    BenchSubset,
    BenchSystem,
    BenchTask,
    PiiBench,
)
from clinaudit.reports.wording.figures import figure_text
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import percent_text

#: In the order of the page.
DOMAINS: Final[tuple[BenchDomain, ...]] = ("clinical", "general")
SUBSETS: Final[Mapping[BenchSubset, str]] = {
    "all": "all",
    "single": "single: one person",
    "multi": "multi: two persons",
    "hard": "hard",
    "distract": "distract: many persons",
}
#: Above every figure of the paper.
FROM_PAPER: Final = "from the paper"
#: Identifiers named in the sentence of what the best filter misses most.
_WEAKEST: Final = 3


class FoundFigures:
    """The figures of a benchmark, by what they are of."""

    def __init__(self, bench: PiiBench) -> None:
        self._by_key = {
            (each.system, each.task, each.domain, each.metric, each.grouping, each.group): each
            for each in bench.figures
        }

    def find(
        self,
        system: str,
        task: BenchTask,
        domain: BenchDomain,
        metric: str,
        group: str = "all",
        *,
        grouping: BenchGrouping = "subset",
    ) -> BenchFigure | None:
        """Return a figure, or None where it was not measured."""
        return self._by_key.get((system, task, domain, metric, grouping, group))

    def missed(self, system: str, domain: BenchDomain, grouping: BenchGrouping) -> dict[str, Estimate]:
        """Return the share that a system does not find of each kind of identifier, with its interval, and why not."""
        return {
            group: Estimate(
                value=None if found.value is None else 1 - found.value,
                low=None if found.high is None else 1 - found.high,
                high=None if found.low is None else 1 - found.low,
                reason=found.reason,
                n=found.entities,
            )
            for (of, _, at, metric, by, group), found in self._by_key.items()
            if (of, at, metric, by) == (system, domain, "found", grouping)
        }


def share_text(estimate: Estimate | None) -> str:
    """Return a share of identifiers with its interval: "4% (3 to 5)"."""
    return figure_text(estimate, share=True, interval=True)


def score_text(estimate: Estimate | None) -> str:
    """Return a score with its interval: "0.89 (0.87 to 0.91)"."""
    return figure_text(estimate, interval=True)


def measured_domains(bench: PiiBench) -> list[BenchDomain]:
    """Return the domains that were measured, clinical first."""
    return [domain for domain in DOMAINS if any(each.domain == domain for each in bench.figures)]


def deployable(bench: PiiBench) -> list[BenchSystem]:
    """Return the systems that are told nothing of the answer, those that leave least first."""
    figures, domains = FoundFigures(bench), measured_domains(bench)

    def left(system: BenchSystem) -> tuple[float, str]:
        leaks = (figures.find(system.id, "masking", domain, "leak") for domain in domains)
        return next((leak.value for leak in leaks if leak and leak.value is not None), 2.0), system.id

    return sorted((system for system in bench.systems if system.kind != "oracle"), key=left)


def in_order(bench: PiiBench) -> list[BenchSystem]:
    """Return the systems as tables list them: the oracles last."""
    return [*deployable(bench), *(system for system in bench.systems if system.kind == "oracle")]


def headline(bench: PiiBench) -> str:
    """Return the sentence that stands first: which filter misses how much."""
    figures = FoundFigures(bench)
    for domain in measured_domains(bench)[:1]:
        leaks = ((system, figures.find(system.id, "masking", domain, "leak")) for system in deployable(bench))
        ranked = [(system.name, share_text(leak).replace("(", "(95% interval ")) for system, leak in leaks if leak]
        if not ranked:
            break
        (best, least), (worst, most) = ranked[0], ranked[-1]
        what = f"of the identifiers in {domain} texts that no question needs, it leaves {least}."
        if len(ranked) == 1:
            return f"“{best}” was measured: {what}"
        return f"“{best}” misses least: {what} “{worst}” leaves {most}."
    return "No filter was run to the end: nothing is known of what it would miss."


def weakest_sentence(bench: PiiBench) -> str:
    """Return which of HIPAA's identifiers the filter that misses least misses most; empty where that is not known."""
    for system, domain in zip(deployable(bench)[:1], measured_domains(bench), strict=False):
        missed = FoundFigures(bench).missed(system.id, domain, "hipaa")
        known = sorted((-each.value, letter) for letter, each in missed.items() if each.value is not None)
        if known:
            worst = "; ".join(
                f"{identifier_name(letter)}, {percent_text(-share)}" for share, letter in known[:_WEAKEST]
            )
            return f"Of HIPAA’s identifiers “{system.name}” most often misses: {worst}."
    return ""


def identifier_name(letter: str) -> str:
    """Return an identifier by its letter and its words in 45 CFR 164.514(b)(2)(i)."""
    titles: Mapping[str, str] = {**HIPAA_TITLES}
    return f"({letter}) {titles[letter]}" if letter in titles else letter
