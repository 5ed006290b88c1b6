"""The served-model engine: a server that misbehaves on demand, and servers of habits of their own.

What they refuse, who answers, what they count, give back and call an end. The way there: `tests/audit/runtime/served`.
"""

import dataclasses
import json
from collections.abc import Callable

import pytest
from support.servers.fault_server import NEUTRAL, asked_in, drops, raw, says, status

from clinaudit.audit.runtime.model.engines.openai_engine import OpenAIEngine
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.run.store import GenerationOutput
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.errors import BadInputError, IncompleteError

SECRET = "Jane Roe, born 1 April 1970"
#: How greedy decoding is said in full, beyond OpenAI's own words, too.
EXTENSIONS = {"repetition_penalty": 1.0, "repeat_penalty": 1.0, "min_p": 0.0, "top_k": 1}
GREEDY = {"temperature": 0.0, "n": 1, "top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0} | EXTENSIONS
PROMPT = GenerationRequest("k", tuple(range(9)), SECRET, 9)
CHAT = dataclasses.replace(PROMPT, messages=(("user", SECRET),))


@pytest.fixture
def engine(server):
    return OpenAIEngine(ServedModel(server.url, "tiny"), Access(concurrency=4, retries=2), context_length=1000)


def of_context(words, *, cuts=False, finish="stop"):
    """A server in which prompt and answer may have so many words together: it refuses, or cuts, what does not fit."""

    def answer(handler, body):
        read = len(asked_in(body).split())
        if read + body["max_tokens"] > words and not cuts:
            return status(400)(handler, body)
        usage = {"prompt_tokens": min(read, words), "completion_tokens": min(body["max_tokens"], 5)} if cuts else None
        return handler.say(body, asked_in(body).upper(), finish=finish, usage=usage)

    return answer


def request(key, prompt):
    return GenerationRequest(key, (), prompt, 9)


def test_yields_text_and_asks_greedily(server, engine):
    outputs = {output.key: output for output in engine.generate([request("a", "x y"), request("b", "z")])}
    assert outputs == {"a": GenerationOutput("a", (), "stop", "X Y"), "b": GenerationOutput("b", (), "stop", "Z")}
    assert all(
        {**body, "prompt": ""} == {"model": "tiny", "prompt": "", "max_tokens": 9, **GREEDY} for body in server.asked
    )
    assert list(engine.generate([])) == []


@pytest.mark.parametrize(
    ("fault", "tries", "reason"),
    [
        (status(503), 3, "HTTP status 503"),
        (drops, 3, "connection error"),
        (says("x", finish="abort"), 1, "broken off by the server, abort"),
        (status(400), 1, "HTTP status 400"),
        # Asked for once more: a gateway's page may have stood in its place.
        (raw(b"{}"), 2, "unreadable answer"),
        (raw(b'{"choices": [{"text": 3, "finish_reason": "stop"}]}'), 2, "unreadable answer"),
        (raw(b'{"choices": [{"text": "x"}, {"text": "y"}]}'), 2, "unreadable answer"),
        (says("x", finish="content_filter"), 1, "text withheld by a filter of the server, content_filter: switch"),
        (says("x", finish="tool_calls"), 1, "a tool called instead of text, tool_calls: serve"),
        (says("x", finish="stopped_because"), 1, "ended by a word that is not known here, stopped_because: neither"),
        (says("x", finish=f"{SECRET} ended"), 1, "ended by a word that is not known here, a word that is not shown"),
    ],
)
def test_lasting_faults_are_raised_after_the_rest(server, engine, fault, tries, reason):
    server.faults[SECRET] = [fault] * 9
    stream = engine.generate([request("bad", SECRET), *(request(k, k) for k in "abc")])
    assert sorted(next(stream).key for _ in range(3)) == ["a", "b", "c"]
    passes = reason in ("HTTP status 503", "connection error", "broken off by the server, abort")
    error = IncompleteError if passes else BadInputError
    with pytest.raises(error, match=f"1 of 4 generations failed .*1 x {reason}") as caught:
        next(stream)
    # What lasts is not asked for by the same command.
    assert ("run the same command again" in caught.value.render()) == passes
    assert "what was answered is kept" in caught.value.render()
    assert sum(body["prompt"] == SECRET for _, body in server.seen) == tries
    assert SECRET not in caught.value.render()
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"{}", b'{"choices": []}'])
@pytest.mark.parametrize("asked", [request("a", SECRET), CHAT])
def test_a_page_in_the_place_of_every_answer_passes(server, engine, asked, body):
    reply = json.dumps({"choices": [{"text": "x", "message": {"content": "x"}, "finish_reason": "stop"}]}).encode()
    server.always = raw(reply)
    assert [output.text for output in engine.generate([asked])] == ["x"]
    # It is known by now how the server is asked.
    server.always = raw(body)
    with pytest.raises(IncompleteError, match=r"1 of 1 generations failed .*1 x unreadable answer") as caught:
        list(engine.generate([asked]))
    assert "run the same command again" in caught.value.render()
    assert SECRET not in caught.value.render()


