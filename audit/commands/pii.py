"""`clinaudit pii`: samples, and how good a filter for identifying text is (docs/pii.md). Computes nothing."""

from collections.abc import Callable
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from clinaudit.audit.commands import options as shared
from clinaudit.audit.commands.options import PATH, Command, options_of, take_served, value_option, with_options
from clinaudit.audit.runtime.choices import AskingStrategy, SampleDomain, SampleSubset
from clinaudit.audit.runtime.console import Progress, say, say_of_finished_work
from clinaudit.audit.runtime.settings import ServedModelOptions
from clinaudit.errors import UsageError
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted

if TYPE_CHECKING:
    from clinaudit.audit.pii.benchmark.run import BenchRequest
    from clinaudit.audit.pii.review.review_file import AgreementReport

_MOST_SAMPLES = 100_000


def _number_or_full(_context: click.Context, _option: click.Parameter, value: str) -> int | None:
    if value == "full":
        return None
    # So short that it can be read, however long what was given is.
    is_number = value.isascii() and value.isdecimal() and len(value) <= len(str(_MOST_SAMPLES))
    if not is_number or not 1 <= int(value) <= _MOST_SAMPLES:
        raise click.BadParameter(f"it takes a number from 1 to {_MOST_SAMPLES}, or full")
    return int(value)


def _each_option(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--samples",
        "each",
        metavar="N|full",
        default=default,
        show_default=True,
        callback=_number_or_full,
        help="Samples of each subset and domain; full: as many as the paper has, 2,842 a domain.",
    )


_SUBSETS = value_option(
    "--subset",
    "A subset of the paper (repeatable).  [default: all four]",
    click.Choice(get_args(SampleSubset)),
    multiple=True,
    name="subsets",
)


@click.command()
@value_option("--out FILE", "Write the samples here, as JSONL; replaced.", required=True)
@_each_option("full")
@_SUBSETS
@value_option(
    "--domain",
    "The paper's mix of descriptions, or letters, messages and calls about patients.",
    click.Choice(get_args(SampleDomain)),
    default="general",
)
@value_option("--seed", "Seed of the samples.", click.IntRange(min=0), default=0)
@click.option("--quiet", is_flag=True, help="Print nothing.")
def samples(
    out: Path, each: int | None, subsets: tuple[SampleSubset, ...], domain: SampleDomain, seed: int, quiet: bool
) -> int:
    """Make samples to test filters of identifiers on: descriptions of invented people, each with a question.

    Everybody and everything in them is invented. FILE tells of each sample where every entity stands, whose it is, and
    which entities the question needs. The same seed gives the same bytes. Prints what the samples hold, beside what
    the paper's hold.

    \b
    Example:
      clinaudit pii samples --out samples.jsonl
      clinaudit pii samples --out few.jsonl --domain clinical --subset single --subset multi --samples 100 --seed 1
    """
    from clinaudit.audit.pii.benchmark.generator.generation import draw_samples
    from clinaudit.audit.pii.benchmark.scoring import describe_samples
    from clinaudit.audit.runtime.run.directory import require_writable, write_lines_atomically
    from clinaudit.reports.tables.pii_bench import statistics_table, types_table
    from clinaudit.reports.terminal import table_text

    require_writable(out, role="the samples")
    drawn = draw_samples(each=each, subsets=_chosen(SampleSubset, subsets), domains=[domain], seed=seed)
    write_lines_atomically(out, (sample.model_dump_json(exclude_none=True) for sample in drawn))
    if not quiet:
        rows = [row for row in describe_samples(drawn) if row.subset != "all"]
        tables = [table_text(statistics_table(rows)), table_text(types_table(rows))]
        say_of_finished_work("\n\n".join([*tables, harmless_text(f"samples: {out}")]))
    return 0


