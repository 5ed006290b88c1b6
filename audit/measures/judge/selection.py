"""The judge that the options name, and its cache of answers for the run at hand (docs/for-ml-engineers.md).

Owns what the judge's options mean together. Knows nothing of how a judge reads. Loads the served judge only where the
options name it.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path

from clinaudit.audit.measures.judge.labels import HistoryJudge
from clinaudit.audit.measures.judge.verdict import Judge
from clinaudit.audit.runtime.choices import JudgeChoice
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.served.access import ServedOptions, open_access
from clinaudit.audit.runtime.served.answer_cache import AnswerCache
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.audit.runtime.served.reply import Usage
from clinaudit.audit.runtime.settings import JudgeOptions
from clinaudit.errors import UsageError
from clinaudit.priors.diagnoses import Diagnosis

#: Usage of a served judge. It stands beside the evidence: a number of calls can reveal a number of patients.
USAGE_FILE = "judge_usage.json"


def make_judge(choice: JudgeChoice, options: JudgeOptions, *, panel: Sequence[Diagnosis], seed: int) -> Judge:
    """Return the judge; sends nothing.

    Raises `UsageError` for options that do not go together, and `UnsafeError` for an address that is not approved or a
    key file that others can read.
    """
    if choice == "lexicon":
        # Late: it reads its tables when it is imported.
        from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge

        return LexiconJudge(panel)
    if options.served_url is None or options.served_model is None:
        raise UsageError(
            "a judge openai needs --served-url (such as http://127.0.0.1:8000/v1) and --served-model (the name the "
            "server gives it)"
        )
    from clinaudit.audit.measures.judge.served_judge import OpenAIJudge

    served = ServedOptions(options.served_url, options.served_model, options.phi_approved, options.served_key_file)
    return OpenAIJudge(
        *open_access(served),
        seed=seed,
        note_tokens=options.judge_note_tokens,
        decoding=options.judge_decoding,
        panel=panel,
    )


def require_no_endpoint(options: JudgeOptions) -> None:
    """Raise `UsageError` where options of a served judge are given, although none is served."""
    if options.judge == "openai":
        return
    given = (options.served_url, options.served_model, options.served_key_file)
    if any(value is not None for value in given) or options.judge_decoding != "deterministic":
        raise UsageError(
            "--served-url, --served-model, --served-key-file and --judge-decoding go with --judge openai only"
        )


@contextmanager
def cache_answers(
    judge: object, progress: Progress, *, keep_in: AbstractContextManager[AnswerCache]
) -> Iterator[AnswerCache | None]:
    """Cache the answers of a served judge within the block; report the estimated usage before, the counted one after.

    Another judge needs no cache: `keep_in` is not entered.
    """
    if not isinstance(judge, HistoryJudge):
        yield None
        return

    def announce(estimate: AskingEstimate) -> None:
        progress.say(f"judge: {estimate.describe()}")

    with keep_in as cache:
        judge.use_cache(cache, announce=announce)
        try:
            yield cache
        finally:
            judge.use_cache(None)
            if cache.usage() != Usage():
                progress.say(f"judge: {cache.usage().describe()}")


def write_usage(answers: AnswerCache | None, evidence: Path) -> None:
    """Write calls and tokens of a served judge beside the evidence: of a run, over every time that it was run."""
    if answers is not None:
        usage = json.dumps(asdict(answers.usage()), indent=1, sort_keys=True)
        write_atomically(evidence / USAGE_FILE, usage + "\n")
