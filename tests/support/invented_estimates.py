"""A whole exact table of estimates of a run that never was: patients are drawn, and every figure is counted of them.

Consistent where a real table is: what is counted of some patients adds up. No figure comes from a model.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import numpy as np
import polars as pl

from clinaudit.audit.statistics.auroc import auroc_of_counts, difference_error, measure_error
from clinaudit.audit.statistics.estimates import add_differences, count_row, mean_row, share_row
from clinaudit.priors.prompts import NO_FACT
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIER_IDS
from clinaudit.reports.estimates.frame import METRICS, Row, as_estimates, at, one_table

#: Diagnosis -> sets of its cohort where the arms are large enough.
SETS: Final = {"anxiety": 100, "depression": 100, "abortion": 59, "bipolar": 59, "ptsd": 74, "hiv": 88}
VERDICTS: Final = ("negative", "not_mentioned", "ambiguous", "positive", "unjudged")
#: Figures of verdicts of which there is a mean over diagnoses.
MEANS: Final = ("auroc", "auroc_all", "ppv", "sensitivity", "false_positive_rate", "mention_rate")
#: How likely a patient's text comes back, by tier in their order.
LEAKS: Final = (0.01, 0.04, 0.05, 0.08, 0.3, 0.7)
GROUPS: Final = {
    "age": ("0-17", "18-29", "30-44", "45-64", "65-89", "90+"),
    "sex": ("female", "male", "unknown"),
    "race": ("Asian", "Black", "White", "other", "unknown"),
}
CHANCES: Final = {
    "age": (0.07, 0.18, 0.25, 0.32, 0.16, 0.02),
    "sex": (0.52, 0.46, 0.02),
    "race": (0.06, 0.15, 0.69, 0.06, 0.04),
}
Draws = np.random.Generator


@cache
def invented_estimates(
    seed: int = 0, train: int = 130, nontrain: int = 130, *, forms: Sequence[str] = ("text",)
) -> pl.DataFrame:
    """Return the exact table of a run with so many patients of either split asked at every tier, by `forms`.

    `nontrain` 0 gives one without patients never seen.
    """
    draws = np.random.default_rng(seed)
    arms = {arm: size for arm, size in (("train", train), ("nontrain", nontrain)) if size}
    people = {
        arm: {by: draws.choice(names, size, p=CHANCES[by]) for by, names in GROUPS.items()}
        for arm, size in arms.items()
    }
    rows: list[Row] = list(_corpus(draws, arms, people))
    for form in forms:
        for leak, tier in zip(LEAKS, TIER_IDS, strict=True):
            excluded = {arm: int(draws.choice([0, 0, 0, 1, 4, 15])) for arm in arms}
            for arm, size in arms.items():
                asked = max(1, size - excluded[arm])
                at_tier = {"form": form, "tier": tier, "arm": arm}
                rows.append(at("patients", **at_tier)._replace(value=asked))
                rows.append(count_row("excluded", size - asked, size, **at_tier, by="reason", part=NO_FACT))
                missing = int(draws.choice([0, 0, 0, 0, 2]))
                for stage in ("priors", "generations", "judgements"):
                    rows.append(at("planned", **at_tier, by="stage", part=stage)._replace(value=asked))
                    lost = missing if stage == "judgements" else 0
                    rows.append(count_row("missing", lost, asked, **at_tier, by="stage", part=stage))
                told = leak if arm == "train" else 0.01
                groups = {by: of[:asked] for by, of in people[arm].items()}
                rows += _text(draws, told, asked, at_tier, groups)
                rows += _answers(draws, told, asked, at_tier, left_out=size - asked)
        for arm in arms:
            rows += _categories(np.random.default_rng([seed, len(form)]), rows, {"form": form, "arm": arm})
        rows += _disclosure(draws, form, arms)
    rows += _tasks(draws)
    rows += _cohorts(draws, arms)
    counted = [name for name, metric in METRICS.items() if metric.chance == "never seen" or name == "sensitivity"]
    table = as_estimates(rows)
    differing = pl.col("metric").is_in(counted)
    return one_table([table.filter(~differing), add_differences(table.filter(differing))]).sort(
        pl.col("metric").replace_strict({name: place for place, name in enumerate(METRICS)}), maintain_order=True
    )


def _figure(metric: str, value: float, behind: int | None = None, **place: str) -> Row:
    return at(metric, **place)._replace(value=float(value), behind=behind)


def _text(draws: Draws, told: float, asked: int, place: dict[str, str], groups: dict[str, np.ndarray]) -> Iterator[Row]:
    """Yield the figures of own and others' text, of patients drawn each with a share of their text."""
    matched = np.where(draws.random(asked) < told + 0.05, draws.beta(0.7, 1.5, asked), 0.0)
    owned = np.where((draws.random(asked) < told / (told + 0.05)) & (matched > 0), matched * draws.random(asked), 0.0)
    edited = np.minimum(matched, owned + np.where(draws.random(asked) < 0.03, 0.05, 0.0))
    for metric, values in (
        ("memorized_fraction", matched),
        ("memorized_fraction_without_echo", matched * 0.8),
        ("attributable_fraction", owned),
        ("near_verbatim_attributable_fraction", np.maximum(owned, edited)),
    ):
        yield mean_row(metric, float(values.sum()), int((values > 0).sum()), asked, **place)
    hits, own = int((matched > 0).sum()), int((owned > 0).sum())
    yield share_row("hit_rate", hits, asked, **place)
    yield share_row("attributable_patients", own, asked, **place)
    for part, above in (("1%", 0.01), ("10%", 0.1), ("50%", 0.5)):
        yield share_row("attributable_patients", int((owned > above).sum()), asked, **place, by="above", part=part)
    for by, of in groups.items():
        for part in GROUPS[by]:
            if size := int((of == part).sum()):
                yield share_row(
                    "attributable_patients", int((owned[of == part] > 0).sum()), size, **place, by=by, part=part
                )
    for metric, value in (("stitched_share", 0.31), ("templated_share", 0.42), ("shared_share", 0.55)):
        yield _figure(metric, value + draws.random() / 10, hits, **place)
    yield _figure("source_notes", 1.7, hits, **place)
    yield _figure("region_length", 61.53, hits, **place, by="unit", part="tokens")
    yield _figure("piece_length", 47.31, own, **place, by="unit", part="tokens|single")
    pieces = draws.dirichlet(np.ones(6))
    for part, share in zip(("1", "2-10", "11-100", "101-1000", "1001-8000", ">8000"), pieces, strict=True):
        yield _figure("k_distribution", share, hits, **place, by="k", part=part)
    contents = ("revealing_single", "revealing_shared", "templated_single", "templated_shared")
    parts = [f"{section}|{content}" for section in ("Allergies", "HPI", "Plan") for content in contents]
    for part, share in zip(parts, draws.dirichlet(np.ones(len(parts))), strict=True):
        behind = int(draws.integers(1, hits + 1)) if share > 0.05 and hits else hits
        yield _figure("section_tokens", share, behind, **place, by="section", part=part)
    for part, share in zip(("1", "2", "3", "4", "5", "6-10", ">10"), draws.dirichlet(np.ones(7)), strict=True):
        yield _figure("copy_forward", share, own, **place, by="copies", part=part)
    others = np.where(draws.random(asked) < 0.04, draws.random(asked) / 5, 0.0)
    affected = int((others > 0).sum())
    yield mean_row("other_patient_fraction", float(others.sum()), affected, asked, **place)
    for metric, scale in (("other_patient_sampled_fraction", 0.6), ("other_patient_chance_fraction", 0.5)):
        some = others[: asked // 2] * scale
        yield mean_row(metric, float(some.sum()), int((some > 0).sum()), asked, **place)
    yield share_row("other_patient_affected", affected, asked, **place)


def _answers(draws: Draws, told: float, asked: int, place: dict[str, str], *, left_out: int) -> Iterator[Row]:
    """Yield what answers are, the identifiers in them, the queries that a patient's text takes, and the prompts.

    `left_out` targets, the whole split, have no prompt.
    """
    answered = int(draws.binomial(asked, 0.99))
    yield share_row("long_answers", int(draws.binomial(answered, 0.98)), asked, **place)
    for metric in ("answered", "answered_before_end"):
        yield share_row(metric, answered, asked, **place)
    for metric, chance in (
        ("refused", 0.03),
        ("prompt_unbroken", 0.96),
        ("short_budget", 0.01),
        ("prompt_own", 0.8),
        ("prompt_earlier", 0.05),
    ):
        yield share_row(metric, int(draws.binomial(asked, chance)), asked, **place)
    yield share_row("prompt_shows", int(draws.binomial(asked, 0.06)), asked, **place, by="what", part="complaint")
    rest = draws.multinomial(asked, (0.7, 0.15, 0.1, 0.03, 0.02))
    rest[0] += rest[-1]
    rest[-1] = left_out
    of_split = {"tier": place["tier"], "arm": place["arm"]}
    for part, count in zip(("1", "2-4", "5-10", ">10", "no prior"), rest, strict=True):
        if place["form"] == "text":
            yield share_row("uniqueness", int(count), asked + left_out, **of_split, by="sharing", part=part)
    given = int(draws.binomial(asked, told / 2))
    yield share_row("own_identifiers", given, asked, **place)
    # What follows stays as the tests know it.
    draws.binomial(given, 0.5, size=4)
    anothers = int(draws.binomial(asked, 0.06))
    yield share_row("other_identifiers", anothers, asked, **place)
    for metric in ("other_identifiers_sampled", "other_identifiers_chance"):
        yield share_row(metric, int(draws.binomial(anothers, 0.5)), asked, **place)
    yield _figure("identifiers_per_1000", 1000 * (given + anothers) / asked, given + anothers, **place)
    if place["tier"] in FRAGMENT_TIERS:
        window, within = int(draws.binomial(asked, 0.9)), 0
        of_notes = {"tier": place["tier"], "arm": place["arm"]}
        if place["form"] == "text":
            yield share_row("queries_window", window, asked, **of_notes)
        for part, chance in (("1", 0.3), ("10", 0.2), ("100", 0.2), ("1000", 0.3), ("10000", 0.4)):
            within += int(draws.binomial(window - within, min(1.0, chance * told)))
            if place["form"] == "text":
                yield share_row("queries_needed", within, asked, **of_notes, by="queries", part=part)


def _categories(draws: Draws, rows: Sequence[Row], place: dict[str, str]) -> Iterator[Row]:
    """Yield who is given an own identifier by category, over all tiers; the first patients are asked at every tier."""
    at_tiers = [row for row in rows if row.metric == "own_identifiers" and (row.form, row.arm) == tuple(place.values())]
    asked = max(row.of_low or 0 for row in at_tiers)
    parts = "ABCF"
    has = np.zeros((asked, len(parts)), dtype=bool)
    for row in at_tiers:
        those = draws.choice(row.of_low or 0, row.count_low or 0, replace=False)
        kinds = draws.random((len(those), len(parts))) < 0.4
        kinds[np.arange(len(those)), draws.integers(0, len(parts), len(those))] = True
        has[those] |= kinds
    for part, count in zip(parts, has.sum(axis=0), strict=True):
        yield share_row("own_identifiers", int(count), asked, **place, by="category", part=part)


def _disclosure(draws: Draws, form: str, arms: dict[str, int]) -> Iterator[Row]:
    """Yield verdicts and what is computed of them, by tier, arm and diagnosis, with the mean over diagnoses."""
    for leak, tier in zip(LEAKS, TIER_IDS, strict=True):
        means: dict[tuple[str, ...], list[float]] = {}
        for diagnosis, most in SETS.items():
            whole = min(most, *arms.values())
            dropped = int(draws.choice([0, 0, 0, 3, 12])) if whole > 14 else 0
            sets = whole - dropped
            where = {"form": form, "tier": tier, "diagnosis": diagnosis}
            yield _figure("cohort_sets", sets, **where)
            if dropped:
                yield count_row("dropped_sets", dropped, whole, **where, by="reason", part="the prompt says it")
            errors = {}
            for arm in arms:
                place = {"form": form, "tier": tier, "arm": arm, "diagnosis": diagnosis}
                stated = 0.05 + (leak if arm == "train" else 0.0)
                cells = {
                    "present": draws.multinomial(sets, _chances(min(0.9, stated))),
                    "absent": draws.multinomial(sets, _chances(0.05)),
                }
                for status, counts in cells.items():
                    for part, count in zip(VERDICTS, counts, strict=True):
                        yield count_row("verdicts", int(count), sets, **place, by=status, part=part)
                judged = sum(int(counts[:4].sum()) for counts in cells.values())
                yield share_row("judged", judged, 2 * sets, **place)
                values = list(_of_verdicts(cells, place))
                yield from values
                for row in values:
                    if row.value is not None and row.metric in MEANS:
                        means.setdefault((arm, row.metric, row.by, row.part), []).append(row.value)
                errors[arm] = values[0], measure_error(*_levels(cells))
            if len(errors) == 2:
                (first, one), (second, other) = errors["train"], errors["nontrain"]
                error = difference_error(one, other)
                difference = first.value - second.value
                low, high = error.interval(difference, floor=-1.0)
                where = {"form": form, "tier": tier, "arm": "train-nontrain", "diagnosis": diagnosis}
                yield at("auroc_all", **where)._replace(value=difference, low=float(low), high=float(high))
                yield _figure("detectable_difference", float(error.minimum_detectable_difference()), **where)
        for (arm, metric, by, part), of in means.items():
            where = {"form": form, "tier": tier, "arm": arm, "diagnosis": "mean", "by": by, "part": part}
            yield at(metric, **where)._replace(value=float(np.mean(of)))


def _chances(positive: float) -> list[float]:
    return [0.1 * (1 - positive), 0.84 * (1 - positive), 0.04 * (1 - positive), positive, 0.02 * (1 - positive)]


def _levels(cells: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return the judged patients of either side by level: denied, nothing said or ambiguous, stated."""
    return [np.array([of[0], of[1] + of[2], of[3]], dtype=float) for of in cells.values()]


def _of_verdicts(cells: dict[str, np.ndarray], place: dict[str, str]) -> Iterator[Row]:
    (ones, others), (positive, negative) = cells.values(), _levels(cells)
    low, high = measure_error(positive, negative).interval(auroc_of_counts(positive, negative), floor=0.0)
    yield at("auroc_all", **place)._replace(
        value=float(auroc_of_counts(positive, negative)), low=float(low), high=float(high)
    )
    mentions = [np.array([of[0], of[2], of[3]], dtype=float) for of in cells.values()]
    row = at("auroc", **place)._replace(count_low=int(mentions[0].sum() + mentions[1].sum()))
    row = row._replace(count_high=row.count_low, of_low=int(ones.sum() + others.sum()))._replace(
        of_high=int(ones.sum() + others.sum())
    )
    if min(of.sum() for of in mentions) < 2:
        yield row._replace(reason="too few texts mention it")
    else:
        low, high = measure_error(*mentions).interval(auroc_of_counts(*mentions), floor=0.0)
        area = float(auroc_of_counts(*mentions))
        yield row._replace(value=area, low=float(low), high=float(high))
    true, false = int(ones[3]), int(others[3])
    yield share_row("sensitivity", true, int(ones[:4].sum()), **place)
    yield share_row("false_positive_rate", false, int(others[:4].sum()), **place)
    told = int(mentions[0].sum() + mentions[1].sum())
    yield share_row("mention_rate", told, int(ones[:4].sum() + others[:4].sum()), **place)
    if true + false:
        yield _figure("ppv", true / (true + false), **place)
        rates = 0.1 * true / ones[:4].sum(), 0.9 * false / others[:4].sum()
        yield _figure("ppv", rates[0] / sum(rates), **place, by="prevalence", part="corpus")
    yield _figure("corrected_sensitivity", min(1.0, true / ones[:4].sum() / 0.93), **place)


def _tasks(draws: Draws) -> Iterator[Row]:
    """Yield everyday tasks (of 200), membership, and what is known of the judge."""
    some = int(draws.binomial(200, 0.03))
    for metric, count in (
        ("everyday_tasks", some),
        ("everyday_tasks_sampled", some // 2),
        ("everyday_tasks_chance", some // 3),
        ("everyday_identifiers", some // 2),
        ("everyday_long_answers", 196),
    ):
        yield share_row(metric, count, 200)
    yield count_row("everyday_patients", int(draws.binomial(30, 0.3)))
    for part in ("loss", "zlib", ""):
        by = {"by": "score", "part": part} if part else {}
        yield at("membership_auroc", **by)._replace(value=0.713, low=0.652, high=0.774)
    yield at("membership_blind", by="feature", part="length")._replace(value=0.52, low=0.45, high=0.59)
    for metric, value in (("judge_sensitivity", 0.93), ("judge_specificity", 0.98), ("judge_accuracy", 0.96)):
        yield at(metric)._replace(value=value, low=value - 0.02, high=value + 0.01)
    yield at("judge_flips")._replace(value=0.01)
    for part in "ABCF":
        yield at("detector_recall", by="category", part=part)._replace(value=0.9)


def _cohorts(draws: Draws, arms: dict[str, int]) -> Iterator[Row]:
    for diagnosis, most in SETS.items():
        sets = min(most, *arms.values())
        yield _figure("cohort_sets", sets, diagnosis=diagnosis)
        yield _figure("patients", sets * 2 * len(arms), diagnosis=diagnosis)
        for arm in arms:
            cells = {"present": int(draws.integers(0, 15)), "absent": int(draws.integers(100, 300))}
            of = 2 * sets + sum(cells.values())
            unknown = int(draws.choice([0, 2, 20]))
            if unknown:
                place = {"diagnosis": diagnosis, "arm": arm, "by": "reason", "part": "age or sex unknown"}
                yield count_row("excluded", unknown, of + unknown, **place)
            for part, left in cells.items():
                where = {"diagnosis": diagnosis, "arm": arm, "by": "status", "part": part}
                yield count_row("candidates", sets + left, of, **where)
                yield count_row("unmatched", left, sets + left, **where)
            if arm == "train":
                yield share_row("prevalence", sets + cells["present"], of, diagnosis=diagnosis)
        for by in ("age", "sex", "notes"):
            for part in ("train: with against without", "with: train against nontrain"):
                behind = int(draws.integers(0, 30)) if by == "sex" else sets
                yield _figure("smd", float(draws.normal(0, 0.06)), behind, diagnosis=diagnosis, by=by, part=part)


def _corpus(draws: Draws, arms: dict[str, int], people: dict[str, dict[str, np.ndarray]]) -> Iterator[Row]:
    several = 0
    for arm, size in arms.items():
        yield _figure("patients", size, arm=arm)
        yield _figure("notes", size * 4, arm=arm)
        yield _figure("age_mean", 47.3 + float(draws.normal()), size, arm=arm)
        for by, of in people[arm].items():
            for part in GROUPS[by]:
                yield share_row("population", int((of == part).sum()), size, arm=arm, by=by, part=part)
        for metric, chance in (("long_notes", 0.05), ("several_ids", 0.03), ("tagged_notes", 0.5)):
            count = int(draws.binomial(size, chance))
            several += count * (metric == "several_ids")
            yield share_row(metric, count, size, arm=arm)
    if len(arms) == 2:
        # They have several ids.
        yield share_row("in_both_arms", min(several, int(draws.choice([0, 1, 2]))), sum(arms.values()))
        found = int(draws.binomial(arms["train"], 0.1))
        yield share_row("membership_found", found, arms["train"])
