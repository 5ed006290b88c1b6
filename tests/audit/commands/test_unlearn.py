"""`clinaudit unlearn`: what its commands write and print, and what they refuse without quoting it."""

import json
from typing import Any

import pytest
from support.hand_made_bench import QUESTIONS, save_hand_made_bench
from support.models.tiny_models import save_llama
from support.small_charts import write_small_corpus
from support.unlearning.shared_words import SharedWords
from support.unlearning.tiny_job import PATIENTS, make_bench

from clinaudit.audit.commands.main import run
from clinaudit.audit.commands.unlearn import score
from clinaudit.audit.unlearning.benchmark.files import Bench, read_bench, write_bench
from clinaudit.audit.unlearning.benchmark.records import Keyword
from clinaudit.audit.unlearning.evaluation import evaluate as door
from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
from clinaudit.audit.unlearning.metrics import given_answers
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.reports.schema.unlearning_scores import ScoresDocument


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_small_corpus(tmp_path_factory.mktemp("small") / "corpus", last="cc: cough\nassessment: cold\n")


def test_it_builds_and_says_what_the_benchmark_holds(corpus, tmp_path, capsys):
    out = tmp_path / "bench"
    assert run(["unlearn", "build", str(corpus), "--out", str(out), "--percent", "34", "--percent", "34"]) == 0
    said = capsys.readouterr()
    counted = "3 of the patients were trained on; 8 of the questions are withheld from training, and 72 rephrased"
    assert counted in " ".join(said.out.split())
    assert "patients left out: 1: fewer than four factual questions can be asked from the notes" in said.out
    assert "Arthritis and Bone  2 (50%)   16" in said.out
    assert "Total               4         32" in said.out
    assert "random:34  1       6          2       12" in said.out
    bench = read_bench(out)
    assert [split.name for split in bench.splits] == ["random:34"]
    assert bench.counts.keywords == len(bench.keywords)
    # No name and nothing of a note is said.
    assert not any(word in said.out + said.err for word in ("Stonebury", "allopurinol", "P1"))


def test_any_id_of_a_person_names_the_person(tmp_path):
    corpus = write_small_corpus(tmp_path / "corpus")
    for name in ("notes", "patients"):
        rows = [json.loads(line) for line in (corpus / f"{name}.jsonl").read_text("utf-8").splitlines()]
        second = [{**row, **{key: f"{row[key]}-2" for key in ("patient_id", "note_id") if key in row}} for row in rows]
        text = "".join(json.dumps(row) + "\n" for row in (*rows, *second))
        (corpus / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "ids.txt").write_text("P2-2\nP2\n", encoding="utf-8")
    (tmp_path / "categories.csv").write_text("patient_id,category\nP1-2,other\n", encoding="utf-8")
    out = tmp_path / "bench"
    options = ["--request", str(tmp_path / "ids.txt"), "--categories", str(tmp_path / "categories.csv")]
    assert run(["unlearn", "build", str(corpus), "--out", str(out), "--quiet", *options]) == 0
    bench = read_bench(out)
    assert {one.patient_id: one.category_source for one in bench.patients}.keys() == {"P1", "P2", "P3", "P4"}
    assert bench.split("request:33").forget == ("P2",)
    assert all(len(texts) == 2 for texts in bench.notes.values())
    assert next(one.category for one in bench.patients if one.patient_id == "P1") == "other"


_TRAINING = ("--epochs", "1", "--quiet")


