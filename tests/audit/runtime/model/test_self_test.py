"""The self-test: silent for a model that is read rightly; planted faults fail it, and a near tie is named alone."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from support.models.tiny_models import save_adapter, save_llama
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from clinaudit.audit.runtime.model import self_test
from clinaudit.audit.runtime.model.audited_model import find_model
from clinaudit.audit.runtime.model.engines.protocol import NoScoresError
from clinaudit.audit.runtime.model.self_test import ASKED, SelfTest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.store import GenerationOutput, TokenScores
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus

TEXTS = [
    f"cc: cough\nhpi: patient presents with cough for {days} days.\n" + "plan: rest and fluids\n" * days
    for days in range(4, 15)
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("self-test") / "model"
    save_llama(directory, vocabulary=300)
    return find_model(str(directory), engine="transformers")


@pytest.fixture(scope="module")
def tokenizer(model):
    return ModelTokenizer(model.tokenizer_directory)


class Faulty:
    """An engine of transformers, with a fault in what it gives: `change` of an output, `score_of` the asked ids."""

    def __init__(self, model, change=lambda _, output: output, *, shift=0.0, score_of=None):
        self.engine = model.load(context_length=model.context_length)
        self.change, self.shift, self.score_of = change, np.float32(shift), score_of

    def generate(self, requests):
        return (self.change(len(requests), output) for output in self.engine.generate(requests))

    def score(self, requests):
        asked = {one.key: one.token_ids for one in requests}
        for scores in self.engine.score(requests):
            found = scores.log_probs - self.shift
            yield replace(scores, log_probs=found * 0 + self.score_of(asked[scores.key]) if self.score_of else found)


def begun(model, tokenizer, texts=TEXTS):
    test = SelfTest(model, tokenizer, texts, scores=True, chat=False)
    test.run_before_loading()
    return test


def other_at(place):
    """Another token at a place, in a batch alone."""

    def change(batch, output):
        ids = list(output.token_ids)
        ids[place] = (ids[place] + 1) % 300
        return output if batch == 1 else replace(output, token_ids=tuple(ids))

    return change


def test_it_is_silent_where_all_is_alike(model, tokenizer):
    test = begun(model, tokenizer)
    test(Faulty(model))
    assert test.named == []
    # Random weights hold no text likelier than its tokens in any order: such a model does not pass.
    (doubt,) = test.doubts
    assert "hardly likelier than their tokens in any order" in doubt
    (stated,) = test.stated
    assert stated.startswith("mean ln p a token: -")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"change": other_at(4)}, "than transformers' generate, from token 5 of 30 on"),
        ({"change": lambda _, output: replace(output, token_ids=output.token_ids[:9])}, "generate, from token 10"),
        ({"shift": 0.2}, r"scores tokens otherwise than transformers decodes them: ln p differs by 0\.2 a token"),
    ],
)
def test_a_planted_fault_fails_it(fault, words, model, tokenizer):
    test = begun(model, tokenizer)
    with pytest.raises(BadInputError, match=words) as caught:
        test(Faulty(model, **fault))
    assert "--skip-self-test" in caught.value.message
    assert "cough" not in caught.value.message


def test_a_near_tie_is_named_and_does_not_fail(model, tokenizer, monkeypatch):
    monkeypatch.setattr(self_test, "_ALIKE", 1e9)
    test = begun(model, tokenizer)
    test(Faulty(model, other_at(4)))
    assert sum("nearly equal" in sentence for sentence in test.named) >= 2


@pytest.mark.parametrize(
    ("method", "fault", "words"),
    [
        ("encode_many", lambda whole, texts: [ids[:-1] for ids in whole(texts)], "other tokens at a second call"),
        ("encode_prompt", lambda whole, text: (*whole(text), 0), "ends prompts in a mark of an end"),
        ("decode_with_spans", lambda _, ids: ("[UNK] " * len(ids[:9]), None), "loses most of a text"),
        (
            "decode_with_spans",
            lambda whole, ids: (whole(ids)[0].upper(), whole(ids)[1]),
            "gives most words of the notes back otherwise",
        ),
    ],
)
def test_a_tokenizer_with_a_fault_fails_it(method, fault, words, model, tokenizer, monkeypatch):
    whole = getattr(tokenizer, method)
    monkeypatch.setattr(tokenizer, method, lambda given: fault(whole, given))
    with pytest.raises(BadInputError, match=words):
        begun(model, tokenizer)


@pytest.mark.parametrize(
    ("texts", "decode"),
    [
        (TEXTS, lambda whole, ids, first: ("[UNK]", None) if tuple(ids) == first else whole(ids)),
        # Figures are alike in any case.
        (
            [f"{text}{'1 2 3 4 5 6 7 8 ' * text.count('rest')}" for text in TEXTS],
            lambda whole, ids, _: (whole(ids)[0].upper(), whole(ids)[1]),
        ),
    ],
)
def test_a_tokenizer_that_loses_little_is_named_alone(texts, decode, model, tokenizer, monkeypatch):
    test = SelfTest(model, tokenizer, texts, scores=True, chat=False)
    whole, first = tokenizer.decode_with_spans, tokenizer.encode(texts[0])
    monkeypatch.setattr(tokenizer, "decode_with_spans", lambda ids: decode(whole, ids, first))
    test.run_before_loading()
    assert any("does not give texts back as they were" in sentence for sentence in test.named)


@pytest.mark.parametrize(("known", "doubted"), [(TEXTS, []), ([text.replace("cough", "") for text in TEXTS], [True])])
def test_a_tokenizer_of_words_that_does_not_know_some_keeps_the_run_from_passing(known, doubted, model, tmp_path):
    words = sorted({word for text in known for word in re.findall(r"\w+|[^\w\s]+|\s", text)})
    rules = Tokenizer(WordLevel({word: number for number, word in enumerate(["[UNK]", *words])}, unk_token="[UNK]"))
    rules.pre_tokenizer = Split(Regex(r"\w+|[^\w\s]+|\s"), "isolated")
    rules.decoder = Fuse()
    rules.save(str(tmp_path / "tokenizer.json"))
    test = SelfTest(model, ModelTokenizer(tmp_path), TEXTS, scores=True, chat=False)
    test._test_tokenizer()
    assert ["does not know" in doubt for doubt in test.doubts] == doubted


def swap_layers(tensors):
    names = {name: name.replace("layers.0.", "layers.1.") for name in tensors if "layers.0." in name}
    return tensors | {one: tensors[other] for pair in names.items() for one, other in (pair, pair[::-1])}


def transpose(tensors):
    return {name: tensor.T if "q_proj" in name else tensor for name, tensor in tensors.items()}


SLOW_ROPE = {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}}


@pytest.mark.parametrize(
    ("change", "settings", "logged", "doubted", "named"),
    [
        (None, {}, None, [], []),
        (None, {}, 1.45, [], []),
        (swap_layers, {}, None, ["counts of words"], []),
        (transpose, {}, None, [], ["pairs of words"]),
        (transpose, {}, 1.45, ["training log"], ["pairs of words"]),
        (None, SLOW_ROPE, 1.45, ["training log"], []),
        (None, {"rms_norm_eps": 1.0}, None, ["in any order"], ["pairs of words"]),
    ],
)
def test_a_model_that_is_not_as_it_was_trained_is_doubted(
    change, settings, logged, doubted, named, tiny_demo, tmp_path
):
    """The model loads and answers, and repeats nothing."""
    directory = tmp_path / "model"
    shutil.copytree(tiny_demo.model, directory)
    config, file = directory / "config.json", directory / "model.safetensors"
    config.write_text(json.dumps(json.loads(config.read_text()) | settings))
    if change is not None:
        changed = {name: tensor.contiguous().clone() for name, tensor in change(load_file(file)).items()}
        save_file(changed, file, metadata={"format": "pt"})
    model = find_model(str(directory), engine="transformers")
    corpus = read_corpus(tiny_demo.corpus)
    asked, others = (
        [note.text for one in corpus.patient_ids("train")[part] for note in corpus.notes_of(one)]
        for part in (slice(ASKED), slice(ASKED, None))
    )
    of_each = asked[:: len(asked) // ASKED]
    tokenizer = ModelTokenizer(directory)
    test = SelfTest(model, tokenizer, of_each, scores=True, chat=False, others=others, logged=logged)
    test.run_before_loading()
    engine = model.load(context_length=model.context_length)
    test(engine)
    engine.close()
    for said, words in ((test.doubts, doubted), (test.named, named)):
        assert [word in sentence for word, sentence in zip(words, said, strict=True)] == [True] * len(words)


def measured(by_text):
    """Scores of texts with ln p, its mean and deviation over the vocabulary: (ln p, mean, deviation) by their order."""

    def score_as(requests, engine):
        for scores in engine.score(requests):
            number, _, how = scores.key.partition(" ")
            log_prob, mean, deviation = by_text[int(number)] if how in ("", "whole") else (-9.0, -1.0, 0.5)
            length = len(scores.log_probs)
            yield TokenScores(scores.key, *(np.full(length, of, np.float32) for of in (log_prob, mean, deviation)))

    return score_as


@pytest.mark.parametrize(
    ("by_text", "doubted"),
    [
        # As it expects, or better.
        ([(-2.0, -2.0, 0.5)] * 5, []),
        ([(-1.0, -3.0, 0.5)] * 5, []),
        # Of at least 90 tokens three standard errors are at most 3 * 0.5 / sqrt(90) = 0.16 nats.
        ([(-2.7, -2.0, 0.5)] * 5, ["than it expects itself"]),
        ([(-2.5, -2.0, 0.5)] * 5, []),
        # 3 * 5 / sqrt(300) = 0.87: so few tokens, each as uncertain, do not tell 1 nat from 0.5.
        ([(-3.0, -2.0, 5.0)] * 5, []),
        # Two notes of five may have been forgotten.
        ([(-8.0, -2.0, 0.5)] * 2 + [(-2.0, -2.0, 0.5)] * 3, []),
        ([(-8.0, -2.0, 0.5)] * 3 + [(-2.0, -2.0, 0.5)] * 2, ["than it expects itself"]),
    ],
)
def test_a_model_that_notes_surprise_more_than_it_expects_is_doubted(by_text, doubted, model, tokenizer, monkeypatch):
    texts = [text * 4 for text in TEXTS]
    engine = Faulty(model)
    monkeypatch.setattr(Faulty, "score", lambda self, requests: measured(by_text)(requests, self.engine))
    test = SelfTest(model, tokenizer, texts, scores=True, chat=False)
    test(engine)
    assert [word in doubt for word, doubt in zip(doubted, test.doubts, strict=True)] == [True] * len(doubted)


@pytest.mark.parametrize(("expected", "doubted"), [(-8.5, []), (-1.0, ["counts of words"])])
def test_a_model_that_learned_little_and_expects_no_better_is_not_doubted_by_counts(
    expected, doubted, model, tokenizer, monkeypatch
):
    """The notes are less likely than by counts; shuffled ones are at 9 nats."""
    engine, others = Faulty(model), TEXTS * 4
    by_text = [(-5.4, expected, 0.5)] * 5
    monkeypatch.setattr(Faulty, "score", lambda self, requests: measured(by_text)(requests, self.engine))
    test = SelfTest(model, tokenizer, TEXTS, scores=True, chat=False, others=others)
    test(engine)
    assert [word in doubt for word, doubt in zip(doubted, test.doubts, strict=True)] == [True] * len(doubted)
    assert any("pairs of words" in sentence for sentence in test.named) == (not doubted)


@pytest.mark.parametrize(("of_rest", "doubted"), [(0.0, False), (-3.0, True)])
def test_whole_notes_are_compared_with_the_training_log_not_their_beginnings(
    of_rest, doubted, tmp_path, tokenizer, monkeypatch
):
    """The first 90 tokens of a note, with its names and numbers, lose 3 nats, and a log of all notes has 0.5."""
    save_llama(tmp_path / "model", vocabulary=300, context=2000)
    long = find_model(str(tmp_path / "model"), engine="transformers")

    def score(self, requests):
        for one in requests:
            tokens = len(one.token_ids) - one.first
            log_probs = np.where(np.arange(tokens) < 90, np.float32(-3), np.float32(of_rest))
            yield TokenScores(one.key, np.full(tokens, -9, np.float32) if "shuffled" in one.key else log_probs)

    monkeypatch.setattr(Faulty, "score", score)
    test = SelfTest(long, tokenizer, [text * 20 for text in TEXTS], scores=True, chat=False, logged=0.5)
    test(Faulty(long))
    assert ["training log" in doubt for doubt in test.doubts] == [True] * doubted


def answer(request, text="of one"):
    """What a server says that rewrites nothing: more than was asked for, another text for each."""
    return GenerationOutput(request.key, (), "length", "\n".join([request.key, *[text] * 20]))


class Server:
    """A served model that answers the request at a place of so many by a rule, and scores nothing."""

    def __init__(self, rule):
        self.rule, self.seen = rule, []

    def generate(self, requests):
        self.seen += requests
        return (self.rule(one, place, len(requests)) for place, one in enumerate(requests))

    def score(self, requests):
        raise NoScoresError(f"it gives none of {len(requests)} texts")


@pytest.fixture
def served(tokenizer):
    return find_model("openai:http://127.0.0.1:9/v1#m", tokenizer=tokenizer.directory, context_length=200)


def named_of(served, tokenizer, server, *, scores=False, chat=False):
    test = SelfTest(served, tokenizer, TEXTS, scores=scores, chat=chat)
    test.run_before_loading()
    test(server)
    return test.named


@pytest.mark.parametrize("scores", [True, False])
def test_a_served_model_is_asked_twice_and_for_scores_only_where_the_audit_wants_them(scores, served, tokenizer):
    named = named_of(served, tokenizer, Server(lambda one, _, count: answer(one, f"of {count}")), scores=scores)
    assert [sentence.split(":")[0] for sentence in named] == [
        *(["The self-test compared no probabilities"] if scores else []),
        "Asked twice, alone and among others, the served model answered otherwise.",
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda whole: whole, None),
        (lambda whole: replace(whole, text="plan: rest", finish_reason="stop"), "before 30 tokens"),
        (lambda whole: replace(whole, text=" ".join(whole.text.split())), "hold no line break"),
        (lambda whole: replace(whole, text=whole.text.replace("\n", "\r\n")), "marks that hardly a note holds"),
        (lambda whole: replace(whole, text="rest\n" * 40), "5 texts of the self-test were continued alike"),
    ],
)
def test_answers_that_a_server_ends_early_rewrites_or_repeats_are_named(change, named, served, tokenizer):
    found = named_of(served, tokenizer, Server(lambda one, *_: change(answer(one))))
    assert any(named in sentence for sentence in found) if named else not found


def test_answers_that_a_server_cuts_off_fail_it(served, tokenizer):
    cuts = Server(lambda one, *_: GenerationOutput(one.key, (), "length", "plan: rest"))
    with pytest.raises(BadInputError, match=r"cuts an answer off after \d+ of 30 tokens, as --tokenizer counts them"):
        named_of(served, tokenizer, cuts)


def test_one_answer_of_few_tokens_as_text_is_no_cut(served, tokenizer):
    short = Server(lambda one, place, count: answer(one) if place or count == 1 else answer(one, ""))
    # Neither refused nor said to be cut off; alone the same prompt gives more, which is named.
    assert [sentence.split(",")[0] for sentence in named_of(served, tokenizer, short)] == ["Asked twice"]


@pytest.mark.parametrize("chat", [True, False])
def test_a_served_model_that_is_asked_in_a_chat_alone_is_tested_so(chat, served, tokenizer):
    server = Server(lambda one, *_: answer(one))
    named_of(served, tokenizer, server, chat=chat)
    assert server.seen
    assert all(one.messages == ((("user", one.prompt),) if chat else ()) for one in server.seen)


@pytest.mark.parametrize(
    ("written", "how"),
    [
        (lambda text: text, None),
        (lambda text: text.replace("\n", "\r\n"), "with line feeds alone"),
        (str.upper, "in lower case"),
        (lambda text: text.replace("\n", "\n \t"), "in lines without further blanks"),
        (lambda text: text.replace("\n", "\n "), "in lines without further blanks"),
        (lambda text: text.replace("fl", "\ufb02"), "with letters composed"),
        (lambda text: text.replace("e", "é"), "in ASCII"),
    ],
)
def test_notes_that_are_written_otherwise_than_in_training_are_named(written, how, model, tokenizer):
    trained = [f"fluids: few\n{text}" for text in TEXTS]
    known = [tokenizer.encode(text) for text in trained]
    test = SelfTest(model, tokenizer, list(map(written, trained)), scores=True, chat=False)
    # Likely is what begins as a text that the model was trained on does.
    test(Faulty(model, score_of=lambda ids: -1 if any(text[: len(ids)] == ids for text in known) else -5))
    found = [sentence for sentence in test.named if "likelier where they are written" in sentence]
    assert [str(how) in sentence for sentence in found] == [True] * (how is not None)


@pytest.mark.parametrize(("writes", "named"), [(True, None), (False, "after the token of a beginning")])
def test_a_model_that_needs_a_beginning_is_read_after_it(writes, named, model, tokenizer, monkeypatch):
    end = tokenizer.eos_id
    roles = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
    monkeypatch.setattr(tokenizer, "settings", replace(tokenizer.settings, roles=roles))
    if writes:
        monkeypatch.setattr(tokenizer, "encode_prompt", lambda text: (end, *tokenizer.encode(text)))

    def score_of(asked):
        first, *text = asked
        return -1 if first == end and any(tokenizer.encode(one)[: len(text)] == tuple(text) for one in TEXTS) else -9

    test = SelfTest(model, tokenizer, TEXTS, scores=True, chat=False)
    test(Faulty(model, score_of=score_of))
    found = [sentence for sentence in test.named if "likelier" in sentence]
    assert [str(named) in sentence for sentence in found] == ([True] if named else [])
    assert ["hardly likelier" in doubt for doubt in test.doubts] == ([True] if named else [])


@pytest.mark.filterwarnings("ignore")  # peft warns of settings that do not matter here
def test_a_base_that_holds_the_notes_likelier_than_with_its_adapter_is_named(model, tokenizer, tmp_path, monkeypatch):
    base = model.files.directory
    save_adapter(base, tmp_path / "adapter", r=4, target_modules=["q_proj"])
    adapted = find_model(str(tmp_path / "adapter"), engine="transformers", base_model=base)

    def is_named():
        return any("The base alone finds the notes" in sentence for sentence in begun(adapted, tokenizer).named)

    measure, measured = SelfTest._mean_log_prob, []
    monkeypatch.setattr(SelfTest, "_mean_log_prob", lambda *given: measured.append(measure(*given)) or measured[-1])
    named = is_named()
    # The base alone was measured first.
    assert len(set(measured)) == 2
    assert named == (measured[1] < measured[0] + 0.05)
    # An alpha that was lost adds hardly anything.
    for means, expected in (((-2.0, -3.0), True), ((-3.0, -2.0), False), ((-3.0, -2.99), True)):
        given = iter(means)
        monkeypatch.setattr(SelfTest, "_mean_log_prob", lambda *_, given=given: next(given))
        assert is_named() == expected


def test_an_end_that_notes_hold_as_text_is_named(model, tokenizer):
    newline = frozenset(tokenizer.encode("\n"))
    ended = replace(model, files=replace(model.files, stop_token_ids=newline))
    named = [begun(of, tokenizer).named for of in (model, ended)]
    assert [any("stands in notes as text" in sentence for sentence in own) for own in named] == [False, True]


def test_what_cannot_be_tested_is_named(model, tokenizer, monkeypatch):
    def refuse(*_, **__):
        raise BadInputError("too large")

    monkeypatch.setattr(self_test, "require_loadable", refuse)
    test = begun(model, tokenizer)
    assert test.named == [
        "The self-test did not compare the engine with transformers: this machine has no memory for it, or it runs no "
        "such model (quantized, state-space)."
    ]
    # The engine is still compared with itself.
    with pytest.raises(BadInputError, match="alone otherwise than in a batch"):
        test(Faulty(model, other_at(4)))
