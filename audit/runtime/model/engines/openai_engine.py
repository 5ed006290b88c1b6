"""Decoding and scoring by a served model that speaks the OpenAI protocol: completions, chat completions for a chat.

Prompts are PHI: they go to the one approved address, never through a proxy or a redirect, and no message or log holds
them. The server gives no token ids, so outputs carry text, before any repetition guard: of a request, guarded or not,
the server decodes as much. The server renders a chat by its own template.

A server whose context is shorter than the audit was told refuses long prompts, or cuts them in silence, or ends answers
early: each would make a model look as if it leaked less. All three end the audit with the cause; no answer of the
server is quoted.

Texts are scored by completions that echo the prompt with its log-probabilities, as vLLM's server does and many others
do not; a prompt for that is token ids, and the server must name the tokens that it scored by theirs.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import openai

from clinaudit.audit.runtime.model.engines.protocol import (
    GenerationOutput,
    GenerationRequest,
    NoScoresError,
    ScoreRequest,
    require_scorable,
)
from clinaudit.audit.runtime.run.store import TokenScores
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.client import error_for_all, open_client
from clinaudit.errors import BadInputError, IncompleteError

#: (role, text) of each.
Messages = tuple[tuple[str, str], ...]
#: HTTP statuses by which servers refuse a request for its length, among other things.
_REFUSALS = frozenset({400, 413, 422})
#: A word that the tokenizers in use have as one token, to ask about the length of a prompt without any patient's text.
_NEUTRAL = " the"
#: Of a chat, the tokens that a template may add to what is said.
_TEMPLATE_TOKENS = 200
#: What vLLM and others take to go on with an answer that was begun.
_CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}
#: A server may count a prompt without its special tokens, or by a tokenizer of another release: fewer than this share
#: of the tokens expected, less two, is a prompt cut short (or another model's tokenizer).
_SHARE_READ = 0.9
#: Token ids that every vocabulary has, to ask whether a server scores anything without any patient's text.
_NEUTRAL_IDS = tuple(range(3, 11))
#: What vLLM takes to name the tokens that it scored by their ids: two may be spelled alike.
_TOKENS_AS_IDS = {"return_tokens_as_token_ids": True}
#: HTTP statuses of servers that do not know what they are asked for.
_UNKNOWN = frozenset({400, 404, 405, 422, 501})
#: A log-probability is no higher, rounding aside.
_HIGHEST_LOG = 1e-3
_FAILURES = (openai.OpenAIError, ValueError, TypeError)
_Request = TypeVar("_Request")
_Output = TypeVar("_Output", GenerationOutput, TokenScores)
#: Longest wait for one answer; 1,000 tokens of a large model on a busy server take minutes.
DEADLINE_S = 600.0


class OpenAIEngine:
    """A served model; the server enforces the context length."""

    name = "openai"

    def __init__(self, model: ServedModel, access: Access, *, context_length: int) -> None:
        """Prepare the client; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved."""
        self._client = open_client(model.base_url, access)
        self._model = model
        self.context_length = context_length
        #: Servers want room for a new token, whether or not one is asked for.
        self.longest_scored = context_length - 1
        self._concurrency = access.concurrency
        self._asking_about_length = Lock()
        #: Tokens of prompt and answer together at which a neutral text was answered.
        self._longest_answered = 0

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

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        """Yield each generation as soon as it is finished.

        Failed requests are raised as one `IncompleteError` after the rest has been yielded. A failure that would last
        (a refused key, no such model, a redirect, a context shorter than was said) raises `BadInputError` or
        `UnsafeError` at once.
        """
        yield from self._ask_at_once(requests, self._complete, what="generations")

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores of each text, without mean and deviation; failures are those of `generate`.

        Raises `NoScoresError` where the server gives no log-probabilities of a prompt; it is asked without any
        patient's text first.
        """
        require_scorable(requests, longest=self.longest_scored)
        if requests:
            new_tokens = self._find_scoring()
            yield from self._ask_at_once(requests, lambda request: self._score(request, new_tokens), what="texts")

    def _ask_at_once(
        self, requests: Sequence[_Request], ask: Callable[[_Request], _Output | str], *, what: str
    ) -> Iterator[_Output]:
        """Yield what `ask` returns of each request, as soon as it is there; count why others failed, and raise that."""
        failures: dict[str, int] = {}
        executor = ThreadPoolExecutor(max_workers=self._concurrency, thread_name_prefix="served-model")
        try:
            for future in as_completed([executor.submit(ask, request) for request in requests]):
                output = future.result()
                if isinstance(output, str):
                    failures[output] = failures.get(output, 0) + 1
                else:
                    yield output
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
        if failures:
            reasons = ", ".join(f"{count} x {reason}" for reason, count in sorted(failures.items()))
            raise IncompleteError(
                f"{sum(failures.values())} of {len(requests)} {what} failed at the served model ({reasons}); "
                "the others are kept; look at the server, then run the same command again"
            )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _complete(self, request: GenerationRequest) -> GenerationOutput | str:
        """Ask for one completion; return it, or why it failed, in fixed words: the server's may quote the prompt."""
        try:
            answer = self._ask(request.prompt, request.max_new_tokens, request.messages, **_sampling(request))
        except openai.APIStatusError as error:
            self._raise_for_all(
                error, "chat completions (--prompt-form text asks for none)" if request.messages else "completions"
            )
            if error.status_code in _REFUSALS and self._refuses_to_continue(request):
                raise BadInputError(
                    f"the server of {self._model.name} does not go on with an answer that was begun "
                    f"(continue_final_message; HTTP status {error.status_code}); start again, in a new --out, with "
                    "--chat-request write or ask"
                ) from None
            self._raise_for_length(error, request)
            return f"HTTP status {error.status_code}"
        except _FAILURES as error:
            return _reason(error)
        read = _read(request, answer)
        if isinstance(read, GenerationOutput):
            self._require_whole(request, read, answer)
        return read

    def _find_scoring(self) -> int:
        """Return the new tokens, 0 or 1, to ask for where a prompt is scored; raise `NoScoresError` where neither does.

        Some servers score a prompt only where something is added to it.
        """
        why = ""
        for new_tokens in (0, 1):
            try:
                answer = self._ask_for_scores(_NEUTRAL_IDS, new_tokens)
            except openai.APIStatusError as error:
                status = error.status_code
                # An internal error passes, unless it is for what was asked alone.
                if status not in _UNKNOWN and not (status == 500 and self._answers(_NEUTRAL, 1)):
                    self._raise_for_all(error, "completions")
                    raise self._cannot_tell(f"HTTP status {status}") from None
                why = f"it refuses to score a prompt (HTTP status {status})"
            except _FAILURES as error:
                if _reason(error) != "unreadable answer":
                    raise self._cannot_tell(_reason(error)) from None
                why = "it gives no log-probabilities of a prompt"
            else:
                read = _read_log_probs(answer, _NEUTRAL_IDS, new_tokens)
                if not isinstance(read, str):
                    return new_tokens
                why = read
        raise NoScoresError(f"the server of {self._model.name} gives no scores: {why}")

    def _cannot_tell(self, why: str) -> IncompleteError:
        return IncompleteError(
            f"the served model could not be asked whether it scores text ({why}); look at the server, then run the "
            "same command again"
        )

    def _score(self, request: ScoreRequest, new_tokens: int) -> TokenScores | str:
        """Ask for the scores of one text; return them, or why that failed."""
        try:
            answer = self._ask_for_scores(request.token_ids, new_tokens)
        except openai.APIStatusError as error:
            self._raise_for_all(error, "completions")
            self._raise_for_length(error, GenerationRequest(request.key, request.token_ids, "", 1))
            return f"HTTP status {error.status_code}"
        except _FAILURES as error:
            return _reason(error)
        read = _read_log_probs(answer, request.token_ids, new_tokens)
        if isinstance(read, str):
            raise NoScoresError(f"the server of {self._model.name} gives no scores: {read}")
        return TokenScores(request.key, np.array(read[request.first - 1 :], dtype=np.float32))

    def _ask_for_scores(self, token_ids: Sequence[int], new_tokens: int) -> Any:
        # Temperature 1: a server that scales by it changes nothing.
        return self._client.completions.create(
            model=self._model.name,
            prompt=list(token_ids),
            max_tokens=new_tokens,
            temperature=1.0,
            n=1,
            echo=True,
            logprobs=1,
            extra_body=_TOKENS_AS_IDS,
        )

    def _raise_for_all(self, error: openai.APIStatusError, serves: str) -> None:
        """Raise where every further request would meet the same."""
        fatal = error_for_all(
            error.status_code, endpoint="the endpoint of MODEL", model=self._model.name, serves=serves
        )
        if fatal is not None:
            raise fatal from None

    def _raise_for_length(self, error: openai.APIStatusError, request: GenerationRequest) -> None:
        """Raise where the server refuses the request for its length."""
        if error.status_code in _REFUSALS and self._refuses_length(request):
            raise self._too_short(
                f"it refuses {len(request.prompt_ids)} + {request.max_new_tokens} tokens of any text "
                f"(HTTP status {error.status_code}), and answers a short one"
            ) from None

    def _ask(self, prompt: str, max_tokens: int, messages: Messages = (), **sampling: Any) -> Any:
        asked: dict[str, Any] = {
            "model": self._model.name,
            "max_tokens": max_tokens,
            "temperature": 0.0,
            "n": 1,
            **sampling,
        }
        if not messages:
            return self._client.completions.create(prompt=prompt, **asked)
        said: Any = [{"role": role, "content": content} for role, content in messages]
        return self._client.chat.completions.create(
            messages=said, extra_body=_CONTINUED if messages[-1][0] == "assistant" else None, **asked
        )

    def _refuses_to_continue(self, request: GenerationRequest) -> bool:
        """Return whether the server refuses to go on with any short answer, and gives one that it begins itself."""
        if not request.messages or request.messages[-1][0] != "assistant":
            return False
        question = (("user", _NEUTRAL),)
        return (
            self._answers("", 1, (*question, ("assistant", _NEUTRAL))) is False
            and self._answers("", 1, question) is True
        )

    def _refuses_length(self, request: GenerationRequest) -> bool:
        """Return whether the server refuses a neutral text of this length, and answers a short one."""
        tokens = max(1, len(request.prompt_ids) - (_TEMPLATE_TOKENS if request.messages else 0))
        with self._asking_about_length:
            if tokens + request.max_new_tokens <= self._longest_answered:
                return False
            as_long = self._answers(*_neutral(tokens, request.max_new_tokens, request))
            if as_long:
                self._longest_answered = tokens + request.max_new_tokens
            return as_long is False and self._answers(*_neutral(1, 1, request)) is True

    def _answers(self, prompt: str, max_tokens: int, messages: Messages = ()) -> bool | None:
        """Return whether the server answers or refuses; None where it does neither, which may pass."""
        try:
            self._ask(prompt, max_tokens, messages)
        except openai.APIStatusError as error:
            return False if error.status_code in _REFUSALS else None
        except _FAILURES:
            return None
        return True

    def _require_whole(self, request: GenerationRequest, output: GenerationOutput, answer: Any) -> None:
        """Raise where the server's own count of tokens says that it read a part of the prompt, or stopped early."""
        usage = getattr(answer, "usage", None)
        read, written = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        expected = len(request.prompt_ids)
        if type(read) is int and 0 < read < _SHARE_READ * expected - 2:
            raise self._too_short(
                f"it read {read} tokens of a prompt of {expected}, and answered (or --tokenizer is not this model's)"
            )
        if output.finish_reason == "length" and type(written) is int and 0 < written < request.max_new_tokens:
            raise self._too_short(
                f"it ended an answer after {written} of the {request.max_new_tokens} tokens asked for"
            )

    def _too_short(self, what: str) -> BadInputError:
        return BadInputError(
            f"the context of the served model {self._model.name} is shorter than --context-length said, or the server "
            f"limits what it answers: {what}; start again, in a new --out, with the server's own --context-length"
        )


