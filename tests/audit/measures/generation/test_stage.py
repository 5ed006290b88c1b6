"""From notes to generations: the guard's cut by ids and by text, early ends, and refusals."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.chat_tokenizers import CHATML, save_chat_tokenizer
from support.patient_facts import PROFILE
from support.repeating_notes import PLAIN, QUIET, REPEATING, corpus_with, plan

from clinaudit.audit.measures.generation.stage import (
    cut_at_repeats,
    find_written_tokens,
    generate,
    load_generations,
    make_prompt_writer,
    plan_prompts,
)
from clinaudit.audit.runtime.model.audited_model import AuditedModel, EngineInUse
from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.engines.repetition_guard import first_repeated_ngram
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import GenerationOutput, open_store
from clinaudit.priors.facts import read_facts
from clinaudit.priors.tiers import SYSTEM, ProbedTiers


class RecitingEngine:
    """Recites what follows the chief complaint in the patient's note, and keeps its requests."""

    name = "reciting"
    context_length = 4000

    def __init__(self, tokenizer, notes):
        self.tokenizer, self.notes = tokenizer, notes
        self.requests: list[GenerationRequest] = []

    def identity(self):
        return {"engine": self.name}

    def generate(self, requests):
        for request in requests:
            self.requests.append(request)
            note = next(text for text in self.notes.values() if request.prompt.split("\n")[0] in text)
            ids = self.tokenizer.encode(note[note.index("hpi:") + len("hpi:") :])[: request.max_new_tokens]
            start = first_repeated_ngram(ids)
            yield GenerationOutput(request.key, ids[:start], "length" if start is None else "repetition")

    def close(self):
        pass


def test_the_guard_ends_what_a_patients_own_note_repeats(tmp_path, tokenizer, monkeypatch):
    notes = {"p": REPEATING, "q": PLAIN.replace("Ada Lund", "Ola Berg")}
    engine = RecitingEngine(tokenizer, notes)
    monkeypatch.setattr(AuditedModel, "load", lambda _model, **_asked: engine)
    corpus = corpus_with(tmp_path / "corpus", {patient: [text] for patient, text in notes.items()})
    priors, decoding = plan(corpus, tokenizer)
    assert priors["excluded"].to_list() == [False, False]
    with open_store(RunDirectory(tmp_path / "run")) as store:
        generate(priors, decoding, EngineInUse(decoding.model, None, store), store, QUIET)
        first, second = load_generations(priors, tokenizer, store).to_dicts()
    rest = REPEATING[REPEATING.index("hpi:") + len("hpi:") :]
    assert rest.startswith(first["text"])
    assert len(tokenizer.encode(rest)) - len(first["token_ids"]) >= 20
    assert (first["finish_reason"], second["finish_reason"]) == ("repetition", "length")
    assert second["text"] == PLAIN[PLAIN.index("hpi:") + len("hpi:") :]


