"""Greedy decoding by a served model that speaks the OpenAI completions protocol.

Prompts are PHI: they go to the one approved address, never through a proxy or a redirect, and no message or log holds
them. The server gives no token ids, so outputs carry text, before any repetition guard: of a request, guarded or not,
the server decodes as much.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from typing import Any

import openai

from clinaudit.audit.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.served.access import Access
from clinaudit.audit.served.approved_addresses import ServedModel
from clinaudit.audit.served.client import error_for_all, open_client
from clinaudit.errors import IncompleteError

#: Longest wait for one answer; 1,000 tokens of a large model on a busy server take minutes.
DEADLINE_S = 600.0


class OpenAIEngine:
    """A served model; the server enforces the context length."""

    name = "openai"

    def __init__(
        self,
        model: ServedModel,
        access: Access,
        *,
        context_length: int,
    ) -> None:
        """Prepare the client; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved."""
        self._client = open_client(model.base_url, access)
        self._model = model
        self.context_length = context_length
        self._concurrency = access.concurrency

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

        Failed requests are raised as one `IncompleteError` after the rest has been yielded. A failure that every
        request would meet (a refused key, no such model, a redirect) raises `BadInputError` or `UnsafeError` at once.
        """
        failures: dict[str, int] = {}
        executor = ThreadPoolExecutor(max_workers=self._concurrency, thread_name_prefix="served-model")
        try:
            for future in as_completed([executor.submit(self._complete, request) for request in requests]):
                output = future.result()
                if isinstance(output, GenerationOutput):
                    yield output
                else:
                    failures[output] = failures.get(output, 0) + 1
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
        if failures:
            reasons = ", ".join(f"{count} x {reason}" for reason, count in sorted(failures.items()))
            raise IncompleteError(
                f"{sum(failures.values())} of {len(requests)} generations failed at the served model ({reasons}); "
                "the others are kept; look at the server, then run the same command again"
            )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _complete(self, request: GenerationRequest) -> GenerationOutput | str:
        """Ask for one completion; return it, or why it failed, in fixed words: the server's may quote the prompt."""
        try:
            answer: Any = self._client.completions.create(
                model=self._model.name,
                prompt=request.prompt,
                max_tokens=request.max_new_tokens,
                temperature=0.0,
                n=1,
            )
        except openai.APIStatusError as error:
            fatal = error_for_all(error.status_code, model=self._model.name, serves="completions")
            if fatal is not None:
                raise fatal from None
            return f"HTTP status {error.status_code}"
        except openai.APITimeoutError:
            return "time-out"
        except openai.APIConnectionError:
            return "connection error"
        except (openai.OpenAIError, ValueError, TypeError):
            return "unreadable answer"
        return _read(request, answer)


def _read(request: GenerationRequest, answer: Any) -> GenerationOutput | str:
    """Return the one choice of the answer, or why there is none; the client does not validate answers."""
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list) or len(choices) != 1:
        return "unreadable answer"
    text, finish = getattr(choices[0], "text", None), getattr(choices[0], "finish_reason", None)
    if not isinstance(text, str):
        return "unreadable answer"
    if finish not in ("stop", "length"):
        # Text cut by a content filter would make the model look as if it leaked less.
        return "cut by the server (neither stop nor length)"
    return GenerationOutput(request.key, (), finish, text)
