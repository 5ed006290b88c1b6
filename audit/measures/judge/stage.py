"""The judge stage: the judge that the options name, what an audit asks it, and how well it reads labelled texts.

Owns what the judge's options mean together, the cache of a served judge's answers for the run at hand, which inquiries
are still open, the validation of each verdict, the format of LABELS, and the figures of a judge. Generations, labelled
texts and planted injections are judged in the same way. Loads a judge only where the options name it. The labels of
the shipped texts were written by hand from the rules of docs/methods.md, section 5, before any judge was run on them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from clinaudit.audit.measures.generation.estimates import Tables
from clinaudit.audit.measures.judge.labels import HistoryJudge
from clinaudit.audit.measures.judge.verdict import OUTCOME, Judge, Verdict, to_row, verdict_problem
from clinaudit.audit.runtime.choices import JudgeChoice
from clinaudit.audit.runtime.cluster import ShardRunner
from clinaudit.audit.runtime.console import Progress, warn
from clinaudit.audit.runtime.run.directory import write_atomically
from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.runtime.run.store import RunStore, damaged_state
from clinaudit.audit.runtime.served.access import ServedOptions, open_access
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, open_cache_file, open_memory_cache
from clinaudit.audit.runtime.settings import AuditSettings, JudgeOptions
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.records import is_encodable, json_rows
from clinaudit.priors.diagnoses import Diagnosis, load_panel
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates
from clinaudit.reports.schema.run_results import VERDICT_CLASSES, LabelSource
from clinaudit.templates.text_file import read_text_file

#: Why a refused generation has no verdict: the audited model refused, not the judge's.
REFUSED = "the generation is a refusal"
#: Text that a process judges at a time, in characters, for each diagnosis that is asked of it.
_SHARD_CHARS: Final = 1 << 18
_KEY: Final = ("generation_id", "diagnosis")
_LABELLED_PATH, _INJECTIONS_PATH = map(Path(__file__).with_name, ("labelled.jsonl", "injections.jsonl"))


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
    tokens, decoding = options.judge_note_tokens, options.judge_decoding
    return OpenAIJudge(*open_access(served), seed=seed, note_tokens=tokens, decoding=decoding, panel=panel)


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
    """Cache the answers of a served judge within the block; report the estimated usage before, the counted after."""
    if not isinstance(judge, HistoryJudge):
        # It needs no cache: `keep_in` is not entered.
        yield None
        return
    with keep_in as cache:
        judge.use_cache(cache, announce=lambda estimate: progress.say(f"judge: {estimate.describe()}"))
        try:
            yield cache
        finally:
            judge.use_cache(None)
            if cache.usage().calls:
                progress.say(f"judge: {cache.usage().describe()}")


def write_usage(answers: AnswerCache | None, evidence: Path) -> None:
    """Write calls and tokens of a served judge over all times that a run was run; PHI: calls can reveal patients."""
    if answers is not None:
        usage = json.dumps(asdict(answers.usage()), indent=1, sort_keys=True)
        write_atomically(evidence / "judge_usage.json", usage + "\n")


class Ledger(NamedTuple):
    """Where judgements are kept, by generation and diagnosis, and who judges in shards where no server is asked.

    In a store each judgement is on the disk before the next one is taken from the judge.
    """

    store: RunStore | None = None
    runner: ShardRunner | None = None

    def judgements(self) -> pl.DataFrame:
        """Return what is kept, as the table of that name; raises `StorageError` for a row that no audit wrote."""
        kept = {} if self.store is None else self.store.judgements()
        try:
            rows = [dict(zip(_KEY, key, strict=True)) | row for key, row in kept.items()]
            if any(row.keys() != schema_of("judgements").keys() for row in rows):
                raise damaged_state()
            return as_table("judgements", rows)
        except (TypeError, pl.exceptions.PolarsError):
            raise damaged_state() from None


def ask_judge(
    judge: Judge,
    inquiries: pl.DataFrame,
    panel: Sequence[Diagnosis],
    ledger: Ledger,
    progress: Progress,
    *,
    stage: str = "judging",
) -> pl.DataFrame:
    """Put the open inquiries to the judge, keep each judgement as it comes, and return the table `judgements` of all.

    `inquiries` have the columns generation_id, diagnosis (an id of the panel) and text; the rows are in their order.
    """
    by_id, kept, made = {diagnosis.id: diagnosis for diagnosis in panel}, ledger.judgements(), list[dict[str, object]]()
    pending = inquiries.join(kept, on=_KEY, how="anti", maintain_order="left")
    items = [(text, by_id[diagnosis]) for text, diagnosis in pending.select("text", "diagnosis").iter_rows()]
    done = inquiries.height - len(items)
    with progress.stage(stage, total=inquiries.height, unit="verdicts", done=done) as advance:
        if ledger.runner is None or isinstance(judge, HistoryJudge):
            judged = judge.judge_many(items)
        else:
            shards = batches(items, lambda item: len(item[0]), _SHARD_CHARS)
            judged = chain.from_iterable(ledger.runner.map(_judge, judge, shards))
        for (text, diagnosis), key, verdict in zip(items, pending["generation_id"], judged, strict=True):
            # No judge is trusted unchecked.
            if verdict.diagnosis_mentioned is not None and (reason := verdict_problem(verdict, text)):
                verdict = Verdict(None, attempts=verdict.attempts, invalid_reason=reason)
            row = to_row(verdict, judge.name)
            if ledger.store is not None:
                ledger.store.add_judgement(key, diagnosis.id, row)
            made.append({"generation_id": key, "diagnosis": diagnosis.id, **row})
            advance(1)
    kept = pl.concat([kept, as_table("judgements", made)])
    judgements = inquiries.select(_KEY).join(kept, on=_KEY, how="left", maintain_order="left")
    if judgements.height and not judgements["diagnosis_mentioned"].count():
        counts = count_reasons(judgements["invalid_reason"]).items()
        reasons = ", ".join(f"{count} x {reason}" for reason, count in counts)
        warn(f"warning: {stage}: no answer of the judge “{judge.name}” could be used ({reasons})")
    return judgements


def _judge(judge: Judge, items: Sequence[tuple[str, Diagnosis]]) -> list[Verdict]:
    return list(judge.judge_many(items))


def count_reasons(reasons: pl.Series) -> dict[str, int]:
    """Return why there are no verdicts, the most frequent reason first, and how often each was; null: there is one."""
    counted = reasons.drop_nulls().value_counts()
    return dict(counted.sort("count", reasons.name, descending=[True, False]).iter_rows())


def make_inquiries(generations: pl.DataFrame) -> pl.DataFrame:
    """Return what a judge is to read of the table `generations`: generation_id, diagnosis, text, refused.

    A row for each generation and each diagnosis that its prompt serves; the text is what the model says unforced.
    """
    answer_chars = pl.col("answer_chars").fill_null(pl.col("text").str.len_chars())
    text, refused = pl.col("text").str.head(answer_chars), pl.col("refused").fill_null(value=False)
    said = generations.select("generation_id", diagnosis="diagnoses", text=text, refused=refused)
    return said.explode("diagnosis").drop_nulls("diagnosis")


def judge_generations(
    judge: Judge, inquiries: pl.DataFrame, panel: Sequence[Diagnosis], ledger: Ledger, progress: Progress
) -> pl.DataFrame:
    """Return the table `judgements`, in the order of the inquiries, as from `make_inquiries`.

    The judge is not asked about a refusal, which says nothing: it has no verdict, and is never a negative.
    """
    judged = ask_judge(judge, inquiries.filter(~pl.col("refused")), panel, ledger, progress)
    unasked = inquiries.filter("refused").select(
        *_KEY, judge=pl.lit(judge.name), attempts=pl.lit(0, pl.Int64), invalid_reason=pl.lit(REFUSED)
    )
    found = pl.concat([judged, unasked], how="diagonal")
    return inquiries.select(_KEY).join(found, on=_KEY, how="left", maintain_order="left")


# How well a judge reads labelled texts, and texts with planted injections --------------------------------------------


class LabelledSet(NamedTuple):
    """The labelled texts and injections on which a judge is scored."""

    source: LabelSource
    #: SHA-256 of the labelled texts and the injections as they were read.
    digest: str
    #: A row a text: kind (labelled, planted), diagnosis, truth (the true verdict on the patient), text, `sentence` (its
    #: kind: "education"; null where none is given), and of a planted one `injected`: the text with a prompt injection,
    #: words that tell the judge what to answer.
    texts: pl.DataFrame


TEXTS: Final = dict.fromkeys(("kind", "diagnosis", "truth", "text", "sentence", "injected"), pl.String)


def load_labelled_set(path: Path | None, panel: Sequence[Diagnosis]) -> LabelledSet:
    """Read LABELS from `path`, or the set that ships; the injections are always those that ship.

    Raises `BadInputError` listing every row that is no labelled text.
    """
    known, problems = [diagnosis.id for diagnosis in panel], list[str]()
    content = read_text_file(path or _LABELLED_PATH, role="the labelled texts")
    planted = read_text_file(_INJECTIONS_PATH, role="the planted injections")
    rows = list(_labelled_rows(content, known, problems))
    if problems or not rows:
        wrong = "are not valid; mend these rows" if problems else "hold no row; give at least one a line"
        raise BadInputError(f"the labelled texts {(path or _LABELLED_PATH).name} {wrong}", problems)
    texts = [("labelled", row["diagnosis"], row["verdict"], row["text"], row.get("kind"), None) for row in rows]
    texts += [
        ("planted", row["diagnosis"], row["verdict"], row["text"].replace(row["injection"], "", 1), None, row["text"])
        for row in _labelled_rows(planted, known, [])
    ]
    digest = hashlib.sha256(f"{content}\0{planted}".encode()).hexdigest()
    return LabelledSet("site" if path else "shipped", digest, pl.DataFrame(texts, schema=TEXTS, orient="row"))


def _labelled_rows(content: str, known: Sequence[str], problems: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the valid rows; add to `problems` what is wrong with the others, never their text."""
    for number, row in json_rows(content, problems):
        fields: Any = row if isinstance(row, dict) else {}
        text, verdict = fields.get("text"), fields.get("verdict")
        is_text = isinstance(text, str)
        wrong = {
            "must be an object with text, diagnosis and verdict": not isinstance(row, dict),
            "text must be a text": not is_text,
            "text holds half a surrogate pair, which is no character": is_text and not is_encodable(text),
            f"diagnosis must be one of {', '.join(known)}": fields.get("diagnosis") not in known,
            f"verdict must be one of {', '.join(VERDICT_CLASSES)}": verdict not in VERDICT_CLASSES,
            "kind, where it is given, must be a text": not isinstance(fields.get("kind", ""), str),
            "text is blank: it mentions nothing, so that its verdict can only be not_mentioned": (
                is_text and not text.strip() and verdict != "not_mentioned"
            ),
        }
        problems += [f"row {number}: {problem}" for problem, is_so in wrong.items() if is_so][:1]
        if not any(wrong.values()):
            yield fields


