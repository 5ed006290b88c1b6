"""`clinaudit unlearn build` (docs/unlearning.md). Owns its options and what it prints; computes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clinaudit.audit.commands.options import (
    PATH,
    Command,
    not_empty,
    options_of,
    served_endpoint,
    template_option,
    value_option,
    with_options,
)
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.console.streams import say_of_finished_work
from clinaudit.audit.runtime.settings import ServedModelOptions
from clinaudit.errors import UsageError

if TYPE_CHECKING:
    from clinaudit.audit.unlearning.benchmark.build import BuildRequest, KeywordSource, Source
    from clinaudit.audit.unlearning.benchmark.files import Bench
    from clinaudit.audit.unlearning.benchmark.records import Keyword

_SERVED = "served"


def _source_option(flag: str, offline: str, who: str) -> Callable[[Command], Command]:
    return click.option(
        flag, metavar=f"{offline}|served|FILE", default=offline, show_default=True, callback=not_empty, help=who
    )


@click.command()
@click.argument("corpus", type=PATH, metavar="CORPUS")
@value_option("--out BENCH", "Directory of the benchmark, new or its own.", required=True)
@_source_option("--qa", "templates", "Who asks: templates, a served model, or a file of questions made elsewhere.")
@_source_option(
    "--categories",
    "notes",
    "Who says which disease a patient has: what the latest note is about, a served model, or a file.",
)
@value_option(
    "--percent P",
    "Share of the patients to be forgotten (repeatable).  [default: 5, 10, 15, 20, 25]",
    click.IntRange(1, 50),
    multiple=True,
    name="percents",
)
@value_option(
    "--request FILE",
    "File of patient ids, one a line, who must be forgotten: a split of them beside the others.",
    name="forgotten",
)
@template_option()
@with_options(options_of(ServedModelOptions))
@value_option("--panel FILE", "Three served judges, who check up to 900 categories and 1,000 questions.")
@value_option("--seed", "Of questions and splits.", click.IntRange(0, 2**31), default=0)
@click.option("--quiet", is_flag=True, help="Print nothing.")
def build(quiet: bool, **options: Any) -> int:
    """Build a benchmark of unlearning: questions on each patient of CORPUS, and who is to be forgotten.

    Each patient gets a disease category and eight questions, four of recall and four that infer something; one of each
    is withheld from all training. Templates ask of notes with sections, such as the demo's; of others let a served
    model or a file ask. Forget sets are nested, at random and of one disease; --request adds one of patients who must
    be forgotten. BENCH is PHI, as CORPUS is. A stopped build goes on with the same command.

    \b
    Example:
      clinaudit unlearn build corpus/ --out bench/
      clinaudit unlearn build corpus/ --out bench/ --request ids.txt
      clinaudit unlearn build corpus/ --out bench/ --qa questions.jsonl --categories categories.csv
      clinaudit unlearn build corpus/ --out bench/ --qa served --served-url http://127.0.0.1:8000/v1 --served-model NAME
      clinaudit unlearn build corpus/ --out bench/ --panel judges.toml
    """
    from clinaudit.audit.unlearning.benchmark.build import build_bench
    from clinaudit.audit.unlearning.benchmark.statistics import bench_text

    progress = Progress(quiet=quiet)
    counts = build_bench(_request(**options), progress, keywords=_keywords(progress))
    if not quiet:
        say_of_finished_work(bench_text(counts))
    return 0


def _keywords(progress: Progress) -> "KeywordSource":
    from clinaudit.audit.unlearning.benchmark.build import KeywordSource
    from clinaudit.audit.unlearning.metrics.keywords import EnglishParser, extract_keywords, load_seeds

    seeds = load_seeds()
    parser = EnglishParser(seeds.lexicon)

    def read(bench: "Bench") -> "list[Keyword]":
        with progress.stage("reading keywords", total=len(bench.questions), unit="questions") as advance:
            return extract_keywords(bench, parser, seeds=seeds, advance=advance)

    return KeywordSource(parser.name, read, seeds.of_patient)


def _request(*, qa: str, categories: str, **options: Any) -> "BuildRequest":
    from clinaudit.audit.runtime.served.access import ServedOptions
    from clinaudit.audit.unlearning.benchmark.build import BuildRequest
    from clinaudit.audit.unlearning.benchmark.splits import PERCENTS

    url, model, key = (options.pop(f"served_{name}") for name in ("url", "model", "key_file"))
    approved, is_asked, endpoint = options.pop("phi_approved"), _SERVED in (qa, categories), served_endpoint(url, model)
    for is_wrong, said in (
        (
            is_asked and endpoint is None,
            "served was asked for, and no model is named; give --served-url and --served-model",
        ),
        (endpoint and not is_asked, "--served-url and --served-model go with --qa served or --categories served"),
        (key and endpoint is None, "--served-key-file goes with --served-url and --served-model"),
    ):
        if is_wrong:
            raise UsageError(said)
    percents = tuple(sorted(set(options.pop("percents")))) or PERCENTS
    return BuildRequest(
        questions=_source(qa, offline="templates"),
        categories=_source(categories, offline="notes"),
        percents=percents,
        served=None if endpoint is None else ServedOptions(*endpoint, approved, key),
        approved_hosts=approved,
        **{name: value for name, value in options.items() if value is not None},
    )


def _source(value: str, *, offline: str) -> "Source | Path":
    if value == offline:
        return "offline"
    return "served" if value == _SERVED else Path(value)
