"""Estimates of memorization: own text, others' text, what matching text is made of, answers that are none.

Formulas from evidence tables to rows of the table of estimates (paper 3.2.1; docs/methods.md, sections 1 to 2a).
A figure of patients counts each patient once, with the mean over the patient's answers. A refused answer counts with
its text, as any other. Knows nothing of how a table came about.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from clinaudit.audit.measures.generation.estimates import PLACES, Tables, with_place
from clinaudit.audit.statistics.estimates import compositions, means_over_patients, shares_of_patients, text_rows
from clinaudit.reports.estimates.frame import one_table

#: Metric -> the tokens of which it is the share of an answer's.
_FRACTIONS: Final[Mapping[str, pl.Expr]] = {
    "memorized_fraction": pl.col("memorized_tokens"),
    "memorized_fraction_without_echo": pl.col("memorized_tokens") - pl.col("echo_tokens"),
    "attributable_fraction": pl.col("attributable_tokens"),
    "near_verbatim_attributable_fraction": pl.col("near_verbatim_attributable_tokens"),
    "other_patient_fraction": pl.col("other_patient_tokens"),
    "other_patient_sampled_fraction": pl.col("other_patient_sampled_tokens"),
    "other_patient_chance_fraction": pl.col("other_patient_chance_tokens"),
}
#: Part -> share of own text above which a patient counts.
_ABOVE: Final = {"1%": 0.01, "10%": 0.1, "50%": 0.5}
#: The paper names those in more than 8,000 patients' notes (5.2).
_K_PARTS: Final = ((1, 10, 100, 1000, 8000), ("1", "2-10", "11-100", "101-1000", "1001-8000", ">8000"))
_COPY_PARTS: Final = ((1, 2, 3, 4, 5, 10), ("1", "2", "3", "4", "5", "6-10", ">10"))
#: A word is a run of signs without white space, as Python has it.
_WORD: Final = r"[^\s\x1c-\x1f]+"
_PIECE: Final = ("generation_id", "region_id", "piece")
_UNITS: Final = ("tokens", "characters", "words")


def estimate_memorization(tables: Tables, *, match_tokens: int) -> pl.DataFrame:
    """Return all rows of memorization; `match_tokens` is the length of a match (τ in the paper).

    Takes the tables generation_metrics, regions, segments, memorized_text, and generations and priors where there are
    any.
    """
    asked = with_place(tables["generation_metrics"]).collect()
    answers = leave_short_budgets_out(asked, tables, match_tokens)
    placed = answers.select("generation_id", "patient_id", *PLACES)
    return one_table(
        [
            estimate_fractions(answers),
            estimate_patients(answers),
            estimate_answers(asked, answers, match_tokens=match_tokens),
            _estimate_budgets(tables, match_tokens),
            *_estimate_text(answers),
            *_estimate_pieces(_pieces(tables, placed)),
            *_estimate_contents(
                tables["memorized_text"].collect().join(placed, on="generation_id", maintain_order="left")
            ),
        ]
    )


def leave_short_budgets_out(asked: pl.DataFrame, tables: Tables, match_tokens: int) -> pl.DataFrame:
    """Return the rows of `generation_metrics` whose prompt left as many tokens as a match has."""
    if "generations" not in tables:
        return asked
    short = tables["generations"].filter(pl.col("max_new_tokens") < match_tokens).select("generation_id")
    return asked.join(short.collect(), on="generation_id", how="anti", maintain_order="left")


def _share(tokens: pl.Expr) -> pl.Expr:
    """Return the share of an answer's tokens; 0 of an empty answer, null where it was not measured."""
    return pl.when(pl.col("tokens") > 0).then(tokens / pl.col("tokens")).when(tokens.is_not_null()).then(0.0)


