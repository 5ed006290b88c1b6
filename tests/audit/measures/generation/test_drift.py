"""The drift check, on an engine that answers otherwise where it is asked one prompt at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.repeating_notes import PLAIN, QUIET, corpus_with, plan
from support.tallies import inside

from clinaudit.audit.measures.generation.drift import (
    DRIFT_PROMPTS,
    DRIFT_TOKENS,
    DriftCheck,
    choose_alone,
    equal_leading_share,
)
from clinaudit.audit.measures.generation.own_repeats import OwnRepeats, find_own_repeats
from clinaudit.audit.measures.generation.stage import Decoding, find_drift, generate
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import RunStore, StoredGeneration, open_store
from clinaudit.errors import IncompleteError
from clinaudit.priors.prompts import Prior
from clinaudit.reports.schema.results import DriftEvidence
from clinaudit.reports.tally.tally import DriftTally

PATIENTS = 40
LENGTH = 80


class BatchedEngine:
    """Counts upwards from the length of the prompt; alone it goes astray at a token, for some of the prompts."""

    name = "batched"
    context_length = 4000

    def __init__(self, *, astray: Sequence[str] = (), stops_after: int | None = None) -> None:
        self.astray, self.stops_after = astray, stops_after
        self.alone: list[GenerationRequest] = []

    def identity(self) -> dict[str, str]:
        return {"engine": self.name}

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        if len(requests) == 1:
            if len(self.alone) == self.stops_after:
                raise IncompleteError("stopped")
            self.alone += requests
        for request in requests:
            ids = [len(request.prompt_ids) + at for at in range(min(LENGTH, request.max_new_tokens))]
            if len(requests) == 1 and any(name in request.prompt for name in self.astray):
                ids[12] = 0
            yield GenerationOutput(request.key, tuple(ids), "length")

    def close(self) -> None:
        pass


class Audit:
    """The generation stage over forty patients, with any engine."""

    def __init__(self, place: Path, tokenizer: ModelTokenizer, patch: pytest.MonkeyPatch, patients: int) -> None:
        notes = {f"p{at}": [PLAIN.replace("Ada Lund", f"Ada Lund{at:02}")] for at in range(patients)}
        corpus = corpus_with(place / "corpus", notes)
        self.priors: list[Prior]
        self.decoding: Decoding
        self.priors, self.decoding = plan(corpus, tokenizer)
        self.own: OwnRepeats = find_own_repeats(notes, corpus, tokenizer.encode_many, QUIET)
        self.patch = patch

    def run(self, store: RunStore, engine: BatchedEngine, *, seed: int | None = 0) -> DriftTally | None:
        self.patch.setattr(AuditedModel, "load", lambda _model, *, context_length: context_length and engine)
        generate(
            self.priors,
            self.decoding,
            EngineInUse(self.decoding.model, None, store),
            store,
            QUIET,
            own_repeats=self.own,
            drift=seed if seed is None else DriftCheck(self.priors, seed),
        )
        return find_drift(self.priors, store)


@pytest.fixture
def audit(tmp_path: Path, tokenizer: ModelTokenizer, monkeypatch: pytest.MonkeyPatch) -> Audit:
    return Audit(tmp_path, tokenizer, monkeypatch, PATIENTS)


def test_what_differs_is_counted_and_nothing_kept_is_changed(audit: Audit, tmp_path: Path) -> None:
    with open_store(RunDirectory(tmp_path / "unchecked")) as store:
        assert audit.run(store, BatchedEngine(astray=["Lund1"]), seed=None) is None
        unchecked = store.generations()
    engine = BatchedEngine(astray=["Lund1", "Lund3"])
    with open_store(RunDirectory(tmp_path / "run")) as store:
        drift = audit.run(store, engine)
        assert store.generations() == unchecked
    assert len(engine.alone) == len({request.prompt for request in engine.alone}) == DRIFT_PROMPTS == 32
    assert {request.max_new_tokens for request in engine.alone} == {DRIFT_TOKENS} == {48}
    astray = sum("Lund1" in request.prompt or "Lund3" in request.prompt for request in engine.alone)
    assert 0 < astray < 32
    assert drift is not None
    assert (drift.differing, drift.tokens.value) == ("some", 48)
    assert inside(drift.evidence) == DriftEvidence(
        prompts=32,
        patients=32,
        differing=astray,
        differing_patients=astray,
        equal_leading_share=(32 - astray + astray * 12 / 48) / 32,
    )


def test_an_engine_that_gives_the_same_does_not_drift(audit: Audit, tmp_path: Path) -> None:
    with open_store(RunDirectory(tmp_path / "run")) as store:
        drift = audit.run(store, BatchedEngine())
    assert drift is not None
    found = inside(drift.evidence)
    assert (drift.differing, found.prompts, found.differing, found.equal_leading_share) == ("none", 32, 0, 1.0)


def test_a_stopped_check_goes_on_where_it_was(audit: Audit, tmp_path: Path) -> None:
    with open_store(RunDirectory(tmp_path / "whole")) as store:
        whole = audit.run(store, BatchedEngine(astray=["Lund2"]))
    with open_store(RunDirectory(tmp_path / "run")) as store, pytest.raises(IncompleteError):
        audit.run(store, BatchedEngine(astray=["Lund2"], stops_after=9))
    again = BatchedEngine(astray=["Lund2"])
    with open_store(RunDirectory(tmp_path / "run")) as store:
        assert audit.run(store, again) == whole
        assert len(again.alone) == 32 - 9
        # Finished: nothing is loaded any more.
        assert audit.run(store, BatchedEngine(stops_after=0)) == whole


def test_fewer_prompts_are_all_decoded_alone(
    tmp_path: Path, tokenizer: ModelTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Audit(tmp_path, tokenizer, monkeypatch, 3)
    with open_store(RunDirectory(tmp_path / "run")) as store:
        drift = few.run(store, BatchedEngine(astray=["Lund01"]))
    assert drift is not None
    assert (inside(drift.evidence).prompts, inside(drift.evidence).differing) == (3, 1)


def test_the_choice_is_seeded_and_does_not_depend_on_order() -> None:
    requests = [GenerationRequest(f"k{at}", (1,), "", 1000) for at in range(100)]
    chosen = choose_alone(requests, seed=5, done=())
    assert choose_alone(requests[::-1], seed=5, done=()) == chosen
    assert choose_alone(requests, seed=6, done=()) != chosen
    done = [request.key.removeprefix("alone ") for request in chosen[:30]]
    assert choose_alone(requests, seed=5, done=done) == chosen[30:]


@pytest.mark.parametrize(
    ("kept", "finish", "alone", "share"),
    [
        ((1, 2, 3, 4), "length", (1, 2, 3, 4), 1.0),
        ((1, 2, 3, 4), "length", (1, 2, 9, 4), 0.5),
        ((1, 2, 3, 4), "stop", (1, 2), 0.5),
        ((1, 2), "stop", (1, 2, 3, 4), 0.5),
        ((), "stop", (), 1.0),
        ((), "stop", (7,), 0.0),
        # What the guard cut off the kept one cannot be compared.
        ((1, 2), "repetition", (1, 2, 3, 4), 1.0),
        ((1, 2), "repetition", (1, 3, 3, 4), 0.5),
        (tuple(range(100)), "length", tuple(range(48)), 1.0),
        (tuple(range(100)), "length", tuple(range(36)), 0.75),
    ],
)
def test_the_share_of_equal_leading_tokens(
    kept: tuple[int, ...], finish: str, alone: tuple[int, ...], share: float
) -> None:
    assert equal_leading_share(StoredGeneration(kept, finish, None), alone) == share