def test_identity_names_the_address_and_never_the_key(server):
    identity = OpenAIEngine(ServedModel(server.url, "tiny"), Access(api_key="hunter2"), context_length=100).identity()
    assert (identity["engine"], identity["base_url"], identity["model"]) == ("openai", server.url, "tiny")
    assert "hunter2" not in json.dumps(identity)


def words(key, count):
    return GenerationRequest(key, tuple(range(count)), " ".join([SECRET.split()[0]] * count), 9)


def test_a_context_shorter_than_was_said_is_no_passing_fault(server, engine):
    server.always = of_context(50)
    assert [output.key for output in engine.generate([words("short", 41)])] == ["short"]
    with pytest.raises(BadInputError, match=r"shorter than --context-length said.*refuses 92 \+ 9 tokens") as caught:
        list(engine.generate([words("long", 100)]))
    assert "in a new --out, with the server's own --context-length" in caught.value.render()
    assert "Jane" not in caught.value.render()
    # It was asked about the length without any patient's text.
    assert "Jane" not in server.asked[-1]["prompt"]


@pytest.mark.parametrize(
    ("context", "finish", "expected"),
    [
        (20, "stop", r"it read 20 tokens of a neutral text of 40 \(or --tokenizer is not this model's\)"),
        (100, "length", "it ended an answer after 5 of the 9 tokens asked for"),
        (100, "stop", None),
        (44, "stop", None),  # within a tenth: special tokens, another release of the tokenizer
    ],
)
def test_prompts_and_answers_that_a_server_cuts_in_silence_are_found_out(server, engine, context, finish, expected):
    server.always = of_context(context, cuts=True, finish=finish)
    if expected is None:
        assert [output.finish_reason for output in engine.generate([words("a", 48)])] == [finish]
        return
    with pytest.raises(BadInputError, match=expected):
        list(engine.generate([words("a", 48)]))


def test_messages_are_sent_and_not_the_rendered_prompt(server, engine):
    server.always = says("plan: rest")
    messages = (("system", "You assist."), ("user", SECRET))
    asked = dataclasses.replace(PROMPT, prompt="as a template writes it", messages=messages)
    assert list(engine.generate([asked])) == [GenerationOutput("k", (), "stop", "plan: rest")]
    said = [{"role": role, "content": content} for role, content in messages]
    assert server.asked == [{"model": "tiny", "messages": said, "max_tokens": 9, **GREEDY}]


def test_a_server_that_refuses_everything_is_not_one_of_a_short_context(server, engine):
    server.always = of_context(0)
    with pytest.raises(BadInputError, match=r"does not answer a short neutral text.*\(HTTP status 400\)"):
        list(engine.generate([words("a", 8)]))
    assert server.asked == []


UNKNOWN = (*EXTENSIONS, "min_tokens")


def refusing(refuses):
    """A server that refuses some requests, and answers the others."""
    return lambda handler, body: (status(400) if refuses(body) else says("plan: rest", usage=None))(handler, body)


