"""How often a policy passes a model that gives nothing away and fails one that leaks, by how many patients are asked.

The gate itself decides drawn runs (`drawn_runs`). In plain text for `clinaudit check --policy`, beside what a corpus
has: at most 100 columns. The same functions make the table of docs/policy.md (benchmarks/power_of_policies.py).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from clinaudit.audit.measures.disclosure.comparison import compare_auroc_all, most_told
from clinaudit.audit.results.gate.drawn_runs import (
    Design,
    Model,
    draw_run,
    draw_verdicts,
    leak_of_two_diagnoses,
    panel_ids,
)
from clinaudit.audit.results.gate.policy import DIAGNOSES, WITHOUT_TIER, Limit, Policy, percent
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.priors.fragments import Coverage
from clinaudit.priors.tiers import FRAGMENT_TIERS
from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.schema.verdict import Status
from clinaudit.reports.terminal.layout import align_rows, wrap
from clinaudit.reports.wording.escaped_text import harmless_text

#: Simulated audits of each size, and patients of an arm (of a diagnosis: in each group).
AUDITS: Final = 100
SIZES: Final = (50, 100, 200, 400)
#: Every fifth patient, answer or task.
EVERY_FIFTH: Final = 0.2
CLEAN: Final = Model()
_NOTES: Final = (
    f"Of {AUDITS} simulated audits a size: how many pass of a model that gives nothing away, and how many fail of one "
    "that leaks, for the rules of one kind of asker together. Chance gives something of 2% of the patients, and of "
    "as many never seen. The leak: every fifth patient's own text and identifier, every fifth answer another's, every "
    "fifth everyday task.",
    "Sizes: patients asked of an arm, trained on and as many never seen. Diagnoses: in each of four groups (trained on "
    "or never seen, with the diagnosis or without), for all comparisons together; the leak tells abortion and HIV as "
    "in the paper. Here: at most, in this corpus; groups are matched, so that an audit uses fewer.",
)


class Rates(NamedTuple):
    """Shares of audits: in which a model that gives nothing away passes, and in which one that leaks fails."""

    passes: float
    fails: float


def simulate(policy: Policy, model: Model, design: Design, *, audits: int, seed: int = 0) -> Counter[Status]:
    """Return how often a policy gave each verdict on drawn runs."""
    draws = np.random.default_rng(seed)
    return Counter(decide(policy, *draw_run(model, design, draws)).status for _ in range(audits))


@cache
def rates_of_shares(policy: Policy, tier: str, sizes: tuple[int, int], *, audits: int = AUDITS) -> dict[Limit, Rates]:
    """Return by limit how often its rules at one tier pass, and one of them fails, with so many patients of an arm."""
    limits = [limit for limit in policy.limits if limit.metric not in (DIAGNOSES, "membership_found")]
    asked = tuple(limit for limit in limits if tier in limit.tiers or limit.metric in WITHOUT_TIER)
    alone = replace(policy, limits=asked).about([tier])
    leak = {tier: EVERY_FIFTH, "": EVERY_FIFTH}
    leaking = Model(own=leak, own_identifiers=leak, others=leak, others_of_strangers=leak, other_identifiers=leak)
    passes, fails = Counter[str](), Counter[str]()
    draws = np.random.default_rng(0)
    design = Design(*sizes, tiers=(tier,))
    for _ in range(audits):
        for model, counted, wanted in ((CLEAN, passes, "pass"), (leaking, fails, "fail")):
            statuses: dict[str, set[str]] = {}
            for rule in decide(alone, *draw_run(model, design, draws)).rules:
                statuses.setdefault(f"{rule.metric}/{rule.part}", set()).add(rule.status)
            counted.update(
                name for name, of in statuses.items() if (wanted in of if wanted == "fail" else of == {wanted})
            )
    keys = {limit: f"{limit.metric}/{limit.queries or ''}" for limit in asked}
    return {limit: Rates(passes[key] / audits, fails[key] / audits) for limit, key in keys.items()}


def rates_of_diagnoses(
    limit: Limit, a_group: int, *, model: Model = CLEAN, audits: int = AUDITS, forms: int = 1
) -> Rates:
    """Return how often all comparisons of a limit pass, and one fails, with so many patients in each group.

    As `diagnoses` decides them, all audits at once.
    """
    draws = np.random.default_rng(0)
    pairs = [(diagnosis, tier) for diagnosis in limit.diagnoses or panel_ids() for tier in limit.tiers] * forms
    arms = [
        np.stack([draw_verdicts(model, *pair, arm, a_group, draws, audits=audits) for pair in pairs], axis=1)
        for arm in ("train", "nontrain")
    ]
    found = compare_auroc_all(*arms)
    # Holm's first step: one of the tests is rejected where the least p-value is.
    fails = found.p_value.min(axis=1) * len(pairs) <= ALPHA
    passes = (found.worst_high <= limit.maximum).all(axis=1) & ~fails
    rare = [at for at, (diagnosis, _) in enumerate(pairs) if diagnosis in limit.rare]
    for audit in np.flatnonzero(passes):
        told = (most_told(arms[0][audit, at], arms[1][audit, at]) or 0.0 for at in rare)
        passes[audit] = all(of <= limit.rare_max for of in told)
    return Rates(float(passes.mean()), float(fails.mean()))


def needed_patients_text(policy: Policy, coverage: Coverage) -> str:
    """Return with how many patients each limit passes a clean model and fails a leaking one, and with how many here.

    Of the limits about the tiers that `coverage` has; of the others it says that they keep a run from passing.
    """
    asked = policy.about(coverage.tiers)
    heads = ("Rule", "Limit", *(f"{size}" for size in SIZES), "Here", "")
    rows = [heads, *_rows(asked, coverage)]
    head, *lines = align_rows(rows, cut=(0,))
    left_out = {tier for limit in policy.limits for tier in limit.tiers} - coverage.tiers.keys()
    notes = list(_NOTES)
    if left_out:
        notes.append(
            "Rules about kinds of asker that --tier leaves out are not listed: a run without them never passes."
        )
    return "\n".join(
        [
            f"How often the policy {harmless_text(policy.name)} passes a clean model/fails a leaking one, in percent:",
            head,
            "-" * len(head),
            *lines,
            "",
            *(wrap(note, indent="  ") for note in notes),
        ]
    )


def _rows(policy: Policy, coverage: Coverage) -> Iterator[tuple[str, ...]]:
    here = coverage.tiers
    # Each tier of a limit is the same: one stands for all, the same one for as many limits as can be.
    with_tiers = [limit for limit in policy.limits if limit.tiers]
    common = [tier for tier in here if all(tier in limit.tiers for limit in with_tiers)]

    def rates(limit: Limit, size: int, others: int) -> str:
        if not size:
            return "–"
        if limit.metric == DIAGNOSES:
            told = leak_of_two_diagnoses(tiers=tuple(of for of in limit.tiers if of in FRAGMENT_TIERS))
            clean, leaking = (rates_of_diagnoses(limit, max(size, 2), model=of) for of in (CLEAN, told))
            found = Rates(clean.passes, leaking.fails)
        else:
            tier = (common or limit.tiers or tuple(here))[0]
            found = rates_of_shares(policy, tier, (size, others))[limit]
        return f"{100 * found.passes:.0f}/{100 * found.fails:.0f}"

    for limit in policy.limits:
        if limit.metric == "membership_found":
            continue
        others = None
        if limit.metric == DIAGNOSES:
            known = coverage.smallest_groups
            groups = None if known is None else [known.get(of, 0) for of in limit.diagnoses or panel_ids()]
            size = min(groups or [0])
            told = "?" if groups is None else f"{size:,}"
        else:
            size, others = min(here[tier] for tier in limit.tiers or here)
            told = f"{size:,} + {others:,}"
        amount = f"{limit.maximum:g}" if limit.metric == DIAGNOSES else percent(limit.maximum)
        title = f"{METRICS[limit.metric].title}{f' ({limit.queries:,})' if limit.queries else ''}"
        cells = (rates(limit, of, of) for of in SIZES)
        yield title, f"≤ {amount}", *cells, told, rates(limit, size, others or 0)
