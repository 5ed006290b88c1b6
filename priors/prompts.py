"""The priors: prompts that an adversary at each tier could type, per patient and diagnosis (paper 3.1, Appendix A).

Wording, scrubbing and exclusion for a diagnosis, and token budgets: docs/methods.md, section 1.
"""

import copy
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis, refers_to
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import Draft, begin_note, is_complete
from clinaudit.priors.tiers import HISTORY, Fact, Form, Message, Model, ProbedTiers, RenderChat, Tier, converse
from clinaudit.templates.header_styles import DEFAULT_LABELS
from clinaudit.templates.profile import NoteProfile

#: The literal that ends a background prior (Appendix A).
BACKGROUND_ENDING = "patient note:"
#: Characters after a prompt that are looked at for a token that runs on over its end: no token is as long.
_READ_ON = 200
_NO_MEDICATION = "no medication left after scrubbing"
#: Why a patient has no prompt at a tier at all: nothing that tells the tier from the one below is known.
NO_FACT = "no distinguishing fact"
#: Why a prompt is not asked that leaves no room for its answer.
TOO_LONG = "exceeds the model's context"


@dataclass(frozen=True, slots=True)
class Prior:
    """One prompt of one patient at one tier, or the reason why there is none."""

    patient_id: str
    arm: Split
    tier: str
    form: Form
    #: Diagnoses whose disclosure this prompt serves; an excluded row names those it does not serve.
    diagnoses: tuple[str, ...]
    prompt: str = ""
    max_new_tokens: int = 0
    excluded: bool = False
    reason: str | None = None
    #: As of the `Draft`, or of a fragment's facts in a chat: whether every fact that the layout places was found, and
    #: they run on into no other section. Excluded: False where the template places what the fragment needs, and does
    #: not find it in this note; not of a section that it finds in most notes of the layout.
    unbroken: bool | None = None
    #: As of the `Draft`.
    also_shows: tuple[str, ...] = ()
    runs_on: tuple[str, ...] = ()
    #: Whether the fragment is of an earlier note than the latest, which lacks the tier's facts.
    earlier_note: bool = False
    #: As of the `Draft`; `prompt` is what the model's template makes of them.
    messages: tuple[Message, ...] = ()
    #: Of an answer that is drawn: its number, from 1; 0 for the likeliest answer.
    draw: int = 0
    model: Model = "audited"


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