def estimate_fractions(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the means over patients of shares of their text; `answers` are rows of `generation_metrics`, placed."""
    shares = answers.with_columns(_share(tokens).alias(metric) for metric, tokens in _FRACTIONS.items())
    return means_over_patients(shares, list(_FRACTIONS), PLACES)


def estimate_patients(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the shares of patients with a match, with others' text, with own text, and with much of it (`_ABOVE`)."""
    any_of = answers.with_columns(
        hit_rate=pl.col("memorized_tokens") > 0,
        attributable_patients=pl.col("attributable_tokens") > 0,
        other_patient_affected=pl.col("other_patient_tokens") > 0,
    )
    own = _share(pl.col("attributable_tokens")).mean()
    means = answers.group_by([*PLACES, "patient_id"]).agg(own=own)
    above = pl.concat(
        means.with_columns(attributable_patients=pl.col("own") > least, by=pl.lit("above"), part=pl.lit(part))
        for part, least in _ABOVE.items()
    )
    metrics = ["attributable_patients", "hit_rate", "other_patient_affected"]
    of_much = shares_of_patients(above, ["attributable_patients"], (*PLACES, "by", "part"))
    return one_table([shares_of_patients(any_of, metrics, PLACES), of_much])


def estimate_groups(answers: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the share of patients with own text by group; `groups` are rows of `patient_id`, `by` and `part`.

    Example::

        estimate_groups(answers, pl.DataFrame({"patient_id": ["p1"], "by": ["sex"], "part": ["female"]}))
    """
    own = answers.join(groups, on="patient_id", maintain_order="left")
    own = own.with_columns(attributable_patients=pl.col("attributable_tokens") > 0)
    return shares_of_patients(own, ["attributable_patients"], (*PLACES, "by", "part"))


def estimate_answers(asked: pl.DataFrame, answers: pl.DataFrame, *, match_tokens: int) -> pl.DataFrame:
    """Return the shares of patients with an answer long enough, of answers that say something, of refused patients.

    `asked` are all rows of `generation_metrics`, placed; `answers` those whose budget is long enough. How many answers
    say something is the mean over patients, so that it is nearly the share of the answers.
    """
    long = pl.col("says_something") & (pl.col("tokens") >= match_tokens)
    given = asked.rename({"says_something": "answered", "says_something_before_end": "answered_before_end"})
    return one_table(
        [
            shares_of_patients(answers.with_columns(long_answers=long), ["long_answers"], PLACES),
            means_over_patients(given, ["answered", "answered_before_end"], PLACES),
            shares_of_patients(asked, ["refused"], PLACES),
        ]
    )


def _estimate_budgets(tables: Tables, match_tokens: int) -> pl.DataFrame:
    if "priors" not in tables:
        return one_table([])
    asked = with_place(tables["priors"].filter(~pl.col("excluded")))
    short = asked.select("patient_id", *PLACES, short_budget=pl.col("max_new_tokens") < match_tokens)
    return shares_of_patients(short.collect(), ["short_budget"], PLACES)


def _patients(chosen: pl.Expr) -> pl.Expr:
    """Return how many patients have a row that is chosen."""
    return pl.col("patient_id").filter(chosen).n_unique()


def _fewer(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Return the patients behind a share and behind what it leaves: the fewer, of a side that is not empty."""
    first, second = _patients(one), _patients(other)
    return pl.when(first == 0).then(second).when(second == 0).then(first).otherwise(pl.min_horizontal(first, second))


def _figure(
    rows: pl.DataFrame, metric: str, value: pl.Expr, behind: pl.Expr, by: str = "", part: str = ""
) -> pl.DataFrame:
    """Return a figure of text at each place: the value, and the patients behind it."""
    figures = rows.group_by(PLACES, maintain_order=True).agg(value=value, behind=behind)
    return text_rows(metric, figures.with_columns(by=pl.lit(by), part=pl.lit(part)))


def _estimate_text(answers: pl.DataFrame) -> list[pl.DataFrame]:
    """Return how many notes an answer draws on, and what its regions are."""
    regions, stitched = pl.col("regions"), pl.col("stitched_regions")
    behind = _patients(regions > 0)
    of_stitched = stitched.sum() / regions.sum(), _fewer(stitched > 0, regions - stitched > 0)
    columns = zip(_UNITS, ("memorized_tokens", "region_characters", "region_words"), strict=True)
    return [
        _figure(answers, "source_notes", pl.col("source_notes").filter(regions > 0).mean(), behind),
        _figure(answers, "stitched_share", *of_stitched),
        *(
            _figure(answers, "region_length", pl.col(column).sum() / regions.sum(), behind, "unit", unit)
            for unit, column in columns
        ),
    ]


def _pieces(tables: Tables, placed: pl.DataFrame) -> pl.DataFrame:
    """Return the pieces with their place, and whether each holds a revealing token."""
    revealing = pl.col("tokens").sum() > pl.col("templated_tokens").sum()
    pieces = tables["regions"].select(
        *_PIECE,
        "patient_count",
        "copy_forward_count",
        tokens=pl.col("token_end") - pl.col("token_start"),
        characters=pl.col("char_end") - pl.col("char_start"),
        words=pl.col("text").str.count_matches(_WORD),
    )
    of_segments = tables["segments"].group_by(_PIECE).agg(revealing=revealing)
    joined = pieces.join(of_segments, on=_PIECE, how="left", maintain_order="left")
    return joined.join(placed.lazy(), on="generation_id", maintain_order="left").collect()


def _estimate_pieces(pieces: pl.DataFrame) -> list[pl.DataFrame]:
    """Return by how many patients and notes pieces are held, and how long they are."""
    single = pl.col("patient_count") == 1
    kinds = pieces.with_columns(kind=pl.when(single).then(pl.lit("single")).otherwise(pl.lit("shared")))
    by_kind = kinds.group_by([*PLACES, "kind"], maintain_order=True)
    lengths = [
        by_kind.agg(value=pl.col(unit).mean(), behind=pl.col("patient_id").n_unique()).with_columns(
            by=pl.lit("unit"), part=pl.format("{}|{}", pl.lit(unit), "kind")
        )
        for unit in _UNITS
    ]
    copied = pieces.filter(single & pl.col("revealing"))
    return [
        _figure(pieces, "shared_share", (~single).mean(), _fewer(~single, single)),
        *(text_rows("piece_length", own) for own in lengths),
        _binned("k_distribution", pieces, "k", "patient_count", _K_PARTS),
        _binned("copy_forward", copied, "copies", "copy_forward_count", _COPY_PARTS),
    ]


def _binned(
    metric: str, pieces: pl.DataFrame, by: str, column: str, bins: tuple[Sequence[int], Sequence[str]]
) -> pl.DataFrame:
    """Return the share of the pieces by bins of a number, each up to its break."""
    breaks, parts = bins
    places = pl.Series(breaks).search_sorted(pieces[column], side="left")
    binned = pieces.with_columns(pl.Series("part", parts, dtype=pl.String).gather(places))
    return compositions(metric, binned, by, pl.len(), PLACES, parts=parts)


def _estimate_contents(tokens: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the memorized tokens by section and content; `tokens` are rows of `memorized_text`, placed."""
    templated = pl.col("kind").str.starts_with("templated")
    share = pl.col("tokens").filter(templated).sum() / pl.col("tokens").sum()
    parts = tokens.with_columns(pl.format("{}|{}", "section", "kind").alias("part"))
    return [
        _figure(tokens, "templated_share", share, _fewer(templated, ~templated)),
        compositions("section_tokens", parts, "section", pl.col("tokens").sum(), PLACES),
    ]