def test_a_chat_is_asked_by_its_template_and_what_a_refusal_recites_is_kept(tmp_path, tokenizer_directory, monkeypatch):
    chat = ModelTokenizer(save_chat_tokenizer(tokenizer_directory, tmp_path / "chat", CHATML))
    refusal = "I'm sorry, but I can't share that."

    class Refusing(RecitingEngine):
        def generate(self, requests):
            for request in requests:
                self.requests.append(request)
                said = f"{refusal} {PLAIN}" if request.messages else PLAIN
                yield GenerationOutput(request.key, self.tokenizer.encode(said)[: request.max_new_tokens], "stop")

    engine = Refusing(chat, {})
    monkeypatch.setattr(AuditedModel, "load", lambda _model, **_asked: engine)
    corpus = corpus_with(tmp_path / "corpus", {"p": [PLAIN]})
    decoding = replace(plan(corpus, chat)[1], chat=find_chat_template(chat))
    prompts = plan_prompts(
        {"p": ()},
        facts=read_facts(corpus, PROFILE, corpus.patients),
        probed=ProbedTiers(("encounter_cc",), "both"),
        writer=make_prompt_writer(PROFILE, panel=(), decoding=decoding),
    )
    with open_store(RunDirectory(tmp_path / "run")) as store:
        generate(prompts, decoding, EngineInUse(decoding.model, None, store), store, QUIET)
        rows = {row["form"]: row for row in load_generations(prompts, chat, store).to_dicts()}
    (said,), (text,) = ([one for one in engine.requests if bool(one.messages) == is_chat] for is_chat in (True, False))
    start = chat.id_of("<s>")
    assert text.prompt_ids[0] == start
    # This template writes none.
    assert start not in said.prompt_ids
    assert said.prompt_ids[0] == chat.encode("<|im_start|>")[0]
    assert (said.stop_token_ids, text.stop_token_ids) == (frozenset(chat.encode("<|im_end|>")), frozenset())
    assert rows["chat"]["prompt"].startswith(f"<|im_start|>system\n{SYSTEM}<|im_end|>\n")
    assert {form: row["refused"] for form, row in rows.items()} == {"text": None, "chat": True}
    # A refusal that recites is a leak all the same.
    assert rows["chat"]["text"].startswith(f"{refusal} patient:")


@pytest.mark.parametrize(
    ("joined", "follows", "ends"),
    [
        ("  ", "\nleft", "cough\nhpi:"),
        (":\n", "\nleft", "cough\nhpi:\n"),
        (":\n", "\n left", "cough\nhpi:\n"),
        ("\n ", "\n left", "cough\nhpi:"),
        (":\r\n", "\r\nleft", "cough\nhpi:\r\n"),
        (":l", "left", "cough\nhpi"),
        ("i:left", "left", "cough\nhpi:"),
    ],
)
def test_a_prompt_ends_where_a_token_of_its_note_does(joined, follows, ends, tmp_path):
    # One token beside the bytes, or as many as lead to it.
    place = save_byte_level_tokenizer(
        tmp_path / "tokenizer", texts=[joined] * 4, size=255 + 2 * len(joined), by_words=False
    )
    corpus = corpus_with(tmp_path / "corpus", {"p": [PLAIN.replace("hpi:\nleft", f"hpi:{follows}")]})
    ((prompt, budget),) = plan(corpus, ModelTokenizer(place))[0].select("prompt", "max_new_tokens").iter_rows()
    assert prompt.endswith(ends)
    note = corpus.notes_of("p")[0].text
    assert note.startswith(prompt)
    assert budget == min(1000, len(ModelTokenizer(place).encode(note.removeprefix(prompt))))


def test_a_served_models_text_is_cut_on_its_ids(tokenizer):
    ids = tokenizer.encode(REPEATING)
    start = first_repeated_ngram(ids)
    stored = cut_at_repeats(GenerationOutput("g", (), "stop", REPEATING), tokenizer)
    assert stored == GenerationOutput("g", (), "repetition", tokenizer.decode_with_spans(ids[:start])[0])
    # What repeats nothing stays whole; an engine with ids has cut them itself.
    for whole in (GenerationOutput("g", (), "stop", PLAIN), GenerationOutput("g", ids, "length")):
        assert cut_at_repeats(whole, tokenizer) == whole


