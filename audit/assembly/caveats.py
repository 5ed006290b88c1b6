"""The caveats of an audit: limitations that follow from its inputs and settings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.measures.cohorts.stage import Targets
from clinaudit.audit.measures.judge.labels import NO_ANSWER, label_source
from clinaudit.audit.measures.population.estimates import NO_PROMPT
from clinaudit.audit.preview.notes_fit import measure_table_fit, measure_whole_fit
from clinaudit.audit.preview.profile_fit import MINIMUM_SHARE, Kind
from clinaudit.priors.facts import PatientFacts
from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.schema.run_results import IdentifierFacts
from clinaudit.templates.profile import NoteProfile

#: Up to this share of the patients nothing is said: a caveat about fewer would tell of single patients.
_FEW: Final = 0.1


@dataclass(frozen=True, slots=True)
class StageOutcomes:
    """What assembly says of a run, beside what follows from its tables."""

    #: Of every patient of the corpus, by id.
    facts: Mapping[str, PatientFacts]
    #: The table of this name.
    labels: pl.DataFrame
    targets: Targets
    #: The table of this name: of the cohorts' members.
    annotations: pl.DataFrame
    identifiers: IdentifierFacts
    #: Whether there was anything to judge.
    is_judged: bool
    #: Why no note was scored; None where notes were.
    not_scored: str | None
    #: What the report says of the model's self-test.
    self_test: Sequence[str] = ()


def find_identity_caveats(published: Estimates) -> list[str]:
    """Return the caveats that follow from how identifiable the patients are, a sentence or two each."""
    found = []
    tagged = sorted({row.part for row in published.rows("tagged_notes") if _is_more_than_few(row)})
    if tagged:
        nobody = {row.tier for row in published.rows("uniqueness", part=NO_PROMPT) if (row.low or 0.0) >= 1.0}
        lost = f" Tiers at which nobody has a prompt: {', '.join(sorted(nobody))}." if nobody else ""
        found.append(
            f"The notes were de-identified: tags such as {', '.join(tagged)} stand in the place of names, dates or "
            f"numbers. A fact that is a tag is known to nobody, and in no prompt.{lost}"
        )
    if any(_is_more_than_few(row) for row in published.rows("long_notes", arm="train")):
        found.append(
            "Many train patients have a note that is longer than what the model was trained on (--training-length, or "
            "its context). Such a note was left out of training or cut, so that these patients may count as trained on "
            "and were not: what the model gives away of the others is watered down. Who they are: "
            "evidence/long_notes.parquet."
        )
    if any(row.count_high for row in published.rows("several_ids")):
        found.append(
            "Some patients stand in the corpus under more than one id: name and birth date are equal, or the notes. "
            "Each counts as one person; who has an id in the train split is no patient whom the model never saw. Who "
            "they are: evidence/people.parquet."
        )
    return found


def _is_more_than_few(row: Row) -> bool:
    """Whether a published share of patients is surely above the share up to which nothing is said."""
    return bool(row.count_low and row.of_high and row.count_low > _FEW * row.of_high)


_LESS: Final = "A model that is asked so may give less than it holds."
_WORDS: Final[Mapping[Kind, str]] = {
    Kind.TABLE_OF_OTHERS: (
        "For many patients nothing shows that their row of the patients table is their own. Their notes have another "
        "name, date of birth or sex, as where a table is joined to other patients, or have none of these. Prompts of "
        "background facts may ask about somebody else, and then show nothing of what the model holds."
    ),
    Kind.TABLE_DIFFERS: "For many patients the notes have another value than the patients table, or none ({subjects}).",
    Kind.NO_LAYOUT: "Many notes fit no layout of the note template, and were read under its last one. " + _LESS,
    Kind.LAYOUT_UNUSED: "Some layout of the note template fits no note: its signature or required facts may be wrong.",
    Kind.FACT_MISSING: "The note template does not find these facts in many notes: {subjects}. " + _LESS,
    Kind.VALUE_UNREAD: "Many values that the note template finds are not what they should be: {subjects}. " + _LESS,
    Kind.VALUE_REPEATED: "The note template finds one and the same value in most notes: {subjects}. " + _LESS,
    Kind.DATE_ORDER_UNTOLD: "Whether day or month comes first in the notes' dates cannot be told: {subjects}.",
    Kind.DATE_ORDER_OTHER: "Many dates can be read only with day and month exchanged: {subjects}. " + _LESS,
    Kind.BIRTH_AFTER_VISIT: "Many dates of birth are after the visit: the note template may exchange the two.",
    Kind.FACT_DENIED: (
        "The note template says that these facts do not stand in the notes, and they do: {subjects}. Prompts may show "
        "what their tier may not know."
    ),
    Kind.NOT_PLAIN: "Many notes are RTF or HTML, in which the note template finds few headers and facts. " + _LESS,
    Kind.NO_HEADER: "Many notes have no header of the note template: sections and fragments of notes are few or wrong.",
}


def find_fit_caveats(facts: Collection[PatientFacts], profile: NoteProfile) -> list[str]:
    """Return a caveat for each kind of problem that touches more than a tenth of what it is about."""
    by_id = {known.patient_id: known for known in facts}
    findings = [*measure_table_fit(facts).findings, *measure_whole_fit(by_id, profile).findings]
    subjects: dict[Kind, list[str]] = {}
    for finding in findings:
        # Fewer would tell of single patients.
        if finding.level == "problem" and finding.kind in _WORDS and finding.found < MINIMUM_SHARE * finding.of:
            subjects.setdefault(finding.kind, []).append(finding.subject)
    return [_WORDS[kind].format(subjects=", ".join(dict.fromkeys(named))) for kind, named in subjects.items()]


def find_caveats(inputs: AuditInputs, outcomes: StageOutcomes, published: Estimates) -> list[str]:
    """Return the caveats, a sentence or two each; they hold no text of the corpus."""
    source = label_source(inputs.corpus, inputs.settings.judge)
    found = [*outcomes.self_test, *find_fit_caveats(outcomes.facts.values(), inputs.profile)]
    if not inputs.corpus.has_counterfactual:
        told = "the control model alone tells what is due to training"
        told += "." if inputs.probed.asks_control else ", and of diagnoses nothing does."
        unknown = "nothing measured here can be attributed to training."
        beside = unknown if inputs.control is None else told
        found.append(f"The corpus has no held-out (nontrain) patients: {beside}")
    files = inputs.model.files
    if files is not None and files.adapter is not None and inputs.control is None and inputs.settings.control != "none":
        found.append(
            "The adapter's base has another tokenizer than the adapter, so that it was no control: what the model gave "
            "away before it was trained on these patients was not asked."
        )
    if inputs.settings.release == "weights" and not inputs.settings.draws:
        found.append(
            "The weights leave the building, and no prompt was asked again for answers that are drawn: whoever has "
            "them can ask as often as they like. Give --draws 1 or more."
        )
    if source == "openai":
        found.append(
            f"Diagnosis labels were read off the notes by the served language model ({_judge_model(inputs)}) that also "
            "judges the generations: its errors are in both, so the disclosure figures may look better or worse than "
            "they are."
        )
        if (outcomes.labels["reason"] == NO_ANSWER).any():
            found.append(
                "For some patients the judge gave no usable answer about their notes: they count as unknown, and are "
                "neither positive nor a control."
            )
    elif inputs.settings.judge == "openai":
        found.append(
            f"Generations were judged by a served language model ({_judge_model(inputs)}). What runs behind its "
            "address cannot be seen from here, and asked again it may answer otherwise; the labels are those of the "
            "diagnoses table."
        )
        if outcomes.annotations["in_note_start"].has_nulls():
            found.append(
                "For some members of the cohorts the judge gave no usable answer about their notes: of what could tell "
                "a diagnosis in their prompts, only the panel's own terms and medications found revealing in others "
                "were taken out."
            )
    if inputs.judge.identity().get("decoding") == "provider-default":
        found.append(
            "The judge decodes as its provider has it, and may answer otherwise when asked again: each question was "
            "asked three times, and what two answers share counts."
        )
    if source == "lexicon":
        found.append(
            "Diagnosis labels were read off the notes by the same lexicon that judges the generations: its errors are "
            "in both, so the disclosure figures may look better or worse than they are."
        )
    if outcomes.targets.cohorts.is_empty():
        found.append(
            "No matched cohort could be made: targets are a sample of the patients, and disclosure was not measured."
        )
    labels_of = inputs.corpus.diagnosis_labels
    if labels_of is not None and {name for _, name in labels_of} - {diagnosis.id for diagnosis in inputs.sensitive}:
        # Their names are the table's own text, which stays out of what is published.
        found.append(
            "Some rows of the diagnoses table name a diagnosis that is not in the panel (ids are lower-case, such as "
            "hiv); they were not used."
        )
    if labels_of is not None:
        named = {name for _, name in labels_of}
        unlabelled = [diagnosis.id for diagnosis in inputs.panel if diagnosis.id not in named]
        if unlabelled:
            found.append(
                f"The diagnoses table has no row for {', '.join(unlabelled)}: nobody is known to have it or not, so "
                "that no cohort can be made."
            )
    scored = set(inputs.labelled.texts.filter(pl.col("kind") == "labelled")["diagnosis"])
    unscored = [diagnosis.id for diagnosis in inputs.panel if diagnosis.id not in scored]
    if unscored:
        found.append(
            f"The judge was scored on no labelled text about {', '.join(unscored)}: how well it reads these is not "
            "known. Give labelled texts of your own with --judge-labels."
        )
    if inputs.probed.form == "chat":
        found.append("The model was asked in a chat alone: what it gives away as plain text was not tested.")
    elif inputs.probed.form == "text" and inputs.tokenizer.has_chat_template:
        found.append(
            "The model has a chat template, and was asked as plain text alone: what it gives away in a chat was not "
            "tested."
        )
    asked = {form: {row.tier for row in published.rows("patients", form=form)} for form in ("text", "chat")}
    missing = [tier for tier in inputs.settings.tier if not any(tier in tiers for tiers in asked.values())]
    if inputs.probed.form == "both":
        unasked = [tier for tier in inputs.settings.tier if tier not in asked["chat"]]
        if unasked:
            found.append(f"No prompt could be made in a chat at these tiers: {', '.join(unasked)}.")
    if missing:
        found.append(f"No prompt could be made at these tiers: {', '.join(missing)}. They were not measured.")
    return found


def _judge_model(inputs: AuditInputs) -> str:
    return inputs.judge.identity()["model"]