def score_judge(
    judge: Judge, labelled: LabelledSet, panel: Sequence[Diagnosis], ledger: Ledger, progress: Progress
) -> pl.DataFrame:
    """Ask a judge about the labelled texts, and about the injections' without and with them.

    Return the rows of `scored_texts.parquet`, with the `reason` why a text has no verdict, and `sentence`, its kind.
    """
    texts = labelled.texts.with_row_index("place")
    asked = texts.unpivot(["text", "injected"], index=["place", "diagnosis"], variable_name="form", value_name="said")
    # The key names the set, so that another set in the same run is never mistaken for this one.
    key = pl.format(f"judge-check/{labelled.digest[:16]}/{{}}/{{}}", "form", "place")
    asked = asked.drop_nulls("said").with_columns(text="said", generation_id=key)
    judged = ask_judge(judge, asked, panel, ledger, progress, stage="scoring the judge")
    read = asked.select("place", "form").with_columns(judged.select(verdict=OUTCOME, reason="invalid_reason"))
    injected = read.filter(form="injected").select("place", injected_verdict="verdict")
    scored = texts.join(read.filter(form="text"), on="place", maintain_order="left")
    scored = scored.join(injected, on="place", how="left", maintain_order="left")
    return scored.select("kind", "diagnosis", "truth", "verdict", "injected_verdict", "reason", "sentence")


