"""vLLM in this process and behind its own server: the same audit as with transformers, and a served judge.

One server takes the questions of both. The tiny demo model writes JSON because the server makes it; that its answers
are wrong is the point: none may pass for a verdict that the text does not bear out.
"""

import json

import polars as pl
import pytest
from support.models.score_twin import TOLERANCE, by_key, largest_difference, texts_to_score
from support.runs.command_line import ASKED, audit_apart, command, run_command, written_outside
from support.runs.tables import exact_of
from support.servers.serving import NAME, served

from clinaudit.audit.measures.judge.labels import PatientHistory
from clinaudit.audit.measures.judge.served_judge import OpenAIJudge
from clinaudit.audit.measures.judge.verdict import verdict_problem
from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.openai_engine import OpenAIEngine
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.priors.diagnoses import load_panel

# Two starts of vLLM take a minute: its engine is held against transformers by `test_vllm_engine.py` in `make test`.
pytestmark = [pytest.mark.slow, pytest.mark.simulation]

PANEL = load_panel()


@pytest.fixture(scope="module")
def url(tiny_demo, tmp_path_factory):
    with served(tiny_demo.model, tmp_path_factory.mktemp("served")) as url:
        yield url


def test_vllm_generates_the_tokens_of_transformers_and_writes_inside_the_run_only(audited, tiny_demo, tmp_path):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    # No engine is named: vLLM is taken where it is installed.
    run = audit_apart(tiny_demo, tmp_path, *ASKED)
    known = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert known["engine"]["engine"] == "vllm"
    assert written_outside(run) == []
    ours, theirs = (pl.read_parquet(root / "evidence" / "generations.parquet") for root in (run, audited))
    assert ours.height > 50
    assert ours.equals(theirs)
    # Only what names the engine may differ: scores are of transformers, which has the logits, whatever decodes.
    assert known["engine of scores"]["engine"] == "transformers"
    tables = [exact_of(root).frame for root in (run, audited)]
    assert tables[0].equals(tables[1])
    assert tables[0].filter(metric="membership_auroc", by="score")["part"][0] == "min_k_plus_plus"
    scores = [(root / "evidence" / "scores.parquet").read_bytes() for root in (run, audited)]
    assert scores[0] == scores[1]


def test_a_served_model_scores_text_as_transformers_and_draws_by_the_seed(url, tiny_demo):
    files = inspect_model(tiny_demo.model)
    served_model = OpenAIEngine(ServedModel(url, NAME), Access(), context_length=16384)
    engine = make_engine("transformers", files, options=EngineOptions(threads=1))
    texts = texts_to_score(files.vocab_size, files.context_length)
    ours, theirs = (
        by_key(list(scorer.score(order))) for scorer, order in ((engine, texts), (served_model, texts[::-1]))
    )
    assert largest_difference(ours, theirs) < TOLERANCE
    engine.close()
    drawn = [GenerationRequest(str(seed), (), "patient note:", 40, temperature=1.0, seed=seed) for seed in range(4)]
    together = {output.key: output.text for output in served_model.generate(drawn)}
    assert len(set(together.values())) == 4
    assert next(served_model.generate(drawn[2:3])).text == together["2"]
    served_model.close()


def test_a_served_model_is_audited_on_its_text(audited, url, tiny_demo, tmp_path):
    run = tmp_path / "run"
    options = ["--tokenizer", str(tiny_demo.model), "--context-length", "2048", *ASKED]
    arguments = command(tiny_demo, run, *options)
    arguments[2] = f"openai:{url}#{NAME}"
    done = run_command(arguments)
    assert done.returncode in (1, 8), done.stderr
    ours, theirs = (pl.read_parquet(root / "evidence" / "generations.parquet") for root in (run, audited))
    assert ours["generation_id"].equals(theirs["generation_id"])
    # A server may hold back the bytes of an unfinished character at the end of its text.
    texts = [table["text"].str.strip_chars_end("\ufffd").to_list() for table in (ours, theirs)]
    finishes = zip(ours["finish_reason"], theirs["finish_reason"], strict=True)
    # Served text is tokenized again here, which may move where the guard ends it, but not what comes before.
    assert all(a.startswith(b) or b.startswith(a) for a, b in zip(*texts, strict=True))
    unguarded = [place for place, finish in enumerate(finishes) if "repetition" not in finish]
    assert len(unguarded) > 20
    assert [texts[0][place] for place in unguarded] == [texts[1][place] for place in unguarded]


def test_vllm_answers_by_the_schema_and_only_what_the_text_bears_out_is_a_verdict(url, tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.create()
    judge = OpenAIJudge(ServedModel(url, NAME), Access(), note_tokens=400, seed=5)
    texts = ["cc: low mood.\nhpi: denies depression.", "current medications:\nsertraline 50 mg daily"]
    items = [(text, diagnosis) for text in texts for diagnosis in PANEL[:2]]
    with open_answer_cache(run) as cache:
        judge.use_cache(cache)
        verdicts = list(judge.judge_many(items))
        history = PatientHistory(texts, note_start=texts[0], hpi="", medications=["sertraline 50 mg daily"])
        (annotations,) = judge.annotate_many(lambda: [history], PANEL[:2])
        usage = cache.usage()
        # Everything is remembered: the same again asks nothing.
        assert list(judge.judge_many(items)) == verdicts
        assert cache.usage() == usage
    assert len(verdicts) == len(items)
    assert usage.uncounted_calls == 0
    assert usage.calls >= len(items) + 1
    assert usage.prompt_tokens > 100 * usage.calls
    for (text, _), verdict in zip(items, verdicts, strict=True):
        if verdict.diagnosis_mentioned is not None:
            assert verdict_problem(verdict, text) is None
        else:
            assert verdict.attempts == 2
            # Structured decoding holds the shape; only the content can be wrong, or run out of room.
            assert verdict.invalid_reason not in (
                "the answer is not one JSON object",
                "the answer does not follow the schema",
            )
    assert [row["diagnosis"] for row in annotations] == [diagnosis.id for diagnosis in PANEL[:2]]