def _sampling(request: GenerationRequest) -> dict[str, Any]:
    """Return what a drawn answer needs beside the greedy one's options: the whole distribution, and a seed."""
    if not request.temperature:
        return {}
    # Servers take what is not said from the model's own defaults.
    return {"temperature": request.temperature, "top_p": 1.0, "seed": request.seed}


def _neutral(tokens: int, max_tokens: int, like: GenerationRequest) -> tuple[str, int, Messages]:
    """Return a neutral request, as text or in a chat."""
    text = _NEUTRAL * tokens
    return text, max_tokens, ((("user", text),) if like.messages else ())


def _read(request: GenerationRequest, answer: Any) -> GenerationOutput | str:
    """Return the one choice of the answer, or why there is none; the client does not validate answers."""
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list) or len(choices) != 1:
        return "unreadable answer"
    finish = getattr(choices[0], "finish_reason", None)
    if request.messages:
        said = getattr(choices[0], "message", None)
        # Some servers put a refusal in a field of its own.
        text = getattr(said, "content", None) or getattr(said, "refusal", None) or getattr(said, "content", None)
    else:
        text = getattr(choices[0], "text", None)
    if not isinstance(text, str):
        return "unreadable answer"
    if finish not in ("stop", "length"):
        # Text cut by a content filter would make the model look as if it leaked less.
        return "cut by the server (neither stop nor length)"
    return GenerationOutput(request.key, (), finish, text)


