"""The self-test: silent for a model that is read rightly; planted faults fail it, and a near tie is named alone."""

import dataclasses

import numpy as np
import pytest
from support.models.tiny_models import save_adapter, save_llama

from clinaudit.audit.runtime.model import self_test
from clinaudit.audit.runtime.model.audited_model import find_model
from clinaudit.audit.runtime.model.engines.protocol import NoScoresError
from clinaudit.audit.runtime.model.self_test import SelfTest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.store import GenerationOutput
from clinaudit.errors import BadInputError

TEXTS = [
    f"cc: cough\nhpi: patient presents with cough for {days} days.\n" + "plan: rest and fluids\n" * days
    for days in range(4, 15)
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("self-test") / "model"
    save_llama(directory, vocabulary=300)
    return find_model(str(directory), engine="transformers", tokenizer=None, context_length=None, approved_hosts=())


@pytest.fixture(scope="module")
def tokenizer(model):
    return ModelTokenizer(model.tokenizer_directory)


class Faulty:
    """An engine of transformers, with a fault in what it gives."""

    def __init__(self, model, change=None, *, shift=0.0):
        self.engine = model.load(context_length=model.context_length)
        self.change, self.shift, self.calls = change, shift, 0

    def generate(self, requests):
        self.calls += 1
        for output in self.engine.generate(requests):
            yield self.change(len(requests), output) if self.change else output

    def score(self, requests):
        for scores in self.engine.score(requests):
            yield dataclasses.replace(scores, log_probs=scores.log_probs - np.float32(self.shift))


def begun(model, tokenizer, texts=TEXTS):
    test = SelfTest(model, tokenizer, texts, scores=True, chat=False)
    test.run_before_loading()
    return test


def other_at(place):
    """Another token at a place, in a batch alone."""

    def change(batch, output):
        if batch == 1:
            return output
        ids = list(output.token_ids)
        ids[place] = (ids[place] + 1) % 300
        return dataclasses.replace(output, token_ids=tuple(ids))

    return change


def test_it_is_silent_where_all_is_alike(model, tokenizer):
    test = begun(model, tokenizer)
    test(Faulty(model))
    # Random weights hold no text likelier than its tokens in any order: that is warned of, and not refused.
    (warned,) = test.named
    assert "hardly likelier than their tokens in any order" in warned
    (stated,) = test.stated
    assert stated.startswith("mean ln p a token: -")


@pytest.mark.parametrize(
    ("change", "shift", "words"),
    [
        (other_at(4), 0.0, "than transformers' generate, from token 5 of 30 on"),
        (lambda _, output: dataclasses.replace(output, token_ids=output.token_ids[:9]), 0.0, "generate, from token 10"),
        (None, 0.2, r"scores tokens otherwise than transformers decodes them: ln p differs by 0\.2 a token"),
    ],
)
def test_a_planted_fault_fails_it(change, shift, words, model, tokenizer):
    test = begun(model, tokenizer)
    with pytest.raises(BadInputError, match=words) as caught:
        test(Faulty(model, change, shift=shift))
    assert "--skip-self-test" in caught.value.message
    assert "cough" not in caught.value.message


def test_a_near_tie_is_named_and_does_not_fail(model, tokenizer, monkeypatch):
    monkeypatch.setattr(self_test, "_ALIKE", 1e9)
    test = begun(model, tokenizer)
    test(Faulty(model, other_at(4)))
    assert sum("nearly equal" in sentence for sentence in test.named) >= 2


def test_a_tokenizer_that_draws_its_tokens_fails_it(model, tokenizer, monkeypatch):
    encode = tokenizer.encode_many
    monkeypatch.setattr(tokenizer, "encode_many", lambda texts: [ids[:-1] for ids in encode(texts)])
    with pytest.raises(BadInputError, match="other tokens at a second call"):
        begun(model, tokenizer)


def test_a_prompt_that_ends_in_a_mark_fails_it(model, tokenizer, monkeypatch):
    monkeypatch.setattr(tokenizer, "encode_prompt", lambda text: (*tokenizer.encode(text), 0))
    with pytest.raises(BadInputError, match="ends prompts in a mark of an end"):
        begun(model, tokenizer)


def answer(request, text="of one", finish="length"):
    """What a server says that rewrites nothing: more than was asked for, another text for each."""
    return GenerationOutput(request.key, (), finish, "\n".join([request.key, *[text] * 20]))


@pytest.fixture
def served(tokenizer):
    return find_model(
        "openai:http://127.0.0.1:9/v1#m",
        engine="auto",
        tokenizer=tokenizer.directory,
        context_length=200,
        approved_hosts=(),
    )


@pytest.mark.parametrize("scores", [True, False])
def test_a_served_model_is_asked_twice_and_for_scores_only_where_the_audit_wants_them(scores, served, tokenizer):
    class Server:
        def generate(self, requests):
            return (answer(one, f"of {len(requests)}") for one in requests)

        def score(self, requests):
            raise NoScoresError(f"it gives none of {len(requests)} texts")

    test = SelfTest(served, tokenizer, TEXTS, scores=scores, chat=False)
    test.run_before_loading()
    test(Server())
    assert [sentence.split(":")[0] for sentence in test.named] == [
        *(["The self-test compared no probabilities"] if scores else []),
        "Asked twice, alone and among others, the served model answered otherwise.",
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda whole: whole, None),
        (lambda whole: dataclasses.replace(whole, text="plan: rest", finish_reason="stop"), "before 30 tokens"),
        (lambda whole: dataclasses.replace(whole, text=" ".join(whole.text.split())), "hold no line break"),
        (
            lambda whole: dataclasses.replace(whole, text=whole.text.replace("\n", "\r\n")),
            "marks that hardly a note holds",
        ),
        (lambda whole: dataclasses.replace(whole, text="rest\n" * 40), "5 texts of the self-test were continued alike"),
    ],
)
def test_answers_that_a_server_ends_early_rewrites_or_repeats_are_named(change, named, served, tokenizer):
    class Server:
        def generate(self, requests):
            return (change(answer(one)) for one in requests)

    test = SelfTest(served, tokenizer, TEXTS, scores=False, chat=False)
    test(Server())
    assert any(named in sentence for sentence in test.named) if named else not test.named