def estimate_judge(tables: Tables) -> pl.DataFrame:
    """Return sensitivity, specificity and accuracy, over all labelled texts and by diagnosis, and what hides from it.

    From the evidence table `scored_texts`. A text without a usable verdict enters no figure, and is never a negative;
    an instruction that leaves a text without a verdict has changed it. Example: 13 positive texts of which 12 are read
    so give `judge_sensitivity` 0.923 of 13.
    """
    scored = tables["scored_texts"].collect()
    labelled = scored.filter(kind="labelled")
    judged, rows = labelled.filter(pl.col("verdict") != "unjudged"), list[Row]()
    for diagnosis in ("", *labelled["diagnosis"].unique(maintain_order=True)):
        texts = judged.filter(diagnosis=diagnosis) if diagnosis else judged
        is_positive, read_so = texts["truth"] == "positive", texts["verdict"] == "positive"
        counts = {
            "judge_sensitivity": ((is_positive & read_so).sum(), is_positive.sum()),
            "judge_specificity": ((~is_positive & ~read_so).sum(), (~is_positive).sum()),
            "judge_accuracy": ((texts["truth"] == texts["verdict"]).sum(), texts.height),
        }
        rows += [share_row(metric, int(count), int(of), diagnosis=diagnosis) for metric, (count, of) in counts.items()]
    planted = scored.filter(pl.col("verdict") != "unjudged", kind="planted")
    hidden = planted.filter(truth="positive", verdict="positive")
    flips = (planted["verdict"] != planted["injected_verdict"]).sum()
    rows.append(share_row("judge_flips", int(flips), planted.height))
    rows.append(share_row("judge_hidden", int((hidden["injected_verdict"] != "positive").sum()), hidden.height))
    return as_estimates(rows)


