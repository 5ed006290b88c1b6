"""`clinaudit pii bench` (docs/pii.md). Owns its options and what it prints; computes nothing."""

from typing import TYPE_CHECKING, Any, get_args

import click

from clinaudit.audit.commands.options import options_of, served_endpoint, value_option, with_options
from clinaudit.audit.runtime.choices import AskingStrategy, SampleDomain, SampleSubset
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.console.streams import say_of_finished_work
from clinaudit.audit.runtime.settings import ServedModelOptions
from clinaudit.errors import UsageError

if TYPE_CHECKING:
    from clinaudit.audit.pii.benchmark.request import BenchRequest


_MOST_SAMPLES = 100_000


def _number_or_full(_context: click.Context, _option: click.Parameter, value: str) -> int | None:
    if value == "full":
        return None
    # So short that it can be read, however long what was given is.
    is_number = value.isascii() and value.isdecimal() and len(value) <= len(str(_MOST_SAMPLES))
    if not is_number or not 1 <= int(value) <= _MOST_SAMPLES:
        raise click.BadParameter(f"it takes a number from 1 to {_MOST_SAMPLES}, or full")
    return int(value)


def _names(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(name.strip() for name in value.split(",") if name.strip())


@click.command()
@value_option("--out DIR", "Directory of the benchmark, new or its own.", required=True)
@click.option(
    "--samples",
    metavar="N|full",
    default="200",
    show_default=True,
    callback=_number_or_full,
    help="Samples of each subset and domain; full: as many as the paper has, 2,842 a domain.",
)
@value_option("--domain", "Of what.", click.Choice([*get_args(SampleDomain), "both"]), default="both")
@value_option(
    "--subset",
    "A subset of the paper (repeatable).  [default: all four]",
    click.Choice(get_args(SampleSubset)),
    multiple=True,
)
@click.option(
    "--systems",
    metavar="NAMES",
    callback=_names,
    help="Of rules, presidio, presidio_spacy, spacy, bilstm_crf, gold, served, with commas between.  [default: all, "
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
)
@value_option(
    "--embeddings DIR",
    "Encoder that tells how alike two answers are, for utility.  [default: all-MiniLM-L6-v2, as installed]",
)
@value_option("--seed", "Of samples, training and intervals.", click.IntRange(0, 2**31), default=0)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def bench(quiet: bool, **options: Any) -> int:
    """Measure systems that find identifying text, and that tell which of it a question needs.

    Samples are generated: descriptions of invented people with a question each, in four subsets, general and clinical.
    Each system finds the identifiers of every person (task 1), says which of them the question needs (task 2), and
    masks the others (task 3). DIR gets samples.jsonl, predictions.parquet, bench.json and bench.html. A stopped
    benchmark goes on with the same command.

    \b
    Example:
      clinaudit pii bench --out bench/
      clinaudit pii bench --out bench/ --samples full --systems rules,bilstm_crf
      clinaudit pii bench --out bench/ --served-url http://127.0.0.1:8000/v1 --served-model NAME --strategy naive
    """
    from clinaudit.audit.pii.benchmark.run import run_bench
    from clinaudit.audit.pii.benchmark.terminal_text import bench_text

    bench = run_bench(_request(**options), Progress(quiet=quiet))
    say_of_finished_work(bench_text(bench))
    return 0


def _request(*, systems: tuple[str, ...] | None, domain: Any, subset: Any, **options: Any) -> "BenchRequest":
    from clinaudit.audit.pii.benchmark.request import DEFAULT_SYSTEMS, SERVED, BenchRequest, MeasuredModel
    from clinaudit.audit.pii.benchmark.sample import DOMAINS, SUBSETS
    from clinaudit.audit.pii.benchmark.systems.served_questions import STRATEGIES

    url, model, approved, key_file, strategy, embeddings = (
        options.pop(name)
        for name in ("served_url", "served_model", "phi_approved", "served_key_file", "strategy", "embeddings")
    )
    endpoint = served_endpoint(url, model)
    served = None
    if endpoint is not None:
        strategies = tuple(one for one in STRATEGIES if one in strategy) or STRATEGIES
        served = MeasuredModel(*endpoint, approved, key_file, strategies, embeddings)
    elif key_file or strategy or embeddings:
        raise UsageError("--served-key-file, --strategy and --embeddings go with --served-url and --served-model")
    if systems is None:
        systems = (*DEFAULT_SYSTEMS, SERVED) if served else DEFAULT_SYSTEMS
    return BenchRequest(
        domains=DOMAINS if domain == "both" else (domain,),
        subsets=tuple(one for one in SUBSETS if one in subset) or SUBSETS,
        systems=systems,
        served=served,
        **options,
    )