@pytest.fixture
def place(tmp_path):
    """A corpus, a benchmark and a tiny model."""
    corpus, model = tmp_path / "corpus", tmp_path / "model"
    corpus.mkdir()
    model.mkdir()
    bench = make_bench()
    rows = ["patient_id,split,age,sex", *(f"{patient},train,50,female" for patient in PATIENTS)]
    (corpus / "patients.csv").write_text("\n".join(rows) + "\n")
    notes = [
        {"patient_id": patient, "note_id": f"{patient}-1", "text": texts[0]} for patient, texts in bench.notes.items()
    ]
    (corpus / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    made = Bench.of(read_corpus(corpus), patients=bench.patients, questions=bench.questions, splits=bench.splits)
    write_bench(tmp_path / "bench", made, corpus_path=corpus)
    save_llama(model)
    return tmp_path


def test_a_model_is_tuned_and_forgets(place, capsys):
    model, bench, tuned, forgot = (str(place / name) for name in ("model", "bench", "tuned", "forgot"))
    assert run(["unlearn", "finetune", model, bench, "--out", tuned, "--learning-rate", "1e-3", *_TRAINING]) == 0
    assert (place / "tuned" / "model.safetensors").is_file()
    command = ["unlearn", "run", tuned, bench, "--method", "kl_min", "--forget", "random:15", "--out", forgot]
    assert run([*command, "--layer", "0", *_TRAINING]) == 0
    printed = capsys.readouterr().out
    assert f"{forgot}: the new model" in printed
    assert "This is an interim measure (kl_min, layer)" in printed
    record = json.loads((place / "forgot" / "unlearn.json").read_text())
    plan = record["settings"]["plan"]
    training = plan["training"]
    assert (plan["method"], plan["split"], training["layer"], training["scope"]) == ("kl_min", "random:15", 0, "layer")
    assert plan["objective"] == {"gamma": 1.0, "alpha": 1.0}
    assert record["learning_rate"] == 2e-5
    assert (training["micro_batch"], training["micro_batches"]) == (4, 2)
    # Other settings in the same place.
    assert run([*command, *_TRAINING]) == 2
    assert "plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--forget", "random:50"], 3, "it has: random:15"),
        (["--forget", "random:15", "--learning-rate", "1e-3", "--choose-rate"], 2, "exclude each other"),
        (["--forget", "random:15", "--learning-rate", "0"], 2, "--learning-rate"),
        (["--forget", "random:15", "--layer", "2"], 3, "2 layers, 0 to 1"),
    ],
)
def test_what_is_refused_leaves_nothing(place, capsys, options, status, said):
    model, bench, out = (str(place / name) for name in ("model", "bench", "out"))
    command = ["unlearn", "run", model, bench, "--method", "sim_npo", "--out", out, *_TRAINING]
    assert run([*command, *options]) == status
    error = capsys.readouterr().err
    assert said in error
    assert not any(patient in error for patient in PATIENTS)
    assert not (place / "out").exists()


KEYWORDS = (
    Keyword("q1", "lung cancer", 1.1, ("note", "answer")),
    Keyword("q1", "biopsy", 1.1, ("note", "question")),
    Keyword("q2", "lung cancer", 1.0, ("note", "answer")),
    Keyword("q5", "lymphoma", 1.0, ("note", "answer")),
)
SECRET = "Zebulon"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(given_answers, "load_embedder", lambda _directory: SharedWords())
    return save_hand_made_bench(tmp_path, keywords=KEYWORDS)


def answers_of(model, text=None, **more):
    """The same text to each question, by default the reference answer."""
    return [
        {"model": model, "qa_id": asked.qa_id, "text": asked.answer if text is None else text, **more}
        for asked in QUESTIONS
    ]


