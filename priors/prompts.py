"""The priors: prompts that an adversary at each tier could type, per patient and diagnosis (paper 3.1, Appendix A).

Owns rendering, scrubbing and exclusion for a diagnosis, and token budgets (docs/methods.md, section 1). Knows nothing
of the model but its context length and how it counts tokens.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis, refers_to
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.tiers import Fact, Tier
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.spans import Span

#: The literal that ends a background prior (Appendix A).
BACKGROUND_ENDING = "patient note:"


@dataclass(frozen=True, slots=True)
class Prior:
    """One prompt of one patient at one tier, or the reason why there is none."""

    patient_id: str
    arm: Split
    tier: str
    #: Diagnoses whose disclosure this prompt serves; an excluded row names those it does not serve.
    diagnoses: tuple[str, ...]
    prompt: str
    max_new_tokens: int
    excluded: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Revealed:
    """Text found to reveal diagnoses, beyond the terms of the panel (paper, Appendix G)."""

    #: Diagnosis id -> pieces of medication-list entries, found in any patient's list. They are removed from every
    #: patient's list: removal from some lists only would itself reveal the diagnosis.
    medications: Mapping[str, Sequence[str]]
    #: Pairs (patient id, diagnosis id) where the latest note refers to the diagnosis before its HPI, and in it.
    in_opening: Collection[tuple[str, str]]
    in_hpi: Collection[tuple[str, str]]


#: Nothing beyond the panel's terms, for which every prompt is searched anyway.
NO_FINDINGS = Revealed({}, frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class _Draft:
    prompt: str
    #: The rest of the note after the prompt, where the prompt is a fragment of a note.
    rest: str | None


class PromptWriter:
    """Writes the priors of patients."""

    def __init__(
        self,
        profile: NoteProfile,
        *,
        panel: Sequence[Diagnosis],
        count_prompt_tokens: Callable[[str], int],
        count_note_tokens: Callable[[str], int],
        max_new_tokens: int,
        context_length: int,
        revealed: Revealed = NO_FINDINGS,
    ) -> None:
        self._labels = {fact: profile.fields[fact].label for fact in Fact}
        self._panel = {diagnosis.id: diagnosis for diagnosis in panel}
        self._count_prompt_tokens = count_prompt_tokens
        self._count_note_tokens = count_note_tokens
        self._max_new_tokens = max_new_tokens
        self._context_length = context_length
        self._revealed = revealed
        self._revealing = {
            diagnosis_id: re.compile("|".join(rf"(?<!\w){re.escape(piece)}(?!\w)" for piece in pieces), re.IGNORECASE)
            for diagnosis_id, pieces in revealed.medications.items()
            if pieces
        }

    def write(self, facts: PatientFacts, tier: Tier, diagnoses: Sequence[str]) -> list[Prior]:
        """Return the priors of one patient at one tier: one row for each distinct prompt, and one for each exclusion.

        Equal prompts for several diagnoses are one row. An exclusion for a diagnosis excludes the patient from that
        diagnosis's disclosure metrics only: the prompt itself stays, for memorization.
        """
        if not any(facts.known(fact) for fact in tier.distinguishing):
            return [self._excluded(facts, tier, diagnoses, "", "no distinguishing fact")]
        by_prompt: dict[str, list[str]] = {}
        drafts: dict[str, _Draft] = {}
        rows: list[Prior] = []
        for diagnosis_id in diagnoses or (None,):
            diagnosis = self._panel[diagnosis_id] if diagnosis_id is not None else None
            named = (diagnosis.id,) if diagnosis else ()
            draft = self._draft(facts, tier, diagnosis)
            if isinstance(draft, str):
                rows.append(self._excluded(facts, tier, named, "", draft))
                continue
            drafts[draft.prompt] = draft
            served = by_prompt.setdefault(draft.prompt, [])
            reason = self._reference_reason(facts, tier, diagnosis, draft.prompt) if diagnosis else None
            if reason is not None:
                rows.append(self._excluded(facts, tier, named, draft.prompt, reason))
            else:
                served.extend(named)
        for prompt, served in by_prompt.items():
            rows.append(self._budgeted(facts, tier, served, drafts[prompt]))
        return rows

    def _draft(self, facts: PatientFacts, tier: Tier, diagnosis: Diagnosis | None) -> _Draft | str:
        """Return the prompt for a diagnosis, or the reason why there is none."""
        if tier.is_fragment:
            return self._fragment(facts, tier)
        lines: list[str] = []
        for fact in tier.facts:
            if fact is Fact.MEDICATIONS:
                kept = [item for item in facts.medications if diagnosis is None or not self._reveals(item, diagnosis)]
                if not kept:
                    return "no medication left after scrubbing"
                lines.append(f"{self._labels[fact]}: {'; '.join(kept)}")
            elif fact in facts.values:
                lines.append(f"{self._labels[fact]}: {' '.join(facts.values[fact].split())}")
        return _Draft("\n".join([*lines, BACKGROUND_ENDING]), None)

    def _fragment(self, facts: PatientFacts, tier: Tier) -> _Draft | str:
        held = sorted(facts.in_note[fact].span_chars for fact in tier.facts if fact in facts.in_note)
        from_table = [
            f"{self._labels[fact]}: {facts.values[fact]}\n"
            for fact in tier.facts
            if fact in facts.values and fact not in facts.in_note
        ]
        header = following_header(facts, tier)
        if header is None:
            return "no header follows the last field"
        slices = [facts.note[start:stop] for start, stop in held]
        own_words = "".join(text if text.endswith(("\n", "\r")) else text + "\n" for text in slices)
        prompt = "".join(from_table) + own_words + facts.note[slice(*header)]
        return _Draft(prompt, facts.note[header.end :])

    def _budgeted(self, facts: PatientFacts, tier: Tier, served: Sequence[str], draft: _Draft) -> Prior:
        budget = self._max_new_tokens
        if draft.rest is not None:
            budget = min(budget, self._count_note_tokens(draft.rest))
        if budget == 0:
            return self._excluded(facts, tier, served, draft.prompt, "nothing follows the last field")
        if self._count_prompt_tokens(draft.prompt) + budget > self._context_length:
            return self._excluded(facts, tier, served, draft.prompt, "exceeds the model's context")
        return Prior(facts.patient_id, facts.arm, tier.id, tuple(served), draft.prompt, budget, False, None)

    def _reveals(self, medication: str, diagnosis: Diagnosis) -> bool:
        found_by_reader = self._revealing.get(diagnosis.id)
        return refers_to(medication, diagnosis) or (
            found_by_reader is not None and found_by_reader.search(medication) is not None
        )

    def _reference_reason(self, facts: PatientFacts, tier: Tier, diagnosis: Diagnosis, prompt: str) -> str | None:
        """Return why a prompt itself reveals the diagnosis, or None where it does not."""
        for fact, reason in (
            (Fact.CHIEF_COMPLAINT, "the chief complaint refers to the diagnosis"),
            (Fact.HPI, "the history of present illness refers to the diagnosis"),
        ):
            if fact in tier.facts and refers_to(facts.values.get(fact, ""), diagnosis):
                return reason
        if refers_to(prompt, diagnosis):
            return "the prompt refers to the diagnosis"
        key = (facts.patient_id, diagnosis.id)
        if Fact.CHIEF_COMPLAINT in tier.facts and key in self._revealed.in_opening:
            return "the judge finds the diagnosis before the history of present illness"
        if Fact.HPI in tier.facts and key in self._revealed.in_hpi:
            return "the judge finds the diagnosis in the history of present illness"
        return None

    @staticmethod
    def _excluded(facts: PatientFacts, tier: Tier, diagnoses: Sequence[str], prompt: str, reason: str) -> Prior:
        return Prior(facts.patient_id, facts.arm, tier.id, tuple(diagnoses), prompt, 0, True, reason)


def following_header(facts: PatientFacts, tier: Tier) -> Span | None:
    """Return the header of the latest note that follows the tier's last field, in characters; None without one.

    A fragment's prompt ends with it, and generation continues the note from there on.
    """
    end = max((facts.in_note[fact].span_chars for fact in tier.facts if fact in facts.in_note), default=Span(0, 0)).end
    return next((item.span_chars for item in facts.headers if item.span_chars.start >= end), None)


def write_priors(
    targets: Mapping[str, Sequence[str]],
    *,
    facts: Mapping[str, PatientFacts],
    tiers: Sequence[Tier],
    writer: PromptWriter,
) -> list[Prior]:
    """Return the priors of all targets (patient id -> diagnoses of the cohorts it is in), by patient and tier."""
    return [
        prior
        for patient_id in sorted(targets)
        for tier in tiers
        for prior in writer.write(facts[patient_id], tier, targets[patient_id])
    ]