@click.command()
@click.argument("samples", type=PATH)
@click.argument("predictions", type=PATH)
@value_option("--out FILE", "Write the scores here, as JSON; replaced.", required=True)
@value_option("--seed", "Seed of the bootstrap.", click.IntRange(min=0), default=0)
@click.option("--quiet", is_flag=True, help="Print nothing.")
def score(samples: Path, predictions: Path, out: Path, seed: int, quiet: bool) -> int:
    """Score PREDICTIONS, made elsewhere, on SAMPLES of the benchmark.

    SAMPLES is JSONL as `clinaudit pii samples` writes it. PREDICTIONS is JSONL, one row a sample and system: sample,
    system, and any of subjects (each with its identifiers), query_related (the texts that the question needs) and
    masked (the texts that it does not need). A sample without a prediction scores 0 and is counted. FILE holds no text.

    \b
    Example:
      clinaudit pii score samples.jsonl predictions.jsonl --out scores.json
      clinaudit pii score samples.jsonl.gz predictions.jsonl.gz --out scores.json --seed 1
    """
    from clinaudit.audit.pii.benchmark.run import score_given
    from clinaudit.audit.pii.benchmark.sample import PREDICTION_FIELDS, iter_predictions, iter_samples
    from clinaudit.audit.runtime.run.directory import require_writable, write_atomically
    from clinaudit.priors.corpus.files import printable
    from clinaudit.priors.corpus.header import Header
    from clinaudit.reports.terminal import bench_text

    # Not `Path.resolve`, which knows no name for links that lead in a circle.
    if realpath(out) in {realpath(path) for path in (samples, predictions)}:
        raise UsageError(f"--out {printable(out.name)} is what is to be scored; name another file")
    require_writable(out, role="the scores")
    gold = list(iter_samples(samples))
    header = Header(PREDICTION_FIELDS)
    answers = list(iter_predictions(predictions, samples={sample.id for sample in gold}, header=header))
    scores = score_given(gold, answers, seed=seed)
    write_atomically(out, scores.model_dump_json(indent=1) + "\n")
    if not quiet:
        shared.warn_of_unread(header, predictions)
        say_of_finished_work(bench_text(scores))
    return 0


@click.command()
@value_option("--out DIR", "Directory of the benchmark, new or its own.", required=True)
@_each_option("200")
@value_option("--domain", "Domain of the samples.", click.Choice([*get_args(SampleDomain), "both"]), default="both")
@_SUBSETS
@click.option(
    "--systems",
    metavar="NAMES",
    help="Of rules, spacy, bilstm_crf, gold, served, with commas between.  [default: all, "
    "and served where its --served-url is given]",
)
@value_option(
    "--epochs N", "Passes of the BiLSTM-CRF over its samples; the paper has 50.", click.IntRange(1, 1000), default=50
)
@value_option("--training-samples", "Samples to train on.", click.IntRange(1, 100_000), default=2000)
@with_options(options_of(ServedModelOptions))
@value_option(
    "--strategy",
    "How a served model is asked what a question needs (repeatable).  [default: all six]",
    click.Choice(get_args(AskingStrategy)),
    multiple=True,
    name="strategies",
)
@value_option(
    "--embeddings DIR",
    "Encoder that tells how alike two answers are, for utility.  [default: all-MiniLM-L6-v2, as installed]",
)
@value_option("--seed", "Seed of samples, training and intervals.", click.IntRange(0, 2**31), default=0)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def bench(quiet: bool, **options: Any) -> int:
    """Measure systems that find identifying text, and that tell which of it a question needs.

    Samples are generated: descriptions of invented people with a question each, in four subsets, general and clinical.
    Each system finds the identifiers of every person (task 1), says which of them the question needs (task 2), and
    masks the others (task 3). DIR gets samples.jsonl, predictions.jsonl, bench.json and bench.html. What a served model
    answered is not asked again by the same command.

    \b
    Example:
      clinaudit pii bench --out bench/
      clinaudit pii bench --out bench/ --samples full --systems rules,bilstm_crf
      clinaudit pii bench --out bench/ --served-url http://127.0.0.1:8000/v1 --served-model NAME --strategy naive
    """
    from clinaudit.audit.pii.benchmark.run import run_bench
    from clinaudit.reports.terminal import bench_text

    say_of_finished_work(bench_text(run_bench(_request(**options), Progress(quiet=quiet))))
    return 0