def write_rows(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def scored(bench, rows, *options):
    answers = write_rows(bench.parent / "answers.jsonl", *rows)
    out = bench.parent / "scores.json"
    status = score.main([str(bench), str(answers), "--out", str(out), *options], standalone_mode=False)
    assert status == 0
    assert out.stat().st_mode & 0o777 == 0o600
    document: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return document


def problems_of(bench, *rows):
    answers = write_rows(bench.parent / "answers.jsonl", *rows)
    out = bench.parent / "scores.json"
    with pytest.raises(BadInputError) as caught:
        score.main([str(bench), str(answers), "--out", str(out)], standalone_mode=False)
    assert SECRET not in caught.value.render()
    assert not out.exists()
    return caught.value.problems


def test_what_stands_in_the_document(bench):
    rows = answers_of("right", token_ids=[1, 2, 3])
    rows += answers_of("stuck", "no no no", token_ids=[4, 4, 4])
    document = scored(bench, rows)
    assert document["split"] == "random:25"
    assert document["made_with"] == {"cs": "shared words", "es_rules": "rules: facts with their polarity"}
    right, stuck = document["models"]["right"], document["models"]["stuck"]
    assert right["ls"]["forget"]["factual"]["train"]["value"] == 0.5
    assert right["ls_echo_free"]["forget"]["factual"]["train"]["value"] == 1.0
    assert right["ls"]["never_trained"]["factual"]["train"]["value"] == 1.0
    assert right["ls"]["retain"]["factual"]["holdout"]["value"] is None
    assert right["mu_without_em"]["retain"]["factual"]["holdout"]["value"] == 1.0
    assert right["afe_without_em"]["forget"]["reasoning"]["train"]["value"] == 0.0
    assert right["parts"]["mu_without_em"]["retain"]["factual"]["train"] == ["rouge_l", "cs", "te", "es_rules"]
    assert right["counts"]["retain"]["factual"]["holdout"] == {
        "patients": 1,
        "answers": 1,
        "empty_or_single": 0,
        "without_keywords": 1,
    }
    assert (right["ds"]["forget"]["factual"]["train"]["value"], stuck["ds"]["forget"]["factual"]["train"]["value"]) == (
        0.0,
        1.0,
    )
    assert stuck["afe_without_em"]["forget"]["factual"]["train"]["value"] == 1.0
    # Exact memorization needs the model.
    assert not {"em", "mu", "afe"} & set(right)
    first = document["items"][0]
    assert (first["model"], first["qa_id"], first["role"], first["ls"]) == ("right", "q1", "forget", 0.5)
    assert len(document["items"]) == 10
    assert first["patient_id"] == "P1"
    assert document["patients"]["P4"] == {"role": "never_trained", "category": "cancer"}
    # No text of a question or an answer; the name of a category is none.
    assert "lung" not in json.dumps(document)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"qa_id": SECRET}, "column qa_id: is no question of this benchmark"),
        ({"qa_id": 7}, "column qa_id: is not text"),
        ({"text": None}, "column text: is not text"),
        ({"text": [SECRET]}, "column text: is not text"),
        ({"model": " "}, "column model: is blank, longer than 200 characters, or holds one that cannot be printed"),
        ({"model": SECRET * 99}, "column model: is blank, longer than 200 characters, or holds one that cannot be "),
        ({"token_ids": [1, SECRET]}, "column token_ids: is not a list of token ids"),
        ({"token_ids": [True]}, "column token_ids: is not a list of token ids"),
        ({"token_ids": [-1]}, "column token_ids: is not a list of token ids"),
        (
            {"token_ids": [10**30]},
            "column token_ids: is not a list of token ids (whole numbers from 0 to 2,147,483,647)",
        ),
        ({"token_ids": "1 2"}, "column token_ids: is not a list of token ids"),
        ({"qa_id": "q1"}, ": answers the same question of the same model as row 1; keep one of them"),
    ],
)
def test_a_malformed_answer_is_named_by_line_and_field(bench, change, problem):
    rows = answers_of("m", SECRET)
    rows[2] = {**rows[2], **change}
    (found,) = problems_of(bench, *rows)
    assert found.startswith("answers.jsonl, row 3")
    assert problem in found


def _figure(value):
    return {"value": value, "interval": [None, None], "answers": 3}


def _of(role, value, *, use="train"):
    return {role: {"factual": {use: _figure(value)}}}


_FIELDS = {
    "format": 1, "bench": "b", "split": "random:10", "form": "addressed", "seed": 0, "resamples": 0, "made_with": {},
    "question_count": 1200, "set_aside_patients": 0, "patients": {}, "items": [],
    "models": {
        "tuned": {
            "afe": {"forget": {"factual": {"train": _figure(0.25), "holdout": _figure(0.5)}}},
            "ls": _of("forget", 0.125),
            "ds": _of("forget", 0.0),
            "mu": _of("retain", 0.75),
            "same_category": {"mu": {**_of("same", 0.5), **_of("others", 0.875)}},
        },
    },
}  # fmt: skip


DOCUMENT = ScoresDocument.model_validate(_FIELDS)


def test_options_reach_the_request(tmp_path, monkeypatch, capsys):
    asked: list[EvaluationRequest] = []

    def evaluate(request, _progress):
        asked.append(request)
        return {"random:10": DOCUMENT}

    monkeypatch.setattr(door, "evaluate", evaluate)
    models = [str(tmp_path / "tuned"), f"npo={tmp_path / 'forgot'}"]
    options = ["--split", "cancer:10", "--form", "paper", "--before", "npo", "--no-robustness"]
    status = run(["unlearn", "evaluate", *models, "--bench", "bench", "--out", "result", *options, "--seed", "3"])
    assert status == 0
    (request,) = asked
    assert [place.name for place in request.models] == ["tuned", "npo"]
    assert (request.split_name, request.form, request.before, request.seed) == ("cancer:10", "paper", "npo", 3)
    assert request.has_robustness is False
    assert "0.750" in capsys.readouterr().out
    tried = ["--samples", "8", "--relearning-steps", "5", "--relearning-rate", "1e-3"]
    assert run(["unlearn", "evaluate", *models, "--bench", "bench", "--out", "result", *tried]) == 0
    chosen = asked[-1].robustness
    assert (chosen.samples, chosen.relearning.steps, chosen.relearning.learning_rate) == (8, 5, 1e-3)
    status = run(["unlearn", "evaluate", *models, "--bench", "b", "--out", "r", "--no-robustness", "--samples", "8"])
    assert status == 2
    assert "leave --samples out" in capsys.readouterr().err
