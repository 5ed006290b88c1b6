"""`clinaudit pii review`. Owns its options and what it prints; computes nothing."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.runtime.console.streams import say
from clinaudit.errors import UsageError
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted

if TYPE_CHECKING:
    from clinaudit.audit.pii.review.agreement import Agreement, AgreementReport


@click.command()
@click.argument("samples", type=PATH)
@click.option(
    "--out",
    type=PATH,
    required=True,
    metavar="DIR",
    help="New folder for the page, or for what the reviews give. With --reviews also a file, FILE.json: the agreement "
    "alone.",
)
@click.option(
    "--reviews",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="A review downloaded from the page (repeatable: one a reviewer, two or more).",
)
@click.option(
    "--draw", type=click.IntRange(min=1), metavar="N", help="Show N samples, drawn at random.  [default: all]"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draw and the bootstrap.")
def review(samples: Path, out: Path, reviews: tuple[Path, ...], draw: int | None, seed: int) -> int:
    """Have people check SAMPLES, and say how far they agree.

    Without --reviews it writes DIR/review.html, a page that opens from the file, without a server, and sends nothing
    anywhere. A person accepts or corrects which identifiers stand in each text, whose they are, and which of them the
    question needs, then sees the masked text, and downloads a review.

    With two reviews or more it measures their agreement (observed, and Fleiss' kappa), lists the samples with a kappa
    below 0.6 for an expert, and writes the samples by majority: DIR/samples.jsonl those settled, DIR/unresolved.jsonl
    those that are not, DIR/agreement.json both with the reasons. Samples made from a site's notes are PHI, and so is
    everything in DIR. Nothing that exists is overwritten.

    \b
    Example:
      clinaudit pii review samples.jsonl --out page/
      clinaudit pii review samples.jsonl --reviews review-ab.json --reviews review-cd.json --out checked/
    """
    from clinaudit.audit.pii.benchmark.sample_file import check_sample
    from clinaudit.audit.pii.review.agreement import measure_reviews
    from clinaudit.audit.pii.review.outcome import write_agreement, write_outcome
    from clinaudit.audit.pii.review.review_file import (
        REVIEW_PAGE,
        read_reviews,
        read_sample_file,
        require_new_place,
        write_review_page,
    )
    from clinaudit.audit.runtime.run.durable_files import require_writable

    if len(reviews) == 1:
        raise UsageError("--reviews is given once; agreement needs two reviews or more, each with its own --reviews")
    if reviews and draw is not None:
        raise UsageError("--draw chooses what a page shows; leave it out with --reviews")
    require_new_place(out)
    file = read_sample_file(samples)
    if not reviews:
        page = write_review_page(list(file.samples.values()), out, digest=file.digest, draw=draw, seed=seed)
        say(f"{len(page.samples):,} of {counted(page.found, 'sample')} to be checked (PHI where made from notes)")
        say(harmless_text(f"page: {out / REVIEW_PAGE}"))
        return 0
    given = read_reviews(reviews, file.samples, digest=file.digest)
    report = measure_reviews(file.samples, given, digest=file.digest, seed=seed)
    is_file = out.suffix == ".json"
    if is_file:
        require_writable(out, role="the agreement")
        write_agreement(report, out)
    _say_agreement(report)
    if not is_file:
        outcome = write_outcome(file, given, report, out, check=check_sample)
        say(f"samples: {outcome.as_they_were:,} as they were, {len(outcome.corrected):,} corrected by majority")
        say(f"unresolved: {len(outcome.unresolved):,}, kept apart as they were")
    say(harmless_text(f"written: {out}"))
    return 0


def _say_agreement(report: "AgreementReport") -> None:
    say(f"{counted(len(report.reviewers), 'reviewer')}; samples done by each: {', '.join(map(str, report.done))}")
    names = {"detection": "identifiers", "query_related": "needed for the question"}
    for task, found in report.agreement.items():
        say(f"{names[task]}: {_words(found)}")
    ids = {sample.id for sample in report.for_expert}
    unreadable = len(report.unreadable)
    say(f"for an expert (kappa below {report.expert_below}): {len(ids):,}; hard to read when masked: {unreadable:,}")


def _words(found: "Agreement") -> str:
    if found.observed is None:
        return f"no agreement to measure: {found.reason}"
    behind = f"{counted(found.items, 'item')}, {counted(found.samples, 'sample')}"
    observed = f"{found.observed:.1%} of the answers agree ({behind})"
    if found.kappa is None:
        return f"{observed}; no Fleiss' kappa: {found.reason}"
    return f"{observed}, Fleiss' kappa {found.kappa:.2f} (95% interval {found.kappa_low:.2f} to {found.kappa_high:.2f})"
