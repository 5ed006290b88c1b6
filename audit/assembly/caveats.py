"""The caveats of an audit: limitations that follow from its inputs and settings."""

from clinaudit.audit.assembly.fit_caveats import find_fit_caveats
from clinaudit.audit.assembly.outcomes import StageOutcomes
from clinaudit.audit.inputs import AuditInputs


def find_caveats(inputs: AuditInputs, outcomes: StageOutcomes) -> list[str]:
    """Return the caveats, a sentence or two each; they hold no text of the corpus."""
    labels, targets = outcomes.labels, outcomes.targets
    found = find_fit_caveats(outcomes.facts.values(), inputs.profile)
    if not inputs.corpus.has_counterfactual:
        found.append(
            "The corpus has no held-out (nontrain) patients: nothing measured here can be attributed to training."
        )
    if labels.source == "openai":
        found.append(
            f"Diagnosis labels were read off the notes by the served language model ({_judge_model(inputs)}) that also "
            "judges the generations: its errors are in both, so the disclosure figures may look better or worse than "
            "they are."
        )
        if any(row.in_note_start is None for rows in labels.annotations.values() for row in rows):
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
        if any(row.in_note_start is None for member in targets.members for row in outcomes.annotations[member]):
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
    if labels.source == "lexicon":
        found.append(
            "Diagnosis labels were read off the notes by the same lexicon that judges the generations: its errors are "
            "in both, so the disclosure figures may look better or worse than they are."
        )
    if targets.sampled:
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
    scored = {text.diagnosis.id for text in inputs.labelled.texts}
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
    missing = [tier for tier in inputs.settings.tier if tier not in outcomes.memorization[None]]
    if inputs.probed.form == "both":
        unasked = [tier for tier in inputs.settings.tier if tier not in outcomes.memorization.get("chat", {})]
        if unasked:
            found.append(f"No prompt could be made in a chat at these tiers: {', '.join(unasked)}.")
    if missing:
        found.append(f"No prompt could be made at these tiers: {', '.join(missing)}. They were not measured.")
    return found


def _judge_model(inputs: AuditInputs) -> str:
    return inputs.judge.identity()["model"]
