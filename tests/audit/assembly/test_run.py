"""What assembly says of a run: its attacks, costs, judge, table of estimates, digests, and whose notes are scored."""

import hashlib
import json
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from support.evidence_frames import evidence
from support.patient_facts import NOTE, facts_of, writer_of
from support.repeating_notes import PLAIN, corpus_with
from support.runs.written_answers import save_model

from clinaudit.audit.assembly import costs, pipeline, results
from clinaudit.audit.assembly.costs import foretell
from clinaudit.audit.assembly.estimates import estimate_run
from clinaudit.audit.assembly.inputs import load_inputs
from clinaudit.audit.assembly.results import audited_prompts, find_conditions, hidden_digest, list_attacks
from clinaudit.audit.assembly.scored import logged_loss
from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.measures.generation.stage import plan_prompts
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.stage import load_labelled_set
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.engines.memory import FreeMemory
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.audit.runtime.settings import AuditSettings, ReadingOptions
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.tiers import ProbedTiers
from clinaudit.reports.estimates.frame import Estimates, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.run_results import TrainingLoss

AT = {"form": "text", "tier": "public", "arm": "train"}


@pytest.mark.parametrize(
    ("row", "is_run"),
    [
        (at("membership_auroc")._replace(value=0.7, low=0.6, high=0.8), True),
        (at("membership_auroc")._replace(reason="too few patients"), False),
        # Measured, and not printed.
        (at("auroc_all", **AT, diagnosis="hiv")._replace(value=0.7, low=0.6, high=0.8), True),
        (at("auroc_all", **AT, diagnosis="hiv")._replace(reason="one of the groups is empty"), False),
        (share_row("own_identifiers", 3, 130, **AT), True),
        (share_row("own_identifiers", 0, 0, **AT), False),
    ],
)
def test_an_attack_with_a_reason_alone_was_not_run(row, is_run):
    verdicts = [
        share_row("verdicts", count, 15, **AT, diagnosis="hiv", by=side, part=part)
        for side in ("present", "absent")
        for part, count in (("positive", 4), ("not_mentioned", 11))
    ]
    attacks = list_attacks(Estimates(publish(as_estimates([row, *verdicts]))), release=None)
    assert any(attack.status == "run" for attack in attacks) == is_run


def options(**given):
    return ReadingOptions.model_construct(**given)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    corpus_with(tmp_path / "corpus", {"p": [PLAIN]})
    monkeypatch.setattr(costs, "free_main_memory", lambda: FreeMemory(3_000_000_000, "memory"))
    return read_corpus(tmp_path / "corpus", scratch=tmp_path)


def test_needs_are_said_beside_what_is_free(corpus, capsys):
    progress = Progress(form="json")
    # 0.5 GB of libraries and windows, 0.2 of each of two processes, 22 kB a generation, and 40 kB of disk.
    foretell(50_000, corpus, options(processes=2), progress)
    with progress.stage("matching notes", total=2, unit="generations") as advance:
        advance(2)
    said, stage = map(json.loads, capsys.readouterr().err.splitlines())
    assert said["message"].startswith("memory: about 2.0 GB needed, 3.0 GB free; disk: about 2.0 GB needed, ")
    assert stage["left_of_all"] > 0


def test_more_than_there_is_is_refused_with_numbers(corpus):
    said = r"about 5\.5 GB of memory, and 3\.0 GB are free; .* fewer "
    with pytest.raises(StorageError, match=said + "--processes or generations at a time"):
        foretell(100_000, corpus, options(processes=14), Progress(quiet=True))
    with pytest.raises(StorageError, match=said + "--processes, --tier or --patients-per-cell"):
        foretell(100_000, corpus, options(processes=14), Progress(quiet=True), asked=[("generating", 100_000)])


@pytest.mark.parametrize(("role", "is_judged"), [("target", True), ("included", False)])
def test_a_judge_is_named_where_targets_were_judged(role, *, is_judged):
    panel, written = load_panel(), dict[str, pl.DataFrame]()
    inputs: Any = SimpleNamespace(
        judge=LexiconJudge(panel), labelled=load_labelled_set(None, panel), sensitive=panel, panel=panel
    )
    run: Any = SimpleNamespace(store=None, runner=None, progress=Progress(quiet=True), write=written.update)
    answer = {"generation_id": "g", "patient_id": "p", "role": role, "text": "HIV, stable.", "diagnoses": ["hiv"]}
    assert pipeline._judge(inputs, evidence(generations=[answer])["generations"].collect(), run) is is_judged
    assert written["judgements"]["patient_has_diagnosis"].to_list() == ["positive"]
    assert written["scored_texts"].is_empty() is not is_judged