def _request(
    *, each: int | None, systems: str | None, domain: Any, subsets: Any, strategies: Any, **options: Any
) -> "BenchRequest":
    from clinaudit.audit.pii.benchmark.run import DEFAULT_SYSTEMS, SERVED, BenchRequest

    served = take_served(options)
    if served is None and (strategies or options["embeddings"]):
        raise UsageError("--strategy and --embeddings go with --served-url and --served-model")
    named = tuple(name.strip() for name in (systems or "").split(",") if name.strip())
    return BenchRequest(
        samples=each,
        domains=get_args(SampleDomain) if domain == "both" else (domain,),
        subsets=_chosen(SampleSubset, subsets),
        systems=named if systems is not None else (*DEFAULT_SYSTEMS, *([SERVED] if served else [])),
        served=served,
        strategies=_chosen(AskingStrategy, strategies),
        **options,
    )


def _chosen(kind: Any, named: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return those words of a literal that are named, in its order; all where none is."""
    return tuple(one for one in get_args(kind) if one in named) or get_args(kind)


@click.command()
@click.argument("samples", type=PATH)
@value_option("--out PATH", "New folder for the page; with --reviews, new file for the agreement.", required=True)
@value_option(
    "--reviews FILE", "A review downloaded from the page (repeatable: one a reviewer, two or more).", multiple=True
)
@value_option("--seed", "Seed of the bootstrap.", click.IntRange(min=0), default=0)
def review(samples: Path, out: Path, reviews: tuple[Path, ...], seed: int) -> int:
    """Have people check SAMPLES, and say how far they agree.

    Without --reviews it writes PATH/review.html, a page that opens from the file, without a server, and sends nothing
    anywhere. A person accepts or corrects which identifiers stand in each text, whose they are, and which of them the
    question needs, then sees the masked text, and downloads a review.

    With two reviews or more it measures their agreement (observed, and Fleiss' kappa), and lists the samples with a
    kappa below 0.6 for an expert. Samples made from a site's notes are PHI, and so is the page. Nothing that exists is
    overwritten.

    \b
    Example:
      clinaudit pii review samples.jsonl --out page/
      clinaudit pii review samples.jsonl --reviews review-ab.json --reviews review-cd.json --out agreement.json
    """
    from clinaudit.audit.pii.review import review_file as of_reviews
    from clinaudit.audit.runtime.run.directory import require_writable

    if len(reviews) == 1:
        raise UsageError("--reviews is given once; agreement needs two reviews or more, each with its own --reviews")
    of_reviews.require_new_place(out)
    given, digest = of_reviews.read_sample_file(samples)
    if not reviews:
        of_reviews.write_review_page(list(given.values()), out, digest=digest)
        say(f"{counted(len(given), 'sample')} to be checked (PHI where made from notes)")
        say(harmless_text(f"page: {out / of_reviews.REVIEW_PAGE}"))
        return 0
    require_writable(out, role="the agreement")
    report = of_reviews.measure_reviews(
        given, of_reviews.read_reviews(reviews, given, digest=digest), digest=digest, seed=seed
    )
    of_reviews.write_agreement(report, out)
    _say_agreement(report)
    say(harmless_text(f"written: {out}"))
    return 0


def _say_agreement(report: "AgreementReport") -> None:
    from clinaudit.reports.wording.figures import figure_text

    say(f"{counted(len(report.reviewers), 'reviewer')}; samples done by each: {', '.join(map(str, report.done))}")
    names = {"detection": "identifiers", "query_related": "needed for the question"}
    for task, found in report.agreement.items():
        said = f"{names[task]}: "
        if found.observed is not None:
            behind = f"{counted(found.items, 'item')}, {counted(found.samples, 'sample')}"
            said += f"{found.observed:.1%} of the answers agree ({behind}); "
        say(f"{said}Fleiss' kappa {figure_text(found.kappa, interval=True)}")
    ids = {sample.id for sample in report.for_expert}
    unreadable = len(report.unreadable)
    say(f"for an expert (kappa below {report.expert_below}): {len(ids):,}; hard to read when masked: {unreadable:,}")


@click.group()
def pii() -> None:
    """Measure how well identifying text is found and masked (docs/pii.md).

    \b
    Example:
      clinaudit pii samples --out samples.jsonl
      clinaudit pii score samples.jsonl predictions.jsonl --out scores.json
      clinaudit pii bench --out bench/
      clinaudit pii review bench/samples.jsonl --out page/
    """


for _command in (samples, score, bench, review):
    pii.add_command(_command)
