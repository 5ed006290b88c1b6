"""The texts that give most away, in plain text, for `clinaudit show --worst` (PHI)."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from clinaudit.reports.tables.estimates import FORM_TITLES
from clinaudit.reports.tables.table import numbered_tier_title
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word
from clinaudit.reports.wording.names import SIDE_WORDS
from clinaudit.reports.wording.numbers import percent_text

_MARK: Final = (
    "PHI: texts of the model with what it repeats of patients' notes, printed because --worst was given.\n"
    "They go to this terminal alone; do not pipe them to where notes may not be.\n"
)


def command_again(run: Path, generation_id: str) -> str:
    """Return the command that makes a text again; MODEL stands for what the run audited."""
    return f"clinaudit again {shell_word(run)} {generation_id} MODEL"


def worst_texts(found: Sequence[Mapping[str, Any]], run: Path) -> str:
    """Return the texts, the worst first, every sign that would steer a terminal replaced.

    A row of `found` is a generation by the columns of `generation_metrics`, with its `prompt`, `text` and `note_id`.
    """
    parts = [_MARK]
    for place, of in enumerate(found, 1):
        own = of["near_verbatim_attributable_tokens"]
        share = percent_text(own / of["tokens"]) if of["tokens"] else "0%"
        edited = own - of["attributable_tokens"]
        lines = "\n".join(map(harmless_text, of["text"].splitlines()))
        parts.append(
            f"{place}. {own:,} of {of['tokens']:,} tokens ({share}) are the own text of patient"
            f" {harmless_text(of['patient_id'])}, from note {harmless_text(of['note_id'])}"
            f"{f'; {edited:,} of them are near-verbatim' if edited else ''}\n"
            f"   prompt {of['generation_id']} · {numbered_tier_title(of['tier'])} ·"
            f" {FORM_TITLES.get(of['form'], of['form'])} · {SIDE_WORDS.get(of['arm'], of['arm'])}\n"
            f"   again: {command_again(run, of['generation_id'])}\n"
            f"{textwrap.indent(lines, '   | ', lambda _: True)}\n"
        )
    return "\n".join(parts if found else [_MARK, "No text holds own text of the patient asked about.\n"])
