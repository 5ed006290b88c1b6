"""What is sent to a served model beside a prompt, and what of its answers counts for the audit.

A server fills in what is not said from defaults of its own or of the model, so that decoding is said in full; what one
refuses is left out (`ServedForm`). Owns neutral texts, what counts as text, and why an answer cannot be used, in fixed
words: a server's own may quote the prompt.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.run.store import GenerationOutput
from clinaudit.audit.runtime.served.endpoint import UNREADABLE, Failed
from clinaudit.audit.runtime.served.reply import Reply, read_reply, text_in, token_count
from clinaudit.errors import BadInputError, IncompleteError

#: A word that the tokenizers in use have as one token, to ask about lengths without any patient's text.
NEUTRAL_WORD: Final = " the"
#: Broken off in a sentence, so that no model goes on with its beginning.
_NEUTRAL_TEXT: Final = (
    "Seven grey chairs stand between a long table, two lamps and the window of a quiet room, and beside them a box of"
)
#: Fewer than any tokenizer makes of the neutral text: an answer that holds all of it was not written by the model.
_FEW_TOKENS: Final = 8
#: What requests of a kind share: in a chat or as text, drawn or greedy, with or without least tokens.
Kind = tuple[bool, bool, bool]


@dataclass(frozen=True, slots=True)
class ServedForm:
    """How requests of a kind are put to a server."""

    #: What the limit of new tokens is called; the text completions of the protocol know `max_tokens` alone.
    limit_name: str = "max_tokens"
    #: Of what decoding is said by (`decoding_of`), what is left out.
    left_out: frozenset[str] = frozenset()
    #: Whether the server gives each prompt back before its answer.
    gives_back: bool = False


def kind_of(request: GenerationRequest) -> Kind:
    """Return what of a request decides its form."""
    return bool(request.messages), request.temperature > 0, request.min_new_tokens > 0


def decoding_of(request: GenerationRequest) -> dict[str, float]:
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


def neutral(like: GenerationRequest, text: str, max_new_tokens: int) -> GenerationRequest:
    """Return a request about a neutral text that is put as another one."""
    messages = (("user", text),) if like.messages else ()
    return replace(like, prompt_ids=(), prompt=text, messages=messages, max_new_tokens=max_new_tokens)


def without_prompt(answer: str, asked: GenerationRequest) -> str | None:
    """Return an answer without the prompt that it gives back first; None where it does not begin with it."""
    prompt = (asked.messages[-1][1] if asked.messages else asked.prompt).lstrip()
    return answer.lstrip().removeprefix(prompt) if answer.lstrip().startswith(prompt) else None


#: Its tokens went into what the server does not give.
_THOUGHT_ALONE: Final = Failed(
    "no text, since the model thought until its tokens were used up and the server leaves the thoughts out: switch "
    "thinking off in its chat template, let it give them (a reasoning parser), or start again, in a new --out, with a "
    "larger --max-new-tokens"
)


def text_of(reply: Reply | None) -> str | None:
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
        return f"{said}\n\n{reply.thought}" if said else f"<think>{reply.thought}"
    return said if isinstance(said, str) else None


def hides_thoughts(answer: dict[str, Any]) -> bool:
    """Return whether the server counts tokens of thoughts and gives none of them."""
    reply, usage = read_reply(answer), answer.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    is_told = reply is not None and (reply.thought or "think>" in str(reply.content))
    return isinstance(details, dict) and bool(details.get("reasoning_tokens")) and not is_told


def read_answer(request: GenerationRequest, answer: dict[str, Any]) -> GenerationOutput | Failed:
    """Return the one choice of the answer, or why it cannot be used."""
    reply = read_reply(answer)
    if reply is None:
        return UNREADABLE
    ending, text = reply.ending, text_of(reply)
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
        return _THOUGHT_ALONE
    if text is None or (reply.word is None and ending is None):
        return UNREADABLE
    if ending is None:
        return Failed(f"ended by a word that is not known here, {reply.word}: neither stop nor length")
    return GenerationOutput(request.key, (), ending, text)


def read_log_probs(answer: dict[str, Any], token_ids: Sequence[int], new_tokens: int) -> list[float] | str:
    """Return the log-probabilities of a prompt's tokens after the first, or why there are none.

    The server must say that it scored these tokens: as many of others would pass for theirs.
    """
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


def cannot_tell(what: str, failed: Failed) -> IncompleteError:
    """Return the error of a neutral request that may be answered later."""
    return IncompleteError(
        f"the served model could not be asked {what} ({failed.reason}); look at the server, then run the same command "
        "again"
    )


async def learn_form(
    like: GenerationRequest,
    ask: Callable[[GenerationRequest, ServedForm], Awaitable[dict[str, Any] | Failed]],
    *,
    server: str,
    tell: Callable[[str], None],
) -> ServedForm:
    """Find out by neutral text what the server takes of what such requests say, and `tell` of what it does not.

    Where it refuses all of it together, one thing after the other is added to what it takes.
    """
    asked = neutral(like, _NEUTRAL_TEXT, _FEW_TOKENS)
    names = list(decoding_of(asked))

    async def answer_in(form: ServedForm) -> dict[str, Any] | Failed:
        answer = await ask(asked, form)
        if isinstance(answer, Failed) and answer.passes:
            raise cannot_tell("how it takes requests", answer)
        return answer

    limits = ("max_tokens", "max_completion_tokens") if like.messages else ("max_tokens",)
    for form in (ServedForm(limit, frozenset(left_out)) for left_out in ((), names) for limit in limits):
        answer = await answer_in(form)
        if not isinstance(answer, Failed):
            break
    if isinstance(answer, Failed):
        chat = "; where it has no chat template, give --prompt-form text" if like.messages else ""
        raise BadInputError(
            f"{server} does not answer a short neutral text, however it is asked ({answer.reason}); look at its log, "
            f"and check that the URL is that of an OpenAI-compatible server (it often ends in /v1){chat}"
        )
    for name in names if form.left_out else ():
        fuller = replace(form, left_out=form.left_out - {name})
        if not isinstance(taken := await answer_in(fuller), Failed):
            form, answer = fuller, taken
    if "temperature" in form.left_out:
        raise BadInputError(
            f"{server} refuses temperature {like.temperature:g}: it cannot be asked to decode as the audit needs it; "
            "serve the model where a temperature is taken, as vLLM does"
        )
    if form.left_out:
        left_out = ", ".join(name for name in names if name in form.left_out)
        tell(f"{left_out} not accepted by {server}: defaults of its own may apply")
    said = text_of(read_reply(answer)) or ""
    if gives_back := said.lstrip().startswith(_NEUTRAL_TEXT):
        tell(f"the prompt comes back from {server} before each answer; it is taken off")
        return replace(form, gives_back=gives_back)
    words = " ".join(said.split())
    # In a chat a model may well finish the sentence from its beginning.
    is_counted = not asked.messages and _NEUTRAL_TEXT.startswith(words) and " " in words
    if is_counted or _NEUTRAL_TEXT in words:
        raise BadInputError(
            f"{server} gives the prompt back in its answers, changed or as a part of the tokens asked for, so that "
            "what the model wrote is not known; let it answer with new text alone (no echo, no return_full_text)"
        )
    return form
