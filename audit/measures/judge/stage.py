"""The judge stage: the judge that the options name, what an audit asks it, and where judgements are kept.

Owns what the judge's options mean together, the cache of a served judge's answers for the run at hand, which inquiries
an audit makes and which are still open, and the validation of each verdict. Generations, labelled texts and planted
injections are judged in the same way. Loads a judge only where the options name it.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Final

import polars as pl

from clinaudit.audit.measures.judge.labels import HistoryJudge
from clinaudit.audit.measures.judge.verdict import Judge, Judgement, invalid_reason, to_row
from clinaudit.audit.runtime.choices import JudgeChoice
from clinaudit.audit.runtime.cluster import ShardRunner
from clinaudit.audit.runtime.console import Progress, warn
from clinaudit.audit.runtime.run.directory import write_atomically
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table, schema_of
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.runtime.run.store import RunStore, damaged_state
from clinaudit.audit.runtime.served.access import ServedOptions, open_access
from clinaudit.audit.runtime.served.answer_cache import AnswerCache
from clinaudit.audit.runtime.served.question import Usage
from clinaudit.audit.runtime.settings import JudgeOptions
from clinaudit.errors import UsageError
from clinaudit.priors.diagnoses import Diagnosis

#: Why a refused generation has no verdict: the audited model refused, not the judge's.
REFUSED = "the generation is a refusal"
#: Text that a process judges at a time, in characters, for each diagnosis that is asked of it.
_SHARD_CHARS: Final = 1 << 18
_KEY: Final = ("generation_id", "diagnosis")
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
    given = {options.served_url, options.served_model, options.served_key_file} - {None}
    if options.judge != "openai" and (given or options.judge_decoding != "deterministic"):
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

    with keep_in as cache:
        judge.use_cache(cache, announce=lambda estimate: progress.say(f"judge: {estimate.describe()}"))
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


def make_inquiries(generations: pl.DataFrame) -> pl.DataFrame:
    """Return what a judge is to say of the table `generations`: generation_id, diagnosis, text, refused.

    There is a row for each generation and each diagnosis that its prompt serves (`Prior.diagnoses`). The judge reads
    what the model says of its own accord.
    """
    return (
        generations.select(
            "generation_id",
            diagnosis="diagnoses",
            text=pl.col("text").str.head(pl.col("answer_chars").fill_null(pl.col("text").str.len_chars())),
            refused=pl.col("refused").fill_null(value=False),
        )
        .explode("diagnosis")
        .drop_nulls("diagnosis")
    )


class Ledger:
    """Keeps judgements by generation and diagnosis: in a run's store, or without one in memory.

    In a store each judgement is on the disk before the next one is taken from the judge. With a `runner`, judges that
    ask no server judge in shards.
    """

    def __init__(self, store: RunStore | None = None, runner: ShardRunner | None = None) -> None:
        self.runner = runner
        self._store = store
        self._kept: dict[tuple[str, str], Row] = {}

    def judgements(self) -> pl.DataFrame:
        """Return all judgements, as the table of that name; raises `StorageError` for a row that no audit wrote."""
        kept = self._kept if self._store is None else self._store.judgements()
        try:
            rows = [dict(zip(_KEY, key, strict=True)) | row for key, row in kept.items()]
            if any(row.keys() != schema_of("judgements").keys() for row in rows):
                raise damaged_state()
            return as_table("judgements", rows)
        except (TypeError, pl.exceptions.PolarsError):
            raise damaged_state() from None

    def add(self, generation_id: str, diagnosis: str, judgement: Judgement) -> None:
        """Keep one judgement."""
        if self._store is None:
            self._kept[generation_id, diagnosis] = to_row(judgement)
        else:
            self._store.add_judgement(generation_id, diagnosis, to_row(judgement))


def ask_judge(
    judge: Judge,
    inquiries: pl.DataFrame,
    panel: Sequence[Diagnosis],
    ledger: Ledger,
    progress: Progress,
    *,
    stage: str = "judging",
) -> pl.DataFrame:
    """Put the open inquiries to the judge, keep each judgement as it comes, and return those of all, in their order.

    `inquiries` have the columns generation_id, diagnosis (an id of the panel) and text; a row of the table
    `judgements` is returned for each.
    """
    by_id = {diagnosis.id: diagnosis for diagnosis in panel}
    pending = inquiries.join(ledger.judgements(), on=_KEY, how="anti", maintain_order="left")
    items = [(text, by_id[diagnosis]) for text, diagnosis in pending.select("text", "diagnosis").iter_rows()]
    done = inquiries.height - len(items)
    with progress.stage(stage, total=inquiries.height, unit="verdicts", done=done) as advance:
        if ledger.runner is None or isinstance(judge, HistoryJudge):
            judged = judge.judge_many(items)
        else:
            shards = batches(items, lambda item: len(item[0]), _SHARD_CHARS)
            judged = chain.from_iterable(ledger.runner.map(_judge, judge, shards))
        for (text, diagnosis), key, judgement in zip(items, pending["generation_id"], judged, strict=True):
            # No judge is trusted unchecked.
            reason = None if judgement.verdict is None else invalid_reason(judgement.verdict, text)
            valid = judgement if reason is None else replace(judgement, verdict=None, invalid_reason=reason)
            ledger.add(key, diagnosis.id, valid)
            advance(1)
    judgements = inquiries.select(_KEY).join(ledger.judgements(), on=_KEY, how="left", maintain_order="left")
    if judgements.height and not judgements["diagnosis_mentioned"].count():
        counts = count_reasons(judgements["invalid_reason"]).items()
        reasons = ", ".join(f"{count} x {reason}" for reason, count in counts)
        warn(f"warning: {stage}: no answer of the judge “{judge.name}” could be used ({reasons})")
    return judgements


def _judge(judge: Judge, items: Sequence[tuple[str, Diagnosis]]) -> list[Judgement]:
    return list(judge.judge_many(items))


def count_reasons(reasons: pl.Series) -> dict[str, int]:
    """Return why there are no verdicts, the most frequent reason first, and how often each was; null: there is one."""
    counted = reasons.drop_nulls().value_counts()
    return dict(counted.sort("count", reasons.name, descending=[True, False]).iter_rows())


def judge_generations(
    judge: Judge, inquiries: pl.DataFrame, panel: Sequence[Diagnosis], ledger: Ledger, progress: Progress
) -> pl.DataFrame:
    """Return the table `judgements`, in the order of the inquiries, as from `make_inquiries`.

    The judge is not asked about a refusal, which says nothing of a diagnosis: it has no verdict, and is never a
    negative.
    """
    judged = ask_judge(judge, inquiries.filter(~pl.col("refused")), panel, ledger, progress)
    unasked = inquiries.filter("refused").select(
        *_KEY, judge=pl.lit(judge.name), attempts=pl.lit(0, pl.Int64), invalid_reason=pl.lit(REFUSED)
    )
    found = pl.concat([judged, unasked], how="diagonal")
    return inquiries.select(_KEY).join(found, on=_KEY, how="left", maintain_order="left")