@pytest.mark.parametrize(
    ("taken_out", "request_"),
    [
        (UNKNOWN, PROMPT),
        (("repetition_penalty",), CHAT),
        (("min_tokens",), dataclasses.replace(PROMPT, min_new_tokens=30)),
        (("seed", "top_p"), dataclasses.replace(CHAT, temperature=0.7, seed=3)),
        (("max_tokens", *UNKNOWN), CHAT),
    ],
)
def test_what_a_server_refuses_is_left_out_and_named_once(taken_out, request_, server, engine, capsys):
    server.always = refusing(lambda body: any(name in body for name in taken_out))
    for _ in range(2):
        assert next(engine.generate([request_])).text == "plan: rest"
    first, second = server.asked
    assert first == second
    assert not first.keys() & set(taken_out)
    assert first["temperature"] == request_.temperature
    assert ("max_completion_tokens" in first) == ("max_tokens" in taken_out)
    said = capsys.readouterr().err
    named = [name for name in taken_out if name != "max_tokens" and (name != "min_tokens" or request_.min_new_tokens)]
    assert said.count("not accepted by the server of tiny: defaults of its own may apply") == 1
    assert all(name in said for name in named)
    assert "presence_penalty" not in said


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_refused_temperature_ends_the_audit(temperature, server, engine):
    server.always = refusing(lambda body: "temperature" in body or "max_tokens" in body)
    with pytest.raises(BadInputError, match=f"refuses temperature {temperature:g}: it cannot be asked") as caught:
        list(engine.generate([dataclasses.replace(CHAT, temperature=temperature)]))
    assert "run the same command again" not in caught.value.render()
    assert server.asked == []


@pytest.mark.parametrize("request_", [PROMPT, CHAT])
@pytest.mark.parametrize(
    ("name", "shown"),
    [("tiny-2", "tiny-2"), ("tiny-2024-08-06", "tiny-2024-08-06"), (SECRET, "a name that is not shown"), (3, "a name")],
)
def test_another_model_is_refused(name, shown, request_, server, engine):
    server.always = says("plan: rest", model=name)
    with pytest.raises(BadInputError, match=f"another model answered: {shown}.* instead of tiny.*full name") as caught:
        list(engine.generate([request_]))
    assert SECRET not in caught.value.render()
    # A fallback in the middle of a run, too; a server that does not say which model it is may be the one.
    server.always = says("plan: rest", model=None)
    server.faults[SECRET] = [says("x", model=None), says("x", model=name)]
    assert next(engine.generate([request_])).text == "x"
    with pytest.raises(BadInputError, match="another model answered"):
        list(engine.generate([request_]))


def message(finish="stop", *, written=None, **fields):
    usage = None if written is None else {"prompt_tokens": 9, "completion_tokens": written}
    choices = [{"index": 0, "message": fields, "finish_reason": finish}]
    return lambda handler, body: handler.say(body, None, usage=usage, choices=choices)


def beside(**fields):
    choices = [{"index": 0, "finish_reason": "stop", **fields}]
    return lambda handler, body: handler.say(body, None, choices=choices)


