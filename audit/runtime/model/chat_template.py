"""The chat template of a model's tokenizer: from a conversation to the prompt that the model is given.

It is Jinja from a file of the model, and rendered by the sandbox of transformers alone: it reaches no file, network or
Python. It may take a moment, and must give back what was said.
"""

import ctypes
import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any, Final

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.errors import BadInputError
from clinaudit.priors.tiers import SYSTEM, Conversation, Message, RenderChat, RenderedChat

#: A prompt takes less than a millisecond.
DEADLINE_S: Final = 10.0
#: Of a template, and of what it adds to what is said: the longest that ship with models have about 20,000.
_MAX_CHARS: Final = 1_000_000
#: Some templates write the day; a prompt must not change from one day to the next. The day that Llama's names itself.
_DAY: Final = "26 Jul 2024"
#: What a template is told beside the messages. A model that may think aloud is asked to answer at once: what it writes
#: first would use up the answer's tokens.
_SETTINGS: Final[dict[str, Any]] = {"date_string": _DAY, "strftime_now": lambda _format: _DAY, "enable_thinking": False}
_PROBE: Final = Conversation(SYSTEM, "How is a note begun?")
_ANSWER: Final = "With its date."


class ChatTemplate:
    """The chat template of one tokenizer, tried once; `BadInputError` where it fails, loops, or leaves out text."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self._name = tokenizer.directory.name
        template = tokenizer.settings.chat_template
        if not template:
            raise self._bad("has several templates and none is the default")
        if len(template) > _MAX_CHARS:
            raise self._bad("is too long for one")
        from jinja2 import Environment, TemplateSyntaxError

        # A template of wrong syntax fails when it is rendered.
        with suppress(TemplateSyntaxError):
            if any((kind, text) == ("operator", "**") for _, kind, text in Environment().lex(template)):
                # No thread can be stopped, nor any signal be heard, within one.
                raise self._bad("takes powers of numbers, which may never end")
        self._template = template
        #: What it is told: the control tokens, as `bos_token`, too.
        self._told = dict(tokenizer.settings.roles) | _SETTINGS
        #: SHA-256 of the template: folders beside the tokenizer's files may hold it.
        self.digest = hashlib.sha256(template.encode("utf-8")).hexdigest()
        control = sorted(filter(str.strip, tokenizer.special_tokens), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, control))) if control else None
        self._in_parts = False
        self._has_system = self._takes_system()
        # Found before any patient's prompt is.
        try:
            self._checked(_PROBE)
        except _EndlessError:
            raise
        except _TemplateError as error:
            # Templates of models that also see images may read content in parts alone.
            self._in_parts = True
            self._has_system = self._takes_system()
            try:
                self._checked(_PROBE)
            except _TemplateError:
                raise error from None
        answered = ""
        with suppress(_TemplateError):
            answered = self._render((*self._messages(_PROBE), ("assistant", _ANSWER)), begins_answer=False)
        _, answer, after = answered.rpartition(_ANSWER)
        following = tokenizer.encode(after.lstrip())[:1] if answer else ()
        #: Tokens that end the model's turn, beside those that end its sequences: what stands after an answer.
        self.stop_token_ids = frozenset(following) & tokenizer.special_ids
        self.render: RenderChat = lru_cache(maxsize=64)(self._checked)

    def _checked(self, conversation: Conversation) -> RenderedChat | str:
        """Return the prompt; or why there is none, where what is said would be read as the template's own marks."""
        parts = (conversation.system, conversation.user)
        if self._control is not None and any(map(self._control.search, parts)):
            return "a fact spells out a control token of the model"
        messages = self._messages(conversation)
        prompt = self._render(messages)
        if any(part.strip() not in prompt for part in parts):
            raise self._bad("leaves out what is said")
        return RenderedChat(prompt, messages)

    def _takes_system(self) -> bool:
        # Some templates refuse a system message, and some leave it out.
        with suppress(_TemplateError):
            return _PROBE.system in self._render((("system", _PROBE.system), ("user", _PROBE.user)))
        return False

    def _messages(self, conversation: Conversation) -> tuple[Message, ...]:
        """Return the messages; a model without a system role is told in the user's."""
        if self._has_system:
            return (("system", conversation.system), ("user", conversation.user))
        return (("user", f"{conversation.system}\n\n{conversation.user}"),)

    def _render(self, messages: Sequence[Message], *, begins_answer: bool = True) -> str:
        def apply() -> str:
            from transformers.utils.chat_template_utils import render_jinja_template

            said = (
                {"role": role, "content": [{"type": "text", "text": content}] if self._in_parts else content}
                for role, content in messages
            )
            rendered: Any = render_jinja_template(
                [list(said)],
                chat_template=self._template,
                add_generation_prompt=begins_answer,
                **self._told,
            )
            return str(rendered[0][0])

        done = _within(DEADLINE_S, apply)
        if done is None:
            raise _EndlessError(self._bad(f"does not end within {DEADLINE_S:g} seconds").message)
        if isinstance(done, Exception):
            # Its text may quote what was said.
            raise self._bad(f"fails ({type(done).__name__})")
        if len(done) > _MAX_CHARS + sum(len(content) for _, content in messages):
            raise self._bad("writes far more than a prompt")
        return done

    def _bad(self, what: str) -> "_TemplateError":
        return _TemplateError(
            f"the chat template of the tokenizer in {self._name} {what}; mend it, or ask the model as plain text alone "
            "with --prompt-form text"
        )


class _TemplateError(BadInputError):
    """A template that cannot be used."""


class _EndlessError(_TemplateError):
    """A template that takes too long."""


class _Stopped(BaseException):
    """Ends a template that takes too long; no `Exception`, which a template could hold back."""


def find_chat_template(tokenizer: ModelTokenizer) -> ChatTemplate | None:
    """Return the tokenizer's chat template, tried; None where it has none."""
    return ChatTemplate(tokenizer) if tokenizer.has_chat_template else None


def _within(seconds: float, work: Callable[[], str]) -> str | Exception | None:
    """Return what `work` returns or raises; None where it takes longer, and it is stopped at its next step."""
    done: list[str | Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except _Stopped:
            return
        except Exception as error:  # noqa: BLE001 (a template may raise anything)
            done.append(error)

    thread = Thread(target=run, name="chat-template", daemon=True)
    thread.start()
    thread.join(seconds)
    if done:
        return done[0]
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Stopped))
    return None
