"""What a served model is asked: how a request is decoded, said in full, and neutral requests without a patient's text.

A server fills in what is not said from defaults of its own or of the model. A server that refuses a part of what is
said is asked without it (`ServedForm`).
"""

from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, Final, Literal

from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest

#: A word that the tokenizers in use have as one token.
_WORD: Final = " the"
#: Broken off in a sentence, so that no model goes on with its beginning, and longer than `_FEW_TOKENS`.
NEUTRAL_TEXT: Final = (
    "Seven grey chairs stand between a long table, two lamps and the window of a quiet room, and beside them a box of"
)
#: Fewer than any tokenizer makes of the neutral text: an answer that holds all of it was not written by the model.
_FEW_TOKENS: Final = 8
#: Words of the neutral text that a server gave back, where it counts them as new tokens.
_FEW_WORDS: Final = 3
#: What vLLM and others take to go on with an answer that was begun.
_CONTINUED: Final = {"continue_final_message": True, "add_generation_prompt": False}
#: What requests of a kind share: chat or text, drawn or greedy, with or without least tokens.
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

    def parameters(self, request: GenerationRequest) -> dict[str, Any]:
        """Return what is sent beside the prompt."""
        said = {name: value for name, value in decoding_of(request).items() if name not in self.left_out}
        continued = _CONTINUED if request.messages and request.messages[-1][0] == "assistant" else {}
        return {self.limit_name: request.max_new_tokens, **said, **continued}


def kind_of(request: GenerationRequest) -> Kind:
    """Return what of a request decides its form."""
    return bool(request.messages), bool(request.temperature), request.min_new_tokens > 0


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
        # Beyond OpenAI's own: vLLM's, SGLang's and TGI's word, then llama.cpp's and LM Studio's.
        "repetition_penalty": 1.0,
        "repeat_penalty": 1.0,
        "min_p": 0.0,
        # Greedily 1, which servers agree on and which is greedy by itself. Of no limit, some say 0 and some -1; vLLM,
        # SGLang and llama.cpp take -1.
        "top_k": -1 if drawn else 1,
        **({"min_tokens": min(request.min_new_tokens, request.max_new_tokens)} if request.min_new_tokens else {}),
    }


def neutral(like: GenerationRequest, text: str, max_new_tokens: int) -> GenerationRequest:
    """Return a request about a neutral text that is put as another one."""
    messages = (("user", text),) if like.messages else ()
    return replace(like, prompt_ids=(), prompt=text, messages=messages, max_new_tokens=max_new_tokens)


def words(tokens: int) -> str:
    """Return a neutral text of so many tokens."""
    return _WORD * tokens


def unknown_words(tokens: int) -> str:
    """Return a neutral text of about so many tokens, of which no cache can hold the beginning."""
    return f" {token_hex(4)}{_WORD * (tokens - 1)}"


def probe(like: GenerationRequest) -> GenerationRequest:
    """Return the neutral request by which a form is tried."""
    return neutral(like, NEUTRAL_TEXT, _FEW_TOKENS)


#: How a server gives prompts back: not at all; as they are, before the answer; in another form, or as a part of what
#: may be answered.
Echo = Literal["none", "before", "mixed"]


def find_echo(answer: str, asked: GenerationRequest) -> Echo:
    """Return how the answer to a probe gives the neutral text back."""
    if answer.lstrip().startswith(NEUTRAL_TEXT):
        return "before"
    said = " ".join(answer.split())
    # In a chat a model may well finish the sentence from its beginning.
    is_counted = not asked.messages and NEUTRAL_TEXT.startswith(said) and len(said.split()) >= _FEW_WORDS
    return "mixed" if is_counted or NEUTRAL_TEXT in said else "none"


def without_prompt(answer: str, asked: GenerationRequest) -> str | None:
    """Return an answer without the prompt that it gives back first; None where it does not begin with it."""
    prompt = (asked.messages[-1][1] if asked.messages else asked.prompt).lstrip()
    return answer.lstrip().removeprefix(prompt) if answer.lstrip().startswith(prompt) else None
