"""Both cuts of one generation, by ids and by text, and the way from notes to both texts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.patient_facts import PROFILE
from support.repeating_notes import HEAD, LINE, OTHER, PLAIN, QUIET, REPEATING, corpus_with, plan

from clinaudit.audit.measures.generation.own_repeats import find_own_repeats, measure_recitations
from clinaudit.audit.measures.generation.record import as_unguarded, generation_rows
from clinaudit.audit.measures.generation.stage import cut_at_repeats, generate, load_finished_generations
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest, first_repeated_ngram
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import StoredGeneration, open_store
from clinaudit.priors.facts import read_facts


def test_the_highest_count_of_any_one_note_is_allowed(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    thrice = f"{HEAD}hpi:\n" + (LINE + OTHER) * 3
    corpus = corpus_with(tmp_path / "corpus", {"p": [thrice, REPEATING]})
    allowed = find_own_repeats(["p"], corpus, tokenizer.encode_many, QUIET).allowed("p")
    assert set(allowed.values()) == {2, 3}
    assert cut_at_repeats(reciting(tokenizer, thrice), tokenizer, allowed).unguarded is not None
    # A fourth time is once too often.
    loop = reciting(tokenizer, thrice + (LINE + OTHER) * 3)
    unguarded = cut_at_repeats(loop, tokenizer, allowed).unguarded
    assert unguarded is not None
    text = tokenizer.decode_with_spans(unguarded.token_ids)[0]
    assert thrice.startswith(text[: len(thrice)])
    assert abs(len(text) - len(thrice)) < 40


def reciting(tokenizer: ModelTokenizer, text: str) -> GenerationOutput:
    return GenerationOutput("g", tokenizer.encode(text), "length")


def test_a_true_repeat_is_cut_by_the_papers_rule_and_not_by_the_second(
    tmp_path: Path, tokenizer: ModelTokenizer
) -> None:
    corpus = corpus_with(tmp_path / "corpus", {"p": [REPEATING], "q": [PLAIN]})
    own = find_own_repeats("pq", corpus, tokenizer.encode_many, QUIET)
    output = reciting(tokenizer, REPEATING)
    stored = cut_at_repeats(output, tokenizer, own.allowed("p"))
    assert stored.finish_reason == "repetition"
    assert len(stored.token_ids) < len(output.token_ids)
    assert stored.unguarded == StoredGeneration(output.token_ids, "repetition", None)
    # Written of a patient whose notes do not repeat it, the same text is an engine's own: guarded, and kept as it is.
    guarded = GenerationOutput("g", stored.token_ids, "repetition")
    assert cut_at_repeats(guarded, tokenizer, own.allowed("q")) == replace(stored, unguarded=None)
    # What repeats nothing stays whole.
    plain = reciting(tokenizer, PLAIN)
    assert cut_at_repeats(plain, tokenizer, own.allowed("p")) == StoredGeneration(plain.token_ids, "length", None)


def test_a_served_models_text_is_cut_by_both_rules(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    own = find_own_repeats("p", corpus_with(tmp_path / "corpus", {"p": [REPEATING]}), tokenizer.encode_many, QUIET)
    output = GenerationOutput("g", (), "stop", REPEATING)
    stored = cut_at_repeats(output, tokenizer, own.allowed("p"))
    by_ids = cut_at_repeats(reciting(tokenizer, REPEATING), tokenizer, own.allowed("p"))
    assert stored.text == tokenizer.decode_with_spans(by_ids.token_ids)[0]
    assert stored.unguarded == StoredGeneration((), "repetition", REPEATING)
    assert cut_at_repeats(output, tokenizer, {}) == replace(stored, unguarded=None)


class RecitingEngine:
    """Recites what follows the chief complaint in the patient's note, and keeps its requests."""

    name = "reciting"
    context_length = 4000

    def __init__(self, tokenizer: ModelTokenizer, notes: dict[str, str]) -> None:
        self.tokenizer, self.notes = tokenizer, notes
        self.requests: list[GenerationRequest] = []

    def identity(self) -> dict[str, str]:
        return {"engine": self.name}

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        for request in requests:
            self.requests.append(request)
            note = next(text for text in self.notes.values() if request.prompt.split("\n")[0] in text)
            ids = self.tokenizer.encode(note[note.index("hpi:") + len("hpi:") :])[: request.max_new_tokens]
            start = first_repeated_ngram(ids) if request.guarded else None
            yield GenerationOutput(request.key, ids[:start], "length" if start is None else "repetition")

    def close(self) -> None:
        pass


def test_from_notes_to_both_texts(tmp_path: Path, tokenizer: ModelTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = {"p": REPEATING, "q": PLAIN.replace("Ada Lund", "Ola Berg")}
    engine = RecitingEngine(tokenizer, notes)
    monkeypatch.setattr(AuditedModel, "load", lambda _model, *, context_length: context_length and engine)
    corpus = corpus_with(tmp_path / "corpus", {patient: [text] for patient, text in notes.items()})
    priors, decoding = plan(corpus, tokenizer)
    assert [prior.excluded for prior in priors] == [False, False]
    own = find_own_repeats(notes, corpus, tokenizer.encode_many, QUIET)
    facts = read_facts(corpus, PROFILE, notes)
    recitations = measure_recitations(priors, own, facts=facts, tokenizer=tokenizer)
    with open_store(RunDirectory(tmp_path / "run")) as store:
        generate(priors, decoding, store, QUIET, own_repeats=own)
        first, second = load_finished_generations(priors, tokenizer, store)
    asked = {request.prompt.split("\n")[0]: request.guarded for request in engine.requests}
    assert asked == {"patient: Ada Lund": False, "patient: Ola Berg": True}
    rest = REPEATING[REPEATING.index("hpi:") + len("hpi:") :]
    assert first.unguarded is not None
    assert first.unguarded.text == rest
    assert rest.startswith(first.text)
    # What was cut off this perfect recitation is what the account says.
    lost = len(first.unguarded.token_ids) - len(first.token_ids)
    assert lost >= 20
    assert recitations.cuts == {("p", "encounter_cc"): lost, ("q", "encounter_cc"): 0}
    assert recitations.repeating == {"p"}
    assert second.unguarded is None
    (longer,) = as_unguarded([first, second])
    assert (longer.generation_id, longer.text, longer.unguarded) == (first.generation_id, rest, None)
    rows = list(generation_rows([first, second]))
    assert [row["unguarded_token_ids"] for row in rows] == [list(first.unguarded.token_ids), None]
