"""How often a policy passes a model that gives nothing away and fails one that leaks, by how many patients are asked.

The gate itself decides drawn runs: tables of estimates of runs that never were, of a model that gives so much away, so
many patients asked. Each patient's text is drawn alone, at each tier anew; no text is made. `clinaudit check`, the
tests and `benchmarks/power_of_policies.py`, which makes the table of docs/policy.md, use the same functions.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from clinaudit.audit.measures.disclosure import OUTCOMES, STATUSES, Counts, compare_auroc_all, most_told
from clinaudit.audit.results.gate.policy import DIAGNOSES, WITHOUT_TIER, Limit, Policy, percent
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.statistics.estimates import count_row, mean_row, share_row
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.fragments import Coverage
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIER_IDS
from clinaudit.reports.estimates.frame import METRICS, Estimates, Row, as_estimates, at
from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema.attacks import QUERY_LIMITS
from clinaudit.reports.schema.run_results import RunResults, Status
from clinaudit.reports.terminal import align_columns, wrap
from clinaudit.reports.wording.escaped_text import harmless_text

#: Share of the texts that mention a diagnosis (paper, Table 1); half of them state it and half deny it, which gives the
#: largest variance that a share of mentions allows. Another diagnosis is taken to be mentioned as the first is.
MENTIONED: Final = {
    "anxiety": 0.60,
    "depression": 0.70,
    "abortion": 0.165,
    "bipolar": 0.46,
    "ptsd": 0.415,
    "hiv": 0.195,
}
#: What is stated of patients, with a diagnosis and without it, by a model that leaks two of them as in the paper.
LEAKED: Final = (0.25, 0.005)
BACKGROUND: Final = 0.08
#: Of an answer: what a leak fills, and what a match by chance does.
FILLED, FILLED_BY_CHANCE = 0.7, 0.25
TASKS: Final = 429


@dataclass(frozen=True, slots=True)
class Model:
    """What a model gives away: shares of the patients (or tasks) of whom it does, by tier ("": of everyday tasks).

    Example::

        Model(own={"encounter": 0.2})  # every fifth patient's text at one tier
    """

    own: Mapping[str, float] = field(default_factory=dict)
    own_identifiers: Mapping[str, float] = field(default_factory=dict)
    #: In answers about patients trained on, and about those never seen.
    others: Mapping[str, float] = field(default_factory=dict)
    others_of_strangers: Mapping[str, float] = field(default_factory=dict)
    other_identifiers: Mapping[str, float] = field(default_factory=dict)
    #: (diagnosis, tier) -> share of the patients with the diagnosis, and without it, of whom it is stated.
    diagnoses: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    #: Share of the patients of either arm, or of the answers, in which chance gives something.
    chance: float = 0.02
    #: Share of the patients of either arm whose text is guessed within 1,000 queries.
    guessed: float = 0.0
    #: Of an answer with a leak, how much it fills.
    filled: float = FILLED
    #: What the control model gives of the same patients.
    control_own: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Design:
    """Who is asked and how."""

    #: Patients trained on and never seen that are asked at each tier; and in the corpus, where these are more.
    train: int = 200
    nontrain: int = 200
    corpus: tuple[int, int] | None = None
    #: In each of the four groups of a diagnosis.
    a_group: int = 100
    tiers: tuple[str, ...] = TIER_IDS
    forms: tuple[str, ...] = ("text",)
    diagnoses: tuple[str, ...] = ()
    control: bool = False
    tasks: int = TASKS


def draw_run(model: Model, design: Design, draws: np.random.Generator | None) -> tuple[Estimates, RunResults]:
    """Return the exact table and the words of one run; without `draws` each count is what is expected, rounded."""
    return Estimates(as_estimates(_Drawer(model, design, draws).rows())), RunResults(release="internal")


@dataclass(frozen=True, slots=True)
class _Drawer:
    model: Model
    design: Design
    draws: np.random.Generator | None

    def count(self, of: int, chance: float) -> int:
        return round(of * chance) if self.draws is None else int(self.draws.binomial(of, chance))

    def rows(self) -> Iterator[Row]:
        """Yield every row that the gate reads."""
        design = self.design
        asked = {"train": design.train, "nontrain": design.nontrain, "control": design.train * design.control}
        sizes = {arm: size for arm, size in asked.items() if size}
        for arm, size in zip(("train", "nontrain"), design.corpus or (design.train, design.nontrain), strict=True):
            if size:
                yield at("patients", arm=arm)._replace(value=float(size))
        if design.nontrain:
            yield share_row("in_both_arms", 0, design.train + design.nontrain)
        for metric, value in (("judge_sensitivity", 0.86), ("judge_specificity", 0.90), ("judge_flips", 0.12)):
            yield at(metric)._replace(value=value, low=value - 0.1, high=value + 0.1)
        for tier in design.tiers:
            for form in design.forms:
                for arm, size in sizes.items():
                    yield from self.answers(size, form=form, tier=tier, arm=arm)
                for diagnosis in design.diagnoses:
                    for arm in sizes:
                        yield from self.verdicts(diagnosis, form=form, tier=tier, arm=arm)
        if design.tasks:
            yield from self.everyday()

    def answers(self, size: int, *, form: str, tier: str, arm: str) -> Iterator[Row]:
        """Yield what is given away of the patients asked about, and what the guards read."""
        model, place = self.model, {"form": form, "tier": tier, "arm": arm}
        yield at("patients", **place)._replace(value=float(size))
        for metric in ("prompt_unbroken", "prompt_own", "long_answers", "answered", "answered_before_end"):
            yield share_row(metric, size, size, **place)
        yield share_row("refused", 0, size, **place)
        own = {"train": model.own, "control": model.control_own}.get(arm, {}).get(tier, 0.0)
        leaked, by_chance = self.given(size, own)
        text = model.filled * leaked + FILLED_BY_CHANCE * by_chance
        for metric in ("attributable_fraction", "near_verbatim_attributable_fraction", "memorized_fraction"):
            yield mean_row(metric, text, leaked + by_chance, size, **place)
        for metric in ("attributable_patients", "hit_rate"):
            yield share_row(metric, leaked + by_chance, size, **place)
        identifiers = model.own_identifiers.get(tier, 0.0) if arm == "train" else 0.0
        yield share_row("own_identifiers", sum(self.given(size, identifiers)), size, **place)
        if tier in FRAGMENT_TIERS and form == self.design.forms[0]:
            # Computed of scores of the notes: nobody is asked in a form.
            of_notes = {"tier": tier, "arm": arm}
            yield share_row("queries_window", size, size, **of_notes)
            found = leaked + self.count(size - leaked, model.guessed)
            for queries in map(str, QUERY_LIMITS):
                yield share_row("queries_needed", found, size, **of_notes, by="queries", part=queries)
        others = {"train": model.others, "nontrain": model.others_of_strangers}.get(arm, {}).get(tier, 0.0)
        for metric, leak in (
            ("other_patient_fraction", others),
            ("other_identifiers", model.other_identifiers.get(tier, 0.0)),
        ):
            yield from self.pools(metric, size, leak, place)

    def given(self, size: int, leak: float) -> tuple[int, int]:
        """Return of how many a leak gives something, and of how many of the others chance does."""
        leaked = self.count(size, leak)
        return leaked, self.count(size - leaked, self.model.chance)

    def pools(self, metric: str, size: int, leak: float, place: Mapping[str, str]) -> Iterator[Row]:
        """Yield a figure of others, and, beside patients never seen, the figures in pools of equal size.

        Of a leak from N patients a pool of m shows m/N; chance is as likely in each pool, and grows with the pool.
        """
        trained, strangers = self.design.corpus or (self.design.train, self.design.nontrain)
        share = min(1.0, strangers / trained) if strangers else 1.0
        leaked, by_chance = self.given(size, leak)
        seen = self.count(leaked, share), by_chance
        more = self.count(size - leaked - by_chance, min(1.0, self.model.chance * (1 / share - 1)))
        parts = {metric: (leaked, by_chance + more)}
        if strangers and place.get("arm") != "control":
            sampled, chance = METRICS[metric].pools
            parts |= {sampled: seen, chance: (0, self.count(size, self.model.chance))}
        for name, (many, few) in parts.items():
            if METRICS[name].unit == "mean":
                yield mean_row(name, self.model.filled * many + FILLED_BY_CHANCE * few, many + few, size, **place)
            else:
                yield share_row(name, many + few, size, **place)

    def everyday(self) -> Iterator[Row]:
        """Yield the everyday tasks; at their texts chance gives nothing."""
        silent_model = Model(others=self.model.others, chance=0.0, filled=self.model.filled)
        tasks, silent = self.design.tasks, replace(self, model=silent_model)
        yield from silent.pools("everyday_tasks", tasks, self.model.others.get("", 0.0), {})
        yield share_row("everyday_long_answers", tasks, tasks)

    def verdicts(self, diagnosis: str, *, form: str, tier: str, arm: str) -> Iterator[Row]:
        """Yield what a judge reads of the patients of a cohort's arm."""
        counts = draw_verdicts(self.model, diagnosis, tier, arm, self.design.a_group, self.draws)
        for by, group in zip(STATUSES, counts, strict=True):
            for part, count in zip(OUTCOMES, group, strict=True):
                place = {"form": form, "tier": tier, "arm": arm, "diagnosis": diagnosis, "by": by, "part": part}
                yield count_row("verdicts", int(count), self.design.a_group, **place)


