"""The judge stage: what an audit asks its judge, each judgement validated and kept as soon as it comes.

Owns which inquiries an audit makes and which are still open, the validation of each verdict, and where judgements are
kept. Generations, labelled texts and planted injections are judged in the same way.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.judge.annotation import HistoryJudge
from clinaudit.audit.measures.judge.verdict import Judge, Judgement, from_row, invalid_reason, to_row
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.console.streams import warn
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.runtime.run.store import RunStore, damaged_state
from clinaudit.priors.diagnoses import Diagnosis

Judgements = Mapping[tuple[str, str], Judgement]
#: Why a refused generation has no verdict: the audited model refused, not the judge's.
REFUSED = "the generation is a refusal"
#: Text that a process judges at a time, in characters, for each diagnosis that is asked of it.
_SHARD_CHARS: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One text and one diagnosis: what does the text say of it? `key` and the diagnosis's id identify the inquiry."""

    key: str
    text: str
    diagnosis: Diagnosis


def make_inquiries(generations: Iterable[Generation], panel: Sequence[Diagnosis]) -> list[Inquiry]:
    """Return an inquiry for each generation and each diagnosis that its prompt serves (`Prior.diagnoses`).

    A refusal says nothing of a diagnosis that could be judged. The judge reads what the model says of its own accord.
    """
    by_id = {diagnosis.id: diagnosis for diagnosis in panel}
    return [
        Inquiry(generation.generation_id, generation.answer, by_id[diagnosis])
        for generation in generations
        if not generation.refused
        for diagnosis in generation.diagnoses
    ]


class Ledger:
    """Keeps judgements by the key of the inquiry and the diagnosis's id; here in memory, lost with the process.

    With a `runner`, judges that ask no server judge in shards.
    """

    def __init__(self, runner: ShardRunner | None = None) -> None:
        self.runner = runner
        self._judgements: dict[tuple[str, str], Judgement] = {}

    def judgements(self) -> dict[tuple[str, str], Judgement]:
        """Return all judgements, by key and diagnosis."""
        return dict(self._judgements)

    def add_judgement(self, key: str, diagnosis: str, judgement: Judgement) -> None:
        """Keep one judgement."""
        self._judgements[key, diagnosis] = judgement


class RunLedger(Ledger):
    """A ledger in a run's store: each judgement is on the disk before the next one is taken from the judge."""

    def __init__(self, store: RunStore, runner: ShardRunner | None = None) -> None:
        self.runner = runner
        self._store = store

    def judgements(self) -> dict[tuple[str, str], Judgement]:
        """Return all judgements, by key and diagnosis; raises `StorageError` for a row that no audit wrote."""
        try:
            return {key: from_row(row) for key, row in self._store.judgements().items()}
        except ValueError:
            raise damaged_state() from None

    def add_judgement(self, key: str, diagnosis: str, judgement: Judgement) -> None:
        """Keep one judgement, on the disk."""
        self._store.add_judgement(key, diagnosis, to_row(judgement))


def ask_judge(
    judge: Judge, inquiries: Sequence[Inquiry], ledger: Ledger, progress: Progress, *, stage: str = "judging"
) -> Judgements:
    """Put the open inquiries to the judge, keep each judgement as it comes, and return all of the ledger's."""
    finished = ledger.judgements()
    pending = [inquiry for inquiry in inquiries if (inquiry.key, inquiry.diagnosis.id) not in finished]
    items = [(inquiry.text, inquiry.diagnosis) for inquiry in pending]
    done = len(inquiries) - len(pending)
    with progress.stage(stage, total=len(inquiries), unit="verdicts", done=done) as advance:
        shards = batches(items, lambda item: len(item[0]), _SHARD_CHARS)
        runner = None if isinstance(judge, HistoryJudge) else ledger.runner
        judged = [judge.judge_many(items)] if runner is None else runner.map(_judge, judge, shards)
        for inquiry, judgement in zip(pending, chain.from_iterable(judged), strict=True):
            # No judge is trusted unchecked.
            reason = None if judgement.verdict is None else invalid_reason(judgement.verdict, inquiry.text)
            valid = judgement if reason is None else replace(judgement, verdict=None, invalid_reason=reason)
            ledger.add_judgement(inquiry.key, inquiry.diagnosis.id, valid)
            advance(1)
    judgements = ledger.judgements()
    asked = [judgements[inquiry.key, inquiry.diagnosis.id] for inquiry in inquiries]
    if asked and all(judgement.verdict is None for judgement in asked):
        reasons = ", ".join(f"{count} x {reason}" for reason, count in count_reasons(asked).items())
        warn(f"warning: {stage}: no answer of the judge “{judge.name}” could be used ({reasons})")
    return judgements


def count_reasons(judgements: Iterable[Judgement]) -> dict[str, int]:
    """Return why there are no verdicts, the most frequent reason first, and how often each was met."""
    reasons = Counter(judged.invalid_reason for judged in judgements if judged.invalid_reason is not None)
    return dict(sorted(reasons.items(), key=lambda counted: (-counted[1], counted[0])))


def _judge(judge: Judge, items: Sequence[tuple[str, Diagnosis]]) -> list[Judgement]:
    return list(judge.judge_many(items))


def leave_refusals_unjudged(judgements: Judgements, generations: Iterable[Generation], judge: Judge) -> Judgements:
    """Return the judgements with one without a verdict for each refused generation: it is never a negative."""
    refused = {
        (generation.generation_id, diagnosis): Judgement(None, judge.name, 0, REFUSED)
        for generation in generations
        if generation.refused
        for diagnosis in generation.diagnoses
    }
    return {**judgements, **refused}


def judgement_rows(generations: Iterable[Generation], judgements: Mapping[tuple[str, str], Judgement]) -> Iterator[Row]:
    """Yield the rows of `judgements.parquet`, in the order of the generations."""
    for generation in generations:
        for diagnosis in generation.diagnoses:
            judgement = judgements[generation.generation_id, diagnosis]
            yield {"generation_id": generation.generation_id, "diagnosis": diagnosis, **to_row(judgement)}