def _reason(error: Exception) -> str:
    """Return why a request without a status failed, in fixed words."""
    if isinstance(error, openai.APITimeoutError):
        return "time-out"
    return "connection error" if isinstance(error, openai.APIConnectionError) else "unreadable answer"


def _read_log_probs(answer: Any, token_ids: Sequence[int], new_tokens: int) -> list[float] | str:
    """Return the log-probabilities of a prompt's tokens after the first, or why there are none.

    The server must say that it scored these tokens: as many of others would pass for theirs.
    """
    tokens = len(token_ids)
    choices = getattr(answer, "choices", None)
    said = getattr(choices[0], "logprobs", None) if isinstance(choices, list) and len(choices) == 1 else None
    numbers = getattr(said, "token_logprobs", None)
    if not isinstance(numbers, list):
        return "it gives no log-probabilities of a prompt"
    # Asked for a new token, a model may end the text instead; None stands for the first token, which nothing predicts.
    if len(numbers) != tokens + new_tokens and (len(numbers) != tokens or numbers[0] is not None):
        return "it gives log-probabilities of another number of tokens"
    scored = getattr(said, "tokens", None)
    if not isinstance(scored, list) or scored[:tokens] != [f"token_id:{token}" for token in token_ids]:
        return "it does not say, by their ids, that it scored the tokens asked for"
    own = numbers[1:tokens]
    if not all(type(number) in (int, float) and -math.inf < number <= _HIGHEST_LOG for number in own):
        return "what it gives for log-probabilities are none"
    return own
