"""Decoding and scoring by a served model that speaks the OpenAI protocol: completions, chat completions for a chat.

Prompts are PHI: they go to the one approved address, never through a proxy or a redirect, and no message or log holds
them. The server gives no token ids, so outputs carry text, before any repetition guard: of a request, guarded or not,
the server decodes as much. The server renders a chat by its own template.

Before the first request of a kind the server is asked about a neutral text, to learn what it takes of what decoding is
said by, and whether it gives prompts back. What would make a model look as if it leaked less ends the audit with its
cause: a context shorter than the audit was told (long prompts are refused, or cut in silence, or answers end early), an
answer of another model, text that is withheld, a temperature that is refused. No answer of the server is quoted.

Texts are scored by completions that echo the prompt with its log-probabilities, as vLLM's server does and many others
do not; a prompt for that is token ids, and the server must name the tokens that it scored by theirs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from importlib.metadata import version
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import openai

from clinaudit.audit.runtime.console.streams import warn
from clinaudit.audit.runtime.model.engines.openai_answers import (
    UNREADABLE,
    Failed,
    count_of,
    only_choice,
    read_answer,
    read_failure,
    read_log_probs,
    text_of,
)
from clinaudit.audit.runtime.model.engines.openai_requests import (
    Kind,
    ServedForm,
    decoding_of,
    find_echo,
    kind_of,
    neutral,
    probe,
    unknown_words,
    without_prompt,
    words,
)
from clinaudit.audit.runtime.model.engines.protocol import (
    GenerationOutput,
    GenerationRequest,
    NoScoresError,
    ScoreRequest,
    require_scorable,
)
from clinaudit.audit.runtime.run.store import TokenScores
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.client import error_for_all, is_passing, open_client
from clinaudit.audit.runtime.served.reply import other_model
from clinaudit.errors import BadInputError, IncompleteError

#: HTTP statuses by which servers refuse a request for its length or its parameters, among other things.
_REFUSALS = frozenset({400, 413, 422})
#: Of a chat, the tokens that a template may add to what is said.
_TEMPLATE_TOKENS = 200
#: A server may count a prompt without its special tokens, or by a tokenizer of another release: fewer than this share
#: of the tokens expected, less two, may be a prompt cut short.
_SHARE_READ = 0.9
#: Of a count that grows with the text: where the text is cut, at most rounding and a template's tokens are between two.
_SAME_COUNT = 1.1
#: More tokens than a tokenizer makes of the word that no cache can hold.
_UNKNOWN_WORD_TOKENS = 8
#: Token ids that every vocabulary has, to ask whether a server scores anything without any patient's text.
_NEUTRAL_IDS = tuple(range(3, 11))
#: What vLLM takes to name the tokens that it scored by their ids: two may be spelled alike.
_TOKENS_AS_IDS = {"return_tokens_as_token_ids": True}
_FAILURES = (openai.OpenAIError, ValueError, TypeError)
#: So many failures before any answer: the server answers nothing, and the rest is not sent.
_GIVE_UP_AFTER = 32
_TEXT = GenerationRequest("", (), "", 1)
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
        #: Tokens of a prompt at which the server was seen to cut none, whatever it counts.
        self._longest_whole = 0
        self._forms: dict[Kind, ServedForm] = {}
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

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        """Yield each generation as soon as it is finished.

        Failed requests are raised as one error after the rest has been yielded: `IncompleteError` where all may pass,
        `BadInputError` where asking again would not help. A failure of every request (a refused key, no such model,
        another model, a redirect, a context shorter than was said) raises `BadInputError` or `UnsafeError` at once.
        """
        for request in requests:
            if kind_of(request) not in self._forms:
                self._forms[kind_of(request)] = self._learn_form(request)
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
        self, requests: Sequence[_Request], ask: Callable[[_Request], _Output | Failed], *, what: str
    ) -> Iterator[_Output]:
        """Yield what `ask` returns of each request, as soon as it is there; count why others failed, and raise that."""

        def ask_again(request: _Request) -> _Output | Failed:
            said = ask(request)
            # A gateway's page may stand where an answer should, once.
            return ask(request) if said == UNREADABLE else said

        failures: Counter[Failed] = Counter()
        any_answered = False
        executor = ThreadPoolExecutor(max_workers=self._concurrency, thread_name_prefix="served-model")
        try:
            for future in as_completed([executor.submit(ask_again, request) for request in requests]):
                output = future.result()
                if not isinstance(output, Failed):
                    any_answered = True
                    yield output
                    continue
                failures[output] += 1
                if not any_answered and failures.total() >= _GIVE_UP_AFTER:
                    break
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
        if not failures:
            return
        reasons = ", ".join(sorted(f"{count} x {failed.reason}" for failed, count in failures.items()))
        told = (
            f"{failures.total()} of {len(requests)} {what} failed at the served model ({reasons}); "
            "what was answered is kept"
        )
        if all(failed.passes for failed in failures):
            raise IncompleteError(f"{told}; look at the server, then run the same command again")
        raise BadInputError(f"{told}; asking again alone does not help: change what is named, at the server")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _learn_form(self, like: GenerationRequest) -> ServedForm:
        """Find out by neutral text what the server takes of what such requests say, and warn of what it does not.

        Where it refuses all of it together, one thing after the other is added to what it takes.
        """
        asked = probe(like)
        names = list(decoding_of(asked))
        limits = ("max_tokens", "max_completion_tokens") if like.messages else ("max_tokens",)
        bare = [ServedForm(limit, frozenset(names)) for limit in limits]
        for form in (*map(ServedForm, limits), *bare):
            answer = self._try(asked, form)
            if answer is not None:
                break
        else:
            raise BadInputError(
                f"the server of {self._model.name} refuses every request, a short neutral one with nothing but a limit "
                "of tokens too; look at its log for the reason"
                + (" (--prompt-form text asks for no chat, where it has no chat template)" if like.messages else "")
            )
        for name in names if form.left_out else ():
            fuller = replace(form, left_out=form.left_out - {name})
            taken = self._try(asked, fuller)
            if taken is not None:
                form, answer = fuller, taken
        if "temperature" in form.left_out:
            raise BadInputError(
                f"the server of {self._model.name} refuses temperature {like.temperature:g}, so that it cannot be "
                "asked to decode as the audit needs it; serve the model where a temperature is taken, as vLLM does"
            )
        refused = [name for name in names if name in form.left_out]
        if refused:
            self._say_once(
                f"{', '.join(refused)} not accepted by the server of {self._model.name}: its own defaults may apply"
            )
        echo = find_echo(text_of(only_choice(answer), asked) or "", asked)
        if echo == "mixed":
            raise BadInputError(
                f"the server of {self._model.name} gives the prompt back in its answers, changed or as a part of the "
                "tokens asked for, so that it cannot be told from what the model wrote; serve the model so that it "
                "answers with new text alone (no echo, no return_full_text)"
            )
        if echo == "before":
            self._say_once(f"the prompt comes back before each answer of {self._model.name}; it is taken off")
        return replace(form, gives_back=echo == "before")

    def _try(self, asked: GenerationRequest, form: ServedForm) -> Any | None:
        """Return the answer to a neutral request in a form; None where it is refused. Raises where none comes."""
        try:
            return self._ask(asked, form)
        except openai.APIStatusError as error:
            self._raise_for_all(error, _serves(asked))
            if is_passing(error.status_code):
                raise self._cannot_tell("how it takes requests", f"HTTP status {error.status_code}") from None
            return None
        except _FAILURES as error:
            failed = read_failure(error)
            if failed.passes:
                raise self._cannot_tell("how it takes requests", failed.reason) from None
            raise BadInputError(
                f"the server of {self._model.name} answers a neutral request with what cannot be read; "
                "check that the URL is that of an OpenAI-compatible server (it often ends in /v1)"
            ) from None

    def _say_once(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            warn(f"warning: {what}")

    def _complete(self, request: GenerationRequest) -> GenerationOutput | Failed:
        """Ask for one completion; return it, or why it failed, in fixed words: the server's may quote the prompt."""
        form = self._forms[kind_of(request)]
        try:
            answer = self._ask(request, form)
        except openai.APIStatusError as error:
            self._raise_for_all(error, _serves(request))
            if error.status_code in _REFUSALS and self._refuses_to_continue(request):
                raise BadInputError(
                    f"the server of {self._model.name} does not go on with an answer that was begun "
                    f"(continue_final_message; HTTP status {error.status_code}); start again, in a new --out, with "
                    "--chat-request write or ask"
                ) from None
            self._raise_for_length(error, request)
            return _of_status(error)
        except _FAILURES as error:
            return read_failure(error)
        read = read_answer(request, answer)
        if isinstance(read, Failed):
            return read
        if form.gives_back:
            new = without_prompt(read.text or "", request)
            if new is None:
                return Failed(
                    "an answer without the prompt that the server gives back before others, or with a changed one"
                )
            read = replace(read, text=new)
        return self._require_whole(request, read, answer)

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
                if status != 404:
                    self._raise_for_all(error, "completions")
                # An internal error passes, unless it is for what was asked alone.
                if is_passing(status) and not (status == 500 and self._answers(neutral(_TEXT, words(1), 1))):
                    raise self._cannot_tell("whether it scores text", f"HTTP status {status}") from None
                why = f"it refuses to score a prompt (HTTP status {status})"
            except _FAILURES as error:
                failed = read_failure(error)
                if failed.passes:
                    raise self._cannot_tell("whether it scores text", failed.reason) from None
                why = "it gives no log-probabilities of a prompt"
            else:
                read = read_log_probs(answer, _NEUTRAL_IDS, new_tokens)
                if not isinstance(read, str):
                    return new_tokens
                why = read
        raise NoScoresError(f"the server of {self._model.name} gives no scores: {why}")

    def _cannot_tell(self, what: str, why: str) -> IncompleteError:
        return IncompleteError(
            f"the served model could not be asked {what} ({why}); look at the server, then run the same command again"
        )

    def _score(self, request: ScoreRequest, new_tokens: int) -> TokenScores | Failed:
        """Ask for the scores of one text; return them, or why that failed."""
        try:
            answer = self._ask_for_scores(request.token_ids, new_tokens)
        except openai.APIStatusError as error:
            self._raise_for_all(error, "completions")
            self._raise_for_length(error, GenerationRequest(request.key, request.token_ids, "", 1))
            return _of_status(error)
        except _FAILURES as error:
            return read_failure(error)
        read = read_log_probs(answer, request.token_ids, new_tokens)
        if isinstance(read, str):
            raise NoScoresError(f"the server of {self._model.name} gives no scores: {read}")
        return TokenScores(request.key, np.array(read[request.first - 1 :], dtype=np.float32))

    def _ask_for_scores(self, token_ids: Sequence[int], new_tokens: int) -> Any:
        # Temperature 1: a server that scales by it changes nothing.
        answer = self._client.completions.create(
            model=self._model.name,
            prompt=list(token_ids),
            max_tokens=new_tokens,
            temperature=1.0,
            n=1,
            echo=True,
            logprobs=1,
            extra_body=_TOKENS_AS_IDS,
        )
        self._require_model(answer)
        return answer

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

    def _ask(self, request: GenerationRequest, form: ServedForm) -> Any:
        asked = form.parameters(request)
        if request.messages:
            said: Any = [{"role": role, "content": content} for role, content in request.messages]
            answer: Any = self._client.chat.completions.create(model=self._model.name, messages=said, extra_body=asked)
        else:
            answer = self._client.completions.create(model=self._model.name, prompt=request.prompt, extra_body=asked)
        self._require_model(answer)
        return answer

    def _require_model(self, answer: Any) -> None:
        """Raise where the server says that another model answered; many servers do not say."""
        said = getattr(answer, "model", None)
        other = None if said is None else other_model(self._model.name, said)
        if other is not None:
            raise BadInputError(
                f"at the endpoint of MODEL {other}; nobody could say which model was audited; give the full name that "
                "the server answers by, or have it serve the model asked for (no alias, no fallback)"
            )

    def _refuses_to_continue(self, request: GenerationRequest) -> bool:
        """Return whether the server refuses to go on with any short answer, and gives one that it begins itself."""
        if not request.messages or request.messages[-1][0] != "assistant":
            return False
        question = neutral(request, words(1), 1)
        begun = replace(question, messages=(*question.messages, ("assistant", words(1))))
        return self._answers(begun) is False and self._answers(question) is True

    def _refuses_length(self, request: GenerationRequest) -> bool:
        """Return whether the server refuses a neutral text of this length, and answers a short one."""
        tokens = max(1, len(request.prompt_ids) - (_TEMPLATE_TOKENS if request.messages else 0))
        with self._asking_about_length:
            if tokens + request.max_new_tokens <= self._longest_answered:
                return False
            as_long = self._answers(neutral(request, words(tokens), request.max_new_tokens))
            if as_long:
                self._longest_answered = tokens + request.max_new_tokens
            return as_long is False and self._answers(neutral(request, words(1), 1)) is True

    def _answers(self, request: GenerationRequest) -> bool | None:
        """Return whether the server answers or refuses; None where it does neither, which may pass."""
        try:
            # Texts are scored before anything is generated: with nothing but a limit of tokens every server answers.
            bare = ServedForm(left_out=frozenset(decoding_of(request)))
            self._ask(request, self._forms.get(kind_of(request), bare))
        except openai.APIStatusError as error:
            return False if error.status_code in _REFUSALS else None
        except _FAILURES:
            return None
        return True

    def _require_whole(
        self, request: GenerationRequest, output: GenerationOutput, answer: Any
    ) -> GenerationOutput | Failed:
        """Return the output; raise where the server's count says that it read a part of the prompt, or stopped early.

        Servers that keep the beginnings of prompts may count what is new alone: a small count is looked into.
        """
        read, written = count_of(answer, "prompt_tokens"), count_of(answer, "completion_tokens")
        expected = len(request.prompt_ids)
        if 0 < read < _SHARE_READ * expected - 2:
            try:
                is_cut = self._cuts_prompts(request)
            except _FAILURES as error:
                return _of_status(error) if isinstance(error, openai.APIStatusError) else read_failure(error)
            if is_cut:
                raise self._too_short(
                    f"it read {read} tokens of a prompt of {expected}, and answered (or --tokenizer is not this "
                    "model's)"
                )
            self._say_once(
                f"the server of {self._model.name} counts fewer tokens of prompts than --tokenizer does, as one that "
                "leaves out cached tokens, though it cuts none off; if it caches nothing, check --tokenizer"
            )
        if output.finish_reason == "length" and 0 < written < request.max_new_tokens:
            raise self._too_short(
                f"it ended an answer after {written} of the {request.max_new_tokens} tokens asked for (a limit on "
                "reasoning tokens does so, too)"
            )
        return output

    def _cuts_prompts(self, like: GenerationRequest) -> bool:
        """Return whether a neutral text as long as this prompt, and in no cache, is counted as one that was cut.

        Where texts are cut, the count of a longer one does not grow: it stays, or a text of half the length is counted
        whole and this one is not. A count that grows with the text is one of a part of its tokens.
        """
        tokens = max(2, len(like.prompt_ids) - _UNKNOWN_WORD_TOKENS)
        form = self._forms[kind_of(like)]

        def counted(tokens: int) -> int:
            asked = neutral(like, unknown_words(tokens), like.max_new_tokens)
            return count_of(self._ask(asked, form), "prompt_tokens")

        def is_whole(count: int, tokens: int) -> bool:
            return count >= _SHARE_READ * tokens - 2

        with self._asking_about_length:
            if len(like.prompt_ids) <= self._longest_whole:
                return False
            longer = counted(tokens)
            if not is_whole(longer, tokens):
                shorter = counted(tokens // 2)
                if is_whole(shorter, tokens // 2) or longer <= _SAME_COUNT * shorter:
                    return True
            self._longest_whole = len(like.prompt_ids)
            return False

    def _too_short(self, what: str) -> BadInputError:
        return BadInputError(
            f"the context of the served model {self._model.name} is shorter than --context-length said, or the server "
            f"limits what it answers: {what}; start again, in a new --out, with the server's own --context-length"
        )


def _serves(request: GenerationRequest) -> str:
    return "chat completions (--prompt-form text asks for none)" if request.messages else "completions"


def _of_status(error: openai.APIStatusError) -> Failed:
    return Failed(f"HTTP status {error.status_code}", passes=is_passing(error.status_code))
