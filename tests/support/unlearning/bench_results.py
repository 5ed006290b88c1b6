"""A result of `unlearn evaluate` made by hand: what answers keep of each patient is as the test says."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
from support.hand_made_bench import question

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.unlearning.benchmark.files import Answer
from clinaudit.audit.unlearning.evaluation.evaluate import write_result
from clinaudit.audit.unlearning.metrics.answer_collapse import check_answers
from clinaudit.audit.unlearning.metrics.answer_scores import SCORES
from clinaudit.audit.unlearning.metrics.means import patient_figures
from clinaudit.reports.schema.unlearning import CHECKS, FIGURES, USES, EvaluatedModel, EvaluationRecord, SplitCounts
from clinaudit.reports.wording.unlearning import Evaluation

#: Patient and use of the question to what the answer keeps and what it leaks beyond the question.
Kept = Callable[[str, str], tuple[float, float]]
#: Digests of the models of `compared_pair`.
DIGESTS = {"before": "a" * 64, "after": "b" * 64, "other": "f" * 64}
CORPUS = "c" * 64
SPLIT = "random:10"
_COUNTED = ("patients", "questions")


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
    roles = {**dict.fromkeys(forget, "forget"), **dict.fromkeys(retain, "retain")}
    roles |= dict.fromkeys(never_trained, "never_trained")
    questions = [question(f"q-{use}-{one}", one, "q", "a", "a", use=use) for one in roles for use in USES]
    figures = []
    for name, kept in models.items():
        rows = []
        for asked in questions:
            share, leaked = kept(asked.patient_id, asked.use)
            of_answer = dict.fromkeys(("rouge_l", "cs", "es"), share) | {"te_or_zero": 0.8, "ls_echo_free": leaked}
            rows += [(asked.qa_id, metric, value, None) for metric, value in of_answer.items()]
        figures.append(patient_figures(pl.DataFrame(rows, schema=SCORES, orient="row"), questions, model=name))
    answers = {
        name: [Answer(name, one.qa_id, write(one.patient_id, one.use), None) for one in questions]
        for name, write in (written or {}).items()
    }
    groups = {one.qa_id: roles[one.patient_id] for one in questions}
    checks = [
        {"split": SPLIT, "model": name, **check.model_dump()}
        for name, own in answers.items()
        if name != "before"
        for check in check_answers(own, answers["before"], groups)
    ]
    counts = {f"{of}_{what}": len(own) for of, own in (("forget", forget), ("retain", retain)) for what in _COUNTED}
    record = EvaluationRecord(
        clinaudit_version="0",
        bench_digest="b",
        corpus_digest=CORPUS,
        form="addressed",
        seed=0,
        made_with={},
        before="before" if "before" in models else None,
        models=[
            EvaluatedModel(name=name, kind="unlearned", split=SPLIT, digest=DIGESTS[name])
            if name != "before"
            else EvaluatedModel(name=name, kind="baseline", split=None, digest=DIGESTS[name])
            for name in models
        ],
        splits=[SplitCounts(split=SPLIT, level="Random", is_disease=False, percent=10, **counts)],
    )
    run = RunDirectory(root)
    run.create()
    evidence = {
        "patient_figures": pl.concat(figures),
        "roles": pl.DataFrame(
            [(SPLIT, patient, role, category_of(patient)) for patient, role in roles.items()],
            schema=["split", "patient_id", "role", "category"],
            orient="row",
        ),
    }
    evaluation = Evaluation(record, pl.DataFrame(schema=FIGURES), pl.DataFrame(checks, schema=CHECKS))
    write_result(run, evaluation, evidence, page=None)
    return root
