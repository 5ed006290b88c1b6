"""Which judge reads, from the options; and its memory, for the run that it reads in (docs/for-ml-engineers.md).

Owns what the judge's options mean together. Knows nothing of how a judge reads; loads the served one only where asked.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, runtime_checkable

from clinaudit.audit.choices import JudgeChoice
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.judge.verdict import Judge
from clinaudit.audit.run.durable_files import write_atomically
from clinaudit.audit.served.addresses import Access, JudgeEndpoint, ServedModel, require_approved
from clinaudit.audit.served.answer_cache import AnswerCache
from clinaudit.audit.served.cost import Estimate, Price, Usage
from clinaudit.errors import UsageError
from clinaudit.priors.diagnoses import Diagnosis

#: What a served judge took, beside the evidence: a number of calls can tell a number of patients.
USAGE_FILE = "judge_usage.json"


@runtime_checkable
class Remembers(Protocol):
    """A judge whose answers are worth keeping."""

    def remember(self, cache: AnswerCache | None, *, announce: Callable[[Estimate], None] | None = None) -> None:
        """Keep answers in `cache`, and `announce` what asking will take."""
        ...


def make_judge(
    choice: JudgeChoice,
    endpoint: JudgeEndpoint,
    *,
    panel: Sequence[Diagnosis],
    approved_hosts: Collection[str],
    seed: int,
) -> Judge:
    """Return the judge; sends nothing. Raises `UsageError` for options that do not go together.

    `UnsafeError` for an address that is not approved, or a key file that others can read.
    """
    if choice == "lexicon":
        # Late: it loads spaCy, and spaCy torch.
        from clinaudit.audit.judge.lexicon.judge import LexiconJudge

        return LexiconJudge(panel)
    if endpoint.url is None or endpoint.model is None:
        raise UsageError(
            "a judge openai needs --judge-url (such as http://127.0.0.1:8000/v1) and --judge-model (the name the "
            "server gives it)"
        )
    require_approved(endpoint.url, approved_hosts=approved_hosts)
    from clinaudit.audit.judge.served_judge import OpenAIJudge
    from clinaudit.audit.served.client import read_key_file

    return OpenAIJudge(
        ServedModel(endpoint.url, endpoint.model),
        Access(approved_hosts, read_key_file(endpoint.key_file) if endpoint.key_file is not None else None),
        seed=seed,
        note_tokens=endpoint.note_tokens,
        panel=panel,
    )


def require_no_endpoint(endpoint: JudgeEndpoint) -> None:
    """Raise `UsageError` where options of a served judge are given and there is none: it would not be asked."""
    if any(given is not None for given in (endpoint.url, endpoint.model, endpoint.key_file, endpoint.price)):
        raise UsageError(
            "--judge-url, --judge-model, --judge-key-file and --judge-price go with --judge openai or "
            "--second-judge openai only"
        )


class JudgeMemory:
    """What served judges answered; holds nothing where there is none."""

    def __init__(self, cache: AnswerCache | None, price: Price | None) -> None:
        self._cache = cache
        self._price = price

    def usage(self) -> Usage:
        """Return what all answers took; of a run, over every time the audit was run."""
        return Usage() if self._cache is None else self._cache.usage()

    def write_usage(self, evidence: Path) -> None:
        """Write it beside the evidence, with what it cost where a price is known."""
        if self._cache is None:
            return
        usage = self.usage()
        record: dict[str, object] = dict(asdict(usage))
        if self._price is not None:
            record |= {"price_of_a_million_tokens": asdict(self._price), "cost": round(usage.cost(self._price), 6)}
        write_atomically(evidence / USAGE_FILE, json.dumps(record, indent=1, sort_keys=True) + "\n")


@contextmanager
def remember_answers(
    judges: Iterable[object],
    progress: Progress,
    *,
    price: Price | None,
    keep_in: AbstractContextManager[AnswerCache],
) -> Iterator[JudgeMemory]:
    """Keep what served judges answer, and say before and after what it takes.

    Other judges need no memory: without a served one, `keep_in` is not entered.
    """
    served = [judge for judge in judges if isinstance(judge, Remembers)]
    if not served:
        yield JudgeMemory(None, price)
        return

    def announce(estimate: Estimate) -> None:
        progress.say(f"judge: {estimate.describe(price)}")

    with keep_in as cache:
        memory = JudgeMemory(cache, price)
        for judge in served:
            judge.remember(cache, announce=announce)
        try:
            yield memory
        finally:
            for judge in served:
                judge.remember(None)
            if memory.usage() != Usage():
                progress.say(f"judge: {memory.usage().describe(price)}")
