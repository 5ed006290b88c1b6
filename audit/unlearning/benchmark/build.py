"""The benchmark, from a corpus to its files: who has which disease, what is asked, who is to be forgotten.

Read this first. Owns the order, and what is counted of patients who are left out. A stopped build is begun again with
the same command and gives the same bytes; what a served model answered is kept. Source: AMNESIA, section 3.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, settle_settings
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.audit.runtime.served.access import ServedOptions, open_access
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of, open_answer_cache
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.audit.unlearning.benchmark.categories import (
    Assigned,
    categories_of_file,
    categories_of_model,
    read_given_categories,
)
from clinaudit.audit.unlearning.benchmark.charts import ChartReader
from clinaudit.audit.unlearning.benchmark.files import Bench, notes_of, write_bench
from clinaudit.audit.unlearning.benchmark.panel import draw_sample, judge_bench, read_judges
from clinaudit.audit.unlearning.benchmark.questions.given import GivenQuestion, given_keywords, read_given_questions
from clinaudit.audit.unlearning.benchmark.questions.rows import address_reader, identifier_check, question_rows
from clinaudit.audit.unlearning.benchmark.questions.selection import Chosen, Terms, shared_holdouts
from clinaudit.audit.unlearning.benchmark.questions.sources import (
    Asking,
    Choose,
    choose_by_templates,
    choose_given,
    choose_written,
    read_truth,
)
from clinaudit.audit.unlearning.benchmark.records import BenchPatient, Keyword, Question, QuestionOrigin, Split
from clinaudit.audit.unlearning.benchmark.splits import PERCENTS, split_patients, split_request
from clinaudit.audit.unlearning.benchmark.statistics import count_bench
from clinaudit.audit.unlearning.benchmark.taxonomy import taxonomy
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.patient import PatientList, read_patient_list
from clinaudit.reports.schema.unlearning_bench import BenchCounts, PanelCounts
from clinaudit.templates.profile import NoteProfile, load_profile, locate_profile

#: Where questions or categories come from, unless a file gives them.
Source = Literal["offline", "served"]
#: The paper's samples for its panel of judges: 900 titles, 1,000 questions (appendices F and G).
PANEL_TITLES: Final = 900
PANEL_QUESTIONS: Final = 1000


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """The judges that check categories and questions."""

    #: Names three judges.
    file: Path
    approved_hosts: Collection[str] = ()
    titles: int = PANEL_TITLES
    questions: int = PANEL_QUESTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """One benchmark to build."""

    corpus: Path
    out: Path
    #: Templates, a served model, or a file of questions made elsewhere.
    questions: Source | Path = "offline"
    #: What the notes are about, a served model, or a file of categories.
    categories: Source | Path = "offline"
    percents: tuple[int, ...] = PERCENTS
    #: Ids, one a line, of patients who must be forgotten: they get a split of their own.
    forgotten: Path | None = None
    seed: int = 0
    template: Path | None = None
    served: ServedOptions | None = None
    panel: PanelOptions | None = None


#: Raised whenever a change of the code changes what is built from equal settings.
_VERSION: Final = 2
_SETTINGS: Final = "settings.json"


@dataclass(frozen=True, slots=True)
class KeywordSource:
    """What reads the keywords of a benchmark: metrics do, of which the benchmark knows nothing."""

    #: For the record.
    name: str
    read: Callable[[Bench], Sequence[Keyword]]
    #: Gives the seed terms of a patient by category and notes' texts, each as its words: questions ask for them.
    terms: Callable[[str, Sequence[str]], Terms]


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
    #: Of questions made elsewhere that bring their own: qa_id -> terms.
    keywords: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, patient_id: str, chosen: Chosen, *, origin: QuestionOrigin, address: str) -> None:
        """Add a patient with the questions chosen."""
        self.patients.append(patient_id)
        self.questions.extend(question_rows(patient_id, chosen, origin=origin, address=address))
        self.shared_holdouts += shared_holdouts(chosen)
        self.shared_descriptions += sum(not question.is_unique for question in chosen.questions)


def build_bench(request: BuildRequest, progress: Progress, *, keywords: KeywordSource) -> BenchCounts:
    """Build a benchmark and write its files; return its counts.

    Raises `UsageError` where the directory is another's or was begun with other settings, `BadInputError` where nobody
    can be asked about, `IncompleteError` where a served model did not answer: what it answered is kept.
    """
    _require_files(request)
    run = RunDirectory(request.out)
    with run.removed_on_failure():
        corpus, profile = read_corpus(request.corpus), load_profile(request.template)
        in_training = {one for one, patient in corpus.patients.items() if patient.split == "train"}
        named = None
        if request.forgotten is not None:
            named = read_patient_list(request.forgotten).as_people(corpus.people.person_of)
            _require_known(named, in_training, "the model was not trained on such a patient")
        run.require_begun_by(run.work / _SETTINGS, what="benchmark")
        run.create()
        with hold_lock(run):
            settings = {**_settings(request, corpus), "keywords": keywords.name}
            settle_settings(run.work / _SETTINGS, settings, what="this benchmark")
            with open_answer_cache(run) as cache:
                work = _Work(request, corpus, profile, cache, progress)
                categories = work.categorize()
                asked = work.ask(
                    lambda one: keywords.terms(categories[one].primary, [note.text for note in work.charts[one].notes])
                )
                if named is not None:
                    too_few = "too few questions can be asked of this patient; give them with --qa FILE"
                    _require_known(named, asked.patients, too_few)
                patients = [
                    BenchPatient(
                        patient_id=one,
                        category=categories[one].primary,
                        categories=categories[one].categories,
                        category_source=categories[one].source,
                        title=work.charts[one].title(),
                        is_trained=one in in_training,
                    )
                    for one in asked.patients
                ]
                splits, counts = _split_and_count(request, corpus, patients, asked, named)
                make = partial(
                    Bench.of,
                    corpus,
                    patients=patients,
                    questions=asked.questions,
                    splits=splits,
                    settings=_shown(settings),
                )
                bench = make()
                added: dict[str, Any] = {}
                if request.panel is not None:
                    added["panel"] = work.judge(bench, request.panel, run.evidence)
            # Those that a file gives stand in place of those read.
            read = (keyword for keyword in keywords.read(bench) if keyword.qa_id not in asked.keywords)
            given = asked.keywords.items()
            own = [Keyword(qa_id, term, 1.0, ("answer",)) for qa_id, terms in given for term in terms]
            found = [*read, *own]
            added["keywords"] = len(found)
            added["questions_without_keyword"] = len(asked.questions) - len({one.qa_id for one in found})
            counts = counts.model_copy(update=added)
            write_bench(request.out, make(keywords=found, counts=counts), corpus_path=request.corpus)
    return counts


def _require_files(request: BuildRequest) -> None:
    """Raise `BadInputError` for a file that is not there, before any work."""
    panel = None if request.panel is None else request.panel.file
    for path in (request.questions, request.categories, request.forgotten, panel):
        if isinstance(path, Path) and not path.is_file():
            raise BadInputError(f"there is no file {printable(path.name)}; name one that is there")
    if panel is not None:
        read_judges(panel)


def _require_known(named: PatientList, known: Collection[str], why: str) -> None:
    """Raise `BadInputError` with the lines of a request whose patients are not known. An id is never repeated."""
    problems = [f"{named.file_name} line {line}: {why}" for one, line in named.lines.items() if one not in known]
    if problems:
        raise BadInputError(f"{named.file_name} names patients whom no benchmark can forget", problems)


def _settings(request: BuildRequest, corpus: Corpus) -> dict[str, Any]:
    forgotten = {} if request.forgotten is None else {"request": sha256_of(request.forgotten)}
    return {
        **forgotten,
        "version": _VERSION,
        "corpus": corpus.digest,
        "seed": request.seed,
        "percents": list(request.percents),
        "questions": _described(request.questions),
        "categories": _described(request.categories),
        "model": None if request.served is None else request.served.model,
        "template": sha256_of(locate_profile(request.template)),
    }


def _described(source: Source | Path) -> str:
    """Return what is compared when the build goes on: of a file its content."""
    return f"file {sha256_of(source)}" if isinstance(source, Path) else source


def _shown(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `bench.json` says of the settings: digests of ids and categories would confirm a guess of them."""
    given = {name: value for name, value in settings.items() if name != "request"}
    return {
        name: "file" if isinstance(value, str) and value.startswith("file ") else value for name, value in given.items()
    }


