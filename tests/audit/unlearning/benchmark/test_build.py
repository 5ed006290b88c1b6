"""A benchmark from end to end: what questions hold to, who is left out, equal bytes, going on after a kill."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path

import polars as pl
import pytest
from support.small_charts import write_small_corpus
from support.unlearning import built_bench

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.unlearning.benchmark import build as build_module
from clinaudit.audit.unlearning.benchmark import files as files_module
from clinaudit.audit.unlearning.benchmark.build import KeywordSource
from clinaudit.audit.unlearning.benchmark.categories import name_of
from clinaudit.audit.unlearning.benchmark.files import Bench, Keyword, read_bench
from clinaudit.audit.unlearning.benchmark.questions.selection import identifying_kinds
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.templates.profile import load_profile

QUIET = Progress(quiet=True)


def first_word(bench: Bench) -> Sequence[Keyword]:
    return [Keyword(one.qa_id, one.answer.split()[0], 1.0, ("answer",)) for one in bench.questions]


KEYWORDS = KeywordSource("first words", first_word, lambda *_: ())


build = partial(built_bench.build, keywords=KEYWORDS)


def content(bench: Path) -> dict[str, bytes]:
    """All that is kept but state and caches."""
    return {
        str(path.relative_to(bench)): path.read_bytes()
        for path in sorted(bench.rglob("*"))
        if path.is_file() and "work" not in path.parts
    }


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    corpus = tmp_path_factory.mktemp("demo") / "corpus"
    write_demo_corpus(corpus, seed=5, patients_per_arm=6)
    return corpus


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    return write_small_corpus(tmp_path_factory.mktemp("small") / "corpus", last="cc: cough\nassessment: cold\n")


@pytest.fixture(scope="module")
def built(demo: Path, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("built") / "bench"
    build(demo, out)
    return out


def test_every_patient_has_eight_questions_one_of_each_kind_withheld(built: Path) -> None:
    bench = read_bench(built)
    assert len(bench.patients) == 12
    for patient in bench.patients:
        own = [question for question in bench.questions if question.patient_id == patient.patient_id]
        assert Counter((question.kind, question.use) for question in own) == {
            ("factual", "train"): 3,
            ("factual", "holdout"): 1,
            ("reasoning", "train"): 3,
            ("reasoning", "holdout"): 1,
        }
        facts = [question.facts for question in own if question.kind == "factual"]
        # No two share a fact, nor words of one.
        assert len(facts) == 4
        assert not any(
            one in other or other in one
            for held, others in combinations(facts, 2)
            for one, other in product(held, others)
            if " " in min(one, other, key=len) or one == other
        )


def test_every_fact_stands_in_the_notes_it_names_and_in_the_answer(built: Path, demo: Path) -> None:
    bench, corpus = read_bench(built), read_corpus(demo)
    for question in bench.questions:
        texts = [note.text for note in corpus.notes_of(question.patient_id) if note.note_id in question.note_ids]
        assert question.facts
        for fact in question.facts:
            assert fact in question.answer
            assert any(fact in text for text in texts)


def test_no_question_in_paper_form_holds_an_identifier_or_its_own_answer(built: Path, demo: Path) -> None:
    bench, corpus = read_bench(built), read_corpus(demo)
    detectors = (RuleDetector(identifying_kinds()), Gazetteer(corpus, load_profile(), QUIET))
    for question in bench.questions:
        asked = question.text("paper")
        assert [span.category for detector in detectors for span in detector.detect(asked)] == []
        patient = corpus.patients[question.patient_id]
        assert all(part.lower() not in asked.lower().split() for part in (patient.name or "").split())
        assert question.answer.lower() not in asked.lower()
        assert not any(f" {fact.lower()} " in f" {asked.lower()} " for fact in question.facts)


def test_the_addressed_form_opens_with_the_encounter(built: Path, demo: Path) -> None:
    bench, corpus = read_bench(built), read_corpus(demo)
    question = bench.questions[0]
    name = corpus.patients[question.patient_id].name
    assert question.text("addressed").startswith(f"Patient: {name}. Date of birth: ")
    assert question.text("addressed").endswith(question.question)


def test_no_note_text_name_or_patient_stands_in_ids_and_all_is_closed_to_others(built: Path) -> None:
    bench = read_bench(built)
    assert not any(patient.patient_id in question.qa_id for patient in bench.patients for question in bench.questions)
    assert all(path.stat().st_mode & 0o077 == 0 for path in built.rglob("*"))


def test_the_counts_are_those_of_tables_1_and_5(built: Path) -> None:
    bench = read_bench(built)
    assert bench.counts is not None
    counts = bench.counts.model_dump()
    assert (counts["patients"], counts["patients_trained_on"], counts["questions"]) == (12, 6, 96)
    assert sum(row["patients"] for row in counts["categories"]) == 12
    first = counts["categories"][0]
    members = {patient.patient_id for patient in bench.patients if name_of(patient.category) == first["category"]}
    assert first["patients"] == len(members)
    assert first["questions"] == sum(question.patient_id in members for question in bench.questions)
    assert counts["splits"][-1] == {
        "split": "random:25",
        "level": "Random",
        "is_disease": False,
        "percent": 25,
        "forget_patients": 2,
        "forget_questions": 12,
        "retain_patients": 4,
        "retain_questions": 24,
    }
    trained = {patient.patient_id for patient in bench.patients if patient.is_trained}
    assert all({*split.forget, *split.retain} == trained for split in bench.splits)


def test_without_ground_truth_patients_with_too_little_are_dropped_and_counted_by_reason(small, tmp_path) -> None:
    counts = build(small, tmp_path / "bench")
    assert counts["patients"] == 4
    assert counts["patients_dropped"] == {"fewer than four factual questions can be asked from the notes": 1}
    bench = read_bench(tmp_path / "bench")
    assert {patient.patient_id: patient.category for patient in bench.patients} == {
        # Ear pressure, heel pain, a sore throat and back pain, whatever the lists of problems hold.
        "P1": "other",
        "P2": "arthritis_bone",
        "P3": "infectious_immune",
        "P4": "arthritis_bone",
    }
    assert bench.patients[1].title == "heel pain for 2 weeks; strain of type 22"
    answers = {question.answer for question in bench.questions if question.patient_id == "P1"}
    assert "allopurinol 300 mg daily" in " ".join(answers)


def test_nobody_to_ask_about_is_bad_input_with_the_reason_and_no_benchmark(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "notes.jsonl").write_text(json.dumps({"patient_id": "P1", "note_id": "1", "text": "nothing here"}) + "\n")
    with pytest.raises(BadInputError, match=r"the note template finds nothing to ask about in the notes: 1"):
        build(corpus, tmp_path / "bench")
    assert not (tmp_path / "bench" / "bench.json").exists()


def test_equal_seeds_give_equal_bytes_and_another_seed_others(small: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        build(small, tmp_path / name, seed=seed)
    one, same, other = (content(tmp_path / name) for name in ("one", "same", "other"))
    assert one == same
    assert one["evidence/qa.parquet"] != other["evidence/qa.parquet"]


@pytest.fixture(scope="module")
def whole(small: Path, tmp_path_factory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole") / "bench"
    build(small, out)
    return content(out)


@pytest.mark.parametrize("stage", ["identifier_check", "count_bench", "first keyword", *files_module.SCHEMAS])
def test_killed_at_any_stage_it_goes_on_to_equal_bytes(small, whole, tmp_path, monkeypatch, stage) -> None:
    def killed(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    def killed_at(path: Path, *rest: object) -> None:
        killed() if path.stem == stage else write_frame(path, *rest)  # type: ignore[arg-type]

    write_frame = files_module.write_frame
    keywords = KeywordSource("first words", killed, KEYWORDS.terms) if stage == "first keyword" else KEYWORDS  # type: ignore[arg-type]
    with monkeypatch.context() as patched:
        patched.setattr(files_module, "write_frame", killed_at)
        if hasattr(build_module, stage):
            patched.setattr(build_module, stage, killed)
        with pytest.raises(KeyboardInterrupt):
            build(small, tmp_path / "bench", keywords=keywords)
    with pytest.raises(BadInputError, match="no finished benchmark"):
        read_bench(tmp_path / "bench")
    build(small, tmp_path / "bench")
    assert content(tmp_path / "bench") == whole


def test_other_settings_are_refused_and_named(small: Path, tmp_path: Path) -> None:
    build(small, tmp_path / "bench")
    with pytest.raises(UsageError, match=r"this benchmark was begun with other settings \(percents, seed\)"):
        build(small, tmp_path / "bench", seed=1, percents=(5,))


def test_a_changed_table_or_corpus_is_found_out(small: Path, tmp_path: Path) -> None:
    build(small, tmp_path / "bench")
    moved = write_small_corpus(tmp_path / "moved", last="cc: cough\nassessment: cold\n")
    assert read_bench(tmp_path / "bench", corpus=moved).digest == read_bench(tmp_path / "bench").digest
    other = write_small_corpus(tmp_path / "other")
    with pytest.raises(BadInputError, match="the corpus is not the one"):
        read_bench(tmp_path / "bench", corpus=other)
    with pytest.raises(BadInputError, match="has no such split; it has: random:20, random:25"):
        read_bench(tmp_path / "bench").split("random:5")
    keywords = tmp_path / "bench" / "evidence" / "keywords.parquet"
    files_module.write_frame(keywords, pl.DataFrame(schema=files_module.SCHEMAS["keywords"]))
    with pytest.raises(IntegrityError, match="is damaged"):
        read_bench(tmp_path / "bench")


def test_a_request_is_a_split_beside_the_others_and_goes_on_only_with_itself(demo: Path, tmp_path: Path) -> None:
    trained = sorted(one for one, patient in read_corpus(demo).patients.items() if patient.split == "train")
    ids = tmp_path / "ids.txt"
    ids.write_text("\n".join(trained[3:5]) + "\n")
    counts = build(demo, tmp_path / "bench", percents=(25,), forgotten=ids)
    assert [row["split"] for row in counts["splits"]] == ["random:25", "request:33"]
    split = read_bench(tmp_path / "bench").split("request:33")
    # As the record beside the weights has it.
    assert read_bench(tmp_path / "bench").split("request") == split
    assert split.forget == tuple(trained[3:5])
    assert split.retain == tuple(trained[:3] + trained[5:])
    before = content(tmp_path / "bench")
    build(demo, tmp_path / "bench", percents=(25,), forgotten=ids)
    assert content(tmp_path / "bench") == before
    ids.write_text(trained[0] + "\n")
    with pytest.raises(UsageError):
        build(demo, tmp_path / "bench", percents=(25,), forgotten=ids)


def test_no_digest_of_ids_or_categories_stands_beside_the_counts(demo: Path, tmp_path: Path) -> None:
    trained = sorted(one for one, patient in read_corpus(demo).patients.items() if patient.split == "train")
    ids, categories = tmp_path / "ids.txt", tmp_path / "categories.csv"
    ids.write_text(trained[3] + "\n")
    categories.write_text("patient_id,category\n" + "".join(f"{one},cancer\n" for one in trained))
    build(demo, tmp_path / "bench", percents=(25,), forgotten=ids, categories=categories)
    document = (tmp_path / "bench" / "bench.json").read_text()
    for file in (ids, categories):
        assert hashlib.sha256(file.read_bytes()).hexdigest() not in document
    assert json.loads(document)["settings"]["categories"] == "file"
    # It still goes on with the same file only.
    categories.write_text("patient_id,category\n" + "".join(f"{one},other\n" for one in trained))
    with pytest.raises(UsageError, match="categories"):
        build(demo, tmp_path / "bench", percents=(25,), forgotten=ids, categories=categories)


def test_a_request_of_patients_the_model_never_saw_is_refused_by_line_without_an_id(demo: Path, tmp_path: Path) -> None:
    patients = read_corpus(demo).patients
    trained = next(one for one, patient in patients.items() if patient.split == "train")
    never = next(one for one, patient in patients.items() if patient.split == "nontrain")
    ids = tmp_path / "ids.txt"
    ids.write_text(f"{trained}\n{never}\nnobody\n")
    with pytest.raises(BadInputError) as caught:
        build(demo, tmp_path / "bench", forgotten=ids)
    why = "the model was not trained on such a patient"
    assert list(caught.value.problems) == [f"ids.txt line 2: {why}", f"ids.txt line 3: {why}"]
    assert not (tmp_path / "bench").exists()
