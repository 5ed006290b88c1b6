"""Which number of a run's published results stands for which of its exact ones, by where both stand in the files.

Owns the names that differ, what has no counterpart and why, and when a published number holds an exact one. Works on
the JSON alone: it knows nothing of how either was computed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

#: By which of its fields a row of a list is found; a row without any is found by its place.
_NAMES: Final = (
    ("contrast", "covariate"),
    ("partition", "group"),
    *((name,) for name in ("id", "section", "notes", "k", "truth", "identifier", "epoch")),
)
#: Exact, as a pattern of its path -> published; the first that fits, else the same path.
RENAMED: Final = (
    # Means over patients, with the gate's interval; those over generations stay in the evidence.
    (r"(.*)/near_verbatim/by_patient/(\w+)/mean", r"\1/near_verbatim/\2/mean"),
    (r"(.*)/by_patient/(\w+)/(mean|bins/.*)", r"\1/\2/\3"),
    (r"(.*/other_patients)/fraction_bounds", r"\1/fraction/mean"),
    (
        r"(memorization/.*|renderings/.*)/((near_verbatim_)?attributable|memorized)_fraction_bounds",
        r"\1/\2_fraction/mean",
    ),
    (r"(subgroups/.*)/(attributable|exposed)_patients", r"\1/affected"),
    (r"(.*)/attributable_patients", r"\1/attributable_fraction/above/0/patients"),
    (r"(.*)/distribution/above/(\d)/(\w+)", r"\1/attributable_fraction/above/\2/\3"),
    (r"(.*)/distribution/bins/(.*)", r"\1/attributable_fraction/bins/\2"),
    (r"(.*)/near_verbatim/patients", r"\1/near_verbatim/fraction/above/0/patients"),
    (r"(.*)/near_verbatim/extra_patients", r"\1/near_verbatim/extra_fraction/above/0/patients"),
    (r"(.*)/empty_patients", r"\1/empty"),
    (r"(.*)/short_patients", r"\1/short"),
    (r"(.*)/region_length/(\w+)/mean", r"\1/region_\2"),
    (r"(.*)/piece_length/(\w+)/(\w+)/mean", r"\1/piece_length/\2/\3"),
    (r"(.*)/refusals/refused_patients", r"\1/refused_patients"),
    (r"(.*)/refusals/share", r"\1/refused_share"),
    (r"(.*)/(outcomes)/(.*)", r"\1/verdicts/\3"),
    (r"(corpus/(?:splits|cohorts)/.*|corpus/follow_up/.*)/mean", r"\1"),
    (r"judge_quality/agreement/agreement", "judge_quality/agreement"),
    (r"(cohorts/.*)/cells/\w+", r"\1/sets"),
)
#: Exact numbers without a counterpart, and why.
UNPUBLISHED: Final = {
    r"key|schema_version": "no number of patients",
    r"decision/.*": "the same in both files",
    r"completeness/\w+/(done|excluded/.*)": "what is missing is given; both arms together",
    r"(.*/)?(memorized|attributable|near_verbatim_attributable)_fraction(_\w+)?"
    r"|.*/other_patients/(fraction|sampled_fraction|chance)|.*/near_verbatim/(extra_)?fraction": "over generations",
    r".*/(hit_rate|other_patients/rate)": "over generations",
    r".*disclosure/.*/corrected/.*": "simulated: in the exact report alone",
    r".*/guard/(unguarded_.*|by_patient/.*)": "by the second rule: in the exact report alone",
    r".*/(generations|shorter_than_ngram|dropped_tokens|\w+_generations|refusals/refused)": "counts no patients",
    r"(memorization|renderings)/.*/empty": "counts generations",
    r".*/(paper_view|behind|zero_bounds|undefined_resamples|roc|overlap|distribution/(deciles|worst_tenth))/.*"
    r"|.*/(roc|worst_tenth|distribution/worst_tenth)": "in the exact report alone",
    r".*/recitation_cut_patients|.*/refusals/patients": "decides whether another figure is shown",
    r".*/(region_length|piece_length/\w+)/\w+/(median|p90|max)|.*/longest_region_length/\w+": "no quantiles",
    r"corpus/.*/(sd|min|max|p25|median|p75|p95)|corpus/follow_up/\w+/notes_per_year(/mean)?": "no quantiles",
    r"corpus/(splits|cohorts)/\w+/(notes|tokens|notes_without_practice)": "beside the mean it would give a size",
    r"corpus/cohorts/\w+/(practices|(notes|tokens|patients)_per_\w+)": "of cohorts no text is described",
    r"corpus/identifiability/\w+/patients": "a sum of the cells",
    r".*/sections/.*|.*/(k_distribution|copy_forward)/.*": "as shares of what is shown, alike in both reports",
    r"judge_quality/accuracy_by_diagnosis/\w+": "of the texts that ship alone",
    r".*/(mentioned|base_rate|unjudged)|.*/train/unjudged": "sums of the verdict table",
    r"subgroups/.*/(memorized_fraction|attributable_fraction|sensitivity|memorized_patients)": "no means of groups",
    r"identifiers/.*/(values/\w+|verified)": "a number of values may be one of patients",
    r"(renderings/\w+/)?identifiers/.*by_patient/.*": "the uppermost are one, and none is a bin (test_ranges_hold)",
    r"cohorts/.*/(few|few_before)": "decides whether a difference is shown",
    r"judge_quality/(agreement/(kappa|alpha)|second/(kappa|alpha|verdicts|answers/.*))": "in the exact report alone",
    r"drift/(prompts|patients|differing|differing_patients|equal_leading_share)": "none or some",
}
#: Exact intervals that are of another kind than the published one, and so are not compared.
OTHER_INTERVALS: Final = {
    r".*/auroc": "joined with a bootstrap's; what is published is DeLong's",
    r"identifiers/.*_per_1000": "a bootstrap's; what is published follows from the bins",
    r".*/detectable_delta": "has none",
}


class Pair(NamedTuple):
    """A published number beside the exact one, by where the exact one stands."""

    path: str
    exact: Any
    published: Any


def pair_leaves(exact: Mapping[str, Any], published: Mapping[str, Any]) -> Iterator[Pair | str]:
    """Yield each exact number with its published one, or the path of one that has none and should."""
    exact_leaves, shown = dict(list_leaves(exact)), dict(list_leaves(published))
    for path, leaf in exact_leaves.items():
        if any(re.fullmatch(pattern, path) for pattern in UNPUBLISHED) or isinstance(leaf, str | bool):
            continue
        if path.endswith("/not_mentioned") and "/outcomes/" in path:
            row = path.removesuffix("not_mentioned")
            yield Pair(path, leaf + exact_leaves[f"{row}ambiguous"], shown[f"{_find_place(row + 'undecided')}"])
            continue
        place = _find_place(path)
        if place in shown:
            yield Pair(path, leaf, shown[place])
        elif leaf is not None and not _is_withheld(place, shown) and not _is_pooled(place, shown):
            yield path


def list_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number, count, estimate and null with its path."""
    if isinstance(value, Mapping) and not _is_number(value):
        for key, item in value.items():
            # A slash in a key would part it.
            yield from list_leaves(item, f"{path}/{key.replace('/', ' ')}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from list_leaves(item, f"{path}/{_name_of(item, place)}")
    else:
        yield path.removeprefix("/"), value


def holds(pair: Pair) -> bool:
    """Whether a published number holds the exact one: a class, a range, a percent or two digits of it."""
    exact, published = pair.exact, pair.published
    value = exact["value"] if isinstance(exact, Mapping) else exact
    if published is None or value is None:
        return True
    if not isinstance(published, Mapping):
        # A count of nobody; a share, or a difference, to a percent or a tenth; a figure of text to two digits.
        unit = 0.01 if pair.path.endswith("share") else 0.1
        if abs(published) >= 1:
            unit = 10.0 ** (len(f"{abs(published):.0f}") - 2)
        return bool(abs(published - value) <= (0.0 if isinstance(value, int) else unit / 2 + 1e-6))
    if published["low"] is None and "reason" in published:
        return True
    high = float("inf") if published["high"] is None else published["high"]
    if not published["low"] - 1e-6 <= value <= high + 1e-6:
        return False
    if not isinstance(exact, Mapping) or exact["low"] is None or published.get("confidence_low") is None:
        return True
    if any(re.fullmatch(pattern, pair.path) for pattern in OTHER_INTERVALS):
        return True
    ends = published["confidence_low"], published["confidence_high"]
    upper = float("inf") if exact["high"] is None else exact["high"]
    return bool(ends[0] - 1e-6 <= exact["low"] and upper <= (float("inf") if ends[1] is None else ends[1]) + 1e-6)


def _find_place(path: str) -> str:
    for pattern, place in RENAMED:
        if re.fullmatch(pattern, path):
            return re.sub(pattern, place, path)
    return path


def _is_withheld(place: str, shown: Mapping[str, Any]) -> bool:
    """Whether something around it is null; of one diagnosis no group's disclosure is published."""
    parts = place.split("/")
    groups = "subgroups/disclosure/"
    if place.startswith(groups) and not any(one.startswith(groups) for one in shown):
        return True
    return any(shown.get("/".join(parts[:size]), 0) is None for size in range(1, len(parts)))


def _is_pooled(place: str, shown: Mapping[str, Any]) -> bool:
    """Whether its partition has too many cells, so that some are one."""
    parent = place.rpartition("/")[0]
    return f"{parent}/others" in shown or f"{re.sub(r' [^/]*$', '', parent)} others/patients" in shown


def _is_number(value: Mapping[str, Any]) -> bool:
    return value.keys() >= {"value", "reason"} or value.keys() == {"low", "high"}


def _name_of(item: Any, place: int) -> str:
    for fields in _NAMES:
        if isinstance(item, Mapping) and all(field in item for field in fields):
            return " ".join(str(item[field]).replace("/", " ") for field in fields)
    return str(place)