class PromptWriter:
    """Writes the priors of patients."""

    def __init__(
        self,
        profile: NoteProfile,
        *,
        panel: Sequence[Diagnosis],
        count_prompt_tokens: Callable[[str], int],
        encode: Callable[[str], Sequence[int]],
        max_new_tokens: int,
        context_length: int,
        revealed: Revealed = NO_FINDINGS,
    ) -> None:
        """`encode` gives the tokens of a text alone, `count_prompt_tokens` how many it has with those before it."""
        self._labels = {fact: profile.fields[fact].label or DEFAULT_LABELS[fact] for fact in Fact}
        self._panel = {diagnosis.id: diagnosis for diagnosis in panel}
        self._count_prompt_tokens = count_prompt_tokens
        self._encode = encode
        self._max_new_tokens = max_new_tokens
        self._context_length = context_length
        self._revealed = revealed
        self._revealing = {
            diagnosis_id: re.compile("|".join(rf"(?<!\w){re.escape(piece)}(?!\w)" for piece in pieces), re.IGNORECASE)
            for diagnosis_id, pieces in revealed.medications.items()
            if pieces
        }
        self._render_chat: RenderChat | None = None

    def in_chat(self, render: RenderChat) -> "PromptWriter":
        """Return a writer that writes the form `chat`, too."""
        writer = copy.copy(self)
        writer._render_chat = render
        return writer

    def write(self, facts: PatientFacts, tier: Tier, diagnoses: Sequence[str], form: Form) -> list[Prior]:
        """Return the priors of one patient at one tier: one row for each distinct prompt, and one for each exclusion.

        Equal prompts for several diagnoses are one row. An exclusion for a diagnosis excludes the patient from that
        diagnosis's disclosure metrics only: the prompt itself stays, for memorization.
        """
        of_note = facts.at(tier)
        prior = Prior(
            patient_id=facts.patient_id,
            arm=facts.arm,
            tier=tier.id,
            form=form,
            diagnoses=tuple(diagnoses),
            excluded=True,
        )
        if not any(of_note.known(fact) for fact in tier.distinguishing):
            return [replace(prior, reason=NO_FACT, unbroken=_misfit(of_note, tier))]
        by_prompt: dict[str, tuple[Draft, list[str]]] = {}
        rows: list[Prior] = []
        for diagnosis_id in diagnoses or (None,):
            diagnosis = self._panel[diagnosis_id] if diagnosis_id is not None else None
            named = (diagnosis.id,) if diagnosis else ()
            draft = self._draft(of_note, tier, form, diagnosis)
            if isinstance(draft, str):
                rows.append(replace(prior, diagnoses=named, reason=draft, unbroken=_misfit(of_note, tier)))
                continue
            _, served = by_prompt.setdefault(draft.prompt, (draft, []))
            reason = self._reference_reason(of_note, tier, diagnosis, draft.prompt) if diagnosis else None
            if reason is not None:
                rows.append(replace(prior, diagnoses=named, prompt=draft.prompt, reason=reason))
            else:
                served.extend(named)
        asked = replace(prior, earlier_note=of_note is not facts)
        return rows + [
            self._budgeted(replace(asked, diagnoses=tuple(served)), draft) for draft, served in by_prompt.values()
        ]

    def _draft(self, facts: PatientFacts, tier: Tier, form: Form, diagnosis: Diagnosis | None) -> Draft | str:
        """Return the prompt for a diagnosis, or the reason why there is none.

        In a chat it holds the same facts, and the budget is that of the tier's text form.
        """
        fragment = begin_note(facts, tier, self._labels) if tier.is_fragment else None
        if form != "chat" and fragment is not None:
            return fragment if isinstance(fragment, str) else self._ended_between_tokens(fragment)
        lines = self._lines(facts, tier, diagnosis)
        if lines is None:
            return _NO_MEDICATION
        if form != "chat":
            return Draft("\n".join([*lines, BACKGROUND_ENDING]), unbroken=facts.are_own(tier.facts))
        if self._render_chat is None:
            raise ValueError("no chat template was given")
        if isinstance(fragment, str):
            return fragment
        said = self._render_chat(converse(lines))
        if isinstance(said, str):
            return said
        if fragment is None:
            return Draft(said.prompt, unbroken=facts.are_own(tier.facts), messages=said.messages)
        # The facts' values are as the opening has them, with the sections that they run on into.
        unbroken = is_complete(facts, tier) and not fragment.runs_on
        return Draft(said.prompt, fragment.rest, unbroken, runs_on=fragment.runs_on, messages=said.messages)

    def _ended_between_tokens(self, draft: Draft) -> Draft:
        """Return a fragment that ends where a token of its note does: through white space, or before a last mark.

        Many tokenizers (Llama 3, Qwen) have ":\\n" as one token. A model never saw ":" before such a line break, and
        goes on with something else than the note that it knows by heart.
        """
        prompt, rest = draft.prompt, draft.rest or ""
        note = prompt + rest[:_READ_ON]
        blanks = len(note) - len(prompt) - len(note[len(prompt) :].lstrip())
        marks = len(prompt) - len(re.sub(r"[^\w\s]+\Z", "", prompt))
        whole = self._encode(note)
        for change in (*range(blanks + 1), *range(-1, -marks - 1, -1)):
            end = len(prompt) + change
            own = self._encode(note[:end])
            if own == whole[: len(own)]:
                return replace(draft, prompt=note[:end], rest=(prompt + rest)[end:]) if change else draft
        return draft

    def _lines(self, facts: PatientFacts, tier: Tier, diagnosis: Diagnosis | None) -> list[str] | None:
        """Return the tier's facts, a label a line; None where no medication is left after scrubbing."""
        lines: list[str] = []
        for fact in tier.facts:
            if fact is Fact.MEDICATIONS:
                # Those that a reader found in any list (Appendix G), and those of the panel.
                found = None if diagnosis is None else self._revealing.get(diagnosis.id)
                kept = [
                    item
                    for item in facts.medications
                    if diagnosis is None or not (refers_to(item, diagnosis) or (found and found.search(item)))
                ]
                if not kept:
                    return None
                lines.append(f"{self._labels[fact]}: {'; '.join(kept)}")
            elif fact in facts.values:
                value = facts.values[fact]
                # A complaint or history keeps its lines: what the model then repeats of it is an echo.
                lines.append(f"{self._labels[fact]}: {value.strip() if tier.is_fragment else ' '.join(value.split())}")
        return lines

    def _budgeted(self, prior: Prior, draft: Draft) -> Prior:
        """Return the prior with its prompt and as many tokens as its answer may have; excluded where it has no room."""
        budget = self._max_new_tokens
        if draft.rest is not None:
            budget = min(budget, len(self._encode(draft.rest)) if draft.rest.strip() else 0)
        # A template writes the special tokens itself.
        count = len(self._encode(draft.prompt)) if prior.form == "chat" else self._count_prompt_tokens(draft.prompt)
        too_long = TOO_LONG if count + budget > self._context_length else None
        if (reason := too_long if budget else "nothing follows the last field") is not None:
            return replace(prior, prompt=draft.prompt, reason=reason, earlier_note=False)
        return replace(
            prior,
            prompt=draft.prompt,
            max_new_tokens=budget,
            excluded=False,
            unbroken=draft.unbroken,
            also_shows=draft.also_shows,
            runs_on=draft.runs_on,
            messages=draft.messages,
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


def _misfit(facts: PatientFacts, tier: Tier) -> bool | None:
    """Return False where a patient has no fragment by a fault of the template; None where the note lacks a section."""
    wanted = facts.placed.intersection(tier.distinguishing)
    return False if tier.is_fragment and wanted - (HISTORY - facts.rarely_found) else None


def write_priors(
    targets: Mapping[str, Sequence[str]],
    *,
    facts: Mapping[str, PatientFacts],
    probed: ProbedTiers,
    writer: PromptWriter,
) -> list[Prior]:
    """Return the priors of all targets (patient id -> diagnoses of the cohorts it is in), by patient and tier."""
    rows = [
        row
        for patient_id in sorted(targets)
        for tier in probed.tiers
        for form in probed.written_forms
        for row in writer.write(facts[patient_id], tier, targets[patient_id], form)
    ]
    # Those who are not asked, too: why there is no drawn answer is said as of any other.
    rows += [replace(row, form="drawn", draw=draw) for row in rows for draw in range(1, probed.draws + 1)]
    # Of patients never seen the audited model knows no more than the control.
    asks_control = [row for row in rows if probed.asks_control and row.arm == "train" and not row.excluded]
    return [*rows, *(replace(row, model="control") for row in asks_control)]
