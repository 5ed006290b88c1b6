"""From scores of notes to what they show: queries needed, membership (docs/methods.md, sections 13 and 14).

Owns whose notes are scored: every target's, and with `--score-all` every train patient's; by which models; and what the
control model is asked.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.extraction.queries import QueriesNeeded, count_queries, query_rows, tally_queries
from clinaudit.audit.measures.extraction.targets import find_openings
from clinaudit.audit.measures.generation.own_repeats import OwnRepeats
from clinaudit.audit.measures.generation.stage import generate, identity_to_keep, plan_priors
from clinaudit.audit.measures.membership.stage import measure_membership
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.scoring.record import NoteScores, score_rows
from clinaudit.audit.measures.scoring.stage import PlannedTexts, Scoring, plan_texts, score_notes
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse, open_engine
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import Prior
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.priors.tiers import FRAGMENT_TIERS
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.tally.extraction import QueriesTally
from clinaudit.reports.tally.membership import MembershipTally

_LEFT_OUT = "notes were not scored (--no-score)"


@dataclass(frozen=True, slots=True)
class Scored:
    """What the scores of notes show."""

    queries: Mapping[str, Mapping[Arm, QueriesTally]] = field(default_factory=dict)
    #: Why nothing was scored; None where notes were.
    not_scored: str | None = None
    membership: MembershipTally | None = None
    #: Rows of the evidence tables, by table.
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)


def plan_scores(inputs: AuditInputs, patients: Collection[str]) -> PlannedTexts | None:
    """Return the texts to score; None where none are wanted."""
    if not inputs.settings.score:
        return None
    everybody = inputs.corpus.patient_ids("train") if inputs.settings.score_all else ()
    return plan_texts({*patients, *everybody}, Scoring(inputs.corpus, inputs.tokenizer, inputs.model.context_length))


def in_figures(inputs: AuditInputs, targets: Collection[str]) -> set[str]:
    """Return the patients whose scores make figures: the targets, and with `--score-all` every train patient."""
    return {*targets, *(inputs.corpus.patient_ids("train") if inputs.settings.score_all else ())}


def of_patients(scores: list[NoteScores] | str, patients: Collection[str]) -> list[NoteScores] | str:
    """Return the scores of some patients' notes, or why there are none."""
    return scores if isinstance(scores, str) else [of for of in scores if of.patient_id in patients]


def score_by_models(
    planned: PlannedTexts | None, engine: EngineInUse, store: RunStore, progress: Progress
) -> list[NoteScores] | str:
    """Return the scores of the notes by the audited model, or why there are none."""
    if planned is None:
        return _LEFT_OUT

    def bind(identity: dict[str, str]) -> None:
        store.bind_settings({"engine identity": identity_to_keep(identity)})

    return score_notes(planned, engine, store, progress, bind=bind)


def ask_control(
    priors: Sequence[Prior],
    scores: list[NoteScores] | str,
    inputs: AuditInputs,
    own_repeats: OwnRepeats,
    *,
    store: RunStore,
    runner: ShardRunner | None,
    progress: Progress,
) -> list[NoteScores] | str:
    """Ask the control model the prompts that are for it, and return the scores with those by it, of the same notes."""
    if inputs.control is None:
        return scores
    known = [] if isinstance(scores, str) else scores
    scoring = Scoring(inputs.corpus, inputs.tokenizer, inputs.model.context_length, role="control")
    texts = plan_texts({of.patient_id for of in known}, scoring)
    with open_engine(inputs.control, runner) as engine:
        engine.require(texts.longest)
        decoding = replace(inputs.decoding, model=inputs.control, identity_field="control engine identity")
        generate(priors, decoding, engine, store, progress, own_repeats=own_repeats)
        if isinstance(scores, str):
            return scores
        more = score_notes(texts, engine, store, progress)
    return more if isinstance(more, str) else scores + more


def scored_tables(scores: Sequence[NoteScores], needed: Sequence[QueriesNeeded]) -> dict[str, Sequence[Row]]:
    """Return the rows of the tables of scores and of queries needed."""
    return {"scores": list(score_rows(scores)), "queries_needed": list(query_rows(needed))}


def count_all_queries(
    scores: Sequence[NoteScores],
    priors: Sequence[Prior],
    inputs: AuditInputs,
    *,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    runner: ShardRunner | None,
    progress: Progress,
) -> list[QueriesNeeded]:
    """Return the queries needed of every unbroken opening among the priors, by each model that scored its note."""
    match_tokens = inputs.settings.ngram
    openings = find_openings(priors, facts, notes, match_tokens=match_tokens, progress=progress, runner=runner)
    return count_queries(openings, scores)


def included_tables(
    scores: list[NoteScores] | str,
    priors: Sequence[Prior],
    inputs: AuditInputs,
    *,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    progress: Progress,
) -> dict[str, Sequence[Row]]:
    """Return the rows of the patients whom the site named beside the targets: in no figure."""
    own = [] if isinstance(scores, str) else scores
    needed = count_all_queries(own, priors, inputs, facts=facts, notes=notes, runner=None, progress=progress)
    return scored_tables(own, needed)


def measure_scored(
    scores: list[NoteScores] | str,
    priors: Sequence[Prior],
    inputs: AuditInputs,
    *,
    facts: Mapping[str, PatientFacts],
    notes: MatchedCorpus,
    runner: ShardRunner | None,
    progress: Progress,
) -> Scored:
    """Return what the scores show; they are of no patient who is in no figure."""
    if isinstance(scores, str):
        return Scored(not_scored=scores, tables={**scored_tables([], []), "membership": []})
    asked = _with_everybody(priors, inputs, facts)
    needed = count_all_queries(scores, asked, inputs, facts=facts, notes=notes, runner=runner, progress=progress)
    membership = measure_membership(scores, inputs.corpus, seed=inputs.settings.seed, progress=progress)
    return Scored(
        queries=tally_queries(needed),
        membership=membership.tally,
        tables={**scored_tables(scores, needed), "membership": membership.rows},
    )


def _with_everybody(priors: Sequence[Prior], inputs: AuditInputs, facts: Mapping[str, PatientFacts]) -> Sequence[Prior]:
    """Return the priors, and with `--score-all` the openings of every other train patient, which are not decoded."""
    if not inputs.settings.score_all:
        return priors
    asked = {prior.patient_id for prior in priors}
    fragments = tuple(tier for tier in inputs.settings.tier if tier in FRAGMENT_TIERS)
    others = plan_priors(
        {patient_id: () for patient_id in inputs.corpus.patient_ids("train") if patient_id not in asked},
        facts=facts,
        profile=inputs.profile,
        panel=inputs.panel,
        probed=ProbedTiers(fragments, "opening"),
        decoding=inputs.decoding,
    )
    return [*priors, *others]