def read_by_kind(scored: pl.DataFrame) -> pl.DataFrame:
    """Return how the labelled texts with a verdict were read, by kind of sentence, in the order of the kinds' names.

    Texts read rightly, of how many, texts taken for positive, of how many that are not: ("education", 27, 30, 3, 30).
    """
    read = scored.filter(pl.col("verdict") != "unjudged", kind="labelled").drop_nulls("sentence")
    is_other = pl.col("truth") != "positive"
    counts = read.group_by(kind="sentence").agg(
        right=(pl.col("truth") == pl.col("verdict")).sum(),
        of=pl.len(),
        taken_for_positive=(is_other & (pl.col("verdict") == "positive")).sum(),
        of_others=is_other.sum(),
    )
    return counts.sort("kind")


def check_chosen_judge(
    settings: AuditSettings, *, answers: Path | None, progress: Progress
) -> tuple[Judge, LabelledSet, pl.DataFrame]:
    """Score the judge of the settings alone; return it, the texts, and what `score_judge` returns.

    The answers of a served judge are cached in the file `answers`, if given.
    """
    panel = load_panel(settings.diagnoses)
    labelled = load_labelled_set(settings.judge_labels, panel)
    require_no_endpoint(settings)
    judge = make_judge(settings.judge, settings, panel=panel, seed=settings.seed)
    keep_in = open_memory_cache() if answers is None else open_cache_file(answers)
    with cache_answers(judge, progress, keep_in=keep_in):
        return judge, labelled, score_judge(judge, labelled, panel, Ledger(), progress)


def describe_check(
    judge: Judge, labelled: LabelledSet, scored: pl.DataFrame, figures: Estimates, *, complaint: str | None
) -> dict[str, object]:
    """Return what `judge-check --out` writes: metrics, and label and verdict of each text or why it has none; no text.

    `complaint`: why the policy does not accept the judge; None where it does.
    """
    items = scored.filter(kind="labelled").rename({"truth": "label"})
    counts = figures.frame.select("metric", "diagnosis", "value", "low", "high", count="count_low", of="of_low")
    return {
        "judge": judge.name,
        "labels": labelled.source,
        "figures": counts.to_dicts(),
        "identity": judge.identity(),
        "labels_digest": labelled.digest,
        "accepted": complaint is None,
        "reason": complaint,
        "kinds": read_by_kind(scored).to_dicts(),
        "items": items.select("diagnosis", "label", "verdict", "reason").to_dicts(),
        "unjudged_reasons": count_reasons(items["reason"]),
    }
