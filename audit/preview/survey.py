"""What an audit of a corpus would cover, found without running a model (`clinaudit check`).

Labels are the table's or the lexicon's, tokens are estimated from characters, and nobody is matched: matching takes
seconds and hundreds of megabytes to load. The counts are exact, for the corpus's owner alone.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clinaudit.audit.measures.cohorts.stage import foresee_targets
from clinaudit.audit.measures.everyday.tasks import load_tasks
from clinaudit.audit.measures.judge.labels import Annotator, label_patients, label_source, labels_of_table
from clinaudit.audit.measures.judge.selection import make_judge
from clinaudit.audit.measures.population.description import tabulate_facts
from clinaudit.audit.preview.notes_fit import TableFit, measure_table_fit, measure_whole_fit, read_all_facts
from clinaudit.audit.preview.profile_fit import ProfileFit
from clinaudit.audit.preview.prompt_fit import PromptCount, count_prompts, unlimited_writer
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.served.question import estimate_tokens
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.facts import PatientFacts, identity_reader
from clinaudit.priors.fragments import Coverage
from clinaudit.priors.prompts import Prior, write_priors
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.templates.markup import find_styles
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.profile import NoteProfile, load_profile


@dataclass(frozen=True, slots=True)
class CorpusDescription:
    """Counts of a corpus; shared texts are compared with `\\r\\n` and `\\r` read as `\\n`."""

    #: By split: `patients`, `notes`, `dated` notes, and the patients of whom a table tells `age`, `sex`, `name`, `dob`.
    splits: Mapping[Split, Mapping[str, int]]
    #: Patients and notes of the validation split.
    validation: tuple[int, int]
    #: Distinct note texts that stand in notes of both splits.
    shared_texts: int
    #: Patients, of either split, with such a note.
    patients_with_shared_texts: int
    #: Style of a surrogate tag -> patients of whose notes some holds one.
    tagged: Mapping[str, int]


def describe_corpus(corpus: Corpus) -> CorpusDescription:
    """Count what is in a corpus."""
    splits: dict[Split, Counter[str]] = {"train": Counter(), "nontrain": Counter()}
    texts: list[tuple[bytes, str, Split]] = []
    tagged: Counter[str] = Counter()
    for patient_id, patient in corpus.patients.items():
        notes, counts, styles = corpus.notes_of(patient_id), splits[patient.split], set[str]()
        counts.update(patients=1, notes=len(notes), dated=sum(note.visit_date is not None for note in notes))
        known = {"age": patient.age, "sex": patient.sex, "name": patient.name, "dob": patient.dob or patient.birth_year}
        counts.update(fact for fact, value in known.items() if value is not None)
        for text in (normalize_newlines(note.text) for note in notes):
            # Digests: all texts together would not fit into memory.
            texts.append((hashlib.blake2b(text.encode(), digest_size=16).digest(), patient_id, patient.split))
            styles |= find_styles(text)
        tagged.update(styles)
    frame = pl.DataFrame(texts, schema={"text": pl.Binary, "patient_id": pl.String, "split": pl.String}, orient="row")
    shared = frame.filter(pl.col("split").n_unique().over("text") == 2)
    return CorpusDescription(
        splits=splits,
        validation=(len(corpus.validation), sum(len(corpus.notes_of(patient_id)) for patient_id in corpus.validation)),
        shared_texts=shared["text"].n_unique(),
        patients_with_shared_texts=shared["patient_id"].n_unique(),
        tagged=dict(sorted(tagged.items())),
    )


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found of a corpus, and what an audit would do, as far as it can be told without its model."""

    corpus: Corpus
    #: Where the corpus lies, for the commands that are proposed.
    corpus_path: Path
    profile: NoteProfile
    facts: Mapping[str, PatientFacts]
    about: CorpusDescription
    fit: ProfileFit
    table: TableFit
    #: What would be asked of the targets; and its counts.
    priors: tuple[Prior, ...]
    prompts: tuple[PromptCount, ...]
    #: `table`, or `lexicon`: read off the notes.
    label_source: str
    #: Patients by diagnosis, split and whether they have it; and the most matched sets that there can be.
    groups: Mapping[str, Mapping[tuple[Split, bool], int]]
    most_sets: Mapping[str, int]
    #: Rows of the diagnoses table that name none that an audit knows.
    unknown_labels: int
    #: Targets by split. Where there are any sets, targets and what is asked of them are about what an audit has.
    targets: Mapping[Split, int]
    #: Distinct prompts to be continued, by tier and form.
    generations: Mapping[tuple[str, str], int]
    #: Everyday tasks, each answered in every draw.
    everyday_answers: int
    #: Estimated tokens of the prompts and everyday tasks, and the most that would be written.
    prompt_tokens: int
    written_tokens: int

    @property
    def coverage(self) -> Coverage:
        """How many patients the rules of a policy have."""
        return Coverage(
            tiers={count.tier: (count.arms["train"]["made"], count.arms["nontrain"]["made"]) for count in self.prompts},
            smallest_groups=None
            if self.label_source != "table"
            else {
                diagnosis: min(count for (split, _), count in cells.items() if self.targets[split])
                for diagnosis, cells in self.groups.items()
            },
        )


