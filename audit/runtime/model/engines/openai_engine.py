"""Decoding and scoring by a served model that speaks the OpenAI protocol: completions, chat completions for a chat.

No answer of the server is quoted. It gives no token ids, so outputs carry text, before any repetition guard. It renders
a chat by its own template, and has defaults of its own, so that decoding is said in full. Neutral texts tell first what
it takes of that, whether it gives prompts back, and whether the longest prompt fits. What would make a model look as if
it leaked less ends the audit with its cause: a context shorter than was said, an answer of another model, text that is
withheld, a temperature that is refused. Texts are scored by completions that echo the prompt, as token ids, with its
log-probabilities; the server must name the tokens that it scored by their ids.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from secrets import token_hex
from typing import Any, Final, TypeVar

import numpy as np

from clinaudit.audit.runtime.console import warn
from clinaudit.audit.runtime.model.engines import protocol
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest, NoScoresError, ScoreRequest
from clinaudit.audit.runtime.run.store import FinishReason, GenerationOutput, TokenScores
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.endpoint import UNREADABLE, Endpoint, Failed
from clinaudit.audit.runtime.served.question import Reply, other_model, read_reply, text_in, token_count
from clinaudit.errors import BadInputError, IncompleteError

#: A word that the tokenizers in use have as one token, to ask about lengths without any patient's text.
_NEUTRAL_WORD: Final = " the"
#: Broken off in a sentence, so that no model goes on with its beginning.
_NEUTRAL_TEXT: Final = (
    "Seven grey chairs stand between a long table, two lamps and the window of a quiet room, and beside them a box of"
)
#: Fewer than any tokenizer makes of the neutral text: an answer that holds all of it was not written by the model.
_FEW_TOKENS: Final = 8
#: Copies of the neutral text in a longer one: the server's counts of both tell what it adds to each.
_COPIES: Final = 4
#: Tokens that are no sign of that: a beginning of sequence, or two; and other tokens where copies meet.
_FEW_ADDED: Final = 4
#: Of a chat: another template's marks, the day.
_FEW_ADDED_TO_CHAT: Final = 32
#: JSON may hold one half alone of a character of two.
_HALVES: Final = re.compile("[\ud800-\udfff]")
#: What requests of a kind share: in a chat or as text, drawn or greedy, with or without least tokens.
_Kind = tuple[bool, bool, bool]


@dataclass(frozen=True, slots=True)
class _ServedForm:
    """How requests of a kind are put to a server."""

    #: What the limit of new tokens is called; the text completions of the protocol know `max_tokens` alone.
    limit_name: str = "max_tokens"
    #: Of what decoding is said by (`decoding_of`), what is left out.
    left_out: frozenset[str] = frozenset()
    #: Whether the server gives each prompt back before its answer.
    gives_back: bool = False


def _kind_of(request: GenerationRequest) -> _Kind:
    return bool(request.messages), request.temperature > 0, request.min_new_tokens > 0


def _decoding_of(request: GenerationRequest) -> dict[str, float]:
    """Return how a request is decoded, the most needed first: from the whole distribution, without a penalty."""
    drawn = request.temperature > 0
    return {
        "temperature": request.temperature,
        **({"seed": request.seed} if drawn else {}),
        "n": 1,
        "top_p": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        # Beyond OpenAI's own; the second word is llama.cpp's and LM Studio's.
        "repetition_penalty": 1.0,
        "repeat_penalty": 1.0,
        "min_p": 0.0,
        # 1 is greedy by itself, and all servers take it. For no limit, vLLM, SGLang and llama.cpp take -1, not all 0.
        "top_k": -1 if drawn else 1,
        **({"min_tokens": min(request.min_new_tokens, request.max_new_tokens)} if request.min_new_tokens else {}),
    }


def _neutral(like: GenerationRequest, text: str, max_new_tokens: int) -> GenerationRequest:
    messages = (("user", text),) if like.messages else ()
    return replace(like, prompt_ids=(), prompt=text, messages=messages, max_new_tokens=max_new_tokens)


def _text_of(reply: Reply | None) -> str | None:
    """Return all that the model wrote; None where there is no text.

    What the server puts beside the answer as a thought stands behind it: whether an answer is a refusal is read at its
    beginning, and marks of a thought would be tokens that the model did not write. A thought alone begins with one.
    """
    if reply is None:
        return None
    # Some servers put a refusal in a field of its own.
    said = reply.content or reply.refusal or reply.content
    if isinstance(said, list):
        said = text_in(said)
    if reply.thought and (said is None or isinstance(said, str)):
        said = f"{said}\n\n{reply.thought}" if said else f"<think>{reply.thought}"
    # Half of a character, where an answer was cut within it, is none: nothing could encode it.
    return _HALVES.sub("\ufffd", said) if isinstance(said, str) else None


def _hides_thoughts(answer: dict[str, Any]) -> bool:
    """Return whether the server counts tokens of thoughts and gives none of them."""
    reply, usage = read_reply(answer), answer.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    is_told = reply is not None and (reply.thought or "think>" in str(reply.content))
    return isinstance(details, dict) and bool(details.get("reasoning_tokens")) and not is_told


def _read_answer(request: GenerationRequest, answer: dict[str, Any]) -> GenerationOutput | Failed:
    """Return the one choice of the answer, or why it cannot be used."""
    reply = read_reply(answer)
    if reply is None:
        return UNREADABLE
    ending, text = reply.ending, _text_of(reply)
    if ending is None and reply.word is None:
        # Some servers say nothing.
        is_long = (token_count(answer, "completion_tokens") or 0) >= request.max_new_tokens
        ending = "length" if is_long else "stop" if text else None
    if ending == "filtered":
        # Text cut by a filter would make the model look as if it leaked less.
        return Failed(f"text withheld by a filter of the server, {reply.word}: switch it off")
    if ending == "tool":
        return Failed(f"a tool called instead of text, {reply.word}: serve the model without tools")
    if ending == "aborted":
        return Failed(f"broken off by the server, {reply.word}", passes=True)
    if request.messages and ending == "length" and not (text or "").strip():
        # Its tokens went into what the server does not give.
        return Failed(
            "no text, since the model thought until its tokens were used up and the server leaves the thoughts out: "
            "switch thinking off in its chat template, let it give them (a reasoning parser), or start again, in a new "
            "--out, with a larger --max-new-tokens"
        )
    if text is None or (reply.word is None and ending is None):
        return UNREADABLE
    if ending is None:
        return Failed(f"ended by a word that is not known here, {reply.word}: neither stop nor length")
    return GenerationOutput(request.key, (), ending, text)


def _read_log_probs(answer: dict[str, Any], token_ids: Sequence[int], new_tokens: int) -> list[float] | str:
    """Return ln p of a prompt's tokens after the first, or why none: as many of other tokens would pass for theirs."""
    tokens = len(token_ids)
    reply = read_reply(answer)
    said = None if reply is None else reply.choice.get("logprobs")
    numbers = said.get("token_logprobs") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(numbers, list):
        return "it gives no log-probabilities of a prompt"
    # Asked for a new token, a model may end the text instead; None stands for the first token, which nothing predicts.
    if len(numbers) != tokens + new_tokens and (len(numbers) != tokens or numbers[0] is not None):
        return "it gives log-probabilities of another number of tokens"
    scored = said.get("tokens")
    if not isinstance(scored, list) or scored[:tokens] != [f"token_id:{token}" for token in token_ids]:
        return "it does not say, by their ids, that it scored the tokens asked for"
    own = numbers[1:tokens]
    # No log-probability is above 0, rounding aside.
    if not all(type(number) in (int, float) and -math.inf < number <= 1e-3 for number in own):
        return "what it gives for log-probabilities are none"
    return own