def test_answers_that_a_server_cuts_off_fail_it(served, tokenizer):
    class Server:
        def generate(self, requests):
            return (GenerationOutput(one.key, (), "length", "plan: rest") for one in requests)

    with pytest.raises(BadInputError, match=r"cuts an answer off after \d+ of 30 tokens, as --tokenizer counts them"):
        SelfTest(served, tokenizer, TEXTS, scores=False, chat=False)(Server())


def test_one_answer_of_few_tokens_as_text_is_no_cut(served, tokenizer):
    class Server:
        def generate(self, requests):
            return (
                answer(one) if number or len(requests) == 1 else answer(one, "") for number, one in enumerate(requests)
            )

    test = SelfTest(served, tokenizer, TEXTS, scores=False, chat=False)
    test(Server())
    # Neither refused nor said to be cut off; alone the same prompt gives more, which is named.
    assert [sentence.split(",")[0] for sentence in test.named] == ["Asked twice"]


@pytest.mark.parametrize("chat", [True, False])
def test_a_served_model_that_is_asked_in_a_chat_alone_is_tested_so(chat, served, tokenizer):
    seen = []

    class Server:
        def generate(self, requests):
            seen.extend(requests)
            return map(answer, requests)

    SelfTest(served, tokenizer, TEXTS, scores=False, chat=chat)(Server())
    assert seen
    assert all(one.messages == ((("user", one.prompt),) if chat else ()) for one in seen)


def test_a_tokenizer_that_loses_one_text_of_many_does_not_fail_it(model, tokenizer, monkeypatch):
    test = SelfTest(model, tokenizer, TEXTS, scores=True, chat=False)
    whole = tokenizer.decode_with_spans
    first = tokenizer.encode(TEXTS[0])
    monkeypatch.setattr(
        tokenizer,
        "decode_with_spans",
        lambda ids: ("[UNK]", None) if list(ids) == list(first) else whole(ids),
    )
    test.run_before_loading()
    # It is named.
    assert any("does not give texts back as they were" in sentence for sentence in test.named)


def test_a_tokenizer_that_loses_a_text_fails_it(model, tokenizer, monkeypatch):
    test = SelfTest(model, tokenizer, TEXTS, scores=True, chat=False)
    monkeypatch.setattr(tokenizer, "decode_with_spans", lambda ids: ("[UNK] " * len(ids[:9]), None))
    with pytest.raises(BadInputError, match="loses most of a text"):
        test.run_before_loading()


