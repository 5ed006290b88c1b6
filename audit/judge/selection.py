"""Which judge reads, from the options; and its memory, for the run that it reads in (contract, section 1).

Owns what the judge's options mean together. Knows nothing of how a judge reads; loads the served one only where asked.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from clinaudit.audit.endpoints import ServedModel, require_approved
from clinaudit.audit.judge.judge_cache import JudgeCache, open_judge_cache
from clinaudit.audit.judge.lexicon import LexiconJudge
from clinaudit.audit.judge.usage import Usage
from clinaudit.audit.judge.verdict import Judge
from clinaudit.audit.progress import Progress
from clinaudit.audit.settings import JudgeChoice
from clinaudit.audit.storage import write_atomically
from clinaudit.audit.store import RunDirectory
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.templates.errors import UsageError

#: What a served judge took, beside the evidence: a number of calls can tell a number of patients.
USAGE_FILE = "judge_usage.json"


@dataclass(frozen=True, slots=True)
class JudgeEndpoint:
    """The options of a served judge."""

    url: str | None
    model: str | None
    key_file: Path | None
    #: Tokens of one patient's notes in one question, at most.
    note_tokens: int


@runtime_checkable
class Remembers(Protocol):
    """A judge whose answers are worth keeping."""

    def remember(self, cache: JudgeCache | None, *, say: Callable[[str], None] | None = None) -> None:
        """Keep answers in `cache`, and `say` what asking will cost."""
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
        return LexiconJudge(panel)
    if endpoint.url is None or endpoint.model is None:
        raise UsageError(
            "a judge openai needs --judge-url (such as http://127.0.0.1:8000/v1) and --judge-model (the name the "
            "server gives it)"
        )
    require_approved(endpoint.url, approved_hosts=approved_hosts)
    from clinaudit.audit.judge.openai_judge import OpenAIJudge
    from clinaudit.audit.served_client import read_key_file

    return OpenAIJudge(
        ServedModel(endpoint.url, endpoint.model),
        approved_hosts=approved_hosts,
        api_key=read_key_file(endpoint.key_file) if endpoint.key_file is not None else None,
        seed=seed,
        note_tokens=endpoint.note_tokens,
    )


def require_no_endpoint(endpoint: JudgeEndpoint) -> None:
    """Raise `UsageError` where options of a served judge are given and there is none: it would not be asked."""
    if endpoint.url is not None or endpoint.model is not None or endpoint.key_file is not None:
        raise UsageError(
            "--judge-url, --judge-model and --judge-key-file go with --judge openai or --second-judge openai only"
        )


class JudgeMemory:
    """What a run's served judges answered; holds nothing where there is none."""

    def __init__(self, cache: JudgeCache | None, run: RunDirectory) -> None:
        self._cache = cache
        self._run = run

    def usage(self) -> Usage:
        """Return what all answers took, over every time the audit was run."""
        return Usage() if self._cache is None else self._cache.usage()

    def write_usage(self) -> None:
        """Write it beside the evidence."""
        if self._cache is not None:
            text = json.dumps(asdict(self.usage()), indent=1, sort_keys=True) + "\n"
            write_atomically(self._run.evidence / USAGE_FILE, text)


@contextmanager
def remember_answers(judges: Iterable[object], run: RunDirectory, progress: Progress) -> Iterator[JudgeMemory]:
    """Keep what served judges answer under the run, and say what it took; other judges need no memory."""
    served = [judge for judge in judges if isinstance(judge, Remembers)]
    if not served:
        yield JudgeMemory(None, run)
        return
    with open_judge_cache(run) as cache:
        memory = JudgeMemory(cache, run)
        for judge in served:
            judge.remember(cache, say=progress.say)
        try:
            yield memory
        finally:
            for judge in served:
                judge.remember(None)
            if memory.usage() != Usage():
                progress.say(f"judge: {memory.usage().describe()}")
