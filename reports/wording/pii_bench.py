"""What the page of the benchmark of filters says in words: names, numbers, and the sentence that comes first.

Owns every phrase that more than one of its tables and figures uses. A score is a number from 0 to 1, a share of
identifiers a percentage; the paper's own figures always say that they are from the paper.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS
from clinaudit.reports.schema.pii_bench import (
    BenchDomain,
    BenchEstimate,
    BenchMetric,
    BenchResult,
    BenchSubset,
    BenchSystem,
    BenchTask,
    MaskingStrategy,
    PiiBench,
)
from clinaudit.reports.wording.figures import figure_text
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import percent_text

TASKS: Final[Mapping[BenchTask, str]] = {
    "detection": "Finds identifiers",
    "query_related": "Knows which are needed",
    "masking": "Masks the others",
}
DOMAINS: Final[Mapping[BenchDomain, str]] = {"clinical": "clinical", "general": "general"}
SUBSETS: Final[Mapping[BenchSubset, str]] = {
    "all": "all",
    "single": "one person",
    "multi": "two persons",
    "hard": "hard",
    "distract": "many persons",
}
METRICS: Final[Mapping[BenchMetric, str]] = {"strict_f1": "strict F1", "ent_f1": "entity F1", "rouge_l_f": "RougeL-F"}
MASKINGS: Final[Mapping[MaskingStrategy, str]] = {
    "none": "Nothing",
    "all": "Everything",
    "query_unrelated": "All but what is needed",
}
#: The strategies of PII-Bench, in the order of its tables; the last one is told the answer's candidates.
STRATEGIES: Final[Mapping[str, str]] = {
    "naive": "Naive",
    "self-cot": "Self-CoT",
    "auto-cot": "Auto-CoT (3-shot)",
    "self-consistency": "Self-Consistency",
    "plan-and-solve": "PS-CoT",
    "with-choice": "Naive with choice (oracle)",
}
ORACLE: Final = "with-choice"
#: Identifiers named in the sentence of what the best filter misses most.
_WEAKEST: Final = 3
#: Where names come from, by the locale that they are drawn from.
ORIGINS: Final[Mapping[str, str]] = {
    "en_US": "United States",
    "en_IN": "India",
    "es_MX": "Mexico",
    "pl_PL": "Poland",
    "pt_BR": "Brazil",
    "tr_TR": "Turkey",
    "vi_VN": "Vietnam",
    "yo_NG": "Nigeria",
    "zh_CN": "China",
    "zu_ZA": "South Africa",
}
#: Above every figure of the paper.
FROM_PAPER: Final = "from the paper"


def score_text(estimate: BenchEstimate | None) -> str:
    """Return a score with its interval: "0.89 (0.87 to 0.91)"."""
    return figure_text(estimate, interval=True)


def share_text(estimate: BenchEstimate | None) -> str:
    """Return a share of identifiers with its interval: "4% (3 to 5)"."""
    return figure_text(estimate, share=True, interval=True)


def find_result(
    bench: PiiBench, system: str, task: BenchTask, domain: BenchDomain, subset: BenchSubset = "all"
) -> BenchResult | None:
    """Return what a system scored, or None where it was not asked."""
    wanted = (system, task, domain, subset)
    found = (each for each in bench.results if (each.system, each.task, each.domain, each.subset) == wanted)
    return next(found, None)


def measured_domains(bench: PiiBench) -> list[BenchDomain]:
    """Return the domains that were measured, clinical first."""
    return [domain for domain in DOMAINS if any(each.domain == domain for each in bench.results)]


def deployable(bench: PiiBench) -> list[BenchSystem]:
    """Return the systems that are told nothing of the answer, those that leave least first."""
    systems = [system for system in bench.systems if system.kind != "oracle"]
    return sorted(systems, key=lambda system: _missed_or_more(bench, system.id))


def missed(bench: PiiBench, system: str, domain: BenchDomain) -> BenchEstimate | None:
    """Return the share of the identifiers not needed that a system leaves in the text."""
    result = find_result(bench, system, "masking", domain)
    return None if result is None else result.leak


def _missed_or_more(bench: PiiBench, system: str) -> tuple[float, str]:
    shares = [each.value for domain in measured_domains(bench) if (each := missed(bench, system, domain)) is not None]
    known = [share for share in shares if share is not None]
    return (known[0] if known else 2.0), system


def headline(bench: PiiBench) -> str:
    """Return the sentence that stands first: which filter misses how much."""
    domain = next(iter(measured_domains(bench)), None)
    ranked = [
        (system, share)
        for system in deployable(bench)
        if domain is not None and (share := missed(bench, system.id, domain)) is not None and share.value is not None
    ]
    if domain is None or not ranked:
        return "No filter was run to the end: nothing is known of what it would miss."
    best, least = ranked[0]
    what = f"of the identifiers in {domain} texts that no question needs, it leaves {_plain(least)}."
    if len(ranked) == 1:
        return f"“{best.name}” was measured: {what}"
    worst, most = ranked[-1]
    return f"“{best.name}” misses least: {what} “{worst.name}” leaves {_plain(most)}."


def weakest_sentence(bench: PiiBench) -> str:
    """Return which of HIPAA's identifiers the filter that misses least misses most; empty where that is not known."""
    domain = next(iter(measured_domains(bench)), None)
    for system in deployable(bench):
        found = sorted(
            (each.recall.value, f"({letter}) {HIPAA_TITLES[letter]}")
            for each in bench.groups
            for letter in HIPAA_IDENTIFIERS
            if (each.grouping, each.domain, each.system, each.group) == ("hipaa", domain, system.id, letter)
            and each.recall.value is not None
        )
        if found:
            worst = "; ".join(f"{title}, {percent_text(1 - value)}" for value, title in found[:_WEAKEST])
            return f"Of HIPAA’s identifiers “{system.name}” most often misses: {worst}."
    return ""


def _plain(estimate: BenchEstimate) -> str:
    """Return "4% (95% interval 3 to 5)"."""
    return share_text(estimate).replace("(", "(95% interval ")


def paper_name(model: str, table: str) -> str:
    """Return a model of the paper as a row or column is headed: never to be taken for one that was measured."""
    return f"{model} ({FROM_PAPER}, {table})"
