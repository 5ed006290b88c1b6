"""Notes scored whole and in windows, against one forward pass a token; resumed; and by a server that gives none."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.models.tiny_models import save_llama
from support.repeating_notes import QUIET, corpus_with

from clinaudit.audit.measures.scoring import NoteScores, Scoring, plan_texts, score_notes, score_rows
from clinaudit.audit.runtime.model.audited_model import AuditedModel, find_model
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import NoScoresError, ScoreRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.audit.runtime.run.store import RunStore, TokenScores, open_store
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import Corpus

CONTEXT = 32
NOTES = {
    "p": ["patient: Ada Lund\ncc: cough\n", "hpi: a cough since Monday, worse at night, with some fever. " * 3],
    "q": ["x"],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> AuditedModel:
    directory = tmp_path_factory.mktemp("model")
    save_llama(directory, context=CONTEXT)
    return find_model(str(directory), engine="transformers", tokenizer=None, context_length=None, approved_hosts=())


@pytest.fixture
def scoring(model: AuditedModel, tmp_path: Path) -> Scoring:
    corpus: Corpus = corpus_with(tmp_path / "corpus", NOTES)
    return Scoring(corpus, ModelTokenizer(model.tokenizer_directory), CONTEXT)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with open_store(RunDirectory(tmp_path / "run")) as store:
        yield store


def score(scoring: Scoring, model: AuditedModel, store: RunStore) -> list[NoteScores]:
    planned = plan_texts(NOTES, scoring)
    with closing(EngineInUse(model, None, store)) as engine:
        engine.require(planned.longest)
        scores = score_notes(planned, engine, store, QUIET)
    assert isinstance(scores, list)
    return scores


@pytest.mark.filterwarnings("ignore")
def test_every_token_follows_half_a_context_at_least(scoring: Scoring, model: AuditedModel, store: RunStore) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model.tokenizer_directory).double().eval()
    room, longest = CONTEXT - 1, 0
    for of in score(scoring, model, store):
        text = next(note.text for note in scoring.corpus.notes_of(of.patient_id) if note.note_id == of.note_id)
        ids = scoring.tokenizer.encode(text)
        longest = max(longest, len(ids))
        assert of.first == 1
        assert len(of.log_probs) == max(0, len(ids) - 1)
        for place in range(1, len(ids)):
            # The window that scores it: the first that reaches it, each half a window on.
            begin = 0
            while begin + room <= place:
                begin += room // 2
            assert place - begin >= min(place, room // 2)
            with torch.no_grad():
                logits = network(torch.tensor([ids[begin:place]])).logits[0, -1]
            expected = torch.log_softmax(logits, dim=-1)[ids[place]].item()
            assert of.log_probs[place - of.first] == pytest.approx(expected, abs=1e-4)
    assert longest > 2 * CONTEXT


def test_a_special_token_lets_the_first_token_be_scored(
    scoring: Scoring, model: AuditedModel, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring.tokenizer, "encode_prompt", lambda text: (1, *scoring.tokenizer.encode(text)))
    for of in score(scoring, model, store):
        text = next(note.text for note in scoring.corpus.notes_of(of.patient_id) if note.note_id == of.note_id)
        assert of.first == 0
        assert len(of.log_probs) == len(scoring.tokenizer.encode(text))
    assert all(request.token_ids[0] == 1 for request in plan_texts(NOTES, scoring).requests)


class CountingEngine:
    """Gives each token the number of tokens before it, and stops after a few texts."""

    name, context_length, longest_scored = "counting", CONTEXT, CONTEXT

    def __init__(self, fails_after: int | None = None) -> None:
        self.asked: list[str] = []
        self._fails_after = fails_after

    def identity(self) -> dict[str, str]:
        return {"engine": self.name}

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        for request in requests:
            if len(self.asked) == self._fails_after:
                raise KeyboardInterrupt
            self.asked.append(request.key)
            yield TokenScores(request.key, -np.arange(request.first, len(request.token_ids), dtype=np.float32))

    def close(self) -> None:
        pass


def test_no_shard_that_is_scored_is_scored_again(
    scoring: Scoring, model: AuditedModel, store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = replace(model, options=EngineOptions(max_batch=2))
    planned = plan_texts(NOTES, scoring)

    def run(engine: CountingEngine, into: RunStore) -> list[NoteScores] | str:
        monkeypatch.setattr(AuditedModel, "load", lambda _model, *, context_length: context_length and engine)
        return score_notes(planned, EngineInUse(model, None, into), into, QUIET)

    first, second, whole = CountingEngine(fails_after=3), CountingEngine(), CountingEngine()
    with pytest.raises(KeyboardInterrupt):
        run(first, store)
    resumed = run(second, store)
    ordered = sorted(planned.requests, key=lambda request: (-len(request.token_ids), request.key))
    assert first.asked == [request.key for request in ordered[:3]]
    # Of the second shard one text was missing.
    assert second.asked == [request.key for request in ordered[2:]]
    with open_store(RunDirectory(tmp_path / "other")) as other:
        at_once = run(whole, other)
    assert isinstance(resumed, list)
    assert isinstance(at_once, list)
    tables = []
    for name, scores in (("a", resumed), ("b", at_once)):
        (tmp_path / name).mkdir()
        write_table(tmp_path / name, "scores", score_rows(scores))
        tables.append((tmp_path / name / "scores.parquet").read_bytes())
    assert tables[0] == tables[1]
    (row, *_) = read_table(tmp_path / "a", "scores")
    assert (row["patient_id"], row["model"], row["first_token"], row["means"]) == ("p", "audited", 1, None)
    assert row["log_probs"][:3] == [-1.0, -2.0, -3.0]


def test_the_control_models_scores_are_kept_apart(scoring: Scoring, store: RunStore) -> None:
    by_control = {request.key for request in plan_texts(NOTES, replace(scoring, role="control")).requests}
    assert by_control.isdisjoint(request.key for request in plan_texts(NOTES, scoring).requests)


def test_a_server_without_log_probabilities_is_not_measured(
    scoring: Scoring, model: AuditedModel, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(CountingEngine):
        def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:  # noqa: ARG002 (the protocol's)
            raise NoScoresError("the server gives no log-probabilities")

    monkeypatch.setattr(AuditedModel, "load", lambda _model, *, context_length: context_length and Silent())
    planned = plan_texts(NOTES, scoring)
    said = score_notes(planned, EngineInUse(model, None, store), store, QUIET)
    assert said == "the server gives no log-probabilities"
    assert store.scores() == {}


def test_scores_that_no_audit_wrote_are_an_error(scoring: Scoring, store: RunStore) -> None:
    store._connection.execute("INSERT INTO scores VALUES ('k', x'00', NULL, NULL)")
    with pytest.raises(StorageError, match="the audit did not write"):
        store.scores()