class _Work:
    """The charts of a corpus, asked about and categorized from whatever source the request names."""

    def __init__(
        self, request: BuildRequest, corpus: Corpus, profile: NoteProfile, cache: AnswerCache, progress: Progress
    ) -> None:
        self._request = request
        self._corpus = corpus
        self._profile = profile
        self._cache = cache
        self._progress = progress
        progress.say("reading charts")
        reader = ChartReader(corpus, profile)
        self.charts = {patient_id: reader.read(patient_id) for patient_id in corpus.patients}
        # Before any work: a faulty file is reported at once.
        self._given: Mapping[str, Sequence[GivenQuestion]] = {}
        self._origin, self._choose = self._question_source()
        self._given_categories = (
            read_given_categories(request.categories, corpus.ids) if isinstance(request.categories, Path) else {}
        )

    def ask(self, terms_of: Callable[[str], Terms]) -> "_Asked":
        """Return the questions of all patients; raises `BadInputError` where there is none.

        `terms_of` gives the terms of a patient's disease, by patient id.
        """
        asked = _Asked()
        holds_identifier = identifier_check(self._corpus, self._profile, self._progress)
        asking = Asking(self.charts, holds_identifier, self._request.seed, asked.refused, terms_of)
        address_of = address_reader(self._corpus, self._profile)
        for patient_id, chosen in self._choose(asking, self._progress):
            if isinstance(chosen, str):
                asked.dropped[chosen] += 1
            else:
                asked.add(patient_id, chosen, origin=self._origin, address=address_of(patient_id))
        if not asked.patients:
            reasons = "; ".join(f"{reason}: {number}" for reason, number in sorted(asked.dropped.items()))
            raise BadInputError(
                f"no patient can be asked about ({reasons}); give the note template of these notes with --template, "
                "or questions made elsewhere with --qa FILE"
            )
        asked.keywords = given_keywords(asked.questions, self._given)
        return asked

    def categorize(self) -> dict[str, Assigned]:
        """Return the categories of all patients."""
        charts = list(self.charts.values())
        if self._request.categories == "served":
            return categories_of_model(charts, self._model(), self._progress)
        return categories_of_file(charts, self._given_categories)

    def judge(self, bench: Bench, panel: PanelOptions, evidence: Path) -> PanelCounts:
        """Ask the panel, write what it says, and return its figures."""
        judges = read_judges(panel.file, approved_hosts=panel.approved_hosts)
        models = {name: self._open(judge) for name, judge in judges.items()}
        sample = draw_sample(bench, titles=panel.titles, questions=panel.questions, seed=self._request.seed)
        return judge_bench(bench, sample, models, evidence, self._progress)

    def _question_source(self) -> tuple[QuestionOrigin, Choose]:
        source, corpus = self._request.questions, self._request.corpus
        if isinstance(source, Path):
            self._given = read_given_questions(source, self._corpus.ids)
            return "given", partial(choose_given, self._given)
        if source == "served":
            return "served", partial(choose_written, self._model())
        return "templates", partial(choose_by_templates, read_truth(corpus) if corpus.is_dir() else {})

    def _model(self) -> AnsweringModel:
        served = self._request.served
        if served is None:
            raise UsageError("served was asked for, and no model is named; give --served-url and --served-model")
        return self._open(served)

    def _open(self, served: ServedOptions) -> AnsweringModel:
        model, access = open_access(served)
        identity = identity_of(model, kind="unlearning-benchmark", seed=self._request.seed)
        # A panel has several endpoints: the model's name says which.
        name = f"the endpoint of {served.model}"
        return AnsweringModel(model, access, name=name, identity=identity, cache=self._cache, seed=self._request.seed)


def _split_and_count(
    request: BuildRequest, corpus: Corpus, patients: Sequence[BenchPatient], asked: _Asked, named: PatientList | None
) -> tuple[list[Split], BenchCounts]:
    """Return who is to be forgotten, and all counts."""
    trained = {patient.patient_id: patient.category for patient in patients if patient.is_trained}
    splits, missing = split_patients(trained, categories=list(taxonomy()), seed=request.seed, percents=request.percents)
    if named is not None:
        splits.append(split_request(named.ids, trained))
    counts = count_bench(
        patients,
        asked.questions,
        splits,
        notes_of(corpus, patients),
        patients_dropped=dict(sorted(asked.dropped.items())),
        questions_refused=dict(sorted(asked.refused.items())),
        questions_that_fit_others=asked.shared_descriptions,
        holdout_questions_told_in_training=asked.shared_holdouts,
        category_sources=dict(sorted(Counter(patient.category_source for patient in patients).items())),
        splits_unavailable=missing,
    )
    return splits, counts