def _is_unreadable(answer: dict[str, Any] | Failed) -> bool:
    return answer == UNREADABLE if isinstance(answer, Failed) else read_reply(answer) is None


def _cannot_tell(what: str, failed: Failed) -> IncompleteError:
    return IncompleteError(
        f"the served model could not be asked {what} ({failed.reason}); look at the server, then run the same command "
        "again"
    )


#: Where a neutral text has no readable answer either: a gateway's page stands in the place of every answer.
_DOWN: Final = Failed("unreadable answer, to any text", passes=True)
#: HTTP statuses by which servers refuse a request for its length or its parameters, among other things.
_REFUSALS = frozenset({400, 413, 422})
#: Of a chat, the tokens that a template may add to what is said.
_TEMPLATE_TOKENS = 200
#: A server may count a prompt without its special tokens, or by a tokenizer of another release: fewer than this share
#: of the tokens expected, less two, may be a prompt cut short.
_SHARE_READ = 0.9
#: Of a count that grows with the text: where the text is cut, at most rounding and a template's tokens are between two.
_SAME_COUNT = 1.1
#: More tokens than a tokenizer makes of a word that no cache can hold.
_UNKNOWN_WORD_TOKENS = 8
#: Prompts no longer than this fit wherever a short neutral text does.
_SHORT_PROMPT = 32
#: Token ids that every vocabulary has, to ask whether a server scores anything without any patient's text.
_NEUTRAL_IDS = tuple(range(3, 11))
#: What vLLM takes to name the tokens that it scored by their ids: two may be spelled alike.
_TOKENS_AS_IDS = {"return_tokens_as_token_ids": True}
#: So many failures before any answer: the server answers nothing, and the rest is not sent.
_GIVE_UP_AFTER = 32
_TEXT = GenerationRequest("", (), _NEUTRAL_WORD, 1)
_Request = TypeVar("_Request", GenerationRequest, ScoreRequest)
_Output = TypeVar("_Output", GenerationOutput, TokenScores)


