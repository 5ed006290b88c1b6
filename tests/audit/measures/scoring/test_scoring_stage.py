"""Notes scored whole and in windows, against one forward pass a token; resumed; and by a server that gives none."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from support.models.tiny_models import save_llama
from support.repeating_notes import QUIET, corpus_with

from clinaudit.audit.measures.scoring import longest, plan_texts, score_notes
from clinaudit.audit.runtime.model.audited_model import AuditedModel, EngineInUse, find_model
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import NoScoresError
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS, read_table, write_table
from clinaudit.audit.runtime.run.store import TokenScores, open_store
from clinaudit.errors import StorageError

CONTEXT = 32
NOTES = {
    "p": ["patient: Ada Lund\ncc: cough\n", "hpi: a cough since Monday, worse at night, with some fever. " * 3],
    "q": ["x"],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    save_llama(directory, context=CONTEXT)
    return find_model(str(directory), engine="transformers", tokenizer=None, context_length=None, approved_hosts=())


@pytest.fixture
def corpus(tmp_path):
    return corpus_with(tmp_path / "corpus", NOTES)


@pytest.fixture
def tokenizer(model):
    return ModelTokenizer(model.tokenizer_directory)


def patients(**roles):
    rows = [(role, patient) for role, named in roles.items() for patient in named]
    return pl.DataFrame(rows, schema=["role", "patient_id"], orient="row")


@pytest.fixture
def texts(corpus, tokenizer):
    return plan_texts(patients(target="pq"), corpus, tokenizer, context_length=CONTEXT)


@pytest.fixture
def store(tmp_path):
    with open_store(RunDirectory(tmp_path / "run")) as store:
        yield store


def score(texts, model, store):
    with closing(EngineInUse(model, None, store)) as engine:
        engine.require(longest(texts))
        scores, why = score_notes(texts, engine, store, QUIET)
    assert why is None
    return scores


@pytest.mark.filterwarnings("ignore")
def test_every_token_follows_half_a_context_at_least(texts, corpus, tokenizer, model, store):
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model.tokenizer_directory).double().eval()
    room, most = CONTEXT - 1, 0
    scores = score(texts, model, store)
    assert scores.select("patient_id", "note_id").rows() == [
        (patient, note.note_id) for patient in NOTES for note in corpus.notes_of(patient)
    ]
    for of in scores.iter_rows(named=True):
        text = next(note.text for note in corpus.notes_of(of["patient_id"]) if note.note_id == of["note_id"])
        ids = tokenizer.encode(text)
        most = max(most, len(ids))
        assert (of["role"], of["model"], of["first_token"]) == ("target", "audited", 1)
        assert len(of["log_probs"]) == max(0, len(ids) - 1)
        # A note without a scored token has no spread.
        assert len(of["means"] or ()) == len(of["deviations"] or ()) == len(of["log_probs"])
        for place in range(1, len(ids)):
            # The window that scores it: the first that reaches it, each half a window on.
            begin = 0
            while begin + room <= place:
                begin += room // 2
            assert place - begin >= min(place, room // 2)
            with torch.no_grad():
                logits = network(torch.tensor([ids[begin:place]])).logits[0, -1]
            expected = torch.log_softmax(logits, dim=-1)[ids[place]].item()
            assert of["log_probs"][place - 1] == pytest.approx(expected, abs=1e-4)
    assert most > 2 * CONTEXT


def test_a_special_token_lets_the_first_token_be_scored(corpus, tokenizer, model, store, monkeypatch):
    monkeypatch.setattr(tokenizer, "encode_prompt", lambda text: (1, *tokenizer.encode(text)))
    texts = plan_texts(patients(target="pq"), corpus, tokenizer, context_length=CONTEXT)
    for of in score(texts, model, store).iter_rows(named=True):
        text = next(note.text for note in corpus.notes_of(of["patient_id"]) if note.note_id == of["note_id"])
        assert of["first_token"] == 0
        assert len(of["log_probs"]) == len(tokenizer.encode(text))
    assert (texts["token_ids"].list.first() == 1).all()


class CountingEngine:
    """Gives each token the number of tokens before it, and stops after a few texts."""

    name, context_length, longest_scored = "counting", CONTEXT, CONTEXT

    def __init__(self, fails_after=None):
        self.asked: list[str] = []
        self.lengths: dict[str, int] = {}
        self._fails_after = fails_after

    def identity(self):
        return {"engine": self.name}

    def score(self, requests):
        for request in requests:
            if len(self.asked) == self._fails_after:
                raise KeyboardInterrupt
            self.asked.append(request.key)
            self.lengths[request.key] = len(request.token_ids)
            yield TokenScores(request.key, -np.arange(request.first, len(request.token_ids), dtype=np.float32))

    def close(self):
        pass


def load_as(monkeypatch, engine):
    monkeypatch.setattr(AuditedModel, "load", lambda _model, **_asked: engine)


def test_no_shard_that_is_scored_is_scored_again(texts, model, store, tmp_path, monkeypatch):
    model = replace(model, options=EngineOptions(max_batch=2))

    def run(engine, into):
        load_as(monkeypatch, engine)
        return score_notes(texts, EngineInUse(model, None, into), into, QUIET)[0]

    first, second, whole = CountingEngine(fails_after=3), CountingEngine(), CountingEngine()
    with pytest.raises(KeyboardInterrupt):
        run(first, store)
    resumed = run(second, store)
    with open_store(RunDirectory(tmp_path / "other")) as other:
        assert run(whole, other).equals(resumed)
    assert whole.asked == sorted(whole.asked, key=lambda key: (-whole.lengths[key], key))
    assert first.asked == whole.asked[:3]
    # Of the second shard one text was missing.
    assert second.asked == whole.asked[2:]
    write_table(tmp_path, "scores", resumed)
    (row, *_) = read_table(tmp_path, "scores")
    assert (row["patient_id"], row["model"], row["first_token"], row["means"]) == ("p", "audited", 1, None)
    assert row["log_probs"][:3] == [-1.0, -2.0, -3.0]


def test_whom_the_site_named_too_is_scored_once_and_the_control_models_scores_are_kept_apart(
    corpus, tokenizer, model, store, monkeypatch
):
    texts = plan_texts(patients(target="pq", included="p"), corpus, tokenizer, context_length=CONTEXT)
    audited, control = CountingEngine(), CountingEngine()
    for engine, which in ((audited, "audited"), (control, "control")):
        load_as(monkeypatch, engine)
        scores, _ = score_notes(texts, EngineInUse(model, None, store), store, QUIET, model=which)
        assert scores.group_by("role", "patient_id", "model").len().sort("role", "patient_id").rows() == [
            ("included", "p", which, 2),
            ("target", "p", which, 2),
            ("target", "q", which, 1),
        ]
    assert len(set(audited.asked)) == len(audited.asked)
    assert set(audited.asked).isdisjoint(control.asked)


def test_a_server_without_log_probabilities_is_not_measured(texts, model, store, monkeypatch):
    class Silent(CountingEngine):
        def score(self, requests):  # noqa: ARG002 (the protocol's)
            raise NoScoresError("the server gives no log-probabilities")

    load_as(monkeypatch, Silent())
    scores, why = score_notes(texts, EngineInUse(model, None, store), store, QUIET)
    assert why == "the server gives no log-probabilities"
    assert scores.is_empty()
    assert set(SCHEMAS["scores"]) == set(scores.columns)
    assert store.scores() == {}


def test_scores_that_no_audit_wrote_are_an_error(texts, model, store):
    store._add("scores", "k", 1, b"\0")
    with pytest.raises(StorageError, match="the audit did not write"):
        score_notes(texts, EngineInUse(model, None, store), store, QUIET)