def draw_verdicts(
    model: Model,
    diagnosis: str,
    tier: str,
    arm: str,
    a_group: int,
    draws: np.random.Generator | None,
    *,
    audits: int | None = None,
) -> Counts:
    """Return the patients of one arm by verdict, with the diagnosis and without it: `(2, 5)`, or `(audits, 2, 5)`."""
    mentioned = MENTIONED.get(diagnosis, MENTIONED["anxiety"])
    leaks = model.diagnoses.get((diagnosis, tier))
    groups = []
    for group in range(2):
        stated = mentioned / 2 if leaks is None else BACKGROUND
        if leaks is not None and arm == "train":
            stated = leaks[group]
        chances = np.array([mentioned / 2, 1 - mentioned / 2 - stated, 0.0, stated, 0.0])
        groups.append(np.round(a_group * chances) if draws is None else draws.multinomial(a_group, chances, audits))
    return np.stack(groups, axis=-2).astype(float)


def leak_of_two_diagnoses(*, tiers: tuple[str, ...] = tuple(FRAGMENT_TIERS)) -> Model:
    """Return a model that tells of abortion and HIV as in the paper, at the tiers that quote a note."""
    return Model(diagnoses={(diagnosis, tier): LEAKED for diagnosis in ("abortion", "hiv") for tier in tiers})


def panel_ids() -> tuple[str, ...]:
    """Return the diagnoses that ship."""
    return tuple(diagnosis.id for diagnosis in load_panel())


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

    Plain text for `clinaudit check --policy`, beside what the corpus has: at most 100 columns. Of the limits about the
    tiers with a prompt in `coverage`; of the others it says that they keep a run from passing.
    """
    made = {tier: sizes for tier, sizes in coverage.tiers.items() if sizes[0]}
    coverage = replace(coverage, tiers=made or coverage.tiers)
    asked = policy.about(coverage.tiers)
    heads = ("Rule", "Limit", *(f"{size}" for size in SIZES), "Here", "")
    left_out = {tier for limit in policy.limits for tier in limit.tiers} - coverage.tiers.keys()
    notes = list(_NOTES)
    if left_out:
        notes.append(
            "Rules about kinds of asker that --tier leaves out, or for whom no prompt can be made, are not listed: a "
            "run without them never passes."
        )
    title = f"How often the policy {harmless_text(policy.name)} passes a clean model/fails a leaking one, in percent:"
    table = align_columns([heads, *_rows(asked, coverage)])
    return "\n".join([title, table, "", *(wrap(note, indent="  ") for note in notes)])


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
