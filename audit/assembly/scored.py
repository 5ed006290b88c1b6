"""From scores of notes to what they show: queries needed, membership (docs/methods.md, sections 13 and 14).

Owns whose notes are scored: every target's, and with `--score-all` every train patient's; by which models; and what the
control model is asked.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import polars as pl

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.extraction import count_queries, find_openings, query_rows
from clinaudit.audit.measures.generation.stage import generate, make_prompt_writer, plan_prompts
from clinaudit.audit.measures.membership import measure_membership
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.asking import answer_questions, tokens_needed
from clinaudit.audit.measures.ordinary.record import Question
from clinaudit.audit.measures.scoring import NoteScores, PlannedTexts, Scoring, plan_texts, score_notes, score_rows
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import CONTROL_IDENTITY, EngineInUse
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.priors.tiers import FRAGMENT_TIERS
from clinaudit.reports.schema.run_results import MembershipFacts


@dataclass(frozen=True, slots=True)
class Scored:
    """What the scores of notes show."""

    #: Why nothing was scored; None where notes were.
    not_scored: str | None = None
    membership: MembershipFacts | None = None
    #: Rows of the evidence tables, by table.
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)


def plan_scores(inputs: AuditInputs, patients: Collection[str]) -> PlannedTexts:
    """Return the texts to score of some patients, and with `--score-all` of every train patient; none if unwanted."""
    scored = {*patients, *_everybody(inputs)} if inputs.settings.score else ()
    return plan_texts(scored, Scoring(inputs.corpus, inputs.tokenizer, inputs.model.context_length))


def _everybody(inputs: AuditInputs) -> Collection[str]:
    return inputs.corpus.patient_ids("train") if inputs.settings.score_all else ()


def ask_control(
    prompts: pl.DataFrame,
    everyday: Sequence[Question],
    scores: list[NoteScores] | str,
    inputs: AuditInputs,
    *,
    store: RunStore,
    runner: ShardRunner,
    progress: Progress,
) -> list[NoteScores] | str:
    """Ask the control model the prompts and everyday tasks that are for it; return the scores with its own.

    It scores the same notes.
    """
    if inputs.control is None:
        return scores
    patients = () if isinstance(scores, str) else {note.patient_id for note in scores}
    scoring = Scoring(inputs.corpus, inputs.tokenizer, inputs.model.context_length, role="control")
    texts = plan_texts(patients, scoring)
    with closing(EngineInUse(inputs.control, runner, store, identity_field=CONTROL_IDENTITY)) as engine:
        engine.require(max(texts.longest, tokens_needed(everyday)))
        decoding = replace(inputs.decoding, model=inputs.control)
        generate(prompts, decoding, engine, store, progress)
        answer_questions(everyday, engine, decoding, store, progress)
        more = score_notes(texts, engine, store, progress)
    return scores if isinstance(scores, str) else more if isinstance(more, str) else scores + more


def measure_scored(
    scores: list[NoteScores] | str,
    prompts: pl.DataFrame,
    inputs: AuditInputs,
    *,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    runner: ShardRunner,
    progress: Progress,
) -> Scored:
    """Return what the scores show, of whom was asked (rows of `priors`) and with `--score-all` of every train patient.

    Membership is that of the targets, and of everybody: not of the patients whom the site named besides.
    """
    settings = inputs.settings
    if not settings.score:
        scores = "notes were not scored (--no-score)"
    if isinstance(scores, str):
        tables: dict[str, Sequence[Row]] = {"scores": [], "queries_needed": [], "membership": [], "blind_baseline": []}
        return Scored(not_scored=scores, tables=tables)
    included = set(prompts.filter(role="included")["patient_id"]).difference(_everybody(inputs))
    counted = [note for note in scores if note.patient_id not in included]
    openings = find_openings(
        _with_everybody(prompts, inputs, facts),
        facts,
        notes,
        match_tokens=settings.ngram,
        progress=progress,
        runner=runner,
    )
    membership = measure_membership(counted, inputs.corpus, seed=settings.seed, progress=progress)

    def role(patient_id: str) -> str:
        return "included" if patient_id in included else "target"

    return Scored(
        membership=membership.facts,
        tables={
            "scores": list(score_rows(scores, role)),
            "queries_needed": list(query_rows(count_queries(openings, scores), role)),
            "membership": membership.rows,
            "blind_baseline": membership.blind,
        },
    )


def _with_everybody(prompts: pl.DataFrame, inputs: AuditInputs, facts: Mapping[str, PatientFacts]) -> pl.DataFrame:
    """Return the prompts, and with `--score-all` the openings of every other train patient, which are not decoded."""
    asked = set(prompts["patient_id"])
    others = plan_prompts(
        {patient_id: () for patient_id in _everybody(inputs) if patient_id not in asked},
        facts=facts,
        probed=ProbedTiers(tuple(tier for tier in inputs.settings.tier if tier in FRAGMENT_TIERS)),
        writer=make_prompt_writer(inputs.profile, panel=inputs.panel, decoding=inputs.decoding),
    )
    return pl.concat([prompts, others])
