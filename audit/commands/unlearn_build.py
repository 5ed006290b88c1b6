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
@_source_option("--qa", "templates", "Source of the questions: templates, a served model, or a file.")
@_source_option(
    "--categories",
    "notes",
    "Source of each patient's disease category: the latest note, a served model, or a file.",
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
    "File of patient ids, one a line, to be forgotten as one more split.",
    name="forgotten",
)
@template_option()
@with_options(options_of(ServedModelOptions))
@value_option("--panel FILE", "Three served judges, who check categories and questions.")
@value_option("--panel-titles N", "Titles to check.  [default: 900]", click.IntRange(min=1))
@value_option("--panel-questions N", "Questions to check.  [default: 1000]", click.IntRange(min=1))
@value_option("--parser DIR", "A spaCy pipeline that finds keywords.  [default: English]")
@value_option("--seed", "Seed of questions and splits.", click.IntRange(0, 2**31), default=0)
@click.option("--quiet", is_flag=True, help="Print nothing.")
def build(quiet: bool, parser: Path | None, **options: Any) -> int:
    """Build a benchmark of unlearning: questions on each patient of CORPUS, and who is to be forgotten.

    Each patient gets a disease category and eight questions, four of recall and four that infer something; one of each
    is withheld from all training. Templates suit notes with sections, such as the demo's; for other notes give a served
    model or a file. Forget sets are nested, at random and of one disease; --request adds the set of patients who must
    be forgotten. BENCH is PHI, as CORPUS is. The same command resumes a stopped build.

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
    counts = build_bench(_request(**options), progress, keywords=_keywords(parser, progress))
    if not quiet:
        say_of_finished_work(bench_text(counts))
    return 0


def _keywords(parser_directory: Path | None, progress: Progress) -> "KeywordSource":
    from clinaudit.audit.unlearning.benchmark.build import KeywordSource
    from clinaudit.audit.unlearning.metrics.keywords import (
        extract_keywords,
        load_seeds,
        packaged_parser,
        parser_of_directory,
    )

    seeds = load_seeds()
    parser = packaged_parser(seeds.lexicon) if parser_directory is None else parser_of_directory(parser_directory)

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
        (
            options["panel"] is None and (options["panel_titles"] or options["panel_questions"]),
            "--panel-titles and --panel-questions go with --panel",
        ),
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
