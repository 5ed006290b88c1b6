"""A result of `unlearn evaluate` made by hand: what answers keep of each patient is as the test says."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.hand_made_bench import bench_of, question

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.unlearning.benchmark.records import QUESTION_USES, Answer, BenchPatient, Question, Scores, Split
from clinaudit.audit.unlearning.evaluation.result_files import scores_file, write_result
from clinaudit.audit.unlearning.evaluation.robustness.parts import RobustnessOptions
from clinaudit.audit.unlearning.metrics.score_document import Making, describe_scores
from clinaudit.reports.schema.unlearning_evaluation import EvaluationRecord
from clinaudit.reports.schema.unlearning_scores import Document

#: Patient and use of the question to what the answer keeps and what it leaks beyond the question.
Kept = Callable[[str, str], tuple[float, float]]
#: Digests of the models of `compared_pair`.
DIGESTS = {"before": "a" * 64, "after": "b" * 64, "other": "f" * 64}
CORPUS = "c" * 64


def constant(kept: float, leaked: float = 0.0) -> Kept:
    return lambda _patient, _use: (kept, leaked)


def except_for(patients: Mapping[str, float], others: Kept) -> Kept:
    """What is kept of some patients, with as much leaked; of all others as before."""

    def kept(patient: str, use: str) -> tuple[float, float]:
        return (patients[patient],) * 2 if patient in patients else others(patient, use)

    return kept


def write_bench_result(
    root: Path,
    models: Mapping[str, Kept],
    *,
    forget: Sequence[str],
    retain: Sequence[str],
    never_trained: Sequence[str],
    category_of: Callable[[str], str] = lambda _patient: "cancer",
    written: Mapping[str, Callable[[str, str], str]] | None = None,
) -> Path:
    """Write the result of these models under a directory, and return that.

    `written` is what each model answers, by patient and use; without it nothing says whether answers read as before.
    """
    split = Split("random", None, 10, tuple(forget), tuple(retain))
    patients = [
        BenchPatient(one, category_of(one), (category_of(one),), "given", "t", is_trained=one not in never_trained)
        for one in (*forget, *retain, *never_trained)
    ]
    ids = [one.patient_id for one in patients]
    questions = [question(f"q-{use}-{one}", one, "q", "a", "a", use=use) for one in ids for use in QUESTION_USES]
    bench = bench_of(patients, questions, [split])
    scores = {name: [_score(name, asked, kept) for asked in questions] for name, kept in models.items()}
    answers = {
        name: [Answer(name, one.qa_id, write(one.patient_id, one.use), None) for one in questions]
        for name, write in (written or {}).items()
    }
    making = Making(
        split=split,
        form="addressed",
        entailment_metric="es_rules",
        made_with={},
        seed=0,
        before="before" if written else None,
        answers=answers,
    )
    documents: dict[str, Document] = {scores_file(split): describe_scores(scores, bench, making)}
    run = RunDirectory(root)
    run.create()
    described: dict[str, Any] = {
        "corpus_digest": CORPUS,
        "before": "before" if "before" in models else None,
        "models": [
            {
                "name": name,
                "kind": "baseline" if name == "before" else "unlearned",
                "split": None if name == "before" else split.name,
                "digest": DIGESTS[name],
            }
            for name in models
        ],
        "robustness": RobustnessOptions().described().model_dump(),
        "documents": {split.name: {"scores": scores_file(split), "robustness": None}},
    }
    write_result(run, documents, answers=[], scores=[], record=EvaluationRecord.model_validate(described))
    return root


def _score(model: str, asked: Question, kept: Kept) -> Scores:
    share, leaked = kept(asked.patient_id, asked.use)
    leaks = {"ls": min(1.0, leaked + 0.1), "ls_echo_free": leaked, "reasons": {"em": "e"}}
    return Scores(model, asked.qa_id, 0, rouge_l=share, em=None, cs=share, es=share, te=0.8, **leaks)  # type: ignore[arg-type]