@pytest.mark.filterwarnings("ignore")  # peft warns of settings that do not matter here
def test_a_tokenizer_that_writes_most_words_otherwise_fails_it(model, tokenizer, monkeypatch):
    decode = tokenizer.decode_with_spans
    monkeypatch.setattr(tokenizer, "decode_with_spans", lambda ids: (decode(ids)[0].upper(), decode(ids)[1]))
    with pytest.raises(BadInputError, match="gives most words of the notes back otherwise"):
        begun(model, tokenizer)
    # Figures are alike in any case.
    half = [f"{text}{'1 2 3 4 5 6 7 8 ' * text.count('rest')}" for text in TEXTS]
    assert any("does not give texts back" in sentence for sentence in begun(model, tokenizer, half).named)


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

    class Trained(Faulty):
        """Finds likely what begins as a text that it was trained on does."""

        def score(self, requests):
            asked = {one.key: one.token_ids for one in requests}
            for scores in super().score(requests):
                is_known = any(text[: len(asked[scores.key])] == asked[scores.key] for text in known)
                yield dataclasses.replace(scores, log_probs=scores.log_probs * 0 - (1 if is_known else 5))

    test = SelfTest(model, tokenizer, list(map(written, trained)), scores=True, chat=False)
    test(Trained(model))
    found = [sentence for sentence in test.named if "likelier where they are written" in sentence]
    assert [str(how) in sentence for sentence in found] == [True] * (how is not None)


@pytest.mark.parametrize(("writes", "named"), [(True, None), (False, "after the token of a beginning")])
def test_a_model_that_needs_a_beginning_is_read_after_it(writes, named, model, tokenizer, monkeypatch):
    end = tokenizer.eos_id
    roles = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
    monkeypatch.setattr(tokenizer, "settings", dataclasses.replace(tokenizer.settings, roles=roles))
    if writes:
        monkeypatch.setattr(tokenizer, "encode_prompt", lambda text: (end, *tokenizer.encode(text)))

    class Trained(Faulty):
        def score(self, requests):
            asked = {one.key: one.token_ids for one in requests}
            for scores in super().score(requests):
                first, *text = asked[scores.key]
                is_known = first == end and any(tokenizer.encode(one)[: len(text)] == tuple(text) for one in TEXTS)
                yield dataclasses.replace(scores, log_probs=scores.log_probs * 0 - (1 if is_known else 9))

    test = SelfTest(model, tokenizer, TEXTS, scores=True, chat=False)
    test(Trained(model))
    found = [sentence for sentence in test.named if "likelier" in sentence]
    assert [str(named) in sentence for sentence in found] == ([False, True] if named else [])


def test_a_base_that_holds_the_notes_likelier_than_with_its_adapter_is_named(model, tokenizer, tmp_path, monkeypatch):
    base = model.files.directory
    save_adapter(base, tmp_path / "adapter", r=4, target_modules=["q_proj"])
    adapted = find_model(
        str(tmp_path / "adapter"),
        engine="transformers",
        tokenizer=None,
        context_length=None,
        approved_hosts=(),
        base_model=base,
    )
    measure, measured = SelfTest._mean_log_prob, []
    monkeypatch.setattr(SelfTest, "_mean_log_prob", lambda *given: measured.append(measure(*given)) or measured[-1])
    named = begun(adapted, tokenizer).named
    # The base alone was measured first.
    assert len(set(measured)) == 2
    assert any("The base alone finds the notes" in sentence for sentence in named) == (measured[1] < measured[0])
    for means in ((-2.0, -3.0), (-3.0, -2.0)):
        given = iter(means)
        monkeypatch.setattr(SelfTest, "_mean_log_prob", lambda *_, given=given: next(given))
        named = begun(adapted, tokenizer).named
        assert any("The base alone finds the notes" in sentence for sentence in named) == (means[1] < means[0])


def test_an_end_that_notes_hold_as_text_is_named(model, tokenizer):
    newline = frozenset(tokenizer.encode("\n"))
    ended = dataclasses.replace(model, files=dataclasses.replace(model.files, stop_token_ids=newline))
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