@pytest.mark.parametrize(
    ("fault", "text", "finish"),
    [
        *(
            (message(content="plan", **{name: "the note"}), "plan\n\nthe note", "stop")
            for name in ("reasoning_content", "reasoning", "thinking")
        ),
        # The same text under two names is one.
        (message(content="plan", reasoning="the note", reasoning_content="the note"), "plan\n\nthe note", "stop"),
        (message(content="plan", reasoning="one", reasoning_content="two"), "plan\n\ntwo\none", "stop"),
        (message("length", content=None, reasoning="the note"), "<think>the note", "length"),
        (message("length", content="", reasoning_content="the note"), "<think>the note", "length"),
        (message(content="plan", reasoning=None), "plan", "stop"),
        (message(content="plan", reasoning=["x"]), "plan\n\nx", "stop"),
        (message(content=None, reasoning_details=[{"type": "t", "text": "x"}]), "<think>x", "stop"),
        (message(content="plan", reasoning={"content": "x"}), "plan\n\nx", "stop"),
        # Names of other servers, of gateways, and beside the message.
        *((message(content="plan", **{name: "x"}), "plan\n\nx", "stop") for name in ("reasoning_text", "thoughts")),
        (message(content="plan", provider_specific_fields={"reasoning_content": "x"}), "plan\n\nx", "stop"),
        (beside(reasoning_content="x", message={"content": "plan"}), "plan\n\nx", "stop"),
        (beside(reasoning="x", text="plan"), "plan\n\nx", "stop"),
        (message(content="plan", thought_signature="c2ln", reasoning_effort="low"), "plan", "stop"),
        (message(content=[{"type": "text", "text": "plan"}]), "plan", "stop"),
        # Parts are pieces of one text: nothing stands between them.
        (message(content=[{"type": "text", "text": "pl"}, {"type": "text", "text": "an"}]), "plan", "stop"),
        *(
            (message(content=[{"type": kind, **thought}, {"type": "text", "text": "plan"}]), "plan\n\nab", "stop")
            for kind, thought in (
                ("thinking", {"thinking": "ab", "signature": "c2ln"}),
                ("thinking", {"thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                ("reasoning", {"text": "ab"}),
            )
        ),
        (message(content=[{"type": "thinking", "thinking": "x"}]), "<think>x", "stop"),
        *(
            (message(word, content="plan"), "plan", "stop")
            for word in ("eos_token", "eos", "end_turn", "stop_sequence")
        ),
        *((message(word, content="plan"), "plan", "length") for word in ("MAX_TOKENS", "max_tokens")),
        (message(None, content="plan"), "plan", "stop"),
        (message(content=None, refusal="I can't help with that."), "I can't help with that.", "stop"),
        (message(content=""), "", "stop"),
        # Half of a character, as JSON may have it.
        (message(content="plan \ud83d"), "plan \ufffd", "stop"),
        # Without a word for the end the count of tokens tells it.
        (message(None, written=9, content="plan"), "plan", "length"),
        (message(None, written=8, content="plan"), "plan", "stop"),
    ],
)
def test_all_that_was_written_counts(fault, text, finish, server, engine):
    server.always = fault
    (output,) = engine.generate([CHAT])
    assert (output.text, output.finish_reason) == (text, finish)


@pytest.mark.parametrize("content", [None, "", "\n\n"])
def test_thoughts_that_use_up_all_tokens_are_named(content, server, engine):
    server.always = message("length", content=content)
    with pytest.raises(BadInputError, match=r"thought until its tokens were used up.*--max-new-tokens") as caught:
        list(engine.generate([CHAT]))
    assert "chat template" in caught.value.render()
    assert "run the same command again" not in caught.value.render()


def test_a_prompt_that_comes_back_is_taken_off(server, engine, capsys):
    server.always = lambda handler, body: handler.say(body, f" {asked_in(body)} plan: rest", usage=None)
    for request in (PROMPT, PROMPT, CHAT):
        assert next(engine.generate([request])).text == " plan: rest"
    assert capsys.readouterr().err.count("the prompt comes back from the server of tiny") == 1
    server.faults[SECRET] = [says("another beginning", usage=None)]
    with pytest.raises(BadInputError, match="does not begin with the prompt as others do"):
        list(engine.generate([PROMPT]))


def test_a_prompt_that_the_model_repeats_is_its_text(server, engine, capsys):
    server.faults[SECRET] = [says(f"{SECRET} and so on", usage=None)]
    assert next(engine.generate([PROMPT])).text == f"{SECRET} and so on"
    # What is said is that the server counts nothing.
    (said,) = capsys.readouterr().err.splitlines()
    assert "whether it cuts prompts off or ends answers early is not seen" in said


@pytest.mark.parametrize(
    "give",
    [
        lambda prompt: f"<s> {prompt} plan",  # with a sign of the template
        lambda prompt: f"user: {prompt}\nassistant: plan",
        lambda prompt: " ".join(prompt.split()[:5]),  # echo counted as new tokens
    ],
)
def test_a_prompt_that_comes_back_changed_ends_the_audit(give, server, engine):
    server.always = lambda handler, body: handler.say(body, give(asked_in(body)), usage=None)
    with pytest.raises(BadInputError, match="gives the prompt back in its answers"):
        list(engine.generate([PROMPT]))
    assert all(asked_in(body).startswith(NEUTRAL) for _, body in server.seen)


def counting(count):
    """A server that counts words of a prompt by the rule, from their number and the prompt."""

    def answer(handler, body):
        read = count(len(asked_in(body).split()), asked_in(body))
        handler.say(body, "plan: rest", usage={"prompt_tokens": read, "completion_tokens": 5})

    return answer


LONG = dataclasses.replace(PROMPT, prompt_ids=tuple(range(200)), prompt=" ".join(["Jane"] * 200))
#: What is counted of so many words of a prompt, and whether that is one of a server that cuts prompts.
COUNTS: dict[str, tuple[Callable[[int, str], object], bool]] = {
    "what is new, none of a neutral text": (lambda words, text: 1 if "Jane" in text else words, False),
    "what is new, half of any text": (lambda words, _: words // 2, False),
    "by another tokenizer": (lambda words, _: int(0.7 * words), False),
    "none": (lambda *_: 0, False),
    "no number": (lambda *_: None, False),
    "cut": (lambda words, _: min(words, 120), True),
    "cut by more than half": (lambda words, _: min(words, 50), True),
    "cut by little": (lambda words, _: min(words, 170), True),
    "cut, and what is new": (lambda words, text: 1 if "Jane" in text else min(words, 100), True),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_small_count_is_a_cut_only_where_a_neutral_text_is_cut_too(name, server, engine):
    count, is_cut = COUNTS[name]
    server.always = counting(count)
    if is_cut:
        with pytest.raises(BadInputError, match=r"shorter than --context-length said.*tokens of a neutral text of 192"):
            list(engine.generate([LONG]))
    else:
        requests = [dataclasses.replace(LONG, key=str(number)) for number in range(5)]
        assert len(list(engine.generate(requests))) == 5
    neutral = [body for body in server.asked if "Jane" not in json.dumps(body)]
    # Asked about once, by texts of which no cache holds the beginning.
    assert len(neutral) in (1, 2)
    assert len({asked_in(body).split()[0] for body in neutral}) == len(neutral)


@pytest.mark.parametrize(
    ("count", "added"),
    [
        (lambda words: words, None),
        (lambda words: words + 3, None),  # two beginnings of sequence, and where copies meet
        (lambda words: words // 2 + 9, None),  # no count of tokens
        (lambda _: 30, None),
        (lambda words: words + 9, 9),
        (lambda words: 2 * words + 40, 40),
    ],
)
def test_a_server_that_adds_to_texts_ends_the_audit(count, added, server, engine):
    server.always = counting(lambda words, _: count(words))
    if added is None:
        assert len(list(engine.generate([PROMPT]))) == 1
        return
    with pytest.raises(BadInputError, match=rf"adds about {added} tokens to each text.*--prompt-form chat"):
        list(engine.generate([PROMPT]))
    assert all(asked_in(body).startswith(NEUTRAL) for _, body in server.seen)


@pytest.mark.parametrize(
    ("read", "written", "warned"),
    [(40, 5, None), (400, 5, "as if it added a system prompt"), (40, 10, "writes more tokens than it is asked for")],
)
def test_a_count_larger_than_expected_is_warned_of_once(read, written, warned, server, engine, capsys):
    server.always = says("plan", usage={"prompt_tokens": read, "completion_tokens": written})
    assert len(list(engine.generate([CHAT, dataclasses.replace(CHAT, key="other")]))) == 2
    said = capsys.readouterr().err
    assert said.count(warned) == 1 if warned else not said


def test_a_neutral_text_that_is_not_answered_leaves_the_prompt_unsent(server, engine):
    server.always = lambda handler, body: (says("plan: rest") if NEUTRAL in asked_in(body) else status(503))(
        handler, body
    )
    with pytest.raises(IncompleteError, match=r"whether its context holds the longest prompt \(HTTP status 503\)"):
        list(engine.generate([LONG]))
    assert not any("Jane" in asked_in(body) for _, body in server.seen)
