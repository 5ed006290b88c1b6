"""What `import clinaudit` gives: the commands as functions, with the same settings and errors (docs/results.md)."""

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import polars as pl

from clinaudit.audit.pii.detectors.site_rules import read_site_rules
from clinaudit.audit.pii.masking.detection import filter_detectors
from clinaudit.audit.pii.masking.prompt import PromptMasker
from clinaudit.audit.pii.masking.written_tags import Forms, unmask_text
from clinaudit.audit.runtime.choices import MaskingPolicy
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import UsageError
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.run_results import Rule, RunReport, RunResults, Verdict


@dataclass(frozen=True, slots=True)
class Results:
    """What a finished run found: the verdict, its rules, and the table of estimates; a notebook shows the verdict.

    Example::

        load_results("run/").estimates.filter(metric="attributable_fraction", form="text", arm="train")
    """

    #: None where the run had no policy.
    decision: Verdict | None
    #: Every figure, a row each (docs/metrics.md); published, or exact (PHI) where that was asked for.
    estimates: pl.DataFrame
    #: Everything that `results.json` holds.
    results: RunResults

    @property
    def rules(self) -> list[Rule]:
        """The rules of the policy, and how each fared."""
        return [] if self.decision is None else list(self.decision.rules)

    @classmethod
    def of(cls, report: RunReport) -> "Results":
        """Return what a report holds."""
        return cls(report.results.verdict, report.estimates.frame, report.results)

    def _repr_html_(self) -> str:
        from clinaudit.reports.terminal import report_text

        return _preformatted(report_text(RunReport(self.results, Estimates(self.estimates), {})))


@dataclass(frozen=True, slots=True)
class Check:
    """What an audit of a corpus would cover: the text of `clinaudit check`, and the problems that it names."""

    text: str
    #: What stands under PROBLEMS in the text, unwrapped, in that order; empty: none was found.
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _preformatted(self.text)


@dataclass(frozen=True, slots=True)
class Masked:
    """A masked text; `unmask` puts the identifiers back into an answer to it."""

    #: None: withheld, since a detector failed, or still found somebody after some rounds.
    text: str | None
    #: The question, masked as the text is; None where there is none.
    question: str | None
    #: How many tags stand in the text.
    tags: int
    #: Why the text is withheld.
    withheld: str | None
    #: What each tag stands for. PHI.
    forms: Forms = field(repr=False)


def run_audit(model: str | Path, corpus: str | Path, *, out: str | Path, **options: Any) -> Results:
    """Audit a model against a corpus, or resume an audit that was stopped; return the published results.

    `options` are those of `clinaudit audit`, with underscores: `tier=("public", "encounter")`, `policy="strict"`. The
    report is `out/report.html`. Raises `UsageError` for a wrong option and `BadInputError` for input that cannot be
    used.
    """
    from clinaudit.audit.assembly.pipeline import run_audit as run

    return Results.of(run(AuditSettings.of(model=str(model), corpus=corpus, out=out, **options)))


def load_results(run: str | Path, *, exact: bool = False) -> Results:
    """Return what a finished run found, as published; `exact` gives its exact figures, which are PHI.

    Raises `IntegrityError` where a file or the verdict was changed, `BadInputError` where the evidence was purged.
    """
    from clinaudit.audit.results.publication import published_files as files
    from clinaudit.audit.runtime.run.manifest import require_finished_run, verify

    finished = require_finished_run(Path(run))
    verify(finished, but=files.PAGES)
    published = files.read_published(finished)
    files.require_concluded(published)
    return Results.of(files.read_exact(finished) if exact else published)


def check(corpus: str | Path, **options: Any) -> Check:
    """Return what an audit of a corpus would cover, without a model; `options` as of `run_audit`, such as `template`.

    Raises `BadInputError` where the corpus cannot be read.
    """
    from clinaudit.audit.preview.survey import survey_corpus
    from clinaudit.audit.results.gate.policy import Guards

    settings = AuditSettings.of(model="", corpus=corpus, out=".", **options)
    survey = survey_corpus(settings, Progress(quiet=settings.quiet), minimum_unbroken_share=Guards().prompts)
    return Check(survey.text, survey.problems)


def mask(
    text: str,
    question: str | None = None,
    *,
    policy: MaskingPolicy = "minimum-necessary",
    identifier_rules: str | Path | None = None,
    rules_only: bool = False,
    name_model: str | Path | None = None,
) -> Masked:
    """Mask the identifiers in a text, except those that its question needs (docs/mask.md says how many are missed).

    Rules find them, those of the site's own file `identifier_rules` too, and a language model: the small one that is
    installed, the one in the directory `name_model`, or with `rules_only` none. Names of a site's own patients are
    known to `clinaudit mask --corpus` alone. Raises `UsageError` for another policy, and `BadInputError` for rules
    that are not valid or a model that cannot be used.
    """
    if policy not in get_args(MaskingPolicy):
        raise UsageError(f"policy: must be one of {', '.join(get_args(MaskingPolicy))}")
    site = [] if identifier_rules is None else [read_site_rules(Path(identifier_rules))]
    model = None if name_model is None else Path(name_model)
    masker = PromptMasker(filter_detectors(*site, rules_only=rules_only, name_model=model), policy=policy)
    masked = masker.mask((text, question))
    return Masked(masked.text, masked.query, masked.tags, masked.withheld, masked.forms)


def unmask(answer: str, masked: Masked) -> str:
    """Return an answer with its tags replaced by what they stand for (PHI); a tag of no prompt stays as it is."""
    return unmask_text(answer, masked.forms)[0]


def _preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
