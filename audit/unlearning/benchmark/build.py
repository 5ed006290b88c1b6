"""The benchmark, from a corpus to its files: who has which disease, what is asked, who is to be forgotten.

Read this first. Owns the order, the splits, and what is counted of patients who are left out. A stopped build is begun
again with the same command and gives the same bytes; what a served model answered is kept. Source: AMNESIA, section 3;
of the splits 3.2 and appendix C.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, settle_settings, sha256_of
from clinaudit.audit.runtime.served.access import ServedOptions, open_access
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of, open_answer_cache
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.audit.unlearning.benchmark import categories as diseases
from clinaudit.audit.unlearning.benchmark.charts import Chart, read_charts
from clinaudit.audit.unlearning.benchmark.files import Bench, BenchPatient, Keyword, Question, Split, write_bench
from clinaudit.audit.unlearning.benchmark.panel import draw_sample, judge_bench, read_judges
from clinaudit.audit.unlearning.benchmark.questions import sources
from clinaudit.audit.unlearning.benchmark.questions.selection import (
    NONE_USABLE,
    Candidate,
    Terms,
    address_reader,
    choose_questions,
    identifier_check,
    problem_of,
    question_row,
    shared_holdouts,
)
from clinaudit.audit.unlearning.benchmark.statistics import count_bench
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.patient import PatientList, read_patient_list
from clinaudit.reports.schema.unlearning import BenchCounts
from clinaudit.templates.profile import NoteProfile, load_profile, locate_profile

#: Table 5.
PERCENTS: Final = (5, 10, 15, 20, 25)
#: Fewest patients of a category whom its split must retain, so that the price others with the disease pay can be
#: measured [choice]; the paper's smallest such group has 103.
FEWEST_RETAINED: Final = 20


def split_patients(
    category_of: Mapping[str, str], *, categories: Sequence[str], seed: int, percents: Sequence[int] = PERCENTS
) -> tuple[list[Split], dict[str, list[int]]]:
    """Return all splits of the patients, random ones first, and the percentages of `categories` that are unavailable.

    One seeded permutation of the patients gives all of them: a random split forgets the first m of it, a category's
    split the first m of it who have the category. So splits of one kind are nested, all of one percentage are of one
    size, and whom of a category a random split forgets, the category's split of that percentage forgets too. What is
    unavailable is by the category and the reason. `category_of` holds the patients trained on; the result depends on
    their ids, their categories and the seed alone.
    """
    order = sorted(category_of)
    # Not Python's own hash: it differs from process to process.
    random.Random(f"clinaudit unlearning splits {seed}").shuffle(order)
    # Patients that a percentage forgets, a half rounded up.
    sizes = {percent: (percent * len(order) + 50) // 100 for percent in percents}

    def split(category: str | None, percent: int, candidates: Sequence[str]) -> Split:
        forget = tuple(candidates[: sizes[percent]])
        chosen = set(forget)
        retain = tuple(one for one in order if one not in chosen)
        return Split("random" if category is None else "category", category, percent, forget, retain)

    splits = [split(None, percent, order) for percent, size in sizes.items() if size]
    missing: dict[str, list[int]] = {}
    for category in categories:
        of_category = [patient_id for patient_id in order if category_of[patient_id] == category]
        for percent, size in sizes.items():
            if size and len(of_category) >= size + FEWEST_RETAINED:
                splits.append(split(category, percent, of_category))
            elif of_category:
                why = f"it would retain fewer than {FEWEST_RETAINED} patients of the category"
                if not size:
                    why = "the percentage of so few patients is none"
                elif len(of_category) < size:
                    why = "fewer patients have the category than the split forgets"
                missing.setdefault(f"{diseases.name_of(category)}: {why}", []).append(percent)
    return splits, missing


def split_request(named: Collection[str], trained: Collection[str]) -> Split:
    """Return the split that forgets the `named`; raises `ValueError` unless they are some of those `trained` on."""
    forget = sorted(named)
    retain = tuple(sorted(set(trained).difference(named)))
    if not set(named) <= set(trained) or not retain:
        raise ValueError("a request names some of the patients trained on, and not all of them")
    percent = max(1, (200 * len(forget) + len(trained)) // (2 * len(trained)))
    return Split("request", None, percent, tuple(forget), retain)


#: Where questions or categories come from, unless a file gives them.
Source = Literal["offline", "served"]


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
    #: Names three judges, who check categories and questions.
    panel: Path | None = None
    approved_hosts: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class KeywordSource:
    """What reads the keywords of a benchmark: metrics do, of which the benchmark knows nothing."""

    #: For the record.
    name: str
    read: Callable[[Bench], Sequence[Keyword]]
    #: Gives the seed terms of a patient by category and notes' texts, each as its words: questions ask for them.
    terms: Callable[[str, Sequence[str]], Terms]


#: Raised whenever a change of the code changes what is built from equal settings.
_VERSION: Final = 4
_SETTINGS: Final = "settings.json"


def build_bench(request: BuildRequest, progress: Progress, *, keywords: KeywordSource) -> BenchCounts:
    """Build a benchmark and write its files; return its counts.

    Raises `UsageError` where the directory is another's or was begun with other settings, `BadInputError` where nobody
    can be asked about, `IncompleteError` where a served model did not answer: what it answered is kept.
    """
    for path in (request.questions, request.categories, request.forgotten, request.panel):
        if isinstance(path, Path) and not path.is_file():
            raise BadInputError(f"there is no file {printable(path.name)}; name one that is there")
    if request.panel is not None:
        read_judges(request.panel)
    run = RunDirectory(request.out)
    with run.removed_on_failure():
        corpus = read_corpus(request.corpus)
        in_training = {one for one, patient in corpus.patients.items() if patient.split == "train"}
        named = None
        if request.forgotten is not None:
            named = read_patient_list(request.forgotten).as_people(corpus.people.person_of)
            _require_known(named, in_training, "the model was not trained on such a patient")
        run.require_begun_by(run.work / _SETTINGS, what="benchmark")
        run.create()
        with hold_lock(run), open_answer_cache(run) as cache:
            settings = {**_settings(request, corpus), "keywords": keywords.name}
            settle_settings(run.work / _SETTINGS, settings, what="this benchmark")
            profile = load_profile(request.template)
            progress.say("reading charts")
            building = _Building(request, corpus, profile, read_charts(corpus, profile), cache, progress, keywords)
            bench, counts = building.build(named, in_training, settings)
            write_bench(request.out, bench, corpus_path=request.corpus)
    return counts


def _require_known(named: PatientList, known: Collection[str], why: str) -> None:
    """Raise `BadInputError` with the lines of a request whose patients are not known. An id is never repeated."""
    problems = [f"{named.file_name} line {line}: {why}" for one, line in named.lines.items() if one not in known]
    if problems:
        raise BadInputError(f"{named.file_name} names patients whom no benchmark can forget", problems)


def _settings(request: BuildRequest, corpus: Corpus) -> dict[str, Any]:
    """Return what is compared when the build goes on: of files their content."""
    given = {
        name: f"file {sha256_of(source)}" if isinstance(source, Path) else source
        for name, source in (("questions", request.questions), ("categories", request.categories))
    }
    forgotten = {} if request.forgotten is None else {"request": sha256_of(request.forgotten)}
    return {
        **forgotten,
        **given,
        "version": _VERSION,
        "corpus": corpus.digest,
        "seed": request.seed,
        "percents": list(request.percents),
        "model": None if request.served is None else request.served.model,
        "template": sha256_of(locate_profile(request.template)),
    }


@dataclass(frozen=True, slots=True)
class _Building:
    """The charts of a corpus, asked about and categorized from whatever source the request names."""

    request: BuildRequest
    corpus: Corpus
    profile: NoteProfile
    charts: Mapping[str, Chart]
    cache: AnswerCache
    progress: Progress
    keywords: KeywordSource

    def build(
        self, named: PatientList | None, in_training: Collection[str], settings: Mapping[str, Any]
    ) -> tuple[Bench, BenchCounts]:
        """Return the benchmark with its counts; `named` are the patients of a request."""
        request, counted = self.request, dict[str, Any]()
        # Before any work: a faulty file is reported at once.
        offer = self._question_source()
        categories = self._categorize()
        questions = self._ask(offer, categories, counted)
        asked = list(dict.fromkeys(question.patient_id for question in questions))
        if named is not None:
            too_few = "too few questions can be asked of this patient; give them with --qa FILE"
            _require_known(named, asked, too_few)
        patients = [
            BenchPatient(
                patient_id=one,
                category=categories[one].category,
                category_source=categories[one].source,
                title=self.charts[one].title(),
                is_trained=one in in_training,
            )
            for one in asked
        ]
        counted["category_sources"] = dict(sorted(Counter(one.category_source for one in patients).items()))
        trained = {patient.patient_id: patient.category for patient in patients if patient.is_trained}
        splits, counted["splits_unavailable"] = split_patients(
            trained, categories=list(diseases.taxonomy()), seed=request.seed, percents=request.percents
        )
        if named is not None:
            splits.append(split_request(named.ids, trained))
        # Digests of ids and categories would confirm a guess of them.
        shown = {
            name: "file" if str(value).startswith("file ") else value
            for name, value in settings.items()
            if name != "request"
        }
        make = partial(Bench.of, self.corpus, patients=patients, questions=questions, splits=splits, settings=shown)
        bench = make()
        if request.panel is not None:
            judges = read_judges(request.panel, approved_hosts=request.approved_hosts)
            models = {name: self._open(judge) for name, judge in judges.items()}
            sample = draw_sample(bench, seed=request.seed)
            evidence = RunDirectory(request.out).evidence
            counted["panel"] = judge_bench(bench, sample, models, evidence, self.progress)
        found = self.keywords.read(bench)
        counted["keywords"] = len(found)
        counted["questions_without_keyword"] = len(questions) - len({one.qa_id for one in found})
        counts = count_bench(patients, questions, splits, **counted)
        return make(keywords=found, counts=counts), counts

    def _ask(
        self, offer: sources.Offer, categories: Mapping[str, diseases.Assigned], counted: dict[str, Any]
    ) -> list[Question]:
        """Return all questions; count what is left out."""
        questions: list[Question] = []
        dropped, refused = Counter[str](), Counter[str]()
        fit_others = told_in_training = 0
        source = self.request.questions
        origin = "given" if isinstance(source, Path) else "templates" if source == "offline" else source
        holds_identifier = identifier_check(self.corpus, self.profile, self.progress)
        address_of = address_reader(self.corpus, self.profile)

        def accept(candidate: Candidate, texts: Sequence[str]) -> str | None:
            problem = problem_of(candidate, texts, holds_identifier)
            refused.update([problem] if problem else [])
            return problem

        for patient_id, offered in offer(self.charts, holds_identifier, self.progress):
            texts = self.charts[patient_id].texts
            chosen: list[Candidate] | str
            if isinstance(offered, str):
                chosen = offered
            elif origin == "given":
                # All of them that may be asked, withheld where the file says so.
                chosen = [one for one in offered if accept(one, texts) is None] or NONE_USABLE
            else:
                terms = self.keywords.terms(categories[patient_id].category, texts)
                may_be_asked = partial(accept, texts=texts)
                chosen = choose_questions(patient_id, offered, accept=may_be_asked, seed=self.request.seed, terms=terms)
            if isinstance(chosen, str):
                dropped[chosen] += 1
                continue
            address = address_of(patient_id)
            questions += [question_row(patient_id, one, origin=origin, address=address) for one in chosen]
            told_in_training += shared_holdouts(chosen)
            fit_others += sum(not candidate.is_unique for candidate in chosen)
        if not questions:
            reasons = "; ".join(f"{reason}: {number}" for reason, number in sorted(dropped.items()))
            raise BadInputError(
                f"no patient can be asked about ({reasons}); give the note template of these notes with --template, "
                "or questions made elsewhere with --qa FILE"
            )
        counted |= {
            "patients_dropped": dict(sorted(dropped.items())),
            "questions_refused": dict(sorted(refused.items())),
            "questions_that_fit_others": fit_others,
            "holdout_questions_told_in_training": told_in_training,
        }
        return questions

    def _categorize(self) -> dict[str, diseases.Assigned]:
        source, found = self.request.categories, dict[str, diseases.Assigned]()
        if source == "served":
            found = diseases.categories_of_model(self.charts.values(), self._model(), self.progress)
        elif isinstance(source, Path):
            given = diseases.read_given_categories(source, self.corpus.ids)
            found = {patient: diseases.Assigned(category, "given") for patient, category in given.items()}
        return {
            patient: found.get(patient) or diseases.assign_category(chart) for patient, chart in self.charts.items()
        }

    def _question_source(self) -> sources.Offer:
        source = self.request.questions
        if isinstance(source, Path):
            return partial(sources.offer_given, sources.read_given_questions(source, self.corpus.ids))
        return partial(sources.offer_written, self._model()) if source == "served" else sources.offer_by_templates

    def _model(self) -> AnsweringModel:
        if self.request.served is None:
            raise UsageError("served was asked for, and no model is named; give --served-url and --served-model")
        return self._open(self.request.served)

    def _open(self, served: ServedOptions) -> AnsweringModel:
        seed = self.request.seed
        model, access = open_access(served)
        identity = identity_of(model, kind="unlearning-benchmark", seed=seed)
        # A panel has several endpoints: the model's name says which.
        name = f"the endpoint of {served.model}"
        return AnsweringModel(model, access, name=name, identity=identity, cache=self.cache, seed=seed)