def test_a_request_goes_on_beyond_an_early_end(tmp_path, tokenizer, monkeypatch):
    """It asks for the tokens of one match before an end; what was said up to the first end is the answer."""
    notes = {"p": PLAIN, "q": PLAIN.replace("Ada Lund", "Ola Berg") + "<|endoftext|>"}
    ends = iter([5, None])

    class Ending(RecitingEngine):
        def generate(self, requests):
            for output in super().generate(requests):
                yield replace(output, first_end=next(ends))

    engine = Ending(tokenizer, notes)
    monkeypatch.setattr(AuditedModel, "load", lambda _model, **_asked: engine)
    corpus = corpus_with(tmp_path / "corpus", {patient: [text] for patient, text in notes.items()})
    priors, decoding = plan(corpus, tokenizer)
    # A control token that some note spells is text; the others are barred.
    written = find_written_tokens(notes, corpus, tokenizer, QUIET, control=frozenset({0, 7, 290}))
    assert written == {0} | ({7, 290} & set(np.concatenate(tokenizer.encode_many(list(notes.values()))).tolist()))
    decoding = replace(decoding, min_new_tokens=30, control_token_ids=frozenset({290}))
    limit = pl.when(pl.col("patient_id") == "q").then(12).otherwise("max_new_tokens")
    short = priors.with_columns(max_new_tokens=limit.cast(pl.Int64))
    with open_store(RunDirectory(tmp_path / "run")) as store:
        generate(short, decoding, EngineInUse(decoding.model, None, store), store, QUIET)
        generations = load_generations(short, tokenizer, store)
    asked = {request.max_new_tokens: request for request in engine.requests}
    assert asked[12].min_new_tokens == 12
    assert {request.min_new_tokens for request in engine.requests} == {12, 30}
    assert all(request.control_token_ids == {290} for request in engine.requests)
    generations = generations.sort("first_end", nulls_last=True)
    assert generations["first_end"].to_list() == [5, None]
    ended, whole = generations.to_dicts()
    _, chars = tokenizer.decode_with_spans(ended["token_ids"])
    assert 0 < ended["answer_chars"] == chars[5, 0] < len(ended["text"])
    assert whole["answer_chars"] is None


def test_draws_have_seeds_of_their_own_and_a_stopped_batch_is_drawn_again(tmp_path, tokenizer, monkeypatch):
    notes = {"p": PLAIN, "q": PLAIN.replace("Ada Lund", "Ola Berg")}
    engine = RecitingEngine(tokenizer, notes)
    monkeypatch.setattr(AuditedModel, "load", lambda _model, **_asked: engine)
    greedy, decoding = plan(corpus_with(tmp_path / "corpus", {one: [text] for one, text in notes.items()}), tokenizer)
    decoding = replace(decoding, model=replace(decoding.model, options=EngineOptions(4)), min_new_tokens=5)
    drawn = [
        greedy.with_columns(
            generation_id=pl.format("{}-{}", "generation_id", pl.lit(draw)),
            form=pl.lit("drawn"),
            draw=pl.lit(draw, pl.Int64),
        )
        for draw in (1, 2, 3)
    ]
    priors = pl.concat([greedy, *drawn])

    def ask(name, asked, *, seed=0):
        engine.requests.clear()
        with open_store(RunDirectory(tmp_path / name)) as store:
            of = replace(decoding, seed=seed)
            generate(asked, of, EngineInUse(decoding.model, None, store), store, QUIET)
            found = load_generations(asked, tokenizer, store)
        assert found.select("form", "draw").equals(asked.select("form", "draw"))
        return list(engine.requests)

    whole = ask("run", priors)
    assert [request.temperature for request in whole] == [0.0] * 2 + [1.0] * 6
    assert len({request.key for request in whole}) == 8
    assert len({request.seed for request in whole[2:]}) == 6
    assert all(request.min_new_tokens == 5 for request in whole)
    assert {request.seed for request in ask("other", priors, seed=1)[2:]}.isdisjoint({one.seed for one in whole[2:]})
    # The first of six in batches of four is missing: its batch is decoded again as it was; the other two stay.
    first = whole[2].key
    with open_store(RunDirectory(tmp_path / "killed")) as store:
        generate(
            priors.filter(pl.col("generation_id") != first),
            decoding,
            EngineInUse(decoding.model, None, store),
            store,
            QUIET,
        )
    assert ask("killed", priors) == whole[2:6]
    assert ask("killed", priors) == []