def test_the_table_of_what_analyze_leaves_has_differences_where_chance_is_never_seen(tmp_path):
    answer = {"tier": "public", "tokens": 100}
    answers = [
        {**answer, "generation_id": "g1", "patient_id": "a", "arm": "train", "attributable_tokens": 50},
        {**answer, "generation_id": "g2", "patient_id": "n", "arm": "nontrain", "attributable_tokens": 10},
        {**answer, "generation_id": "g3", "patient_id": "a", "arm": "train", "model": "control"},
    ]
    tables = evidence(
        generation_metrics=answers, regions=[], segments=[], memorized_text=[], identifiers=[], planted=[]
    )
    for name, frame in tables.items():
        frame.collect().write_parquet(tmp_path / f"{name}.parquet")
    table = Estimates(estimate_run(tmp_path, match_tokens=30))
    own = {row.arm: row.value for row in table.rows("attributable_fraction")}
    assert own == {
        "train": 0.5,
        "nontrain": 0.1,
        "control": 0.0,
        "train-nontrain": pytest.approx(0.4),
        "train-control": 0.5,
    }
    # The chance of others' text is that with the splits exchanged.
    assert set(table.values_of("arm", "other_patient_fraction")) == {"train", "nontrain", "control"}
    assert table.rows("own_identifiers", arm="train-control")
    assert not table.rows("everyday_tasks")


def test_nothing_measured_is_an_empty_table(tmp_path):
    assert estimate_run(tmp_path, match_tokens=30).is_empty()


TIERS = ("public", "encounter_cc")


def test_a_control_model_s_prompts_are_not_in_the_digest_and_all_others_are(tmp_path):
    def prompts_of(probed):
        writer = writer_of(panel=load_panel(), limit=1000, context=10**6)
        facts = {"p": facts_of(tmp_path, NOTE.replace("CC: low mood", "CC: depression follow-up"))}
        return audited_prompts(plan_prompts({"p": ("depression",)}, facts=facts, probed=probed, writer=writer))

    asked = prompts_of(ProbedTiers(TIERS))
    assert prompts_of(ProbedTiers(TIERS, asks_control=True)) == asked
    assert prompts_of(ProbedTiers(TIERS[:1])) != asked
    assert b"depression follow-up" in asked


def corpus_of(folder, *texts):
    folder.mkdir()
    rows = [f"p{place},n{place},{text}" for place, text in enumerate(texts)]
    (folder / "notes.csv").write_text("\n".join(["patient_id,note_id,text", *rows]) + "\n", encoding="utf-8")
    return read_corpus(folder)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([], None),
        ([(3.0, 2.0), (1.0, 0.9), (0.2, 1.4)], 1.0),
        # Without validation the last epoch's.
        ([(3.0, None), (0.5, None)], 0.5),
        ([(None, 0.9)], None),
    ],
)
def test_the_loss_of_the_log_is_that_of_the_best_epoch_or_a_later_one(losses, expected):
    log = [
        TrainingLoss(epoch=epoch, train_loss=train, validation_loss=validation, perplexity=None)
        for epoch, (train, validation) in enumerate(losses)
    ]
    assert logged_loss(log[::-1]) == expected


def test_a_hidden_digest_is_the_same_on_one_corpus_and_another_on_another(tmp_path):
    same, again = (
        corpus_of(tmp_path / "a", "cc: cough", "cc: fall"),
        corpus_of(tmp_path / "b", "cc: cough", "cc: fall"),
    )
    other = corpus_of(tmp_path / "c", "cc: cough", "cc: fall.")
    digest = hidden_digest(same, b"p0\np1\n")
    assert digest == hidden_digest(again, b"p0\np1\n")
    others = {hidden_digest(other, b"p0\np1\n"), hidden_digest(same, b"p0\n"), hashlib.sha256(b"p0\np1\n").hexdigest()}
    assert digest not in others
    assert len(others) == 3


def test_each_caveat_has_a_condition_and_each_of_its_words_a_meaning(tmp_path):
    """Else an audit of days would fail at its end, or leave a caveat out in silence."""
    model = save_model(tmp_path / "model")
    write_demo_corpus(tmp_path / "corpus", seed=3, patients_per_arm=2)
    settings = AuditSettings(model=str(model), corpus=tmp_path / "corpus", out=tmp_path / "run")
    tables = {name: as_table(name, []) for name in ("labels", "annotations", "cohorts")}
    holds, words = find_conditions(load_inputs(settings), Estimates(as_estimates([])), tables)
    said = results._SAID["caveats"]
    assert holds.keys() == said.keys()
    assert all(sentence.format_map(words) for sentence in said.values())
