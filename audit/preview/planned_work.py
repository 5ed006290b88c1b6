"""Whom an audit would ask what, and how much a model would have to write: labels, cohorts, targets, prompts.

Owns the plan of an audit without its model: the labels are the table's or the lexicon's, tokens are estimated from
characters, and nobody is matched: the matchers take seconds and hundreds of megabytes to load. Knows nothing of how the
plan is printed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clinaudit.audit.cohorts.stage import CohortChoice, foresee_targets
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.judge.labels import Annotator, Labels, label_patients, labels_of_table
from clinaudit.audit.judge.selection import make_judge
from clinaudit.audit.settings import AuditSettings
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis, load_panel
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompt_fit import estimate_tokens, unlimited_writer
from clinaudit.priors.prompts import write_priors
from clinaudit.templates.profile import NoteProfile


@dataclass(frozen=True, slots=True)
class PlannedWork:
    """What an audit would do, as far as it can be told without its model."""

    #: `table`, or `lexicon`: read off the notes.
    label_source: str
    #: Targets by split, and those among them that stand in no cohort: a random sample.
    targets: Mapping[Split, int]
    sampled: Mapping[Split, int]
    #: The most matched sets (of four patients) that there can be, by diagnosis. Where there are any, targets and what
    #: is asked of them are about what an audit has.
    most_sets: Mapping[str, int]
    #: Distinct prompts to be continued, by tier and form.
    generations: Mapping[tuple[str, str], int]
    #: Estimated tokens: of the prompts, and the most that would be written.
    prompt_tokens: int
    written_tokens: int


def plan_work(
    settings: AuditSettings,
    *,
    corpus: Corpus,
    profile: NoteProfile,
    facts: Mapping[str, PatientFacts],
    panel: Sequence[Diagnosis],
    progress: Progress,
) -> tuple[PlannedWork, Mapping[str, Mapping[str, bool]]]:
    """Return the plan of an audit, and the labels by patient and diagnosis; runs no model."""
    writer = unlimited_writer(profile, max_new_tokens=settings.max_new_tokens, panel=panel)
    labels = _labels(settings, corpus, facts, progress)
    choice = CohortChoice.of(settings, corpus)
    sets, targets = foresee_targets(facts, status=labels.status, panel=panel, choice=choice)
    priors = write_priors(targets, facts=facts, probed=settings.probed, writer=writer)
    # Equal prompts are continued once, and count in the tier's first form.
    planned = {(row.patient_id, row.tier, row.prompt): row for row in reversed(priors) if not row.excluded}
    arms = Counter(facts[patient_id].arm for patient_id in targets)
    sampled = Counter(facts[patient_id].arm for patient_id, diagnoses in targets.items() if not diagnoses)
    splits: tuple[Split, ...] = ("train", "nontrain")
    work = PlannedWork(
        label_source=labels.source,
        targets={split: arms[split] for split in splits},
        sampled={split: sampled[split] for split in splits},
        most_sets=sets,
        generations=Counter((row.tier, row.rendering) for row in reversed(planned.values())),
        prompt_tokens=sum(estimate_tokens(row.prompt) for row in planned.values()),
        written_tokens=sum(row.max_new_tokens for row in planned.values()),
    )
    return work, labels.status


def _labels(settings: AuditSettings, corpus: Corpus, facts: Mapping[str, PatientFacts], progress: Progress) -> Labels:
    sensitive = load_panel(settings.diagnoses)
    table = labels_of_table(corpus, sensitive)
    if table is not None:
        # Without the judge, which takes seconds to load.
        return table
    judge = make_judge("lexicon", settings.judge_endpoint, panel=sensitive, approved_hosts=(), seed=settings.seed)
    return label_patients(facts, Annotator("lexicon", judge, sensitive, corpus), progress)