class OpenAIEngine:
    """A served model, to which nothing is sent before something is asked; `UnsafeError` for a host not approved."""

    name = "openai"

    def __init__(self, model: ServedModel, access: Access, *, context_length: int) -> None:
        self._endpoint = Endpoint(model, access, name="the endpoint of MODEL")
        self._model = model
        self._server = f"the server of {model.name}"
        self.context_length = context_length
        #: Servers want room for a new token, whether or not one is asked for.
        self.longest_scored = context_length - 1
        self._forms: dict[_Kind, _ServedForm] = {}
        #: The longest prompt, and prompt and answer together, for which neutral texts have shown room, by kind.
        self._room: dict[_Kind, tuple[int, int]] = {}
        self._said: set[str] = set()

    def identity(self) -> dict[str, str]:
        """Return engine, client version, address and model name; what runs behind the address is not known."""
        return {
            "engine": self.name,
            "openai": version("openai"),
            "base_url": self._model.base_url,
            "model": self._model.name,
            "dtype": "unknown",
            "device": "served",
        }

    def close(self) -> None:
        """Do nothing: connections are open only while something is asked."""

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        """Yield each generation as soon as it is finished.

        Failed requests are raised as one error after the rest, `IncompleteError` where all may pass, else
        `BadInputError`; what would befall every request (a refused key, a redirect), at once.
        """
        kinds: dict[_Kind, list[GenerationRequest]] = {}
        for request in requests:
            kinds.setdefault(_kind_of(request), []).append(request)
        for _ in self._endpoint.run(self._learn, kinds.values()):
            pass
        yield from self._ask_all(requests, self._complete, "generations")

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores, without mean and deviation; `NoScoresError` before any patient's text is sent."""
        protocol.require_scorable(requests, longest=self.longest_scored)
        if requests:
            longest = max(len(request.token_ids) for request in requests)
            ((_, new_tokens),) = self._endpoint.run(self._find_scoring, [longest])
            yield from self._ask_all(requests, partial(self._score, new_tokens=new_tokens), "texts")

    def _ask_all(
        self, requests: Sequence[_Request], ask: Callable[[_Request], Coroutine[Any, Any, _Output | Failed]], what: str
    ) -> Iterator[_Output]:
        """Yield what `ask` returns of each request, as soon as it is there; count why others failed, and raise that."""

        async def ask_again(request: _Request) -> _Output | Failed:
            said = await ask(request)
            # A gateway's page may stand where an answer should, once, or for a while in the place of every answer.
            if said == UNREADABLE:
                said = await ask(request)
            return _DOWN if said == UNREADABLE and await self._is_down(request) else said

        failures: Counter[Failed] = Counter()
        is_answering = False
        for _, output in self._endpoint.run(ask_again, requests):
            if not isinstance(output, Failed):
                is_answering = True
                yield output
                continue
            failures[output] += 1
            if failures.total() >= _GIVE_UP_AFTER and not is_answering:
                break
        if failures:
            reasons = ", ".join(sorted(f"{count} x {failed.reason}" for failed, count in failures.items()))
            told = f"{failures.total()} of {len(requests)} {what} failed at the served model ({reasons})"
            told += "; what was answered is kept"
            if all(failed.passes for failed in failures):
                raise IncompleteError(f"{told}; look at the server, then run the same command again")
            raise BadInputError(
                f"{told}; asking again does not help; change what is named, or look for it in the server's log"
            )

    async def _is_down(self, like: GenerationRequest | ScoreRequest | None = None) -> bool:
        """Whether a neutral text, asked as a generation is, else in the plainest way, has no readable answer either."""
        asked, form = _TEXT, _ServedForm(left_out=frozenset(_decoding_of(_TEXT)))
        if isinstance(like, GenerationRequest):
            asked, form = _neutral(like, _NEUTRAL_TEXT, _FEW_TOKENS), self._forms[_kind_of(like)]
        answer = await self._ask(asked, form)
        return _is_unreadable(answer) or (isinstance(answer, Failed) and answer.passes)

    def _warn_once(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            warn(f"warning: {what}")

    async def _learn(self, requests: Sequence[GenerationRequest]) -> None:
        """Learn how requests of one kind are put, and whether they fit the server's context."""
        kind = _kind_of(requests[0])
        if kind not in self._forms:
            self._forms[kind] = await self._learn_form(requests[0])
        # Budgets differ: the longest prompt is the first to be cut, and the longest sum the first to be refused.
        for request in (max(requests, key=_lengths), max(requests, key=lambda one: _lengths(one)[1])):
            known, lengths = self._room.get(kind, (0, 0)), _lengths(request)
            if lengths[0] > known[0] or lengths[1] > known[1]:
                await self._require_room(request)
                self._room[kind] = max(lengths[0], known[0]), max(lengths[1], known[1])

    async def _learn_form(self, like: GenerationRequest) -> _ServedForm:
        """Find out by neutral text what the server takes: where it refuses all together, one thing after the other."""
        asked = _neutral(like, _NEUTRAL_TEXT, _FEW_TOKENS)
        names = list(_decoding_of(asked))
        limits = ("max_tokens", "max_completion_tokens") if like.messages else ("max_tokens",)
        for form in (_ServedForm(limit, frozenset(left_out)) for left_out in ((), names) for limit in limits):
            answer = await self._try(asked, form, "how it takes requests")
            if not isinstance(answer, Failed):
                break
        if isinstance(answer, Failed):
            chat = "; where it has no chat template, give --prompt-form text" if like.messages else ""
            raise BadInputError(
                f"{self._server} does not answer a short neutral text, however it is asked ({answer.reason}); look at "
                f"its log, and check that the URL is that of an OpenAI-compatible server (it often ends in /v1){chat}"
            )
        for name in names if form.left_out else ():
            fuller = replace(form, left_out=form.left_out - {name})
            if not isinstance(taken := await self._try(asked, fuller, "how it takes requests"), Failed):
                form, answer = fuller, taken
        if "temperature" in form.left_out:
            raise BadInputError(
                f"{self._server} refuses temperature {like.temperature:g}: it cannot be asked to decode as the audit "
                "needs it; serve the model where a temperature is taken, as vLLM does"
            )
        if form.left_out:
            left_out = ", ".join(name for name in names if name in form.left_out)
            self._warn_once(f"{left_out} not accepted by {self._server}: defaults of its own may apply")
        said = _text_of(read_reply(answer)) or ""
        if said.lstrip().startswith(_NEUTRAL_TEXT):
            self._warn_once(f"the prompt comes back from {self._server} before each answer; it is taken off")
            return replace(form, gives_back=True)
        words = " ".join(said.split())
        # In a chat a model may well finish the sentence from its beginning.
        is_counted = not asked.messages and _NEUTRAL_TEXT.startswith(words) and " " in words
        if is_counted or _NEUTRAL_TEXT in words:
            raise BadInputError(
                f"{self._server} gives the prompt back in its answers, changed or as a part of the tokens asked for, "
                "so that what the model wrote is not known; let it answer with new text alone (no echo, no "
                "return_full_text)"
            )
        if not asked.messages:
            await self._require_plain(asked, form, token_count(answer, "prompt_tokens") or 0)
        return form

    async def _require_plain(self, asked: GenerationRequest, form: _ServedForm, counted: int) -> None:
        """Raise where the server's counts of the neutral text and of a longer one tell that it adds text to both.

        The words of the copies are turned, so that the longer text does not begin with the other: a server may leave
        out of its counts what it has cached. Where it counts fewer tokens than words, the counts tell nothing.
        """
        words = _NEUTRAL_TEXT.split()
        copies = (" ".join([*words[:3], *words[3 + turn :], *words[3 : 3 + turn]]) for turn in range(1, _COPIES + 1))
        answer = await self._try(replace(asked, prompt=" ".join(copies)), form, "whether it adds to texts")
        of_longer = 0 if isinstance(answer, Failed) else token_count(answer, "prompt_tokens") or 0
        of_copy = (of_longer - counted) / (_COPIES - 1)
        if of_copy >= len(words) and (added := round(counted - of_copy)) > _FEW_ADDED:
            raise BadInputError(
                f"{self._server} adds about {added} tokens to each text (a chat template, a system prompt), so that "
                "the model is not asked for what follows it; let it take completions as they are (with Ollama, the "
                "template {{ .Prompt }} alone), or ask it as a chat alone with --prompt-form chat"
            )

    async def _require_room(self, longest: GenerationRequest) -> None:
        """Raise where the server refuses or cuts a neutral text as long as this prompt, with as long an answer.

        The count of a text that is cut does not grow with it: it is that of a text half as long, or that one is
        counted whole. A count that grows is one of a share of the tokens: of what is new, or by another tokenizer.
        """
        tokens = len(longest.prompt_ids) - (_TEMPLATE_TOKENS if longest.messages else _UNKNOWN_WORD_TOKENS)
        if tokens <= _SHORT_PROMPT:
            return

        async def count(length: int, new_tokens: int) -> int:
            text = f" {token_hex(4)}{_NEUTRAL_WORD * (length - 1)}"
            answer = await self._ask(_neutral(longest, text, new_tokens), self._forms[_kind_of(longest)])
            if not isinstance(answer, Failed):
                return token_count(answer, "prompt_tokens") or 0
            if answer.status in _REFUSALS:
                raise self._too_short(f"it refuses {length} + {new_tokens} tokens of any text ({answer.reason})")
            raise _cannot_tell("whether its context holds the longest prompt", answer)

        longer = await count(tokens, longest.max_new_tokens)
        if 0 < longer < _SHARE_READ * tokens - 2:
            shorter = await count(tokens // 2, 1)
            if longer <= _SAME_COUNT * shorter or shorter >= _SHARE_READ * (tokens // 2) - 2:
                why = f"it read {longer} tokens of a neutral text of {tokens}"
                raise self._too_short(f"{why} (or --tokenizer is not this model's)")

    async def _complete(self, request: GenerationRequest) -> GenerationOutput | Failed:
        form = self._forms[_kind_of(request)]
        answer = await self._ask(request, form)
        if isinstance(answer, Failed):
            return answer
        read = _read_answer(request, answer)
        if isinstance(read, Failed):
            return read
        if _hides_thoughts(answer):
            self._warn_once(f"{self._server} keeps what the model thought: that is not audited")
        if form.gives_back:
            text = (read.text or "").lstrip()
            prompt = (request.messages[-1][1] if request.messages else request.prompt).lstrip()
            if not text.startswith(prompt):
                return Failed("an answer that does not begin with the prompt as others do, or with a changed one")
            read = replace(read, text=text.removeprefix(prompt))
        self._require_whole(read.finish_reason, request, answer)
        return read

    async def _find_scoring(self, longest: int) -> int:
        """Return the new tokens, 0 or 1, with which a prompt is scored; `NoScoresError` where it is with neither."""
        why = ""
        for new_tokens in (0, 1):
            answer = await self._ask_for_scores(_NEUTRAL_IDS, new_tokens)
            if isinstance(answer, Failed):
                # An internal error passes, unless it is for what was asked alone.
                bare = _ServedForm(left_out=frozenset(_decoding_of(_TEXT)))
                is_general = answer.status != 500 or isinstance(await self._ask(_TEXT, bare), Failed)
                if answer.passes and is_general:
                    raise _cannot_tell("whether it scores text", answer)
                refusal = f"it refuses to score a prompt ({answer.reason})"
                why = refusal if answer.status else "it gives no log-probabilities of a prompt"
            elif isinstance(read := _read_log_probs(answer, _NEUTRAL_IDS, new_tokens), str):
                why = read
            else:
                # As long as the longest text.
                again = await self._ask_for_scores(_NEUTRAL_IDS[:1] * max(longest, len(_NEUTRAL_IDS)), new_tokens)
                if isinstance(again, Failed) and again.status in _REFUSALS:
                    raise self._too_short(f"it refuses {longest} + {new_tokens} tokens of any text ({again.reason})")
                return new_tokens
        if _is_unreadable(answer) and await self._is_down():
            raise _cannot_tell("whether it scores text", _DOWN)
        raise NoScoresError(f"{self._server} gives no scores: {why}")

    async def _score(self, request: ScoreRequest, *, new_tokens: int) -> TokenScores | Failed:
        answer = await self._ask_for_scores(request.token_ids, new_tokens)
        if isinstance(answer, Failed):
            return answer
        read = _read_log_probs(answer, request.token_ids, new_tokens)
        if isinstance(read, str):
            if _is_unreadable(answer) and await self._is_down():
                return _DOWN
            raise NoScoresError(f"{self._server} gives no scores: {read}")
        return TokenScores(request.key, np.array(read[request.first - 1 :], dtype=np.float32))

    async def _ask_for_scores(self, token_ids: Sequence[int], new_tokens: int) -> dict[str, Any] | Failed:
        # Temperature 1: a server that scales by it changes nothing.
        asked = {"max_tokens": new_tokens, "temperature": 1.0, "n": 1, "echo": True, "logprobs": 1, **_TOKENS_AS_IDS}
        return await self._send("/completions", {"prompt": list(token_ids), **asked}, serves="")

    async def _try(self, request: GenerationRequest, form: _ServedForm, what: str) -> dict[str, Any] | Failed:
        answer = await self._ask(request, form)
        if isinstance(answer, Failed) and answer.passes:
            raise _cannot_tell(what, answer)
        return answer

    async def _ask(self, request: GenerationRequest, form: _ServedForm) -> dict[str, Any] | Failed:
        asked = {name: value for name, value in _decoding_of(request).items() if name not in form.left_out}
        asked[form.limit_name] = request.max_new_tokens
        if not request.messages:
            return await self._send("/completions", {"prompt": request.prompt, **asked}, serves="completions")
        messages = [{"role": role, "content": content} for role, content in request.messages]
        serves = "chat completions (--prompt-form text asks for none)"
        return await self._send("/chat/completions", {"messages": messages, **asked}, serves=serves)

    async def _send(self, path: str, body: dict[str, Any], *, serves: str) -> dict[str, Any] | Failed:
        answer = await self._endpoint.send(path, body, serves=serves)
        said = None if isinstance(answer, Failed) else answer.get("model")
        # Many servers do not say.
        if said is not None and (other := other_model(self._model.name, said)) is not None:
            raise BadInputError(
                f"at the endpoint of MODEL {other}, so that nobody could say which one was audited; give the full name "
                "that the server answers by, or have it serve the model asked for (no alias, no fallback)"
            )
        return answer

    def _require_whole(self, ending: FinishReason, request: GenerationRequest, answer: dict[str, Any]) -> None:
        """Raise where the server's count says that it stopped early; warn where that of the prompt is odd."""
        read, written = (token_count(answer, name) for name in ("prompt_tokens", "completion_tokens"))
        seen = {"cuts prompts off": read, "ends answers early": written is not None}
        if unseen := " or ".join(what for what, is_seen in seen.items() if not is_seen):
            self._warn_once(f"{self._server} does not count all tokens: whether it {unseen} is not seen")
        if read and read < _SHARE_READ * len(request.prompt_ids) - 2:
            self._warn_once(
                f"{self._server} counts fewer tokens of prompts than --tokenizer does, as if it left out cached "
                "tokens; it cuts no prompt off; if it caches nothing, check --tokenizer, and whether a filter takes "
                "names and numbers out of prompts"
            )
        if request.messages and (read or 0) > len(request.prompt_ids) / _SHARE_READ + _FEW_ADDED_TO_CHAT:
            self._warn_once(
                f"{self._server} counts more tokens of chats than the template of --tokenizer makes, as if it added a "
                "system prompt of its own, or had another template: then the model with that addition is audited"
            )
        if (written or 0) > request.max_new_tokens:
            self._warn_once(f"{self._server} writes more tokens than it is asked for: answers are longer than planned")
        if ending == "length" and 0 < (written or 0) < request.max_new_tokens:
            why = f"it ended an answer after {written} of the {request.max_new_tokens} tokens asked for"
            raise self._too_short(f"{why} (a limit on reasoning tokens does so, too)")

    def _too_short(self, what: str) -> BadInputError:
        return BadInputError(
            f"the context of the served model {self._model.name} is shorter than --context-length said, or the server "
            f"limits what it answers: {what}; start again, in a new --out, with the server's own --context-length"
        )


def _lengths(request: GenerationRequest) -> tuple[int, int]:
    """Return the tokens of the prompt, and of prompt and answer together."""
    return len(request.prompt_ids), len(request.prompt_ids) + request.max_new_tokens