def survey_corpus(settings: AuditSettings, progress: Progress) -> Survey:
    """Return what an audit with these settings would cover; raises as `read_corpus` and `load_profile` do.

    Of the settings those of corpus, template, tiers, panel and cohorts count; no model is looked at.
    """
    profile = load_profile(settings.template)
    corpus = read_corpus(settings.corpus, stated=identity_reader(profile))
    facts = read_all_facts(corpus, profile, progress, LocalRunner(settings.processes))
    panel = load_panel(settings.diagnoses, only=settings.diagnosis)
    labels = _labels(settings, corpus, facts, progress)
    splits: tuple[Split, ...] = ("train", "nontrain")
    groups = {diagnosis.id: {(split, has): 0 for split in splits for has in (True, False)} for diagnosis in panel}
    for patient_id, diagnosis, present in labels.select("patient_id", "diagnosis", "present").drop_nulls().iter_rows():
        if diagnosis in groups:
            groups[diagnosis][corpus.patients[patient_id].split, present] += 1
    known = {diagnosis.id for diagnosis in panel} | {diagnosis.id for diagnosis in load_panel(settings.diagnoses)}
    patients = tabulate_facts(facts.values(), corpus)
    sets, foreseen = foresee_targets(patients, labels=labels, panel=panel, settings=settings)
    targets: dict[str, list[str]] = dict(foreseen.iter_rows())
    writer = unlimited_writer(profile, max_new_tokens=settings.max_new_tokens, panel=panel)
    priors = write_priors(targets, facts=facts, probed=ProbedTiers(settings.probed.ids), writer=writer)
    # Equal prompts are continued once, and count in the tier's first form.
    planned = {(row.patient_id, row.tier, row.prompt): row for row in reversed(priors) if not row.excluded}
    arms = Counter(facts[patient_id].arm for patient_id in targets)
    # The likeliest answer, and one that is drawn.
    asked = [task.text for task in load_tasks().tasks for _ in range(2)]
    return Survey(
        corpus=corpus,
        corpus_path=settings.corpus,
        profile=profile,
        facts=facts,
        about=describe_corpus(corpus),
        fit=measure_whole_fit(facts, profile),
        table=measure_table_fit(facts.values()),
        priors=tuple(priors),
        prompts=tuple(count_prompts(priors)),
        label_source=label_source(corpus, "lexicon"),
        groups=groups,
        most_sets=sets,
        unknown_labels=sum(name not in known for _, name in corpus.diagnosis_labels or {}),
        targets={split: arms[split] for split in splits},
        generations=Counter((row.tier, row.form) for row in reversed(planned.values())),
        everyday_answers=len(asked),
        prompt_tokens=sum(map(estimate_tokens, [*(row.prompt for row in planned.values()), *asked])),
        written_tokens=sum(row.max_new_tokens for row in planned.values()) + len(asked) * settings.max_new_tokens,
    )


def _labels(
    settings: AuditSettings, corpus: Corpus, facts: Mapping[str, PatientFacts], progress: Progress
) -> pl.DataFrame:
    sensitive = load_panel(settings.diagnoses)
    table = labels_of_table(corpus, sensitive)
    if table is not None:
        # Without the judge, which takes seconds to load.
        return table
    judge = make_judge("lexicon", settings, panel=sensitive, seed=settings.seed)
    annotator = Annotator("lexicon", judge, sensitive, corpus, LocalRunner(settings.processes))
    return label_patients(facts, annotator, progress)[0]
