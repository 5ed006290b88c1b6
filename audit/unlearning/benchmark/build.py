"""The benchmark, from a corpus to its files: who has which disease, what is asked, who is to be forgotten.

Read this first. Owns the order, and what is counted of patients who are left out. A stopped build is begun again with
the same command and gives the same bytes; what a served model answered is kept. Source: AMNESIA, section 3.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.run.begun_settings import settle_settings
from clinaudit.audit.run.directory import RunDirectory, hold_lock
from clinaudit.audit.run.durable_files import sha256_of
from clinaudit.audit.unlearning.benchmark.categories.assignment import Assigned, assign_category
from clinaudit.audit.unlearning.benchmark.categories.taxonomy import taxonomy
from clinaudit.audit.unlearning.benchmark.charts import Chart, ChartReader
from clinaudit.audit.unlearning.benchmark.files import Bench, BenchSource, BenchTables, bench_of, notes_of, write_bench
from clinaudit.audit.unlearning.benchmark.questions.addresses import address_reader
from clinaudit.audit.unlearning.benchmark.questions.identifiers import identifier_check
from clinaudit.audit.unlearning.benchmark.questions.rows import question_rows
from clinaudit.audit.unlearning.benchmark.questions.selection import Chosen, shared_holdouts
from clinaudit.audit.unlearning.benchmark.questions.templated import TemplatedQuestions
from clinaudit.audit.unlearning.benchmark.records import BenchPatient, Keyword, Question
from clinaudit.audit.unlearning.benchmark.request import BuildRequest
from clinaudit.audit.unlearning.benchmark.splits import split_patients
from clinaudit.audit.unlearning.benchmark.statistics import describe_bench
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.templates.profile import NoteProfile, load_profile

#: Raised whenever a change of the code changes what is built from equal settings.
_VERSION: Final = 1
KeywordReader = Callable[[Bench], Sequence[Keyword]]


@dataclass(slots=True)
class _Asked:
    """The questions of all patients who have any, and what was left out."""

    questions: list[Question] = field(default_factory=list)
    patients: list[str] = field(default_factory=list)
    #: Reason -> patients dropped for it.
    dropped: Counter[str] = field(default_factory=Counter)
    #: Reason -> questions that were not asked.
    refused: Counter[str] = field(default_factory=Counter)
    shared_holdouts: int = 0
    shared_descriptions: int = 0


def build_bench(request: BuildRequest, progress: Progress, *, read_keywords: KeywordReader) -> Mapping[str, Any]:
    """Build a benchmark and write its files; return its counts, as `bench.json` holds them.

    Raises `UsageError` where the directory was begun with other settings, `BadInputError` where nobody can be asked
    about, `IncompleteError` where a served model did not answer: what it answered is kept.
    """
    run = RunDirectory(request.out)
    with run.removed_on_failure():
        corpus, profile = read_corpus(request.corpus), load_profile(request.template)
        run.create()
        with hold_lock(run):
            settings = _settings(request, corpus)
            settle_settings(run.work / "settings.json", settings, what="this benchmark")
            progress.say("reading charts")
            reader = ChartReader(corpus, profile)
            charts = {patient_id: reader.read(patient_id) for patient_id in corpus.patients}
            asked = _ask(request, corpus, profile, charts, progress)
            categories = {patient_id: assign_category(charts[patient_id]) for patient_id in asked.patients}
            patients = [_patient(corpus, charts[one], categories[one]) for one in asked.patients]
            tables, counts = _tables(request, corpus, patients, asked)
            source = BenchSource(
                corpus_path=request.corpus, corpus_digest=corpus.digest, settings=settings, counts=counts
            )
            keywords = read_keywords(bench_of(tables, source, corpus))
            write_bench(request.out, replace(tables, keywords=keywords), source)
    return counts


def _settings(request: BuildRequest, corpus: Corpus) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "corpus": corpus.digest,
        "seed": request.seed,
        "percents": list(request.percents),
        "questions": request.questions,
        "categories": request.categories,
        "template": None if request.template is None else sha256_of(request.template),
    }


def _ask(
    request: BuildRequest, corpus: Corpus, profile: NoteProfile, charts: Mapping[str, Chart], progress: Progress
) -> _Asked:
    with progress.stage("reading names", total=len(corpus.patients), unit="patients") as advance:
        holds_identifier = identifier_check(corpus, profile, advance=advance)
    maker = TemplatedQuestions(request.corpus, charts, holds_identifier, seed=request.seed)
    address_of = address_reader(corpus, profile)
    asked = _Asked()
    for patient_id, chosen in maker.choose(progress):
        if isinstance(chosen, Chosen):
            asked.patients.append(patient_id)
            asked.questions.extend(
                question_rows(patient_id, chosen, origin="templates", address=address_of(patient_id))
            )
            asked.shared_holdouts += shared_holdouts(chosen)
            asked.shared_descriptions += sum(not question.is_unique for question in chosen.questions)
        else:
            asked.dropped[chosen] += 1
    asked.refused = maker.refused
    if not asked.patients:
        reasons = "; ".join(f"{reason}: {number}" for reason, number in sorted(asked.dropped.items()))
        raise BadInputError(
            f"no patient can be asked about ({reasons}); give the note template of these notes with --template, or "
            "questions made elsewhere with --qa FILE"
        )
    return asked


def _patient(corpus: Corpus, chart: Chart, assigned: Assigned) -> BenchPatient:
    return BenchPatient(
        patient_id=chart.patient_id,
        category=assigned.primary,
        categories=assigned.categories,
        category_source=assigned.source,
        title=chart.title(),
        is_trained=corpus.patients[chart.patient_id].split == "train",
    )


def _tables(
    request: BuildRequest, corpus: Corpus, patients: Sequence[BenchPatient], asked: _Asked
) -> tuple[BenchTables, dict[str, Any]]:
    """Return the rows without keywords, and all counts."""
    trained = {patient.patient_id: patient.category for patient in patients if patient.is_trained}
    splits, missing = split_patients(trained, categories=list(taxonomy()), seed=request.seed, percents=request.percents)
    counts = {
        **describe_bench(patients, asked.questions, splits, notes_of(corpus, patients)),
        "patients_dropped": dict(sorted(asked.dropped.items())),
        "questions_refused": dict(sorted(asked.refused.items())),
        "questions_that_fit_others": asked.shared_descriptions,
        "holdout_questions_told_in_training": asked.shared_holdouts,
        "category_sources": dict(sorted(Counter(patient.category_source for patient in patients).items())),
        "splits_unavailable": [
            {"category": one.category, "percent": one.percent, "reason": one.reason} for one in missing
        ],
    }
    return BenchTables(patients=patients, questions=asked.questions, splits=splits), counts
